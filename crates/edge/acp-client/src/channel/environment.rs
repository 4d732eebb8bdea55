//! The environment an agent gets (section 10.1): the caller's. A program started from a desktop has a bare PATH; the user's
//! login shell knows the real one, and the keys of providers. It is asked once, and fills what is missing: whoever starts an
//! agent from an activated environment means that one, and the account whose key is set there pays.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::OnceCell;
use vocab::Later;

pub type Vars = Vec<(OsString, OsString)>;

/// How long an interactive login shell may take; prompt frameworks are slow.
const INTERACTIVE_LIMIT: Duration = Duration::from_secs(5);
/// And one that is not interactive.
const PLAIN_LIMIT: Duration = Duration::from_secs(3);
/// Where no shell answers and there is no PATH at all.
const PATH_FALLBACK: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
/// What the shell is told to print: its variables, each ended by a NUL.
const PRINT: &str = "env -0";

/// What is taken from the shell.
const WANTED: [&str; 16] = [
    "PATH",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_TOKEN",
    "ANTHROPIC_BASE_URL",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OPENROUTER_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "DEEPSEEK_API_KEY",
    "XAI_API_KEY",
    "HERMES_HOME",
];

/// Runs the user's shell. A port: tests have no shell, and the product puts it on a leash.
pub trait Probe: Send + Sync {
    /// What it printed, or `None` when it failed or took longer than the limit.
    fn run<'a>(&'a self, argv: &'a [OsString], env: &'a Vars, limit: Duration) -> Later<'a, Option<Vec<u8>>>;
}

/// Asks nobody: our own environment is good as it is.
pub struct NoProbe;

impl Probe for NoProbe {
    fn run<'a>(&'a self, _: &'a [OsString], _: &'a Vars, _: Duration) -> Later<'a, Option<Vec<u8>>> {
        Box::pin(async { None })
    }
}

/// The login shell's answer, asked for once.
pub struct LoginShell {
    probe: Box<dyn Probe>,
    shell: OsString,
    found: OnceCell<Vars>,
}

impl LoginShell {
    pub fn new(probe: impl Probe + 'static, shell: Option<OsString>) -> Self {
        let shell = shell.filter(|shell| !shell.is_empty()).unwrap_or_else(|| "/bin/sh".into());
        Self { probe: Box::new(probe), shell, found: OnceCell::new() }
    }

    /// The environment of an agent, made from ours.
    pub async fn environment(&self, ours: &Vars) -> Vars {
        let found = self.found.get_or_init(|| self.ask(ours)).await;
        merged(ours, found)
    }

    async fn ask(&self, ours: &Vars) -> Vars {
        // A prompt framework that thinks it has a terminal may wait for one.
        let mut env: Vars = ours.iter().filter(|(name, _)| name != "TERM" && name != "PS1").cloned().collect();
        env.extend([("TERM".into(), "dumb".into()), ("PS1".into(), "".into())]);
        for (flags, limit) in [(&["-l", "-i", "-c"][..], INTERACTIVE_LIMIT), (&["-l", "-c"][..], PLAIN_LIMIT)] {
            let words = flags.iter().chain([&PRINT]).map(OsString::from);
            let argv: Vec<OsString> = std::iter::once(self.shell.clone()).chain(words).collect();
            let said = self.probe.run(&argv, &env, limit).await;
            let found = said.map(|bytes| wanted(&bytes)).unwrap_or_default();
            if found.iter().any(|(name, _)| name == "PATH") {
                return found;
            }
        }
        Vars::new()
    }
}

/// The variables on our list; an rc file's chatter around them falls away.
fn wanted(printed: &[u8]) -> Vars {
    let pairs = printed.split(|byte| *byte == 0).filter_map(|pair| {
        let at = pair.iter().position(|byte| *byte == b'=')?;
        // Chatter ends in a line break before the first name.
        let name = pair[..at].rsplit(|byte| *byte == b'\n').next()?;
        WANTED
            .iter()
            .any(|wanted| wanted.as_bytes() == name)
            .then(|| (OsString::from_vec(name.to_vec()), OsString::from_vec(pair[at + 1..].to_vec())))
    });
    pairs.filter(|(_, value)| !value.is_empty()).collect()
}

/// Ours, with what only the shell knows, without a terminal.
fn merged(ours: &Vars, found: &Vars) -> Vars {
    let value = |vars: &'_ Vars, wanted: &OsStr| vars.iter().find(|(name, _)| name == wanted).map(|(_, it)| it.clone());
    let is_made_here = |name: &OsStr| ["TERM", "NO_COLOR", "PATH"].iter().any(|made| name == *made);
    let kept = ours.iter().filter(|(name, _)| !is_made_here(name));
    // What is set to nothing is set, too.
    let filled = found.iter().filter(|(name, _)| !is_made_here(name) && value(ours, name).is_none());
    let path = path(value(ours, OsStr::new("PATH")), value(found, OsStr::new("PATH")));
    kept.chain(filled).cloned().chain([("NO_COLOR".into(), "1".into()), ("PATH".into(), path)]).collect()
}

/// Our directories as they are, and behind them those that only the shell has.
fn path(ours: Option<OsString>, found: Option<OsString>) -> OsString {
    let mut path = ours.unwrap_or_default();
    let mut known: HashSet<PathBuf> = std::env::split_paths(&path).collect();
    for directory in std::env::split_paths(&found.unwrap_or_default()) {
        if directory.as_os_str().is_empty() || !known.insert(directory.clone()) {
            continue;
        }
        if !path.is_empty() {
            path.push(":");
        }
        path.push(directory);
    }
    if path.is_empty() { PATH_FALLBACK.into() } else { path }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    /// Answers by script and remembers what it was asked.
    struct FakeShell {
        answers: Mutex<Vec<Option<&'static [u8]>>>,
        asked: Arc<Mutex<Vec<String>>>,
    }

    impl Probe for FakeShell {
        fn run<'a>(&'a self, argv: &'a [OsString], env: &'a Vars, limit: Duration) -> Later<'a, Option<Vec<u8>>> {
            let term = env.iter().find(|(name, _)| name == "TERM").map(|(_, value)| value.clone()).unwrap();
            let words: Vec<String> = argv.iter().map(|word| word.to_string_lossy().into_owned()).collect();
            let line = format!("{} {} s TERM={}", words.join(" "), limit.as_secs(), term.to_string_lossy());
            self.asked.lock().unwrap().push(line);
            let answer = self.answers.lock().unwrap().remove(0);
            Box::pin(async move { answer.map(<[u8]>::to_vec) })
        }
    }

    fn vars(pairs: &[(&str, &str)]) -> Vars {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    fn shell(answers: &[Option<&'static [u8]>]) -> (LoginShell, Arc<Mutex<Vec<String>>>) {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let fake = FakeShell { answers: Mutex::new(answers.to_vec()), asked: asked.clone() };
        (LoginShell::new(fake, Some("/bin/zsh".into())), asked)
    }

    #[tokio::test]
    async fn what_is_set_wins_the_shell_fills_what_is_missing_and_is_asked_once() {
        let printed = b"hello from .zshrc\nPATH=/opt/bin:/bin:/usr/bin\0SECRET=x\0OPENAI_API_KEY=k\0GEMINI_API_KEY=g\0\
                        MISTRAL_API_KEY=m\0TERM=dumb\0EDITOR=vi\0";
        let (shell, asked) = shell(&[Some(printed)]);
        let ours = vars(&[
            ("PATH", "/venv/bin:/bin"),
            ("TERM", "xterm"),
            ("EDITOR", "ed"),
            ("NO_COLOR", ""),
            ("OPENAI_API_KEY", "mine"),
            ("MISTRAL_API_KEY", ""),
        ]);
        let wanted = vars(&[
            ("EDITOR", "ed"),
            ("OPENAI_API_KEY", "mine"),
            ("MISTRAL_API_KEY", ""),
            ("GEMINI_API_KEY", "g"),
            ("NO_COLOR", "1"),
            ("PATH", "/venv/bin:/bin:/opt/bin:/usr/bin"),
        ]);
        assert_eq!(shell.environment(&ours).await, wanted);
        assert_eq!(shell.environment(&ours).await, wanted);
        assert_eq!(*asked.lock().unwrap(), ["/bin/zsh -l -i -c env -0 5 s TERM=dumb"]);
    }

    #[tokio::test]
    async fn a_shell_that_hangs_is_asked_in_a_simpler_way_and_then_left_alone() {
        let (first, asked) = shell(&[None, Some(b"PATH=/from/login\0")]);
        let env = first.environment(&vars(&[("PATH", "/bin")])).await;
        assert_eq!(env, vars(&[("NO_COLOR", "1"), ("PATH", "/bin:/from/login")]));
        assert_eq!(asked.lock().unwrap()[1], "/bin/zsh -l -c env -0 3 s TERM=dumb");
        let (second, _) = shell(&[None, None]);
        assert_eq!(second.environment(&Vars::new()).await, vars(&[("NO_COLOR", "1"), ("PATH", PATH_FALLBACK)]));
    }
}
