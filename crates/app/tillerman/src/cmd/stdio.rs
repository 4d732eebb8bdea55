//! What the commands have in common that speak a protocol on stdin and stdout: how they are held, how they end, and how
//! they say that they cannot start.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use host::{FrameLog, OwnCalls};
use vocab::{Fault, FaultKind, IdKind, Ids, Keyring, OnRestart};
use wire::Dialect;

use crate::compose::Wired;
use crate::extension_host::ExtensionHost;

/// It could not start.
pub(super) const FAILED: u8 = 1;

/// How long a line may be, how long a turn may go on once the other side is gone, and what is said to people on stderr.
pub(super) struct StdioLimits {
    pub(super) line_bytes_max: usize,
    pub(super) grace: Duration,
    pub(super) notes: fn(&str),
}

impl Default for StdioLimits {
    fn default() -> Self {
        let usual = host::PumpOptions::default();
        Self { line_bytes_max: usual.frame_bytes_max, grace: usual.grace, notes: usual.notes }
    }
}

/// Runs a command to its end; `refuse` says why it could not start.
pub(super) fn run(
    start: impl Future<Output = Result<u8, Fault>>,
    refuse: impl FnOnce(&Fault) -> u8,
) -> anyhow::Result<u8> {
    Ok(super::block_on(start)?.unwrap_or_else(|fault| refuse(&fault)))
}

/// A log of all frames, where one was asked for.
pub(super) fn frame_log(path: Option<&Path>, keyring: &Keyring) -> Result<Option<FrameLog>, Fault> {
    let log = path.map(|path| FrameLog::open(path, keyring.clone())).transpose();
    log.map_err(|error| Fault::new(FaultKind::Invalid, format!("cannot write the frame log: {error}")))
}

/// One conversation on stdin and stdout, and the end of everything behind it.
pub(super) async fn converse(
    dialect: impl Dialect<Own = wire::NoOwn> + 'static,
    wired: &Wired,
    extension_host: ExtensionHost,
    frame_log: Option<FrameLog>,
    limits: StdioLimits,
) -> Result<u8, Fault> {
    converse_with(dialect, host::NoOwnCalls, wired, extension_host, frame_log, limits).await
}

/// The same for a dialect with calls of its own, which `own` answers.
pub(super) async fn converse_with<D: Dialect + 'static>(
    dialect: D,
    own: impl OwnCalls<D::Own> + 'static,
    wired: &Wired,
    extension_host: ExtensionHost,
    frame_log: Option<FrameLog>,
    limits: StdioLimits,
) -> Result<u8, Fault> {
    let code = match host::take() {
        Ok((input, output)) => {
            let StdioLimits { line_bytes_max, grace, notes } = limits;
            let (frame_bytes_max, deaf) = (line_bytes_max, output.gone());
            // Who keeps nothing has nothing to go on with.
            let leaves_work = wired.settings.on_restart == OnRestart::Continue && !wired.settings.ephemeral;
            let usual = host::PumpOptions { signals: true, leaves_work, ..host::PumpOptions::new(own) };
            let options = host::PumpOptions { frame_bytes_max, grace, frame_log, deaf, notes, ..usual };
            // As a task beside the sessions: what wakes the future that a runtime waits for makes it look for events in
            // between, once per delta.
            let engine = wired.engine.clone();
            let pump =
                tokio::spawn(async move { host::pump(dialect, &engine, input, output, options).await.exit_code });
            Ok(pump.await.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic())))
        }
        Err(error) => Err(Fault::new(FaultKind::Internal, format!("cannot use stdin and stdout: {error}"))),
    };
    // A flow that waits for a person must not keep us from ending.
    wired.ports.accounts.cancel_sign_ins("the process is shutting down");
    // Sessions end first: extensions are told of it.
    wired.engine.shutdown().await;
    extension_host.shutdown().await;
    code
}

/// What is wrong and what helps, in one line.
pub(super) fn in_one_line(fault: &Fault) -> String {
    let hints: String = fault.hints.iter().map(|hint| format!("; {hint}")).collect();
    format!("{}{hints}", fault.message)
}

/// One line on stderr behind a word that controllers look for, and the code to end with.
pub(super) fn refuse(word: &str, what: &str, code: u8) -> u8 {
    let line = crate::print::one_line(what);
    // Nobody is left to tell when stderr is gone.
    let _ = writeln!(std::io::stderr().lock(), "{word}: {line}");
    code
}

/// For wires on which sessions, turns and messages are known by whole UUIDs, whatever they are for.
pub(super) struct FullIds;

impl Ids for FullIds {
    fn mint(&self, _: IdKind) -> String {
        uuid::Uuid::now_v7().to_string()
    }
}
