//! FAULTS S1: a directory and a symlink to the outside change places while the tools work.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};
use vocab::{Required, parts_text};

use crate::bench::{Bench, CANARY, context, runtime};

/// Swaps in an ordinary run, and in the full one (`TILLERMAN_FULL=1`).
const SWAPS: usize = 2_000;
const SWAPS_FULL: usize = 100_000;
/// Rounds of all calls that must have met the swaps; the swapping goes on until then.
const ROUNDS_MIN: usize = 40;

fn swap(root: &Path, one: &str, two: &str) {
    renameat_with(CWD, root.join(one), CWD, root.join(two), RenameFlags::EXCHANGE).unwrap();
}

pub(crate) struct SetOnDrop<'a>(pub(crate) &'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn calls() -> Vec<(&'static str, Value)> {
    let patch = |body: &str| json!({"input": format!("*** Begin Patch\n{body}*** End Patch\n")});
    vec![
        ("read_file", json!({"path": "dir/canary.txt"})),
        ("read_file", json!({"path": "last.txt"})),
        ("write_file", json!({"path": "dir/canary.txt", "content": "inside\n"})),
        ("write_file", json!({"path": "dir/new/deep.txt", "content": "x"})),
        ("write_file", json!({"path": "last.txt", "content": "inside\n"})),
        ("edit_file", json!({"path": "dir/canary.txt", "old_string": "inside", "new_string": "inside!"})),
        ("edit_file", json!({"path": "dir/canary.txt", "old_string": "insite", "new_string": "x"})),
        ("apply_patch", patch("*** Delete File: dir/new/deep.txt\n")),
        ("apply_patch", patch("*** Add File: dir/added\n+x\n")),
        ("apply_patch", patch("*** Delete File: dir/added\n")),
        ("glob", json!({"pattern": "**/*"})),
        ("glob", json!({"pattern": "dir/*"})),
        ("grep", json!({"pattern": "canary|inside"})),
        ("grep", json!({"pattern": "canary", "path": "dir/canary.txt"})),
        ("list_dir", json!({"depth": 3})),
        ("list_dir", json!({"path": "dir"})),
    ]
}

#[test]
fn swapping_a_directory_for_a_symlink_leads_nobody_out() {
    let swaps = if std::env::var_os("TILLERMAN_FULL").is_some() { SWAPS_FULL } else { SWAPS };
    let bench = Bench::holding(&[("dir/canary.txt", "inside\n"), ("last.txt", "inside\n")]);
    std::fs::write(bench.outside.join("only-outside-name"), CANARY).unwrap();
    std::os::unix::fs::symlink(&bench.outside, bench.root.join("link")).unwrap();
    std::os::unix::fs::symlink(bench.outside.join("canary.txt"), bench.root.join("lastlink.txt")).unwrap();
    let done = AtomicBool::new(false);
    let runtime = runtime();
    let rounds = AtomicUsize::new(0);
    let mut opened = 0_usize;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut swapped = 0;
            while swapped < swaps || (rounds.load(Ordering::Relaxed) < ROUNDS_MIN && !done.load(Ordering::Relaxed)) {
                swapped += 1;
                swap(&bench.root, "dir", "link");
                swap(&bench.root, "last.txt", "lastlink.txt");
                std::thread::yield_now();
            }
            done.store(true, Ordering::Relaxed);
        });
        // A failed assertion must end the swapping too, or the scope would wait for it.
        let _end = SetOnDrop(&done);
        while !done.load(Ordering::Relaxed) {
            for (tool, input) in calls() {
                let json = vocab::Json::trusted(input.to_string());
                let outcome = runtime.block_on(bench.tool(tool).run(json, context(Required::WorkspaceWrite)));
                let text = parts_text(&outcome.parts);
                assert!(!text.contains("7f3a9c") && !text.contains("only-outside"), "{tool} {input}: {text}");
                let edits = format!("{:?}", outcome.edits);
                assert!(!edits.contains("7f3a9c"), "{tool} {input}: {edits}");
                opened += usize::from(!outcome.is_error);
            }
            rounds.fetch_add(1, Ordering::Relaxed);
        }
    });
    assert!(opened > ROUNDS_MIN, "the tools did work: {opened} answers");
    for name in ["canary.txt", "only-outside-name"] {
        assert_eq!(std::fs::read_to_string(bench.outside.join(name)).unwrap(), CANARY);
    }
    assert_eq!(std::fs::read_dir(&bench.outside).unwrap().count(), 2, "nothing was made outside");
}
