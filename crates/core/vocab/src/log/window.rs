//! The end of a log, which is all that a session needs to go on: from where the model still sees it word for word, and of
//! what is older only what still counts. A log grows for ever and this does not.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::{
    Answer, AskEnd, AskEntry, AskId, AskKind, Body, BranchEntry, CallId, Entry, ItemId, KEPT_ANSWERS_MAX, KEY_MS_MAX,
    ModelEntry, NoteEntry, Page, QueueEntry, Scope, SettingEntry, ShellEntry, TurnEntry, UserFrom,
};

/// What a session needs of its log to go on.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LogWindow {
    /// Older entries that still count, oldest first: what is open, what was allowed, the newest settings. No log, since most
    /// of it is left out.
    pub carried: Vec<Arc<Entry>>,
    /// The log from there on; all of it where no part can be left out. What calls made of files may be left out of it: who goes
    /// on needs the names.
    pub page: Page,
}

impl LogWindow {
    /// Of a log that was read whole, up to this entry.
    pub fn of(mut page: Page, upto: u64) -> Self {
        page.entries.retain(|entry| entry.seq <= upto);
        let mut fold = WindowFold::default();
        page.entries.iter().for_each(|entry| fold.take(entry));
        // Whoever reads a damaged log is to know of all of it.
        let found = fold.begins().filter(|_| page.recovered.is_none());
        let Some(mut carrying) = found else { return Self { carried: Vec::new(), page } };
        page.entries.iter().for_each(|entry| carrying.take(entry));
        let mark = carrying.mark();
        let old = page.entries.partition_point(|entry| entry.seq < mark.from);
        let kept = page.entries.split_off(old);
        let mut carried = std::mem::replace(&mut page.entries, kept);
        carried.retain(|entry| mark.carried.binary_search(&entry.seq).is_ok());
        Self { carried, page }
    }

    /// Everything that it has, oldest first.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = &Arc<Entry>> {
        self.carried.iter().chain(&self.page.entries)
    }
}

/// Where a window begins and which older entries count: what a store may keep beside a log, so that it need not read all of
/// it. It says nothing that the log does not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WindowMark {
    /// The compaction that lets go of what is older. While it is on the active path the mark holds, however the log goes on.
    pub compacted: u64,
    pub from: u64,
    /// In order.
    pub carried: Vec<u64>,
}

impl WindowMark {
    /// Whether it holds for a log whose entries from [`WindowMark::from`] on are these. One of another program may let go of
    /// something and take it up again.
    pub fn holds(&self, entries: &[Arc<Entry>]) -> bool {
        let mut fold = WindowFold::default();
        entries.iter().for_each(|entry| fold.take(entry));
        entries.first().is_some_and(|first| first.seq == self.from) && fold.follows(self)
    }
}

/// Finds where the window of a log begins, entry by entry.
#[derive(Default)]
pub struct WindowFold {
    newest: u64,
    /// Runs of entries that follow each other: where each begins, and the parent there.
    runs: Vec<(u64, u64)>,
    /// On any branch, with the first entry that each has kept.
    compactions: Vec<(u64, u64)>,
    /// On any branch.
    todos: Vec<u64>,
    carried_todos: Option<u64>,
    turn_started: u64,
}

impl WindowFold {
    /// An entry that a window carries; before those of the window.
    pub fn carry(&mut self, entry: &Entry) {
        if matches!(entry.body, Body::Setting(SettingEntry::Todos { .. })) {
            self.carried_todos = Some(entry.seq);
        }
    }

    pub fn take(&mut self, entry: &Entry) {
        self.pass(entry.seq, entry.parent);
        match &entry.body {
            Body::Branch(BranchEntry::Compacted(done)) => self.compactions.push((entry.seq, done.first_kept)),
            Body::Setting(SettingEntry::Todos { .. }) => self.todos.push(entry.seq),
            Body::Turn(TurnEntry::Started { .. }) => self.turn_started = entry.seq,
            _ => {}
        }
    }

    /// A record that cannot be read, but has its place.
    pub fn pass(&mut self, seq: u64, parent: u64) {
        if self.runs.is_empty() || seq != self.newest + 1 || parent != self.newest {
            self.runs.push((seq, parent));
        }
        self.newest = seq;
    }

    /// Whether the mark of an earlier state, from which on the entries were taken, holds still.
    pub fn follows(&self, earlier: &WindowMark) -> bool {
        let passes = self.path().any(|(first, last)| (first..=last).contains(&earlier.compacted));
        let is_one = self.compactions.iter().any(|(seq, _)| *seq == earlier.compacted);
        passes && is_one && self.compaction().is_some_and(|(_, first_kept)| first_kept >= earlier.from)
    }

    /// The newest one on the active path.
    fn compaction(&self) -> Option<(u64, u64)> {
        self.path().find_map(|(first, last)| {
            let behind = self.compactions.partition_point(|(seq, _)| *seq <= last);
            self.compactions[..behind].last().copied().filter(|(seq, _)| *seq >= first)
        })
    }

    /// The active path, newest part first; as [`crate::active_path`] walks it.
    fn path(&self) -> impl Iterator<Item = (u64, u64)> {
        let run_of = |seq: u64| {
            let behind = self.runs.partition_point(|(first, _)| *first <= seq);
            self.runs[..behind].last().map(|(first, parent)| (*first, *parent, seq))
        };
        let next = move |(first, parent, _): &(u64, u64, u64)| if parent < first { run_of(*parent) } else { None };
        std::iter::successors(run_of(self.newest), next).map(|(first, _, last)| (first, last))
    }

    /// `None`: all of the log is needed. Otherwise what is older is still to be looked through, for what counts.
    pub fn begins(&self) -> Option<WindowCarry> {
        let (compacted, kept) = self.compaction()?;
        // The newest turn may go on, so it is there as a whole.
        let turn = if self.turn_started > 0 { self.turn_started } else { compacted };
        let from = kept.min(turn).min(compacted);
        if from <= 1 {
            return None;
        }
        let todos = self.path().find_map(|(first, last)| {
            let upto = &self.todos[..self.todos.partition_point(|seq| *seq <= last && *seq < from)];
            upto.last().copied().filter(|seq| *seq >= first)
        });
        Some(WindowCarry { compacted, from, todos: todos.or(self.carried_todos), ..WindowCarry::default() })
    }
}

/// Finds what counts of what is older than a window, entry by entry: as it was when the window begins, since everything from
/// there on is read. Whoever takes more from a log has to have it carried here.
#[derive(Default)]
pub struct WindowCarry {
    compacted: u64,
    pub from: u64,
    todos: Option<u64>,
    thinking: Option<u64>,
    gadgets: Option<u64>,
    lane: Option<u64>,
    elevated: Option<u64>,
    sent: Option<u64>,
    asks: Vec<(AskId, bool, u64)>,
    /// Question and answer.
    allowed: Vec<[u64; 2]>,
    waiting: Vec<(ItemId, u64)>,
    shells: Vec<(Arc<str>, bool, u64)>,
    /// Calls that were made by hand and have not come back.
    called: Vec<(CallId, u64)>,
    keys: VecDeque<(i64, u64)>,
    /// What a peer has said last, and our own reminders since.
    said: Vec<u64>,
}

impl WindowCarry {
    pub fn take(&mut self, entry: &Entry) {
        let seq = entry.seq;
        if seq >= self.from {
            return;
        }
        match &entry.body {
            Body::User { from: UserFrom::Prompt | UserFrom::Steer | UserFrom::FollowUp, .. } => self.said = vec![seq],
            Body::User { from: UserFrom::Reminder, .. } => self.said.push(seq),
            Body::Setting(SettingEntry::Thinking { .. }) => self.thinking = Some(seq),
            Body::Setting(SettingEntry::Gadgets { .. }) => self.gadgets = Some(seq),
            Body::Setting(SettingEntry::Lane { .. }) => self.lane = Some(seq),
            Body::Setting(SettingEntry::Elevated { .. }) => self.elevated = Some(seq),
            Body::Model(ModelEntry::Requested(requested)) if requested.sent.is_some() => self.sent = Some(seq),
            Body::Ask(AskEntry::Opened(ask)) => {
                self.asks.push((ask.id.clone(), matches!(ask.kind, AskKind::Permission(_)), seq))
            }
            Body::Ask(AskEntry::Closed { ask, end }) => {
                let holds_on = matches!(end, AskEnd::Answered { answer: Answer::Allow(Scope::Session), .. });
                let closed = self.asks.extract_if(.., |(id, ..)| id == ask);
                let allowed = closed.filter(|(_, is_permission, _)| holds_on && *is_permission);
                self.allowed.extend(allowed.map(|(.., opened)| [opened, seq]));
            }
            Body::Queue(QueueEntry::Queued(item)) => self.waiting.push((item.id.clone(), seq)),
            Body::Queue(QueueEntry::Settled { item, .. }) => self.waiting.retain(|(id, _)| id != item),
            Body::Shell(ShellEntry::Started { command, aside }) => self.shells.push((command.clone(), *aside, seq)),
            Body::Shell(ShellEntry::Ended(shell)) => {
                let is_it =
                    |(command, aside, _): &(Arc<str>, bool, u64)| *command == shell.command && *aside == shell.aside;
                if let Some(at) = self.shells.iter().position(is_it) {
                    self.shells.remove(at);
                }
            }
            Body::Shell(ShellEntry::Called { call, .. }) => self.called.push((call.id.clone(), seq)),
            Body::Shell(ShellEntry::Returned(result)) => self.called.retain(|(id, _)| *id != result.call),
            Body::Note(NoteEntry::Keyed(_)) => {
                let is_old = |(at_ms, _): &(i64, u64)| entry.at_ms.saturating_sub(*at_ms) >= KEY_MS_MAX;
                while self.keys.front().is_some_and(|old| self.keys.len() >= KEPT_ANSWERS_MAX || is_old(old)) {
                    self.keys.pop_front();
                }
                self.keys.push_back((entry.at_ms, seq));
            }
            _ => {}
        }
    }

    pub fn mark(self) -> WindowMark {
        let newest = [self.thinking, self.gadgets, self.lane, self.elevated, self.sent, self.todos];
        let newest = newest.into_iter().flatten();
        let mut carried: Vec<u64> = newest
            .chain(self.asks.iter().map(|(.., seq)| *seq))
            .chain(self.allowed.iter().flatten().copied())
            .chain(self.waiting.iter().map(|(_, seq)| *seq))
            .chain(self.shells.iter().map(|(.., seq)| *seq))
            .chain(self.called.iter().map(|(_, seq)| *seq))
            .chain(self.keys.iter().map(|(_, seq)| *seq))
            .chain(self.said.iter().copied())
            .collect();
        carried.sort_unstable();
        carried.dedup();
        WindowMark { compacted: self.compacted, from: self.from, carried }
    }
}
