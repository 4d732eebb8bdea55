//! Commands in the terminal of a controller.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use vocab::*;

use crate::bench::context;
use crate::editor::{Editor, EditorWay, text};
use crate::shell_support::ShellSession;

const TERMINAL: EditorOffer = EditorOffer { read_text: false, write_text: false, terminal: true };

fn ran(output: &str, truncated: bool, exit_code: Option<i32>, signal: Option<&str>) -> EditorReply {
    EditorReply::Ran { output: output.into(), truncated, exit_code, signal: signal.map(Into::into) }
}

async fn bash(session: &ShellSession, editor: &Arc<Editor>, input: Value, granted: Required) -> Outcome {
    let context = CallContext { editor_requests: Some(Arc::new(EditorWay(editor.clone()))), ..context(granted) };
    session.tool("bash").run(Json::trusted(input.to_string()), context).await
}

fn details(outcome: &Outcome) -> Value {
    serde_json::from_str(outcome.details.as_ref().unwrap().as_str()).unwrap()
}

#[tokio::test]
async fn a_command_runs_in_the_terminal_of_the_controller() {
    let session = ShellSession::new();
    let editor =
        Arc::new(Editor { runs: Mutex::new(Some(ran("built\n", false, Some(0), None))), ..Editor::new(TERMINAL) });
    let outcome = bash(&session, &editor, json!({"command": "make all"}), Required::DangerFullAccess).await;
    assert_eq!((text(&outcome), details(&outcome)["exitCode"].clone()), ("built\n".to_owned(), json!(0)));
    let asked = editor.asked();
    assert!(asked[0].starts_with("run make all in ws, 1048576: "), "{asked:?}");
    assert!(
        asked[0].contains("GIT_PAGER=cat") && !asked[0].contains("PATH=") && !asked[0].contains("GIT_CONFIG"),
        "{asked:?}"
    );
    for (result, told) in [
        (ran("no\n", false, Some(2), None), "ERROR no\n[exit code 2]"),
        (ran("", false, None, Some("SIGKILL")), "ERROR (no output)\n[killed by signal SIGKILL]"),
        (ran("x", false, None, None), "ERROR x\n[the controller does not say how it ended]"),
        (
            ran("end\n", true, Some(0), None),
            "end\n[the beginning of the output is lost: the controller keeps only its end]",
        ),
        (EditorReply::Failed("no shell".into()), "ERROR bash: the controller could not run the command: no shell"),
    ] {
        *editor.runs.lock().unwrap() = Some(result);
        let outcome = bash(&session, &editor, json!({"command": "make"}), Required::DangerFullAccess).await;
        assert_eq!(text(&outcome), told);
    }
}

#[tokio::test]
async fn long_output_is_cut_and_spilled_as_ever() {
    let session = ShellSession::new();
    let long = "0123456789\n".repeat(9_000);
    let editor = Arc::new(Editor { runs: Mutex::new(Some(ran(&long, false, Some(0), None))), ..Editor::new(TERMINAL) });
    let outcome = bash(&session, &editor, json!({"command": "make"}), Required::DangerFullAccess).await;
    let (told, facts) = (text(&outcome), details(&outcome));
    assert!(told.len() < 40_000 && told.contains("bytes omitted; full output in"), "{}", told.len());
    assert_eq!((&facts["truncated"], &facts["totalBytes"]), (&json!(true), &json!(99_000)));
    let spill = PathBuf::from(facts["spill"].as_str().unwrap());
    assert!(spill.starts_with(session.dir.path()));
    assert_eq!(std::fs::read_to_string(spill).unwrap(), long);
}

#[tokio::test]
async fn a_command_that_may_only_read_takes_its_fences_along() {
    let session = ShellSession::new();
    let editor = Arc::new(Editor { runs: Mutex::new(Some(ran("", false, Some(0), None))), ..Editor::new(TERMINAL) });
    bash(&session, &editor, json!({"command": "git status"}), Required::ReadOnly).await;
    let asked = editor.asked();
    assert!(asked[0].contains("=core.fsmonitor ") && asked[0].contains("PATH="), "{asked:?}");
}

#[tokio::test]
async fn it_is_the_same_shell_as_without_a_controller() {
    let (session, editor) = (ShellSession::new(), Arc::new(Editor::new(TERMINAL)));
    let bashism = json!({"command": "[[ 1 == 1 ]] && echo {1..3}"});
    let here = session.tool("bash").run(Json::trusted(bashism.to_string()), context(Required::DangerFullAccess)).await;
    let is_bash = text(&here) == "1 2 3\n";
    for (input, granted) in [(bashism, Required::DangerFullAccess), (json!({"command": "ls"}), Required::ReadOnly)] {
        *editor.runs.lock().unwrap() = Some(ran("", false, Some(0), None));
        bash(&session, &editor, input, granted).await;
        let (program, given) = editor.shell.lock().unwrap().clone();
        match granted {
            _ if !is_bash => assert_eq!((program.to_str(), &*given), (Some("/bin/sh"), "-c")),
            Required::DangerFullAccess => assert_eq!((program.to_str(), &*given), (Some("bash"), "-c")),
            // Nothing of the controller's variables decides what runs.
            _ => {
                assert!(program.is_absolute() && program.ends_with("bash") && given == "-p -c", "{program:?} {given}");
            }
        }
    }
}

#[tokio::test]
async fn what_was_not_granted_or_is_for_the_background_is_not_run_there() {
    let session = ShellSession::new();
    let editor = Arc::new(Editor::new(TERMINAL));
    let told = text(&bash(&session, &editor, json!({"command": "rm -rf x"}), Required::ReadOnly).await);
    assert!(told.contains("only read-only was granted"), "{told}");
    let told =
        text(&bash(&session, &editor, json!({"command": "make", "cwd": "nowhere"}), Required::DangerFullAccess).await);
    assert!(told.contains("does not exist"), "{told}");
    let input = json!({"command": "sleep 5", "run_in_background": true});
    assert!(
        text(&bash(&session, &editor, input, Required::DangerFullAccess).await)
            .starts_with("Started in the background")
    );
    assert_eq!(editor.asked().len(), 0);
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_given_up() {
    let session = ShellSession::new();
    let editor = Arc::new(Editor::new(TERMINAL));
    let outcome = bash(&session, &editor, json!({"command": "make", "timeout": 50}), Required::DangerFullAccess).await;
    assert_eq!(text(&outcome), "ERROR (no output)\n[timed out after 0.05 s; its output stayed with the controller]");
    assert_eq!(details(&outcome)["timedOut"], json!(true));
}
