//! The ssh channel against a real sshd on loopback, started here with keys that are thrown away.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use acp_client::{ClientEvent, ClientProblem, ConnectOptions, Ssh, SshChannel, connect};

use crate::process::{AGENT, channel, say};

struct SshServer {
    sshd: Child,
    port: u16,
    dir: tempfile::TempDir,
}

impl Drop for SshServer {
    fn drop(&mut self) {
        let _ = self.sshd.kill();
        let _ = self.sshd.wait();
    }
}

fn run(program: &str, args: &[&str]) -> bool {
    Command::new(program).args(args).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|it| it.success())
}

fn sshd() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    places.map(|place| place.join("sshd")).find(|file| file.is_file())
}

/// `None` where there is no sshd or it does not start; a note says why.
#[allow(clippy::print_stderr, reason = "a skipped test must say so")]
fn server(banner: &str) -> Option<SshServer> {
    let skip = |why: &str| {
        eprintln!("SKIP: {why}");
        None
    };
    let Some(program) = sshd() else { return skip("no sshd on this machine (package openssh-server)") };
    if !run("ssh", &["-V"]) {
        return skip("no ssh on this machine (package openssh-client)");
    }
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name).display().to_string();
    for key in ["host", "user"] {
        if !run("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", &at(key)]) {
            return skip("ssh-keygen does not work");
        }
    }
    std::fs::copy(at("user.pub"), at("authorized")).unwrap();
    std::fs::write(at("rc"), format!("echo '{banner}'\n")).unwrap();
    std::fs::write(at("agent.py"), AGENT).unwrap();
    // Freed before sshd takes it; another test would have to be very quick.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = format!(
        "ListenAddress 127.0.0.1\nPort {port}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\n\
         StrictModes no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\n\
         PrintMotd no\nForceCommand sh {}; eval \"$SSH_ORIGINAL_COMMAND\"\n",
        at("host"),
        at("authorized"),
        at("rc"),
    );
    std::fs::write(at("config"), config).unwrap();
    if rustix::process::getuid().is_root() {
        let _ = std::fs::create_dir_all("/run/sshd");
    }
    let log = std::fs::File::create(at("log")).unwrap();
    let started = Command::new(program).args(["-D", "-e", "-f", &at("config")]).stderr(log).spawn();
    let mut sshd = started.ok()?;
    for _ in 0..100 {
        if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Some(SshServer { sshd, port, dir });
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let _ = sshd.kill();
    let _ = sshd.wait();
    skip(&format!("sshd does not start: {}", std::fs::read_to_string(at("log")).unwrap_or_default()))
}

impl SshServer {
    fn flags(&self, key: &Path, known_host: bool) -> Vec<String> {
        let port = self.port.to_string();
        let host_key = std::fs::read_to_string(self.dir.path().join("host.pub")).unwrap();
        let known = self.dir.path().join("known_hosts");
        let line = if known_host { format!("[127.0.0.1]:{port} {host_key}") } else { String::new() };
        std::fs::write(&known, line).unwrap();
        let known = format!("UserKnownHostsFile={}", known.display());
        let words = ["-F", "none", "-p", &port, "-i", &key.display().to_string(), "-o", "IdentitiesOnly=yes", "-o"];
        words.iter().map(|word| (*word).to_owned()).chain([known]).collect()
    }

    fn channel(&self, flags: Vec<String>, command: &[&str]) -> SshChannel {
        let ssh = Ssh {
            host: "127.0.0.1".into(),
            flags,
            cwd: Some(self.dir.path().display().to_string()),
            command: command.iter().map(|word| (*word).to_owned()).collect(),
        };
        SshChannel::new(ssh, channel(&[], self.dir.path())).unwrap()
    }
}

#[tokio::test]
async fn an_agent_behind_ssh_is_driven_past_a_banner() {
    let Some(server) = server("Welcome! You have {no} mail.") else { return };
    let flags = server.flags(&server.dir.path().join("user"), true);
    // The test's own python may not be on the PATH of a login there.
    let path = std::env::var_os("PATH").unwrap();
    let python = std::env::split_paths(&path).map(|dir| dir.join("python3")).find(|file| file.is_file());
    let python = python.unwrap().display().to_string();
    let channel = server.channel(flags, &[&python, "agent.py", "it's quoted; $HOME"]);
    let (client, mut events) = connect(Arc::new(channel), ConnectOptions::default());
    let agent = client.initialize().await.unwrap();
    assert_eq!(agent.name(), "fake 1");
    client.new_session(server.dir.path()).await.unwrap();
    assert_eq!(say(&client, &mut events, "hello").await, "you said hello");
    let there = server.dir.path().canonicalize().unwrap();
    assert_eq!(say(&client, &mut events, "cwd").await, there.display().to_string());
    let env: serde_json::Value = serde_json::from_str(&say(&client, &mut events, "env").await).unwrap();
    assert!(env["PATH"].as_str().is_some_and(|path| path.contains("/.local/bin:/opt/homebrew/bin:")), "{env}");
    client.stop().await;
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn what_ssh_complains_about_becomes_a_hint() {
    let Some(server) = server("hello") else { return };
    let stranger = server.dir.path().join("stranger");
    assert!(run("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", &stranger.display().to_string()]));
    let user = server.dir.path().join("user");
    for (flags, command, wanted) in [
        (server.flags(&stranger, true), "python3", "ssh key"),
        (server.flags(&user, false), "python3", "host's key"),
        (server.flags(&user, true), "no-such-agent", "`no-such-agent` is not on the PATH"),
    ] {
        server.flags(&user, wanted != "host's key");
        let (client, mut events) = connect(Arc::new(server.channel(flags, &[command])), ConnectOptions::default());
        let error = client.initialize().await.unwrap_err();
        assert!(matches!(error.problem, ClientProblem::ProcessTerminated(_)), "{error:?}");
        assert!(error.hint.as_deref().is_some_and(|hint| hint.contains(wanted)), "{wanted}: {error:?}");
        while let Some(event) = events.next().await {
            assert!(matches!(event, ClientEvent::ConnectionLost(_) | ClientEvent::Note(_)), "{event:?}");
        }
    }
}
