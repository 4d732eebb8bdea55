//! The places for turns that run at once, over all sessions, and the line for them. Who has waited longest is next. No clock is
//! asked for that: in a process everybody draws a number when they begin to wait. Those who waited in an earlier process are
//! before them, by the times in their logs.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

pub(crate) struct TurnPlaces(Mutex<LineState>);

struct LineState {
    free: usize,
    /// Somebody may yet get in line before those who are in it.
    held: usize,
    /// The last number that was drawn.
    drawn: u64,
    line: BTreeMap<LineKey, Waiter>,
}

/// Since when somebody waits, in the order of the line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum WaitsSince {
    /// An earlier process; this time in milliseconds.
    Earlier(i64),
    /// That number.
    Here(u64),
}

/// Among those who wait since the same moment, who got in line first.
type LineKey = (WaitsSince, u64);

enum Waiter {
    Waits(Option<Waker>),
    /// It has a place and has not taken it yet.
    Called,
}

/// A turn's own; dropping it gives it to the next.
pub(crate) struct TurnPlace(Arc<TurnPlaces>);

/// Who is in line. Dropping it leaves the line.
pub(crate) struct PlaceInLine {
    places: Arc<TurnPlaces>,
    key: LineKey,
    is_over: bool,
}

/// No place is given while this lives.
pub(crate) struct PlacesHeld(Arc<TurnPlaces>);

/// No turn begins that needs a place, until this and its clones are gone, or its time is over.
#[derive(Clone, Default)]
pub struct TurnsHeld(Arc<Mutex<Option<PlacesHeld>>>);

impl TurnsHeld {
    pub(crate) fn new(held: Option<PlacesHeld>) -> Self {
        Self(Arc::new(Mutex::new(held)))
    }
    /// Lets go when this time is over, whoever still has a clone. Whether it had to.
    pub fn expire(&self, after: Duration) -> impl Future<Output = bool> + Send + use<> {
        let held = Arc::downgrade(&self.0);
        async move {
            tokio::time::sleep(after).await;
            held.upgrade().is_some_and(|held| held.lock().unwrap_or_else(PoisonError::into_inner).take().is_some())
        }
    }
}

impl TurnPlaces {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(LineState { free: most.max(1), held: 0, drawn: 0, line: BTreeMap::new() })))
    }

    fn lock(&self) -> MutexGuard<'_, LineState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place at once, where there is one and nobody waits for it.
    pub(crate) fn take(self: &Arc<Self>) -> Option<TurnPlace> {
        let mut state = self.lock();
        if state.free == 0 || state.held > 0 {
            return None;
        }
        state.free -= 1;
        Some(TurnPlace(self.clone()))
    }

    /// For somebody who waits from now on.
    pub(crate) fn draw(&self) -> u64 {
        self.lock().draw()
    }

    /// Gets in line, as one who waits since then.
    pub(crate) fn queue_up(self: &Arc<Self>, since: WaitsSince) -> PlaceInLine {
        let mut state = self.lock();
        let key = (since, state.draw());
        state.line.insert(key, Waiter::Waits(None));
        state.call();
        PlaceInLine { places: self.clone(), key, is_over: false }
    }

    pub(crate) fn hold(self: &Arc<Self>) -> PlacesHeld {
        self.lock().held += 1;
        PlacesHeld(self.clone())
    }
}

impl LineState {
    fn draw(&mut self) -> u64 {
        self.drawn += 1;
        self.drawn
    }

    /// Calls those who are first in line, as many as there are places. So none is free while somebody waits.
    fn call(&mut self) {
        if self.held > 0 {
            return;
        }
        for waiter in self.line.values_mut() {
            if self.free == 0 {
                return;
            }
            if let Waiter::Waits(waker) = waiter {
                let waker = waker.take();
                *waiter = Waiter::Called;
                self.free -= 1;
                if let Some(waker) = waker {
                    waker.wake();
                }
            }
        }
    }
}

impl Drop for TurnPlace {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.free += 1;
        state.call();
    }
}

impl PlaceInLine {
    pub(crate) fn since(&self) -> WaitsSince {
        self.key.0
    }
}

impl Future for PlaceInLine {
    type Output = TurnPlace;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<TurnPlace> {
        let key = self.key;
        let mut state = self.places.lock();
        match state.line.get_mut(&key) {
            Some(Waiter::Waits(waker)) => {
                *waker = Some(context.waker().clone());
                Poll::Pending
            }
            Some(Waiter::Called) => {
                state.line.remove(&key);
                drop(state);
                self.is_over = true;
                Poll::Ready(TurnPlace(self.places.clone()))
            }
            None => Poll::Pending,
        }
    }
}

impl Drop for PlaceInLine {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let mut state = self.places.lock();
        if let Some(Waiter::Called) = state.line.remove(&self.key) {
            state.free += 1;
            state.call();
        }
    }
}

impl Drop for PlacesHeld {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.held -= 1;
        state.call();
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::WaitsSince::*;
    use super::*;

    fn poll(waiting: &mut PlaceInLine) -> Option<TurnPlace> {
        match Pin::new(waiting).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(place) => Some(place),
            Poll::Pending => None,
        }
    }

    #[test]
    fn who_waits_longest_is_next_whoever_came_first() {
        let places = TurnPlaces::new(1);
        let held = places.take().unwrap();
        assert!(places.take().is_none());
        let (mut late, mut early, mut same) =
            (places.queue_up(Here(7)), places.queue_up(Here(3)), places.queue_up(Here(7)));
        assert!(poll(&mut late).is_none() && poll(&mut early).is_none());
        drop(held);
        assert!(places.take().is_none(), "it is promised");
        assert!(poll(&mut late).is_none());
        let place = poll(&mut early).unwrap();
        assert!(poll(&mut late).is_none());
        drop(place);
        assert!(poll(&mut same).is_none());
        drop(poll(&mut late).unwrap());
        drop(poll(&mut same).unwrap());
        assert!(places.take().is_some() && places.lock().line.is_empty());
    }

    #[test]
    fn who_leaves_the_line_leaves_its_place_to_the_next() {
        let places = TurnPlaces::new(1);
        let held = places.take().unwrap();
        let (first, mut second) = (places.queue_up(Here(1)), places.queue_up(Here(2)));
        drop(held);
        // It was called, and goes without having looked.
        drop(first);
        assert!(poll(&mut second).is_some());
        assert!(places.take().is_some());
    }

    #[test]
    fn while_they_are_held_nobody_gets_one_and_then_the_first_in_line_does() {
        let places = TurnPlaces::new(1);
        let (one, two) = (places.hold(), places.hold());
        assert!(places.take().is_none());
        let (mut late, mut early) = (places.queue_up(Here(0)), places.queue_up(Earlier(9)));
        drop(one);
        assert!(poll(&mut early).is_none());
        drop(two);
        assert!(poll(&mut late).is_none());
        assert!(poll(&mut early).is_some());
        assert!(poll(&mut late).is_some());
    }
}
