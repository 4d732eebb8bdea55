//! What the engine's replies are for: each command that was sent left word here.

use std::sync::Arc;

use vocab::{Compaction, Delivery};

use crate::host_tools::Registered;
use crate::inbound::{RpcCall, Text};

/// What a reply is for.
pub(crate) enum RpcPending {
    /// Nobody waits for it.
    Nothing,
    /// The first session, or the one a command leads to, with the text that a branch gives back.
    Open(Option<(RpcCall, Option<String>)>),
    /// A session that is to be copied.
    Source,
    Copied,
    Stop,
    Abort(RpcCall),
    Plain(RpcCall),
    Prompt(RpcCall, Text),
    Slash(RpcCall, Text),
    QueueSlash(RpcCall, Text, Delivery),
    State(RpcCall),
    Commands(RpcCall),
    Todos(RpcCall),
    HostTools(RpcCall, Registered),
    Models(RpcCall),
    CycleModel(RpcCall),
    /// Whether there is such a model.
    FindModel(RpcCall, NamedModel),
    /// How older lines of the log are called.
    Names,
    SetModel {
        call: RpcCall,
        name: String,
        scoped: Option<bool>,
    },
    Level(RpcCall, &'static str),
    Compact(RpcCall),
    Compacted(RpcCall, Box<Compaction>),
    Shell(RpcCall),
    Cleared(RpcCall),
    Exported(RpcCall),
    Read(RpcCall, ReadFor),
    Fork(RpcCall),
    /// The copy is being summarised.
    Handoff(RpcCall),
}

/// A model as hosts name it.
pub(crate) struct NamedModel {
    pub(crate) provider: String,
    pub(crate) id: String,
}

impl NamedModel {
    pub(crate) fn shown(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }
}

/// A copy of the session that is to be summarised.
pub(crate) struct Handoff {
    pub(crate) instructions: Option<Arc<str>>,
}

/// What the log is read for.
pub(crate) enum ReadFor {
    Messages,
    Page { cursor: Option<String>, limit: Option<u64> },
    Stats,
    Users,
    LastText,
    Entries { since: Option<String> },
    Tree,
    Branch { entry: String },
}

/// What follows when nothing runs any more.
pub(crate) enum Then {
    Prompt(RpcCall, Text),
    New(RpcCall, Option<String>),
    Switch(RpcCall, String),
    Branch(RpcCall, String),
    Clone(RpcCall),
    Compact(RpcCall, Option<String>),
}

impl Then {
    /// What the session that runs would have to do itself; the others leave it.
    pub(crate) fn done_there(&self) -> Option<&RpcCall> {
        match self {
            Then::Prompt(call, _) | Then::Compact(call, _) => Some(call),
            Then::New(..) | Then::Switch(..) | Then::Branch(..) | Then::Clone(_) => None,
        }
    }
}

impl RpcPending {
    /// The command that waits for this reply.
    pub(crate) fn call(&self) -> Option<&RpcCall> {
        match self {
            RpcPending::Nothing
            | RpcPending::Names
            | RpcPending::Open(None)
            | RpcPending::Source
            | RpcPending::Copied
            | RpcPending::Stop => None,
            RpcPending::Open(Some((call, _)))
            | RpcPending::Abort(call)
            | RpcPending::Plain(call)
            | RpcPending::Prompt(call, _)
            | RpcPending::Slash(call, _)
            | RpcPending::QueueSlash(call, _, _)
            | RpcPending::State(call)
            | RpcPending::Commands(call)
            | RpcPending::Todos(call)
            | RpcPending::HostTools(call, _)
            | RpcPending::Models(call)
            | RpcPending::CycleModel(call)
            | RpcPending::FindModel(call, _)
            | RpcPending::SetModel { call, .. }
            | RpcPending::Level(call, _)
            | RpcPending::Compact(call)
            | RpcPending::Compacted(call, _)
            | RpcPending::Shell(call)
            | RpcPending::Cleared(call)
            | RpcPending::Exported(call)
            | RpcPending::Read(call, _)
            | RpcPending::Fork(call)
            | RpcPending::Handoff(call) => Some(call),
        }
    }
}
