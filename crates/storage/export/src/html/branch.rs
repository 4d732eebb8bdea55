//! What of a log is shown: the entries from the root to the newest one along their parents. What an undo took back is
//! left out, and counted. Also joins what stands apart in a log: a call, the question about it, its result.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use vocab::{
    Answer, AskEnd, AskEntry, AskId, AskKind, Body, BranchEntry, CallEntry, CallResult, Entry, ModelEntry, Scope,
    TurnEntry, TurnId, Usage,
};

/// More models than this are not named at the top of a page.
const MODELS_MAX: usize = 8;

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
        let path = active_path(entries);
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

    /// What was answered when somebody was asked whether the call may run.
    pub(super) fn verdict(&self, turn: Option<&'a TurnId>, call: &'a str) -> Option<&str> {
        self.verdicts.get(&(turn?.as_str(), call)).map(String::as_str)
    }

    pub(super) fn ask(&self, id: &AskId) -> Option<&'a AskKind> {
        self.asks.get(id).copied()
    }
}

fn active_path(entries: &[Arc<Entry>]) -> Vec<&Entry> {
    let mut path = Vec::new();
    let mut at = entries.last().map_or(0, |entry| entry.seq);
    // `seq` is gap-free from 1, so it is its own index.
    while let Some(entry) = at.checked_sub(1).and_then(|index| entries.get(usize::try_from(index).ok()?)) {
        path.push(&**entry);
        // A parent always comes before; anything else would go round for ever.
        at = if entry.parent < at { entry.parent } else { 0 };
    }
    path.reverse();
    path
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

/// Sums over a session. Tokens and compactions were paid for whether or not they were undone later, so they are counted
/// over the whole log; messages, turns and calls are what the page shows.
#[derive(Default)]
pub(super) struct Totals<'a> {
    pub(super) messages: u64,
    pub(super) turns: u64,
    pub(super) calls: u64,
    pub(super) usage: Usage,
    /// Models that answered, in the order of their first answer.
    pub(super) models: Vec<&'a str>,
}

impl<'a> Totals<'a> {
    pub(super) fn count(entries: &'a [Arc<Entry>], path: &[&'a Entry]) -> Self {
        let mut totals = Totals::default();
        for entry in path {
            match &entry.body {
                Body::User { .. } => totals.messages += 1,
                Body::Turn(TurnEntry::Started { .. }) => totals.turns += 1,
                Body::Assistant { message, .. } => {
                    totals.messages += 1;
                    totals.calls += message.calls().count() as u64;
                    if totals.models.len() < MODELS_MAX && !totals.models.contains(&&*message.model) {
                        totals.models.push(&message.model);
                    }
                }
                _ => {}
            }
        }
        // A turn that has not ended yet has told its costs only with its answers.
        let mut open = Usage::default();
        for entry in entries {
            match &entry.body {
                Body::Turn(TurnEntry::Started { .. }) => totals.usage.add(&std::mem::take(&mut open)),
                Body::Assistant { message, .. } => open.add(&message.usage),
                Body::Model(ModelEntry::Spent { turn: Some(_), usage, .. }) => open.add(usage),
                Body::Model(ModelEntry::Spent { turn: None, usage, .. }) => totals.usage.add(usage),
                Body::Turn(TurnEntry::Ended(end)) => {
                    open = Usage::default();
                    totals.usage.add(&end.usage);
                }
                Body::Branch(BranchEntry::Compacted(compaction)) => totals.usage.add(&compaction.usage),
                _ => {}
            }
        }
        totals.usage.add(&open);
        totals
    }
}

#[cfg(test)]
mod tests {
    use vocab::{AssistantMessage, Finish, MessageEnd, Mode, NewSession, Stop, TurnEnd};

    use super::*;
    use store::summary;

    #[test]
    fn the_page_counts_what_the_list_counts_whatever_a_server_says() {
        let usage = |tokens| Usage { input: tokens, output: tokens / 2, cache_read: tokens, ..Usage::default() };
        let message = |tokens| AssistantMessage {
            blocks: Vec::new(),
            model: "m".into(),
            end: MessageEnd::Finished(Finish::Stop),
            usage: usage(tokens),
        };
        let end = |tokens| TurnEnd {
            turn: "t".into(),
            stop: Stop::EndTurn,
            iterations: 0,
            usage: usage(tokens),
            mutations: Vec::new(),
            fault: None,
        };
        for tokens in [7, vocab::TOKENS_MAX, u64::MAX] {
            let bodies = [
                Body::Turn(TurnEntry::Started { turn: "t".into() }),
                Body::Assistant { turn: Some("t".into()), message: message(tokens) },
                Body::Model(ModelEntry::Spent {
                    turn: Some("t".into()),
                    call: None,
                    model: "m".into(),
                    usage: usage(1),
                }),
                Body::Turn(TurnEntry::Ended(end(tokens))),
                Body::Model(ModelEntry::Spent { turn: None, call: None, model: "m".into(), usage: usage(tokens) }),
            ];
            let entry = |(at, body)| Arc::new(Entry { seq: at as u64 + 1, parent: at as u64, at_ms: 0, body });
            let entries: Vec<Arc<Entry>> = bodies.into_iter().enumerate().map(entry).collect();
            let mut listed = summary::blank(&NewSession {
                id: "s".into(),
                workspace: "/".into(),
                model: "m".into(),
                mode: Mode::Prompt,
                at_ms: 0,
                parent: None,
            });
            entries.iter().for_each(|entry| summary::fold(&mut listed, entry));
            let path: Vec<&Entry> = entries.iter().map(|entry| &**entry).collect();
            assert_eq!(Totals::count(&entries, &path).usage, listed.usage, "{tokens}");
        }
    }
}
