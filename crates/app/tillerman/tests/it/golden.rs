//! Every conversation in `golden/` is played in its dialect and compared with its file, byte for byte. `UPDATE_EXPECT=1` writes
//! what was heard into the files, for a person to read.

use std::path::{Path, PathBuf};

use dialect_serve::{Serve, ServeOptions};
use testkit::golden::{Opening, Scene};
use testkit::pipe::Pipe;
use vocab::Which;

use crate::{acp_stage, loaf_stage};

pub(crate) fn serve(opening: &Opening) -> Pipe {
    opening.pipe(Serve::new(ServeOptions {
        which: opening.resume.as_deref().map_or(Which::New, Which::parse),
        mode: Some(opening.mode),
        multi: opening.multi,
        ..ServeOptions::new(testkit::stage::VERSION)
    }))
}

pub(crate) fn rpc(opening: &Opening) -> Pipe {
    use dialect_rpc::{Errors, Rpc, Updates};
    let mode = opening.arg("--permission-mode").and_then(vocab::Mode::parse);
    let errors = if opening.arg("--rpc-errors") == Some("seed") { Errors::Seed } else { Errors::Pi };
    let updates = if opening.arg("--rpc-updates") == Some("delta") { Updates::Delta } else { Updates::Full };
    if opening.arg("--extension") == Some("ask") {
        // It lives as long as the runtime.
        drop(crate::recordings_rpc::extension::start(&opening.engine));
    }
    opening.pipe(Rpc::new(dialect_rpc::RpcOptions {
        which: opening.resume.as_deref().map_or(Which::New, Which::parse),
        mode: Some(mode.unwrap_or(vocab::Mode::DangerFullAccess)),
        errors,
        updates,
        reminders_max: opening.arg("--reminders").and_then(|most| most.parse().ok()).unwrap_or(0),
        ..dialect_rpc::RpcOptions::new(testkit::stage::VERSION)
    }))
}

/// Runs a story with time paused: what would take seconds takes none.
pub(crate) fn paused<F: Future>(story: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
    runtime.expect("a runtime can be built").block_on(story)
}

/// Runs a story that a process takes part in, whose time is the machine's.
pub(crate) fn real_time<F: Future>(story: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime can be built").block_on(story)
}

pub(crate) fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.."))
}

fn stories(dialect: &str) -> Vec<PathBuf> {
    let folder = repository().join("golden").join(dialect);
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("the golden folder").map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "talk"));
    files.sort();
    files
}

#[test]
fn every_golden_conversation_is_what_serve_says() {
    check("serve", 20, || Scene::new(serve));
}

#[test]
fn every_golden_conversation_is_what_rpc_says() {
    check("rpc", 40, || Scene::new(rpc));
}

#[test]
fn every_golden_conversation_is_what_loaf_says() {
    check("loaf", 20, loaf_stage::scene);
}

#[test]
fn every_golden_conversation_is_what_acp_says() {
    check("acp", 30, acp_stage::scene);
}

fn check(dialect: &str, least: usize, scene: fn() -> Scene) {
    let files = stories(dialect);
    assert!(files.len() >= least, "only {} conversations were found", files.len());
    for file in files {
        let story = std::fs::read_to_string(&file).expect("a readable story");
        let play = testkit::golden::play(scene(), &story);
        let fresh = if testkit::golden::in_real_time(&story) { real_time(play) } else { paused(play) };
        expect_test::expect_file![file].assert_eq(&fresh);
    }
}

/// The first conversation is the protocol's own example. It must stay exactly that, also when files are rewritten.
#[test]
fn the_example_of_the_protocol_is_kept_to_the_letter() {
    let story = std::fs::read_to_string(repository().join("golden/serve/seed_example.talk")).expect("the example");
    let lines: Vec<&str> = story.lines().filter(|line| line.starts_with(['<', '>'])).skip(1).collect();
    let ask = r#"< {"type":"permission_request","request_id":"r-9","tool":"glob_search","active_mode":"prompt","required_mode":"read-only","details":{"tool_input":{"pattern":"**/*.py"},"reason":null}}"#;
    assert_eq!(
        lines,
        [
            r#"> {"type":"prompt","text":"list the python files"}"#,
            r#"< {"type":"turn_started","turn_id":"abc123"}"#,
            r#"< {"type":"text_delta","turn_id":"abc123","delta":"I'll glob "}"#,
            r#"< {"type":"text_delta","turn_id":"abc123","delta":"for *.py."}"#,
            r#"< {"type":"tool_start","turn_id":"abc123","tool_id":"call_1","name":"glob_search","input":{"pattern":"**/*.py"}}"#,
            ask,
            r#"> {"type":"permission_response","request_id":"r-9","decision":"allow"}"#,
            r#"< {"type":"tool_result","turn_id":"abc123","tool_id":"call_1","output":"a.py\nb.py\n","is_error":false,"duration_s":0.0}"#,
            r#"< {"type":"text_delta","turn_id":"abc123","delta":"Found two: a.py and b.py."}"#,
            r#"< {"type":"turn_complete","turn_id":"abc123","stop_reason":"end_turn","iterations":1,"input_tokens":820,"output_tokens":34,"mutations":[]}"#,
            r#"> {"type":"shutdown"}"#,
        ]
    );
    assert!(story.ends_with("exit 0\n"), "{story}");
}
