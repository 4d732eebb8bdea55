//! Screen and keyboard of a person. Everything that is written to a terminal during a conversation goes through here, and
//! everything that is typed comes from here: so a sign of life, lines that wait and a half-typed line can stand below the
//! text without ever getting into it. What to show is decided in `screen`, pure; what keys do in `line_editor`, pure.
//!
//! Where there is no terminal, there is no console, and nothing of this costs anything.

mod edit_buffer;
mod feed;
mod history;
mod inner;
mod interaction;
mod key_reader;
mod keys;
mod line_editor;
mod output;
mod piped_lines;
mod screen;
pub mod secret_line;
mod signals;
mod spinner;
mod streams;
mod terminal_lines;
#[cfg(test)]
mod test_screen;
mod tty;
mod word_wrap;

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};

use dialect_terminal::{Paint, WantedLine};
use tokio::sync::mpsc;

use history::History;
use inner::{ConsoleInner, ConsoleState, Keyboard};
use keys::KeyDecoder;
use screen::Screen;

pub use feed::{FEED_BYTES, feed_lines};
pub use interaction::Interaction;
pub use line_editor::Complete;
pub use output::{ConsoleOutput, OutputPlace};
pub use streams::{StandardStreams, wants_colours};
pub use terminal_lines::terminal_lines;

/// Lines and interrupts on their way. A line is sent only when one is wanted.
pub const TYPED_MAX: usize = 16;

/// What a person says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Typed {
    /// Typed at a prompt, or ahead of one: no answer to anything.
    Prompt(String),
    /// Whatever was wanted.
    Line(String),
    Interrupt,
    End,
}

/// Which keys are read.
pub enum KeyboardUse {
    /// All, always: lines may be typed ahead. The file keeps them for another day.
    All { history: Option<PathBuf> },
    /// Those at a question. What is typed at other times is for the program that comes after us.
    Answers,
    /// None: the person is not asked.
    Nothing,
}

/// The screen that is read.
pub struct ScreenDevice {
    pub device: OwnedFd,
    pub paint: Paint,
    /// It obeys escape sequences.
    pub draws: bool,
}

/// A handle; all of them are the same console, or none.
#[derive(Clone, Default)]
pub struct Console(Option<Arc<ConsoleInner>>);

/// Ends the console together with the command that began it, and gives the terminal back as it was.
pub struct TerminalGuard(Console);

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        self.0.close();
    }
}

impl Console {
    /// For those who want none.
    pub fn none() -> (Self, TerminalGuard) {
        (Self::default(), TerminalGuard(Self::default()))
    }

    /// Without a screen there is none. Must run on a runtime.
    pub fn open(
        device: Option<ScreenDevice>,
        keys: KeyboardUse,
        typed: mpsc::Sender<Typed>,
    ) -> io::Result<(Self, TerminalGuard)> {
        let Some(ScreenDevice { device, paint, draws }) = device else {
            return Ok(Self::none());
        };
        let (woken, wake) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let mut screen = Screen::new(paint, draws);
        let keyboard = match keys {
            KeyboardUse::All { history } => Keyboard::new(true, history, wake),
            KeyboardUse::Answers => Keyboard::new(false, None, wake),
            KeyboardUse::Nothing => None,
        };
        if let Some(file) = keyboard.as_ref().and_then(|keyboard| keyboard.history.as_deref()) {
            screen.editor.history = History::new(history::read(file));
        }
        let state =
            ConsoleState { screen, decoder: KeyDecoder::default(), typed, talking: false, away: false, closed: false };
        let inner = Arc::new(ConsoleInner { state: Mutex::new(state), changed: Condvar::new(), device, keyboard });
        let console = Self(Some(inner.clone()));
        let guard = TerminalGuard(console.clone());
        inner.take_terminal();
        signals::spawn(inner.clone());
        let ticker = inner.clone();
        std::thread::Builder::new().name("sign of life".into()).spawn(move || ticker.tick())?;
        if inner.keyboard.is_some() {
            std::thread::Builder::new().name("keys".into()).spawn(move || key_reader::run(&inner, &woken))?;
        }
        Ok((console, guard))
    }

    /// Questions can be asked here, and answered.
    pub fn has_keyboard(&self) -> bool {
        self.0.as_ref().is_some_and(|inner| inner.keyboard.is_some())
    }

    pub fn exists(&self) -> bool {
        self.0.is_some()
    }

    /// From here on the conversation deals with interrupts; before, they end the process.
    pub fn begins(&self) {
        if let Some(inner) = &self.0 {
            inner.lock().talking = true;
        }
    }

    /// What Tab knows.
    pub fn completes_with(&self, complete: Complete) {
        if let Some(inner) = &self.0 {
            inner.lock().screen.editor.complete = Some(complete);
        }
    }

    /// More of the conversation.
    pub fn text(&self, text: &str) -> io::Result<()> {
        match &self.0 {
            Some(inner) => inner.apply(|screen, now, size| screen.text(text, now, size)),
            None => Ok(()),
        }
    }

    /// Shows what is waited for until it is something else, or `None`.
    pub fn waits(&self, what: Option<&str>) {
        if let Some(inner) = &self.0 {
            let _ = inner.apply(|screen, now, size| screen.waits(what, now, size));
        }
    }

    /// One line for stderr, broken where it is long, with nothing of ours in its way.
    pub fn aside(&self, line: &str) {
        let Some(inner) = &self.0 else { return host::note_whole(line) };
        let _ = inner.apply(|screen, _, size| screen.hide(size));
        host::note_whole(line);
        let _ = inner.apply(|screen, now, size| screen.redrawn(now, size));
    }

    /// Another program writes to the same screen from now on, and nothing of ours may move there.
    pub fn shares_screen(&self) {
        if let Some(inner) = &self.0 {
            let _ = inner.apply(|screen, _, size| screen.shared(size));
        }
    }

    /// A line is wanted. A question is answered by what is typed from now on, and by nothing that was typed before.
    pub fn want(&self, want: WantedLine) {
        let Some(inner) = &self.0 else { return };
        let mut state = inner.lock();
        if want != WantedLine::Prompt
            && let Some(keyboard) = &inner.keyboard
        {
            match keyboard.always {
                true => drop(inner.read_keys(&mut state)),
                false => tty::forget_typed(&keyboard.tty),
            }
        }
        inner.hear(&mut state, |screen, now, size| screen.wanted(want, now, size));
        drop(state);
        inner.wake();
    }

    /// The terminal's own echo ended the line on the screen.
    fn line_ended(&self) {
        if let Some(inner) = &self.0 {
            inner.lock().screen.line_ended();
        }
    }

    /// Ctrl-C.
    pub fn interrupt(&self) {
        if let Some(inner) = &self.0 {
            inner.hear(&mut inner.lock(), Screen::interrupted);
        }
    }

    fn close(&self) {
        let Some(inner) = &self.0 else { return };
        let mut state = inner.lock();
        if !std::mem::replace(&mut state.closed, true) {
            inner.leave_terminal(&mut state);
        }
        drop(state);
        inner.changed.notify_all();
        inner.wake();
    }
}
