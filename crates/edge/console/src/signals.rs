//! Signals that concern the terminal. Stopped, we leave it as it was; continued in front, we take it up again.

use std::sync::Arc;

use rustix::process::{Signal, getpid, kill_process};
use tokio::signal::unix::{SignalKind, signal};

use super::screen::Screen;
use super::{ConsoleInner, tty};
use dialect_terminal::exit_code::INTERRUPTED;

/// Ctrl-Z.
const STOP_FROM_TERMINAL: i32 = Signal::TSTP.as_raw();
const CONTINUE: i32 = Signal::CONT.as_raw();

/// Without them everything else still works.
pub(super) fn spawn(inner: Arc<ConsoleInner>) {
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
                _ = stop.recv() => inner.stop(),
                _ = go_on.recv() => inner.go_on(),
                _ = resized.recv() => drop(inner.apply(Screen::redrawn)),
                _ = interrupt.recv() => inner.end_early(),
                _ = terminate.recv() => inner.end_early(),
                _ = hangup.recv() => inner.end_early(),
            }
        }
    });
}

impl ConsoleInner {
    fn stop(&self) {
        let mut state = self.lock();
        self.leave_terminal(&mut state);
        state.away = true;
        // Everything stops here, and goes on here.
        let _ = kill_process(getpid(), Signal::STOP);
    }

    fn go_on(&self) {
        let mut state = self.lock();
        if state.closed || !tty::is_in_front(&self.device) {
            return;
        }
        state.away = false;
        self.take_terminal();
        let _ = self.draw(&mut state, Screen::redrawn);
        // The person who was away may have something else on the screen by now; what they are asked to allow is shown again.
        self.hear(&mut state, Screen::asked_again);
        drop(state);
        self.wake();
    }

    /// No conversation is there yet to end in order.
    fn end_early(&self) {
        let mut state = self.lock();
        if !state.talking {
            self.leave_terminal(&mut state);
            std::process::exit(INTERRUPTED.into());
        }
    }
}
