//! What can go wrong with a store, in words a person can act on.

use std::path::Path;

use vocab::{Fault, FaultKind, SessionId};

/// A file or directory of ours that cannot be used.
pub fn from_io(doing: &str, place: &Path, error: &std::io::Error) -> Fault {
    Fault::new(FaultKind::Store, format!("cannot {doing} {}: {error}", place.display()))
        .hint("check the directory and its permissions, or set TILLERMAN_HOME to another one")
}

/// No session has this id.
pub fn unknown_session(session: &SessionId) -> Fault {
    Fault::new(FaultKind::UnknownSession, format!("there is no session {session}"))
}

/// What a process is that holds sessions, where that says how else to get at them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OwnerRole {
    Gateway,
}

impl OwnerRole {
    /// In front of the name of its process: that name is all that another process sees of it.
    const GATEWAY: &str = "the gateway, ";

    pub fn name(self, process: &str) -> String {
        match self {
            OwnerRole::Gateway => format!("{}{process}", Self::GATEWAY),
        }
    }

    fn of(holder: &str) -> Option<Self> {
        holder.starts_with(Self::GATEWAY).then_some(OwnerRole::Gateway)
    }
}

/// Another lease holds the session; `holder` says whose.
pub fn busy(session: &SessionId, holder: &str) -> Fault {
    let word = vocab::visible::shell_word(session.as_str());
    let there = match OwnerRole::of(holder) {
        Some(OwnerRole::Gateway) => format!("go on with it there: `tillerman repl --attach --resume {word}`"),
        None => "close it there first".to_owned(),
    };
    Fault::new(FaultKind::SessionBusy, format!("session {session} is in use by {holder}"))
        .hint(format!("{there}; it can be read meanwhile: `tillerman sessions show {word}`"))
}

/// The lease is not the newest one.
pub fn stale(session: &SessionId, epoch: u64) -> Fault {
    Fault::new(
        FaultKind::SessionBusy,
        format!("session {session} is no longer ours: lease {epoch} was released or taken over"),
    )
}

/// The id of a new session is taken.
pub fn exists(session: &SessionId) -> Fault {
    Fault::new(FaultKind::SessionBusy, format!("a session {session} exists already"))
        .hint("resume it, or choose another id")
}

/// Entries that do not continue the log.
pub fn gap(session: &SessionId, last_seq: u64, offered: u64) -> Fault {
    Fault::new(
        FaultKind::Store,
        format!("the log of session {session} ends at entry {last_seq}, so entry {offered} cannot be next"),
    )
}
