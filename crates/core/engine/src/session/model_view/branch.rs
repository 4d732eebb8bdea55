//! The active branch of a log, read back: its messages, and what a dead process or a failed write left open.

use std::collections::HashMap;
use std::sync::Arc;

use vocab::{
    Answer, Ask, AskEnd, AskEntry, AskKind, Body, BranchEntry, Call, CallEnd, CallEntry, CallId, CallResult,
    Compaction, Entry, FileEdit, Item, LaneWish, LogWindow, Message, ModelEntry, Part, PermissionAsk, Principal,
    QueueEntry, Scope, SettingEntry, SettleReason, Shell, ShellEntry, TodoPhase, TurnEntry, TurnId, Usage, UserFrom,
};

use super::history::shell_message;
use crate::session::turn::synthetic;

/// What a result says of a call whose own is not in the log: the process died before it, or could not write it.
pub(crate) const LOST: &str =
    "no result: what came of this call is not known; it may have run: check what it did before trying again";

/// The same for a command of the user's.
const LOST_SHELL: &str = "no output: what came of this command is not known; it may have run: check what it did";

fn branch_message(summary: &str) -> String {
    format!("Summary of another branch of this conversation, which was left:\n\n{summary}")
}

/// A message of a branch and the entry it comes from.
#[derive(Debug)]
pub(crate) struct BranchMessage {
    pub(crate) seq: u64,
    pub(crate) message: Message,
    /// See [`MarkKind::Beside`].
    pub(crate) beside: bool,
}

impl BranchMessage {
    /// A message that came in beside the conversation.
    pub(crate) fn beside(seq: u64, text: String) -> Self {
        Self { seq, message: Message::User(vec![Part::text(text)]), beside: true }
    }
}

/// The active branch of a log, read back.
#[derive(Default, Debug)]
pub(crate) struct Branch {
    pub(crate) messages: Vec<BranchMessage>,
    pub(crate) compaction: Option<Compaction>,
    pub(super) compacted_at: u64,
    /// Calls without a result, with the turn that made them.
    pub(crate) open_calls: Vec<(TurnId, Call)>,
    pub(crate) open_turn: Option<TurnId>,
    /// Seq of the newest turn's start.
    pub(super) turn_started: u64,
    /// What the replies of the open turn cost.
    pub(crate) open_usage: Usage,
    pub(crate) open_asks: Vec<Ask>,
    pub(crate) waiting: Vec<Item>,
    /// What a full queue has dropped since the newest turn began.
    pub(crate) dropped: Vec<Item>,
    /// Who wanted the newest turn.
    pub(crate) turn_by: Option<Principal>,
    /// The rules of the queue, when the log ever said some.
    pub(crate) lane: LaneWish,
    /// Gadgets that were switched off, when any ever was.
    pub(crate) gadgets_off: Option<Vec<Arc<str>>>,
    /// The thinking level, when the log ever said one.
    pub(crate) thinking: Option<Option<Arc<str>>>,
    pub(crate) todos: Vec<TodoPhase>,
    /// What people have allowed for the rest of the session, with the entry of each answer.
    pub(crate) allowed: Vec<(u64, PermissionAsk)>,
    /// Reminders of our own since a peer last spoke.
    pub(crate) reminders: u32,
    /// Commands of the user's that were begun and did not end.
    pub(crate) open_shells: Vec<(Arc<str>, bool)>,
    /// Calls by hand that were begun and did not end.
    pub(crate) open_asides: Vec<Call>,
    /// Files that an undo may not have put back: it is the last thing in the log.
    pub(crate) unrestored: Vec<Arc<str>>,
}

impl Branch {
    pub(super) fn last_reply_seq(&self) -> u64 {
        self.messages.iter().rev().find(|said| matches!(said.message, Message::Assistant(_))).map_or(0, |said| said.seq)
    }

    /// Walks from the newest entry to the root, then reads that path forwards. Results are placed right behind the
    /// reply that made the call, wherever they stand in the log: a result recorded by a later repair must not come
    /// after messages that the model has seen since.
    pub(crate) fn read(entries: &[Arc<Entry>]) -> Branch {
        Self::read_on(Branch::default(), entries)
    }

    /// As [`Branch::read`], from the end of the log. Of messages it has those that the model sees.
    pub(crate) fn of(window: &LogWindow) -> Branch {
        let mut branch = Branch::default();
        for entry in &window.carried {
            if let Body::Setting(SettingEntry::Todos { phases }) = &entry.body {
                branch.todos = phases.clone();
            }
            branch.follow(entry);
        }
        Self::read_on(branch, &window.page.entries)
    }

    fn read_on(mut branch: Branch, entries: &[Arc<Entry>]) -> Branch {
        let path = vocab::active_path(entries);
        let mut results: HashMap<(TurnId, CallId), &CallResult> = HashMap::new();
        for entry in &path {
            if let Body::Call(CallEntry::Ended { turn, result }) = &entry.body {
                results.insert((turn.clone(), result.call.clone()), result);
            }
        }
        for entry in &path {
            branch.take(entry, &mut results);
        }
        for entry in entries {
            branch.follow(entry);
        }
        if let Some((Entry { body: Body::Branch(BranchEntry::Moved { to }), .. }, left)) =
            entries.split_last().map(|(it, left)| (&**it, left))
        {
            let mut files: Vec<Arc<str>> = edits_after(left, *to).into_iter().map(|edit| edit.path).collect();
            files.sort();
            files.dedup();
            branch.unrestored = files;
        }
        branch
    }

    /// What belongs to the session and not to a branch: an undo neither ends nor begins a turn, what waits or was asked does
    /// not go away with the messages around it, and a setting stays what it was set to.
    fn follow(&mut self, entry: &Entry) {
        match &entry.body {
            Body::Turn(TurnEntry::Started { turn }) => {
                self.open_turn = Some(turn.clone());
                self.turn_started = entry.seq;
                self.turn_by = entry.by.clone();
                self.dropped.clear();
                self.open_usage = Usage::default();
            }
            Body::Turn(TurnEntry::Ended(_)) => self.open_turn = None,
            Body::Assistant { message, .. } => self.open_usage.add(&message.usage),
            Body::Model(ModelEntry::Spent { turn: Some(_), usage, .. }) => self.open_usage.add(usage),
            Body::Ask(AskEntry::Opened(ask)) => self.open_asks.push(ask.clone()),
            Body::Ask(AskEntry::Closed { ask, end }) => {
                let closed = self.open_asks.extract_if(.., |open| open.id == *ask);
                if let AskEnd::Answered { answer: Answer::Allow(Scope::Session), .. } = end {
                    self.allowed.extend(closed.filter_map(|ask| match ask.kind {
                        AskKind::Permission(permission) => Some((entry.seq, permission)),
                        _ => None,
                    }));
                } else {
                    closed.for_each(drop);
                }
            }
            Body::User { from, .. } => match from {
                UserFrom::Prompt | UserFrom::Steer | UserFrom::FollowUp => self.reminders = 0,
                UserFrom::Reminder => self.reminders += 1,
                UserFrom::Extension => {}
            },
            Body::Setting(SettingEntry::Thinking { level }) => self.thinking = Some(level.clone()),
            Body::Setting(SettingEntry::Gadgets { off }) => self.gadgets_off = Some(off.clone()),
            Body::Shell(ShellEntry::Started { command, aside }) => self.open_shells.push((command.clone(), *aside)),
            Body::Shell(ShellEntry::Called { call, .. }) => self.open_asides.push(call.clone()),
            Body::Shell(ShellEntry::Returned(result)) => self.open_asides.retain(|call| call.id != result.call),
            Body::Shell(ShellEntry::Ended(shell)) => {
                let is_it = |(command, aside): &(Arc<str>, bool)| *command == shell.command && *aside == shell.aside;
                if let Some(at) = self.open_shells.iter().position(is_it) {
                    self.open_shells.remove(at);
                }
            }
            Body::Queue(QueueEntry::Queued(item)) => self.waiting.push(item.clone()),
            Body::Queue(QueueEntry::Settled { item, why, .. }) => {
                let ended = self.waiting.extract_if(.., |waiting| waiting.id == *item);
                let is_dropped = *why == Some(SettleReason::Overflow);
                self.dropped.extend(ended.filter(|_| is_dropped));
            }
            Body::Setting(SettingEntry::Lane { wish }) => self.lane = *wish,
            _ => {}
        }
    }

    fn take(&mut self, entry: &Arc<Entry>, results: &mut HashMap<(TurnId, CallId), &CallResult>) {
        let said = |message| BranchMessage { seq: entry.seq, message, beside: false };
        match &entry.body {
            Body::User { parts, .. } => self.messages.push(said(Message::User(parts.clone()))),
            Body::Assistant { turn, message } => {
                self.messages.push(said(Message::Assistant(message.clone())));
                for call in message.calls() {
                    let Some(turn) = turn else { continue };
                    let result = match results.remove(&(turn.clone(), call.id.clone())) {
                        Some(result) => result.clone(),
                        None => {
                            self.open_calls.push((turn.clone(), call.clone()));
                            lost_result(call)
                        }
                    };
                    self.messages.push(said(Message::Result(result)));
                }
            }
            Body::Shell(ShellEntry::Ended(shell)) if !shell.aside => {
                self.messages.push(BranchMessage::beside(entry.seq, shell_message(shell)));
            }
            Body::Branch(BranchEntry::Summary { summary, .. }) => {
                self.messages.push(BranchMessage::beside(entry.seq, branch_message(summary)));
            }
            Body::Setting(SettingEntry::Todos { phases }) => self.todos = phases.clone(),
            Body::Branch(BranchEntry::Compacted(compaction)) => {
                self.compaction = Some(compaction.clone());
                self.compacted_at = entry.seq;
            }
            Body::Turn(_)
            | Body::Ask(_)
            | Body::Queue(_)
            | Body::Call(_)
            | Body::Opened { .. }
            | Body::Model(_)
            | Body::Shell(_)
            | Body::Branch(BranchEntry::Restored { .. })
            | Body::Branch(BranchEntry::Moved { .. })
            | Body::Setting(SettingEntry::Model { .. })
            | Body::Setting(SettingEntry::Mode { .. })
            | Body::Setting(SettingEntry::Thinking { .. })
            | Body::Setting(SettingEntry::Gadgets { .. })
            | Body::Setting(SettingEntry::Title { .. })
            | Body::Setting(SettingEntry::Lane { .. } | SettingEntry::Elevated { .. })
            | Body::Note(_) => {}
        }
    }
}

/// What is said of a command whose end is not in the log.
pub(crate) fn lost_shell(command: Arc<str>, aside: bool) -> Shell {
    Shell {
        command,
        output: LOST_SHELL.into(),
        exit_code: None,
        cancelled: true,
        truncated: false,
        total_lines: 1,
        total_bytes: LOST_SHELL.len() as u64,
        spilled: None,
        aside,
    }
}

/// What a call gets whose own result is not in the log.
pub(crate) fn lost_result(call: &Call) -> CallResult {
    let tool = vocab::names::canonical(&call.name).map_or_else(|| call.name.clone(), Arc::from);
    synthetic(call.id.clone(), tool, CallEnd::Lost, LOST)
}

/// The edits of calls on the active branch whose entry comes after `after`, oldest first.
pub(crate) fn edits_after(entries: &[Arc<Entry>], after: u64) -> Vec<FileEdit> {
    let path = vocab::active_path(entries);
    let edits = path.iter().filter(|entry| entry.seq > after).filter_map(|entry| match &entry.body {
        Body::Call(CallEntry::Ended { result, .. }) => Some(result.edits.clone()),
        _ => None,
    });
    edits.flatten().collect()
}

/// The active branch, shared: see [`vocab::active_path`].
pub(crate) fn active_path(entries: &[Arc<Entry>]) -> Vec<Arc<Entry>> {
    vocab::active_path(entries).into_iter().cloned().collect()
}

#[cfg(test)]
mod tests;
