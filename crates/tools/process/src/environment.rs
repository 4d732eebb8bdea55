//! The environment a child process gets: ours without secrets, with the switches that keep tools from paging and prompting.
//! The caller hands over the variables.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use vocab::{Keyring, Required};

/// The whole environment of a child process.
pub type Vars = Vec<(OsString, OsString)>;

/// What decides over the variables of one child process.
#[derive(Clone, Copy, Debug)]
pub struct EnvironmentRules<'a> {
    /// Names of variables that are passed on although they look like secrets (`SSH_AUTH_SOCK`).
    pub keep: &'a [String],
    /// Values that never reach a child's environment, whatever the variable is called.
    pub secrets: &'a Keyring,
    /// A command that may only read finds no programs in here.
    pub workspace: &'a Path,
}

/// A variable whose name contains one of these is not passed on (`SSH_AUTH_SOCK` included: an agent socket is as
/// good as the key). [`EnvironmentRules::keep`] names exceptions.
const SECRET_NAMES: [&str; 11] = [
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "PASSFILE",
    "CREDENTIAL",
    "AUTH",
    "WEBHOOK",
    "COOKIE",
];
/// The same for the words of a name, between underscores (`MYSQL_PWD`, `GITHUB_PAT`, `SENTRY_DSN`,
/// `OTEL_EXPORTER_OTLP_HEADERS`).
const SECRET_WORDS: [&str; 6] = ["PASS", "SSHPASS", "PAT", "PWD", "DSN", "HEADERS"];
/// Where we stand is no secret.
const PLACES: [&str; 2] = ["PWD", "OLDPWD"];

/// A value that begins so is a key, whatever its variable is called.
const KEY_STARTS: [&str; 14] = [
    "sk-",
    "sk_live_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghs_",
    "ghu_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xapp-",
    "dop_v1_",
    "AKIA",
    "-----BEGIN",
];
/// The same where an ordinary word could begin so: only a value as long as a key is one.
const LONG_KEY_STARTS: [&str; 6] = ["AIza", "ASIA", "hf_", "npm_", "pypi-", "xox"];
const LONG_KEY_BYTES_MIN: usize = 16;
/// A value that holds one of these, in any case, is a connection with its password, or an address that is one.
const KEY_PARTS: [&str; 6] =
    ["password=", "pwd=", "accountkey=", "sharedaccesskey=", "hooks.slack.com/", "/api/webhooks/"];

/// No colours, no pager, no prompt that waits for a person.
const ALWAYS: [(&str, &str); 6] = [
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("NO_COLOR", "1"),
    ("TILLERMAN", "1"),
];

/// What a service manager has told us, and nobody else: a command that takes it for its own would speak in our name.
const MANAGERS_WORDS: [&str; 3] = ["NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC"];

/// What lets a file of the workspace or a variable run a program behind a read-only command's back, or makes patterns
/// mean more to the shell than to us.
const READ_ONLY_DROPS: [&str; 14] = [
    "BASHOPTS",
    "BASH_ENV",
    "ENV",
    "GCONV_PATH",
    "GLOBIGNORE",
    "GREP_OPTIONS",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "MAGIC",
    "POSIXLY_CORRECT",
    "RIPGREP_CONFIG_PATH",
    "SHELLOPTS",
    "_POSIX2_VERSION",
];

/// Git settings that name programs, are formats (one to sort by can call a signature checker) or decide how an index is
/// read, made harmless for read-only commands, also in submodules; a repository cannot override these. A belt: where one
/// of them stands in a repository's configuration, git is not taken for reading in the first place.
const READ_ONLY_GIT: [(&str, &str); 11] = [
    ("branch.sort", "refname"),
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.untrackedCache", "false"),
    ("gpg.program", "false"),
    ("gpg.ssh.program", "false"),
    ("gpg.x509.program", "false"),
    ("index.threads", "1"),
    ("log.showSignature", "false"),
    ("safe.bareRepository", "explicit"),
    ("tag.sort", "refname"),
];

/// No lock is taken, and nothing is fetched: neither at once nor when an object is missing.
const READ_ONLY_GIT_VARIABLES: [(&str, &str); 3] =
    [("GIT_OPTIONAL_LOCKS", "0"), ("GIT_NO_LAZY_FETCH", "1"), ("GIT_ALLOW_PROTOCOL", "none")];

/// Our own environment as a program of the user's may have it: without secrets, and without a terminal to page on.
pub fn clean_environment(secrets: &Keyring) -> Vars {
    let rules = EnvironmentRules { keep: &[], secrets, workspace: Path::new("") };
    rules.clean(std::env::vars_os(), Required::DangerFullAccess)
}

impl EnvironmentRules<'_> {
    /// Builds the environment of one command from our own variables.
    pub fn clean(&self, ours: impl Iterator<Item = (OsString, OsString)>, granted: Required) -> Vars {
        let read_only = granted < Required::DangerFullAccess;
        let mut vars: Vars = Vec::new();
        for (name, value) in ours {
            let fixed = ALWAYS.iter().any(|(fixed, _)| name == *fixed);
            let for_us = MANAGERS_WORDS.iter().any(|word| name == *word);
            if fixed || for_us || self.is_withheld(&name, &value) {
                continue;
            }
            if read_only && (READ_ONLY_DROPS.iter().any(|drop| name == *drop) || is_function(&name) || is_git(&name)) {
                continue;
            }
            let value = match read_only && name == "PATH" {
                true => outside_path(&value, self.workspace),
                false => without_userinfo(value),
            };
            vars.push((name, value));
        }
        vars.extend(ALWAYS.iter().map(|(name, value)| (name.into(), value.into())));
        if read_only {
            harden_git(&mut vars);
        }
        vars
    }

    fn is_withheld(&self, name: &OsStr, value: &OsStr) -> bool {
        let kept = self.keep.iter().any(|keep| name == keep.as_str());
        !kept && (secret_name(name) || secret_value(value) || self.secrets.is_in(value.as_bytes()))
    }

    /// What a command in a controller's terminal gets on top of the controller's own variables: the same switches, and for
    /// a command that may only read the same fences.
    pub fn on_top(&self, granted: Required) -> Vec<(Arc<str>, Arc<str>)> {
        let path = std::env::var_os("PATH").filter(|_| granted < Required::DangerFullAccess);
        let ours = path.into_iter().map(|path| (OsString::from("PATH"), path));
        let text = |text: OsString| text.into_string().ok().map(Arc::from);
        self.clean(ours, granted).into_iter().filter_map(|(name, value)| Some((text(name)?, text(value)?))).collect()
    }
}

/// What a command on a terminal gets instead: one that can move its cursor. Sizes in variables would hide a resize.
pub fn on_terminal(vars: &mut Vars) {
    vars.retain(|(name, _)| !["TERM", "COLUMNS", "LINES"].iter().any(|drop| name == *drop));
    vars.push(("TERM".into(), "xterm-256color".into()));
}

/// The values that would be withheld by their name or their look.
pub(crate) fn secrets_in(vars: &Vars) -> Keyring {
    let secret = vars.iter().filter(|(name, value)| secret_name(name) || secret_value(value));
    secret.filter_map(|(_, value)| value.to_str()).collect()
}

fn secret_name(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    let secret_word = |word: &str| SECRET_WORDS.contains(&word);
    SECRET_NAMES.iter().any(|part| name.contains(part))
        || (!PLACES.contains(&name.as_str()) && name.split('_').any(secret_word))
}

fn secret_value(value: &OsStr) -> bool {
    let value = value.to_string_lossy();
    let lower = value.to_ascii_lowercase();
    KEY_STARTS.iter().any(|start| value.starts_with(start))
        || (value.len() >= LONG_KEY_BYTES_MIN && LONG_KEY_STARTS.iter().any(|start| value.starts_with(start)))
        || is_web_token(&value)
        || KEY_PARTS.iter().any(|part| lower.contains(part))
}

/// A JSON Web Token: three parts in the alphabet of URLs, of which the first is an object (`{"` is written `eyJ`).
fn is_web_token(value: &str) -> bool {
    let plain = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'='))
    };
    let parts: Vec<&str> = value.trim().split('.').collect();
    value.trim().starts_with("eyJ") && parts.len() == 3 && parts.iter().all(|part| plain(part))
}

/// An exported shell function could stand in for a command we take for harmless.
fn is_function(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b"BASH_FUNC_")
}

/// Each of them steers git: to another repository, another program, a file to write a trace to.
fn is_git(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b"GIT_")
}

/// Cuts `user:password@` out of every URL in a value: proxies and databases stay reachable, without the password.
/// A bare user name is kept except for http, where it is a token (`https://TOKEN@host`).
fn without_userinfo(value: OsString) -> OsString {
    let Some(text) = value.to_str() else { return value };
    if !text.contains("://") {
        return value;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let authority_end = after.find(['/', '?', '#', ' ', '\n', ',', ';', '"', '\'']).unwrap_or(after.len());
        let authority = &after[..authority_end];
        let scheme_is_http = before.ends_with("http://") || before.ends_with("https://");
        match authority.rfind('@') {
            Some(end) if scheme_is_http || authority[..end].contains(':') => out.push_str(&authority[end + 1..]),
            _ => out.push_str(authority),
        }
        rest = &after[authority_end..];
    }
    out.push_str(rest);
    out.into()
}

/// The search path without relative directories and without those inside the workspace, by name or by link: there, `ls`
/// could be anything the model wrote.
fn outside_path(value: &OsStr, workspace: &Path) -> OsString {
    let inside =
        |dir: &Path| dir.starts_with(workspace) || dir.canonicalize().is_ok_and(|dir| dir.starts_with(workspace));
    let dirs = std::env::split_paths(value).filter(|dir| dir.is_absolute() && !inside(dir));
    std::env::join_paths(dirs).unwrap_or_else(|_| "/usr/bin:/bin".into())
}

fn harden_git(vars: &mut Vars) {
    let mut set = |name: String, value: &str| vars.push((name.into(), value.into()));
    READ_ONLY_GIT_VARIABLES.iter().for_each(|(name, value)| set((*name).into(), value));
    set("GIT_CONFIG_COUNT".into(), &READ_ONLY_GIT.len().to_string());
    for (index, (key, value)) in READ_ONLY_GIT.iter().enumerate() {
        set(format!("GIT_CONFIG_KEY_{index}"), key);
        set(format!("GIT_CONFIG_VALUE_{index}"), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(ours: &[(&str, &str)], keep: &[&str], secrets: &[&str], granted: Required) -> Vec<(String, String)> {
        let keep: Vec<String> = keep.iter().map(|name| (*name).to_owned()).collect();
        let secrets = secrets.iter().collect();
        let rules = EnvironmentRules { keep: &keep, secrets: &secrets, workspace: Path::new("/ws") };
        let ours = ours.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let text = |text: OsString| text.into_string().unwrap();
        rules.clean(ours, granted).into_iter().map(|(name, value)| (text(name), text(value))).collect()
    }

    fn get<'a>(vars: &'a [(String, String)], name: &str) -> Option<&'a str> {
        let mut found = vars.iter().filter(|(key, _)| key == name);
        let value = found.next().map(|(_, value)| value.as_str());
        assert!(found.next().is_none(), "{name} is there twice");
        value
    }

    const FULL: Required = Required::DangerFullAccess;

    #[test]
    fn values_that_begin_like_tokens_go_whatever_they_are_called() {
        let tokens = [
            "AIzaSyA1234567890abcdefghijklmnopqrstuv",
            "hf_abcdefghijklmnopqrst",
            "sk_live_abc",
            "rk_live_abc",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln",
            "xoxe.xoxp-1-abcdefghij",
            "xoxb-123456-abcdef-ghi",
            "glpat-abc",
            "npm_abcdefghijklmnopqrst",
            "dop_v1_abc",
            "AKIAABCDEFGHIJKLMNOP",
            "ASIAABCDEFGHIJKLMNOP",
            "-----BEGIN RSA PRIVATE KEY-----",
        ];
        for token in tokens {
            assert_eq!(get(&cleaned(&[("PLAIN", token)], &[], &[], FULL), "PLAIN"), None, "{token}");
            let vars: Vars = vec![("PLAIN".into(), token.into())];
            assert!(secrets_in(&vars).is_in(token.as_bytes()), "masked: {token}");
        }
        for word in ["ASIA", "npm_config", "hf_home", "xoxo", "eyJ.a.b", "a.b.c", "eyJhbGci", "AIza"] {
            let kept = word != "eyJ.a.b";
            assert_eq!(get(&cleaned(&[("PLAIN", word)], &[], &[], FULL), "PLAIN").is_some(), kept, "{word}");
        }
    }

    #[test]
    fn names_that_look_like_secrets_go_unless_allowed() {
        let ours = [
            ("OPENAI_API_KEY", "1"),
            ("github_token", "2"),
            ("Db_Password", "3"),
            ("SSH_AUTH_SOCK", "/s"),
            ("HOME", "/h"),
            ("NPM_TOKEN", "5"),
        ];
        let vars = cleaned(&ours, &["NPM_TOKEN"], &[], FULL);
        assert_eq!(get(&vars, "HOME"), Some("/h"));
        assert_eq!(get(&vars, "NPM_TOKEN"), Some("5"));
        for gone in ["OPENAI_API_KEY", "github_token", "Db_Password", "SSH_AUTH_SOCK"] {
            assert_eq!(get(&vars, gone), None);
        }
    }

    #[test]
    fn what_ordinary_builds_need_stays_and_secrets_in_any_clothes_go() {
        let ours = [
            ("PATH", "/usr/bin"),
            ("PWD", "/ws"),
            ("OLDPWD", "/"),
            ("COMPASS_URL", "http://c/"),
            ("PATTERN", "x"),
            ("XDG_SESSION_ID", "1"),
            ("CARGO_HOME", "/c"),
            ("JAVA_HOME", "/j"),
            ("RUSTFLAGS", "-C link-arg=-s"),
            ("DATABASE_URL", "postgres://u:p@db/x"),
            ("LANG", "C"),
        ];
        let vars = cleaned(&ours, &[], &[], FULL);
        for (name, value) in ours {
            let want = if name == "DATABASE_URL" { "postgres://db/x" } else { value };
            assert_eq!(get(&vars, name), Some(want), "{name}");
        }
        let gone = [
            ("MYSQL_PWD", "x"),
            ("DB_PASS", "x"),
            ("SSHPASS", "x"),
            ("GITHUB_PAT", "x"),
            ("PGPASSFILE", "/x"),
            ("SENTRY_DSN", "x"),
            ("SLACK_WEBHOOK_URL", "x"),
            ("ALERTS", "https://hooks.slack.com/services/T/B/x"),
            ("CONNECTION", "Server=db;Password=x"),
            ("THING", "ghp_0123456789"),
            ("CERT", "-----BEGIN PRIVATE"),
            ("GPG_PASSPHRASE", "x"),
        ];
        let vars = cleaned(&gone, &[], &[], FULL);
        for (name, _) in gone {
            assert_eq!(get(&vars, name), None, "{name}");
        }
    }

    #[test]
    fn configured_values_go_under_any_name() {
        let ours = [("A", "sk-canary-1"), ("B", "Bearer sk-canary-1"), ("C", "pin"), ("D", "spinning")];
        let vars = cleaned(&ours, &[], &["sk-canary-1", "pin"], FULL);
        assert_eq!([get(&vars, "A"), get(&vars, "B"), get(&vars, "C")], [None, None, None]);
        assert_eq!(get(&vars, "D"), Some("spinning"));
    }

    #[test]
    fn urls_lose_their_passwords_and_nothing_else() {
        let check = |value: &str, want: &str| assert_eq!(without_userinfo(value.into()), OsString::from(want));
        check("http://user:pw@proxy:3128/x", "http://proxy:3128/x");
        check("https://ghp_abc@github.com/a@b", "https://github.com/a@b");
        check("ssh://git@host/x", "ssh://git@host/x");
        check("postgres://u:p@w@db/x http://a:b@c", "postgres://db/x http://c");
        check("no url, a:b@c", "no url, a:b@c");
        check("://x:y@", "://");
    }

    #[test]
    fn what_the_service_manager_told_us_is_not_passed_on() {
        let ours = [("NOTIFY_SOCKET", "/run/n"), ("WATCHDOG_USEC", "60000000"), ("WATCHDOG_PID", "7"), ("A", "b")];
        let vars = cleaned(&ours, &[], &[], FULL);
        assert_eq!(MANAGERS_WORDS.map(|name| get(&vars, name)), [None; 3]);
        assert_eq!(get(&vars, "A"), Some("b"));
    }

    #[test]
    fn a_terminal_is_never_promised() {
        let vars = cleaned(&[("TERM", "xterm"), ("PAGER", "less")], &[], &[], FULL);
        assert_eq!((get(&vars, "TERM"), get(&vars, "PAGER")), (Some("dumb"), Some("cat")));
        assert_eq!(get(&vars, "TILLERMAN"), Some("1"));
        assert_eq!(get(&vars, "CI"), None);
    }

    #[test]
    fn read_only_commands_cannot_be_replaced_by_workspace_programs() {
        let ours = [
            ("PATH", "/ws/bin:.:/usr/bin::/bin"),
            ("BASH_ENV", "/ws/rc"),
            ("BASH_FUNC_ls%%", "() { :; }"),
            ("GIT_CONFIG_COUNT", "9"),
            ("GIT_DIR", "/elsewhere"),
            ("GIT_TRACE", "/ws/trace"),
            ("SHELLOPTS", "xtrace"),
        ];
        let vars = cleaned(&ours, &[], &[], Required::ReadOnly);
        assert_eq!(get(&vars, "PATH"), Some("/usr/bin:/bin"));
        assert_eq!((get(&vars, "BASH_ENV"), get(&vars, "BASH_FUNC_ls%%")), (None, None));
        assert_eq!(get(&vars, "GIT_CONFIG_COUNT"), Some("11"));
        assert_eq!([get(&vars, "GIT_DIR"), get(&vars, "GIT_TRACE"), get(&vars, "SHELLOPTS")], [None, None, None]);
        let vars = cleaned(&ours, &[], &[], FULL);
        assert_eq!(get(&vars, "PATH"), Some("/ws/bin:.:/usr/bin::/bin"));
    }
}
