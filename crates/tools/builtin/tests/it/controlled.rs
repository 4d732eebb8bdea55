//! Files through a controller that offers to show and to take them.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use vocab::*;

use crate::bench::{Bench, CANARY, context, runtime};
use crate::editor::{Editor, EditorWay, TEXTS, text};

fn call(bench: &Bench, editor: &Arc<Editor>, name: &str, input: Value) -> Outcome {
    call_granted(bench, editor, name, input, Required::WorkspaceWrite)
}

fn call_granted(bench: &Bench, editor: &Arc<Editor>, name: &str, input: Value, granted: Required) -> Outcome {
    let context = CallContext { editor_requests: Some(Arc::new(EditorWay(editor.clone()))), ..context(granted) };
    runtime().block_on(bench.tool(name).run(Json::trusted(input.to_string()), context))
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
fn images_binaries_long_files_and_spilled_output_are_read_from_the_disk() {
    let bench = Bench::new();
    bench.put("p.png", b"\x89PNG\r\n\x1a\n0000");
    bench.put("g.gif", "GIF89a and what looks like text");
    bench.put("b.bin", b"a\0b");
    bench.put("latin.txt", b"gr\xfc\xdfe\n");
    bench.put("long.txt", "x\n".repeat(3 * 1024 * 1024));
    let editor = Arc::new(Editor::new(TEXTS));
    for name in ["p.png", "g.gif", "b.bin", "latin.txt", "long.txt", "."] {
        call(&bench, &editor, "read_file", json!({ "path": name }));
        assert_eq!(editor.asked(), [""; 0], "{name}");
    }
    let spilled = bench.root.parent().unwrap().join("spill/s1/output.txt");
    std::fs::create_dir_all(spilled.parent().unwrap()).unwrap();
    std::fs::write(&spilled, "spilled\n").unwrap();
    assert_eq!(text(&call(&bench, &editor, "read_file", json!({ "path": spilled }))), "spilled\n");
    assert_eq!(editor.asked(), [""; 0]);
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
    let shows = EditorOffer { write_text: false, ..TEXTS };
    let editor = Arc::new(Editor::new(shows).with(&bench.root.join("a.txt"), "buffer\n"));
    let edit = |editor: &Arc<Editor>, old: &str| {
        text(&call(&bench, editor, "edit_file", json!({"path": "a.txt", "old_string": old, "new_string": "new"})))
    };
    assert_eq!(edit(&editor, "buffer"), "edited a.txt (1 replacement)");
    assert_eq!((editor.asked(), bench.text("a.txt")), (vec!["read a.txt".to_owned()], "new\n".to_owned()));
    let takes = EditorOffer { read_text: false, ..TEXTS };
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
    let bench = Bench::holding(&[("a.txt", "old\n")]);
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
    let fifo = bench.root.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    assert!(text(&write("pipe")).contains("not a regular file"));
    assert!(!editor.asked().iter().any(|asked| asked.starts_with("write")));
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
    let editor = Arc::new(Editor::new(EditorOffer { terminal: true, ..EditorOffer::default() }));
    assert_eq!(text(&call(&bench, &editor, "read_file", json!({"path": "a.txt"}))), "disk\n");
    call(&bench, &editor, "write_file", json!({"path": "a.txt", "content": "new"}));
    assert_eq!((editor.asked().len(), bench.text("a.txt")), (0, "new".to_owned()));
}
