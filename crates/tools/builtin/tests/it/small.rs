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
fn a_name_with_a_line_break_is_one_entry() {
    let bench = Bench::new();
    bench.put("dir/a\nb (9 bytes)", "");
    std::os::unix::fs::symlink("x\ny", bench.root.join("dir/l")).unwrap();
    expect!["a␊b (9 bytes) (0 bytes)\nl -> x␊y\n"].assert_eq(&bench.answer("list_dir", json!({"path": "dir"})));
}

#[test]
fn a_todo_list_goes_out_with_the_outcome() {
    let bench = Bench::new();
    let todos = json!({"todos": [
        {"content": "look", "status": "completed", "id": "1"},
        {"content": "write", "status": "in_progress", "activeForm": "writing"},
        {"content": "test", "status": "pending"},
        {"content": "ship", "status": "abandoned"},
    ]});
    let plan = bench.plan("todo", &todos).unwrap();
    assert_eq!((plan.required, plan.mutation), (Required::ReadOnly, None));
    let outcome = bench.call("todo", todos);
    expect![[r#"
        [x] look
        [>] write
        [ ] test
        [-] ship
        2 of 4 items open
    "#]]
    .assert_eq(&vocab::parts_text(&outcome.parts));
    let details: Value = serde_json::from_str(outcome.details.unwrap().as_str()).unwrap();
    assert_eq!(
        details,
        json!({"phases": [{"id": "phase-1", "name": "Tasks", "tasks": [
            {"id": "1", "content": "look", "status": "completed"},
            {"id": "task-1", "content": "write", "status": "in_progress"},
            {"id": "task-2", "content": "test", "status": "pending"},
            {"id": "task-3", "content": "ship", "status": "abandoned"},
        ]}]})
    );
    let phases = outcome.todos.expect("a new list");
    let open: Vec<&str> = vocab::open_tasks(&phases).map(|task| &*task.content).collect();
    assert_eq!(open, ["write", "test"]);
}

#[test]
fn a_todo_list_in_phases_is_shown_in_groups() {
    let bench = Bench::new();
    let outcome = bench.call(
        "todo",
        json!({"phases": [
            {"name": "Plan", "tasks": [{"content": "look", "status": "completed", "notes": "done early"}]},
            {"name": "Build", "tasks": [{"content": "write", "status": "pending"}]},
        ]}),
    );
    expect![[r#"
        Plan
          [x] look
        Build
          [ ] write
        1 of 2 items open
    "#]]
    .assert_eq(&vocab::parts_text(&outcome.parts));
    let phases = outcome.todos.unwrap();
    assert_eq!((&*phases[1].id, &*phases[1].tasks[0].id), ("phase-2", "task-2"));
    let cleared = bench.call("todo", json!({"todos": []}));
    assert_eq!(cleared.todos, Some(Vec::new()));
}

#[test]
fn without_arguments_the_todo_tool_shows_the_list_of_the_session() {
    let bench = Bench::new();
    expect!["the list is empty\n"].assert_eq(&bench.answer("todo", json!({})));
    let task = |content: &str, status| vocab::TodoTask { id: "1".into(), content: content.into(), status, notes: None };
    let tasks = vec![task("set elsewhere", vocab::TodoStatus::Pending)];
    let list = [vocab::TodoPhase { id: "p".into(), name: "Any".into(), tasks }];
    let context = vocab::CallContext { todos: list.into(), ..crate::bench::context(Required::WorkspaceWrite) };
    let later = bench.tool("todo").run(vocab::Json::trusted("{}"), context);
    let outcome = crate::bench::runtime().block_on(later);
    expect!["[ ] set elsewhere\n1 of 1 item open\n"].assert_eq(&vocab::parts_text(&outcome.parts));
    assert_eq!(outcome.todos, None, "showing changes nothing");
}

#[test]
fn a_todo_list_that_makes_no_sense_is_refused_and_changes_nothing() {
    let bench = Bench::new();
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
        (json!({"todos": [], "phases": []}), expect![[r#"ERROR give either "todos" or "phases", not both"#]]),
        (json!({"phases": [{"tasks": []}]}), expect![[r#"ERROR phases[0]: missing required argument "name""#]]),
        (
            json!({"phases": [{"name": "a", "tasks": [{"content": " ", "status": "pending"}]}]}),
            expect![[r#"ERROR phases[0].tasks[0]: "content" is empty"#]],
        ),
    ] {
        error.assert_eq(&bench.answer("todo", input.clone()));
        assert_eq!(bench.call("todo", input).todos, None);
    }
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
    let toolbox = builtin_tools::Builtin::new(builtin_tools::BuiltinOptions::new(temp.path().join("spill")));
    let Err(fault) = toolbox.open(&SessionId::new("s"), &temp.path().join("nowhere")) else { panic!("opened") };
    assert_eq!(fault.kind, vocab::FaultKind::Invalid);
    std::fs::write(temp.path().join("file"), "").unwrap();
    assert!(toolbox.open(&SessionId::new("s"), &temp.path().join("file")).is_err());
}
