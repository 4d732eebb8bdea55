//! What the engine's replies are for: each command that was sent left word here.

use vocab::{Compaction, Delivery};

use crate::host_tools::Registered;
use crate::inbound::{Call, Text};

/// What a reply is for.
pub(crate) enum RpcPending {
    /// Nobody waits for it.
    Nothing,
    /// The first session, or the one a command leads to, with the text that a branch gives back.
    Open(Option<(Call, Option<String>)>),
    /// A session that is to be copied.
    OpenSource,
    Copied,
    Stop,
    Abort(Call),
    Plain(Call),
    Prompt(Call, Text),
    Slash(Call, Text),
    QueueSlash(Call, Text, Delivery),
    State(Call),
    Commands(Call),
    Todos(Call),
    HostTools(Call, Registered),
    Models(Call),
    CycleModel(Call),
    /// Whether there is such a model.
    FindModel(Call, Named),
    /// How older lines of the log are called.
    Names,
    SetModel {
        call: Call,
        name: String,
        scoped: Option<bool>,
    },
    Level(Call, &'static str),
    Compact(Call),
    Compacted(Call, Box<Compaction>),
    Shell(Call),
    Cleared(Call),
    Exported(Call),
    Read(Call, ReadFor),
    Fork(Call),
    /// The copy is being summarised.
    Handoff(Call),
}

/// A model as hosts name it.
pub(crate) struct Named {
    pub(crate) provider: String,
    pub(crate) id: String,
}

impl Named {
    pub(crate) fn shown(&self) -> String {
        format!("{}/{}", self.provider, self.id)
    }
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
    Prompt(Call, Text),
    New(Call, Option<String>),
    Switch(Call, String),
    Branch(Call, String),
    Clone(Call),
    Compact(Call, Option<String>),
}

impl RpcPending {
    /// The command that waits for this reply.
    pub(crate) fn call(&self) -> Option<&Call> {
        match self {
            RpcPending::Nothing
            | RpcPending::Names
            | RpcPending::Open(None)
            | RpcPending::OpenSource
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
