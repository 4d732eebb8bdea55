//! One conversation with one model of a server.

use std::sync::Arc;
use std::time::Duration;

use vocab::thinking::clamp;
use vocab::{CallAbout, CallSpec, Chat, Message, ModelInfo, ModelStream, TracePlace};

use super::ServerState;
use crate::format::Encoder;
use crate::model_call::{LastSent, ModelCall, ModelRequest};

/// The longest idle time that can be set; more means the same.
const IDLE_MS_MAX: u64 = 24 * 60 * 60 * 1000;

pub(super) struct Conversation {
    inner: Arc<ServerState>,
    encoder: Box<dyn Encoder>,
    manner: Arc<str>,
    /// As [`ModelInfo::levels`].
    levels: Option<Arc<[Arc<str>]>>,
    /// Told with the call before.
    sent: Option<LastSent>,
}

impl Chat for Conversation {
    fn keeps_time(&self) -> bool {
        true
    }
    fn push(&mut self, message: &Message) {
        self.encoder.push(message);
    }
    fn clear(&mut self) {
        self.encoder.clear();
    }
    fn bytes(&self) -> usize {
        self.encoder.bytes()
    }

    fn call(&mut self, spec: &CallSpec) -> ModelStream {
        self.request(spec, None)
    }
    fn call_about(&mut self, spec: &CallSpec, about: &CallAbout) -> ModelStream {
        self.request(spec, about.trace.as_deref().and_then(TracePlace::parse))
    }
}

impl Conversation {
    pub(super) fn new(inner: Arc<ServerState>, encoder: Box<dyn Encoder>, model: &ModelInfo) -> Self {
        let manner = encoder.manner().into();
        Self { inner, encoder, manner, levels: model.levels.clone(), sent: None }
    }

    /// `trace`: where the call belongs. Its server is told that and nothing of what may stand behind it: that was meant for
    /// whoever we have it from.
    fn request(&mut self, spec: &CallSpec, trace: Option<TracePlace>) -> ModelStream {
        let ServerState { config, http, greeting, recent, .. } = &*self.inner;
        let thinking = spec.thinking.as_ref().and_then(|level| clamp(level, self.levels.as_deref()));
        let spec = CallSpec { thinking, ..spec.clone() };
        let draft = self.encoder.draft(&spec);
        let request = ModelRequest {
            draft,
            api: config.api,
            manner: self.manner.clone(),
            greeting: greeting.clone(),
            recent: recent.clone(),
            trace,
        };
        let idle = Some(config.idle_timeout_ms.min(IDLE_MS_MAX)).filter(|ms| *ms > 0).map(Duration::from_millis);
        let decoder = config.api.decoder(http.server.clone());
        Box::pin(ModelCall::new(http.clone(), idle, request, decoder, &mut self.sent))
    }
}
