//! `edit_file`: exact replacements, and errors that help the model.

use expect_test::expect;
use serde_json::json;
use vocab::{Fact, Required, Snapshot};

use crate::bench::Bench;

const CODE: &str = "fn main() {\n\tlet a = 1;\n\tlet b = 1;\n}\n";

#[test]
fn one_exact_text_is_replaced() {
    let bench = Bench::holding(&[("a.rs", CODE)]);
    let input = json!({"path": "a.rs", "old_string": "let a = 1", "new_string": "let a = 2"});
    let plan = bench.plan("edit_file", &input).unwrap();
    assert_eq!((plan.required, plan.mutation.as_deref()), (Required::WorkspaceWrite, Some("a.rs")));
    expect!["edit a.rs (+1 -1)"].assert_eq(&plan.summary);
    let hunks = "@@ -1,4 +1,4 @@\n fn main() {\n-\tlet a = 1;\n+\tlet a = 2;\n \tlet b = 1;\n }\n";
    assert_eq!(plan.preview.as_deref(), Some(&[Fact::diff("a.rs", hunks)][..]));
    let outcome = bench.call("edit_file", input);
    expect!["edited a.rs (1 replacement)"].assert_eq(&vocab::parts_text(&outcome.parts));
    assert_eq!(outcome.edits[0].before, Snapshot::Text(CODE.into()));
    assert_eq!(bench.text("a.rs"), CODE.replace("a = 1", "a = 2"));
}

#[test]
fn every_spelling_of_the_arguments_works() {
    for (old, new) in [("old_string", "new_string"), ("oldText", "newText"), ("old_text", "new_text")] {
        let bench = Bench::holding(&[("a.rs", CODE)]);
        bench.call("edit_file", json!({"file_path": "a.rs", old: "let a", new: "let z"}));
        assert!(bench.text("a.rs").contains("let z"), "{old}");
        bench.call(
            "edit_file",
            json!({"path": "a.rs", "edits": [{old: "let z", new: "let y"}, {old: "let b", new: "let c"}]}),
        );
        assert!(bench.text("a.rs").contains("let y") && bench.text("a.rs").contains("let c"), "{old}");
    }
}

#[test]
fn a_text_that_occurs_twice_needs_replace_all() {
    let bench = Bench::holding(&[("a.rs", CODE)]);
    expect!["ERROR a.rs: old_string occurs 2 times (lines 2, 3); nothing was changed. Add lines around it to make it unique, or set replace_all to change every one"]
        .assert_eq(&bench.answer("edit_file", json!({"path": "a.rs", "old_string": "= 1", "new_string": "= 2"})));
    assert_eq!(bench.text("a.rs"), CODE);
    expect!["edited a.rs (2 replacements)"].assert_eq(
        &bench.answer(
            "edit_file",
            json!({"path": "a.rs", "old_string": "= 1", "new_string": "= 2", "replace_all": true}),
        ),
    );
    assert_eq!(bench.text("a.rs"), CODE.replace("= 1", "= 2"));
}

#[test]
fn an_edit_of_a_long_file_is_shown_as_its_changed_lines() {
    let long = "0123456789abcde\n".repeat(30_000);
    let bench = Bench::holding(&[("long.txt", &format!("{long}old\n{long}"))]);
    let plan = bench.plan("edit_file", &json!({"path": "long.txt", "old_string": "old", "new_string": "new"})).unwrap();
    expect!["edit long.txt (+1 -1)"].assert_eq(&plan.summary);
    let around = " 0123456789abcde\n".repeat(3);
    let hunks = format!("@@ -29998,7 +29998,7 @@\n{around}-old\n+new\n{around}");
    assert_eq!(plan.preview.as_deref(), Some(&[Fact::diff("long.txt", &hunks)][..]));
    let all = json!({"path": "long.txt", "old_string": "5", "new_string": "6", "replace_all": true});
    let shown = bench.plan("edit_file", &all).unwrap().preview.unwrap();
    assert_eq!(shown.last(), Some(&Fact::line("no diff", "more than 131072 bytes would change")));
}

#[test]
fn a_text_that_is_not_there_shows_what_is() {
    let bench = Bench::holding(&[("a.rs", CODE)]);
    let input = json!({"path": "a.rs", "old_string": "    let a = 1;\n    let b = 1;", "new_string": "x"});
    expect![[r#"
        ERROR a.rs: old_string was not found; nothing was changed.
        It differs from the file only in whitespace: the file indents with tabs, old_string with spaces.
        The closest text is at line 2:
        	let a = 1;
        	let b = 1;"#]]
    .assert_eq(&bench.answer("edit_file", input.clone()));
    // The plan neither fails nor shows the file: nobody has allowed the call yet.
    let plan = bench.plan("edit_file", &input).unwrap();
    let facts: Vec<&str> = plan.preview.iter().flat_map(|facts| facts.iter()).map(|fact| &*fact.label).collect();
    assert_eq!((&*plan.summary, facts), ("edit a.rs", vec!["file", "replace", "with"]));
}

#[test]
fn line_ends_and_the_byte_order_mark_stay() {
    let bench = Bench::holding(&[("w.txt", "\u{feff}one\r\ntwo\r\nthree\r\n")]);
    bench.call("edit_file", json!({"path": "w.txt", "old_string": "one\ntwo", "new_string": "1\n2\n2.5"}));
    assert_eq!(bench.text("w.txt"), "\u{feff}1\r\n2\r\n2.5\r\nthree\r\n");
}

#[test]
fn an_empty_old_string_creates_a_file_and_nothing_else() {
    let bench = Bench::holding(&[("full", "x"), ("empty", "")]);
    let create = |path: &str| json!({"path": path, "old_string": "", "new_string": "text\n"});
    expect!["created d/new"].assert_eq(&bench.answer("edit_file", create("d/new")));
    assert_eq!(bench.text("d/new"), "text\n");
    expect!["edited empty (1 replacement)"].assert_eq(&bench.answer("edit_file", create("empty")));
    expect!["ERROR full: old_string is empty, but the file has contents; give the text to replace, or use write_file to replace the whole file"]
        .assert_eq(&bench.answer("edit_file", create("full")));
}

#[test]
fn mistakes_are_explained() {
    let bench = Bench::holding(&[("a.rs", CODE), ("dir/x", "")]);
    bench.put("bin", b"a\0b");
    for (input, error) in [
        (
            json!({"path": "a.rs", "old_string": "let a", "new_string": "let a"}),
            expect!["ERROR a.rs: old_string and its replacement are the same; there is nothing to change"],
        ),
        (
            json!({"path": "b.rs", "old_string": "x", "new_string": "y"}),
            expect!["ERROR b.rs: no such file or directory; similar names in .: a.rs"],
        ),
        (json!({"path": "a.rs", "old_string": "x"}), expect![[r#"ERROR missing required argument "new_string""#]]),
        (json!({"path": "a.rs"}), expect![[r#"ERROR missing required argument "old_string""#]]),
        (
            json!({"path": "a.rs", "edits": [{"oldText": "x"}]}),
            expect![[r#"ERROR edits[0]: missing required argument "new_string""#]],
        ),
        (
            json!({"path": "a.rs", "edits": []}),
            expect![[r#"ERROR argument "edits" is empty; give at least one replacement"#]],
        ),
        (json!({"path": "a.rs", "edits": 1}), expect![[r#"ERROR argument "edits" must be a list"#]]),
        (
            json!({"path": "a.rs", "edits": [{"oldText": "let a", "newText": "x"}, {"oldText": "a = 1", "newText": "y"}]}),
            expect!["ERROR a.rs: edits[0] and edits[1] change the same text; nothing was changed. Join them"],
        ),
        (
            json!({"path": "dir", "old_string": "x", "new_string": "y"}),
            expect!["ERROR dir: is a directory; name a file in it"],
        ),
        (
            json!({"path": "bin", "old_string": "a", "new_string": "y"}),
            expect!["ERROR bin: a binary file; it can only be replaced as a whole"],
        ),
    ] {
        error.assert_eq(&bench.answer("edit_file", input));
    }
    assert_eq!(bench.text("a.rs"), CODE);
}
