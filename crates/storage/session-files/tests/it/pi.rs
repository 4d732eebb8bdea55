//! Real pi reads what we wrote, and we read what real pi wrote. Skipped with a word where it is not installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use vocab::Archive;

use crate::kit::*;

/// The package's session manager, if it is installed and there is a node to run it: where `PI_PACKAGE` says, or where
/// the tests of the binary keep it.
pub(crate) fn package() -> Option<PathBuf> {
    let kept =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("../peers/pi-0.73.1/node_modules/@mariozechner/pi-coding-agent");
    let package = std::env::var_os("PI_PACKAGE").map_or(kept, PathBuf::from);
    let path = package.join("dist/core/session-manager.js");
    let node = Command::new("node").arg("--version").output().is_ok_and(|output| output.status.success());
    (path.is_file() && node).then_some(path)
}

pub(crate) fn node(script: &str, args: &[&Path]) -> serde_json::Value {
    let output = Command::new("node").args(["--input-type=module", "-e", script, "--"]).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

const OPEN: &str = r#"
const [module, file] = process.argv.slice(1);
const { SessionManager } = await import(module);
const manager = SessionManager.open(file);
"#;

#[tokio::test]
async fn pi_reads_our_file_and_we_read_what_it_appends() {
    let Some(module) = package() else {
        return println!("SKIP pi is not installed (PI_PACKAGE names its directory), or there is no node");
    };
    let world = MirrorWorld::new();
    let process = world.process();
    let mut talk = RunningSession::begin(&process, ID);
    talk.log(everything()).await;
    let path = talk.file();
    talk.end().await;
    let before = std::fs::read_to_string(&path).unwrap();
    let script = format!(
        "{OPEN}
        const read = {{ id: manager.getSessionId(), name: manager.getSessionName(), leaf: manager.getLeafId(),
                       context: manager.buildSessionContext(), entries: manager.getEntries().length,
                       roots: manager.getTree().length }};
        manager.appendMessage({{ role: 'user', content: [{{ type: 'text', text: 'from pi' }}], timestamp: 7 }});
        manager.appendMessage({{ role: 'assistant', content: [{{ type: 'text', text: 'indeed' }}], provider: 'mock',
                               model: 'mock-1', stopReason: 'stop', timestamp: 8 }});
        console.log(JSON.stringify(read));"
    );
    let read = node(&script, &[&module, &path]);
    assert_eq!(read["id"], ID);
    assert_eq!(read["name"], "beside");
    assert_eq!(read["roots"], 1);
    assert_eq!(read["entries"], before.lines().count() - 1);
    let expected: Vec<serde_json::Value> =
        world.context(ID).await.iter().map(|json| serde_json::from_str(json).unwrap()).collect();
    assert_eq!(read["context"]["messages"], serde_json::Value::Array(expected));
    assert_eq!(read["context"]["thinkingLevel"], "high");

    let later = world.process();
    later.import(&path).await.unwrap();
    assert!(std::fs::read_to_string(&path).unwrap().starts_with(&before), "pi had nothing to migrate");
    let context = world.context(ID).await;
    assert_eq!(texts(&context)[context.len() - 2..], ["from pi", "indeed"]);
    let mut talk = RunningSession::resume(&later, ID).await;
    talk.log(vec![user("and us"), says("again")]).await;
    let read = node(&format!("{OPEN} console.log(JSON.stringify(manager.buildSessionContext()));"), &[&module, &path]);
    let messages = read["messages"].as_array().unwrap();
    assert_eq!(messages.len(), world.context(ID).await.len());
    assert_eq!(messages.last().unwrap()["content"][0]["text"], "again");
}

#[tokio::test]
async fn we_open_a_session_that_pi_began() {
    let Some(module) = package() else {
        return println!("SKIP pi is not installed (PI_PACKAGE names its directory), or there is no node");
    };
    let world = MirrorWorld::new();
    let script = r#"
        const [module, dir] = process.argv.slice(1);
        const { SessionManager } = await import(module);
        const manager = SessionManager.create('/work', dir);
        manager.appendModelChange('mock', 'mock-1');
        manager.appendThinkingLevelChange('low');
        const user = (text) => manager.appendMessage({ role: 'user', content: [{ type: 'text', text }], timestamp: 1 });
        const say = (text) => manager.appendMessage({ role: 'assistant', content: [{ type: 'text', text }],
            api: 'openai-completions', provider: 'mock', model: 'mock-1', usage: { input: 1, output: 2 }, stopReason: 'stop', timestamp: 2 });
        const first = user('a'); say('1'); user('b'); say('2');
        manager.appendLabelChange(first, 'L');
        manager.appendSessionInfo('Named');
        manager.branch(first);
        say('other');
        manager.appendCustomEntry('x', { y: 1 });
        console.log(JSON.stringify({ file: manager.getSessionFile(), id: manager.getSessionId() }));
    "#;
    let made = node(script, &[&module, &world.files()]);
    let path = PathBuf::from(made["file"].as_str().unwrap());
    let process = world.process();
    let id = process.import(&path).await.unwrap();
    assert_eq!(id.as_str(), made["id"]);
    assert_eq!(texts(&world.context(id.as_str()).await), ["a", "other"]);
    let summary = world.store.summary(&id).await.unwrap().unwrap();
    assert_eq!((summary.title.as_deref(), &*summary.model), (Some("Named"), "mock/mock-1"));
    let mut talk = RunningSession::resume(&process, id.as_str()).await;
    talk.log(vec![user("ours"), says("yes")]).await;
    let script = format!("{OPEN} console.log(JSON.stringify(manager.buildSessionContext()));");
    let read = node(&script, &[&module, &path]);
    let shown: Vec<_> =
        read["messages"].as_array().unwrap().iter().map(|it| it["content"][0]["text"].as_str().unwrap()).collect();
    assert_eq!(shown, ["a", "other", "ours", "yes"]);
}
