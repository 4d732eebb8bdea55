//! Requests written again from a log: the messages as they were encoded then, between the head and the tail that the log
//! has kept. Talks to nobody.

use std::sync::{Arc, Mutex, MutexGuard};

use vocab::{CallSpec, Chat, FaultKind, Message, ModelEvent, ModelFault, ModelStream, Sent};

use crate::api::Api;
use crate::format::Encoder;

/// A conversation that is only written. Clones share it: one is fed as a [`Chat`], the other gives bodies.
#[derive(Clone)]
pub struct Replay(Arc<Mutex<Box<dyn Encoder>>>);

impl Replay {
    /// `None`: this was no format of ours, or a newer version wrote it.
    pub fn new(sent: &Sent) -> Option<Self> {
        let encoder = Api::parse(&sent.api)?.again(&sent.manner)?;
        Some(Self(Arc::new(Mutex::new(encoder))))
    }

    /// The body of the request that was sent with everything pushed so far.
    pub fn body(&self, sent: &Sent) -> Vec<u8> {
        let mut encoder = self.encoder();
        encoder.adopt(&sent.manner);
        let messages = encoder.messages().concat();
        [sent.head.as_bytes(), &messages, sent.tail.as_bytes()].concat()
    }

    fn encoder(&self) -> MutexGuard<'_, Box<dyn Encoder>> {
        self.0.lock().expect("nothing panics while holding it")
    }
}

impl Chat for Replay {
    fn push(&mut self, message: &Message) {
        self.encoder().push(message);
    }
    fn clear(&mut self) {
        self.encoder().clear();
    }
    fn bytes(&self) -> usize {
        self.encoder().bytes()
    }
    fn call(&mut self, _: &CallSpec) -> ModelStream {
        let fault = ModelFault::new(FaultKind::Unsupported, "a replayed conversation calls no model");
        Box::pin(Only(Some(ModelEvent::Failed(fault))))
    }
}

/// A stream of one event.
struct Only(Option<ModelEvent>);

impl futures_core::Stream for Only {
    type Item = ModelEvent;
    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<ModelEvent>> {
        std::task::Poll::Ready(self.0.take())
    }
}
