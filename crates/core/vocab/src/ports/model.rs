//! Models: which there are, and a conversation with one of them.

use std::pin::Pin;
use std::sync::Arc;

use futures_core::Stream;

use super::{Later, ToolSpec};
use crate::visible::is_ignorable;
use crate::{CallId, Fault, FaultKind, Finish, Message, Prices, SessionId, TurnId, Usage};

/// A name of a model that is longer is nobody's: whoever looks it up is told so, and it is neither kept nor sent.
pub const MODEL_NAME_CHARS_MAX: usize = 200;
/// Of a name that is none so much is repeated.
const BEGINNING_CHARS: usize = 40;

/// Whether it can be a model's name, of at most so many characters: somebody may have sent a letter where a name belongs, or a
/// name that is not what it looks like.
pub fn check_model_name(name: &str, chars_max: usize) -> Result<(), Fault> {
    let begins: String = name.chars().take(BEGINNING_CHARS).collect();
    let is_odd = |c: &char| c.is_control() || is_ignorable(*c) || matches!(c, '\u{2028}' | '\u{2029}');
    let text = match (name.chars().find(is_odd).map(u32::from), name.chars().nth(chars_max)) {
        (None, None) => return Ok(()),
        (Some(code), _) => {
            format!("no model {begins:?}: a name of a model has no control or invisible characters (U+{code:04X})")
        }
        (None, Some(_)) => format!("no model `{begins}…`: a name of a model has at most {chars_max} characters"),
    };
    Err(Fault::new(FaultKind::UnknownModel, text))
}

#[derive(Clone, PartialEq, Debug)]
pub struct ModelInfo {
    /// What a user types and a peer is shown. `PROVIDER/ID` where there is more than one provider.
    pub slug: Arc<str>,
    /// Whose model it is: the name of a configured server, of an account, `tour`.
    pub provider: Arc<str>,
    /// The provider's own name for it.
    pub id: Arc<str>,
    /// For people.
    pub name: Arc<str>,
    /// The wire format, as its client names it.
    pub api: Arc<str>,
    pub base_url: Arc<str>,
    pub context_window: u64,
    /// The provider's own limit for one answer, when known.
    pub max_output: Option<u64>,
    pub prices: Option<Prices>,
    pub images: bool,
    pub thinking: bool,
    /// Thinking levels it is known to take, weakest first, and `off` where it can be switched off; `None` = nothing is
    /// known. See [`crate::thinking`].
    pub levels: Option<Arc<[Arc<str>]>>,
    /// Slugs to ask instead, in order, when this one cannot answer.
    pub fallbacks: Arc<[Arc<str>]>,
    /// Only whoever asked for it says that it exists: no list has it, and no setting names it.
    pub unlisted: bool,
}

impl ModelInfo {
    /// A model of which only the name and the window are known. It is not taken to lack anything: its server knows
    /// better and says so.
    pub fn named(slug: impl Into<Arc<str>>, context_window: u64) -> Self {
        let slug = slug.into();
        Self {
            provider: "".into(),
            id: slug.clone(),
            name: slug.clone(),
            api: "".into(),
            base_url: "".into(),
            slug,
            context_window,
            max_output: None,
            prices: None,
            images: true,
            thinking: true,
            levels: None,
            fallbacks: Arc::from([]),
            unlisted: false,
        }
    }
}

/// A source of models. Implementations may be composed; the engine holds one.
pub trait Provider: Send + Sync {
    /// What this slug means. Does not touch the network; unknown slugs name what exists.
    fn resolve(&self, slug: &str) -> Result<ModelInfo, Fault>;
    /// Everything that can be offered; may ask the server.
    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>>;
    /// A conversation with one model. Encodes each message once and keeps the bytes.
    fn chat(&self, model: &ModelInfo) -> Result<Box<dyn Chat>, Fault>;
}

/// A conversation in the provider's own format. The engine pushes each message once; a call adds nothing but the
/// frame around them, so its cost does not grow with history beyond the bytes sent.
pub trait Chat: Send {
    fn push(&mut self, message: &Message);
    /// Forget all messages (compaction, undo); the engine pushes the new ones.
    fn clear(&mut self);
    /// Encoded size of the messages alone, for estimates.
    fn bytes(&self) -> usize;
    /// Dropping the stream closes the connection.
    fn call(&mut self, spec: &CallSpec) -> ModelStream;
    /// The same, for somebody who says what the call is for. Whoever passes calls on passes this on.
    fn call_about(&mut self, spec: &CallSpec, _about: &CallAbout) -> ModelStream {
        self.call(spec)
    }
    /// Whether it is this client's to say how long a model may be silent, for ever perhaps. Of any other one a call that
    /// says nothing is given up after a while.
    fn keeps_time(&self) -> bool {
        false
    }
}

/// What a model call is for. Nothing of it is sent to the model; a trace may be sent to its server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallAbout {
    pub session: SessionId,
    /// `None`: a summary of the session itself.
    pub turn: Option<TurnId>,
    /// As in [`crate::Delta::ModelCalled`].
    pub reply: u32,
    /// As in [`crate::Command`].
    pub trace: Option<Arc<str>>,
    /// The call that this session works for.
    pub child_of: Option<(SessionId, CallId)>,
}

/// Everything about a model call except its messages.
#[derive(Clone, PartialEq, Debug)]
pub struct CallSpec {
    pub system: Arc<str>,
    pub tools: Arc<[ToolSpec]>,
    pub max_tokens: u64,
    pub thinking: Option<Arc<str>>,
}

pub type ModelStream = Pin<Box<dyn Stream<Item = ModelEvent> + Send>>;

/// What a model call yields. Exactly one of `Finished` and `Failed` comes last.
#[derive(Clone, PartialEq, Debug)]
pub enum ModelEvent {
    /// The request is on its way. Comes first, and again where another one was sent instead.
    Sent {
        sent: Arc<Sent>,
        /// Size of the whole body.
        bytes: u64,
    },
    Text(String),
    Thinking(String),
    /// The provider's signature of the thinking or the call that came last; behind anything else it stands alone.
    Seal(String),
    /// Thinking that came sealed, without words.
    Redacted(String),
    /// A call begins or continues; `index` tells parallel calls apart. `id` and `name` come once, with the start.
    Call {
        index: u32,
        id: Option<String>,
        name: Option<String>,
        input: String,
    },
    Usage(Usage),
    Finished(Finish),
    Failed(ModelFault),
}

/// A request to a model, as far as the log has it not already: without secrets and without the messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sent {
    /// The wire format, as in [`ModelInfo::api`].
    pub api: Arc<str>,
    pub url: Arc<str>,
    /// Beyond those that every request has and those that prove who we are.
    pub headers: Vec<(Arc<str>, Arc<str>)>,
    /// How messages are written, for whoever writes them again; the provider's own words.
    pub manner: Arc<str>,
    /// The body before the messages, and behind them.
    pub head: Arc<str>,
    pub tail: Arc<str>,
}

/// A failed model call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelFault {
    pub fault: Fault,
    /// Trying again may help.
    pub retryable: bool,
    /// What the server asked us to wait.
    pub retry_after_ms: Option<u64>,
}

impl ModelFault {
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        let retryable =
            matches!(kind, FaultKind::RateLimited | FaultKind::Provider | FaultKind::Network | FaultKind::StreamCut);
        Self { fault: Fault::new(kind, message), retryable, retry_after_ms: None }
    }
}
