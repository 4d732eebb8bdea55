//! What passes between a turn and the session that carries it out.

use std::sync::Arc;

use crate::session::model_view::BegunCall;
use vocab::{Body, Call, CallId, CompactReason, ModelFault, Part, PermissionAsk, Required, Sealed, TurnEnd};

/// What the turn wants done, in order.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Append to the log and tell every peer.
    Log(Body),
    Text(String),
    Thinking(String),
    /// See [`vocab::Event::Delta(vocab::Delta::Sealed)`].
    Sealed(Sealed),
    CallInput {
        index: u32,
        id: Option<CallId>,
        name: Option<Arc<str>>,
        delta: String,
    },
    /// Start a model call. The session pushes what was logged and streams the events back.
    CallModel,
    /// As `CallModel`, where everything that comes before it is done.
    SendRequest,
    /// Find the tool and decide; the verdict comes back through [`Turn::judged`].
    Judge(Call),
    /// As `Judge`, of a call that was begun before a restart and has no result.
    TakeUp {
        call: Call,
        begun: BegunCall,
    },
    Ask(PermissionAsk),
    Run {
        call: Call,
        tool: Arc<str>,
        granted: Required,
    },
    /// Have the controller that owns the tool run it.
    Delegate {
        call: Call,
        tool: Arc<str>,
    },
    /// A place where waiting messages may join; answered through [`Turn::joined`].
    SafePoint(SafePoint),
    /// Wait before the next try, and for a place; [`Turn::retry_due`] ends it.
    WaitRetry {
        ms: u64,
    },
    /// The time has come to try again.
    TryAgain,
    RetryStarted {
        attempt: u32,
    },
    RetryEnded {
        attempt: u32,
        ok: bool,
    },
    /// Find another model, then [`Turn::fell_back`].
    FallBack(ModelFault),
    /// Make room, then [`Turn::compacted`].
    Compact(CompactReason),
    End(TurnEnd),
}

/// Where messages may join a running turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SafePoint {
    /// Right after the first user message, before the model is called.
    Start,
    /// Between two calls of one reply.
    BetweenCalls,
    /// After all calls of a reply.
    AfterCalls,
    /// After a reply that called nothing; the turn would end here.
    EndOfReply,
}

/// What became of a call before it ran.
#[derive(Debug)]
pub(crate) enum Verdict {
    Unknown,
    Invalid(String),
    Allow {
        tool: Arc<str>,
        granted: Required,
        mutation: Option<Arc<str>>,
    },
    Ask {
        ask: PermissionAsk,
        mutation: Option<Arc<str>>,
    },
    Deny {
        tool: Arc<str>,
        reason: String,
    },
    /// The tool lives with the controller.
    Delegate {
        tool: Arc<str>,
    },
    /// The controller was asked before a restart, and is asked still.
    Delegated {
        tool: Arc<str>,
    },
    /// The question is open since before a restart.
    Asked {
        ask: PermissionAsk,
        mutation: Option<Arc<str>>,
    },
    /// It was begun before a restart, and nobody can say what came of it.
    Lost,
}

impl Verdict {
    /// The tool's own name, where it was found.
    pub(crate) fn tool(&self) -> Option<&Arc<str>> {
        match self {
            Verdict::Allow { tool, .. }
            | Verdict::Deny { tool, .. }
            | Verdict::Delegate { tool }
            | Verdict::Delegated { tool } => Some(tool),
            Verdict::Ask { ask, .. } | Verdict::Asked { ask, .. } => Some(&ask.tool),
            Verdict::Unknown | Verdict::Invalid(_) | Verdict::Lost => None,
        }
    }
}

/// What the model reads instead of a tool's own words.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ResultWording {
    pub(crate) parts: Vec<Part>,
    pub(crate) is_error: bool,
}
