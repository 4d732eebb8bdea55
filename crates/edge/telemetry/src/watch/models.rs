//! Models whose calls are looked at.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use vocab::{CallAbout, CallSpec, Chat, Fault, Later, Message, ModelEvent, ModelInfo, ModelStream, Provider};

/// Looks at calls of models.
pub trait ModelWatch: Send + Sync {
    /// Whether it wants to see the messages. They are kept a second time then.
    fn wants_messages(&self) -> bool {
        false
    }
    /// A model is about to be called. `messages` are empty where nobody wants them.
    fn called(
        &self,
        model: &ModelInfo,
        spec: &CallSpec,
        about: Option<&CallAbout>,
        messages: &[Message],
    ) -> Box<dyn CallWatch>;
}

/// Looks at one call. Dropped before the call's last event: it was given up.
pub trait CallWatch: Send {
    /// The call's own place in the trace, for the model's server.
    fn trace(&self) -> Option<Arc<str>> {
        None
    }
    /// Called for every event: it must cost next to nothing for those that only bring more text.
    fn heard(&mut self, event: &ModelEvent);
}

/// All models of `below`, looked at.
pub struct WatchedProvider {
    below: Arc<dyn Provider>,
    watch: Arc<dyn ModelWatch>,
}

impl WatchedProvider {
    pub fn new(below: Arc<dyn Provider>, watch: Arc<dyn ModelWatch>) -> Self {
        Self { below, watch }
    }
}

impl Provider for WatchedProvider {
    fn resolve(&self, slug: &str) -> Result<ModelInfo, Fault> {
        self.below.resolve(slug)
    }
    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        self.below.models()
    }
    fn chat(&self, model: &ModelInfo) -> Result<Box<dyn Chat>, Fault> {
        let below = self.below.chat(model)?;
        let messages = self.watch.wants_messages().then(Vec::new);
        Ok(Box::new(WatchedChat { below, model: model.clone(), messages, watch: self.watch.clone() }))
    }
}

struct WatchedChat {
    below: Box<dyn Chat>,
    model: ModelInfo,
    messages: Option<Vec<Message>>,
    watch: Arc<dyn ModelWatch>,
}

impl WatchedChat {
    fn begin(&self, spec: &CallSpec, about: Option<&CallAbout>) -> Box<dyn CallWatch> {
        self.watch.called(&self.model, spec, about, self.messages.as_deref().unwrap_or_default())
    }
}

impl Chat for WatchedChat {
    fn push(&mut self, message: &Message) {
        if let Some(messages) = &mut self.messages {
            messages.push(message.clone());
        }
        self.below.push(message);
    }
    fn clear(&mut self) {
        if let Some(messages) = &mut self.messages {
            messages.clear();
        }
        self.below.clear();
    }
    fn bytes(&self) -> usize {
        self.below.bytes()
    }
    fn call(&mut self, spec: &CallSpec) -> ModelStream {
        let watch = self.begin(spec, None);
        Box::pin(WatchedStream { below: self.below.call(spec), watch })
    }
    fn call_about(&mut self, spec: &CallSpec, about: &CallAbout) -> ModelStream {
        let watch = self.begin(spec, Some(about));
        let below = match watch.trace() {
            None => self.below.call_about(spec, about),
            trace => self.below.call_about(spec, &CallAbout { trace, ..about.clone() }),
        };
        Box::pin(WatchedStream { below, watch })
    }
    fn keeps_time(&self) -> bool {
        self.below.keeps_time()
    }
}

struct WatchedStream {
    below: ModelStream,
    watch: Box<dyn CallWatch>,
}

impl Stream for WatchedStream {
    type Item = ModelEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<ModelEvent>> {
        let polled = self.below.as_mut().poll_next(context);
        if let Poll::Ready(Some(event)) = &polled {
            self.watch.heard(event);
        }
        polled
    }
}
