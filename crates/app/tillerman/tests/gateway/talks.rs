//! Written conversations, each against a gateway of its own.

use std::path::PathBuf;

use crate::player::play;
use crate::process::{Place, talks_dir};

/// Everything on that a conversation may need.
const OPEN_HOUSE: &str = "server:\n  nodes:\n    enabled: true\n    allowed_roles: [companion]\n    location:\n      enabled: true\n    push:\n      enabled: true\n";

fn talks() -> Vec<PathBuf> {
    // Those of somebody else, where they were put; the repository's own always.
    let other = std::env::var_os("TILLERMAN_GATEWAY_TALKS").map(PathBuf::from);
    let dirs = [Some(talks_dir()), other];
    let mut files: Vec<PathBuf> = Vec::new();
    for dir in dirs.into_iter().flatten() {
        let found = std::fs::read_dir(&dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
        files.extend(
            found.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|it| it == "jsonl")),
        );
    }
    files.sort();
    files
}

#[test]
fn every_conversation_goes_as_it_is_written() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut wrong = Vec::new();
    for file in talks() {
        let place = Place::with(OPEN_HOUSE);
        let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| runtime.block_on(play(&file, &place))));
        match played {
            Ok(Ok(())) => {}
            Ok(Err(why)) => wrong.push(why),
            Err(panic) => {
                let said = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                wrong.push(format!("{}: {said}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{} went wrong:\n{}", wrong.len(), wrong.join("\n\n"));
}
