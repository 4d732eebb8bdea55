//! What methods take, in the order of the families.

use crate::cursor::EventCursor;
use crate::shape::*;
use crate::{shape, words};

/// Bytes of a message.
pub const MESSAGE_BYTES_MAX: usize = 1024 * 1024;
/// Attachments of one message, and their bytes together, decoded.
pub const ATTACHMENTS_MAX: usize = 10;
pub const ATTACHED_BYTES_MAX: usize = 10 * 1024 * 1024;
/// Base64 of one attachment.
const ATTACHED_TEXT_MAX: usize = ATTACHED_BYTES_MAX / 3 * 4 + 8;
/// Milliseconds of a day.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

shape! { params
    /// A token.
    LoginParams { "token" token: Text<1, 4096> }
}

words! { /// What a lane does with a message that comes while it is busy.
    LaneModeWord {
        Collect = "collect", Followup = "followup", Steer = "steer", SteerBacklog = "steer_backlog", Interrupt = "interrupt",
    }
}
words! { /// Which message goes when there is no room.
    OverflowWord { DropOld = "drop_old", DropNew = "drop_new" }
}
words! { /// Whether waiting messages become one turn.
    CoalesceWord { Auto = "auto", Always = "always", Never = "never" }
}
shape! { both
    /// The rules of a lane; what is left out stays as it is.
    QueuePart {
        "mode" mode: Option<LaneModeWord>,
        /// Messages that wait; the run is not counted.
        "cap" cap: Option<Count<1, 1000>>,
        "overflow" overflow: Option<OverflowWord>,
        "debounceMs" debounce_ms: Option<Count<0, 60_000>>,
        "summarizeOverflow" summarize_overflow: Option<bool>,
        "coalesce" coalesce: Option<CoalesceWord>,
    }
}

shape! { params
    /// Which session.
    SessionParams { "sessionId" session_id: SessionName }
}
shape! { params
    /// A new session, or one that is there.
    CreateParams {
        "sessionId" session_id: Option<SessionName>,
        "title" title: Option<Text<1, 200>>,
        "modelTier" model_tier: Option<ModelName>,
        "queue" queue: Option<QueuePart>,
        /// An absolute path of a directory of this machine.
        "cwd" cwd: Option<Text<1, 4096>>,
    }
}
shape! { params
    /// How long what would be asked is allowed: until a moment, or so many minutes from now.
    ElevationPart {
        /// `false`: no more; then nothing else is needed.
        "active" active: Option<bool>,
        "untilMs" until_ms: Option<Count<0, { i64::MAX }>>,
        "minutes" minutes: Option<Count<0, 480>>,
    }
}
shape! { params
    /// What is to be otherwise.
    PatchParams {
        "sessionId" session_id: SessionName,
        "title" title: Option<Text<1, 200>>,
        "modelTier" model_tier: Option<ModelName>,
        /// null: the session has no rules of its own any more.
        "queue" queue: Wish<QueuePart>,
        /// null: no more.
        "elevation" elevation: Wish<ElevationPart>,
        "notify" notify: Option<bool>,
    }
}
shape! { params
    /// Everything before the user message `atSeq`, or everything.
    ForkParams { "sessionId" session_id: Option<SessionName>, "atSeq" at_seq: Option<Count<1, { i64::MAX }>> }
}

shape! { both
    /// A file that comes with a message: an image, or text.
    AttachmentPart {
        "mimeType" mime_type: Text<1, 128>,
        /// Base64.
        "data" data: LongText<ATTACHED_TEXT_MAX>,
        "filename" filename: Option<Text<1, 255>>,
    }
}
shape! { params
    /// A message for the model, or a command where its first word is one.
    SendParams {
        /// May be empty where there are attachments.
        "message" message: LongText<MESSAGE_BYTES_MAX>,
        "sessionId" session_id: Option<SessionName>,
        /// The same as `sessionId`.
        "session" session: Option<SessionName>,
        "attachments" attachments: List<AttachmentPart, ATTACHMENTS_MAX> = List(Vec::new()),
        /// The same message with the same key is taken once, within a day.
        "idempotencyKey" idempotency_key: Option<Text<1, 200>>,
        /// For the session, from now on.
        "modelTier" model_tier: Option<ModelName>,
        /// After this it is cancelled.
        "timeoutMs" timeout_ms: Option<Count<1, DAY_MS>>,
        "traceparent" traceparent: Option<Text<1, 200>>,
    }
}
shape! { params
    /// One request of this connection; else everything of a session; else the attached session and everything sent here.
    CancelParams { "sessionId" session_id: Option<SessionName>, "requestId" request_id: Option<Count<0, 9_007_199_254_740_991>> }
}
shape! { params
    /// Whose queue.
    QueueParams { "sessionId" session_id: SessionName }
}
shape! { params
    /// Which message.
    RemoveParams { "sessionId" session_id: SessionName, "itemId" item_id: Text<1, 256> }
}
shape! { params
    /// Whether this connection is asked before tools of this session run.
    CallbackParams { "sessionId" session_id: SessionName, "enabled" enabled: bool }
}
words! { /// What a person says to a call.
    DecisionWord { Allow = "allow", AllowSession = "allow_session", Deny = "deny" }
}
shape! { params
    /// The answer to `tool_confirm`.
    ConfirmParams {
        /// Models count their calls anew in each session: without it, a call of this name must be open in one alone.
        "sessionId" session_id: Option<SessionName>,
        "callId" call_id: Text<1, 256>,
        /// Where it is given, the answer counts for that question alone.
        "askId" ask_id: Option<Text<1, 256>>,
        "decision" decision: DecisionWord,
        /// For the model, where it is a no.
        "reason" reason: Option<Text<0, 2000>>,
    }
}
shape! { params
    /// A run by its id or by the key of its message.
    WaitParams {
        "runId" run_id: Option<Text<1, 200>>,
        "idempotencyKey" idempotency_key: Option<Text<1, 200>>,
        "sessionId" session_id: Option<SessionName>,
        "timeoutMs" timeout_ms: Count<0, 600_000> = Count(30_000),
    }
}

shape! { params
    /// Of a session, or as every session has them.
    ToolsParams { "sessionId" session_id: Option<SessionName> }
}
shape! { params
    /// A call by hand.
    ExecuteParams {
        "sessionId" session_id: Option<SessionName>,
        "tool" tool: Text<1, 200>,
        "args" args: Option<ObjectJson>,
        "timeoutMs" timeout_ms: Count<1, 600_000> = Count(120_000),
    }
}

shape! { params
    /// `session:<id>`, `sessions`, `asks`, `lanes`, `nodes`, `metrics`, `logs`.
    SubscribeParams {
        "topics" topics: List<Text<1, 210>, 64>,
        /// Of the session that is named: what is stored after it comes first.
        "afterSeq" after_seq: Option<EventCursor>,
        /// With what the models think.
        "thinking" thinking: bool = false,
    }
}
shape! { params
    /// Which one.
    UnsubscribeParams { "subscriptionId" subscription_id: Count<0, { i64::MAX }> }
}
shape! { params
    /// Stored events after a cursor, or the newest before a place.
    ReplayParams {
        "sessionId" session_id: SessionName,
        "afterSeq" after_seq: Option<EventCursor>,
        /// The newest entries before this one, oldest first; a number beyond the end means the newest there are.
        "beforeSeq" before_seq: Option<Count<1, { i64::MAX }>>,
        /// Entries of the log; one makes at least one event.
        "limit" limit: Count<1, 1000> = Count(200),
        /// With what the models thought.
        "thinking" thinking: bool = false,
    }
}
