//! Where one peer is on one session: the entry that comes next, and how much of the running reply it has.

use std::sync::Arc;

use vocab::{
    Abilities, AskEntry, AskKind, AssistantMessage, Attached, Block, Body, Delta, Entry, FaultKind, HostTool, Level,
    Open, Opened, Position, Told, TurnEntry, WatchEvent,
};

use super::view::{ToldCounts, least_level};

#[derive(Default)]
pub(super) struct Standpoint {
    /// It opened it once, with whatever success.
    pub(super) asked: bool,
    pub(super) is_on: bool,
    pub(super) was_on: bool,
    /// Not reading the past any more.
    live: bool,
    /// The entry that comes next, where that is known.
    next: Option<u64>,
    /// Questions up to here may be told once more to who came in live.
    joined: u64,
    /// How much it is told; two where a change of it is under way.
    level: Level,
    low: Level,
    pub(super) high: Level,
    changes: u32,
    /// A change of it was refused because the store failed, and may have come about: it is not in the log.
    unsure: bool,
    pub(super) answers: bool,
    /// Names of tools that it ever offered.
    pub(super) tools: Vec<Arc<str>>,
    at: Option<Position>,
    /// It left and was told less than it is as one who watches: until the session has heard of that there are no deltas.
    lags: bool,
    /// What it has of the running reply, and whether that is all there was.
    text: String,
    whole: bool,
    resumed: bool,
    /// Where it was when it left, and what it had of the reply.
    left: Option<(Position, String, bool)>,
    /// How the session stands, as it was told last.
    pub(super) stands: Option<WatchEvent>,
    /// It was deleted, and nothing of the next one of that name was told yet.
    pub(super) is_buried: bool,
}

impl Standpoint {
    pub(super) fn offers(&mut self, tools: &[HostTool]) {
        self.tools.extend(tools.iter().map(|tool| tool.name.clone()));
    }
    /// A change of what it is told is under way.
    pub(super) fn is_to_be(&mut self, level: Level) {
        self.changes += 1;
        self.may_be(level);
    }
    pub(super) fn may_be(&mut self, level: Level) {
        (self.low, self.high) = (self.low.min(level), self.high.max(level));
        self.whole &= self.low == Level::Deltas;
    }
    pub(super) fn is_now(&mut self, abilities: &Abilities, result: Result<(), FaultKind>) {
        self.changes -= 1;
        if self.low < Level::Entries {
            // Up to now it was not told everything.
            self.next = None;
        }
        match result {
            Ok(()) => (self.level, self.answers, self.unsure) = (abilities.level, abilities.answers, false),
            Err(FaultKind::Store) => (self.answers, self.unsure) = (true, true),
            Err(_) => {}
        }
        if self.changes == 0 && !self.unsure {
            (self.low, self.high) = (self.level, self.level);
        }
        self.at = None;
    }

    pub(super) fn is_in_mid_word(&self) -> bool {
        self.is_on && self.at.is_some_and(|at| at.offset > 1)
    }
    pub(super) fn left_in_mid_word(&self) -> bool {
        !self.is_on && self.left.as_ref().is_some_and(|left| left.0.offset > 1)
    }
    /// The position that it would come back with.
    pub(super) fn mark(&self) -> Option<Position> {
        self.left.as_ref().map(|left| left.0).or(self.at)
    }

    pub(super) fn attach(&mut self, open: &Open, opened: &Opened, counts: &mut ToldCounts) -> Result<(), String> {
        let asked = open.after.as_ref().map(|after| after.at);
        let left = self.left.take();
        (self.level, self.unsure) = (open.abilities.level, false);
        (self.low, self.high) = match self.changes {
            0 => (self.level, self.level),
            _ => (self.low.min(self.level), self.high.max(self.level)),
        };
        (self.is_on, self.was_on, self.answers, self.is_buried) = (true, true, open.abilities.answers, false);
        let here = self.at.map(|at| (at, std::mem::take(&mut self.text), self.whole));
        (self.text, self.whole, self.resumed, self.joined) = (String::new(), false, false, 0);
        match (&opened.present.attached, asked) {
            (Attached::Live, None) => {
                let last = opened.state.last_seq;
                (self.next, self.joined, self.live) = (Some(last + 1), last, true);
                self.at = Some(Position::at(last));
            }
            // The reply that it has a part of may have died with its process.
            (Attached::After(at), Some(asked)) if *at == asked || *at == Position::at(asked.seq) => {
                (self.next, self.live, self.at) = (Some(at.seq + 1), false, Some(*at));
                let known = [left, here].into_iter().flatten().find(|(place, ..)| place == at);
                if let Some((_, text, true)) = known.filter(|_| self.low == Level::Deltas && at.offset > 0) {
                    (self.text, self.whole, self.resumed) = (text, true, true);
                }
            }
            (Attached::Anew { .. }, Some(_)) => {
                counts.anew += 1;
                (self.next, self.live, self.at) = (Some(1), false, Some(Position::default()));
            }
            (attached, asked) => return Err(format!("it asked for what is after {asked:?} and gets {attached:?}")),
        }
        Ok(())
    }

    /// `watched`: the level at which it goes on to be told.
    pub(super) fn leave(&mut self, watched: Option<Level>) {
        if let Some(at) = self.at.filter(|_| self.is_on) {
            self.left = Some((at, self.text.clone(), self.whole && self.live));
        }
        let goes_on = self.live && self.level >= Level::Entries && watched.is_some_and(|level| level >= Level::Entries);
        self.is_on = false;
        if !goes_on {
            self.forget_place();
        }
        if self.level < Level::Deltas {
            (self.at, self.lags) = (None, true);
        }
        self.whole &= watched == Some(Level::Deltas);
    }
    /// Without a word to anybody.
    pub(super) fn let_go(&mut self) {
        self.leave(None);
        (self.changes, self.unsure, self.lags, self.stands) = (0, false, false, None);
    }
    pub(super) fn buries(&mut self) {
        self.is_gone();
        self.is_buried = true;
    }
    pub(super) fn is_gone(&mut self) {
        self.is_on = false;
        self.left = None;
        self.forget_place();
    }
    /// What comes next is the first that it hears of it.
    pub(super) fn forget_place(&mut self) {
        (self.next, self.at, self.whole) = (None, None, false);
        self.text.clear();
    }
    pub(super) fn turn_lost(&mut self, told: &Told) {
        self.text.clear();
        if let Some(at) = &mut self.at {
            at.take(&told.event);
        }
    }

    pub(super) fn goes_live(&mut self, seq: u64, entries: &[Arc<Entry>]) -> Result<(), String> {
        if self.live {
            return Err(format!("live at {seq} for the second time"));
        }
        self.check_gap(seq + 1, entries)?;
        (self.live, self.next) = (true, Some(seq + 1));
        // The reply that it had a part of may be over without an entry that says so.
        self.at = self.at.filter(|at| at.offset == 0);
        Ok(())
    }

    /// Nothing between what was told and this entry was to be told.
    fn check_gap(&self, seq: u64, entries: &[Arc<Entry>]) -> Result<(), String> {
        let Some(next) = self.next else { return Ok(()) };
        let skipped = entries.get(next as usize - 1..seq as usize - 1).unwrap_or_default();
        match skipped.iter().find(|entry| least_level(&entry.body) <= self.low) {
            Some(entry) => Err(format!("entry {} is left out before {seq}, at level {:?}", entry.seq, self.low)),
            None => Ok(()),
        }
    }

    pub(super) fn logged(
        &mut self,
        told: &Told,
        entry: &Arc<Entry>,
        entries: &[Arc<Entry>],
        counts: &mut ToldCounts,
    ) -> Result<(), String> {
        let next = self.next.unwrap_or(entry.seq);
        if let Body::Ask(AskEntry::Opened(ask)) = &entry.body {
            // A call that became its own may be an old one: where it does not know its place it learns nothing of that from it.
            let may_be_old = entry.seq < next || self.next.is_none();
            let is_handed_over = may_be_old && matches!(ask.kind, AskKind::HostCall { .. });
            if is_handed_over || entry.seq < next && entry.seq <= self.joined {
                return Ok(());
            }
        }
        if entry.seq < next {
            return Err(format!("told entry {} where {next} was due", entry.seq));
        }
        self.check_gap(entry.seq, entries)?;
        if least_level(&entry.body) > self.high {
            return Err(format!("told entry {} at level {:?}", entry.seq, self.high));
        }
        self.next = Some(entry.seq + 1);
        self.moves(told, self.low == Level::Deltas)?;
        self.check_reply(entry, self.live, counts)
    }

    /// `is_ours`: whether this process wrote an entry.
    pub(super) fn watched(
        &mut self,
        told: &Told,
        entry: &Arc<Entry>,
        level: Level,
        is_ours: impl Fn(u64) -> bool,
        counts: &mut ToldCounts,
    ) -> Result<(), String> {
        // Until it is told more than a peer at its level is, the session has not heard that it left.
        let lags = self.lags && self.level < Level::Entries;
        if lags && least_level(&entry.body) > self.level {
            self.lags = false;
        }
        if let Some(next) = self.next.filter(|_| !lags) {
            if entry.seq < next {
                return Err(format!("a watcher is told entry {} where {next} was due", entry.seq));
            }
            if let Some(seq) = (next..entry.seq).find(|seq| is_ours(*seq)) {
                return Err(format!("a watcher is told entry {} and was not told {seq}", entry.seq));
            }
            if entry.seq > next {
                // It was somebody else's meanwhile.
                self.forget_place();
            }
        }
        self.next = Some(entry.seq + 1);
        self.moves(told, level == Level::Deltas && !self.lags)?;
        self.check_reply(entry, true, counts)
    }

    /// Goes on to where the event brings it, which must be where it is said to.
    fn moves(&mut self, told: &Told, exact: bool) -> Result<(), String> {
        let Some(at) = self.at.as_mut().filter(|_| exact) else {
            self.at = Some(told.at);
            return Ok(());
        };
        let before = *at;
        at.take(&told.event);
        match *at == told.at {
            true => Ok(()),
            false => Err(format!("from {before:?} to {:?}, where it should be {at:?}: {:?}", told.at, told.event)),
        }
    }

    pub(super) fn delta(&mut self, told: &Told, delta: &Delta) -> Result<(), String> {
        let lags = std::mem::take(&mut self.lags);
        if lags && self.level < Level::Entries {
            // What was told since it left was not everything.
            self.next = None;
        }
        self.moves(told, !lags && (!self.is_on || self.low == Level::Deltas))?;
        match delta {
            Delta::ModelCalled { .. } => {
                self.text.clear();
                (self.whole, self.resumed) = (!self.is_on || self.low == Level::Deltas, false);
            }
            Delta::Text { delta, .. } | Delta::Thinking { delta, .. } => self.text.push_str(delta),
            _ => {}
        }
        Ok(())
    }

    /// The deltas were the reply, and none of them is left over.
    fn check_reply(&mut self, entry: &Entry, live: bool, counts: &mut ToldCounts) -> Result<(), String> {
        match &entry.body {
            Body::Turn(TurnEntry::Started { .. }) => self.text.clear(),
            Body::Assistant { message, .. } => {
                let said = words_of(message);
                let fits = if live { said == self.text } else { said.starts_with(&self.text) };
                if self.whole && !fits {
                    return Err(format!("deltas {:?} became the reply {said:?} (live: {live})", self.text));
                }
                counts.replies += u64::from(self.whole && live);
                counts.mid_word += u64::from(self.whole && live && self.resumed);
                (self.whole, self.resumed) = (false, false);
                self.text.clear();
            }
            Body::Turn(TurnEntry::Ended(end)) => {
                // Whoever was away may have missed that the reply came to nothing.
                if self.whole && live && !self.resumed && !self.text.is_empty() {
                    return Err(format!("turn {} ended and {:?} is in no reply", end.turn, self.text));
                }
                self.text.clear();
            }
            _ => {}
        }
        Ok(())
    }
}

/// Everything that a reply says and thinks, in its order.
fn words_of(message: &AssistantMessage) -> String {
    let words = |block: &Block| match block {
        Block::Text(text) => text.to_string(),
        Block::Thinking { text, .. } => text.to_string(),
        _ => String::new(),
    };
    message.blocks.iter().map(words).collect()
}
