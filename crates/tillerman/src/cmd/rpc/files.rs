//! Session files by their names, which carry time and id: `<time>_<id>.jsonl`.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::session::Files;

pub(super) const FILES: Files = Files { default_dir, newest, by_id };

/// `/a/b` becomes `--a-b--` under `sessions`.
fn default_dir(agent_dir: &Path, workspace: &Path) -> PathBuf {
    let path = workspace.to_string_lossy();
    let inner = path.strip_prefix(['/', '\\']).unwrap_or(&path).replace(['/', '\\', ':'], "-");
    agent_dir.join("sessions").join(format!("--{inner}--"))
}

/// Newest first.
fn dated(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path());
    let files = entries.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    let mut found: Vec<(SystemTime, PathBuf)> =
        files.filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path))).collect();
    found.sort();
    found.into_iter().rev().map(|(_, path)| path).collect()
}

fn newest(dir: &Path) -> Option<PathBuf> {
    dated(dir).into_iter().next()
}

fn by_id(dir: &Path, prefix: &str) -> Vec<PathBuf> {
    let id = |path: &PathBuf| Some(path.file_stem()?.to_str()?.split_once('_')?.1.to_owned());
    dated(dir).into_iter().filter(|path| id(path).is_some_and(|id| id.starts_with(prefix))).collect()
}
