//! Where a conversation goes on line after line: at a console, at a terminal that cannot be drawn on, or through a pipe.

use std::fs::File;
use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::piped_lines::piped_lines;
use crate::{Console, ConsoleOutput, KeyboardUse, StandardStreams, TYPED_MAX, TerminalGuard, Typed, terminal_lines};

pub struct Interaction {
    pub console: Console,
    /// The terminal is given back when this goes.
    guard: TerminalGuard,
    output: ConsoleOutput<host::Output>,
    lines: mpsc::Receiver<Typed>,
    typed: mpsc::Sender<Typed>,
}

impl Interaction {
    /// Takes stdin and stdout.
    pub fn take(streams: &StandardStreams, keys: KeyboardUse) -> io::Result<Self> {
        let (typed, lines) = mpsc::channel(TYPED_MAX);
        let person = streams.stdin_terminal && (streams.stdout_terminal || matches!(keys, KeyboardUse::Answers));
        let keys = if person && streams.draws { keys } else { KeyboardUse::Nothing };
        let (console, guard) = streams.console(keys, typed.clone())?;
        let mut wishes = match person && !console.has_keyboard() {
            true => terminal_lines(console.clone(), typed.clone()),
            false => None,
        };
        let from_keys = console.has_keyboard() || wishes.is_some();
        if from_keys {
            // A second reader would take every other line.
            rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
        }
        let unusable = |error: io::Error| io::Error::new(error.kind(), format!("cannot use stdin and stdout: {error}"));
        let (input, output) = host::take().map_err(unusable)?;
        if !from_keys {
            wishes = Some(piped_lines(input, typed.clone()));
        }
        let output = streams.output(output, &console, wishes);
        Ok(Self { console, guard, output, lines, typed })
    }

    /// What holds the terminal, what is written, what is said.
    pub fn parts(self) -> (TerminalGuard, ConsoleOutput<host::Output>, mpsc::Receiver<Typed>) {
        (self.guard, self.output, self.lines)
    }

    /// From here on interrupts are heard where lines are, and the signals that end us, too.
    pub fn begins(&self) {
        self.begins_elsewhere();
        tokio::spawn(pass_ends(self.typed.clone()));
    }

    /// The same where the conversation is held by another process, which goes on when we end: only interrupts are for it.
    pub fn begins_elsewhere(&self) {
        self.console.begins();
        tokio::spawn(pass_interrupts(self.console.clone(), self.typed.clone()));
    }
}

/// Ctrl-C interrupts a turn, and the conversation goes on.
async fn pass_interrupts(console: Console, typed: mpsc::Sender<Typed>) {
    let Ok(mut interrupt) = signal(SignalKind::interrupt()) else { return };
    while interrupt.recv().await.is_some() {
        match console.has_keyboard() {
            true => console.interrupt(),
            false => drop(typed.send(Typed::Interrupt).await),
        }
    }
}

/// These end it in order.
async fn pass_ends(typed: mpsc::Sender<Typed>) {
    let [Ok(mut terminate), Ok(mut hangup)] = [SignalKind::terminate(), SignalKind::hangup()].map(signal) else {
        return;
    };
    loop {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
        let _ = typed.send(Typed::Interrupt).await;
        let _ = typed.send(Typed::End).await;
    }
}
