//! An agent on this machine.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use process::{Launched, Launcher, Program};
use tokio::io::AsyncReadExt;
use vocab::Later;

use super::{Channel, LoginShell, Probe, Vars, find_program};

/// What a login shell may print; more than this is no environment.
const PROBE_BYTES_MAX: u64 = 1024 * 1024;

pub struct ProcessChannel {
    pub argv: Vec<OsString>,
    pub cwd: PathBuf,
    /// Our own environment; the login shell fills what is missing in it.
    pub env: Vars,
    pub login: Arc<LoginShell>,
    pub launcher: Arc<dyn Launcher>,
}

impl Channel for ProcessChannel {
    fn open(&self) -> Later<'_, io::Result<Launched>> {
        Box::pin(async move {
            let (name, args) = self.argv.split_first().ok_or_else(|| io::Error::other("there is no command"))?;
            let env = self.login.environment(&self.env).await;
            let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
            // Looked up here: a launcher may go through a shell, which says "not found" in its own way.
            let found = find_program(name, path, &self.cwd).ok_or_else(|| {
                io::Error::new(io::ErrorKind::NotFound, format!("{}: not found", name.to_string_lossy()))
            })?;
            let argv = std::iter::once(found.into_os_string()).chain(args.iter().cloned()).collect();
            self.launcher.launch(&Program { argv, cwd: self.cwd.clone(), env, joined: false }).await
        })
    }

    fn command(&self) -> Vec<String> {
        self.argv.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }
}

/// Runs the real shell through a launcher.
pub struct ShellProbe(pub Arc<dyn Launcher>);

impl Probe for ShellProbe {
    fn run<'a>(&'a self, argv: &'a [OsString], env: &'a Vars, limit: Duration) -> Later<'a, Option<Vec<u8>>> {
        Box::pin(async move {
            let program = Program { argv: argv.to_vec(), cwd: "/".into(), env: env.clone(), joined: false };
            let asking = async {
                let started = self.0.launch(&program).await.ok()?;
                // Its stdin ends at once; its complaints are nobody's business, but must not block it.
                drop(started.input);
                let mut errors = started.errors;
                let mut printed = Vec::new();
                let mut output = started.output.take(PROBE_BYTES_MAX);
                let mut nowhere = tokio::io::sink();
                let quiet = tokio::io::copy(&mut errors, &mut nowhere);
                tokio::select! {
                    read = output.read_to_end(&mut printed) => read.ok()?,
                    // A stderr that ends first leaves the output to be read.
                    _ = async { let _ = quiet.await; std::future::pending::<()>().await } => return None,
                };
                drop(started.process);
                Some(printed)
            };
            tokio::time::timeout(limit, asking).await.ok().flatten()
        })
    }
}
