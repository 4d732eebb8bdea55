//! Files and environment in, settings, warnings and errors out.

use std::collections::HashMap;
use std::path::Path;

use expect_test::{Expect, expect};
use vocab::{CompactionPolicy, Mode, RetryPolicy};

use super::keys::{Kind, Workspace};
use super::slugs::Slugs;
use super::tighten::Way;
use super::{Config, Home, KEYS, Request, Setting, set};

/// A user directory and a workspace with these files.
struct Place {
    root: tempfile::TempDir,
    env: HashMap<&'static str, &'static str>,
}

fn place(files: &[(&str, &str)]) -> Place {
    let root = tempfile::tempdir().unwrap();
    for directory in ["user", "work"] {
        std::fs::create_dir(root.path().join(directory)).unwrap();
    }
    for (name, text) in files {
        std::fs::write(root.path().join(name), text).unwrap();
    }
    Place { root, env: HashMap::new() }
}

impl Place {
    fn env(mut self, name: &'static str, value: &'static str) -> Self {
        self.env.insert(name, value);
        self
    }
    fn user(&self) -> std::path::PathBuf {
        self.root.path().join("user")
    }
    fn load(&self, file: Option<&Path>) -> Result<Config, vocab::Fault> {
        let home = Home { config: self.user(), data: self.user() };
        let env = |name: &str| self.env.get(name).map(|value| (*value).to_owned());
        let workspace = self.root.path().join("work");
        Config::load(&Request { env: &env, home: Some(&home), workspace: &workspace, file, default_mode: Mode::Prompt })
    }
    fn show(&self) -> String {
        let shown = match self.load(None) {
            Ok(config) => {
                let mut text = String::new();
                for key in KEYS {
                    if let Some(setting) = config.get(key.name) {
                        let source = config.source(key.name).map(ToString::to_string).unwrap_or_default();
                        text.push_str(&format!("{} = {}  # {source}\n", key.name, setting.show()));
                    }
                }
                if let Some(wish) = config.suggestion() {
                    text.push_str(&format!("wish: {}  # {}\n", wish.model, wish.file.display()));
                }
                config.warnings.iter().for_each(|line| text.push_str(&format!("warning: {line}\n")));
                text
            }
            Err(fault) => format!("error: {fault}\n"),
        };
        shown.replace(&self.root.path().display().to_string(), "")
    }
}

fn check(place: &Place, expect: Expect) {
    expect.assert_eq(&place.show());
}

#[test]
fn later_sources_win() {
    let files = [
        ("user/config.toml", "model = 'a'\nmode = 'workspace-write'\nmax_tokens = 1000\nsync = 'off'\n"),
        ("work/.tillerman.toml", "model = 'b'\nmax_iterations = 7\n"),
    ];
    check(
        &place(&files),
        expect![[r#"
            model = a  # /user/config.toml
            mode = workspace-write  # /user/config.toml
            max_tokens = 1000  # /user/config.toml
            max_iterations = 7  # /work/.tillerman.toml
            sync = off  # /user/config.toml
            wish: b  # /work/.tillerman.toml
        "#]],
    );
    check(
        &place(&files).env("TILLERMAN_MODEL", "c").env("OPENAI_BASE_URL", "http://h/v1"),
        expect![[r#"
        model = c  # TILLERMAN_MODEL in the environment
        mode = workspace-write  # /user/config.toml
        base_url = http://h/v1  # OPENAI_BASE_URL in the environment
        max_tokens = 1000  # /user/config.toml
        max_iterations = 7  # /work/.tillerman.toml
        sync = off  # /user/config.toml
    "#]],
    );
}

#[test]
fn both_spellings_and_three_formats_mean_the_same() {
    let toml = "maxTokens = 5\n[retry]\nretriesMax = 2\n[compaction]\nauto = false\n[tools]\nonly = ['bash']\n";
    let json =
        r#"{"max_tokens": 5, "retry": {"retries_max": 2}, "compaction": {"auto": false}, "tools": {"only": ["bash"]}}"#;
    let yaml = "max_tokens: 5\nretry:\n  retries_max: 2\ncompaction:\n  auto: false\ntools:\n  only: [bash]\n";
    let values = |name: &str, text: &str| {
        let config = place(&[(name, text)]).load(None).unwrap();
        (
            config.max_tokens(),
            config.retry(RetryPolicy::default()),
            config.compaction(CompactionPolicy::default()),
            config.only_tools().map(<[String]>::to_vec),
        )
    };
    let from_toml = values("user/config.toml", toml);
    assert_eq!((from_toml.0, from_toml.1.retries_max, from_toml.2.auto), (Some(5), 2, false));
    assert_eq!(from_toml.3, Some(vec!["bash".to_owned()]));
    assert_eq!(values("user/config.json", json), from_toml);
    assert_eq!(values("user/config.yaml", yaml), from_toml);
    let from_workspace = values("work/.tillerman.yml", yaml);
    assert_eq!((from_workspace.0, from_workspace.1.retries_max, from_workspace.2.auto), (Some(5), 2, true));
}

#[test]
fn a_named_file_is_read_instead_of_the_users_own() {
    let place = place(&[("user/config.toml", "model = 'mine'"), ("other.json", r#"{"maxIterations": 3}"#)]);
    let config = place.load(Some(&place.root.path().join("other.json"))).unwrap();
    assert_eq!((config.model(), config.max_iterations(20)), (None, 3));
    let fault = place.load(Some(Path::new("/nowhere.toml"))).unwrap_err();
    assert!(fault.message.contains("cannot read /nowhere.toml"), "{fault}");
}

#[test]
fn a_workspace_can_tighten_and_never_loosen() {
    let user = |mode: &str| format!("mode = '{mode}'");
    let with = |user_mode: Option<&str>, workspace_mode: &str| {
        let user_file = user_mode.map(user).unwrap_or_default();
        let files = [("user/config.toml", user_file.as_str()), ("work/.tillerman.toml", &user(workspace_mode))];
        let config = place(&files).load(None).unwrap();
        (config.mode(), config.warnings.len())
    };
    assert_eq!(with(None, "read-only"), (Some(Mode::ReadOnly), 0));
    assert_eq!(with(None, "danger-full-access"), (None, 1));
    assert_eq!(with(None, "workspace-write"), (None, 1));
    assert_eq!(with(Some("danger-full-access"), "workspace-write"), (Some(Mode::WorkspaceWrite), 0));
    assert_eq!(with(Some("read-only"), "prompt"), (Some(Mode::ReadOnly), 1));
    assert_eq!(with(Some("plan"), "plan"), (Some(Mode::Plan), 0));
}

/// Values of a key as TOML, from one end of what it takes to the other.
fn samples(kind: Kind, workspace: Workspace) -> Vec<String> {
    let texts = |words: &[&str]| words.iter().map(|word| format!("'{word}'")).collect();
    match kind {
        Kind::Text => texts(&["one", "script:x"]),
        Kind::Mode => texts(&["plan", "read-only", "prompt", "workspace-write", "danger-full-access"]),
        Kind::Level => texts(&["off", "low", "xhigh"]),
        Kind::Sync => texts(&["off", "turn", "record"]),
        Kind::Count { min, max } => {
            let usual = match workspace {
                Workspace::Tightens(Way::Lower { usual } | Way::Raise { usual }) => usual,
                _ => min,
            };
            let around = [usual.saturating_sub(1), usual, usual + 1, min, max];
            let inside = around.into_iter().filter(|number| (min..=max).contains(number));
            inside.map(|number| number.to_string()).collect()
        }
        Kind::Bool => ["true", "false"].map(str::to_owned).into(),
        Kind::Texts => ["[]", "['a']", "['a', 'b']", "['c']"].map(str::to_owned).into(),
        Kind::Models => vec!["[{ slug = 'x' }]".to_owned()],
        Kind::Servers => vec!["{ x = { command = 'y' } }".to_owned()],
        Kind::Providers => vec!["{ lab = { base_url = 'http://h/v1' } }".to_owned()],
        Kind::Slugs(Slugs::Aliases) => vec!["{ mine = 'a/b' }".to_owned()],
        Kind::Slugs(Slugs::Tiers) => vec!["{ fast = 'a/b' }".to_owned()],
    }
}

/// Whether `after` allows no more than `before`, by the table of the manual: what is not in it stays as it was.
fn no_looser(name: &str, before: Option<&Setting>, after: Option<&Setting>) -> bool {
    let count = |setting: Option<&Setting>, usual: u64| match setting {
        Some(Setting::Count(number)) => *number,
        _ => usual,
    };
    let modes = ["plan", "read-only", "prompt", "workspace-write", "danger-full-access"];
    let rank = |words: &[&str], setting: Option<&Setting>, usual: &str| {
        let word = setting.map_or_else(|| usual.to_owned(), Setting::show);
        words.iter().position(|it| *it == word).unwrap()
    };
    let lower = |usual| count(after, usual) <= count(before, usual);
    match name {
        "max_tokens" => lower(4096),
        "max_iterations" => lower(1000),
        "shutdown_grace_s" => lower(30),
        "idle_timeout_s" => lower(120),
        "retry.retries_max" => lower(4),
        "retry.server_wait_ms_max" => lower(120_000),
        "retry.base_ms" => count(after, 500) >= count(before, 500),
        "retry.jitter" => before == after || after == Some(&Setting::Bool(true)),
        "mode" => rank(&modes, after, "prompt") <= rank(&modes, before, "prompt"),
        "sync" => rank(&["off", "turn", "record"], after, "turn") >= rank(&["off", "turn", "record"], before, "turn"),
        "tools.only" => match (before, after) {
            (Some(Setting::Texts(before)), Some(Setting::Texts(after))) => after.iter().all(|it| before.contains(it)),
            (None, _) => true,
            _ => false,
        },
        _ => before == after,
    }
}

#[test]
fn a_workspace_does_not_raise_what_a_dialect_has_lower_than_others() {
    let place = place(&[("work/.tillerman.toml", "max_iterations = 500\n")]);
    let config = place.load(None).unwrap();
    assert_eq!((config.max_iterations(1000), config.max_iterations(20)), (500, 20));
}

#[test]
fn whatever_a_workspace_says_about_any_key_nothing_gets_looser() {
    for key in KEYS {
        let (group, name) = key.name.rsplit_once('.').unwrap_or(("", key.name));
        let table = if group.is_empty() { String::new() } else { format!("[{group}]\n") };
        let line = |value: &String| format!("{table}{name} = {value}\n");
        let (mut counted, mut refused) = (0, 0);
        let samples = samples(key.kind, key.workspace);
        for own in std::iter::once(None).chain(samples.iter().map(Some)) {
            let user = own.map(&line).unwrap_or_default();
            let place = place(&[("user/config.toml", &user)]);
            let before = place.load(None).unwrap();
            for asked in &samples {
                std::fs::write(place.root.path().join("work/.tillerman.toml"), line(asked)).unwrap();
                let after = place.load(None).unwrap();
                let (before, now) = (before.get(key.name), after.get(key.name));
                assert!(no_looser(key.name, before, now), "{}: {before:?} became {now:?} by {asked}", key.name);
                counted += usize::from(now != before);
                refused += usize::from(!after.warnings.is_empty());
            }
        }
        let tightens = matches!(key.workspace, Workspace::Tightens(_));
        assert_eq!(counted > 0, tightens, "{} can be tightened", key.name);
        assert!(refused > 0 || ["model", "tools.only"].contains(&key.name), "{}", key.name);
    }
}

#[test]
fn a_dialects_own_usual_value_holds_against_a_workspace_too() {
    let retry = "[retry]\nretries_max = 4\nbase_ms = 600\nserver_wait_ms_max = 100000\n";
    let text = format!("max_iterations = 20\n{retry}");
    let usual = RetryPolicy { retries_max: 0, base_ms: 2000, server_wait_ms_max: 1, ..RetryPolicy::default() };
    let stranger = place(&[("work/.tillerman.toml", &text)]).load(None).unwrap();
    let got = stranger.retry(usual);
    assert_eq!((got.retries_max, got.base_ms, got.server_wait_ms_max), (0, 2000, 1));
    assert_eq!((stranger.max_iterations(5), stranger.max_iterations(u32::MAX)), (5, 20));
    let own = place(&[("user/config.toml", &text)]).load(None).unwrap();
    let got = own.retry(usual);
    assert_eq!((got.retries_max, got.base_ms, got.server_wait_ms_max), (4, 600, 100_000), "the user's word counts");
    assert_eq!(own.max_iterations(5), 20);
}

#[test]
fn the_manual_says_of_every_key_what_a_workspace_can_do_with_it() {
    let manual = include_str!("../../../../../docs/config.md");
    let section =
        manual.split("## What a workspace can do").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    for key in KEYS {
        let group = key.name.split_once('.').map_or(key.name, |(group, _)| group);
        let named = [key.name, group].iter().any(|name| section.contains(&format!("`{name}`")));
        assert!(named, "{} is missing", key.name);
    }
}

#[test]
fn a_workspace_chooses_neither_server_nor_key() {
    let files = [("work/.tillerman.toml", "base_url = 'http://evil/v1'\napiKey = 'sk-123'\n")];
    check(
        &place(&files),
        expect![[r#"
            warning: /work/.tillerman.toml:2: `api_key` is ignored: keys are not read from files; set one in the environment, or name a `key_file` or a `secret_command` in [providers.NAME]
            warning: /work/.tillerman.toml: `base_url` is ignored: a workspace cannot choose it
        "#]],
    );
}

#[test]
fn providers_aliases_and_tiers_are_read_and_their_mistakes_named() {
    let text = "[providers.lab]\napi = 'anthropic-messages'\nbaseUrl = 'http://h/v1'\nkey_file = 'sub/key'\n\
        secretCommand = 'echo canary'\nheaders = { A = 'canary', B = '!echo canary' }\ncolour = 'red'\n\
        compat = { supports_developer_role = true, maxTokensField = 'max_tokens' }\n\
        models = ['one', { id = 'two', name = 'Two', context_window = 5000, levels = ['low', 'high'], thinking = false }]\n\
        [aliases]\nmine = 'lab/one'\n[tiers]\nfast = 'mine'\ndefault = ['lab/one', 'lab/two']\n";
    let place_ = place(&[("user/config.toml", text)]);
    let config = place_.load(None).unwrap();
    assert!(!format!("{config:?}").contains("canary"));
    let lab = &config.providers()[0];
    assert_eq!((lab.api, lab.base_url.as_deref()), (Some(providers::Api::Anthropic), Some("http://h/v1")));
    assert_eq!(lab.key_file.as_deref(), Some(&*place_.user().join("sub/key")), "from where the file is");
    assert_eq!((lab.headers.len(), lab.compat.developer_role), (2, Some(true)));
    assert_eq!(lab.compat.max_tokens_field, Some(providers::TokensField::MaxTokens));
    let models: Vec<&str> = lab.models.iter().map(|model| &*model.slug).collect();
    assert_eq!((models, lab.models[1].levels.as_ref().map(Vec::len)), (vec!["one", "two"], Some(2)));
    check(
        &place_,
        expect![[r#"
            providers = lab  # /user/config.toml
            aliases = mine=lab/one  # /user/config.toml
            tiers = default=lab/one lab/two,fast=mine  # /user/config.toml
            warning: /user/config.toml:7: `providers.lab.colour`: unknown key
        "#]],
    );
    for (text, want) in [
        ("providers = 3", "`providers` wants a table of model servers, has a whole number"),
        ("[providers.lab]\napi = 'telepathy'", "`providers.lab.api` is not spoken; there is: openai-completions"),
        ("[providers.lab]\napi_key = 'canary'", "`providers.lab.api_key` keys are not read from here: use key_env"),
        ("[providers.'a/b']\napi = 'x'", "`providers.a/b` is a name that no provider can have"),
        ("[providers.lab]\nheaders = { A = 1 }", "`providers.lab.headers.A` wants text, has a whole number"),
        ("[providers.lab]\ncompat = { maxTokensField = 'canary' }", "`providers.lab.compat`"),
        ("[providers.lab]\nmodels = [{ name = 'x' }]", "`providers.lab.models[0]` has no id"),
        ("[providers.lab]\nmodels = [{ id = 'x', levels = ['huge'] }]", "wants a list of levels out of off, minimal"),
        ("[aliases]\nfast = 'x'", "`aliases.fast` is the name of a tier"),
        ("[aliases]\n'a/b' = 'x'", "`aliases.a/b` has a `/` in it"),
        ("[aliases]\na = ['x']", "`aliases.a` wants a model, has a list"),
        ("[tiers]\nslow = 'x'", "`tiers.slow` is no tier; there is: fast, default, complex, local"),
        ("[tiers]\nfast = []", "`tiers.fast` wants names of models"),
    ] {
        let fault = place(&[("user/config.toml", text)]).load(None).unwrap_err();
        assert!(fault.message.contains(want) && !fault.message.contains("canary"), "{text}: {}", fault.message);
    }
}

#[test]
fn a_workspace_brings_no_providers_and_no_names_not_even_a_trusted_one() {
    let text = "ca_file = 'evil.pem'\n[providers.anthropic]\nbase_url = 'http://127.0.0.1:1'\nsecret_command = 'echo x'\n\
        [aliases]\nmine = 'a/b'\n[tiers]\ndefault = 'script:evil'\n";
    let work = place(&[("work/.tillerman.toml", text)]);
    let trusted = format!("trusted_workspaces = ['{}']\n", work.root.path().join("work").display());
    std::fs::write(work.root.path().join("user/config.toml"), trusted).unwrap();
    let config = work.load(None).unwrap();
    assert!(config.providers().is_empty() && config.slugs("aliases").is_empty() && config.slugs("tiers").is_empty());
    let ignored = config.warnings.iter().filter(|it| it.contains("a workspace cannot choose it")).count();
    assert_eq!((ignored, config.ca_file()), (4, None), "{:?}", config.warnings);
    let own = place(&[("user/config.toml", "ca_file = 'own.pem'")]);
    assert_eq!(own.load(None).unwrap().ca_file(), Some(own.user().join("own.pem")), "from where the file is");
}

/// Whoever wrote the file cannot keep the user from starting there.
#[test]
fn a_broken_file_of_a_workspace_is_ignored_as_a_whole_and_pointed_out() {
    for (name, text) in [
        ("work/.tillerman.json", "\u{1}"),
        ("work/.tillerman.json", "[]"),
        ("work/.tillerman.yaml", "a: [b"),
        ("work/.tillerman.toml", "max_iterations = 3\nmode = 'sometimes'\n"),
        ("work/.tillerman.toml", "max_iterations = 3\n[servers.x]\nurl = 1\n"),
    ] {
        let config = place(&[(name, text), ("user/config.toml", "max_iterations = 9")]).load(None).unwrap();
        assert_eq!(config.max_iterations(20), 9, "{name}: {text}");
        let told = config.warnings.last().unwrap();
        assert!(told.ends_with("the settings of this workspace are ignored"), "{told}");
    }
    let own = place(&[("user/config.json", "\u{1}")]).load(None).unwrap_err();
    assert!(own.message.starts_with("cannot read "), "{own}");
}

#[test]
fn a_workspace_never_says_where_accounts_are_not_even_a_trusted_one() {
    let keys = KEYS.iter().map(|key| key.name).filter(|name| name.starts_with("accounts."));
    let value = |name: &str| if name.ends_with("port") { "7".to_owned() } else { "'http://127.0.0.1:1'".to_owned() };
    let table: Vec<String> = keys.map(|name| format!("{name} = {}\n", value(name))).collect();
    assert_eq!(table.len(), 10);
    let work = place(&[("work/.tillerman.toml", &table.concat())]);
    let trusted = format!("trusted_workspaces = ['{}']\n", work.root.path().join("work").display());
    std::fs::write(work.root.path().join("user/config.toml"), trusted).unwrap();
    let config = work.load(None).unwrap();
    assert!(
        config.warnings.len() == table.len()
            && config.warnings.iter().all(|it| it.contains("a workspace cannot choose it"))
    );
    assert_eq!((config.account("openai_issuer"), config.oauth_port()), (None, None));

    let user = place(&[("user/config.toml", &table.concat())]).env("TILLERMAN_OAUTH_PORT", "0");
    let config = user.load(None).unwrap();
    assert_eq!(config.warnings, Vec::<String>::new());
    assert_eq!(
        (config.account("openrouter_url").as_deref(), config.oauth_port()),
        (Some("http://127.0.0.1:1"), Some(0))
    );
}

#[test]
fn a_workspace_starts_extensions_only_where_the_user_trusts_it() {
    let work = ("work/.tillerman.toml", "extensions = ['tools/x.py']");
    let stranger = place(&[("user/config.toml", "extensions = ['mine.py', '/abs.py']"), work]);
    check(
        &stranger,
        expect![[r#"
            extensions = /user/mine.py,/abs.py  # /user/config.toml
            warning: /work/.tillerman.toml: `extensions` is ignored: nothing from a workspace is run unless `trusted_workspaces` in your own configuration names it
        "#]],
    );
    // A workspace cannot trust itself, and a link to a trusted directory is not that directory's parent or neighbour.
    let own = place(&[("work/.tillerman.toml", "trusted_workspaces = ['.']\nextensions = ['x.py']")]);
    let config = own.load(None).unwrap();
    assert_eq!((config.extensions().count(), config.warnings.len()), (0, 2));
    let trusting = place(&[work]);
    let root = trusting.root.path().display();
    std::fs::write(
        trusting.user().join("config.toml"),
        format!("extensions = ['mine.py']\ntrusted_workspaces = ['{root}/work/../work']"),
    )
    .unwrap();
    let config = trusting.load(None).unwrap();
    let names: Vec<String> = config
        .extensions()
        .map(|path| path.strip_prefix(trusting.root.path()).unwrap().display().to_string())
        .collect();
    assert_eq!((names, config.warnings.len()), (vec!["user/mine.py".to_owned(), "work/tools/x.py".to_owned()], 0));
    std::fs::write(trusting.user().join("config.toml"), format!("trusted_workspaces = ['{root}']")).unwrap();
    assert_eq!(trusting.load(None).unwrap().extensions().count(), 0, "a directory above it is not it");
}

#[test]
fn servers_are_read_and_those_of_a_workspace_need_trust() {
    let user = "[servers.Files]\ncommand = 'npx'\nargs = ['-y', 'files']\nenv = { API_KEY = 'canary-1', EMPTY = '' }\n\
                [servers.web]\nurl = 'https://x.example/mcp'\nheaders = { Authorization = 'canary-2' }\ntrust_hints = true\n";
    let work =
        ("work/.tillerman.toml", "[servers.theirs]\ncommand = 'x'\ntrust_hints = true\n[servers.web]\ncommand = 'y'\n");
    let stranger = place(&[("user/config.toml", user), work]);
    check(
        &stranger,
        expect![[r#"
            servers = Files,web  # /user/config.toml
            warning: /work/.tillerman.toml: `servers` is ignored: nothing from a workspace is run unless `trusted_workspaces` in your own configuration names it
        "#]],
    );
    let config = stranger.load(None).unwrap();
    assert!(!format!("{config:?}").contains("canary"), "{config:?}");
    let secret = |text: &str| vocab::Secret::new(text).unwrap();
    let files = vocab::McpTransport::Process {
        command: "npx".into(),
        args: vec!["-y".into(), "files".into()],
        env: vec![("API_KEY".into(), secret("canary-1"))],
    };
    let headers = vec![("Authorization".into(), secret("canary-2"))];
    let web = vocab::McpTransport::Http { url: "https://x.example/mcp".into(), headers };
    assert_eq!(config.servers().iter().map(|server| server.way.clone()).collect::<Vec<_>>(), [files, web.clone()]);

    let trusting = place(&[work]);
    let root = trusting.root.path().display();
    let text = format!("trusted_workspaces = ['{root}/work']\n{user}");
    std::fs::write(trusting.user().join("config.toml"), text).unwrap();
    let config = trusting.load(None).unwrap();
    let names: Vec<&str> = config.servers().iter().map(|server| &*server.name).collect();
    assert_eq!((names, &config.servers()[1].way), (vec!["Files", "web", "theirs"], &web), "the user's own counts");
    let trusted: Vec<bool> = config.servers().iter().map(|server| server.trust_hints).collect();
    assert_eq!(trusted, [false, true, false], "whose word counts is the user's to say");

    for (text, want) in [
        ("servers = 3", "`servers` wants a table of servers, has a whole number"),
        ("[servers.x]\nargs = []", "`servers.x` wants either command or url"),
        ("[servers.x]\ncommand = 'a'\nurl = 'b'", "`servers.x` wants either command or url"),
        ("[servers.x]\ncommand = 'a'\nargs = 'b c'", "`servers.x.args` wants a list of texts, has text"),
        ("[servers.x]\ncommand = 'a'\nenv = ['canary']", "`servers.x.env` wants a table of texts, has a list"),
        (
            "[servers.x]\ncomand = 'a'",
            "`servers.x.comand` is unknown; a server has command, args, env, url, headers, trust_hints",
        ),
    ] {
        let fault = place(&[("user/config.toml", text)]).load(None).unwrap_err();
        assert!(fault.message.ends_with(want), "{text}: {}", fault.message);
    }
}

#[test]
fn unknown_keys_are_pointed_out_and_passed_over() {
    let files = [(
        "user/config.toml",
        "modell = 'x'\nmaxToken = 3\nwhatever = 1\n[retry]\nretry_max = 1\n[[models]]\nslug = 'm'\ncontextWindw = 4\n",
    )];
    check(
        &place(&files),
        expect![[r#"
        models = m  # /user/config.toml
        warning: /user/config.toml:2: unknown setting `max_token`; did you mean `max_tokens`?
        warning: /user/config.toml:1: unknown setting `modell`; did you mean `model`?
        warning: /user/config.toml:8: `models[0].context_windw`: unknown key; did you mean `context_window`?
        warning: /user/config.toml:5: unknown setting `retry.retry_max`; did you mean `retry.retries_max`?
        warning: /user/config.toml:3: unknown setting `whatever`
    "#]],
    );
}

#[test]
fn wrong_values_name_file_line_and_what_is_wanted() {
    for (text, expect) in [
        (
            "\n\nmax_tokens = 'many'\n",
            expect![[r#"
            error: /user/config.toml:3: `max_tokens` wants a whole number from 1 to 1000000000, has `many`
        "#]],
        ),
        (
            "max_tokens = -1\n",
            expect![[r#"
            error: /user/config.toml:1: `max_tokens` wants a whole number from 1 to 1000000000, has -1
        "#]],
        ),
        (
            "mode = 'yolo'\n",
            expect![[r#"
            error: /user/config.toml:1: `mode` wants one of plan, read-only, prompt, workspace-write, danger-full-access, has `yolo`
        "#]],
        ),
        (
            "sync = 3\n",
            expect![[r#"
            error: /user/config.toml:1: `sync` wants one of turn, record, off, has 3
        "#]],
        ),
        (
            "model = \n",
            expect![[r#"
            error: cannot read /user/config.toml: line 1: string values must be quoted, expected literal string
        "#]],
        ),
        (
            "retry = 3\n",
            expect![[r#"
                error: /user/config.toml:1: `retry` wants a table, has a whole number
            "#]],
        ),
        (
            "[[models]]\nslug = 'a'\n\n[[models]]\ncontext_window = 1\n",
            expect![[r#"
            error: /user/config.toml:4: `models[1]` has no slug
        "#]],
        ),
        (
            "[[models]]\nslug = 'a'\nprices = { input = 'much', output = 1 }\n",
            expect![[r#"
            error: /user/config.toml:3: `models[0].prices.input` wants dollars per million tokens, has text
        "#]],
        ),
    ] {
        check(&place(&[("user/config.toml", text)]), expect);
    }
    check(
        &place(&[("user/config.json", "{\"model\": }")]),
        expect![[r#"
        error: cannot read /user/config.json: expected value at line 1 column 11
    "#]],
    );
    check(
        &place(&[("user/config.yaml", "- a\n- b\n")]),
        expect![[r#"
        error: /user/config.yaml: wants a table of settings
    "#]],
    );
    check(
        &place(&[]).env("TILLERMAN_MODE", "loose"),
        expect![[r#"
        error: TILLERMAN_MODE wants one of plan, read-only, prompt, workspace-write, danger-full-access, has `loose`
    "#]],
    );
}

#[test]
fn models_can_be_described() {
    let text =
        "[[models]]\nslug = 'big'\ncontextWindow = 200000\nmax_output = 8000\nprices = { input = 1, output = 2.5 }\n";
    let config = place(&[("user/config.toml", text)]).load(None).unwrap();
    let [model] = config.models() else { panic!("one model") };
    let prices = model.prices.unwrap();
    assert_eq!((model.context_window, model.max_output), (Some(200_000), Some(8000)));
    assert_eq!((prices.input, prices.cache_read, prices.output), (1.0, 1.0, 2.5));
}

#[test]
fn a_second_file_beside_the_first_is_pointed_out() {
    check(
        &place(&[("user/config.toml", "model = 'a'"), ("user/config.json", "{}")]),
        expect![[r#"
        model = a  # /user/config.toml
        warning: /user/config.json is ignored: /user/config.toml is read
    "#]],
    );
}

#[test]
fn set_keeps_comments_order_and_spelling() {
    let old = "# mine\nmodel = 'a' # the small one\n\nmaxTokens = 5\nretry = { retries_max = 1 }\n";
    let place = place(&[("user/config.toml", old)]);
    let file = place.user().join("config.toml");
    set(&file, "model", "b").unwrap();
    set(&file, "max_tokens", "7").unwrap();
    set(&file, "retry.baseMs", "9").unwrap();
    set(&file, "tools.only", "bash, grep").unwrap();
    set(&file, "compaction.auto", "off").unwrap();
    expect![[r##"
        # mine
        model = "b" # the small one

        maxTokens = 7

        [retry ]
        retries_max = 1
        base_ms = 9

        [tools]
        only = ["bash", "grep"]

        [compaction]
        auto = false
    "##]]
    .assert_eq(&std::fs::read_to_string(&file).unwrap());
    let config = place.load(None).unwrap();
    assert_eq!(
        (config.model(), config.max_tokens(), config.retry(RetryPolicy::default()).base_ms),
        (Some("b"), Some(7), 9)
    );
    assert_eq!(config.warnings, Vec::<String>::new());
}

#[test]
fn set_refuses_what_it_could_not_read_back() {
    let place = place(&[]);
    let file = place.user().join("config.toml");
    for (key, value, expected) in [
        ("modle", "x", "unknown setting `modle`"),
        ("max_tokens", "many", "`max_tokens` wants a whole number"),
        ("openai_api_key", "sk-1", "never stored"),
        ("models", "x", "cannot be set"),
    ] {
        let fault = set(&file, key, value).unwrap_err();
        assert!(fault.message.contains(expected), "{fault}");
    }
    assert!(!file.exists());
    std::fs::write(&file, "model = [").unwrap();
    assert!(set(&file, "model", "x").is_err());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "model = [");
}

#[test]
fn one_variable_moves_everything() {
    let home = |pairs: &'static [(&str, &str)]| {
        let env = |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        Home::find(&env).map(|home| (home.config.display().to_string(), home.data.display().to_string()))
    };
    let pair = |config: &str, data: &str| Some((config.to_owned(), data.to_owned()));
    assert_eq!(home(&[("TILLERMAN_HOME", "/t"), ("HOME", "/h")]), pair("/t", "/t"));
    assert_eq!(home(&[("HOME", "/h")]), pair("/h/.config/tillerman", "/h/.local/share/tillerman"));
    assert_eq!(
        home(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "/c"), ("XDG_DATA_HOME", "relative")]),
        pair("/c/tillerman", "/h/.local/share/tillerman")
    );
    assert_eq!(home(&[]), None);
}

#[test]
fn the_manual_names_every_key_and_its_example_is_read_without_complaint() {
    let manual = include_str!("../../../../../docs/config.md");
    for key in KEYS {
        assert!(manual.contains(&format!("| `{}` |", key.name)), "{} is missing in docs/config.md", key.name);
    }
    let example = manual.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).expect("an example");
    let config = place(&[("user/config.toml", example)]).load(None).unwrap();
    assert_eq!(config.warnings, Vec::<String>::new());
    assert_eq!((config.mode(), config.models().len()), (Some(Mode::WorkspaceWrite), 1));
    let example = manual.split("```toml\n").nth(2).and_then(|rest| rest.split("```").next()).expect("a second one");
    let config = place(&[("user/config.toml", example)]).load(None).unwrap();
    assert_eq!((config.warnings.len(), config.providers().len(), config.slugs("tiers").len()), (0, 2, 2));
}

/// What stands on a page can be put into the file as it is.
#[test]
fn the_settings_on_the_pages_are_taken_without_a_word() {
    let pages = [include_str!("../../../../../docs/config.md"), include_str!("../../../../../docs/models.md")];
    let blocks = pages.iter().flat_map(|page| page.split("```toml\n").skip(1));
    let blocks: Vec<&str> = blocks.map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() > 6, "{} examples", blocks.len());
    for block in blocks {
        let config =
            place(&[("user/config.toml", block)]).load(None).unwrap_or_else(|fault| panic!("{fault}\n{block}"));
        assert_eq!(config.warnings, [""; 0], "{block}");
    }
}
