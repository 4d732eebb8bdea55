//! Keys and headers of described providers, as a client asks for them: at its first request, and once. Commands that print
//! a key run here.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use providers::{Credentials, Known, Secret};
use tokio::io::AsyncReadExt;
use tokio::process::Command;
use tokio::sync::OnceCell;
use vocab::{Fault, FaultKind, Later};

use crate::config::agent::Word;

/// A command that has not printed its key by then is ended, and the request fails.
const COMMAND_TIME_MAX: Duration = Duration::from_secs(10);
/// More output than this is no key: the request fails.
const OUTPUT_BYTES_MAX: usize = 64 * 1024;

/// One value that is known or will be.
pub(super) struct Held {
    /// What it is, for people: `the API key of mock`.
    what: String,
    word: Word,
    value: OnceCell<Secret>,
    failed: AtomicBool,
}

impl Held {
    pub(super) fn new(what: String, word: Word) -> Arc<Self> {
        let value = OnceCell::new_with(word.plain().cloned());
        Arc::new(Self { what, word, value, failed: AtomicBool::new(false) })
    }

    /// Without running anything.
    pub(super) fn known(&self) -> Option<&Secret> {
        self.value.get()
    }

    /// The last try to get it went wrong.
    pub(super) fn failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    async fn get(&self) -> Result<&Secret, Fault> {
        let value = self.value.get_or_try_init(|| async {
            match &self.word {
                Word::Plain(secret) => Ok(secret.clone()),
                Word::Command(command) => {
                    run(command).await.map_err(|why| {
                        // Neither the command nor its output is shown: both may hold a key.
                        Fault::new(FaultKind::Auth, format!("the command for {} {why}", self.what))
                    })
                }
            }
        });
        let value = value.await;
        self.failed.store(value.is_err(), Ordering::Relaxed);
        value
    }
}

/// What one client sends: the key of its provider and its own headers.
pub(super) struct Purse {
    pub(super) key: Option<Arc<Held>>,
    pub(super) headers: Vec<(String, Arc<Held>)>,
}

impl Purse {
    /// `None`: something has to be fetched first.
    pub(super) fn known(&self) -> Option<Known> {
        let key = match &self.key {
            Some(key) => Some(key.known()?.clone()),
            None => None,
        };
        let headers = self.headers.iter().map(|(name, value)| Some((name.clone(), value.known()?.clone())));
        Some(Known { key, headers: headers.collect::<Option<_>>()? })
    }
}

impl Credentials for Purse {
    fn fetch(&self) -> Later<'_, Result<Known, Fault>> {
        Box::pin(async {
            let key = match &self.key {
                Some(key) => Some(key.get().await?.clone()),
                None => None,
            };
            let mut headers = Vec::with_capacity(self.headers.len());
            for (name, value) in &self.headers {
                headers.push((name.clone(), value.get().await?.clone()));
            }
            Ok(Known { key, headers })
        })
    }
}

/// What a shell command prints, without the blanks around it.
async fn run(command: &Secret) -> Result<Secret, String> {
    // It reads nothing of ours and writes nowhere but to us: stdin and stdout belong to a protocol.
    let mut child = Command::new("/bin/sh")
        .args(["-c", command.expose()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| format!("cannot be started: {error}"))?;
    let output = child.stdout.take().expect("it was piped");
    let finish = async {
        let mut text = Vec::new();
        output.take(OUTPUT_BYTES_MAX as u64 + 1).read_to_end(&mut text).await.map_err(|error| error.to_string())?;
        if text.len() > OUTPUT_BYTES_MAX {
            return Err(format!("printed more than {OUTPUT_BYTES_MAX} bytes"));
        }
        let status = child.wait().await.map_err(|error| error.to_string())?;
        if !status.success() {
            return Err(format!("failed ({status})"));
        }
        let text = String::from_utf8(text).map_err(|_| "printed something that is not text".to_owned())?;
        Secret::new(&text).ok_or_else(|| "printed nothing".to_owned())
    };
    let limit = COMMAND_TIME_MAX.as_secs();
    tokio::time::timeout(COMMAND_TIME_MAX, finish).await.unwrap_or_else(|_| Err(format!("took longer than {limit} s")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(command: &str) -> Arc<Held> {
        Held::new("the API key of mock".into(), Word::Command(Secret::new(command).unwrap()))
    }

    #[tokio::test]
    async fn a_command_runs_when_it_is_needed_and_once() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("runs");
        let held = held(&format!("echo x >> '{}'; echo ' sk-canary-1 '", file.display()));
        let purse = Purse { key: Some(held.clone()), headers: vec![("X-Key".into(), held.clone())] };
        assert!(!file.exists() && purse.known().is_none());
        for _ in 0..3 {
            let known = purse.fetch().await.unwrap();
            assert_eq!(known.key.unwrap().expose(), "sk-canary-1");
            assert_eq!(known.headers[0].1.expose(), "sk-canary-1");
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "x\n", "it ran once");
        assert!(purse.known().is_some() && !held.failed());
    }

    #[tokio::test]
    async fn a_command_that_fails_says_so_and_shows_nothing() {
        for (command, why) in [
            ("echo sk-canary; exit 3", "failed (exit status: 3)"),
            ("echo ' ' # canary", "printed nothing"),
            ("no-such-canary-program", "failed (exit status: 127)"),
            ("printf '\\377canary'", "printed something that is not text"),
            ("yes canary", "printed more than 65536 bytes"),
        ] {
            let held = held(command);
            let fault = held.get().await.unwrap_err();
            assert_eq!(fault.message, format!("the command for the API key of mock {why}"));
            assert_eq!(fault.kind, FaultKind::Auth);
            assert!(held.failed(), "{command}");
            assert!(!format!("{fault:?}").contains("canary"));
        }
    }
}
