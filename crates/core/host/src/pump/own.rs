//! Calls of a dialect's own, on their way beside the engine. They are begun in the order in which they were made; each answer
//! is handed over as soon as it is there, so that a slow one holds back no other.

use std::future::poll_fn;
use std::task::Poll;

use vocab::{Later, Tag};
use wire::{NoOwn, OwnCall, OwnRequest};

/// Calls under way at which no more input is heard.
pub(crate) const OWN_CALLS_MAX: usize = 64;

/// The service that answers a dialect's own calls. Any `Fn` from a call to a future of its answer is one.
pub trait OwnCalls<O: OwnCall>: Send + Sync {
    fn call(&self, call: O) -> Later<'static, O::Answer>;
}

impl<O, F, R> OwnCalls<O> for F
where
    O: OwnCall,
    F: Fn(O) -> R + Send + Sync,
    R: Future<Output = O::Answer> + Send + 'static,
{
    fn call(&self, call: O) -> Later<'static, O::Answer> {
        Box::pin(self(call))
    }
}

/// For dialects without any.
pub struct NoOwnCalls;

impl OwnCalls<NoOwn> for NoOwnCalls {
    fn call(&self, call: NoOwn) -> Later<'static, NoOwn> {
        match call {}
    }
}

pub(crate) struct RunningCalls<O: OwnCall> {
    service: Box<dyn OwnCalls<O>>,
    running: Vec<(Tag, Later<'static, O::Answer>)>,
}

impl<O: OwnCall> RunningCalls<O> {
    pub(crate) fn new(service: Box<dyn OwnCalls<O>>) -> Self {
        Self { service, running: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.running.len()
    }

    pub(crate) fn begin(&mut self, request: OwnRequest<O>) {
        self.running.push((request.tag, self.service.call(request.call)));
    }

    /// The next answer; never without a call under way.
    pub(crate) async fn next(&mut self) -> (Tag, O::Answer) {
        poll_fn(|context| {
            for at in 0..self.running.len() {
                if let Poll::Ready(answer) = self.running[at].1.as_mut().poll(context) {
                    let (tag, _) = self.running.remove(at);
                    return Poll::Ready((tag, answer));
                }
            }
            Poll::Pending
        })
        .await
    }
}
