//! The stories of `testkit::stories`, told by the engine itself and by `serve`. Both must leave the log that the story's
//! file shows. The next dialect adds a teller and a line in [`every_dialect_leaves_the_same_log`].

mod alone;
mod crashes;
mod host_tools;
mod peers;
mod processes;
mod serve_teller;

use std::path::{Path, PathBuf};

use testkit::stories::{EngineTeller, play};

use crate::golden::paused;
use serve_teller::ServeTeller;

fn files() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/stories");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("the stories").map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|file| file.extension().is_some_and(|end| end == "story"));
    files.sort();
    files.into_iter().map(|file| (file.clone(), std::fs::read_to_string(file).expect("a readable story"))).collect()
}

#[test]
fn every_story_ends_as_written() {
    let files = files();
    assert!(files.len() >= 30, "only {} stories were found", files.len());
    for (file, story) in files {
        let told = paused(play(&story, async |stage| EngineTeller::new(stage).await));
        expect_test::expect_file![file].assert_eq(&told.expect("the engine has words for everything"));
    }
}

/// `expect_file` could rewrite a story; this compares only.
#[test]
fn every_dialect_leaves_the_same_log() {
    let mut told_by_serve = 0;
    for (file, story) in files() {
        let told = paused(play(&story, async |stage| ServeTeller::new(stage).await));
        let Some(told) = told else { continue };
        told_by_serve += 1;
        assert!(told == story, "{}: serve tells it differently:\n{}", file.display(), difference(&story, &told));
    }
    assert!(told_by_serve >= 25, "serve told only {told_by_serve} stories");
    assert!(!Path::new("/tmp/evil-story.txt").exists(), "story 7 wrote outside the workspace");
}

fn difference(expected: &str, got: &str) -> String {
    let at = expected.lines().zip(got.lines()).take_while(|(one, other)| one == other).count();
    let from = |text: &str| text.lines().skip(at).take(6).collect::<Vec<_>>().join("\n");
    format!("line {}\n--- expected\n{}\n--- got\n{}", at + 1, from(expected), from(got))
}
