//! Signals that concern the terminal. Stopped, we leave it as it was; continued in front, we take it up again.

use std::sync::Arc;

use rustix::process::{Signal, getpid, kill_process};
use tokio::signal::unix::{SignalKind, signal};

use super::board::Board;
use super::{Shared, tty};
use crate::terminal::INTERRUPTED;

/// Ctrl-Z.
const STOP_FROM_TERMINAL: i32 = Signal::TSTP.as_raw();
const CONTINUE: i32 = Signal::CONT.as_raw();

/// Without them everything else still works.
pub(super) fn spawn(shared: Arc<Shared>) {
    let kinds = [
        SignalKind::from_raw(STOP_FROM_TERMINAL),
        SignalKind::from_raw(CONTINUE),
        SignalKind::window_change(),
        SignalKind::interrupt(),
        SignalKind::terminate(),
        SignalKind::hangup(),
    ];
    let [Ok(mut stop), Ok(mut go_on), Ok(mut resized), Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] =
        kinds.map(signal)
    else {
        return;
    };
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = stop.recv() => shared.stop(),
                _ = go_on.recv() => shared.go_on(),
                _ = resized.recv() => drop(shared.apply(Board::redrawn)),
                _ = interrupt.recv() => shared.end_early(),
                _ = terminate.recv() => shared.end_early(),
                _ = hangup.recv() => shared.end_early(),
            }
        }
    });
}

impl Shared {
    fn stop(&self) {
        let mut state = self.lock();
        self.leave_terminal(&mut state);
        state.away = true;
        // Everything stops here, and goes on here.
        let _ = kill_process(getpid(), Signal::STOP);
    }

    fn go_on(&self) {
        let mut state = self.lock();
        if state.closed || !tty::is_in_front(&self.screen) {
            return;
        }
        state.away = false;
        self.take_terminal();
        let _ = self.draw(&mut state, Board::redrawn);
        // Whoever was away may have something else on the screen by now; what they are asked to allow is shown again.
        self.hear(&mut state, Board::asked_again);
        drop(state);
        self.wake();
    }

    /// Nobody is there yet to end in order.
    fn end_early(&self) {
        let mut state = self.lock();
        if !state.talking {
            self.leave_terminal(&mut state);
            std::process::exit(INTERRUPTED.into());
        }
    }
}
