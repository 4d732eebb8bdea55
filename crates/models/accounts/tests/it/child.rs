//! The other process of tests that need two: this test binary again, told by a variable what to do.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use accounts::{Account, Key};
use accounts::{Auth, SystemTimer};
use vocab::Secret;

use crate::support::config;

const VARIABLE: &str = "TILLERMAN_AUTH_TEST_CHILD";
pub(crate) const KEYS_EACH: usize = 25;

/// `what` is a word, the directory and the issuer, one per line.
pub(crate) fn spawn(what: &str, directory: &Path, issuer: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child::the_other_process", "--nocapture"])
        .env(VARIABLE, format!("{what}\n{}\n{issuer}", directory.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Does nothing unless another test has started it.
#[test]
fn the_other_process() {
    let Ok(task) = std::env::var(VARIABLE) else { return };
    let mut lines = task.lines();
    let (what, directory, issuer) =
        (lines.next().unwrap(), PathBuf::from(lines.next().unwrap()), lines.next().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let auth = Auth::new(config(issuer), &directory, Arc::new(SystemTimer));
    runtime.block_on(async {
        match what {
            "openrouter" | "exa" => {
                let key = if what == "exa" { Key::Exa } else { Key::OpenRouter };
                for number in 0..KEYS_EACH {
                    auth.set_key(key, Secret::new(&format!("{what}-{number}"))).await.unwrap();
                    // Nobody else writes this key: what is not there any more was lost.
                    assert_eq!(auth.key(key).await.unwrap().unwrap().expose(), format!("{what}-{number}"));
                }
            }
            "refresh" => {
                assert_eq!(auth.access_token(Account::OpenAi).await.unwrap().expose(), "new");
            }
            "die while writing" => {
                let replace = Arc::new(|path: &Path, bytes: &[u8]| {
                    // Half a file beside the real one is the most that a crash can leave.
                    std::fs::write(path.with_extension("half"), &bytes[..bytes.len() / 2]).unwrap();
                    std::process::abort()
                });
                let auth = Auth::with_replace(config(issuer), &directory, Arc::new(SystemTimer), replace);
                let _ = auth.access_token(Account::OpenAi).await;
            }
            other => panic!("{other}"),
        }
    });
}
