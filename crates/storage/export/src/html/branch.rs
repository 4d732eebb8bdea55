//! What of a log is shown: the entries from the root to the newest one along their parents. What an undo took back is
//! left out, and counted. Also joins what stands apart in a log: a call, the question about it, its result.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use vocab::{Answer, AskEnd, AskEntry, AskId, AskKind, Body, CallEntry, CallResult, Entry, Scope, TurnId};

/// A call is named by its turn and its id; ids repeat from turn to turn.
type CallKey<'a> = (&'a str, &'a str);

/// The shown part of a log.
pub(super) struct Branch<'a> {
    pub(super) path: Vec<&'a Entry>,
    /// Entries that are in the log and not on the path.
    pub(super) left_out: usize,
    results: HashMap<CallKey<'a>, VecDeque<(u64, &'a CallResult)>>,
    /// Results that stand beside their call; the others are shown where they are.
    claimed: HashSet<u64>,
    verdicts: HashMap<CallKey<'a>, String>,
    asks: HashMap<&'a AskId, &'a AskKind>,
}

impl<'a> Branch<'a> {
    pub(super) fn read(entries: &'a [Arc<Entry>]) -> Self {
        let path: Vec<&Entry> = vocab::active_path(entries).into_iter().map(|entry| &**entry).collect();
        let mut branch = Branch {
            left_out: entries.len() - path.len(),
            results: HashMap::new(),
            claimed: HashSet::new(),
            verdicts: HashMap::new(),
            asks: HashMap::new(),
            path,
        };
        let mut permissions: HashMap<&AskId, CallKey<'a>> = HashMap::new();
        for entry in branch.path.iter().copied() {
            match &entry.body {
                Body::Call(CallEntry::Ended { turn, result }) => {
                    let key = (turn.as_str(), result.call.as_str());
                    branch.results.entry(key).or_default().push_back((entry.seq, result));
                }
                Body::Ask(AskEntry::Opened(ask)) => {
                    branch.asks.insert(&ask.id, &ask.kind);
                    if let (AskKind::Permission(permission), Some(turn)) = (&ask.kind, &ask.turn) {
                        permissions.insert(&ask.id, (turn.as_str(), permission.call.as_str()));
                    }
                }
                Body::Ask(AskEntry::Closed { ask, end }) => {
                    if let Some(key) = permissions.get(ask) {
                        branch.verdicts.insert(*key, verdict(end));
                    }
                }
                _ => {}
            }
        }
        branch
    }

    /// The result of a call, which is then not shown a second time.
    pub(super) fn claim(&mut self, turn: Option<&'a TurnId>, call: &'a str) -> Option<&'a CallResult> {
        let (seq, result) = self.results.get_mut(&(turn?.as_str(), call))?.pop_front()?;
        self.claimed.insert(seq);
        Some(result)
    }

    pub(super) fn is_claimed(&self, seq: u64) -> bool {
        self.claimed.contains(&seq)
    }

    /// What the user answered when asked whether the call may run.
    pub(super) fn verdict(&self, turn: Option<&'a TurnId>, call: &'a str) -> Option<&str> {
        self.verdicts.get(&(turn?.as_str(), call)).map(String::as_str)
    }

    pub(super) fn ask(&self, id: &AskId) -> Option<&'a AskKind> {
        self.asks.get(id).copied()
    }
}

fn verdict(end: &AskEnd) -> String {
    match end {
        AskEnd::Answered { answer: Answer::Allow(Scope::Once), .. } => "allowed once".into(),
        AskEnd::Answered { answer: Answer::Allow(Scope::Session), .. } => "allowed for the session".into(),
        AskEnd::Answered { answer: Answer::Deny(Some(reason)), .. } => format!("denied: {reason}"),
        AskEnd::Answered { answer: Answer::Deny(None), .. } => "denied".into(),
        AskEnd::Answered { .. } => "answered".into(),
        AskEnd::Withdrawn => "the question was withdrawn".into(),
    }
}
