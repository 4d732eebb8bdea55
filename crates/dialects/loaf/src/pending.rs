//! What replies are for: each command and each call that was sent left word here.

use std::sync::Arc;

use vocab::{AccountName, Item, SessionId};

use crate::accounts::Then;
use crate::frames::LoafCall;
use crate::history::{HistoryPage, Selector};
use crate::messages::SaidMessage;
use crate::send::Sending;

/// What a reply is for.
pub(crate) enum LoafPending {
    /// Nobody waits for it.
    Nothing,
    /// The selected model is given to a chat.
    Chosen,
    Accounts(Then),
    /// For `state.get` or `skills.list`; without a request at the beginning.
    Skills(Option<LoafCall>),
    Create {
        call: LoafCall,
        id: Arc<str>,
        title: Option<Arc<str>>,
    },
    Inspect {
        call: LoafCall,
        view: u64,
        created: bool,
    },
    Log {
        call: LoafCall,
        view: u64,
        waiting: Vec<Item>,
        /// It was read before, and was older than what had been told by then.
        again: bool,
    },
    Image(Box<Sending>),
    Send(Box<Sending>),
    Steer {
        call: LoafCall,
        view: u64,
    },
    QueueList {
        call: LoafCall,
        view: u64,
    },
    QueueClear {
        call: LoafCall,
        view: u64,
    },
    Sessions(LoafCall, HistoryPage),
    Recall {
        call: LoafCall,
        selector: Selector,
    },
    Resume {
        call: LoafCall,
        view: u64,
        selector: Selector,
    },
    Copied {
        call: LoafCall,
        view: u64,
        resume: Resume,
    },
    /// The log of a copy, which has numbers of its own.
    Reread {
        call: LoafCall,
        view: u64,
        resume: Resume,
    },
    /// The queue was emptied for [`crate::session_view::After`].
    Emptied {
        view: u64,
    },
    Swap {
        call: LoafCall,
        view: u64,
        swap: Swap,
    },
    Models(LoafCall, Listing),
    Tools(LoafCall),
    Limits(LoafCall),
    Routes(LoafCall, String),
    SignIn(LoafCall, AccountName),
    OpenRouterKey(LoafCall),
    ExaKey {
        call: LoafCall,
        skipped: bool,
    },
    Forget {
        call: LoafCall,
        view: u64,
    },
    Compact {
        view: u64,
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
    pub(crate) said: Vec<SaidMessage>,
    /// Its own model is not there any more; the selected one takes over.
    pub(crate) other_model: bool,
}

pub(crate) enum Compacting {
    /// `/compress`
    Command(LoafCall),
    /// `model.select`, from one provider to another or not.
    Select { call: LoafCall, switched: bool },
}

impl LoafPending {
    /// The request that waits for it.
    pub(crate) fn call(&self) -> Option<&LoafCall> {
        match self {
            LoafPending::Nothing | LoafPending::Chosen | LoafPending::Emptied { .. } => None,
            LoafPending::Accounts(then) => then.call(),
            LoafPending::Skills(call) => call.as_ref(),
            LoafPending::Image(sending) | LoafPending::Send(sending) => Some(&sending.call),
            LoafPending::Compact { how, .. } => match &**how {
                Compacting::Command(call) | Compacting::Select { call, .. } => Some(call),
            },
            LoafPending::Create { call, .. }
            | LoafPending::Inspect { call, .. }
            | LoafPending::Log { call, .. }
            | LoafPending::Steer { call, .. }
            | LoafPending::QueueList { call, .. }
            | LoafPending::QueueClear { call, .. }
            | LoafPending::Sessions(call, _)
            | LoafPending::Recall { call, .. }
            | LoafPending::Resume { call, .. }
            | LoafPending::Copied { call, .. }
            | LoafPending::Reread { call, .. }
            | LoafPending::Swap { call, .. }
            | LoafPending::Models(call, _)
            | LoafPending::Tools(call)
            | LoafPending::Limits(call)
            | LoafPending::Routes(call, _)
            | LoafPending::SignIn(call, _)
            | LoafPending::OpenRouterKey(call)
            | LoafPending::ExaKey { call, .. }
            | LoafPending::Forget { call, .. } => Some(call),
        }
    }

    /// The session that it is about.
    pub(crate) fn view(&self) -> Option<u64> {
        match self {
            LoafPending::Image(sending) | LoafPending::Send(sending) => Some(sending.view),
            LoafPending::Inspect { view, .. }
            | LoafPending::Log { view, .. }
            | LoafPending::Steer { view, .. }
            | LoafPending::QueueList { view, .. }
            | LoafPending::QueueClear { view, .. }
            | LoafPending::Resume { view, .. }
            | LoafPending::Copied { view, .. }
            | LoafPending::Reread { view, .. }
            | LoafPending::Emptied { view }
            | LoafPending::Swap { view, .. }
            | LoafPending::Compact { view, .. } => Some(*view),
            LoafPending::Nothing
            | LoafPending::Chosen
            | LoafPending::Accounts(_)
            | LoafPending::Skills(_)
            | LoafPending::Create { .. }
            | LoafPending::Sessions(..)
            | LoafPending::Recall { .. }
            | LoafPending::Models(..)
            | LoafPending::Tools(_)
            | LoafPending::Limits(_)
            | LoafPending::Routes(..)
            | LoafPending::SignIn(..)
            | LoafPending::OpenRouterKey(_)
            | LoafPending::ExaKey { .. }
            | LoafPending::Forget { .. } => None,
        }
    }
}
