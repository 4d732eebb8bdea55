//! The thread that waits for keys. It reads under the console's lock: so a console that asks a question can be sure that
//! everything typed before was read before.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::ConsoleInner;

/// How long the rest of an escape sequence may take; an escape byte alone is a key after that.
const SEQUENCE_WAIT: Duration = Duration::from_millis(40);

pub(super) fn run(inner: &ConsoleInner, woken: &OwnedFd) {
    let Some(keyboard) = &inner.keyboard else { return };
    loop {
        let (listens, torn) = {
            let state = inner.lock();
            if state.closed {
                return;
            }
            (inner.listens(&state), state.decoder.is_torn())
        };
        let mut fds = vec![PollFd::new(woken, PollFlags::IN)];
        if listens {
            fds.push(PollFd::new(&keyboard.tty, PollFlags::IN));
        }
        let patience = Timespec { tv_sec: 0, tv_nsec: SEQUENCE_WAIT.subsec_nanos().into() };
        let ready = poll(&mut fds, torn.then_some(&patience));
        if !fds[0].revents().is_empty() {
            let _ = rustix::io::read(woken, &mut [0; 64]);
        }
        let typed = fds.get(1).is_some_and(|fd| !fd.revents().is_empty());
        let mut state = inner.lock();
        if ready == Ok(0)
            && let Some(key) = state.decoder.settle()
        {
            inner.press(&mut state, key);
        }
        if typed && !inner.read_keys(&mut state) {
            return;
        }
    }
}
