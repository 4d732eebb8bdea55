//! Who waits for a socket. Reading may have to write first (a pong) and closing has to read, so whatever the stream has to
//! say is said to both halves.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};

#[derive(Default)]
pub(super) struct Wakers(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    reader: Option<Waker>,
    writer: Option<Waker>,
    kick: Option<(u16, &'static str)>,
}

impl Wakers {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn read_by(&self, waker: &Waker) {
        keep(&mut self.lock().reader, waker);
    }

    pub(super) fn write_by(&self, waker: &Waker) {
        keep(&mut self.lock().writer, waker);
    }

    pub(super) fn kicked(&self) -> Option<(u16, &'static str)> {
        self.lock().kick.take()
    }
}

fn keep(place: &mut Option<Waker>, waker: &Waker) {
    if !place.as_ref().is_some_and(|kept| kept.will_wake(waker)) {
        *place = Some(waker.clone());
    }
}

impl Wake for Wakers {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let (reader, writer) = {
            let waiting = self.lock();
            (waiting.reader.clone(), waiting.writer.clone())
        };
        match (reader, writer) {
            (Some(reader), Some(writer)) if reader.will_wake(&writer) => reader.wake(),
            (reader, writer) => reader.into_iter().chain(writer).for_each(Waker::wake),
        }
    }
}

/// Ends a socket from outside of its task: its stream ends, and the other side is told why.
#[derive(Clone)]
pub struct Kick(Arc<Wakers>);

impl Kick {
    pub(super) fn new(wakers: Arc<Wakers>) -> Self {
        Self(wakers)
    }

    pub fn kick(&self, code: u16, why: &'static str) {
        self.0.lock().kick = Some((code, why));
        self.0.wake_by_ref();
    }
}
