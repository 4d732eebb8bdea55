//! A repository's configuration names programs. Git runs them while it "only reads", so it counts as reading only where
//! the configuration is known to be inert. Every trap here is real: with full access it goes off.

use std::path::Path;
use std::process::Command;

use serde_json::json;
use vocab::{Required, parts_text};

use crate::bench::Bench;

/// What a trap does when it goes off.
const TRAP: &str = "touch PWNED";

pub(crate) fn git(dir: &Path, args: &[&str]) {
    let told = ["-c", "user.email=a@b", "-c", "user.name=a", "-c", "protocol.file.allow=always"];
    let mut command = Command::new("git");
    command
        .args(told)
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1");
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// A repository with two commits and one change that is not committed.
pub(crate) fn repository(dir: &Path) {
    std::fs::create_dir_all(dir).unwrap();
    git(dir, &["init", "-q", "-b", "main", "."]);
    for text in ["one\n", "two\n"] {
        std::fs::write(dir.join("a.txt"), text).unwrap();
        std::fs::write(dir.join("b.txt"), text).unwrap();
        git(dir, &["add", "."]);
        git(dir, &["commit", "-q", "-m", text.trim()]);
    }
    std::fs::write(dir.join("a.txt"), "three\n").unwrap();
}

pub(crate) fn bench() -> Bench {
    let bench = Bench::new();
    repository(&bench.root);
    bench
}

pub(crate) fn required(bench: &Bench, command: &str, cwd: &str) -> Required {
    bench.plan("bash", &json!({"command": command, "cwd": cwd})).unwrap().required
}

/// It is not reading, in the plan as well as in the run, and without full access the trap stays shut.
pub(crate) fn holds(bench: &Bench, command: &str, cwd: &str) {
    assert_eq!(required(bench, command, cwd), Required::DangerFullAccess, "{command}");
    for granted in [Required::ReadOnly, Required::WorkspaceWrite] {
        let outcome = bench.call_granted("bash", &json!({"command": command, "cwd": cwd}), granted);
        assert!(outcome.is_error, "{command}: {}", parts_text(&outcome.parts));
    }
    assert!(!sprung(bench), "{command} ran the trap");
}

pub(crate) fn sprung(bench: &Bench) -> bool {
    [&bench.root, &bench.outside].iter().any(|dir| {
        let found = Command::new("find").arg(dir).args(["-name", "PWNED"]).output().unwrap();
        !found.stdout.is_empty()
    })
}

/// The same, and the trap is a real one.
pub(crate) fn holds_a_real_trap(bench: &Bench, command: &str, cwd: &str) {
    holds(bench, command, cwd);
    bench.call_granted("bash", &json!({"command": command, "cwd": cwd}), Required::DangerFullAccess);
    assert!(sprung(bench), "{command}: the test's trap does not work");
}

pub(crate) fn config(bench: &Bench, pairs: &[(&str, &str)]) {
    for (key, value) in pairs {
        git(&bench.root, &["config", key, value]);
    }
}

/// Looks changed by time, so that git has to read it.
fn touched(bench: &Bench) {
    bench.put("a.txt", "six\n");
    let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    std::fs::File::open(bench.root.join("a.txt")).unwrap().set_modified(long_ago).unwrap();
}

fn script(bench: &Bench, rest: &str) -> String {
    use std::os::unix::fs::PermissionsExt;
    let path = bench.outside.join("trap.sh");
    std::fs::write(&path, format!("#!/bin/sh\ncd {}\n{TRAP}\n{rest}\n", bench.root.display())).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

#[test]
fn an_ordinary_repository_is_read_without_a_question() {
    let bench = bench();
    config(
        &bench,
        &[
            ("remote.origin.url", "git@example.org:a/b.git"),
            ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
            ("branch.main.remote", "origin"),
            ("branch.main.merge", "refs/heads/main"),
            ("user.name", "A Person # not a comment"),
            ("core.autocrlf", "input"),
            ("color.ui", "auto"),
        ],
    );
    for (command, says) in [
        ("git status", "modified:   a.txt"),
        ("git status -sb", "M a.txt"),
        ("git diff", "+three"),
        ("git diff HEAD", "+three"),
        ("git diff HEAD~1 HEAD", "+two"),
        ("git diff --stat", "1 file changed"),
        ("git --no-pager diff -- a.txt", "+three"),
        ("git log --oneline", "two"),
        ("git log -p", "+two"),
        ("git show HEAD:b.txt", "two"),
        ("git blame b.txt", "two"),
        ("git ls-files", "a.txt"),
        ("git branch", "main"),
        ("git rev-parse --abbrev-ref HEAD", "main"),
    ] {
        assert_eq!(required(&bench, command, "."), Required::ReadOnly, "{command}");
        for granted in [Required::ReadOnly, Required::WorkspaceWrite, Required::DangerFullAccess] {
            let outcome = bench.call_granted("bash", &json!({ "command": command }), granted);
            let text = parts_text(&outcome.parts);
            assert!(!outcome.is_error && text.contains(says), "{command} with {granted:?}: {text}");
        }
    }
}

#[test]
fn programs_of_diff_drivers_do_not_run() {
    for (key, commands) in [
        ("diff.x.textconv", &["git log -p", "git show", "git blame a.txt", "git diff"] as &[&str]),
        ("diff.x.command", &["git diff"]),
    ] {
        for command in commands {
            let bench = bench();
            bench.put(".gitattributes", "* diff=x\n");
            config(&bench, &[(key, "touch PWNED; cat")]);
            holds_a_real_trap(&bench, command, ".");
        }
    }
    let bench = bench();
    config(&bench, &[("diff.external", TRAP)]);
    holds_a_real_trap(&bench, "git diff", ".");
}

#[test]
fn filters_do_not_run() {
    for (key, command) in
        [("filter.x.clean", "git status"), ("filter.x.clean", "git diff"), ("filter.x.process", "git status -s")]
    {
        let bench = bench();
        bench.put(".gitattributes", "* filter=x\n");
        config(&bench, &[(key, "touch PWNED; cat")]);
        touched(&bench);
        holds_a_real_trap(&bench, command, ".");
    }
}

#[test]
fn signature_checkers_do_not_run() {
    for (pairs, command) in [
        (&[("format.pretty", "format:%G?")] as &[_], "git log"),
        (&[("pretty.evil", "format:%G?")], "git log --pretty=evil"),
        (&[("log.showSignature", "true")], "git log"),
    ] {
        let bench = bench();
        let signed = script(
            &bench,
            "cat > /dev/null; printf '\\n[GNUPG:] SIG_CREATED \\n' >&2; printf -- '-----BEGIN PGP SIGNATURE-----\\nx\\n-----END PGP SIGNATURE-----\\n'",
        );
        git(
            &bench.root,
            &["-c", &format!("gpg.program={signed}"), "commit", "-q", "-S", "--allow-empty", "-m", "signed"],
        );
        let _ = std::fs::remove_file(bench.root.join("PWNED"));
        config(&bench, &[("gpg.program", &signed)]);
        config(&bench, pairs);
        holds_a_real_trap(&bench, command, ".");
    }
}

/// A clone without its files: whatever reads one asks the remote for it.
fn partial_clone() -> Bench {
    let bench = Bench::new();
    let origin = bench.outside.join("origin");
    repository(&origin);
    git(&origin, &["config", "uploadpack.allowFilter", "true"]);
    let url = format!("file://{}", origin.display());
    git(&bench.root, &["clone", "-q", "--no-checkout", "--filter=blob:none", &url, "."]);
    bench
}

#[test]
fn missing_objects_are_not_fetched() {
    let plain = partial_clone();
    holds(&plain, "git show HEAD:b.txt", ".");
    for (pairs, command) in [
        (&[("remote.origin.uploadpack", "trap")] as &[_], "git show HEAD:b.txt"),
        (&[("remote.origin.url", "ext::trap"), ("protocol.ext.allow", "always")], "git show HEAD:b.txt"),
        (&[("remote.origin.url", "ssh://x/y"), ("core.sshCommand", "trap")], "git log -p"),
        (&[("remote.origin.url", "git://x/y"), ("core.gitProxy", "trap")], "git log --stat"),
    ] {
        let bench = partial_clone();
        let trap = script(&bench, "");
        for (key, value) in pairs {
            config(&bench, &[(key, &value.replace("trap", &trap))]);
        }
        holds_a_real_trap(&bench, command, ".");
    }
}

#[test]
fn a_repository_cannot_move_its_files_or_include_others() {
    for (key, value) in [
        ("core.worktree", "/etc"),
        ("core.fsmonitor", TRAP),
        ("core.hooksPath", ".hooks"),
        ("include.path", "../more"),
        ("includeIf.gitdir:/.path", "../more"),
        ("alias.status", "!touch PWNED"),
        ("core.pager", TRAP),
        ("core.alternateRefsCommand", TRAP),
        ("extensions.partialClone", "origin"),
        ("status.submoduleSummary", "true"),
        ("credential.helper", "!touch PWNED"),
        ("something.new", "1"),
    ] {
        let bench = bench();
        let file = std::fs::OpenOptions::new().append(true).open(bench.root.join(".git/config"));
        let (section, name) = key.rsplit_once('.').unwrap();
        let header = match section.split_once('.') {
            Some((section, sub)) => format!("[{section} \"{sub}\"]"),
            None => format!("[{section}]"),
        };
        std::io::Write::write_all(&mut file.unwrap(), format!("{header}\n\t{name} = {value}\n").as_bytes()).unwrap();
        holds(&bench, "git ls-files -o", ".");
        holds(&bench, "git status", ".");
    }
}

#[test]
fn what_git_would_understand_and_we_do_not_is_no_reading() {
    for odd in [
        "[core] fsmonitor = touch PWNED\n",
        "[core]\n\tabbrev = 7 \\\n\tfsmonitor = x\n",
        "[core.x]\n\tabbrev = 7\n",
        "[remote \"a\\\"b\"]\n\turl = x\n",
        "[core]\n\tabbrev = \"7\n",
        "\u{feff}[core]\n\tabbrev = 7\n",
        "[core]\r\n\tabbrev = 7\r\n",
        "abbrev = 7\n",
        "[core\n\tabbrev = 7\n",
        "[core]\n\tabbrev : 7\n",
    ] {
        let bench = bench();
        std::fs::write(bench.root.join(".git/config"), odd).unwrap();
        holds(&bench, "git status", ".");
    }
}

#[test]
fn the_repository_is_the_one_that_git_would_find() {
    // `.git` may be a file that names another directory, in the workspace or out of it.
    let bench = bench();
    std::fs::rename(bench.root.join(".git"), bench.root.join(".bare")).unwrap();
    bench.put(".git", "gitdir: ./.bare\n");
    assert_eq!(required(&bench, "git status", "."), Required::ReadOnly);
    bench.put(".gitattributes", "* filter=x\n");
    git(&bench.root, &["config", "filter.x.clean", "touch PWNED; cat"]);
    touched(&bench);
    holds_a_real_trap(&bench, "git status", ".");

    // In a directory below it is the same repository, and one of its own there is another.
    let bench = self::bench();
    std::fs::create_dir(bench.root.join("sub")).unwrap();
    assert_eq!(required(&bench, "git status", "sub"), Required::ReadOnly);
    repository(&bench.root.join("sub"));
    git(&bench.root.join("sub"), &["config", "diff.external", TRAP]);
    holds_a_real_trap(&bench, "git diff", "sub");

    // A directory that is a repository itself, without `.git`.
    let bench = Bench::new();
    git(&bench.root, &["init", "-q", "--bare", "sub"]);
    holds(&bench, "git log", "sub");
    holds(&bench, "git log", "sub/refs");

    // Without a repository there is nothing that could run.
    assert_eq!(required(&Bench::new(), "git status", "."), Required::ReadOnly);
}

#[test]
fn a_linked_worktree_is_read_and_a_foreign_repository_is_not() {
    let bench = Bench::new();
    let main = bench.outside.join("main");
    repository(&main);
    std::fs::remove_dir(&bench.root).unwrap();
    git(&main, &["worktree", "add", "-q", bench.root.to_str().unwrap()]);
    let tools = builtin_tools::Builtin::new(builtin_tools::BuiltinOptions::new(bench.outside.join("spill")));
    let tools = vocab::Toolbox::open(&tools, &vocab::SessionId::new("s2"), &bench.root).unwrap();
    let bash = tools.iter().find(|tool| &*tool.spec().name == "bash").unwrap();
    let needs = |command: &str| bash.plan(&vocab::Json::trusted(json!({ "command": command }).to_string())).unwrap();
    assert_eq!(needs("git log -p").required, Required::ReadOnly);
    git(&main, &["config", "diff.external", TRAP]);
    assert_eq!(needs("git log -p").required, Required::DangerFullAccess);

    // Somebody else's repository, named by a file in the workspace: its contents are not the workspace's.
    for pointer in ["gitdir: ../outside/private/.git\n", "gitdir: ./fake\n"] {
        let bench = Bench::new();
        repository(&bench.outside.join("private"));
        bench.put(".git", pointer);
        bench.put("fake/HEAD", "ref: refs/heads/main\n");
        bench.put("fake/commondir", "../../outside/private/.git\n");
        holds(&bench, "git log -p", ".");
    }
    let bench = Bench::new();
    repository(&bench.outside.join("private"));
    std::os::unix::fs::symlink(bench.outside.join("private/.git"), bench.root.join(".git")).unwrap();
    holds(&bench, "git log -p", ".");
    // Git shows what stands in files of the repository: in the middle of a rebase, whose it is.
    for file in ["rebase-merge/head-name", "rebase-merge/done", "BISECT_START", "info/exclude"] {
        let bench = self::bench();
        let link = bench.root.join(".git").join(file);
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(bench.outside.join("canary.txt"), link).unwrap();
        holds(&bench, "git status", ".");
    }
    let bench = self::bench();
    let objects = bench.outside.join("objects");
    bench.put(".git/objects/info/alternates", format!("{}\n", objects.display()));
    holds(&bench, "git log -p", ".");
}

#[test]
fn submodules_are_looked_at_as_well() {
    let bench = bench();
    repository(&bench.outside.join("part"));
    let url = bench.outside.join("part");
    git(&bench.root, &["submodule", "--quiet", "add", url.to_str().unwrap(), "part"]);
    git(&bench.root, &["commit", "-q", "-m", "part"]);
    assert_eq!(required(&bench, "git status", "."), Required::ReadOnly);
    assert_eq!(required(&bench, "git log", "part"), Required::ReadOnly);
    let part = bench.root.join("part");
    git(&part, &["config", "filter.x.clean", "touch PWNED; cat"]);
    std::fs::write(part.join(".gitattributes"), "* filter=x\n").unwrap();
    std::fs::write(part.join("a.txt"), "six\n").unwrap();
    holds_a_real_trap(&bench, "git status", ".");
}

#[test]
fn a_configuration_that_changes_before_the_run_is_seen() {
    let bench = bench();
    assert_eq!(required(&bench, "git diff", "."), Required::ReadOnly);
    config(&bench, &[("diff.external", TRAP)]);
    let outcome = bench.call_granted("bash", &json!({"command": "git diff"}), Required::ReadOnly);
    assert!(outcome.is_error, "{}", parts_text(&outcome.parts));
    assert!(!sprung(&bench));
}
