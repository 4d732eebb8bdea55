//! Files and commands through a controller that offers to show, to take and to run them.

use std::collections::HashMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tempfile::TempDir;
use vocab::*;

use crate::bench::{Bench, CANARY, context, runtime};
use crate::shell_support::Session;

/// An editor: buffers that may differ from the disk, and a note of everything that was asked of it.
#[derive(Default)]
struct Editor {
    offers: Services,
    buffers: Mutex<HashMap<PathBuf, String>>,
    asked: Mutex<Vec<String>>,
    /// The n-th write from now fails.
    failing_write: Mutex<Option<usize>>,
    /// It keeps what it takes in its buffer.
    keeps: bool,
    /// It ends every line with CR LF when it saves.
    crlf: bool,
    /// Done just before a write.
    before_write: Mutex<Option<Box<dyn FnOnce() + Send>>>,
    runs: Mutex<Option<ErrandResult>>,
}

const TEXTS: Services = Services { read_text: true, write_text: true, terminal: false };

impl Editor {
    fn new(offers: Services) -> Self {
        Self { offers, ..Self::default() }
    }
    fn with(self, path: &Path, text: &str) -> Self {
        self.buffers.lock().unwrap().insert(path.to_owned(), text.to_owned());
        self
    }
    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
    fn note(&self, what: &str, path: &Path) {
        let name = path.file_name().unwrap().to_string_lossy();
        self.asked.lock().unwrap().push(format!("{what} {name}"));
    }

    fn read(&self, path: &Path) -> ErrandResult {
        self.note("read", path);
        match self.buffers.lock().unwrap().get(path) {
            Some(text) if text == "locked" => ErrandResult::Failed("it is locked".into()),
            Some(text) => ErrandResult::Text(text.as_str().into()),
            None => ErrandResult::NotFound,
        }
    }

    fn write(&self, path: &Path, content: &str) -> ErrandResult {
        self.note("write", path);
        if let Some(left) = self.failing_write.lock().unwrap().as_mut() {
            *left = left.wrapping_sub(1);
            if *left == 0 {
                return ErrandResult::Failed("the disk is full".into());
            }
        }
        if let Some(step) = self.before_write.lock().unwrap().take() {
            step();
        }
        self.buffers.lock().unwrap().insert(path.to_owned(), content.to_owned());
        let saved = if self.crlf { content.replace('\n', "\r\n") } else { content.to_owned() };
        if !self.keeps {
            std::fs::write(path, saved).unwrap();
        }
        ErrandResult::Written
    }
}

/// The way to an editor.
struct Way(Arc<Editor>);

impl Errands for Way {
    fn offered(&self) -> Services {
        self.0.offers
    }
    fn run(&self, kind: ErrandKind) -> Later<'static, ErrandResult> {
        let editor = self.0.clone();
        Box::pin(async move {
            tokio::task::yield_now().await;
            match kind {
                ErrandKind::ReadText { path } => editor.read(&path),
                ErrandKind::WriteText { path, content } => editor.write(&path, &content),
                ErrandKind::Run { command, cwd, env, output_bytes_max } => {
                    let env = env.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ");
                    let cwd = cwd.file_name().unwrap().to_string_lossy().into_owned();
                    editor.asked.lock().unwrap().push(format!("run {command} in {cwd}, {output_bytes_max}: {env}"));
                    let result = editor.runs.lock().unwrap().take();
                    match result {
                        Some(result) => result,
                        None => std::future::pending().await,
                    }
                }
            }
        })
    }
}

fn call(bench: &Bench, editor: &Arc<Editor>, name: &str, input: Value) -> Outcome {
    call_granted(bench, editor, name, input, Required::WorkspaceWrite)
}

fn call_granted(bench: &Bench, editor: &Arc<Editor>, name: &str, input: Value, granted: Required) -> Outcome {
    let context = CallContext { errands: Some(Arc::new(Way(editor.clone()))), ..context(granted) };
    runtime().block_on(bench.tool(name).run(Json::trusted(input.to_string()), context))
}

fn text(outcome: &Outcome) -> String {
    let text = parts_text(&outcome.parts);
    if outcome.is_error { format!("ERROR {text}") } else { text }
}

fn sides(outcome: &Outcome) -> Vec<(String, Snapshot, Snapshot)> {
    outcome.edits.iter().map(|edit| (edit.path.to_string(), edit.before.clone(), edit.after.clone())).collect()
}

fn kept(text: &str) -> Snapshot {
    Snapshot::Text(text.into())
}

#[test]
fn what_is_in_a_buffer_is_read_with_windows_and_all() {
    let bench = Bench::holding(&[("a.txt", "disk\n"), ("b.txt", "only on the disk\n")]);
    let lines: String = (1..=9).map(|n| format!("line {n}\n")).collect();
    let editor = Editor::new(TEXTS).with(&bench.root.join("a.txt"), &lines);
    let editor = Arc::new(editor.with(&bench.root.join("unsaved.txt"), "never saved\n"));
    let read = |input: Value| text(&call(&bench, &editor, "read_file", input));
    assert_eq!(read(json!({"path": "a.txt"})), lines);
    assert_eq!(
        read(json!({"path": "a.txt", "offset": 3, "limit": 2})),
        "line 3\nline 4\n[lines 3-4 of 9; read on with offset 5]"
    );
    assert_eq!(
        read(json!({"path": "a.txt", "offset": 20})),
        "ERROR a.txt: offset 20 is past the end; the file has 9 lines"
    );
    assert_eq!(read(json!({"path": "unsaved.txt"})), "never saved\n");
    assert_eq!(
        read(json!({"path": "b.txt"})),
        "only on the disk\n",
        "what the controller does not know is on the disk"
    );
    let missing = read(json!({"path": "c.txt"}));
    assert!(missing.starts_with("ERROR c.txt: no such file"), "{missing}");
    assert_eq!(editor.asked().len(), 6);
}

#[test]
fn a_controller_that_cannot_read_fails_the_call() {
    let bench = Bench::holding(&[("a.txt", "disk\n")]);
    let editor = Arc::new(Editor::new(TEXTS).with(&bench.root.join("a.txt"), "locked"));
    for (name, input) in [
        ("read_file", json!({"path": "a.txt"})),
        ("write_file", json!({"path": "a.txt", "content": "x"})),
        ("edit_file", json!({"path": "a.txt", "old_string": "disk", "new_string": "x"})),
        ("apply_patch", json!({"input": "*** Begin Patch\n*** Delete File: a.txt\n*** End Patch"})),
    ] {
        let told = text(&call(&bench, &editor, name, input));
        assert_eq!(told, "ERROR a.txt: the controller could not read it: it is locked", "{name}");
    }
    assert_eq!(bench.text("a.txt"), "disk\n");
}

#[test]
fn pictures_binaries_long_files_and_spilled_output_are_read_from_the_disk() {
    let bench = Bench::new();
    bench.put("p.png", b"\x89PNG\r\n\x1a\n0000");
    bench.put("b.bin", b"a\0b");
    bench.put("latin.txt", b"gr\xfc\xdfe\n");
    bench.put("long.txt", "x\n".repeat(3 * 1024 * 1024));
    let editor = Arc::new(Editor::new(TEXTS));
    for name in ["p.png", "b.bin", "latin.txt", "long.txt", "."] {
        call(&bench, &editor, "read_file", json!({ "path": name }));
        assert_eq!(editor.asked(), [""; 0], "{name}");
    }
    // A long file is replaced as without a controller.
    assert!(
        text(&call(&bench, &editor, "write_file", json!({"path": "long.txt", "content": "short\n"})))
            .contains("updated")
    );
    assert_eq!((editor.asked().len(), bench.text("long.txt")), (0, "short\n".to_owned()));
}

#[test]
fn nothing_is_asked_that_was_not_granted() {
    let bench = Bench::holding(&[("plain.txt", "x\n"), (".git/config", "x\n")]);
    symlink(&bench.outside, bench.root.join("out")).unwrap();
    symlink(".git", bench.root.join("g")).unwrap();
    let editor = Arc::new(Editor::new(TEXTS));
    let canary = bench.outside.join("canary.txt");
    for path in ["out/canary.txt", "../outside/canary.txt", canary.to_str().unwrap()] {
        let told = text(&call(&bench, &editor, "read_file", json!({ "path": path })));
        assert!(told.contains("outside the workspace"), "{told}");
    }
    for path in [".git/config", "g/config", ".git/hooks/new", "out/canary.txt"] {
        for (name, input) in [
            ("write_file", json!({"path": path, "content": "evil"})),
            ("edit_file", json!({"path": path, "old_string": "x", "new_string": "evil"})),
            ("apply_patch", json!({"input": format!("*** Begin Patch\n*** Add File: {path}\n+evil\n*** End Patch")})),
            (
                "apply_patch",
                json!({"input": format!("*** Begin Patch\n*** Update File: plain.txt\n*** Move to: {path}\n*** End Patch")}),
            ),
        ] {
            let outcome = call(&bench, &editor, name, input);
            assert!(outcome.is_error, "{name} {path}");
            assert!(editor.asked().iter().all(|asked| asked.ends_with("plain.txt")), "{name} {path}");
        }
    }
    assert_eq!(std::fs::read_to_string(canary).unwrap(), CANARY);
    assert_eq!(bench.text(".git/config"), "x\n");
    // With full access, what is outside is read and written without the controller.
    let out = json!({"path": "../outside/canary.txt"});
    assert_eq!(text(&call_granted(&bench, &editor, "read_file", out, Required::DangerFullAccess)), CANARY);
    assert_eq!(editor.asked().len(), 0);
}

#[test]
fn the_path_that_is_asked_for_is_the_real_one() {
    let bench = Bench::holding(&[("real/a.txt", "disk\n")]);
    symlink("real", bench.root.join("link")).unwrap();
    let editor = Arc::new(Editor::new(TEXTS).with(&bench.root.join("real/a.txt"), "buffer\n"));
    assert_eq!(text(&call(&bench, &editor, "read_file", json!({"path": "./link/../link/a.txt"}))), "buffer\n");
}

#[test]
fn a_file_is_written_by_the_controller_and_remembered_as_it_was_shown() {
    let bench = Bench::holding(&[("a.txt", "disk\n")]);
    let editor = Arc::new(Editor::new(TEXTS).with(&bench.root.join("a.txt"), "unsaved\n"));
    let outcome = call(&bench, &editor, "write_file", json!({"path": "a.txt", "content": "new\nnew\n"}));
    assert_eq!(text(&outcome), "updated a.txt (2 lines, was 1 line)");
    assert_eq!(sides(&outcome), [("a.txt".to_owned(), kept("unsaved\n"), kept("new\nnew\n"))]);
    assert_eq!(
        (editor.asked(), bench.text("a.txt")),
        (vec!["read a.txt".into(), "write a.txt".into()], "new\nnew\n".into())
    );
    let outcome = call(&bench, &editor, "write_file", json!({"path": "a.txt", "content": "new\nnew\n"}));
    assert_eq!(text(&outcome), "a.txt already has exactly this content; nothing changed");
    assert_eq!((editor.asked(), outcome.edits.len()), (vec!["read a.txt".to_owned()], 0));
    let outcome = call(&bench, &editor, "write_file", json!({"path": "deep/er/b.txt", "content": "x"}));
    assert_eq!(text(&outcome), "created deep/er/b.txt (1 line)");
    assert_eq!(sides(&outcome), [("deep/er/b.txt".to_owned(), Snapshot::Absent, kept("x"))]);
    assert_eq!(bench.text("deep/er/b.txt"), "x");
}

#[test]
fn an_edit_is_made_of_what_the_buffer_holds() {
    let bench = Bench::holding(&[("a.txt", "one two\n")]);
    let editor = Arc::new(Editor::new(TEXTS).with(&bench.root.join("a.txt"), "one 2 three\n"));
    let edit = |old: &str, new: &str| {
        call(&bench, &editor, "edit_file", json!({"path": "a.txt", "old_string": old, "new_string": new}))
    };
    let outcome = edit("2 three", "2 3");
    assert_eq!(text(&outcome), "edited a.txt (1 replacement)");
    assert_eq!(sides(&outcome), [("a.txt".to_owned(), kept("one 2 three\n"), kept("one 2 3\n"))]);
    assert!(text(&edit("two", "2")).contains("old_string was not found"), "the disk's text does not count");
    assert_eq!(bench.text("a.txt"), "one 2 3\n");
    let missing = call(&bench, &editor, "edit_file", json!({"path": "x.txt", "old_string": "a", "new_string": "b"}));
    assert!(text(&missing).starts_with("ERROR x.txt: no such file"), "{}", text(&missing));
}

#[test]
fn an_editor_that_only_shows_or_only_takes_is_enough() {
    let bench = Bench::holding(&[("a.txt", "disk\n")]);
    let shows = Services { write_text: false, ..TEXTS };
    let editor = Arc::new(Editor::new(shows).with(&bench.root.join("a.txt"), "buffer\n"));
    let edit = |editor: &Arc<Editor>, old: &str| {
        text(&call(&bench, editor, "edit_file", json!({"path": "a.txt", "old_string": old, "new_string": "new"})))
    };
    assert_eq!(edit(&editor, "buffer"), "edited a.txt (1 replacement)");
    assert_eq!((editor.asked(), bench.text("a.txt")), (vec!["read a.txt".to_owned()], "new\n".to_owned()));
    let takes = Services { read_text: false, ..TEXTS };
    let editor = Arc::new(Editor::new(takes).with(&bench.root.join("a.txt"), "buffer\n"));
    assert!(edit(&editor, "buffer").contains("was not found"));
    bench.put("a.txt", "old\n");
    assert_eq!(edit(&editor, "old"), "edited a.txt (1 replacement)");
    assert_eq!((editor.asked(), bench.text("a.txt")), (vec!["write a.txt".to_owned()], "new\n".to_owned()));
}

#[test]
fn what_is_remembered_is_what_stands_on_the_disk_or_what_was_handed_over() {
    let bench = Bench::holding(&[("a.txt", "old\n")]);
    let editor = Arc::new(Editor { crlf: true, ..Editor::new(TEXTS) });
    let write = |editor: &Arc<Editor>, content: &str| {
        sides(&call(&bench, editor, "write_file", json!({"path": "a.txt", "content": content})))
    };
    assert_eq!(write(&editor, "new\n"), [("a.txt".to_owned(), kept("old\n"), kept("new\r\n"))], "as it was saved");
    let editor = Arc::new(Editor { keeps: true, ..Editor::new(TEXTS) });
    assert_eq!(write(&editor, "more\n"), [("a.txt".to_owned(), kept("new\r\n"), kept("more\n"))], "not saved yet");
}

#[test]
fn a_write_that_fails_says_so_and_what_may_not_be_replaced_is_not_handed_over() {
    let bench = Bench::holding(&[("a.txt", "old\n"), ("locked.txt", "old\n")]);
    let editor = Arc::new(Editor { failing_write: Mutex::new(Some(1)), ..Editor::new(TEXTS) });
    let write = |path: &str| call(&bench, &editor, "write_file", json!({"path": path, "content": "new"}));
    let outcome = write("a.txt");
    assert_eq!(
        (text(&outcome), outcome.edits.len()),
        ("ERROR a.txt: the controller could not write it: the disk is full; read it before you go on".to_owned(), 0)
    );
    editor.asked();
    std::fs::create_dir(bench.root.join("dir")).unwrap();
    assert!(text(&write("dir")).contains("is a directory"));
    if !rustix_is_root() {
        std::fs::set_permissions(bench.root.join("locked.txt"), PermissionsExt::from_mode(0o444)).unwrap();
        assert!(text(&write("locked.txt")).contains("read-only"));
    }
    assert!(!editor.asked().iter().any(|asked| asked.starts_with("write")));
}

/// Root may write everything, so that no file is read-only for it.
fn rustix_is_root() -> bool {
    std::fs::write("/proc/self/comm", "it").is_ok()
        && std::fs::metadata("/root").is_ok_and(|it| it.permissions().mode() != 0)
        && std::fs::read_dir("/root").is_ok()
}

#[test]
fn a_path_that_was_turned_away_while_the_controller_wrote_is_told() {
    let bench = Bench::holding(&[("dir/a.txt", "old\n"), ("other/a.txt", "x\n")]);
    let editor = Arc::new(Editor::new(TEXTS));
    let root = bench.root.clone();
    *editor.before_write.lock().unwrap() = Some(Box::new(move || {
        std::fs::rename(root.join("dir"), root.join("was")).unwrap();
        symlink("other", root.join("dir")).unwrap();
    }));
    let outcome = call(&bench, &editor, "write_file", json!({"path": "dir/a.txt", "content": "new"}));
    assert!(text(&outcome).starts_with("ERROR dir/a.txt: it was written, but the path leads elsewhere now"));
    assert_eq!(outcome.edits.len(), 0);
}

const PATCH: &str = "*** Begin Patch\n*** Update File: a.txt\n@@\n-buffer\n+new\n*** Add File: sub/b.txt\n+made\n\
                     *** Delete File: c.txt\n*** Update File: d.sh\n*** Move to: e.sh\n@@\n-run\n+ran\n*** End Patch";

fn to_patch() -> Bench {
    let bench = Bench::holding(&[("a.txt", "disk\n"), ("c.txt", "gone\n"), ("d.sh", "run\n")]);
    std::fs::set_permissions(bench.root.join("d.sh"), PermissionsExt::from_mode(0o755)).unwrap();
    bench
}

#[test]
fn a_patch_goes_through_the_controller_and_deletions_and_moves_do_not() {
    let bench = to_patch();
    let editor = Arc::new(Editor::new(TEXTS).with(&bench.root.join("a.txt"), "buffer\n"));
    let outcome = call(&bench, &editor, "apply_patch", json!({ "input": PATCH }));
    assert_eq!(text(&outcome), "updated a.txt\ncreated sub/b.txt\ndeleted c.txt\ndeleted d.sh\ncreated e.sh\n");
    let asked = editor.asked();
    let written: Vec<&String> = asked.iter().filter(|asked| asked.starts_with("write")).collect();
    assert_eq!(written, ["write a.txt", "write b.txt"]);
    assert_eq!(
        (bench.text("a.txt"), bench.text("sub/b.txt"), bench.text("e.sh")),
        ("new\n".into(), "made\n".into(), "ran\n".into())
    );
    assert!(!bench.root.join("c.txt").exists() && !bench.root.join("d.sh").exists());
    let mode = std::fs::metadata(bench.root.join("e.sh")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755, "a moved file keeps its bits");
    assert_eq!(sides(&outcome)[0], ("a.txt".to_owned(), kept("buffer\n"), kept("new\n")));
}

#[test]
fn a_patch_that_the_controller_refuses_is_taken_back() {
    let bench = to_patch();
    let editor = Editor { failing_write: Mutex::new(Some(2)), ..Editor::new(TEXTS) };
    let editor = Arc::new(editor.with(&bench.root.join("a.txt"), "buffer\n"));
    let outcome = call(&bench, &editor, "apply_patch", json!({ "input": PATCH }));
    assert_eq!(
        text(&outcome),
        "ERROR sub/b.txt: the controller could not write it: the disk is full; read it before you go on; what was written \
         before it was put back"
    );
    assert_eq!((bench.text("a.txt"), outcome.edits.len()), ("buffer\n".to_owned(), 0));
    assert!(bench.root.join("c.txt").exists() && bench.root.join("d.sh").exists(), "the disk is touched last");
}

#[test]
fn without_an_offer_of_texts_the_disk_is_all_there_is() {
    let bench = Bench::holding(&[("a.txt", "disk\n")]);
    let editor = Arc::new(Editor::new(Services { terminal: true, ..Services::default() }));
    assert_eq!(text(&call(&bench, &editor, "read_file", json!({"path": "a.txt"}))), "disk\n");
    call(&bench, &editor, "write_file", json!({"path": "a.txt", "content": "new"}));
    assert_eq!((editor.asked().len(), bench.text("a.txt")), (0, "new".to_owned()));
}

// ---- commands ---------------------------------------------------------------------------------------------------

const TERMINAL: Services = Services { read_text: false, write_text: false, terminal: true };

fn ran(output: &str, truncated: bool, exit_code: Option<i32>, signal: Option<&str>) -> ErrandResult {
    ErrandResult::Ran { output: output.into(), truncated, exit_code, signal: signal.map(Into::into) }
}

async fn bash(session: &Session, editor: &Arc<Editor>, input: Value, granted: Required) -> Outcome {
    let context = CallContext { errands: Some(Arc::new(Way(editor.clone()))), ..context(granted) };
    session.tool("bash").run(Json::trusted(input.to_string()), context).await
}

fn details(outcome: &Outcome) -> Value {
    serde_json::from_str(outcome.details.as_ref().unwrap().as_str()).unwrap()
}

fn folder_of(session: &Session) -> &TempDir {
    &session.dir
}

#[tokio::test]
async fn a_command_runs_in_the_terminal_of_the_controller() {
    let session = Session::new();
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
        (ErrandResult::Failed("no shell".into()), "ERROR bash: the controller could not run the command: no shell"),
    ] {
        *editor.runs.lock().unwrap() = Some(result);
        let outcome = bash(&session, &editor, json!({"command": "make"}), Required::DangerFullAccess).await;
        assert_eq!(text(&outcome), told);
    }
}

#[tokio::test]
async fn long_output_is_cut_and_spilled_as_ever() {
    let session = Session::new();
    let long = "0123456789\n".repeat(9_000);
    let editor = Arc::new(Editor { runs: Mutex::new(Some(ran(&long, false, Some(0), None))), ..Editor::new(TERMINAL) });
    let outcome = bash(&session, &editor, json!({"command": "make"}), Required::DangerFullAccess).await;
    let (told, facts) = (text(&outcome), details(&outcome));
    assert!(told.len() < 40_000 && told.contains("bytes omitted; full output in"), "{}", told.len());
    assert_eq!((&facts["truncated"], &facts["totalBytes"]), (&json!(true), &json!(99_000)));
    let spill = PathBuf::from(facts["spill"].as_str().unwrap());
    assert!(spill.starts_with(folder_of(&session).path()));
    assert_eq!(std::fs::read_to_string(spill).unwrap(), long);
}

#[tokio::test]
async fn a_command_that_may_only_read_takes_its_fences_along() {
    let session = Session::new();
    let editor = Arc::new(Editor { runs: Mutex::new(Some(ran("", false, Some(0), None))), ..Editor::new(TERMINAL) });
    bash(&session, &editor, json!({"command": "git status"}), Required::ReadOnly).await;
    let asked = editor.asked();
    assert!(asked[0].contains("GIT_CONFIG_KEY_0=core.fsmonitor") && asked[0].contains("PATH="), "{asked:?}");
}

#[tokio::test]
async fn what_was_not_granted_or_is_for_the_background_is_not_run_there() {
    let session = Session::new();
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
    let session = Session::new();
    let editor = Arc::new(Editor::new(TERMINAL));
    let outcome = bash(&session, &editor, json!({"command": "make", "timeout": 50}), Required::DangerFullAccess).await;
    assert_eq!(text(&outcome), "ERROR (no output)\n[timed out after 0.05 s; its output stayed with the controller]");
    assert_eq!(details(&outcome)["timedOut"], json!(true));
}
