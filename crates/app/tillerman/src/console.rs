//! Screen and keyboard of a person. Everything that is written to a terminal during a conversation goes through here, and
//! everything that is typed comes from here: so a sign of life, lines that wait and a half-typed line can stand below the
//! text without ever getting into it. What to show is decided in [`board`]; this file only does it.
//!
//! Where there is no terminal, there is no console, and nothing of this costs anything.

mod board;
mod cooked;
mod flow;
#[cfg(test)]
mod glass;
mod history;
mod keys;
mod line;
mod output;
mod reader;
mod signals;
pub(crate) mod tty;
mod typing;
mod waiting;

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use tokio::sync::mpsc;

use crate::terminal::{LINE_JOIN, Paint, Size, Want};

use board::Board;
use history::History;
use keys::{Decoder, Key};
use tty::Settings;
use typing::Heard;

pub(crate) use cooked::lines_of as cooked_lines;
pub(crate) use output::{Output, Place};
pub(crate) use typing::Complete;

/// Lines and interrupts on their way. A line is sent only when one is wanted.
pub(crate) const TYPED_MAX: usize = 16;
/// Interrupts are not sent when there is room for no more than this: a line must always find some.
const TYPED_SPARE: usize = 4;
/// Tells the terminal to mark what is pasted, and to stop it.
const PASTES_ON: &str = "\x1b[?2004h";
const PASTES_OFF: &str = "\x1b[?2004l";

/// What a person says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Typed {
    /// Typed at a prompt, or ahead of one: no answer to anything.
    Prompt(String),
    /// Whatever was wanted.
    Line(String),
    Interrupt,
    End,
}

/// Which keys are read.
pub(crate) enum Keys {
    /// All, always: lines may be typed ahead. The file keeps them for another day.
    All { history: Option<PathBuf> },
    /// Those at a question. What is typed at other times is for whoever comes after us.
    Answers,
    /// None: nobody is asked.
    Nothing,
}

/// The screen that is read.
pub(crate) struct Look {
    pub(crate) screen: OwnedFd,
    pub(crate) paint: Paint,
    /// It obeys escape sequences.
    pub(crate) draws: bool,
}

/// A handle; all of them are the same console, or none.
#[derive(Clone, Default)]
pub(crate) struct Console(Option<Arc<Shared>>);

/// Ends the console together with whoever began it, and gives the terminal back as it was.
pub(crate) struct Held(Console);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.close();
    }
}

struct Shared {
    state: Mutex<State>,
    /// Something is waited for now, or it is all over.
    changed: Condvar,
    screen: OwnedFd,
    keyboard: Option<Keyboard>,
}

struct Keyboard {
    tty: File,
    settings: Settings,
    /// Keys are read also while nothing is wanted.
    always: bool,
    history: Option<PathBuf>,
    /// A byte in it wakes the thread that reads.
    wake: OwnedFd,
}

struct State {
    board: Board,
    decoder: Decoder,
    typed: mpsc::Sender<Typed>,
    /// There is somebody who deals with interrupts.
    talking: bool,
    /// Somebody else has the terminal for now.
    away: bool,
    closed: bool,
}

impl Console {
    /// For those who want none.
    pub(crate) fn none() -> (Self, Held) {
        (Self::default(), Held(Self::default()))
    }

    /// Without a screen there is none. Must run on a runtime.
    pub(crate) fn open(look: Option<Look>, keys: Keys, typed: mpsc::Sender<Typed>) -> io::Result<(Self, Held)> {
        let Some(Look { screen, paint, draws }) = look else {
            return Ok(Self::none());
        };
        let (woken, wake) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let mut board = Board::new(paint, draws);
        let keyboard = match keys {
            Keys::All { history } => Keyboard::new(true, history, wake),
            Keys::Answers => Keyboard::new(false, None, wake),
            Keys::Nothing => None,
        };
        if let Some(file) = keyboard.as_ref().and_then(|keyboard| keyboard.history.as_deref()) {
            board.typing.history = History::new(history::read(file));
        }
        let state = State { board, decoder: Decoder::default(), typed, talking: false, away: false, closed: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new(), screen, keyboard });
        let console = Self(Some(shared.clone()));
        let held = Held(console.clone());
        shared.take_terminal();
        signals::spawn(shared.clone());
        let ticker = shared.clone();
        std::thread::Builder::new().name("sign of life".into()).spawn(move || ticker.tick())?;
        if shared.keyboard.is_some() {
            std::thread::Builder::new().name("keys".into()).spawn(move || reader::run(&shared, &woken))?;
        }
        Ok((console, held))
    }

    /// Questions can be asked here, and answered.
    pub(crate) fn has_keyboard(&self) -> bool {
        self.0.as_ref().is_some_and(|shared| shared.keyboard.is_some())
    }

    pub(crate) fn exists(&self) -> bool {
        self.0.is_some()
    }

    /// From here on somebody deals with interrupts; before, they end the process.
    pub(crate) fn begins(&self) {
        if let Some(shared) = &self.0 {
            shared.lock().talking = true;
        }
    }

    /// What Tab knows.
    pub(crate) fn completes_with(&self, complete: Complete) {
        if let Some(shared) = &self.0 {
            shared.lock().board.typing.complete = Some(complete);
        }
    }

    /// More of the conversation.
    pub(crate) fn text(&self, text: &str) -> io::Result<()> {
        match &self.0 {
            Some(shared) => shared.apply(|board, now, size| board.text(text, now, size)),
            None => Ok(()),
        }
    }

    /// Shows what is waited for until it is something else, or `None`.
    pub(crate) fn waits(&self, what: Option<&str>) {
        if let Some(shared) = &self.0 {
            let _ = shared.apply(|board, now, size| board.waits(what, now, size));
        }
    }

    /// One line for stderr, with nothing of ours in its way.
    pub(crate) fn aside(&self, line: &str) {
        let Some(shared) = &self.0 else { return host::note(line) };
        let _ = shared.apply(|board, _, size| board.hide(size));
        host::note(line);
        let _ = shared.apply(|board, now, size| board.redrawn(now, size));
    }

    /// Somebody else writes to the same screen from now on, and nothing of ours may move there.
    pub(crate) fn shares_screen(&self) {
        if let Some(shared) = &self.0 {
            let _ = shared.apply(|board, _, size| board.shared(size));
        }
    }

    /// A line is wanted. A question is answered by what is typed from now on, and by nothing that was typed before.
    pub(crate) fn want(&self, want: Want) {
        let Some(shared) = &self.0 else { return };
        let mut state = shared.lock();
        if want != Want::Prompt
            && let Some(keyboard) = &shared.keyboard
        {
            match keyboard.always {
                true => drop(shared.read_keys(&mut state)),
                false => tty::forget_typed(&keyboard.tty),
            }
        }
        shared.hear(&mut state, |board, now, size| board.wanted(want, now, size));
        drop(state);
        shared.wake();
    }

    /// Somebody else ended the line on the screen.
    fn line_ended(&self) {
        if let Some(shared) = &self.0 {
            shared.lock().board.line_ended();
        }
    }

    /// Ctrl-C.
    pub(crate) fn interrupt(&self) {
        if let Some(shared) = &self.0 {
            shared.hear(&mut shared.lock(), Board::interrupted);
        }
    }

    fn close(&self) {
        let Some(shared) = &self.0 else { return };
        let mut state = shared.lock();
        if !std::mem::replace(&mut state.closed, true) {
            shared.leave_terminal(&mut state);
        }
        drop(state);
        shared.changed.notify_all();
        shared.wake();
    }
}

impl Keyboard {
    fn new(always: bool, history: Option<PathBuf>, wake: OwnedFd) -> Option<Self> {
        let tty = tty::keyboard()?;
        let settings = Settings::of(&tty)?;
        Some(Self { tty, settings, always, history, wake })
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn apply(&self, change: impl FnOnce(&mut Board, Instant, Size) -> String) -> io::Result<()> {
        let mut state = self.lock();
        let written = self.draw(&mut state, change);
        if state.board.moves() {
            self.changed.notify_all();
        }
        written
    }

    /// Writes what a change of the board comes to.
    fn draw(&self, state: &mut State, change: impl FnOnce(&mut Board, Instant, Size) -> String) -> io::Result<()> {
        // Behind somebody else's back nothing is drawn; text is written as it would be by anybody.
        state.board.behind = state.away || state.closed || !tty::is_in_front(&self.screen);
        let size = tty::size(&self.screen);
        let out = change(&mut state.board, Instant::now(), size);
        self.write(out.as_bytes())
    }

    /// As [`Shared::draw`]; what was heard goes to the conversation.
    fn hear(&self, state: &mut State, change: impl FnOnce(&mut Board, Instant, Size) -> (Heard, String)) {
        let mut said = Heard::Nothing;
        let _ = self.draw(state, |board, now, size| {
            let (heard, out) = change(board, now, size);
            said = heard;
            out
        });
        if let Some(file) = self.keyboard.as_ref().and_then(|keyboard| keyboard.history.as_deref()) {
            // A history that cannot be written must not disturb the conversation.
            state.board.typing.new_history.drain(..).for_each(|line| drop(history::append(file, &line)));
        }
        let typed = match said {
            Heard::Nothing | Heard::ClearScreen => return,
            Heard::Line { want, text } => {
                let text = text.replace('\n', LINE_JOIN.encode_utf8(&mut [0; 4]));
                if want == Want::Prompt { Typed::Prompt(text) } else { Typed::Line(text) }
            }
            Heard::Interrupt if state.typed.capacity() <= TYPED_SPARE => return,
            Heard::Interrupt => Typed::Interrupt,
            Heard::End => Typed::End,
        };
        // Nobody there to hear it: the conversation is over.
        let _ = state.typed.try_send(typed);
    }

    fn write(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match rustix::io::write(&self.screen, bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => bytes = &bytes[count..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => drop(poll(&mut [PollFd::new(&self.screen, PollFlags::OUT)], None)?),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn tick(&self) {
        let mut state = self.lock();
        while !state.closed {
            state = match state.board.moves() {
                false => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                true => {
                    let waited = self.changed.wait_timeout(state, waiting::FRAME / 2);
                    let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
                    if state.board.is_due(Instant::now()) {
                        let _ = self.draw(&mut state, Board::redrawn);
                    }
                    state
                }
            };
        }
    }

    // ---- the keyboard -------------------------------------------------------------------------------------------

    /// Keys that can be read are ours to read.
    fn listens(&self, state: &State) -> bool {
        let always = self.keyboard.as_ref().is_some_and(|keyboard| keyboard.always);
        !state.away && !state.closed && (always || state.board.typing.want.is_some())
    }

    /// Everything that was typed so far. False: nobody will type any more.
    fn read_keys(&self, state: &mut State) -> bool {
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

    fn press(&self, state: &mut State, key: Key) {
        self.hear(state, |board, now, size| board.key(key, now, size));
    }

    fn wake(&self) {
        if let Some(keyboard) = &self.keyboard {
            let _ = rustix::io::write(&keyboard.wake, &[0]);
        }
    }

    fn take_terminal(&self) {
        if let Some(keyboard) = &self.keyboard {
            keyboard.settings.take_keys(&keyboard.tty);
            if keyboard.always {
                let _ = self.write(PASTES_ON.as_bytes());
            }
        }
    }

    /// As it was before us, with nothing of ours below the text.
    fn leave_terminal(&self, state: &mut State) {
        let _ = self.draw(state, |board, _, size| board.hide(size));
        if let Some(keyboard) = &self.keyboard {
            if keyboard.always && tty::is_in_front(&keyboard.tty) {
                let _ = self.write(PASTES_OFF.as_bytes());
            }
            keyboard.settings.restore(&keyboard.tty);
        }
    }
}
