//! What came of a slash command, in the engine's words. Each dialect renders it: as text for people, as data for
//! programs.

use std::path::PathBuf;
use std::sync::Arc;

use crate::{
    BudgetRow, CommandInfo, Exported, FileDiff, Mode, Present, Required, Saved, SessionId, State, SyncLevel, TurnId,
};

/// The answer to a slash command. A failure is an answer, too.
#[derive(Clone, PartialEq, Debug)]
pub struct SlashReply {
    /// The name as it was given, without its slash.
    pub command: String,
    pub result: Result<SlashOutcome, SlashFault>,
}

impl SlashReply {
    /// The peer is on this other session now.
    pub fn moved_to(&self) -> Option<&SessionId> {
        match &self.result {
            Ok(SlashOutcome::Cleared { session, .. } | SlashOutcome::Resumed { session, .. }) => Some(session),
            _ => None,
        }
    }

    /// The conversation is to end.
    pub fn is_exit(&self) -> bool {
        matches!(self.result, Ok(SlashOutcome::Exit))
    }

    pub fn failed_with(&self, code: SlashCode) -> bool {
        matches!(&self.result, Err(fault) if fault.code == code)
    }
}

/// Why a slash command failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SlashFault {
    pub code: SlashCode,
    /// A sentence, with its hints.
    pub message: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlashCode {
    Usage,
    UnknownCommand,
    UnknownModel,
    UnknownMode,
    UnknownLevel,
    UnknownGadget,
    NotFound,
    NothingToDo,
    TurnInProgress,
    WorksForCall,
    SessionBusy,
    Cancelled,
    Failed,
}

#[derive(Clone, PartialEq, Debug)]
pub enum SlashOutcome {
    Help {
        commands: Vec<SlashRow>,
        /// What extensions bring, for people to read.
        extensions: Vec<CommandInfo>,
    },
    Version {
        version: String,
    },
    Exit,
    Sessions(Vec<Saved>),
    /// The peer went on in a new session.
    Cleared {
        session: SessionId,
        previous: SessionId,
    },
    Resumed {
        session: SessionId,
        messages: u64,
        model: Arc<str>,
        /// The turn that runs there, and what the peer has to know of it.
        turn: Option<TurnId>,
        present: Box<Present>,
    },
    Status {
        state: Box<State>,
        sync: SyncLevel,
    },
    /// `previous` where it was changed just now.
    Model {
        model: Arc<str>,
        previous: Option<Arc<str>>,
        models: Vec<Arc<str>>,
    },
    Mode {
        mode: Mode,
        previous: Option<Mode>,
    },
    Thinking {
        level: ThinkingLevel,
        previous: Option<ThinkingLevel>,
        levels: Vec<Arc<str>>,
    },
    Context(ContextUse),
    Compacted(CompactedTo),
    Tools(Vec<ToolRow>),
    Gadgets(Vec<GadgetRow>),
    Exported(Exported),
    Undone(Undone),
    Cost {
        input_tokens: u64,
        output_tokens: u64,
        turns: u64,
        /// `None` as soon as one price is not known.
        dollars: Option<f64>,
        limits: Vec<BudgetRow>,
    },
    Diff {
        files: Vec<FileDiff>,
        /// Commands that may have changed more.
        commands: Vec<Arc<str>>,
    },
    Renamed {
        title: String,
    },
    /// A setting is the user's default from now on.
    Saved {
        key: &'static str,
        value: String,
        path: PathBuf,
    },
}

/// How much a model thinks; `None`: as much as it does by itself.
pub type ThinkingLevel = Option<Arc<str>>;

/// A slash command, as help shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlashRow {
    pub name: &'static str,
    pub args: &'static str,
    pub summary: &'static str,
}

/// How full the context is.
#[derive(Clone, PartialEq, Debug)]
pub struct ContextUse {
    pub window: u64,
    pub used: u64,
    /// 0..100 with one decimal.
    pub percent: f64,
    pub max_tokens: u64,
    pub messages: u64,
    /// These three add up to `used`.
    pub system: u64,
    pub tools: u64,
    pub history: u64,
}

/// What a compaction that was asked for came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CompactedTo {
    /// Why nothing was compacted.
    pub nothing: Option<String>,
    pub messages_before: u64,
    pub messages_after: u64,
    pub tokens_before: u64,
    pub tokens_after: u64,
}

/// A tool by its canonical name; a dialect shows its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToolRow {
    pub name: Arc<str>,
    pub required: Required,
    pub gadget: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GadgetRow {
    pub name: Arc<str>,
    pub description: Arc<str>,
    pub is_on: bool,
    /// Canonical names of the tools it brings.
    pub tools: Vec<Arc<str>>,
}

/// What an undo did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Undone {
    pub messages: u64,
    /// Each file that the undone turns had changed, once.
    pub files: Vec<UndoneFile>,
    /// Commands that may have changed more; what they did is not taken back.
    pub commands: Vec<Arc<str>>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UndoneFile {
    pub path: Arc<str>,
    pub end: UndoneEnd,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UndoneEnd {
    /// It was not there before.
    Removed,
    Restored,
    /// It is too large to be kept, or no text.
    NotKept,
    /// It was changed since.
    ChangedSince,
}
