//! What the engine's replies are for: each command that was sent left word here.

use std::sync::Arc;

use vocab::{Account, Item, SessionId};

use crate::accounts::Then;
use crate::frames::Call;
use crate::history::{Page, Selector};
use crate::messages::Said;
use crate::send::Sending;

/// What a reply is for.
pub(crate) enum Why {
    /// Nobody waits for it.
    Nothing,
    Accounts(Then),
    /// For `state.get` or `skills.list`; without a request at the beginning.
    Skills(Option<Call>),
    Create {
        call: Call,
        id: Arc<str>,
        title: Option<Arc<str>>,
    },
    Inspect {
        call: Call,
        seat: u64,
        created: bool,
    },
    Log {
        call: Call,
        seat: u64,
        waiting: Vec<Item>,
        /// It was read before, and was older than what had been told by then.
        again: bool,
    },
    Picture(Box<Sending>),
    Send(Box<Sending>),
    Steer {
        call: Call,
        seat: u64,
    },
    QueueList {
        call: Call,
        seat: u64,
    },
    QueueClear {
        call: Call,
        seat: u64,
    },
    Sessions(Call, Page),
    Recall {
        call: Call,
        selector: Selector,
    },
    Resume {
        call: Call,
        seat: u64,
        selector: Selector,
    },
    Copied {
        call: Call,
        seat: u64,
        resume: Resume,
    },
    /// The log of a copy, which has numbers of its own.
    Reread {
        call: Call,
        seat: u64,
        resume: Resume,
    },
    /// The queue was emptied for [`crate::seat::After`].
    Emptied {
        seat: u64,
    },
    Swap {
        call: Call,
        seat: u64,
        swap: Swap,
    },
    Models(Call, Listing),
    Tools(Call),
    Limits(Call),
    Routes(Call, String),
    SignIn(Call, Account),
    OpenRouterKey(Call),
    ExaKey {
        call: Call,
        skipped: bool,
    },
    Forget {
        call: Call,
        seat: u64,
    },
    Compact {
        seat: u64,
        before: u64,
        how: Box<Compacting>,
    },
}

/// What a list of models is wanted for.
pub(crate) enum Listing {
    List {
        only: Option<&'static str>,
    },
    Select(Box<Select>),
    /// `/model`
    Command,
}

pub(crate) struct Select {
    pub(crate) model: String,
    pub(crate) provider: &'static str,
    pub(crate) thinking: String,
    pub(crate) route: String,
    /// The session whose context is compressed at once.
    pub(crate) compress: Option<u64>,
}

/// Which chat a session goes on with.
pub(crate) enum Swap {
    Clear,
    ForgetAll,
    Resume(Resume),
}

pub(crate) struct Resume {
    /// As the user knows it.
    pub(crate) chat: SessionId,
    /// What is opened: the same, or a copy of it.
    pub(crate) opens: SessionId,
    pub(crate) said: Vec<Said>,
    /// Its own model is not there any more; the selected one takes over.
    pub(crate) other_model: bool,
}

pub(crate) enum Compacting {
    /// `/compress`
    Command(Call),
    /// `model.select`, from one provider to another or not.
    Select { call: Call, switched: bool },
}

impl Why {
    /// The request that waits for it.
    pub(crate) fn call(&self) -> Option<&Call> {
        match self {
            Why::Nothing | Why::Emptied { .. } => None,
            Why::Accounts(then) => then.call(),
            Why::Skills(call) => call.as_ref(),
            Why::Picture(sending) | Why::Send(sending) => Some(&sending.call),
            Why::Compact { how, .. } => match &**how {
                Compacting::Command(call) | Compacting::Select { call, .. } => Some(call),
            },
            Why::Create { call, .. }
            | Why::Inspect { call, .. }
            | Why::Log { call, .. }
            | Why::Steer { call, .. }
            | Why::QueueList { call, .. }
            | Why::QueueClear { call, .. }
            | Why::Sessions(call, _)
            | Why::Recall { call, .. }
            | Why::Resume { call, .. }
            | Why::Copied { call, .. }
            | Why::Reread { call, .. }
            | Why::Swap { call, .. }
            | Why::Models(call, _)
            | Why::Tools(call)
            | Why::Limits(call)
            | Why::Routes(call, _)
            | Why::SignIn(call, _)
            | Why::OpenRouterKey(call)
            | Why::ExaKey { call, .. }
            | Why::Forget { call, .. } => Some(call),
        }
    }

    /// The session that it is about.
    pub(crate) fn seat(&self) -> Option<u64> {
        match self {
            Why::Picture(sending) | Why::Send(sending) => Some(sending.seat),
            Why::Inspect { seat, .. }
            | Why::Log { seat, .. }
            | Why::Steer { seat, .. }
            | Why::QueueList { seat, .. }
            | Why::QueueClear { seat, .. }
            | Why::Resume { seat, .. }
            | Why::Copied { seat, .. }
            | Why::Reread { seat, .. }
            | Why::Emptied { seat }
            | Why::Swap { seat, .. }
            | Why::Compact { seat, .. } => Some(*seat),
            Why::Nothing
            | Why::Accounts(_)
            | Why::Skills(_)
            | Why::Create { .. }
            | Why::Sessions(..)
            | Why::Recall { .. }
            | Why::Models(..)
            | Why::Tools(_)
            | Why::Limits(_)
            | Why::Routes(..)
            | Why::SignIn(..)
            | Why::OpenRouterKey(_)
            | Why::ExaKey { .. }
            | Why::Forget { .. } => None,
        }
    }
}
