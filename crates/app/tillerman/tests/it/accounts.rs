//! The real binary with an account of the user's: a stored key, and addresses by variables.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;
use testkit::mock_model::MockModel;

struct World {
    home: TempDir,
    workspace: TempDir,
    router: MockModel,
}

impl World {
    /// OpenRouter is a server on loopback, and a key of its is stored.
    fn new() -> Self {
        let world = Self {
            home: tempfile::tempdir().unwrap(),
            workspace: tempfile::tempdir().unwrap(),
            router: MockModel::start_blocking(),
        };
        let directory = world.home.path().join("auth");
        std::fs::create_dir(&directory).unwrap();
        let file = r#"{"version":1,"openrouter_key":"CANARY-stored-key"}"#;
        std::fs::write(directory.join("credentials.json"), file).unwrap();
        world
    }

    fn run(&self, args: &[&str], env: &[(&str, &str)]) -> Output {
        self.run_with(args, env, "")
    }

    /// With text on stdin.
    fn run_with(&self, args: &[&str], env: &[(&str, &str)], input: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tillerman"));
        command.args(args).env_clear().current_dir(self.workspace.path());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.home.path()).env("TILLERMAN_HOME", self.home.path());
        command.env("OPENROUTER_BASE_URL", &self.router.base_url).envs(env.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        // Who does not read it has no use for it.
        let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
        child.wait_with_output().expect("it ends")
    }
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_stored_key_answers_prompts_and_no_command_of_the_model_gets_it() {
    let world = World::new();
    let prompt = r#"call bash {"command":"env | sort"} then say done"#;
    let args = ["run", "--model", "openrouter/mock/alpha", "--mode", "danger-full-access", prompt];
    let env = [("MY_COPY", "CANARY-stored-key"), ("OPENROUTER_API_KEY", "CANARY-env-key"), ("KEPT", "kept")];
    let output = world.run(&args, &env);
    assert!(output.status.success() && text(&output).contains("done"), "{}", text(&output));
    let chats = world.router.chats();
    assert_eq!(chats.len(), 2);
    assert!(chats.iter().all(|chat| chat.header("authorization") == Some("Bearer CANARY-stored-key")));
    let seen = chats[1].json()["messages"].to_string();
    assert!(seen.contains("KEPT=kept") && !seen.contains("CANARY"), "{seen}");
    assert!(!text(&output).contains("CANARY"), "{}", text(&output));
}

#[test]
fn models_of_an_account_are_listed() {
    let world = World::new();
    let output = world.run(&["models", "--model", "openrouter/mock/beta"], &[]);
    let shown = text(&output);
    assert!(output.status.success(), "{shown}");
    for slug in ["openrouter/mock/alpha", "openrouter/mock/beta"] {
        assert!(shown.contains(slug), "{shown}");
    }
    assert!(shown.contains("asked for by name, served by openrouter"), "{shown}");

    // Without a key nobody asks OpenRouter for anything.
    std::fs::remove_dir_all(world.home.path().join("auth")).unwrap();
    let before = world.router.requests().len();
    let output = world.run(&["models", "--model", "tour"], &[]);
    assert!(output.status.success() && !text(&output).contains("openrouter"), "{}", text(&output));
    assert_eq!(world.router.requests().len(), before);
}

#[test]
fn keys_are_given_on_stdin_listed_without_their_values_and_forgotten() {
    let world = World::new();
    std::fs::remove_dir_all(world.home.path().join("auth")).unwrap();
    let none = "openai       no\nantigravity  no\nopenrouter   no\nexa          no\n";
    assert_eq!(text(&world.run(&["accounts"], &[])), none);

    let output = world.run_with(&["login", "exa"], &[], "CANARY-exa\n");
    assert_eq!(text(&output), "The key is kept; the tool web_search uses it.\n");
    // As a client of acp starts it.
    let output = world.run_with(&["acp", "login", "openrouter"], &[], "CANARY-router");
    assert!(output.status.success() && text(&output).contains("gives access to 2 models"), "{}", text(&output));
    let asked = world.router.requests();
    assert!(asked.iter().any(|request| request.header("authorization") == Some("Bearer CANARY-router")));
    let shown = text(&world.run(&["accounts"], &[]));
    assert_eq!(shown, "openai       no\nantigravity  no\nopenrouter   yes\nexa          yes\n");

    let unnamed = world.run(&["logout"], &[]);
    let said = String::from_utf8_lossy(&unnamed.stderr).into_owned();
    assert_eq!(unnamed.status.code(), Some(2));
    assert!(said.contains("which account? signed in: openrouter, exa\nhint: `tillerman logout NAME`"), "{said}");
    assert_eq!(text(&world.run(&["logout", "exa"], &[])), "Signed out of exa; what was kept for it is gone.\n");
    let shown = text(&world.run(&["accounts"], &[]));
    assert_eq!(shown, "openai       no\nantigravity  no\nopenrouter   yes\nexa          no\n");
    assert!(text(&world.run(&["logout", "--all"], &[])).starts_with("Signed out; every token and key"));
    assert_eq!(text(&world.run(&["accounts"], &[])), none);
    let kept = std::fs::read_to_string(world.home.path().join("auth/credentials.json")).unwrap_or_default();
    assert!(!kept.contains("CANARY"), "{kept}");
}

#[test]
fn a_login_without_a_key_or_with_too_much_changes_nothing() {
    let world = World::new();
    for (args, input, says) in [
        (&["login", "exa"][..], "  \n", "no key was given"),
        (&["login", "exa", "--device"], "x", "--device is for accounts"),
        (&["login", "exa", "CANARY-argument"], "", "unexpected argument"),
        (&["login", "nobody"], "", "possible values: openai, antigravity, openrouter, exa"),
        (&["schema", "acp"], "", "published by the protocol itself"),
    ] {
        let output = world.run_with(args, &[], input);
        assert!(output.status.code() == Some(2) && text(&output).contains(says), "{args:?}: {}", text(&output));
    }
}

/// As a list shows them.
fn is_short_id(word: &str) -> bool {
    (6..=12).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[test]
fn what_a_chatgpt_account_was_asked_can_be_shown_without_its_token() {
    let world = World::new();
    let login = r#"{"access_token":"CANARY-access","refresh_token":"CANARY-refresh","id_token":"CANARY-id",
        "account_id":"CANARY-acct","login_method":"browser"}"#;
    let file = format!(r#"{{"version":1,"openai":{login}}}"#);
    std::fs::write(world.home.path().join("auth/credentials.json"), file).unwrap();
    let env = [("TILLERMAN_OPENAI_URL", &*world.router.base_url), ("TILLERMAN_OPENAI_API", "openai-responses")];
    let prompt = r#"think "hm" and call bash {"command":"env"} then say done"#;
    let args = ["run", "--model", "openai/gpt-6-sol", "--mode", "danger-full-access", prompt];
    let output = world.run(&args, &env);
    assert!(output.status.success() && text(&output).contains("done"), "{}", text(&output));
    let chats = world.router.chats();
    assert_eq!(chats.len(), 2);
    assert!(chats.iter().all(|chat| chat.path == "/v1/responses"));
    assert!(chats.iter().all(|chat| chat.header("authorization") == Some("Bearer CANARY-access")));
    assert!(chats.iter().all(|chat| chat.header("chatgpt-account-id") == Some("CANARY-acct")));

    let listed = text(&world.run(&["sessions", "list"], &env));
    let session = listed.split_whitespace().find(|word| is_short_id(word)).expect("one is kept").to_owned();
    let exported = world.run(&["sessions", "export", &session, "--requests"], &env);
    let lines = String::from_utf8_lossy(&exported.stdout).lines().count();
    let exported = text(&exported);
    assert_eq!(lines, 2, "{exported}");
    for chat in &chats {
        assert!(exported.contains(&*String::from_utf8_lossy(&chat.body)), "byte for byte");
    }
    assert!(exported.contains("responses=experimental"), "{exported}");
    assert!(!format!("{}{listed}{exported}", text(&output)).contains("CANARY"));
}

#[test]
fn what_an_antigravity_account_was_asked_can_be_shown_without_its_token() {
    let world = World::new();
    let login = r#"{"access_token":"CANARY-access","refresh_token":"CANARY-refresh","login_method":"browser"}"#;
    let file = format!(r#"{{"version":1,"antigravity":{login}}}"#);
    std::fs::write(world.home.path().join("auth/credentials.json"), file).unwrap();
    let url = format!("http://127.0.0.1:{}", world.router.port);
    let env = [("TILLERMAN_ANTIGRAVITY_URL", &*url)];
    let prompt = r#"think "hm" and call bash {"command":"env"} then say done"#;
    let args = ["run", "--model", "antigravity/gemini-3-mock", "--mode", "danger-full-access", prompt];
    let output = world.run(&args, &env);
    assert!(output.status.success() && text(&output).contains("done"), "{}", text(&output));
    let chats = world.router.chats();
    assert_eq!(chats.len(), 2);
    assert!(chats.iter().all(|chat| chat.header("authorization") == Some("Bearer CANARY-access")));

    let listed = text(&world.run(&["sessions", "list"], &env));
    let session = listed.split_whitespace().find(|word| is_short_id(word)).expect("one is kept").to_owned();
    let exported = text(&world.run(&["sessions", "export", &session, "--requests"], &env));
    for chat in &chats {
        assert!(exported.contains(&*String::from_utf8_lossy(&chat.body)), "byte for byte");
    }
    assert!(exported.contains("/v1internal:streamGenerateContent"), "{exported}");
    let shown = text(&world.run(&["models"], &env));
    assert!(shown.contains("antigravity/gemini-3-mock"), "{shown}");
    assert!(!format!("{}{listed}{exported}{shown}", text(&output)).contains("CANARY"));
}
