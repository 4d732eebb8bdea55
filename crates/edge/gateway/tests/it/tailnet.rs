//! People of the tailnet: believed where the local daemon says the same. The daemon's program is found by PATH, so that this
//! test runs in a process of its own where the path is another.

use std::net::SocketAddr;
use std::time::Duration;

use gateway::{Access, TailscaleOptions};
use process::{CaptureLimits, Program};

use crate::server::{TOKEN, dial, refused, start, token_access};

const CHILD: &str = "TILLERMAN_TEST_TAILNET";

#[test]
fn g4_who_the_daemon_knows_comes_in() {
    if std::env::var_os(CHILD).is_none() {
        let home = tempfile::tempdir().expect("a directory");
        let program = home.path().join("tailscale");
        let script = "#!/bin/sh\n[ \"$1 $2 $3\" = 'whois --json 100.64.0.9' ] || exit 1\n\
                      echo run >> \"$0.runs\"; sleep 0.2\n\
                      echo '{\"Node\":{},\"UserProfile\":{\"LoginName\":\"ann@x\"}}'\n";
        std::fs::write(&program, script).expect("a program");
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("a mode");
        let path = format!("{}:{}", home.path().display(), std::env::var("PATH").expect("a path"));
        let done = std::process::Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "tailnet::g4_who_the_daemon_knows_comes_in", "--nocapture"])
            .env("PATH", path)
            .env(CHILD, &program)
            .status();
        assert!(done.expect("it runs").success());
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(inside());
}

async fn inside() {
    let tailscale = TailscaleOptions { identity: true, ..TailscaleOptions::default() };
    let playing = start(Access { tailscale: tailscale.clone(), ..token_access() }).await;
    let address = playing.address;
    let ann = [("Tailscale-User-Login", "ann@x"), ("X-Forwarded-For", "100.64.0.9")];
    // Who opens a page asks for many things at once: the daemon's program is not started for each.
    let mut at_once = tokio::task::JoinSet::new();
    (0..30).for_each(|_| drop(at_once.spawn(async move { refused(address, "/serve", &ann).await })));
    assert_eq!(at_once.join_all().await, [101; 30]);
    let program = std::env::var(CHILD).expect("where it is");
    let runs = std::fs::read_to_string(format!("{program}.runs")).expect("it ran").lines().count();
    assert!(runs <= gateway::limits::WHOIS_AT_ONCE, "{runs} processes");
    let mut client = dial(address, "/serve", &ann).await.expect("a socket");
    assert_eq!(client.ask("who").await.as_deref(), Some("sender:tailscale/ann@x Scopes(15) ann@x"));
    let eve = [("Tailscale-User-Login", "eve@x"), ("X-Forwarded-For", "100.64.0.9")];
    assert_eq!(refused(address, "/serve", &eve).await, 401, "another name than the daemon's");
    let unknown = [("Tailscale-User-Login", "ann@x"), ("X-Forwarded-For", "100.64.0.10")];
    assert_eq!(refused(address, "/serve", &unknown).await, 401, "an address that the daemon does not know");
    let wrong = [ann[0], ann[1], ("Authorization", "Bearer wrong")];
    assert_eq!(refused(address, "/serve", &wrong).await, 401, "a wrong token next to it is wrong");
    for (who, answer) in forged(address).await {
        assert!(answer.starts_with("HTTP/1.1 401"), "{who}: {answer}");
    }
    let trusting = TailscaleOptions { trust_header: true, ..tailscale.clone() };
    let trusted = start(Access { tailscale: trusting.clone(), ..token_access() }).await;
    assert_eq!(refused(trusted.address, "/serve", &eve).await, 101);
    let others = TailscaleOptions { allowed_logins: vec!["bob@x".to_owned()], ..tailscale.clone() };
    let both = TailscaleOptions { allowed_logins: vec!["bob@x".to_owned(), "ann@x".to_owned()], ..tailscale.clone() };
    for (now, stays) in [(both, true), (others, false), (TailscaleOptions::default(), false)] {
        playing.handle.access().set(Access { tailscale: tailscale.clone(), ..token_access() }).expect("it holds");
        let mut client = dial(address, "/serve", &ann).await.expect("a socket");
        assert_eq!(client.ask("hi").await.as_deref(), Some("hi"));
        playing.handle.access().set(Access { tailscale: now, ..token_access() }).expect("it holds");
        match stays {
            true => assert_eq!(client.ask("hi").await.as_deref(), Some("hi")),
            false => assert_eq!(client.close_of_server().await.expect("a close").0, 1008),
        }
    }
    // Who was let in by their word alone goes when words do not count any more; who was asked about stays.
    let mut by_word = dial(trusted.address, "/serve", &eve).await.expect("a socket");
    assert_eq!(by_word.ask("hi").await.as_deref(), Some("hi"));
    trusted.handle.access().set(Access { tailscale, ..token_access() }).expect("it holds");
    assert_eq!(by_word.close_of_server().await.expect("a close").0, 1008);
    let off = start(token_access()).await;
    assert_eq!(refused(off.address, "/serve", &ann).await, 401);
    let _ = TOKEN;
}

/// What others on this machine are answered who name a good pair of login and address: a command of ours, and another user's
/// process where we may start one.
async fn forged(address: SocketAddr) -> Vec<(&'static str, String)> {
    let script = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port}; printf 'GET /health HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\n\
         Tailscale-User-Login: ann@x\\r\\nX-Forwarded-For: 100.64.0.9\\r\\nConnection: close\\r\\n\\r\\n' >&3; cat <&3",
        port = address.port()
    );
    let mut answers = Vec::new();
    let argv = ["bash", "-c", &script].map(Into::into).to_vec();
    let program = Program { argv, cwd: "/".into(), env: std::env::vars_os().collect(), joined: false };
    let limits = CaptureLimits { output_bytes_max: 4096, errors_bytes_max: 4096, time_max: Duration::from_secs(20) };
    let answer = process::capture(&program, limits).await.expect("an answer");
    answers.push(("a command of ours", String::from_utf8_lossy(&answer.output).into_owned()));
    // Started by hand: it is none of ours then, and another user's alone.
    let other = ["--reuid=65534", "--clear-groups", "bash", "-c", &script];
    let other = tokio::process::Command::new("setpriv").args(other).output().await.expect("setpriv");
    if other.status.success() {
        answers.push(("another user", String::from_utf8_lossy(&other.stdout).into_owned()));
    }
    answers
}
