//! What is wanted from the engine, and for which request: each reply finds its purpose here.

use vocab::{Open, SessionId};

use crate::flow::Place;
use crate::frames::CallId;
use crate::session_view::Closing;

/// What a reply is for.
pub(crate) enum Pending {
    /// No request waits for it.
    Nothing,
    Models,
    /// Sessions wait for it to be opened.
    ModelsSoon,
    Environment(CallId),
    SignIn(CallId),
    Logout(CallId),
    Open {
        /// `None`: its client only listens to it.
        call: Option<CallId>,
        asked: Option<String>,
        how: SessionOpening,
    },
    /// The log of a session that is not new.
    Replay {
        call: Option<CallId>,
        session: SessionId,
        how: SessionOpening,
        /// The last entry that this peer was not told live.
        upto: u64,
    },
    /// A client is told on from its place.
    Rejoin {
        session: SessionId,
    },
    /// The log, to know how things stood at a place.
    Stands {
        session: SessionId,
        place: Place,
    },
    Fork {
        call: CallId,
        asked: String,
        open: Box<Open>,
    },
    List {
        call: CallId,
        offset: usize,
    },
    Left {
        session: SessionId,
        closing: Vec<Closing>,
    },
    Deleted(CallId),
    Prompt {
        call: CallId,
        session: SessionId,
        /// It was taken back before the engine had it.
        cancelled: bool,
    },
    Slash {
        call: CallId,
        session: SessionId,
    },
    Set {
        call: CallId,
        session: SessionId,
        answer: SettingAnswer,
    },
}

/// How a session comes in.
pub(crate) enum SessionOpening {
    New,
    /// Everything that was said after a place is told again, before the answer.
    Load {
        after: Place,
    },
    Resume,
    /// A copy, under an id that its client does not know yet.
    Fork,
    /// Its client listens to it from a place on, without a request.
    Attach {
        place: Place,
    },
    /// For a prompt, whose params these are.
    Prompt {
        params: CallId,
    },
}

/// What a changed setting is answered with.
#[derive(Clone, Copy)]
pub(crate) enum SettingAnswer {
    Empty,
    Options,
}

impl Pending {
    /// The request, where its outcome may be dropped without harm.
    pub(crate) fn may_drop(&self) -> Option<&CallId> {
        match self {
            Pending::Environment(call) | Pending::SignIn(call) | Pending::List { call, .. } => Some(call),
            Pending::Nothing
            | Pending::Models
            | Pending::ModelsSoon
            | Pending::Logout(_)
            | Pending::Open { .. }
            | Pending::Replay { .. }
            | Pending::Rejoin { .. }
            | Pending::Stands { .. }
            | Pending::Fork { .. }
            | Pending::Left { .. }
            | Pending::Deleted(_)
            | Pending::Prompt { .. }
            | Pending::Slash { .. }
            | Pending::Set { .. } => None,
        }
    }

    /// The session that has to stay until the request is answered.
    pub(crate) fn needs(&self) -> Option<&SessionId> {
        match self {
            Pending::Replay { session, .. }
            | Pending::Prompt { session, .. }
            | Pending::Slash { session, .. }
            | Pending::Set { session, .. } => Some(session),
            Pending::Nothing
            | Pending::Models
            | Pending::ModelsSoon
            | Pending::Environment(_)
            | Pending::SignIn(_)
            | Pending::Logout(_)
            | Pending::Open { .. }
            | Pending::Rejoin { .. }
            | Pending::Stands { .. }
            | Pending::Fork { .. }
            | Pending::List { .. }
            | Pending::Left { .. }
            | Pending::Deleted(_) => None,
        }
    }
}
