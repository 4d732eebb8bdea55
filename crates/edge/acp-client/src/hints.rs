//! What to do about an error (section 10.10): the first row that matches wins. Pure: text in, a sentence out.

use acp_types::AuthMethod;
use serde_json::Value;

use crate::adapters;
use process::Exit;

/// The ways to sign in, and which was tried.
#[derive(Clone, Default)]
pub(crate) struct SignIns {
    pub(crate) methods: Vec<AuthMethod>,
    pub(crate) tried: Option<String>,
}

/// What is known about an error.
pub(crate) struct Evidence<'a> {
    pub(crate) message: &'a str,
    pub(crate) stderr: &'a [String],
    /// Of a program that ended.
    pub(crate) exit: Option<&'a Exit>,
    pub(crate) before_hello: bool,
    /// It repeats its input.
    pub(crate) echoes: bool,
    /// It could not even be started.
    pub(crate) not_found: bool,
    pub(crate) wants_sign_in: bool,
    /// What was to run, word by word.
    pub(crate) command: &'a [String],
    pub(crate) auth: &'a SignIns,
}

/// What a shell says about a command it does not have.
const EXIT_NOT_FOUND: i32 = 127;

const CREDENTIALS: [&str; 6] = [
    "No credentials found",
    "No provider credentials found",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_TOKEN",
    "claude setup-token",
    "claude /login",
];

pub(crate) fn hint(evidence: &Evidence<'_>) -> Option<String> {
    let texts = || std::iter::once(evidence.message).chain(evidence.stderr.iter().map(String::as_str));
    let says = |word: &str| texts().any(|text| text.contains(word));
    let program = evidence.command.first().map_or("", String::as_str);
    // Whatever such a program complains about, it is not what is wrong.
    let advice = adapters::advice(evidence.command);
    if let Some(advice) = advice.as_ref().filter(|_| evidence.before_hello) {
        return Some(advice.clone());
    }
    // Where the agent itself names ways to sign in, they say it better.
    let names_ways = evidence.wants_sign_in && !evidence.auth.methods.is_empty();
    if CREDENTIALS.iter().any(|word| says(word)) && !names_ways {
        let text = "set the key in your environment or in the agent's own environment file (hermes: ~/.hermes/.env), and \
                    start it again";
        return Some(text.into());
    }
    if let Some(name) = texts().find_map(missing_program) {
        return Some(not_on_path(name));
    }
    let no_command = says("command not found") || evidence.exit.and_then(|exit| exit.code) == Some(EXIT_NOT_FOUND);
    if no_command || (evidence.not_found && (says("No such file") || says("not found"))) {
        let more = advice.map(|advice| format!("\n  {advice}")).unwrap_or_default();
        return Some(not_on_path(program) + &more);
    }
    if texts().any(is_rate_limit) {
        return Some("the model's provider limits the rate; try again later".into());
    }
    if evidence.wants_sign_in {
        return Some(sign_in(evidence.auth, program));
    }
    let ssh = [
        (
            "Permission denied (publickey",
            "the host does not take your ssh key; check `ssh-add -l` and its authorized_keys",
        ),
        ("Host key verification failed", "the host's key is not known or has changed; connect once with plain `ssh`"),
        ("Could not resolve hostname", "there is no host of that name; check the spelling and ~/.ssh/config"),
    ];
    if let Some((_, text)) = ssh.iter().find(|(word, _)| says(word)) {
        return Some((*text).into());
    }
    if evidence.echoes {
        return Some(format!("`{program}` speaks no ACP: it only repeats its input"));
    }
    let ended = if evidence.exit.is_some() { "it ended before it was greeted; " } else { "" };
    evidence.before_hello.then(|| format!("{ended}does this command speak ACP on stdin and stdout?"))
}

fn not_on_path(name: &str) -> String {
    match adapters::install(name) {
        Some(install) => format!("`{name}` is not on the PATH; `{install}` installs it"),
        None => format!(
            "`{name}` is not on the PATH, neither on yours nor on that of your login shell; install it, or write its \
             whole path"
        ),
    }
}

/// `No such file or directory: 'uv'`, as Python says it.
fn missing_program(text: &str) -> Option<&str> {
    let rest = text.split("No such file or directory: '").nth(1)?;
    rest.split('\'').next().filter(|name| !name.is_empty())
}

/// `rate limit`, or `429` as a word of its own: 14290 tokens are no rate limit.
fn is_rate_limit(text: &str) -> bool {
    let lower = text.to_lowercase();
    let limit = ["rate limit", "rate_limit", "ratelimit"].iter().any(|word| lower.contains(word));
    limit || text.split(|c: char| !c.is_alphanumeric() && c != '.').any(|word| word.trim_matches('.') == "429")
}

/// Each way with how it is gone. What was just tried in vain is not advised again, but what the agent says of it is shown.
fn sign_in(auth: &SignIns, program: &str) -> String {
    let ways: Vec<String> = auth.methods.iter().filter_map(|method| way(method, auth, program)).collect();
    let after = auth.tried.as_ref().map(|tried| format!(", also after `--auth {tried}`")).unwrap_or_default();
    if ways.is_empty() {
        let other = if auth.tried.is_some() { "other " } else { "" };
        return format!("not signed in{after}, and the agent names no {other}way to; see its own documentation");
    }
    format!("not signed in{after}; there is:\n  {}", ways.join("\n  "))
}

fn way(method: &AuthMethod, auth: &SignIns, program: &str) -> Option<String> {
    let command = terminal_command(method).or_else(|| {
        method.is_terminal().then(|| std::iter::once(program).chain(method.args.iter().map(String::as_str)).collect())
    });
    let is_tried = auth.tried.as_deref() == Some(method.id.as_str());
    let how = match command {
        Some(words) => Some(format!("run `{}` in a terminal", words.join(" "))),
        None if is_tried => None,
        None => Some(format!("`--auth {}`", method.id)),
    };
    let name = if method.name.is_empty() { &method.id } else { &method.name };
    let words = method.description.as_deref().map(str::trim).filter(|words| !words.is_empty() && words != name);
    let said: Vec<&str> = how.as_deref().into_iter().chain(words).collect();
    (!said.is_empty()).then(|| format!("{name}: {}", said.join("; ")))
}

/// `_meta.terminal-auth`, which several agents and editors know: the command that signs in.
fn terminal_command(method: &AuthMethod) -> Option<Vec<&str>> {
    let it = method.other.get("_meta")?.get("terminal-auth")?;
    let args = it.get("args").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    Some(std::iter::once(it.get("command")?.as_str()?).chain(args).collect())
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    static NOBODY: SignIns = SignIns { methods: Vec::new(), tried: None };

    static HERMES: LazyLock<[String; 1]> = LazyLock::new(|| ["hermes-acp".into()]);

    fn nothing() -> Evidence<'static> {
        Evidence {
            message: "",
            stderr: &[],
            exit: None,
            before_hello: false,
            echoes: false,
            not_found: false,
            wants_sign_in: false,
            command: &*HERMES,
            auth: &NOBODY,
        }
    }

    #[track_caller]
    fn check_all(evidence: &Evidence<'_>, wanted: Option<&str>) {
        let (found, message) = (hint(evidence), evidence.message);
        match wanted {
            None => assert_eq!(found, None, "{message}"),
            Some(word) => assert!(found.as_deref().is_some_and(|it| it.contains(word)), "{message}: {found:?}"),
        }
    }

    #[track_caller]
    fn check(message: &str, wanted: Option<&str>) {
        check_all(&Evidence { message, ..nothing() }, wanted);
    }

    #[test]
    fn each_row_of_the_table_has_its_hint() {
        check("No credentials found for x", Some("environment file"));
        check("No provider credentials found", Some("environment file"));
        check("run claude setup-token first", Some("environment file"));
        check("FileNotFoundError: [Errno 2] No such file or directory: 'uv'", Some("`uv` is not on the PATH"));
        check("bash: line 1: hermes-acp: command not found", Some("`hermes-acp` is not on the PATH"));
        check("Rate Limit reached", Some("provider"));
        check("provider said: HTTP 429", Some("provider"));
        check("error 429.", Some("provider"));
        check("me@host: Permission denied (publickey).", Some("ssh key"));
        check("Host key verification failed.", Some("host's key"));
        check("ssh: Could not resolve hostname nowhere", Some("no host of that name"));
        check("something else", None);
    }

    #[test]
    fn a_number_inside_another_is_no_rate_limit() {
        for text in ["14290 tokens", "used 4290", "id a429b", "took 0.429 s", "1.429"] {
            check(text, None);
        }
    }

    #[test]
    fn exit_codes_and_ends_before_the_greeting_count_too() {
        let exit = Exit { code: Some(127), signal: None };
        check_all(&Evidence { exit: Some(&exit), ..nothing() }, Some("not on the PATH"));
        let missing = Evidence { message: "No such file or directory", not_found: true, ..nothing() };
        check_all(&missing, Some("`hermes-acp` is not on the PATH"));
        // A tool's file that is missing says nothing about the program.
        check("read: No such file or directory", None);
        check_all(&Evidence { before_hello: true, ..nothing() }, Some("speak ACP"));
        let echo = Evidence { before_hello: true, echoes: true, ..nothing() };
        check_all(&echo, Some("`hermes-acp` speaks no ACP: it only repeats"));
        let (codex, adapter) = (["codex".to_owned()], ["codex-acp".to_owned()]);
        let stderr = ["set ANTHROPIC_API_KEY".to_owned()];
        let wrong = Evidence { command: &codex, stderr: &stderr, before_hello: true, ..nothing() };
        check_all(&wrong, Some("needs the adapter `codex-acp`"));
        let gone = Evidence { command: &codex, message: "not found", not_found: true, ..nothing() };
        check_all(&gone, Some("whole path\n  `codex` speaks no ACP itself"));
        let absent = Evidence { command: &adapter, message: "not found", not_found: true, ..nothing() };
        check_all(&absent, Some("`npm install -g @agentclientprotocol/codex-acp` installs it"));
    }

    #[test]
    fn ways_to_sign_in_are_shown_as_the_agent_describes_them_and_none_is_advised_twice() {
        let method = |text: &str| -> AuthMethod { serde_json::from_str(text).unwrap() };
        let key = method(r#"{"id":"key","name":"Key"}"#);
        let setup = method(r#"{"id":"setup","name":"Setup","type":"terminal","args":["--setup"]}"#);
        let login = method(r#"{"id":"login","name":"Log in","description":"Run `copilot login`"}"#);
        let meta = r#"{"terminal-auth":{"command":"copilot","args":["login"],"label":"x"}}"#;
        let command = method(&format!(r#"{{"id":"c","name":"Command","_meta":{meta}}}"#));
        let said = |methods: &[&AuthMethod], tried: Option<&str>| {
            let methods = methods.iter().map(|it| (*it).clone()).collect();
            sign_in(&SignIns { methods, tried: tried.map(Into::into) }, "agent")
        };
        let all = "not signed in; there is:\n  Key: `--auth key`\n  Setup: run `agent --setup` in a terminal\n  \
                   Log in: `--auth login`; Run `copilot login`\n  Command: run `copilot login` in a terminal";
        assert_eq!(said(&[&key, &setup, &login, &command], None), all);
        let tried = "not signed in, also after `--auth login`; there is:\n  Log in: Run `copilot login`";
        assert_eq!(said(&[&login], Some("login")), tried);
        assert!(said(&[&key], Some("key")).contains("names no other way"));
        assert!(said(&[], None).contains("names no way"));
        // A word that looks like a key does not hide them.
        let known = SignIns { methods: vec![login], tried: None };
        let both = Evidence { message: "No credentials found", wants_sign_in: true, ..nothing() };
        check_all(&both, Some("environment file"));
        check_all(&Evidence { auth: &known, ..both }, Some("Run `copilot login`"));
    }

    #[test]
    fn stderr_counts_and_the_first_row_wins() {
        let stderr = ["429 too many".to_owned(), "No credentials found".to_owned()];
        check_all(&Evidence { stderr: &stderr, ..nothing() }, Some("environment file"));
    }
}
