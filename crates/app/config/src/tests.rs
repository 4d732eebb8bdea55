//! Files and environment in, settings, warnings and errors out.

mod editing;
mod manual;
mod outside;
mod server;
mod tables;
mod trusted;
mod workspace;

use std::collections::HashMap;
use std::path::Path;

use expect_test::{Expect, expect};
use vocab::{CompactionPolicy, Mode, RetryPolicy};

use super::keys::{SettingKind, Workspace};
use super::slugs::Slugs;
use super::tighten::Tightening;
use super::{Configuration, Home, KEYS, LoadFrom, SettingValue, set};

/// A user directory and a workspace with these files.
struct TestHome {
    root: tempfile::TempDir,
    env: HashMap<&'static str, &'static str>,
}

fn place(files: &[(&str, &str)]) -> TestHome {
    let root = tempfile::tempdir().unwrap();
    for directory in ["user", "work"] {
        std::fs::create_dir(root.path().join(directory)).unwrap();
    }
    for (name, text) in files {
        std::fs::write(root.path().join(name), text).unwrap();
    }
    TestHome { root, env: HashMap::new() }
}

impl TestHome {
    fn env(mut self, name: &'static str, value: &'static str) -> Self {
        self.env.insert(name, value);
        self
    }
    fn user(&self) -> std::path::PathBuf {
        self.root.path().join("user")
    }
    fn load(&self, file: Option<&Path>) -> Result<Configuration, vocab::Fault> {
        let home = Home { config: self.user(), data: self.user() };
        let env = |name: &str| self.env.get(name).map(|value| (*value).to_owned());
        let workspace = self.root.path().join("work");
        Configuration::load(&LoadFrom {
            env: &env,
            home: Some(&home),
            workspace: &workspace,
            file,
            default_mode: Mode::Prompt,
        })
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

fn check(place: &TestHome, expect: Expect) {
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
