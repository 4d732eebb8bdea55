//! What the binary itself says on stdout and stderr, outside any conversation.

use std::io::{IsTerminal, Write};

use vocab::Fault;

/// Writes for people: nothing in it is obeyed by a terminal, whoever wrote it.
pub(crate) fn say(text: &str) -> std::io::Result<()> {
    exactly(&crate::terminal::clean(text))
}

/// Anything in one line that no terminal obeys.
pub(crate) fn one_line(text: &str) -> String {
    crate::terminal::clean(text).replace(['\n', '\t'], " ")
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

/// Whether a stream gets colours: it is a terminal and nobody objects.
pub(crate) fn colours(stream: &impl IsTerminal) -> bool {
    let objection = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    stream.is_terminal() && !objection && !dumb
}

/// `error: ...` and one `hint: ...` per hint, on stderr.
pub(crate) fn error(message: &str, hints: &[String]) {
    let (red, cyan, reset) =
        if colours(&std::io::stderr()) { ("\x1b[1;31m", "\x1b[36m", "\x1b[0m") } else { ("", "", "") };
    let mut text = format!("{red}error:{reset} {}\n", crate::terminal::clean(message));
    for hint in hints {
        text.push_str(&format!("{cyan}hint:{reset} {}\n", crate::terminal::clean(hint)));
    }
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Something that is worth a line but stops nothing.
pub(crate) fn warning(message: &str) {
    let (yellow, reset) = if colours(&std::io::stderr()) { ("\x1b[33m", "\x1b[0m") } else { ("", "") };
    let text = format!("{yellow}warning:{reset} {}\n", crate::terminal::clean(message));
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// What ended a command. A fault anywhere in the chain brings its hints along.
pub(crate) fn report(report: &anyhow::Error) {
    let hints = report.chain().filter_map(|cause| cause.downcast_ref::<Fault>()).flat_map(|fault| fault.hints.clone());
    error(&format!("{report:#}"), &hints.collect::<Vec<_>>());
}
