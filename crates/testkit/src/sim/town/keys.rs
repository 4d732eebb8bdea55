//! Commands with keys: what was sent under each, what was answered, and what the logs have to say about it. One key of one
//! sender is one effect and one answer, whoever repeats it, in whatever process, for a day.

use std::collections::HashMap;
use std::sync::Arc;

use vocab::{
    Body, Entry, Fault, FaultKind, KEY_MS_MAX, KeptReply, Keyed, NoteEntry, Principal, QueueEntry, Reply, SessionId,
    SessionVerb, Tag,
};

/// A key and whatever was asked for under it.
pub(super) struct KeyUse {
    pub(super) session: SessionId,
    pub(super) by: Principal,
    pub(super) key: Arc<str>,
    /// The first, and what was asked for under the same key by mistake.
    pub(super) verbs: Vec<SessionVerb>,
    /// Words by which each prompt is found in the log. Others have none.
    tokens: Vec<String>,
    /// Some answer was told.
    was_told: bool,
    /// Its session was deleted, and its log with it.
    pub(super) is_buried: bool,
}

#[derive(Default)]
pub(super) struct KeyLedger {
    pub(super) uses: Vec<KeyUse>,
    /// By resident and tag: the use, and the entry that had its answer when it was sent.
    sent: HashMap<(usize, Tag), (usize, Option<u64>)>,
    pub(super) counts: KeyCounts,
}

#[derive(Clone, Copy, Default)]
pub(super) struct KeyCounts {
    pub(super) keys: u64,
    pub(super) repeats: u64,
    /// Repeats whose answer was known when they were sent, and were given it.
    pub(super) known: u64,
    /// The same key for something else.
    pub(super) clashes: u64,
    /// Keys that were used anew after their day.
    pub(super) renewed: u64,
}

fn keyed<'a>(log: &'a [Arc<Entry>], by: &Principal, key: &str) -> impl Iterator<Item = (&'a Entry, &'a Keyed)> {
    log.iter().filter_map(move |entry| match &entry.body {
        Body::Note(NoteEntry::Keyed(keyed)) if *keyed.key == *key && entry.by.as_ref() == Some(by) => {
            Some((&**entry, keyed))
        }
        _ => None,
    })
}

/// Who sent an item is known to one process alone, and a repeat has the answer of the first.
fn plain(reply: &Reply) -> Reply {
    let mut reply = match reply {
        Reply::Again(first) => Reply::clone(first),
        reply => reply.clone(),
    };
    if let Reply::Queue(items) = &mut reply {
        items.iter_mut().for_each(|item| item.sender = None);
    }
    reply
}

/// The prompts with these words that were taken are those that the answers speak of.
fn check_taken(log: &[Arc<Entry>], tokens: &[String], answers: &[&KeptReply]) -> Result<(), String> {
    let has = |parts: &[vocab::Part]| tokens.iter().any(|token| vocab::parts_text(parts).contains(token));
    let (mut queued, mut said) = (Vec::new(), Vec::new());
    for entry in log {
        match &entry.body {
            Body::Queue(QueueEntry::Queued(item)) if has(&item.parts) => queued.push(&item.id),
            Body::User { parts, turn, .. } if has(parts) => said.push(turn.as_ref()),
            _ => {}
        }
    }
    let is_there = |answer: &&KeptReply| match answer {
        KeptReply::Started { turn } => said.contains(&Some(turn)),
        KeptReply::Waiting { item, .. } => queued.contains(&item),
        _ => false,
    };
    let waiting = answers.iter().filter(|answer| matches!(answer, KeptReply::Waiting { .. })).count();
    match answers.iter().all(is_there) && queued.len() == waiting && said.len() <= answers.len() {
        true => Ok(()),
        false => Err(format!("is answered {answers:?}; queued were {queued:?}, and said was it in {said:?}")),
    }
}

impl KeyLedger {
    /// `token`: the word that the log has of it, of a prompt.
    pub(super) fn open(&mut self, session: &SessionId, by: Principal, key: Arc<str>) -> usize {
        self.counts.keys += 1;
        let (verbs, tokens) = (Vec::new(), Vec::new());
        self.uses.push(KeyUse { session: session.clone(), by, key, verbs, tokens, was_told: false, is_buried: false });
        self.uses.len() - 1
    }
    pub(super) fn add(&mut self, index: usize, verb: SessionVerb, token: Option<String>) {
        let used = &mut self.uses[index];
        self.counts.clashes += u64::from(!used.verbs.is_empty());
        used.verbs.push(verb);
        used.tokens.extend(token);
    }

    /// The session is deleted.
    pub(super) fn buries(&mut self, session: &SessionId) {
        self.uses.iter_mut().filter(|used| used.session == *session).for_each(|used| used.is_buried = true);
    }

    /// Nobody waits for an answer any more.
    pub(super) fn is_dead(&mut self) {
        self.sent.clear();
    }

    pub(super) fn sends(&mut self, who: (usize, Tag), index: usize, log: &[Arc<Entry>]) {
        let used = &self.uses[index];
        let known = keyed(log, &used.by, &used.key).filter(|_| used.verbs.len() == 1).last();
        self.sent.insert(who, (index, known.map(|(entry, _)| entry.seq)));
    }

    pub(super) fn replied(
        &mut self,
        who: (usize, Tag),
        result: &Result<Reply, Fault>,
        log: &[Arc<Entry>],
        now_ms: i64,
    ) -> Result<(), String> {
        let Some((index, was_known)) = self.sent.remove(&who) else { return Ok(()) };
        let used = &mut self.uses[index];
        if used.is_buried {
            return Ok(());
        }
        let (by, key, session) = (used.by.clone(), used.key.clone(), used.session.clone());
        let mut known = keyed(log, &by, &key);
        match result {
            Ok(reply) => {
                let is_it = |(_, keyed): (&Entry, &Keyed)| plain(&keyed.reply.clone().into()) == plain(reply);
                if !known.any(is_it) {
                    return Err(format!("key {key} of {by} in {session} is answered {reply:?}, which no log has"));
                }
                used.was_told = true;
                self.counts.known += u64::from(was_known.is_some());
            }
            Err(fault) if was_known.is_some() && is_verdict(fault.kind) => {
                let is_young = |entry: &Entry| now_ms - entry.at_ms < KEY_MS_MAX;
                if known.any(|(entry, _)| Some(entry.seq) == was_known && is_young(entry)) {
                    return Err(format!("key {key} of {by} in {session} has an answer, and is refused: {fault}"));
                }
            }
            Err(_) => {}
        }
        Ok(())
    }

    /// One key is one effect, and the effect and its answer are both there or neither.
    pub(super) fn check_log(&mut self, session: &SessionId, log: &[Arc<Entry>]) -> Result<(), String> {
        for used in self.uses.iter().filter(|used| used.session == *session && !used.is_buried) {
            let KeyUse { by, key, .. } = used;
            let times: Vec<i64> = keyed(log, by, key).map(|(entry, _)| entry.at_ms).collect();
            if let Some(pair) = times.windows(2).find(|pair| pair[1] - pair[0] < KEY_MS_MAX) {
                return Err(format!("key {key} of {by} in {session} was carried out twice, at {pair:?}"));
            }
            if !used.tokens.is_empty() {
                let answers: Vec<&KeptReply> = keyed(log, by, key).map(|(_, keyed)| &keyed.reply).collect();
                let says = |what: String| format!("key {key} of {by} in {session} {what}");
                check_taken(log, &used.tokens, &answers).map_err(says)?;
            }
        }
        Ok(())
    }

    /// What was answered is there, whatever else the power took.
    pub(super) fn check_left(&self, session: &SessionId, left: &[Arc<Entry>]) -> Result<(), String> {
        let lost = |used: &&KeyUse| {
            used.session == *session
                && used.was_told
                && !used.is_buried
                && keyed(left, &used.by, &used.key).next().is_none()
        };
        match self.uses.iter().find(lost) {
            Some(KeyUse { by, key, verbs, .. }) => {
                Err(format!("the answer to key {key} of {by} in {session} was told and is lost: {:?}", verbs.first()))
            }
            None => Ok(()),
        }
    }

    pub(super) fn count_renewed(&mut self, session: &SessionId, log: &[Arc<Entry>]) {
        for used in self.uses.iter().filter(|used| used.session == *session) {
            self.counts.renewed += keyed(log, &used.by, &used.key).count().saturating_sub(1) as u64;
        }
    }
}

/// A session that says this has looked at the command itself, and not at its key.
fn is_verdict(kind: FaultKind) -> bool {
    matches!(
        kind,
        FaultKind::TurnInProgress
            | FaultKind::WorksForCall
            | FaultKind::UnknownAsk
            | FaultKind::Invalid
            | FaultKind::KeyTaken
            | FaultKind::NotFound
            | FaultKind::NothingToDo
            | FaultKind::UnknownModel
    )
}
