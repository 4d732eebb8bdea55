//! A server of tools on a real leash, as in the product.

use std::sync::Arc;
use std::time::Duration;

use vocab::*;

use process::LeashLauncher;

/// Lets this test binary be its own leash: the argument `__leash` is, for the test harness, a filter that selects
/// exactly this function.
#[test]
fn __leash() {
    // In an ordinary test run this is one of many tests and has nothing to do.
    if std::env::args().nth(1).as_deref() == Some(process::leash::ARG) {
        std::process::exit(process::leash::run());
    }
}

async fn start(workspace: &std::path::Path, command: &str) -> Result<Vec<Arc<dyn Tool>>, Fault> {
    let env = process::clean_environment(&Keyring::default());
    let servers = mcp::Servers::new(mcp::McpOptions {
        env,
        version: "0.1.0".into(),
        launcher: Arc::new(LeashLauncher),
        own: Vec::new(),
    });
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scripted.py");
    // A word that a shell would take apart.
    let args = vec![script.into(), "it's; exit 5".into()];
    let env = vec![("SERVER_KEY".into(), Secret::new("canary-5d2f8a").unwrap())];
    let way = McpTransport::Process { command: command.into(), args, env };
    let server = McpServer { name: "held".into(), way, trust_hints: false };
    servers.start(&"s1".into(), workspace, vec![server]).await.remove(0).tools
}

async fn call(tools: &[Arc<dyn Tool>], name: &str) -> String {
    let tool = tools.iter().find(|tool| &*tool.spec().name == name).unwrap();
    let context = CallContext {
        session: "s1".into(),
        call: "c1".into(),
        granted: Required::DangerFullAccess,
        progress: Arc::new(|_: &str| {}),
        todos: Arc::from([]),
        editor_requests: None,
        children: None,
        processes: None,
    };
    parts_text(&tool.run(Json::empty_object(), context).await.parts)
}

fn is_alive(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn a_server_works_in_the_workspace_and_ends_with_everything_it_started() {
    let dir = tempfile::tempdir().unwrap();
    let tools = start(dir.path(), "python3").await.unwrap();
    let place = call(&tools, "place").await;
    assert!(place.contains(&format!("\"cwd\": \"{}\"", dir.path().canonicalize().unwrap().display())), "{place}");
    let pids = call(&tools, "children").await;
    let pids: Vec<&str> = pids.split(' ').collect();
    assert!(pids.iter().all(|pid| is_alive(pid)), "{pids:?}");
    drop(tools);
    for _ in 0..1000 {
        if !pids.iter().any(|pid| is_alive(pid)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{pids:?} live on");
}

#[tokio::test]
async fn its_death_is_told_with_its_last_words_and_without_its_key() {
    let dir = tempfile::tempdir().unwrap();
    let tools = start(dir.path(), "python3").await.unwrap();
    assert_eq!(call(&tools, "die").await, "the server `held` exited with code 3\nthe reason is ***");
    assert!(call(&tools, "place").await.contains("cwd"), "it is started anew");
    let missing = start(dir.path(), "no-such-program").await.err().unwrap();
    assert!(missing.message.starts_with("exited with code 127\n"), "{}", missing.message);
    assert!(missing.message.contains("no-such-program"), "{}", missing.message);
}
