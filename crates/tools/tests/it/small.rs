//! `list_dir`, `todo`, and what all tools share.

use expect_test::expect;
use serde_json::{Value, json};
use vocab::{Required, SessionId, Toolbox};

use crate::bench::Bench;

#[test]
fn a_directory_is_listed_with_sizes() {
    let bench = Bench::holding(&[(".git/HEAD", "x"), ("src/a.rs", "12345"), ("src/deep/b.rs", ""), ("z.txt", "1")]);
    std::os::unix::fs::symlink("z.txt", bench.root.join("link")).unwrap();
    expect![[r#"
        .git/
        link -> z.txt
        src/
        z.txt (1 bytes)
    "#]]
    .assert_eq(&bench.answer("list_dir", json!({})));
    expect![[r#"
        .git/
        link -> z.txt
        src/
        src/a.rs (5 bytes)
        src/deep/
        z.txt (1 bytes)
    "#]]
    .assert_eq(&bench.answer("list_dir", json!({"path": ".", "depth": 2})));
    expect![[r#"
        .git/
        [more than 1 entries; list a directory below, or use glob]
    "#]]
    .assert_eq(&bench.answer("list_dir", json!({"limit": 1})));
    std::fs::create_dir(bench.root.join("void")).unwrap();
    expect!["[the directory is empty]\n"].assert_eq(&bench.answer("list_dir", json!({"path": "void"})));
    expect!["ERROR z.txt: is a file; use read_file to see what is in it"]
        .assert_eq(&bench.answer("list_dir", json!({"path": "z.txt"})));
    expect!["ERROR sr: no such file or directory; similar names in .: src"]
        .assert_eq(&bench.answer("list_dir", json!({"path": "sr"})));
}

#[test]
fn the_todo_list_is_kept_for_the_session() {
    let bench = Bench::new();
    expect!["the list is empty\n"].assert_eq(&bench.answer("todo", json!({})));
    let todos = json!({"todos": [
        {"content": "look", "status": "completed", "id": "1"},
        {"content": "write", "status": "in_progress", "activeForm": "writing"},
        {"content": "test", "status": "pending"},
        {"content": "ship", "status": "abandoned"},
    ]});
    let plan = bench.plan("todo", &todos).unwrap();
    assert_eq!((plan.required, plan.mutation), (Required::WorkspaceWrite, None));
    let outcome = bench.call("todo", todos.clone());
    expect![[r#"
        [x] look
        [>] write
        [ ] test
        [-] ship
        2 of 4 items open
    "#]]
    .assert_eq(&vocab::parts_text(&outcome.parts));
    let details: Value = serde_json::from_str(outcome.details.unwrap().as_str()).unwrap();
    assert_eq!(details, todos);
    assert!(bench.answer("todo", json!({})).starts_with("[x] look\n"));
    for (input, error) in [
        (
            json!({"todos": [{"content": "a", "status": "done"}]}),
            expect![[
                r#"ERROR todos[0]: unknown status "done"; use one of pending, in_progress, completed, abandoned"#
            ]],
        ),
        (
            json!({"todos": [{"status": "pending"}]}),
            expect![[r#"ERROR todos[0]: missing required argument "content""#]],
        ),
        (json!({"todos": ["a"]}), expect![[r#"ERROR todos[0] must be an object with "content" and "status""#]]),
        (json!({"todos": 1}), expect![[r#"ERROR argument "todos" must be a list"#]]),
    ] {
        error.assert_eq(&bench.answer("todo", input));
    }
    assert!(bench.answer("todo", json!({})).starts_with("[x] look\n"), "a refused list changes nothing");
}

#[test]
fn every_tool_has_a_canonical_name_and_a_schema() {
    let bench = Bench::new();
    let names: Vec<String> = bench.tools.iter().map(|tool| tool.spec().name.to_string()).collect();
    for name in ["read_file", "write_file", "edit_file", "apply_patch", "glob", "grep", "list_dir", "todo"] {
        assert!(names.contains(&name.to_owned()), "{name}");
        assert_eq!(vocab::names::canonical(name), Some(name));
        let schema: Value = serde_json::from_str(bench.tool(name).spec().schema.as_str()).unwrap();
        assert_eq!(schema["type"], "object", "{name}");
    }
}

#[test]
fn a_workspace_that_is_not_there_is_a_fault() {
    let temp = tempfile::tempdir().unwrap();
    let toolbox = tools::Builtin::new(tools::Options::new(temp.path().join("spill")));
    let Err(fault) = toolbox.open(&SessionId::new("s"), &temp.path().join("nowhere")) else { panic!("opened") };
    assert_eq!(fault.kind, vocab::FaultKind::NotFound);
    std::fs::write(temp.path().join("file"), "").unwrap();
    assert!(toolbox.open(&SessionId::new("s"), &temp.path().join("file")).is_err());
}
