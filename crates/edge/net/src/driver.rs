//! Polls a connection together with what waits for its answer, in one task.
//!
//! The two wake each other: a request wakes the connection that is to send it, a piece of a body wakes its reader. Both are
//! polled here in one go anyway, so such a word is heard here and does not reach the task, which would run once more for
//! nothing; and a connection that another task has used before does not wake that one.

use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};

use hyper::client::conn::http1;

use crate::body::Pieces;
use crate::dial::Io;

/// How often both are polled before the task makes room for others. Once is enough unless bytes come at that very moment; one
/// that has to pause wakes itself, however often it is polled.
const ROUNDS_MAX: u32 = 2;

/// The half of a connection that moves bytes.
pub(crate) struct Driver {
    /// `None` once it has ended.
    running: Option<Pin<Box<http1::Connection<Io, Pieces>>>>,
    ear: Arc<Ear>,
    /// Wakes `ear`.
    waker: Waker,
}

impl Driver {
    pub(crate) fn new(running: http1::Connection<Io, Pieces>) -> Self {
        let ear = Arc::new(Ear(Mutex::new(Heard::Nobody)));
        Self { running: Some(Box::pin(running)), waker: ear.clone().into(), ear }
    }

    pub(crate) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// Polls `what` and the connection that moves it on. An ended connection has told its error to `what`.
    pub(crate) fn drive<T>(
        &mut self,
        context: &mut Context<'_>,
        mut what: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let mut inner = Context::from_waker(&self.waker);
        self.ear.listen();
        let mut polled = what(&mut inner);
        let mut rounds = 0;
        while polled.is_pending() && rounds < ROUNDS_MAX {
            // What was heard so far was meant for the connection, which is polled now.
            self.ear.listen();
            if let Some(running) = &mut self.running
                && running.as_mut().poll(&mut inner).is_ready()
            {
                self.running = None;
            }
            polled = what(&mut inner);
            rounds += 1;
            if !self.ear.has_heard() {
                break;
            }
        }
        match polled {
            // Whoever wants more asks again.
            Poll::Ready(_) => self.ear.hear_for(None),
            Poll::Pending => self.ear.hear_for(Some(context.waker().clone())),
        }
        polled
    }
}

/// What the connection and its reader wake.
struct Ear(Mutex<Heard>);

enum Heard {
    /// Nobody waits.
    Nobody,
    /// Both are being polled.
    Nothing,
    /// The same, and something has come since.
    Something,
    /// This one waits.
    For(Waker),
}

impl Ear {
    fn lock(&self) -> MutexGuard<'_, Heard> {
        self.0.lock().expect("nothing panics while holding it")
    }

    fn listen(&self) {
        let before = mem::replace(&mut *self.lock(), Heard::Nothing);
        // Not under the lock: with a waker may go the last of a task.
        drop(before);
    }

    fn has_heard(&self) -> bool {
        matches!(*self.lock(), Heard::Something)
    }

    /// From now on this one is woken; at once where something has come that was not looked at.
    fn hear_for(&self, waiting: Option<Waker>) {
        let mut heard = self.lock();
        match (mem::replace(&mut *heard, Heard::Nobody), waiting) {
            (Heard::Something, Some(waker)) => {
                drop(heard);
                waker.wake();
            }
            (_, Some(waker)) => *heard = Heard::For(waker),
            (_, None) => {}
        }
    }
}

impl Wake for Ear {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut heard = self.lock();
        match mem::replace(&mut *heard, Heard::Nobody) {
            Heard::Nobody => {}
            Heard::Nothing | Heard::Something => *heard = Heard::Something,
            Heard::For(waker) => {
                drop(heard);
                waker.wake();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[derive(Default)]
    struct Task(AtomicUsize);

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn what_comes_while_both_are_polled_wakes_the_task_only_where_it_was_not_looked_at() {
        let (ear, task) = (Arc::new(Ear(Mutex::new(Heard::Nobody))), Arc::new(Task::default()));
        let (waker, woken) = (Waker::from(ear.clone()), || task.0.load(Ordering::Relaxed));
        ear.listen();
        waker.wake_by_ref();
        assert!(ear.has_heard());
        ear.listen();
        assert!(!ear.has_heard(), "that was for the half that is polled next");
        ear.hear_for(Some(task.clone().into()));
        assert_eq!(woken(), 0);
        waker.wake_by_ref();
        waker.wake_by_ref();
        assert_eq!(woken(), 1, "once is enough until it is polled again");
        ear.listen();
        waker.wake_by_ref();
        ear.hear_for(Some(task.clone().into()));
        assert_eq!(woken(), 2, "nobody has looked since");
        ear.listen();
        waker.wake_by_ref();
        ear.hear_for(None);
        waker.wake_by_ref();
        assert_eq!((woken(), Arc::strong_count(&task)), (2, 1), "one that does not wait is not held either");
    }
}
