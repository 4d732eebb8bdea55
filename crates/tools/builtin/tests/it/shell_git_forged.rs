//! Repositories that no git made: an index that means one thing to git and another to who only glances at it, paths that
//! are too long for one of the two, and links where nobody looks. Every trap here is real.

use std::path::Path;
use std::process::Command;

use serde_json::json;
use vocab::{Required, parts_text};

use crate::bench::Bench;
use crate::shell_git::{bench, config, git, holds, holds_a_real_trap, repository, required, sprung};

/// A submodule `sub` of the bench's repository, with a filter that git runs when it looks into it.
fn trapped_submodule(bench: &Bench) {
    let sub = bench.root.join("sub");
    trapped(&sub);
    let head = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(&sub).output().unwrap();
    let head = String::from_utf8(head.stdout).unwrap();
    git(&bench.root, &["update-index", "--add", "--cacheinfo", &format!("160000,{},sub", head.trim())]);
    assert_eq!(required(bench, "git status", "."), Required::DangerFullAccess, "as git writes it");
}

fn trapped(sub: &Path) {
    repository(sub);
    std::fs::write(sub.join(".gitattributes"), "* filter=x\n").unwrap();
    git(sub, &["config", "filter.x.clean", "touch PWNED; cat"]);
    std::fs::write(sub.join("a.txt"), "six\n").unwrap();
}

/// The index without its checksum, which git does not look at when it reads.
fn index(bench: &Bench) -> Vec<u8> {
    let mut bytes = std::fs::read(bench.root.join(".git/index")).unwrap();
    bytes.truncate(bytes.len() - 20);
    bytes
}

fn put_index(bench: &Bench, mut bytes: Vec<u8>) {
    bytes.extend([0; 20]);
    bench.put(".git/index", bytes);
}

/// Where the mode of the submodule's entry stands.
fn mode_at(bytes: &[u8]) -> usize {
    bytes.windows(4).position(|window| window == b"sub\0").unwrap() - 62 + 24
}

#[test]
fn a_submodule_by_any_mode_is_one() {
    for mode in [0o160_644_u32, 0o160_001, 0x0001_e000] {
        let bench = bench();
        trapped_submodule(&bench);
        let mut bytes = index(&bench);
        let at = mode_at(&bytes);
        bytes[at..at + 4].copy_from_slice(&mode.to_be_bytes());
        put_index(&bench, bytes);
        holds_a_real_trap(&bench, "git status", ".");
    }
}

#[test]
fn entries_that_only_threads_would_find_are_not_passed_by() {
    let bench = bench();
    trapped_submodule(&bench);
    let bytes = index(&bench);
    // Cut off what git wrote behind the entries; the submodule's is the last of three.
    let end = mode_at(&bytes) - 24 + 72;
    let entries = bytes[12..end].to_vec();
    let mut decoy = bytes[..end].to_vec();
    let at = mode_at(&decoy);
    decoy[at..at + 4].copy_from_slice(&0o100_644_u32.to_be_bytes());
    let word = |number: usize| u32::try_from(number).unwrap().to_be_bytes();
    let table = [word(1), word(end + 8), word(3)].concat();
    let heads = [b"ZZZZ".as_slice(), &word(entries.len()), b"IEOT", &word(table.len())].concat();
    let forged = [
        decoy.as_slice(),
        b"ZZZZ",
        &word(entries.len()),
        &entries,
        b"IEOT",
        &word(table.len()),
        &table,
        b"EOIE",
        &word(24),
        &word(end),
        &hash_of(&heads),
    ];
    put_index(&bench, forged.concat());
    holds(&bench, "git status", ".");
    config(&bench, &[("index.threads", "4")]);
    holds_a_real_trap(&bench, "git status", ".");
}

/// Git's own name for these bytes, without the head that it puts before an object's.
fn hash_of(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut sum = Command::new("sha1sum");
    let mut sum = sum.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    sum.stdin.take().unwrap().write_all(bytes).unwrap();
    let said = sum.wait_with_output().unwrap().stdout;
    let digits = std::str::from_utf8(&said[..40]).unwrap();
    (0..20).map(|at| u8::from_str_radix(&digits[at * 2..at * 2 + 2], 16).unwrap()).collect()
}

#[test]
fn a_submodule_too_deep_to_be_looked_at_is_asked_about() {
    /// Longest path that the system takes by its whole name.
    const PATH_BYTES_MAX: usize = 4095;
    let bench = bench();
    let made = bench.outside.join("made");
    trapped(&made);
    let head = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(&made).output().unwrap();
    // Its directory can be named in full, `.git` in it cannot; git goes by the shorter way, from the top.
    let mut left = PATH_BYTES_MAX - 2 - bench.root.as_os_str().len() - 1;
    let mut parts = Vec::new();
    while left > 0 {
        let part = if left <= 200 { left } else { 200.min(left - 2) };
        parts.push("a".repeat(part));
        left = left.saturating_sub(part + 1);
    }
    let deep = parts.join("/");
    let head = String::from_utf8(head.stdout).unwrap();
    git(&bench.root, &["update-index", "--add", "--cacheinfo", &format!("160000,{},{deep}", head.trim())]);
    std::fs::create_dir_all(bench.root.join(&deep)).unwrap();
    let mut copy = Command::new("cp");
    copy.args(["-r", ".git", "a.txt", "b.txt", ".gitattributes"]).arg(bench.root.join(&deep)).current_dir(&made);
    assert!(copy.status().unwrap().success());
    holds_a_real_trap(&bench, "git status", ".");
}

#[test]
fn no_link_in_a_repository_is_passed_by() {
    for (link, command) in [
        (".git/worktrees/w/gitdir", "git branch -vv"),
        (".git/worktrees/w/HEAD", "git branch"),
        (".git/refs/heads/other", "git branch -v"),
        (".git/logs/refs/heads/other", "git log"),
        (".git/objects/ab/cd", "git log"),
        (".git/objects/pack/pack-1.idx", "git log"),
        (".git/objects/info/alternates", "git log"),
        (".git/modules/x/HEAD", "git diff"),
    ] {
        let bench = bench();
        git(&bench.root, &["branch", "two"]);
        assert_eq!(required(&bench, command, "."), Required::ReadOnly, "{command}");
        let link = bench.root.join(link);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(bench.outside.join("canary.txt"), &link).unwrap();
        holds(&bench, command, ".");
    }
    // The first of them shows the whole file.
    let bench = bench();
    git(&bench.root, &["branch", "two"]);
    bench.put(".git/worktrees/w/HEAD", "ref: refs/heads/two\n");
    bench.put(".git/worktrees/w/commondir", "../..\n");
    std::fs::write(bench.outside.join("secret"), "not for you\n").unwrap();
    std::os::unix::fs::symlink(bench.outside.join("secret"), bench.root.join(".git/worktrees/w/gitdir")).unwrap();
    holds(&bench, "git branch -vv", ".");
    let told = bench.call_granted("bash", &json!({"command": "git branch -vv"}), Required::DangerFullAccess);
    assert!(parts_text(&told.parts).contains("not for you"), "the test's trap does not work");
    // A worktree that names another repository as its own.
    let bench = self::bench();
    bench.put(".git/worktrees/w/HEAD", "ref: refs/heads/two\n");
    bench.put(".git/worktrees/w/commondir", "../..\n");
    assert_eq!(required(&bench, "git branch", "."), Required::ReadOnly);
    bench.put(".git/worktrees/w/commondir", "../../../../outside/.git\n");
    holds(&bench, "git branch", ".");
    // Hooks are often links, and are not run by git that reads.
    let bench = self::bench();
    std::fs::create_dir_all(bench.root.join(".git/hooks")).unwrap();
    std::os::unix::fs::symlink("/bin/true", bench.root.join(".git/hooks/pre-commit")).unwrap();
    assert_eq!(required(&bench, "git status", "."), Required::ReadOnly);
    // But a repository may not hide among them.
    trapped(&bench.root.join("part"));
    std::fs::rename(bench.root.join("part/.git"), bench.root.join(".git/hooks/part")).unwrap();
    bench.put("part/.git", "gitdir: ../.git/hooks/part\n");
    holds_a_real_trap(&bench, "git status", "part");
}

#[test]
fn an_order_to_sort_branches_by_starts_no_signature_checker() {
    for sort in ["signature", "signature:grade"] {
        let bench = bench();
        git(&bench.root, &["branch", "two"]);
        config(&bench, &[("branch.sort", sort)]);
        holds(&bench, "git branch", ".");
        assert!(!sprung(&bench));
    }
}
