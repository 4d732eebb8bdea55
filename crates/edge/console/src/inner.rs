//! What all handles of a console share: the screen, the keyboard, and the thread that moves the spinner. What to show is
//! decided in [`crate::screen`]; here it is written.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use dialect_terminal::{LINE_JOIN, ScreenSize, WantedLine};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use tokio::sync::mpsc;

use crate::keys::{KeyDecoder, KeyPress};
use crate::line_editor::KeyEffect;
use crate::screen::Screen;
use crate::tty::{self, TerminalModes};
use crate::{Typed, history, spinner};

/// Interrupts are not sent when there is room for no more than this: a line must always find some.
const TYPED_SPARE: usize = 4;
/// Tells the terminal to mark what is pasted, and to stop it.
const PASTES_ON: &str = "\x1b[?2004h";
const PASTES_OFF: &str = "\x1b[?2004l";

pub(crate) struct ConsoleInner {
    pub(crate) state: Mutex<ConsoleState>,
    /// Something is waited for now, or it is all over.
    pub(crate) changed: Condvar,
    pub(crate) device: OwnedFd,
    pub(crate) keyboard: Option<Keyboard>,
}

pub(crate) struct Keyboard {
    pub(crate) tty: File,
    pub(crate) settings: TerminalModes,
    /// Keys are read also while nothing is wanted.
    pub(crate) always: bool,
    pub(crate) history: Option<PathBuf>,
    /// A byte in it wakes the thread that reads.
    pub(crate) wake: OwnedFd,
}

pub(crate) struct ConsoleState {
    pub(crate) screen: Screen,
    pub(crate) decoder: KeyDecoder,
    pub(crate) typed: mpsc::Sender<Typed>,
    /// The conversation deals with interrupts.
    pub(crate) talking: bool,
    /// Another process has the terminal for now.
    pub(crate) away: bool,
    pub(crate) closed: bool,
}

impl Keyboard {
    pub(crate) fn new(always: bool, history: Option<PathBuf>, wake: OwnedFd) -> Option<Self> {
        let tty = tty::keyboard()?;
        let settings = TerminalModes::of(&tty)?;
        Some(Self { tty, settings, always, history, wake })
    }
}

impl ConsoleInner {
    pub(crate) fn lock(&self) -> MutexGuard<'_, ConsoleState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn apply(&self, change: impl FnOnce(&mut Screen, Instant, ScreenSize) -> String) -> io::Result<()> {
        let mut state = self.lock();
        let written = self.draw(&mut state, change);
        if state.screen.moves() {
            self.changed.notify_all();
        }
        written
    }

    /// Writes what a change of the screen comes to.
    pub(crate) fn draw(
        &self,
        state: &mut ConsoleState,
        change: impl FnOnce(&mut Screen, Instant, ScreenSize) -> String,
    ) -> io::Result<()> {
        // From behind another process nothing is drawn; text is written as any program writes it.
        state.screen.behind = state.away || state.closed || !tty::is_in_front(&self.device);
        let size = tty::size(&self.device);
        let out = change(&mut state.screen, Instant::now(), size);
        self.write(out.as_bytes())
    }

    /// As [`ConsoleInner::draw`]; what was heard goes to the conversation.
    pub(crate) fn hear(
        &self,
        state: &mut ConsoleState,
        change: impl FnOnce(&mut Screen, Instant, ScreenSize) -> (KeyEffect, String),
    ) {
        let mut said = KeyEffect::Nothing;
        let _ = self.draw(state, |screen, now, size| {
            let (heard, out) = change(screen, now, size);
            said = heard;
            out
        });
        if let Some(file) = self.keyboard.as_ref().and_then(|keyboard| keyboard.history.as_deref()) {
            // A history that cannot be written must not disturb the conversation.
            state.screen.editor.new_history.drain(..).for_each(|line| drop(history::append(file, &line)));
        }
        let typed = match said {
            KeyEffect::Nothing | KeyEffect::ClearScreen => return,
            KeyEffect::Line { want, text } => {
                let text = text.replace('\n', LINE_JOIN.encode_utf8(&mut [0; 4]));
                if want == WantedLine::Prompt { Typed::Prompt(text) } else { Typed::Line(text) }
            }
            KeyEffect::Interrupt if state.typed.capacity() <= TYPED_SPARE => return,
            KeyEffect::Interrupt => Typed::Interrupt,
            KeyEffect::End => Typed::End,
        };
        // Without a receiver the conversation is over.
        let _ = state.typed.try_send(typed);
    }

    pub(crate) fn write(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match rustix::io::write(&self.device, bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => bytes = &bytes[count..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => drop(poll(&mut [PollFd::new(&self.device, PollFlags::OUT)], None)?),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    pub(crate) fn tick(&self) {
        let mut state = self.lock();
        while !state.closed {
            state = match state.screen.moves() {
                false => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                true => {
                    let waited = self.changed.wait_timeout(state, spinner::FRAME / 2);
                    let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
                    if state.screen.is_due(Instant::now()) {
                        let _ = self.draw(&mut state, Screen::redrawn);
                    }
                    state
                }
            };
        }
    }

    // ---- the keyboard -------------------------------------------------------------------------------------------

    /// Keys that can be read are ours to read.
    pub(crate) fn listens(&self, state: &ConsoleState) -> bool {
        let always = self.keyboard.as_ref().is_some_and(|keyboard| keyboard.always);
        !state.away && !state.closed && (always || state.screen.editor.want.is_some())
    }

    /// Everything that was typed so far. False: nothing will be typed any more.
    pub(crate) fn read_keys(&self, state: &mut ConsoleState) -> bool {
        let Some(keyboard) = &self.keyboard else { return false };
        let mut bytes = [0; 1024];
        while self.listens(state) {
            match rustix::io::read(&keyboard.tty, &mut bytes) {
                Ok(count) if count > 0 => {
                    for key in state.decoder.feed(&bytes[..count]) {
                        self.press(state, key);
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return true,
                Ok(_) | Err(_) => {
                    let _ = state.typed.try_send(Typed::End);
                    return false;
                }
            }
        }
        true
    }

    pub(crate) fn press(&self, state: &mut ConsoleState, key: KeyPress) {
        self.hear(state, |screen, now, size| screen.key(key, now, size));
    }

    pub(crate) fn wake(&self) {
        if let Some(keyboard) = &self.keyboard {
            let _ = rustix::io::write(&keyboard.wake, &[0]);
        }
    }

    pub(crate) fn take_terminal(&self) {
        if let Some(keyboard) = &self.keyboard {
            keyboard.settings.take_keys(&keyboard.tty);
            if keyboard.always {
                let _ = self.write(PASTES_ON.as_bytes());
            }
        }
    }

    /// As it was before us, with nothing of ours below the text.
    pub(crate) fn leave_terminal(&self, state: &mut ConsoleState) {
        let _ = self.draw(state, |screen, _, size| screen.hide(size));
        if let Some(keyboard) = &self.keyboard {
            if keyboard.always && tty::is_in_front(&keyboard.tty) {
                let _ = self.write(PASTES_OFF.as_bytes());
            }
            keyboard.settings.restore(&keyboard.tty);
        }
    }
}
