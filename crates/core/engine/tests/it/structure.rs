//! House rules of the engine that a compiler does not know.

use std::fs;
use std::path::{Path, PathBuf};

/// Futures that are handed to the session's poll, and tasks beside it: they own what they need and know no session.
const FUTURES: [&str; 3] = ["session/later.rs", "session/compaction/summary.rs", "session/subagents/runner.rs"];

fn sources(under: &Path, into: &mut Vec<PathBuf>) {
    for found in fs::read_dir(under).unwrap() {
        let path = found.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            into.push(path);
        }
    }
}

/// The session's files with what is in them; without tests.
fn session_files() -> Vec<(String, String)> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = vec![src.join("session.rs")];
    sources(&src.join("session"), &mut paths);
    let files = paths.into_iter().map(|path| {
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
        (path.strip_prefix(&src).unwrap().to_string_lossy().replace('\\', "/"), code)
    });
    files.filter(|(name, _)| !name.contains("tests")).collect()
}

fn code_lines(code: &str) -> impl Iterator<Item = &str> {
    code.lines().filter(|line| !line.trim_start().starts_with("//"))
}

fn awaits(line: &str) -> bool {
    let is_word = |rest: &str| rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    line.match_indices(".await").any(|(at, word)| !is_word(&line[at + word.len()..]))
}

#[test]
fn the_session_awaits_in_one_place() {
    let files = session_files();
    let places: Vec<&str> = files
        .iter()
        .filter(|(name, _)| !FUTURES.contains(&name.as_str()))
        .flat_map(|(name, code)| code_lines(code).filter(|line| awaits(line)).map(move |_| name.as_str()))
        .collect();
    assert_eq!(places, ["session.rs"], "whatever takes its time belongs into session/later.rs");
    for name in FUTURES {
        let (_, code) = files.iter().find(|(file, _)| file == name).unwrap();
        assert!(!code.contains("impl Session"), "{name} knows the session");
    }
}
