//! What a peer can do and how much it is told. Each peer says it for itself, when it opens a session and whenever it changes.

use crate::{EditorOffer, HostTool};

/// How much of a session is told. Each level has what those before it have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub enum Level {
    /// How it stands: what runs, what is asked, its name and what it has used; not what is said in it.
    Summaries,
    /// The log as well, and what is waited for.
    Entries,
    /// Everything, as it is made.
    #[default]
    Deltas,
}

/// What one peer can do on one session.
#[derive(Clone, PartialEq, Debug)]
pub struct Abilities {
    /// It can answer questions. Where no peer can, nothing is asked: what a mode leaves open is denied.
    pub answers: bool,
    /// Its wire sets no time for an answer: while it is here a question waits for it. Else [`crate::AskWait::answerable_ms`] does.
    pub has_time: bool,
    /// It can show the dialogs of extensions, too. Where no peer can, they are dismissed at once.
    pub dialogs: bool,
    pub level: Level,
    /// What it does for tools; `None`: what it has offered stays.
    pub editor: Option<EditorOffer>,
    /// Tools that it runs itself; `None`: those that it has offered stay.
    pub tools: Option<Vec<HostTool>>,
    /// It is here to be told and for nothing else: whether somebody could be asked does not depend on it.
    pub only_listens: bool,
}

impl Default for Abilities {
    fn default() -> Self {
        let level = Level::default();
        Self { answers: true, has_time: true, dialogs: true, level, editor: None, tools: None, only_listens: false }
    }
}
