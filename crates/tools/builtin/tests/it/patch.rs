//! `apply_patch`: both formats, all or nothing.

use expect_test::expect;
use proptest::prelude::*;
use serde_json::json;
use similar::TextDiff;
use vocab::{Fact, Required, Snapshot};

use crate::bench::Bench;

const FILE: &str = "import os\n\ndef one():\n    return 1\n\ndef two():\n    return 1\n";

fn patch(body: &str) -> serde_json::Value {
    json!({"input": format!("*** Begin Patch\n{body}*** End Patch\n")})
}

#[test]
fn one_patch_adds_updates_moves_and_deletes() {
    let bench = Bench::holding(&[("a.py", FILE), ("old.txt", "x\n"), ("gone.txt", "bye\n")]);
    let input = patch(
        "*** Add File: new/b.txt\n+hello\n+world\n*** Update File: a.py\n@@ def two():\n-    return 1\n+    return 2\n\
         *** Update File: old.txt\n*** Move to: moved/x.txt\n@@\n-x\n+y\n*** Delete File: gone.txt\n",
    );
    let plan = bench.plan("apply_patch", &input).unwrap();
    assert_eq!(plan.required, Required::WorkspaceWrite);
    expect!["new/b.txt, a.py, old.txt, moved/x.txt, gone.txt"].assert_eq(&plan.mutation.unwrap());
    let outcome = bench.call("apply_patch", input);
    expect![[r#"
        created new/b.txt
        updated a.py
        deleted old.txt
        created moved/x.txt
        deleted gone.txt
    "#]]
    .assert_eq(&vocab::parts_text(&outcome.parts));
    assert_eq!(bench.text("new/b.txt"), "hello\nworld\n");
    assert_eq!(bench.text("a.py"), FILE.replace("two():\n    return 1", "two():\n    return 2"));
    assert_eq!(bench.text("moved/x.txt"), "y\n");
    assert!(!bench.root.join("old.txt").exists() && !bench.root.join("gone.txt").exists());
    assert_eq!(outcome.edits.len(), 5);
    assert_eq!(outcome.edits[4].after, Snapshot::Absent);
}

#[test]
fn who_is_asked_sees_a_diff_of_each_file() {
    let bench = Bench::holding(&[("a.txt", "1\n2\n"), ("old.txt", "x\n"), ("gone.txt", "bye\n"), ("nil.txt", "")]);
    let preview = |body: &str| bench.plan("apply_patch", &patch(body)).unwrap().preview.unwrap().to_vec();
    let shown = preview(
        "*** Update File: a.txt\n@@\n-2\n+3\n*** Add File: b.txt\n+new\n*** Update File: old.txt\n\
         *** Move to: to.txt\n@@\n-x\n+y\n*** Delete File: gone.txt\n*** Delete File: nil.txt\n",
    );
    let want = [
        Fact::line("files", "a.txt, b.txt, old.txt, to.txt, gone.txt, nil.txt"),
        Fact::diff("a.txt", "@@ -1,2 +1,2 @@\n 1\n-2\n+3\n"),
        Fact::diff("b.txt", "@@ -0,0 +1 @@\n+new\n"),
        Fact::diff("old.txt", "@@ -1 +0,0 @@\n-x\n"),
        Fact::diff("to.txt", "@@ -0,0 +1 @@\n+y\n"),
        Fact::diff("gone.txt", "@@ -1 +0,0 @@\n-bye\n"),
        Fact::line("nil.txt", "an empty file, deleted"),
        Fact::line("deletes", "old.txt, gone.txt, nil.txt"),
    ];
    assert_eq!(shown, want);
    // What does not fit, is large or is somewhere else is shown as the patch that it is, and nothing of the file with it.
    std::fs::write(bench.root.join("large.txt"), "0123456789abcde\n".repeat(10_000)).unwrap();
    for (body, deleted) in [
        ("*** Update File: a.txt\n@@\n-9\n+3\n", None),
        ("*** Delete File: large.txt\n", Some("large.txt")),
        ("*** Update File: a.txt\n@@\n-2\n+3\n*** Delete File: /etc/hostname\n", Some("/etc/hostname")),
    ] {
        let shown = preview(body);
        let text = patch(body)["input"].as_str().unwrap().to_owned();
        let deletes = deleted.map(|file| Fact::line("deletes", file));
        let want: Vec<Fact> = std::iter::once(Fact::text("patch", &text)).chain(deletes).collect();
        assert_eq!(shown[1..], want, "{body}");
    }
}

#[test]
fn a_mismatch_changes_no_file_and_names_the_hunk() {
    let bench = Bench::holding(&[("a.py", FILE), ("b.py", "x\n")]);
    let input = patch(
        "*** Update File: b.py\n@@\n-x\n+y\n*** Add File: c.py\n+z\n*** Update File: a.py\n@@\n import os\n@@\n \
         def two():\n-    return 2\n+    return 3\n",
    );
    expect![[r#"
        ERROR a.py: hunk 2: these lines were not found; nothing was changed:
        def two():
            return 2
        The nearest is at line 6:
        def two():
            return 1"#]]
    .assert_eq(&bench.answer("apply_patch", input));
    assert_eq!((bench.text("a.py"), bench.text("b.py")), (FILE.to_owned(), "x\n".to_owned()));
    assert!(!bench.root.join("c.py").exists());
}

#[test]
fn only_whitespace_at_line_ends_is_forgiven() {
    let bench = Bench::holding(&[("a.txt", "one  \ntwo\n")]);
    bench.call("apply_patch", patch("*** Update File: a.txt\n@@\n one\n-two\n+2\n"));
    assert_eq!(bench.text("a.txt"), "one  \n2\n", "what is kept stays as the file has it");
    assert!(bench.call("apply_patch", patch("*** Update File: a.txt\n@@\n  one\n-2\n+3\n")).is_error);
}

#[test]
fn a_file_with_crlf_stays_one() {
    let bench = Bench::holding(&[("w.txt", "one\r\ntwo\r\n")]);
    bench.call("apply_patch", patch("*** Update File: w.txt\n@@\n one\n-two\n+2\n+3\n"));
    assert_eq!(bench.text("w.txt"), "one\r\n2\r\n3\r\n");
}

#[test]
fn two_sections_of_one_file_build_on_each_other() {
    let bench = Bench::holding(&[("a.txt", "1\n")]);
    bench.call("apply_patch", patch("*** Update File: a.txt\n@@\n-1\n+2\n*** Update File: ./a.txt\n@@\n-2\n+3\n"));
    assert_eq!(bench.text("a.txt"), "3\n");
}

#[test]
fn a_hunk_that_only_adds_goes_behind_its_anchor_or_to_the_end() {
    let bench = Bench::holding(&[("a.txt", "1\n2\n3")]);
    bench.call("apply_patch", patch("*** Update File: a.txt\n@@ 1\n+1.5\n@@\n+4\n"));
    assert_eq!(bench.text("a.txt"), "1\n1.5\n2\n3\n4\n");
}

#[test]
fn git_diffs_are_understood() {
    let bench = Bench::holding(&[("a.txt", "1\n2\n3\n"), ("gone", "x\n"), ("from", "same\n")]);
    let diff = "diff --git a/a.txt b/a.txt\nindex 1..2 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@ fn x\n 1\n-2\n+zwei\n 3\n\
                diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+n\n\\ No newline at end of file\n\
                diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\
                diff --git a/from b/to\nsimilarity index 100%\nrename from from\nrename to to\n";
    expect![[r#"
        updated a.txt
        created new
        deleted gone
        deleted from
        created to
    "#]]
    .assert_eq(&bench.answer("apply_patch", json!({"patch": diff})));
    assert_eq!(
        (bench.text("a.txt"), bench.text("new"), bench.text("to")),
        ("1\nzwei\n3\n".into(), "n".into(), "same\n".into())
    );
}

#[test]
fn mistakes_are_explained() {
    let bench = Bench::holding(&[("a.txt", "1\n")]);
    for (input, error) in [
        (
            json!({"input": "hello"}),
            expect![[
                r#"ERROR no patch found: start with "*** Begin Patch", or give a unified diff with ---, +++ and @@ lines"#
            ]],
        ),
        (json!({}), expect![[r#"ERROR missing required argument "input""#]]),
        (
            json!({"input": "*** Begin Patch\n*** Add File: x\n+1\n"}),
            expect![[r#"ERROR the patch is cut off: "*** End Patch" is missing"#]],
        ),
        (patch(""), expect!["ERROR the patch changes no file"]),
        (
            patch("*** Add File: a.txt\n+1\n"),
            expect![[r#"ERROR a.txt: exists already; use "*** Update File", or delete it first"#]],
        ),
        (
            patch("*** Delete File: b.txt\n"),
            expect!["ERROR b.txt: no such file or directory; similar names in .: a.txt; nothing was changed"],
        ),
        (patch("*** Update File: a.txt\n"), expect!["ERROR a.txt: an update without hunks changes nothing"]),
        (
            patch("*** Update File: a.txt\n@@\n1\n"),
            expect![[r#"ERROR line 4 of the patch: a line of a hunk starts with " ", "-" or "+", found "1""#]],
        ),
        (
            patch("*** Update File: a.txt\n@@ nowhere\n-1\n"),
            expect![[r#"ERROR a.txt: hunk 1: the line "@@ nowhere" was not found; nothing was changed"#]],
        ),
        (
            patch("*** Rename File: a.txt\n"),
            expect![[
                r#"ERROR line 2 of the patch: expected "*** Add File:", "*** Update File:", "*** Delete File:" or "*** End Patch", found "*** Rename File: a.txt""#
            ]],
        ),
        (
            json!({"input": "--- a/a.txt\n+++ b/a.txt\n@@ -9,0 +10 @@\n+x\n"}),
            expect!["ERROR a.txt: hunk 1: it adds after line 9, but the file has 1; nothing was changed"],
        ),
    ] {
        error.assert_eq(&bench.answer("apply_patch", input));
    }
    assert_eq!(bench.text("a.txt"), "1\n");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Few different lines, so that hunks have many places where they could wrongly fit.
    #[test]
    fn the_diff_of_two_texts_turns_one_into_the_other(
        old in prop::collection::vec("[abc]{0,2}|- x|\\+ y|@@|-- z", 0..30),
        new in prop::collection::vec("[abc]{0,2}|- x|\\+ y|@@|-- z", 0..30),
        (old_end, new_end) in (any::<bool>(), any::<bool>()),
        radius in 0_usize..4,
    ) {
        let text = |lines: &[String], end: bool| lines.join("\n") + if end && !lines.is_empty() { "\n" } else { "" };
        let (old, new) = (text(&old, old_end), text(&new, new_end));
        prop_assume!(old != new);
        let bench = Bench::holding(&[("f", &old)]);
        let diff = TextDiff::from_lines(&old, &new);
        let diff = diff.unified_diff().context_radius(radius).header("a/f", "b/f").to_string();
        let answer = bench.answer("apply_patch", json!({"input": diff}));
        prop_assert_eq!(bench.text("f"), new, "{}\n{}", diff, answer);
    }
}
