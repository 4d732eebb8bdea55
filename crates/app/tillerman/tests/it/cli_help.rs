//! Help, completions, settings, diagnosis.

use expect_test::{expect, expect_file};

use crate::cli::Place;

#[test]
fn help_teaches_by_example() {
    let place = Place::new();
    let mut text = String::new();
    for command in [
        "",
        "run",
        "repl",
        "serve",
        "rpc",
        "loaf",
        "acp",
        "drive",
        "sessions",
        "sessions list",
        "sessions export",
        "sessions fork",
        "models",
        "models list",
        "models show",
        "models test",
        "tools",
        "config",
        "login",
        "logout",
        "accounts",
        "doctor",
        "schema",
        "completions",
        "version",
    ] {
        let mut args: Vec<&str> = command.split_whitespace().collect();
        args.push("--help");
        text.push_str(&format!("$ tillerman {}\n{}\n", args.join(" "), place.run(&args).ok()));
    }
    expect_file!["help.txt"].assert_eq(&text);
}

#[test]
fn every_command_has_examples_and_help_has_help() {
    let place = Place::new();
    let all = place.run(&["help", "--help"]).ok();
    assert_eq!(all, place.run(&["--help"]).ok());
    assert_eq!(place.run(&["help", "run", "-h"]).ok(), place.run(&["help", "run"]).ok());
    let commands = all.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names: Vec<&str> = commands.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() > 15, "{names:?}");
    for name in names.iter().filter(|name| **name != "help") {
        let page = place.run(&[name, "--help"]).ok();
        assert!(page.contains("Example"), "{name} has no example:\n{page}");
    }
}

#[test]
fn what_keeps_acp_from_starting_is_one_line_and_exit_1() {
    let place = Place::new();
    for args in [&["acp", "--mode", "yolo"][..], &["acp", "--nonsense"], &["acp", "-e", "nope.py"]] {
        let ran = place.run(args);
        assert_eq!((ran.code, ran.err.lines().count()), (Some(1), 1), "{}", ran.err);
    }
}

#[test]
fn wrong_usage_is_exit_2_and_says_what_would_be_right() {
    let place = Place::new();
    place.run(&["run", "--mode", "yolo", "x"]).fails(2, "there is: read-only, workspace-write");
    place.run(&["sesions"]).fails(2, "sessions");
    place.run(&["run"]).fails(2, "error: there is no prompt\nhint: ");
    place.run(&["run", "-w", "nowhere", "x"]).fails(2, "nowhere");
    place.run(&["run", "--continue", "--resume", "x", "y"]).fails(2, "cannot be used with");
    let bare = place.run(&[]);
    assert_eq!(bare.code, Some(2));
}

#[test]
fn every_shell_gets_a_completion_script() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = place.run(&["completions", shell]).ok();
        assert!(script.contains("tillerman") && script.contains("doctor"), "{shell}");
        assert!(["elvish", "powershell"].contains(&shell) || script.contains("danger-full-access"), "{shell}");
    }
}

#[test]
fn version_and_schema_are_printed() {
    let place = Place::new();
    let version = format!("tillerman {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(place.run(&["version"]).ok(), version);
    assert_eq!(place.run(&["--version"]).ok(), version);
    for dialect in ["serve", "rpc", "loaf", "extension"] {
        let schema: serde_json::Value = serde_json::from_str(&place.run(&["schema", dialect]).ok()).unwrap();
        assert!(schema.is_object(), "{dialect}");
    }
}

#[test]
fn settings_are_set_shown_and_explained() {
    let place = Place::new().env("TILLERMAN_MODEL", "");
    assert_eq!(place.run(&["config", "path"]).ok(), "/home/config.toml\n");
    assert_eq!(place.run(&["config", "get", "model"]).code, Some(1));
    assert_eq!(place.run(&["config", "set", "maxTokens", "4000"]).ok(), "max_tokens = 4000  # /home/config.toml\n");
    assert_eq!(place.run(&["config", "get", "max_tokens"]).ok(), "4000\n");
    place.run(&["config", "set", "modell", "x"]).fails(2, "hint: did you mean `model`?");
    place.run(&["config", "get", "modell"]).fails(2, "did you mean `model`?");
    place.run(&["config", "set", "sync", "often"]).fails(2, "one of turn, record, off");
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(place.home().join("config.toml")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
    let shown = place.env("OPENAI_API_KEY", "sk-very-secret").run(&["config", "get"]).ok();
    assert!(shown.contains("***") && !shown.contains("secret"), "{shown}");
}

#[test]
fn a_workspace_file_that_wants_too_much_is_pointed_out_and_not_obeyed() {
    let place = Place::new();
    std::fs::write(place.file(".tillerman.toml"), "mode = 'danger-full-access'\nbase_url = 'http://evil'\n").unwrap();
    let ran = place.run(&["run", "tour"]);
    ran.fails(3, "a workspace can only tighten permissions");
    assert!(ran.err.contains("`base_url` is ignored"), "{}", ran.err);
    assert!(!place.file("tour.txt").exists());
    std::fs::write(place.file(".tillerman.toml"), "max_tokens = 'x'\n").unwrap();
    place.run(&["run", "tour"]).fails(3, ".tillerman.toml:1: `max_tokens` wants a whole number");
    std::fs::create_dir_all(place.home()).unwrap();
    std::fs::write(place.home().join("config.toml"), "max_tokens = 'x'\n").unwrap();
    place.run(&["run", "tour"]).fails(2, "config.toml:1: `max_tokens` wants a whole number");
}

#[test]
fn models_and_tools_are_listed() {
    let place = Place::new();
    expect![[r#"
        model tour: built in, asked for by name

           PROVIDER  MODEL      CONTEXT  OUTPUT  PRICE IN / OUT  THINKING
        *  tour      tour       128000   -       free / free     -
           tour      tour-mini  32000    -       free / free     -
    "#]]
    .assert_eq(&place.run(&["models"]).ok());
    for line in place.run(&["models", "--json"]).ok().lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
    let tools = place.run(&["tools"]).ok();
    for name in ["read_file", "write_file", "edit_file", "apply_patch", "glob", "grep", "list_dir", "bash", "todo"] {
        assert!(tools.lines().any(|line| line.starts_with(name)), "{name} is not in: {tools}");
    }
    let first: serde_json::Value =
        serde_json::from_str(place.run(&["tools", "--json"]).ok().lines().next().unwrap()).unwrap();
    assert_eq!(first["input_schema"]["type"], "object");
}

#[test]
fn settings_can_be_taken_back_and_names_of_models_be_set() {
    let place = Place::new().env("TILLERMAN_MODEL", "");
    assert_eq!(place.run(&["config", "get", "mode"]).ok(), "prompt\n", "what counts without a word");
    place.run(&["config", "set", "mode", "plan"]).ok();
    assert_eq!(place.run(&["config", "get", "mode"]).ok(), "plan\n");
    assert_eq!(place.run(&["config", "unset", "mode"]).ok(), "mode is not set now  # /home/config.toml\n");
    assert_eq!(place.run(&["config", "get", "mode"]).ok(), "prompt\n");
    place.run(&["config", "unset", "modell"]).fails(2, "did you mean `model`?");
    let shown = place.run(&["config", "get"]).ok();
    assert!(shown.contains("  prompt  # the default. "), "{shown}");
    place.run(&["config", "set", "aliases.mine", "tour"]).ok();
    place.run(&["config", "set", "tiers.fast", "tour-mini, tour"]).ok();
    let file = std::fs::read_to_string(place.home().join("config.toml")).unwrap();
    assert!(file.contains("mine = \"tour\"") && file.contains("fast = [\"tour-mini\", \"tour\"]"), "{file}");
    assert!(place.run(&["models", "show", "mine"]).ok().starts_with("tour\n"));
    place.run(&["config", "unset", "aliases.mine"]).ok();
    place.run(&["models", "show", "mine"]).fails(2, "mine");
    place.run(&["config", "set", "aliases.fast", "x"]).fails(2, "is the name of a tier");
    place.run(&["config", "set", "tiers.slow", "x"]).fails(2, "is no tier");
}

#[test]
fn who_wants_to_sign_in_where_only_keys_are_taken_is_told_so() {
    let place = Place::new();
    place.run(&["login", "anthropic"]).fails(2, "hint: set ANTHROPIC_API_KEY");
    place.run(&["login", "gemini"]).fails(2, "hint: set GEMINI_API_KEY");
    place.run(&["login", "openrouter"]).fails(2, "`tillerman login openrouter < FILE`");
    place.run(&["logout"]).fails(2, "which account? nothing is signed in\nhint: `tillerman logout NAME`");
}

#[test]
fn tools_say_the_most_they_can_need_and_servers_list_theirs() {
    let place = Place::new();
    let tools = place.run(&["tools"]).ok();
    assert!(
        tools.lines().any(|line| line.starts_with("bash ") && line.contains(" read-only to danger-full-access ")),
        "{tools}"
    );
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tools/mcp/tests/scripted.py");
    std::fs::create_dir_all(place.home()).unwrap();
    let table = format!("[servers.py]\ncommand = 'python3'\nargs = ['{script}']\n");
    std::fs::write(place.home().join("config.toml"), table).unwrap();
    assert!(place.run(&["tools"]).ok().ends_with("Servers bring more: py; --servers starts them and lists theirs.\n"));
    let served = place.run(&["tools", "--servers"]).ok();
    assert!(served.lines().any(|line| line.starts_with("mcp__py__echo ")), "{served}");
}
