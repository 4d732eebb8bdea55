//! A conversation with a model that is not known yet.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use futures_core::Stream;
use vocab::{CallAbout, CallSpec, Chat, Fault, Later, Message, ModelEvent, ModelStream};

use super::{Auto, Landed};

/// A conversation that keeps its messages until it is known whom they are for.
pub(super) struct WaitingChat {
    auto: Auto,
    state: Arc<Mutex<WaitingState>>,
}

struct WaitingState {
    /// Empty once there is a chat.
    messages: Vec<Message>,
    chat: Option<Box<dyn Chat>>,
    /// Of the messages that wait, roughly.
    bytes: usize,
}

impl WaitingState {
    fn call(&mut self, landed: &Landed, spec: &CallSpec, about: Option<&CallAbout>) -> ModelStream {
        let chat = match &mut self.chat {
            Some(chat) => chat,
            None => match landed.chat() {
                Ok(chat) => self.chat.insert(chat),
                Err(fault) => return Box::pin(OneEvent(Some(ModelEvent::Failed(failed(fault))))),
            },
        };
        self.messages.drain(..).for_each(|message| chat.push(&message));
        match about {
            Some(about) => chat.call_about(spec, about),
            None => chat.call(spec),
        }
    }
}

fn failed(fault: Fault) -> vocab::ModelFault {
    vocab::ModelFault { fault, retryable: false, retry_after_ms: None }
}

impl WaitingChat {
    pub(super) fn new(auto: Auto) -> Self {
        let state = WaitingState { messages: Vec::new(), chat: None, bytes: 0 };
        Self { auto, state: Arc::new(Mutex::new(state)) }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, WaitingState> {
        self.state.lock().expect("nothing panics while holding it")
    }
}

impl Chat for WaitingChat {
    fn push(&mut self, message: &Message) {
        let mut state = self.state();
        match &mut state.chat {
            Some(chat) => chat.push(message),
            None => {
                state.bytes += size(message);
                state.messages.push(message.clone());
            }
        }
    }
    fn clear(&mut self) {
        let mut state = self.state();
        state.messages.clear();
        state.bytes = 0;
        if let Some(chat) = &mut state.chat {
            chat.clear();
        }
    }
    fn bytes(&self) -> usize {
        let state = self.state();
        state.chat.as_ref().map_or(state.bytes, |chat| chat.bytes())
    }

    /// The search has a limit, and what it finds keeps time.
    fn keeps_time(&self) -> bool {
        true
    }

    fn call(&mut self, spec: &CallSpec) -> ModelStream {
        self.call_when_known(spec, None)
    }
    fn call_about(&mut self, spec: &CallSpec, about: &CallAbout) -> ModelStream {
        self.call_when_known(spec, Some(about))
    }
}

impl WaitingChat {
    fn call_when_known(&mut self, spec: &CallSpec, about: Option<&CallAbout>) -> ModelStream {
        if let Some(landed) = self.auto.now() {
            return self.state().call(&landed, spec, about);
        }
        let (auto, state) = (self.auto.clone(), self.state.clone());
        let (spec, about) = (spec.clone(), about.cloned());
        Box::pin(LateStream::Waiting(Box::pin(async move {
            let landed = auto.landed().await;
            state.lock().expect("nothing panics while holding it").call(&landed, &spec, about.as_ref())
        })))
    }
}

/// An estimate of what a message will take; images are what counts.
fn size(message: &Message) -> usize {
    format!("{message:?}").len()
}

/// A stream that is yet to come.
enum LateStream {
    Waiting(Later<'static, ModelStream>),
    Running(ModelStream),
}

impl Stream for LateStream {
    type Item = ModelEvent;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ModelEvent>> {
        loop {
            match &mut *self {
                LateStream::Running(stream) => return stream.as_mut().poll_next(cx),
                LateStream::Waiting(later) => {
                    let stream = std::task::ready!(later.as_mut().poll(cx));
                    *self = LateStream::Running(stream);
                }
            }
        }
    }
}

struct OneEvent(Option<ModelEvent>);

impl Stream for OneEvent {
    type Item = ModelEvent;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<ModelEvent>> {
        Poll::Ready(self.0.take())
    }
}
