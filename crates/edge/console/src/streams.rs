//! What stdin, stdout and stderr are: terminals, pipes or files, and whether they can be drawn on.

use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use dialect_terminal::{Paint, SideChannel, SizeProbe, TextRenderer, WantedLine};
use rustix::fs::FileType;
use tokio::sync::mpsc;

use crate::{Console, ConsoleOutput, KeyboardUse, OutputPlace, ScreenDevice, TerminalGuard, Typed, tty};

/// Values of TERM whose terminals obey no escape sequences: everything is said once there, in lines.
const PLAIN_TERMINALS: [&str; 4] = ["", "dumb", "cons25", "emacs"];

/// Whether a stream gets colours: it is a terminal and the environment does not object.
pub fn wants_colours(stream: &impl IsTerminal) -> bool {
    let objection = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    stream.is_terminal() && !objection && !dumb
}

/// What the streams are, looked at before the host takes them.
#[derive(Clone)]
pub struct StandardStreams {
    pub stdin_terminal: bool,
    pub stdout_terminal: bool,
    pub paint: Paint,
    /// The terminal obeys escape sequences.
    pub draws: bool,
    place: OutputPlace,
    /// The screen that is read, kept at hand: the host moves the descriptors about.
    screen: Option<Arc<OwnedFd>>,
}

impl StandardStreams {
    pub fn look() -> Self {
        let (stdout, stderr) = (io::stdout(), io::stderr());
        let screen = match (stdout.is_terminal(), stderr.is_terminal()) {
            (true, _) => stdout.as_fd().try_clone_to_owned().ok(),
            (false, true) => stderr.as_fd().try_clone_to_owned().ok(),
            (false, false) => None,
        };
        let kind = rustix::fs::fstat(&stdout).map(|it| FileType::from_raw_mode(it.st_mode));
        let place = match kind {
            _ if stdout.is_terminal() => OutputPlace::Screen,
            Ok(FileType::Fifo | FileType::Socket) => OutputPlace::Pipe,
            _ => OutputPlace::File,
        };
        Self {
            stdin_terminal: io::stdin().is_terminal(),
            stdout_terminal: stdout.is_terminal(),
            paint: Paint { on: wants_colours(&stdout) },
            draws: std::env::var("TERM").is_ok_and(|term| !PLAIN_TERMINALS.contains(&term.to_lowercase().as_str())),
            place,
            screen: screen.map(Arc::new),
        }
    }

    /// The size of the screen whenever it is asked for: people resize their windows.
    pub fn size_probe(&self) -> SizeProbe {
        let screen = self.screen.clone();
        Box::new(move || Some(tty::size(screen.as_ref()?)))
    }

    /// A person can read what is asked; whether they can answer, too, is the keyboard's affair.
    pub fn has_reader(&self) -> bool {
        self.stdin_terminal && self.screen.is_some()
    }

    pub fn text_renderer(&self, talks: bool) -> TextRenderer {
        let side = if self.stdout_terminal { SideChannel::Inline } else { SideChannel::Lines };
        TextRenderer::new(self.paint, side, self.size_probe(), talks)
    }

    /// The console at the screen that is read, if there is one.
    pub fn console(&self, keys: KeyboardUse, typed: mpsc::Sender<Typed>) -> io::Result<(Console, TerminalGuard)> {
        let device = self.screen.as_ref().map(|screen| screen.try_clone()).transpose()?;
        let device = device.map(|device| ScreenDevice { device, paint: self.paint, draws: self.draws });
        Console::open(device, keys, typed)
    }

    /// What is written through the console. Without a keyboard, lines are asked for through `wishes`.
    pub fn output<W>(&self, inner: W, console: &Console, wishes: Option<mpsc::Sender<WantedLine>>) -> ConsoleOutput<W> {
        ConsoleOutput::new(inner, console.clone(), self.place, wishes)
    }
}
