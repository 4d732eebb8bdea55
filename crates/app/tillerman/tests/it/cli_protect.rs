//! What the agent may not change or see, whatever it is told: its own rules, its own keys.

use std::fs;

use crate::cli::{Place, Ran};

const KEY: &str = "sk-canary-4e1f7a90c2";

/// A place whose home directory, ours included, is the workspace.
fn at_home() -> Place {
    let place = Place::new();
    let work = place.work().display().to_string();
    place.env("HOME", &work).env("TILLERMAN_HOME", &format!("{work}/conf"))
}

/// One turn of a model that makes these calls.
fn play(place: &Place, mode: &str, calls: &[&str]) -> Ran {
    let script = place.work().with_file_name("calls.txt");
    let lines: Vec<String> = calls.iter().map(|call| format!("call {call}\n")).collect();
    fs::write(&script, lines.concat()).unwrap();
    let model = format!("script:{}", script.display());
    place.run(&["run", "--json", "--mode", mode, "-m", &model, "go"])
}

#[test]
fn nothing_that_is_run_or_obeyed_at_the_next_start_is_written_without_a_question() {
    let place = at_home();
    fs::create_dir(place.file("conf")).unwrap();
    let config = "[providers.lab]\nbase_url = 'http://127.0.0.1:1/v1'\nsecret_command = 'sh tools/key.sh'\n\
        [servers.mine]\ncommand = 'python3'\nargs = ['server.py', '.']\n";
    fs::write(place.file("conf/config.toml"), config).unwrap();
    let paths = [
        ".tillerman.toml",
        ".tillerman.json",
        ".tillerman.yaml",
        ".tillerman.yml",
        ".pi/agent/settings.json",
        ".pi/agent/models.json",
        ".omp/agent/models.yml",
        "conf/config.toml",
        "conf/skills/x/SKILL.md",
        "conf/agent/settings.json",
        ".agents/skills/x/SKILL.md",
        "tools/key.sh",
        "server.py",
        ".vscode/tasks.json",
        ".bashrc",
        "HEAD",
    ];
    for path in paths {
        let before = fs::read(place.file(path)).ok();
        let call = format!("write_file {}", serde_json::json!({ "path": path, "content": "evil" }));
        let ran = play(&place, "workspace-write", &[&call]);
        assert_eq!(fs::read(place.file(path)).ok(), before, "{path} was written: {}", ran.out);
    }
    play(&place, "workspace-write", &[r#"write_file {"path":"tools/other.sh","content":"fine"}"#]);
    assert!(place.file("tools/other.sh").exists());
}

#[test]
fn our_own_keys_are_not_read_even_with_full_access() {
    let place = at_home();
    fs::create_dir_all(place.file("conf/auth")).unwrap();
    fs::write(place.file("conf/auth/credentials.json"), format!("{{\"note\":\"{KEY}\"}}")).unwrap();
    fs::write(place.file("conf/lab.key"), KEY).unwrap();
    let config = "[providers.lab]\nbase_url = 'http://127.0.0.1:1/v1'\nkey_file = 'lab.key'\n";
    fs::write(place.file("conf/config.toml"), config).unwrap();
    for mode in ["danger-full-access", "workspace-write", "read-only", "plan"] {
        let ran = play(
            &place,
            mode,
            &[
                r#"read_file {"path":"conf/auth/credentials.json"}"#,
                r#"read_file {"path":"conf/lab.key"}"#,
                r#"grep {"pattern":"canary","path":"conf"}"#,
                r#"read_file {"path":"conf/sessions.db"}"#,
            ],
        );
        assert!(!ran.out.contains(KEY) && !ran.err.contains(KEY), "{mode}: {}", ran.out);
        assert!(ran.out.contains("tillerman keeps its own keys or conversations there"), "{mode}: {}", ran.out);
        assert!(ran.err.contains("the workspace is your home directory"), "{}", ran.err);
    }
    for mode in ["workspace-write", "read-only", "plan"] {
        let ran =
            play(&place, mode, &[r#"bash {"command":"cat conf/lab.key"}"#, r#"bash {"command":"grep -r canary ."}"#]);
        assert!(!ran.out.contains(KEY), "{mode}: {}", ran.out);
    }
}

#[test]
fn a_known_key_is_taken_out_of_what_commands_print_and_of_what_is_kept() {
    let place = Place::new().env("OPENAI_API_KEY", KEY);
    fs::write(place.file("notes.txt"), format!("the key is {KEY}.\n")).unwrap();
    let frames = place.work().with_file_name("frames.log");
    let script = place.work().with_file_name("calls.txt");
    fs::write(&script, "call bash {\"command\":\"cat notes.txt; sleep 0.3; echo done\"}\n").unwrap();
    let model = format!("script:{}", script.display());
    let log = frames.display().to_string();
    let words = ["run", "--json", "--mode", "danger-full-access", "-m", &model, "--log-frames", &log, "go"];
    let ran = place.run(&words);
    assert!(ran.out.contains("the key is ***."), "{}", ran.out);
    assert!(!ran.out.contains(KEY), "{}", ran.out);
    let mut looked = 0;
    for file in fs::read_dir(place.home()).unwrap().flatten().map(|entry| entry.path()).chain([frames]) {
        let Ok(bytes) = fs::read(&file) else { continue };
        assert!(!bytes.windows(KEY.len()).any(|part| part == KEY.as_bytes()), "{}", file.display());
        looked += 1;
    }
    assert!(looked > 1, "{looked} files");
}

#[test]
fn a_broken_file_of_a_workspace_keeps_nobody_from_starting() {
    let place = Place::new();
    fs::write(place.file(".tillerman.json"), "\u{1}").unwrap();
    let ran = place.run(&["run", "list the rust files"]);
    assert!(ran.err.contains("the settings of this workspace are ignored"), "{}", ran.err);
    ran.ok();
}
