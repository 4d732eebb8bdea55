//! What an answer of the engine or of a service is for.

use std::path::PathBuf;
use std::sync::Arc;

use vocab::{Answer, AskId, CallId, Change, ItemId, Part, RunRef, SessionId, TurnId};

use crate::commands::CommandPlan;
use crate::commands::subagents::SubagentsFound;
use crate::cursor::EventCursor;
use crate::inbound::events::ReplayWish;
use crate::ledger::{RequestId, StopBy, SubscriptionId};
use crate::methods::ToldBy;
use crate::own::{GatewayOwn, GatewayRefusal};
use crate::services::pairing::PairingAnswer;

/// One open question.
pub(crate) enum GatewayPending {
    /// To the engine. `session`: the one that was asked; its view is kept until the answer is here.
    Command { session: Option<SessionId>, what: Wanted },
    /// To a service.
    Call(WantedOfService),
}

impl GatewayPending {
    /// A command that is for no session that the connection is on.
    pub(crate) fn apart(what: Wanted) -> Self {
        Self::Command { session: None, what }
    }
}

/// What the engine's answer is for.
pub(crate) enum Wanted {
    Opened(SessionId),
    /// `sessions.create` on an existing session: the model first, the other changes only if that succeeds.
    ModelFirst(Box<CreatePlan>),
    Prompt {
        id: RequestId,
        key: Option<Arc<str>>,
    },
    /// A run once more, for a request that repeats its message.
    Joins(RequestId),
    /// A run once more, because its end was heard and not all of it.
    Ends(TurnId),
    /// A run once more, for who waits for it.
    Waits(WaitPlan),
    /// One of several answers that a request needs.
    Part(WorkId, WorkPart),
    /// What there is to say of sub-agents; likewise.
    Subagents(WorkId),
    /// Of a call by hand.
    Called(RequestId),
    /// What waits.
    Queue(RequestId),
    /// A message that waited.
    TakenBack(RequestId),
    Confirmed(RequestId),
    Deleted {
        id: RequestId,
        session: SessionId,
    },
    Forked {
        id: RequestId,
        from: SessionId,
        at: Option<u64>,
    },
    /// The tools of a session, or of all.
    Tools(RequestId),
    Nothing,
}

/// What a service's answer is for.
pub(crate) enum WantedOfService {
    Login(RequestId),
    /// This makes the result of it.
    Answer {
        id: RequestId,
        told: ToldBy,
    },
    /// What the session is about is written down; then the run ends.
    Checkpointed {
        session: SessionId,
        turn: TurnId,
    },
    /// Is there such a session? Then this is done on it.
    Exists {
        session: SessionId,
        after: Box<AfterOpen>,
    },
    /// The attached session, which the connection has left, was deleted.
    AttachedDeleted(SessionId),
    /// Whether the log has the entry that the plan of a subscription names.
    HasPlace {
        plan: u64,
        seq: u64,
    },
    /// A page of stored entries for a subscription that catches up.
    CatchUp {
        session: SessionId,
        subscription: SubscriptionId,
    },
    /// A page of stored entries, as events.
    Replay {
        id: RequestId,
        wish: ReplayWish,
    },
    /// News for the topics that services have.
    News(u64),
    /// Where the run is that somebody waits for.
    FindsRun(WaitPlan),
    /// One of several answers that a request needs.
    Paired(WorkId),
    Nothing,
}

/// What is done once the connection is on a session.
pub(crate) enum AfterOpen {
    Send(Box<SendPlan>),
    Create(Box<CreatePlan>),
    Patch {
        id: RequestId,
        changes: Vec<Change>,
        queue: Option<crate::params::QueuePart>,
        notify: Option<bool>,
    },
    Fork {
        id: RequestId,
        at: Option<u64>,
    },
    /// Everything that runs or waits; one of the parts of this work.
    Cancel {
        id: RequestId,
        work: WorkId,
    },
    Command {
        id: RequestId,
        plan: CommandPlan,
    },
    Callback {
        id: RequestId,
        enabled: bool,
    },
    /// An answer to a question of a session that the connection was not on.
    Confirm {
        id: RequestId,
        of: AskedAbout,
        answer: Answer,
    },
    /// `queue.list` (`None`), or `queue.remove` of this item.
    Queue {
        id: RequestId,
        remove: Option<ItemId>,
    },
    Wait(WaitPlan),
    Tools {
        id: RequestId,
    },
    Execute {
        id: RequestId,
        tool: Arc<str>,
        input: vocab::Json,
        limit_ms: u64,
    },
    Subscribe {
        id: RequestId,
        plan: u64,
    },
    /// The session is on the disk; now the service.
    Service {
        id: RequestId,
        call: GatewayOwn,
        told: ToldBy,
    },
}

impl AfterOpen {
    pub(crate) fn id(&self) -> RequestId {
        match self {
            AfterOpen::Send(plan) => plan.id,
            AfterOpen::Create(plan) => plan.id,
            AfterOpen::Wait(plan) => plan.id,
            AfterOpen::Patch { id, .. }
            | AfterOpen::Fork { id, .. }
            | AfterOpen::Cancel { id, .. }
            | AfterOpen::Command { id, .. }
            | AfterOpen::Callback { id, .. }
            | AfterOpen::Confirm { id, .. }
            | AfterOpen::Queue { id, .. }
            | AfterOpen::Tools { id }
            | AfterOpen::Execute { id, .. }
            | AfterOpen::Subscribe { id, .. }
            | AfterOpen::Service { id, .. } => *id,
        }
    }
}

impl AfterOpen {
    /// The session is saved before this is done: it exists from then on, whoever asks.
    pub(crate) fn keeps(&self) -> bool {
        matches!(self, AfterOpen::Create(_) | AfterOpen::Service { .. })
    }

    /// The engine may treat the connection as a mere listener. A participant that cannot answer would have every later question
    /// denied.
    pub(crate) fn only_listens(&self) -> bool {
        matches!(self, AfterOpen::Subscribe { .. } | AfterOpen::Confirm { .. } | AfterOpen::Queue { .. })
    }
}

/// Which question is answered.
pub(crate) struct AskedAbout {
    pub(crate) call: CallId,
    /// `None`: the one about this call.
    pub(crate) ask: Option<AskId>,
}

impl AskedAbout {
    pub(crate) fn is(&self, ask: &AskId, call: &CallId) -> bool {
        self.call == *call && self.ask.as_ref().is_none_or(|named| named == ask)
    }
}

/// A message on its way.
pub(crate) struct SendPlan {
    pub(crate) id: RequestId,
    pub(crate) session: SessionId,
    pub(crate) parts: Vec<Part>,
    pub(crate) key: Option<Arc<str>>,
    pub(crate) model: Option<Arc<str>>,
    pub(crate) trace: Option<Arc<str>>,
}

/// Somebody waits for a run.
pub(crate) struct WaitPlan {
    pub(crate) id: RequestId,
    pub(crate) of: RunRef,
    /// Sessions where it may be as well, the next one last.
    pub(crate) elsewhere: Vec<SessionId>,
}

/// A session to be.
pub(crate) struct CreatePlan {
    pub(crate) id: RequestId,
    pub(crate) cwd: Option<PathBuf>,
    /// Not chosen yet. One that is not there leaves everything as it is.
    pub(crate) model: Option<Arc<str>>,
    pub(crate) changes: Vec<Change>,
    pub(crate) queue: Option<crate::params::QueuePart>,
}

/// A subscription on its way: it has an answer once it is on all its sessions.
pub(crate) struct SubscribePlan {
    pub(crate) number: u64,
    pub(crate) id: RequestId,
    pub(crate) sessions: Vec<SessionId>,
    /// Those that it is not on yet.
    pub(crate) left: usize,
    pub(crate) topics: Vec<crate::own::Topic>,
    pub(crate) after: Option<EventCursor>,
    /// It is told what the model thinks.
    pub(crate) thinking: bool,
    pub(crate) place: AheadPlace,
}

/// What is known of a place that the connection was not told yet.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum AheadPlace {
    #[default]
    Unknown,
    /// The log is asked whether it has it.
    Asked,
    InLog,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct WorkId(pub(crate) u64);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WorkPart {
    Set,
    Inspect,
    Interrupt,
    TakeBack,
    /// Of the message of this request: where a run has taken it meanwhile, that is to be stopped.
    TakeBackOf(RequestId),
    /// Of what this request came into later: where others want it, the request goes alone.
    Withdraw(RequestId),
    Abort,
    Slash,
    /// What the session has used, beside what a command shows.
    Used,
}

/// A request is to end of which it is not known yet how: its message is on its way to the lane.
pub(crate) struct StopWish {
    pub(crate) id: RequestId,
    pub(crate) by: StopBy,
    /// What hears how that went.
    pub(crate) work: WorkId,
}

/// A request that needs several answers.
pub(crate) struct Work {
    pub(crate) number: WorkId,
    pub(crate) id: RequestId,
    pub(crate) left: usize,
    pub(crate) refused: Option<GatewayRefusal>,
    pub(crate) inspected: Option<Box<vocab::Inspection>>,
    pub(crate) slash: Option<Box<vocab::SlashReply>>,
    pub(crate) used: Option<Box<vocab::SlashReply>>,
    /// What a service said of codes.
    pub(crate) paired: Option<PairingAnswer>,
    pub(crate) subagents: Option<SubagentsFound>,
    /// Something ran and was stopped.
    pub(crate) active: bool,
    /// Messages that waited and were taken back.
    pub(crate) queued: u64,
    pub(crate) then: WorkEnd,
}

pub(crate) enum WorkEnd {
    Cancelled,
    /// `notify`: set where nothing was refused.
    Patched {
        session: SessionId,
        notify: Option<bool>,
    },
    Created {
        session: SessionId,
        created: bool,
    },
    Callback,
    Command {
        session: SessionId,
        plan: CommandPlan,
    },
    /// Nobody waits for it.
    Nobody,
}
