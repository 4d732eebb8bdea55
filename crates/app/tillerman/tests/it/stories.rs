//! The stories of `testkit::stories`, told by the engine itself, by `serve`, by `rpc`, by `loaf` and by `acp`. `serve` must leave the log
//! that the story's file shows; the others, which open sessions their own way, the log of the engine opened that way.

mod acp_teller;
mod alone;
mod crashes;
mod going_on;
mod host_tools;
mod host_tools_rpc;
mod loaf_teller;
mod peers;
mod processes;
pub(crate) mod rpc_teller;
mod serve_teller;

use std::path::{Path, PathBuf};

use testkit::stories::{EngineTeller, Setting, play, play_in};
use vocab::Which;

use crate::golden::paused;
use crate::loaf_stage;
use acp_teller::{AcpTeller, engine_as_acp};
use loaf_teller::{LoafTeller, engine_as_loaf};
use rpc_teller::{RpcTeller, open_as_rpc};
use serve_teller::{ServeTeller, open_as_serve};

fn files() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/stories");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("the stories").map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "story"));
    files.sort();
    files.into_iter().map(|file| (file.clone(), std::fs::read_to_string(file).expect("a readable story"))).collect()
}

#[test]
fn every_story_ends_as_written() {
    let files = files();
    assert!(files.len() >= 30, "only {} stories were found", files.len());
    for (file, story) in files {
        let told = paused(play(&story, async |stage| EngineTeller::open(stage, open_as_serve(Which::New)).await));
        expect_test::expect_file![file].assert_eq(&told.expect("the engine has words for everything"));
    }
}

/// A no without a reason has words of its own in that family: golden/serve/denied.talk.
const NOT_IN_SERVE: &str = "04_denied_without_reason";

/// `expect_file` could rewrite a story; this compares only.
#[test]
fn every_dialect_leaves_the_same_log() {
    let mut told_by_serve = 0;
    for (file, story) in files() {
        if file.file_stem().is_some_and(|name| name == NOT_IN_SERVE) {
            continue;
        }
        let told = paused(play(&story, async |stage| ServeTeller::new(stage).await));
        let Some(told) = told else { continue };
        told_by_serve += 1;
        assert!(told == story, "{}: serve tells it differently:\n{}", file.display(), difference(&story, &told));
    }
    assert!(told_by_serve >= 25, "serve told only {told_by_serve} stories");
    assert!(!Path::new("/tmp/evil-story.txt").exists(), "story 7 wrote outside the workspace");
}

/// Stories that `rpc` has no words for, or that are not the same story there.
const NOT_IN_RPC: &[(&str, &str)] = &[
    ("16_taken_back", "a queue is taken back whole: 16b_all_taken_back"),
    ("23a_gone_with_a_question", "the end of the input stops what runs: golden/rpc/eof_with_host_tool.talk"),
    ("23b_gone_in_stream", "the end of the input stops what runs: golden/rpc/eof_in_stream.talk"),
    ("31_usage", "`/cost` is `get_session_stats` here, which leaves nothing in the log"),
    ("34_changes_while_a_turn_runs", "`/mode` and `/clear` have no words; `new_session` stops what runs"),
];

/// The engine tells each story once more, opened as `rpc` opens it: the mode decides about calls, and the model reads that
/// family's names. `rpc` must leave the same log and ask the model the same. Two things it cannot say are left out of both:
/// the reason of a no, and that an answer came too late.
#[test]
fn rpc_leaves_the_log_of_the_engine() {
    let mut told_by_rpc = 0;
    for (file, story) in files() {
        let name = file.file_stem().expect("a file has a name").to_string_lossy().into_owned();
        if NOT_IN_RPC.iter().any(|(it, _)| name == *it) {
            continue;
        }
        let story: String = story
            .lines()
            .map(|line| if line.starts_with("deny ") { "deny\n".into() } else { format!("{line}\n") })
            .collect();
        let twin = paused(play(&story, async |stage| EngineTeller::open(stage, open_as_rpc(Which::New)).await));
        let twin = twin.expect("the engine has words for everything").replace("! unknown_ask\n", "");
        let told = paused(play(&story, async |stage| RpcTeller::new(stage).await));
        let told = told.unwrap_or_else(|| panic!("{name}: rpc has no words for it, and no table says why"));
        told_by_rpc += 1;
        assert!(told == twin, "{name}: rpc tells it differently:\n{}", difference(&twin, &told));
    }
    assert_eq!(told_by_rpc + NOT_IN_RPC.len(), files().len(), "the table names a story that is not there");
}

/// Stories that `loaf` has no words for, or that are not the same story there.
const NOT_IN_LOAF: &[(&str, &str)] = &[
    ("03_tool_denied", "this wire has no questions: golden/loaf/tightened.talk"),
    ("04_denied_without_reason", "this wire has no questions: golden/loaf/tightened.talk"),
    ("07_outside_the_workspace", "this wire has no questions: golden/loaf/tightened.talk"),
    ("10_interrupt_in_question", "this wire has no questions: golden/loaf/interrupt_in_tool.talk"),
    ("16_taken_back", "a queue is cleared whole: golden/loaf/queue_cleared.talk"),
    ("16b_all_taken_back", "steering is no part of the queue: golden/loaf/queue_cleared.talk"),
    ("17d_retry_wait_aborted", "a wait ends with its turn: 17c_interrupt_in_retry_wait"),
    ("23a_gone_with_a_question", "this wire has no questions"),
    ("23b_gone_in_stream", "the end of the input stops what runs: golden/loaf/eof_in_turn.talk"),
    ("31_usage", "`/cost` has no words here"),
    ("34_changes_while_a_turn_runs", "`/mode` has no words here, and `/clear` is golden/loaf/clear_in_turn.talk"),
    ("38_strange_text", "this wire has no questions: it writes, which a read-only mode would not"),
    ("39a_users_own_command", "a user has no commands of their own here"),
    ("39b_users_own_command_aborted", "a user has no commands of their own here"),
    ("40a_todo_list", "a client has no words for tasks"),
    ("40b_reminded", "a client has no words for tasks, and nobody is reminded"),
    ("40c_no_reminder_after_an_interrupt", "a client has no words for tasks, and nobody is reminded"),
    ("41_budget", "this wire has no questions: golden/loaf/budget.talk"),
];

/// As above: the engine, opened as `loaf` opens it and settled as the command settles it, is the measure.
#[test]
fn loaf_leaves_the_log_of_the_engine() {
    let setting = Setting { provider: "openai", tune: loaf_stage::settle };
    let mut told_by_loaf = 0;
    for (file, story) in files() {
        let name = file.file_stem().expect("a file has a name").to_string_lossy().into_owned();
        if NOT_IN_LOAF.iter().any(|(it, _)| name == *it) {
            continue;
        }
        let twin = play_in(setting, &story, engine_as_loaf);
        let twin = paused(twin).expect("the engine has words for everything");
        let told = paused(play_in(setting, &story, async |stage| LoafTeller::new(stage).await));
        let told = told.unwrap_or_else(|| panic!("{name}: loaf has no words for it, and no table says why"));
        // A model is always selected together with its level.
        let told = told.replace("| thinking None\n", "");
        told_by_loaf += 1;
        assert!(told == twin, "{name}: loaf tells it differently:\n{}", difference(&twin, &told));
    }
    assert_eq!(told_by_loaf + NOT_IN_LOAF.len(), files().len(), "the table names a story that is not there");
}

/// Stories that `acp` has no words for, or that are not the same story there.
const NOT_IN_ACP: &[(&str, &str)] = &[
    ("12_prompt_while_busy", "a second prompt waits: golden/acp/queue.talk"),
    ("13_steer_in_stream", "this wire has no words for steering"),
    ("14a_steer_waits_for_the_batch", "this wire has no words for steering"),
    ("14b_steer_cuts_the_batch", "this wire has no words for steering"),
    ("15a_follow_ups_one_at_a_time", "this wire has no words for steering"),
    ("15b_follow_ups_all_at_once", "this wire has no words for steering"),
    ("16b_all_taken_back", "prompts are taken back one by one: 16_taken_back"),
    ("17d_retry_wait_aborted", "a wait ends with its turn: 17c_interrupt_in_retry_wait"),
    ("23a_gone_with_a_question", "the end of the input stops what runs: golden/acp/eof_in_question.talk"),
    ("23b_gone_in_stream", "the end of the input stops what runs: golden/acp/eof_in_turn.talk"),
    ("34_changes_while_a_turn_runs", "`/clear` would put the client on another session: golden/acp/choosing.talk"),
    ("39a_users_own_command", "a user has no commands of their own here"),
    ("39b_users_own_command_aborted", "a user has no commands of their own here"),
    ("40a_todo_list", "a client has no words for tasks; a model's list is golden/acp/plan.talk"),
    ("40b_reminded", "a client has no words for tasks"),
    ("40c_no_reminder_after_an_interrupt", "a client has no words for tasks"),
];

/// As above: the engine, opened as `acp` opens it, is the measure. A no has no reason on this wire, nobody is told that an
/// answer came too late, and what is wrong with a slash command is said in words.
#[test]
fn acp_leaves_the_log_of_the_engine() {
    let mut told_by_acp = 0;
    for (file, story) in files() {
        let name = file.file_stem().expect("a file has a name").to_string_lossy().into_owned();
        if NOT_IN_ACP.iter().any(|(it, _)| name == *it) {
            continue;
        }
        let story: String = story
            .lines()
            .map(|line| if line.starts_with("deny ") { "deny\n".into() } else { format!("{line}\n") })
            .collect();
        let twin = paused(play(&story, engine_as_acp)).expect("the engine has words for everything");
        let twin = twin.replace("! unknown_ask\n", "").replace("! unknown_model\n", "");
        let told = paused(play(&story, async |stage| AcpTeller::new(stage).await));
        let told = told.unwrap_or_else(|| panic!("{name}: acp has no words for it, and no table says why"));
        told_by_acp += 1;
        assert!(told == twin, "{name}: acp tells it differently:\n{}", difference(&twin, &told));
    }
    assert_eq!(told_by_acp + NOT_IN_ACP.len(), files().len(), "the table names a story that is not there");
}

fn difference(expected: &str, got: &str) -> String {
    let at = expected.lines().zip(got.lines()).take_while(|(one, other)| one == other).count();
    let from = |text: &str| text.lines().skip(at).take(6).collect::<Vec<_>>().join("\n");
    format!("line {}\n--- expected\n{}\n--- got\n{}", at + 1, from(expected), from(got))
}
