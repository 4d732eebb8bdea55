//! `/diff` and `/undo` on real files.

use builtin_tools::{Builtin, BuiltinOptions};
use vocab::{FileEdit, Snapshot, Toolbox};

fn edit(path: &str, before: Option<&str>, after: Option<&str>) -> FileEdit {
    let snapshot = |text: Option<&str>| text.map_or(Snapshot::Absent, |text| Snapshot::Text(text.into()));
    FileEdit { path: path.into(), before: snapshot(before), after: snapshot(after) }
}

fn toolbox(dir: &std::path::Path) -> Builtin {
    Builtin::new(BuiltinOptions::new(dir.join("spill")))
}

#[test]
fn a_diff_spans_from_the_first_state_to_the_last() {
    let dir = tempfile::tempdir().unwrap();
    let edits =
        [edit("a", Some("1\n"), Some("2\n")), edit("a", Some("2\n"), Some("3\n")), edit("b", None, Some("x\n"))];
    let diffs = toolbox(dir.path()).diff(&edits);
    let rows: Vec<_> = diffs.iter().map(|diff| (&*diff.path, diff.added, diff.removed)).collect();
    assert_eq!(rows, [("a", 1, 1), ("b", 1, 0)]);
    assert!(diffs[0].patch.contains("-1\n+3\n"), "{}", diffs[0].patch);
    assert!(toolbox(dir.path()).diff(&[edit("a", Some("1"), Some("2")), edit("a", Some("2"), Some("1"))]).is_empty());
}

#[test]
fn restoring_goes_back_to_the_first_state_and_removes_what_was_new() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a"), "3").unwrap();
    std::fs::write(dir.path().join("new"), "x").unwrap();
    let edits = [edit("a", Some("1"), Some("2")), edit("a", Some("2"), Some("3")), edit("new", None, Some("x"))];
    let restored = toolbox(dir.path()).restore(dir.path(), &edits);
    assert_eq!(restored.iter().map(|path| &**path).collect::<Vec<_>>(), ["a", "new"]);
    assert_eq!(std::fs::read_to_string(dir.path().join("a")).unwrap(), "1");
    assert!(!dir.path().join("new").exists());
}

#[test]
fn a_file_that_somebody_changed_since_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a"), "mine now").unwrap();
    assert!(toolbox(dir.path()).restore(dir.path(), &[edit("a", Some("1"), Some("2"))]).is_empty());
    assert_eq!(std::fs::read_to_string(dir.path().join("a")).unwrap(), "mine now");
}

#[test]
fn a_name_that_leads_elsewhere_by_now_is_not_the_file_that_was_changed() {
    let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    std::fs::write(outside.path().join("x"), "2").unwrap();
    std::os::unix::fs::symlink(outside.path(), dir.path().join("d")).unwrap();
    let beside = format!("../{}/x", outside.path().file_name().unwrap().to_string_lossy());
    for path in ["d/x", "./d/x", &beside] {
        assert!(toolbox(dir.path()).restore(dir.path(), &[edit(path, Some("1"), Some("2"))]).is_empty(), "{path}");
    }
    assert_eq!(std::fs::read_to_string(outside.path().join("x")).unwrap(), "2");
    // A file outside that a call was allowed to change is named as it is.
    let named = outside.path().canonicalize().unwrap().join("x");
    let edits = [edit(named.to_str().unwrap(), Some("1"), Some("2"))];
    assert_eq!(toolbox(dir.path()).restore(dir.path(), &edits).len(), 1);
}
