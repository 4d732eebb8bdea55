//! What a stranger's repository can do to somebody who only lets it be read: nothing. Through the binary, in every mode that
//! asks before it lets a command do more.

use std::path::Path;
use std::process::Command;

use crate::cli::Place;

const MODES: [&str; 4] = ["read-only", "plan", "prompt", "workspace-write"];
/// Stands in a file outside the workspace.
const CANARY: &str = "canary-51c0de";

fn git(dir: &Path, args: &[&str]) {
    let mut command = Command::new("git");
    command.args(["-c", "user.email=a@b", "-c", "user.name=a"]).args(args).current_dir(dir);
    let output = command.env("GIT_CONFIG_GLOBAL", "/dev/null").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A place whose workspace is a repository, as a stranger may hand it over, and the start of a script beside it.
fn place() -> Place {
    let place = Place::new();
    std::fs::create_dir_all(place.home()).unwrap();
    std::fs::write(place.home().join("secret.txt"), CANARY).unwrap();
    let work = place.work();
    git(&work, &["init", "-q", "."]);
    std::fs::write(work.join("a.txt"), "one\n").unwrap();
    git(&work, &["add", "."]);
    git(&work, &["commit", "-q", "-m", "one"]);
    std::fs::write(work.join("a.txt"), "two\n").unwrap();
    place
}

/// What the model calls, and everything that was said about it.
fn called(place: &Place, mode: &str, input: &serde_json::Value) -> String {
    let script = place.home().join("script");
    std::fs::write(&script, format!("call bash {input}\n")).unwrap();
    let model = format!("script:{}", script.display());
    let ran = place.run(&["run", "--json", "-m", &model, "--mode", mode, "go"]);
    assert!(ran.out.contains("tool_result"), "{}{}", ran.out, ran.err);
    ran.out
}

#[test]
fn no_program_of_the_repository_runs() {
    for (attribute, key, command) in [
        ("* diff=x\n", "diff.x.textconv", "git show"),
        ("* diff=x\n", "diff.x.textconv", "git blame a.txt"),
        ("* diff=x\n", "diff.x.command", "git diff"),
        ("* filter=x\n", "filter.x.clean", "git status"),
        ("", "diff.external", "git diff HEAD"),
        ("", "core.fsmonitor", "git status"),
    ] {
        let place = place();
        std::fs::write(place.file(".gitattributes"), attribute).unwrap();
        git(&place.work(), &["config", key, "touch PWNED; cat"]);
        for mode in MODES {
            called(&place, mode, &serde_json::json!({ "command": command }));
            assert!(!place.file("PWNED").exists(), "{key}: {command} in {mode}");
        }
    }
}

#[test]
fn a_file_of_the_users_configuration_that_may_be_written_makes_git_a_question() {
    let place = place();
    let home = place.home();
    let place = place.env("HOME", home.to_str().unwrap());
    std::fs::write(home.join(".gitconfig"), "[include]\n\tpath = more\n[alias]\n\tx = \"!echo \\\"\\\"\"\n").unwrap();
    let call = serde_json::json!({ "command": "git diff" });
    assert!(called(&place, "workspace-write", &call).contains("+two"));
    std::fs::write(home.join("more"), format!("[include]\n\tpath = {}\n", place.file("extra").display())).unwrap();
    std::fs::write(place.file("extra"), "[diff]\n\texternal = touch PWNED\n").unwrap();
    assert!(called(&place, "workspace-write", &call).contains("danger-full-access"));
    assert!(!place.file("PWNED").exists());
}

#[test]
fn an_ordinary_repository_is_shown_in_every_mode() {
    let place = place();
    for mode in MODES.into_iter().chain(["danger-full-access"]) {
        for command in ["git diff", "git diff HEAD"] {
            let said = called(&place, mode, &serde_json::json!({ "command": command }));
            assert!(said.contains("-one") && said.contains("+two"), "{command} in {mode}: {said}");
        }
        let said = called(&place, mode, &serde_json::json!({ "command": "git diff --stat" }));
        assert!(said.contains("1 file changed"), "{mode}: {said}");
    }
}

#[test]
fn no_link_leads_out() {
    let place = place();
    std::os::unix::fs::symlink(place.home(), place.file("out")).unwrap();
    std::os::unix::fs::symlink("/proc", place.file("p")).unwrap();
    let secret = format!("sleep 20 # {CANARY}");
    let mut sibling = Command::new("sh").args(["-c", &secret]).env("CANARY", CANARY).spawn().unwrap();
    for (command, cwd) in [
        ("cat out/secret.txt", "."),
        ("head -n1 out/secret.txt", "."),
        ("cat o*/secret.txt", "."),
        ("grep -R canary .", "."),
        ("cat p/*/environ", "."),
        ("cat p/*/cmdline", "."),
        ("cat secret.txt", "out"),
        ("cat /proc/self/environ", "."),
        ("ps aux", "."),
        ("ps -ef", "."),
    ] {
        for mode in MODES {
            let said = called(&place, mode, &serde_json::json!({ "command": command, "cwd": cwd }));
            assert!(!said.contains(CANARY), "{command} in {mode}: {said}");
        }
    }
    sibling.kill().unwrap();
    sibling.wait().unwrap();
}
