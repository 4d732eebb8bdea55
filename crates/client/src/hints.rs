//! What to do about an error (section 10.10): the first row that matches wins. Pure: text in, a sentence out.

use crate::error::{AUTH_REQUIRED, Exit};
use crate::wire::AuthMethod;

/// What is known about an error.
pub(crate) struct Evidence<'a> {
    pub(crate) message: &'a str,
    pub(crate) stderr: &'a [String],
    /// Of an answer.
    pub(crate) code: Option<i64>,
    /// Of a program that ended.
    pub(crate) exit: Option<&'a Exit>,
    pub(crate) before_hello: bool,
    /// It could not even be started.
    pub(crate) not_found: bool,
    /// The command that was to run.
    pub(crate) program: &'a str,
    pub(crate) auth: &'a [AuthMethod],
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
    if CREDENTIALS.iter().any(|word| says(word)) {
        let text = "set the key in the agent's own environment file (hermes: ~/.hermes/.env) or in your shell profile, \
                    and start it again";
        return Some(text.into());
    }
    if let Some(name) = texts().find_map(missing_program) {
        return Some(not_on_path(name));
    }
    let no_command = says("command not found") || evidence.exit.and_then(|exit| exit.code) == Some(EXIT_NOT_FOUND);
    if no_command || (evidence.not_found && (says("No such file") || says("not found"))) {
        return Some(not_on_path(evidence.program));
    }
    if texts().any(is_rate_limit) {
        return Some("the model's provider limits the rate; try again later".into());
    }
    if evidence.code == Some(AUTH_REQUIRED) {
        return Some(sign_in(evidence.auth, evidence.program));
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
    if evidence.before_hello {
        return Some(match evidence.stderr.is_empty() {
            true => "it ended before it said anything; does this command speak ACP on stdin and stdout?".into(),
            false => format!("it said:\n  {}", evidence.stderr.join("\n  ")),
        });
    }
    None
}

fn not_on_path(name: &str) -> String {
    format!(
        "`{name}` is not on the PATH; export PATH in the profile of your login shell (~/.zprofile, ~/.profile), not only \
         in the interactive one"
    )
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

fn sign_in(auth: &[AuthMethod], program: &str) -> String {
    if auth.is_empty() {
        return "not signed in, and the agent names no way to; see its own documentation".into();
    }
    let way = |method: &AuthMethod| match method.is_terminal() {
        true => format!("{} (run `{program} {}` in a terminal)", method.name, method.args.join(" ")),
        false => format!("{} (`--auth {}`)", method.name, method.id),
    };
    format!("not signed in; there is: {}", auth.iter().map(way).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nothing() -> Evidence<'static> {
        Evidence {
            message: "",
            stderr: &[],
            code: None,
            exit: None,
            before_hello: false,
            not_found: false,
            program: "hermes-acp",
            auth: &[],
        }
    }

    #[track_caller]
    fn check(message: &str, wanted: Option<&str>) {
        let found = hint(&Evidence { message, ..nothing() });
        match wanted {
            None => assert_eq!(found, None, "{message}"),
            Some(word) => assert!(found.as_deref().is_some_and(|it| it.contains(word)), "{message}: {found:?}"),
        }
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
    fn exit_codes_and_error_codes_count_too() {
        let exit = Exit { code: Some(127), signal: None };
        let found = hint(&Evidence { exit: Some(&exit), ..nothing() });
        assert!(found.is_some_and(|it| it.contains("not on the PATH")));
        let found = hint(&Evidence { message: "No such file or directory", not_found: true, ..nothing() });
        assert!(found.is_some_and(|it| it.contains("`hermes-acp` is not on the PATH")));
        // A tool's file that is missing says nothing about the program.
        check("read: No such file or directory", None);
        let method = |kind: Option<&str>, id: &str| AuthMethod {
            id: id.into(),
            name: format!("Way {id}"),
            description: None,
            kind: kind.map(Into::into),
            args: vec!["--setup".into()],
            other: Default::default(),
        };
        let auth = [method(None, "key"), method(Some("terminal"), "setup")];
        let found = hint(&Evidence { code: Some(-32000), auth: &auth, ..nothing() });
        let wanted = "there is: Way key (`--auth key`), Way setup (run `hermes-acp --setup` in a terminal)";
        assert!(found.as_deref().is_some_and(|it| it.contains(wanted)), "{found:?}");
        let stderr = ["Traceback".to_owned(), "ImportError".to_owned()];
        let found = hint(&Evidence { before_hello: true, stderr: &stderr, ..nothing() });
        assert!(found.is_some_and(|it| it.contains("Traceback\n  ImportError")));
    }

    #[test]
    fn stderr_counts_and_the_first_row_wins() {
        let stderr = ["429 too many".to_owned(), "No credentials found".to_owned()];
        let found = hint(&Evidence { stderr: &stderr, ..nothing() });
        assert!(found.is_some_and(|it| it.contains("environment file")));
    }
}
