//! What the binary itself says on stdout and stderr, outside any conversation.

use std::io::Write;

use console::wants_colours;
use dialect_terminal::clean;
use vocab::Fault;

/// Writes for people: nothing in it is obeyed by a terminal, whoever wrote it.
pub(crate) fn say(text: &str) -> std::io::Result<()> {
    exactly(&clean(text))
}

/// Anything in one line that no terminal obeys.
pub(crate) fn one_line(text: &str) -> String {
    clean(text).replace(['\n', '\t'], " ")
}

/// Writes to stdout as it is: for programs, and for colours of our own around text that is clean already. A reader that
/// went away is no error: `tillerman sessions list | head -1`.
pub(crate) fn exactly(text: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// `error: ...` and one `hint: ...` per hint, on stderr.
pub(crate) fn error(message: &str, hints: &[String]) {
    let (red, cyan, reset) =
        if wants_colours(&std::io::stderr()) { ("\x1b[1;31m", "\x1b[36m", "\x1b[0m") } else { ("", "", "") };
    let mut text = format!("{red}error:{reset} {}\n", clean(message));
    for hint in hints {
        text.push_str(&format!("{cyan}hint:{reset} {}\n", clean(hint)));
    }
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Something that is worth a line but stops nothing.
pub(crate) fn warning(message: &str) {
    let (yellow, reset) = if wants_colours(&std::io::stderr()) { ("\x1b[33m", "\x1b[0m") } else { ("", "") };
    let text = format!("{yellow}warning:{reset} {}\n", clean(message));
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// What ended a command. A fault anywhere in the chain brings its hints along.
pub(crate) fn report(report: &anyhow::Error) {
    let hints = report.chain().filter_map(|cause| cause.downcast_ref::<Fault>()).flat_map(|fault| fault.hints.clone());
    error(&format!("{report:#}"), &hints.collect::<Vec<_>>());
}
