//! A pseudo-terminal from our side: opened, read, written, resized. Whose terminal it becomes is [`super::terminal_step`]'s
//! business.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};
use rustix::io::{FdFlags, fcntl_setfd, ioctl_fionbio};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetwinsize, tcsetwinsize};
use tokio::net::unix::pipe;

/// How large a terminal is, in characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TerminalSize {
    pub cols: u16,
    pub rows: u16,
}

/// Our end of a terminal. While anybody holds it, the programs on the other end are not hung up.
pub struct PseudoTerminal {
    master: OwnedFd,
}

impl PseudoTerminal {
    /// A new terminal of that size, and the end that a command gets.
    pub(super) fn open(size: TerminalSize) -> io::Result<(PseudoTerminal, OwnedFd)> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | close_on_exec())?;
        fcntl_setfd(&master, FdFlags::CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let name = ptsname(&master, Vec::new())?;
        // It must not become *our* terminal, which opening one does to a leader of a session that has none.
        let slave = rustix::fs::open(&*name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
        ioctl_fionbio(&master, true)?;
        let terminal = PseudoTerminal { master };
        terminal.resize(size)?;
        Ok((terminal, slave))
    }

    /// What the programs write. Reading fails, instead of ending, when the last of them has closed its end.
    pub(super) fn output(&self) -> io::Result<pipe::Receiver> {
        // "Unchecked": it need not be a pipe, only a descriptor that can be waited for, and it was set to not block.
        pipe::Receiver::from_owned_fd_unchecked(self.master.try_clone()?)
    }

    /// The keyboard.
    pub(super) fn input(&self) -> io::Result<pipe::Sender> {
        pipe::Sender::from_owned_fd_unchecked(self.master.try_clone()?)
    }

    /// Sets the size; the kernel tells the programs in the foreground (`SIGWINCH`) when it is a new one.
    pub fn resize(&self, size: TerminalSize) -> io::Result<()> {
        let size = Winsize { ws_col: size.cols, ws_row: size.rows, ws_xpixel: 0, ws_ypixel: 0 };
        Ok(tcsetwinsize(&self.master, size)?)
    }

    /// The size as it is now; a program may have changed it as well.
    pub fn size(&self) -> Option<TerminalSize> {
        let size = tcgetwinsize(&self.master).ok()?;
        Some(TerminalSize { cols: size.ws_col, rows: size.ws_row })
    }
}

#[cfg(target_os = "linux")]
fn close_on_exec() -> OpenptFlags {
    OpenptFlags::CLOEXEC
}

/// Set afterwards: no other system takes the flag here.
#[cfg(not(target_os = "linux"))]
fn close_on_exec() -> OpenptFlags {
    OpenptFlags::empty()
}
