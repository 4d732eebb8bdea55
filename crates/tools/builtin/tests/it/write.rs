//! `write_file`: whole files, replaced in one step.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use expect_test::expect;
use serde_json::json;
use vocab::{Fact, FactForm, FileEdit, Missing, Required, SNAPSHOT_BYTES_MAX, Snapshot};

use crate::bench::Bench;

#[test]
fn what_is_too_large_for_a_diff_is_shown_as_it_is_and_says_what_is_missing() {
    let bench = Bench::new();
    let plan =
        bench.plan("write_file", &json!({"path": "big.txt", "content": "0123456789abcde\n".repeat(655_360)})).unwrap();
    expect!["write big.txt (10485760 bytes)"].assert_eq(&plan.summary);
    let facts = plan.preview.unwrap();
    assert_eq!((&*facts[0].label, &*facts[0].text), ("file", "big.txt"));
    assert_eq!((facts[1].form, facts[1].text.len()), (FactForm::Text, vocab::FACT_BYTES_MAX));
    assert_eq!(facts[1].missing, Missing { lines: 638_976, bytes: 10_485_760 - vocab::FACT_BYTES_MAX });
}

#[test]
fn a_question_without_a_diff_says_which_file_is_lost() {
    let outside = tempfile::tempdir().unwrap();
    let elsewhere = outside.path().join("x.txt");
    std::fs::write(&elsewhere, "12345").unwrap();
    let bench = Bench::holding(&[("b.txt", &"all of this\n".repeat(40_000)), ("bin", "a\0b")]);
    let facts = |path: &str| {
        let plan = bench.plan("write_file", &json!({"path": path, "content": "short"})).unwrap();
        let facts: Vec<String> =
            plan.preview.unwrap().iter().map(|fact| format!("{}: {}", fact.label, fact.text)).collect();
        (plan.summary.to_string(), facts)
    };
    let (summary, shown) = facts("b.txt");
    assert_eq!(summary, "write b.txt (5 bytes, replacing 480000 bytes)");
    assert_eq!(shown[..2], ["file: b.txt", "new contents: short"]);
    expect!["replaces: an existing file of 480000 bytes (no diff: more than 131072 bytes would change)"]
        .assert_eq(&shown[2]);
    expect!["replaces: an existing file of 3 bytes (no diff: it is not text)"].assert_eq(&facts("bin").1[2]);
    expect!["replaces: an existing file of 5 bytes (no diff: the file is not read before you allow it)"]
        .assert_eq(&facts(elsewhere.to_str().unwrap()).1[2]);
    assert_eq!(facts(outside.path().join("new").to_str().unwrap()).1.len(), 2, "nothing is lost");
}

#[test]
fn a_file_is_created_with_its_directories() {
    let bench = Bench::new();
    let input = json!({"path": "a/b/c.txt", "content": "one\ntwo\n"});
    let plan = bench.plan("write_file", &input).unwrap();
    assert_eq!((plan.required, plan.mutation.as_deref()), (Required::WorkspaceWrite, Some("a/b/c.txt")));
    expect!["write a/b/c.txt (+2 -0)"].assert_eq(&plan.summary);
    let diff = Fact::diff("a/b/c.txt", "@@ -0,0 +1,2 @@\n+one\n+two\n");
    assert_eq!(plan.preview.as_deref(), Some(&[diff][..]));
    let outcome = bench.call("write_file", input);
    expect!["created a/b/c.txt (2 lines)"].assert_eq(&vocab::parts_text(&outcome.parts));
    let edit =
        FileEdit { path: "a/b/c.txt".into(), before: Snapshot::Absent, after: Snapshot::Text("one\ntwo\n".into()) };
    assert_eq!(outcome.edits, [edit]);
    assert_eq!(bench.text("a/b/c.txt"), "one\ntwo\n");
}

#[test]
fn a_file_is_replaced_and_keeps_its_mode() {
    let bench = Bench::holding(&[("run.sh", "old\n")]);
    std::fs::set_permissions(bench.root.join("run.sh"), PermissionsExt::from_mode(0o751)).unwrap();
    let outcome = bench.call("write_file", json!({"path": "run.sh", "content": "new\nlonger\n"}));
    expect!["updated run.sh (2 lines, was 1 line)"].assert_eq(&vocab::parts_text(&outcome.parts));
    assert_eq!(outcome.edits[0].before, Snapshot::Text("old\n".into()));
    assert_eq!(std::fs::metadata(bench.root.join("run.sh")).unwrap().mode() & 0o7777, 0o751);
    expect!["run.sh already has exactly this content; nothing changed"]
        .assert_eq(&bench.answer("write_file", json!({"path": "run.sh", "content": "new\nlonger\n"})));
    assert_eq!(std::fs::read_dir(&bench.root).unwrap().count(), 1, "no temporary file is left");
}

#[test]
fn a_large_file_is_replaced_but_not_kept() {
    let bench = Bench::holding(&[("big", &"x".repeat(SNAPSHOT_BYTES_MAX + 1))]);
    let outcome = bench.call("write_file", json!({"path": "big", "content": "small"}));
    expect!["updated big (1 line, was 262145 bytes)"].assert_eq(&vocab::parts_text(&outcome.parts));
    assert_eq!(outcome.edits[0].before, Snapshot::NotKept);
    assert_eq!(bench.text("big"), "small");
}

#[test]
fn a_symlink_inside_keeps_pointing_at_the_file_that_changed() {
    let bench = Bench::holding(&[("real.txt", "old")]);
    std::os::unix::fs::symlink("real.txt", bench.root.join("link")).unwrap();
    std::os::unix::fs::symlink(bench.root.join("real.txt"), bench.root.join("absolute")).unwrap();
    expect!["updated real.txt (1 line, was 1 line)"]
        .assert_eq(&bench.answer("write_file", json!({"path": "link", "content": "new"})));
    assert_eq!(bench.text("real.txt"), "new");
    assert!(bench.root.join("link").is_symlink());
    expect!["updated real.txt (1 line, was 1 line)"]
        .assert_eq(&bench.answer("write_file", json!({"path": "absolute", "content": "newer"})));
}

#[test]
fn what_cannot_be_written_says_why() {
    let bench = Bench::holding(&[("dir/file", "x")]);
    expect!["ERROR dir: is a directory"].assert_eq(&bench.answer("write_file", json!({"path": "dir", "content": "x"})));
    expect!["ERROR dir/file/below: a part of the path is a file, not a directory"]
        .assert_eq(&bench.answer("write_file", json!({"path": "dir/file/below", "content": "x"})));
    expect![[r#"ERROR missing required argument "content""#]]
        .assert_eq(&bench.answer("write_file", json!({"path": "dir/x"})));
    let refused = bench.call_granted("write_file", &json!({"path": "x", "content": "x"}), Required::ReadOnly);
    expect!["x: changing files needs workspace-write; granted is read-only"]
        .assert_eq(&vocab::parts_text(&refused.parts));
    assert!(!bench.root.join("x").exists());
}

#[test]
fn full_access_reaches_outside_with_every_tool() {
    let bench = Bench::new();
    let out = bench.outside.to_str().unwrap();
    let patch = format!("*** Begin Patch\n*** Update File: {out}/new/f\n@@\n-two\n+three\n*** End Patch");
    for (tool, input, answer) in [
        (
            "write_file",
            json!({"path": "../outside/new/f", "content": "one\n"}),
            format!("created {out}/new/f (1 line)"),
        ),
        (
            "edit_file",
            json!({"path": format!("{out}/new/f"), "old_string": "one", "new_string": "two"}),
            format!("edited {out}/new/f (1 replacement)"),
        ),
        ("apply_patch", json!({ "input": patch }), format!("updated {out}/new/f\n")),
        ("glob", json!({"pattern": format!("{out}/**/f")}), format!("{out}/new/f\n")),
        ("grep", json!({"pattern": "three", "path": out}), format!("{out}/new/f:1:three\n")),
        ("list_dir", json!({"path": format!("{out}/new")}), "f (6 bytes)\n".to_owned()),
    ] {
        let plan = bench.plan(tool, &input).unwrap();
        assert_eq!(plan.required, Required::DangerFullAccess, "{tool}");
        let outcome = bench.call_granted(tool, &input, Required::DangerFullAccess);
        assert_eq!(vocab::parts_text(&outcome.parts), answer, "{tool}");
        assert!(!outcome.is_error);
        if let Some(edit) = outcome.edits.first() {
            assert_eq!(&*edit.path, format!("{out}/new/f"));
        }
    }
}

#[test]
fn calls_at_the_same_time_do_not_lose_each_others_work() {
    let names: Vec<String> = (0..20).map(|n| format!("item{n:02}")).collect();
    let bench = Bench::holding(&[("list", &names.join("\n"))]);
    crate::bench::runtime().block_on(async {
        let edit = |name: &String| {
            let input = json!({"path": "list", "old_string": name, "new_string": format!("done-{name}")});
            let context = crate::bench::context(Required::WorkspaceWrite);
            tokio::spawn(bench.tool("edit_file").run(vocab::Json::trusted(input.to_string()), context))
        };
        for running in names.iter().map(edit).collect::<Vec<_>>() {
            assert!(!running.await.unwrap().is_error);
        }
    });
    assert_eq!(bench.text("list").matches("done-").count(), 20);
}
