//! The closed lists, word by word. A new variant in the vocabulary fails to compile here until it has a word on disk.
//! Where the word on disk is an older one than ours, it stands behind the variant.

use serde::{Deserialize, Serialize};

macro_rules! mirror {
    ($($name:ident { $($variant:ident $(= $word:literal)?),* $(,)? })*) => { $(
        #[derive(Clone, Copy, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub(super) enum $name { $($(#[serde(rename = $word)])? $variant),* }

        impl From<vocab::$name> for $name {
            fn from(word: vocab::$name) -> Self {
                match word { $(vocab::$name::$variant => Self::$variant),* }
            }
        }
        impl From<$name> for vocab::$name {
            fn from(word: $name) -> Self {
                match word { $($name::$variant => Self::$variant),* }
            }
        }
    )* };
}

mirror! {
    Mode { ReadOnly, WorkspaceWrite, DangerFullAccess, Prompt, Plan }
    Required { ReadOnly, WorkspaceWrite, DangerFullAccess }
    UserFrom { Prompt, Steer, FollowUp, Reminder, Extension = "companion" }
    TodoStatus { Pending, InProgress, Completed, Abandoned }
    Stop { EndTurn, MaxTokens, MaxIterations, Refusal, Interrupted, Error, Budget }
    CompactReason { Manual, Threshold, Overflow, Switch }
    Finish { Stop, Length, ToolUse, Refusal }
    CallEnd { Ran, Denied, Unknown, Invalid, Interrupted, Skipped, Lost }
    Scope { Once, Session }
    Delivery { RejectIfBusy, Steer, FollowUp, Enqueue, Queue, Policy }
    ItemEnd { Consumed, Superseded, Dropped, Cancelled }
    SettleReason { Ran, TakenBack, Overflow, Newer, Interrupted, TooLate, NoRoom, Deleted, Restarted, TimedOut }
    CutBy { Asked, Newer, Ending, Deleted, Stalled, TimedOut }
    LaneMode { Collect, Followup, Steer, SteerBacklog, Interrupt }
    Overflow { DropOld, DropNew }
    Coalesce { Auto, Always, Never }
    Drain { OneAtATime, All }
    SteerPoint { Wait, Immediate }
    LateSteer { Joins, Dropped }
    BudgetSpan { Turn, Session, Day }
    BudgetUnit { Money, Tokens, Time, Rounds }
    FaultKind {
        Invalid, EmptyPrompt, TurnInProgress, WorksForCall, QueueFull, NotFound, UnknownSession, UnknownAsk, UnknownModel,
        UnknownCommand, SessionBusy, ShuttingDown, NothingToDo, Unsupported, KeyTaken, Budget, Store, Cancelled, Internal,
        Auth, RateLimited, ContextOverflow, BadRequest, Provider, StreamCut, Network,
    }
}
