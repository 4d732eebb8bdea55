//! Real processes: an agent in Python that does what a test needs.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use acp_client::{
    AcpClient, ClientEvent, ClientProblem, ConnectOptions, Events, LoginShell, NoProbe, ProcessChannel, ShellProbe,
    connect,
};
use acp_types::{ContentBlock, SessionUpdate, StopReason};

/// Speaks just enough ACP. Its prompt is a word that says what to do.
pub(crate) const AGENT: &str = r#"
import json, os, signal, sys, time
def say(**message):
    sys.stdout.write(json.dumps(dict(jsonrpc="2.0", **message)) + "\n"); sys.stdout.flush()
def text(words):
    content = {"type": "text", "text": words}
    update = {"sessionUpdate": "agent_message_chunk", "content": content}
    say(method="session/update", params={"sessionId": "s", "update": update})
if "stubborn" in sys.argv:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
print("starting", file=sys.stderr, flush=True)
for line in iter(sys.stdin.readline, ""):
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if method == "initialize":
        info = {"name": "fake", "version": "1"}
        say(id=id, result={"protocolVersion": 1, "agentInfo": info, "agentCapabilities": {"loadSession": True}})
    elif method == "session/new":
        say(id=id, result={"sessionId": "s"})
    elif method == "session/prompt":
        word = message["params"]["prompt"][0]["text"]
        if word == "env":
            text(json.dumps({k: os.environ.get(k) for k in ["TERM", "NO_COLOR", "PATH", "MARK", "PWD"]}))
        elif word == "die":
            print("last words", file=sys.stderr, flush=True); os._exit(7)
        elif word == "cwd":
            text(os.getcwd())
        elif word == "noise":
            for n in range(5000): print("x" * 100, file=sys.stderr)
        else:
            text("you said " + word)
        say(id=id, result={"stopReason": "end_turn"})
if "stubborn" in sys.argv:
    time.sleep(600)
"#;

pub(crate) fn channel(words: &[&str], cwd: &Path) -> ProcessChannel {
    let env = std::env::vars_os().chain([("TERM".into(), "xterm".into()), ("MARK".into(), "m".into())]);
    ProcessChannel {
        argv: words.iter().map(OsString::from).collect(),
        cwd: cwd.to_owned(),
        env: env.collect(),
        login: Arc::new(LoginShell::new(NoProbe, None)),
        launcher: Arc::new(process::GroupLauncher),
    }
}

async fn start(dir: &Path, more: &[&str]) -> (AcpClient, Events) {
    let file = dir.join("agent.py");
    std::fs::write(&file, AGENT).unwrap();
    let words: Vec<&str> = ["python3", file.to_str().unwrap()].into_iter().chain(more.iter().copied()).collect();
    let (client, events) = connect(Arc::new(channel(&words, dir)), ConnectOptions::default());
    client.initialize().await.unwrap();
    client.new_session(dir).await.unwrap();
    (client, events)
}

/// One turn and what was said in it.
pub(crate) async fn say(client: &AcpClient, events: &mut Events, word: &str) -> String {
    client.prompt("s", vec![ContentBlock::text(word)]).await.unwrap();
    let mut text = String::new();
    loop {
        match events.next().await.unwrap() {
            ClientEvent::Update { update: SessionUpdate::AgentMessageChunk(chunk), .. } => {
                text.push_str(&chunk.content.shown())
            }
            ClientEvent::TurnEnded { turn, .. } => {
                assert_eq!(turn.unwrap().stop_reason, StopReason::EndTurn);
                return text;
            }
            _ => {}
        }
    }
}

#[tokio::test]
async fn an_agent_gets_its_place_and_an_environment_without_a_terminal() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let (client, mut events) = start(&root, &[]).await;
    assert_eq!(say(&client, &mut events, "hello").await, "you said hello");
    assert_eq!(say(&client, &mut events, "cwd").await, root.display().to_string());
    let env: serde_json::Value = serde_json::from_str(&say(&client, &mut events, "env").await).unwrap();
    assert_eq!((&env["TERM"], &env["NO_COLOR"], &env["MARK"]), (&().into(), &"1".into(), &"m".into()));
    // Half a megabyte of stderr blocks nobody, and only its end is kept.
    say(&client, &mut events, "noise").await;
    let stopping = Instant::now();
    client.stop().await;
    assert!(stopping.elapsed() < Duration::from_secs(2), "it goes when its input ends");
    assert_eq!(client.stderr().len(), process::TAIL_LINES);
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn a_dead_agent_is_reported_with_its_code_and_its_last_words() {
    let dir = tempfile::tempdir().unwrap();
    let (client, _events) = start(dir.path(), &[]).await;
    let error = client.prompt("s", vec![ContentBlock::text("die")]).await.unwrap_err();
    let ClientProblem::ProcessTerminated(end) = error.problem else { panic!("{error:?}") };
    assert_eq!((end.exit.code, end.stderr), (Some(7), vec!["starting".to_owned(), "last words".to_owned()]));
}

#[tokio::test]
async fn a_stubborn_agent_is_ended_by_the_next_signal() {
    let dir = tempfile::tempdir().unwrap();
    let (client, _events) = start(dir.path(), &["stubborn"]).await;
    let stopping = Instant::now();
    client.stop().await;
    let took = stopping.elapsed();
    assert!((Duration::from_secs(2)..Duration::from_secs(5)).contains(&took), "TERM comes after 2 s: {took:?}");
}

#[tokio::test]
async fn a_command_that_is_not_there_says_so_with_a_hint() {
    let dir = tempfile::tempdir().unwrap();
    let (client, mut events) = connect(Arc::new(channel(&["no-such-agent"], dir.path())), ConnectOptions::default());
    let error = client.initialize().await.unwrap_err();
    assert_eq!(error.to_string(), "cannot start: no-such-agent: not found");
    assert!(error.hint.is_some_and(|hint| hint.contains("`no-such-agent` is not on the PATH")));
    assert!(matches!(events.next().await, Some(ClientEvent::ConnectionLost(_))));
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn the_real_login_shell_is_asked_for_its_path() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path();
    std::fs::write(home.join(".profile"), "export PATH=/from/profile:$PATH\necho chatter\n").unwrap();
    let probe = ShellProbe(Arc::new(process::GroupLauncher));
    let login = LoginShell::new(probe, Some("/bin/sh".into()));
    let ours = vec![("HOME".into(), home.into()), ("PATH".into(), std::env::var_os("PATH").unwrap())];
    let env = login.environment(&ours).await;
    let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.to_string_lossy().into_owned());
    assert!(path.is_some_and(|path| path.ends_with(":/from/profile")), "{env:?}");
    // One that hangs costs its limits and no more.
    let slow = home.join("slow");
    std::fs::write(&slow, "#!/bin/sh\nsleep 600\n").unwrap();
    std::fs::set_permissions(&slow, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    struct Short(ShellProbe);
    impl acp_client::Probe for Short {
        fn run<'a>(
            &'a self,
            argv: &'a [OsString],
            env: &'a acp_client::Vars,
            _: Duration,
        ) -> vocab::Later<'a, Option<Vec<u8>>> {
            self.0.run(argv, env, Duration::from_millis(100))
        }
    }
    let login = LoginShell::new(Short(ShellProbe(Arc::new(process::GroupLauncher))), Some(slow.into()));
    assert!(login.environment(&ours).await.contains(&ours[1]));
}
