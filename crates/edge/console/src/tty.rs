//! The terminal as a device: who may use it, how large it is, and keys instead of lines for as long as we are in front.

use std::fs::{File, OpenOptions};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr, tcgetpgrp,
    tcgetwinsize, tcsetattr,
};

use dialect_terminal::ScreenSize;

/// A terminal that does not know its size counts as the one that everything was written for.
const SIZE_UNKNOWN: ScreenSize = ScreenSize { cols: 80, rows: 24 };
/// Turns a special key off.
const DISABLED: u8 = 0;

/// The process is in front of this terminal: it may read from it and set it up without being stopped.
pub(crate) fn is_in_front(tty: impl AsFd) -> bool {
    tcgetpgrp(tty).is_ok_and(|group| group == rustix::process::getpgrp())
}

pub(crate) fn size(tty: impl AsFd) -> ScreenSize {
    let size = tcgetwinsize(tty).map(|size| ScreenSize { cols: size.ws_col.into(), rows: size.ws_row.into() });
    size.ok().filter(|size| size.cols > 0 && size.rows > 0).unwrap_or(SIZE_UNKNOWN)
}

/// The keyboard that belongs to us, whatever stdin is. `None` where there is none, or where another process is in front.
pub(crate) fn keyboard() -> Option<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32;
    let tty = OpenOptions::new().read(true).write(true).custom_flags(flags).open("/dev/tty").ok()?;
    is_in_front(&tty).then_some(tty)
}

/// Forgets what was typed and not read.
pub(super) fn forget_typed(tty: impl AsFd) {
    let _ = tcflush(tty, QueueSelector::IFlush);
}

/// The terminal's settings before and while keys are read one by one.
pub(super) struct TerminalModes {
    before: Termios,
    keys: Termios,
}

impl TerminalModes {
    pub(super) fn of(tty: impl AsFd) -> Option<Self> {
        let before = tcgetattr(tty).ok()?;
        let mut keys = before.clone();
        // Nothing is echoed, and a letter is there when it was typed. Ctrl-C and Ctrl-Z stay signals, but leave what was
        // typed before them alone.
        keys.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::IEXTEN);
        keys.local_modes.insert(LocalModes::NOFLSH);
        keys.input_modes.remove(InputModes::ICRNL | InputModes::INLCR | InputModes::IGNCR);
        keys.special_codes[SpecialCodeIndex::VMIN] = 1;
        keys.special_codes[SpecialCodeIndex::VTIME] = 0;
        // It would end us with the terminal as it is now.
        keys.special_codes[SpecialCodeIndex::VQUIT] = DISABLED;
        Some(Self { before, keys })
    }

    pub(super) fn take_keys(&self, tty: impl AsFd) {
        self.set(tty, &self.keys);
    }

    pub(super) fn restore(&self, tty: impl AsFd) {
        self.set(tty, &self.before);
    }

    fn set(&self, tty: impl AsFd, settings: &Termios) {
        // From behind, this would stop us.
        if is_in_front(&tty) {
            let _ = tcsetattr(tty, OptionalActions::Now, settings);
        }
    }
}
