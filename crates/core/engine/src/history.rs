//! What the model sees: the active branch of the log, held in the provider's encoded form plus a light index. Bodies
//! stay in the store; memory grows by the encoded bytes and nothing else.

use std::collections::HashMap;
use std::sync::Arc;

use vocab::{
    Ask, AskEntry, Body, BranchEntry, Call, CallEnd, CallEntry, CallId, CallResult, Chat, Compaction, Entry, FileEdit,
    Item, Message, ModelEntry, Part, QueueEntry, SettingEntry, Shell, ShellEntry, TodoPhase, TurnEntry, TurnId, Usage,
    estimate_tokens,
};

use crate::turn::synthetic;

/// What a result says of a call whose own is not in the log: the process died before it, or could not write it.
const LOST: &str =
    "no result: what came of this call is not known; it may have run: check what it did before trying again";

/// The same for a command of the user's.
const LOST_SHELL: &str = "no output: what came of this command is not known; it may have run: check what it did";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MarkKind {
    User,
    Assistant,
    Result,
    Summary,
    /// What the user did beside the conversation, and the like: read by the model, asked by nobody.
    Beside,
}

/// One message the model sees.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mark {
    pub(crate) seq: u64,
    pub(crate) kind: MarkKind,
    pub(crate) bytes: usize,
}

pub(crate) struct History {
    pub(crate) chat: Box<dyn Chat>,
    marks: Vec<Mark>,
    /// Tool results among them; counted as they come, because every state tells the number.
    results: u64,
    /// Tokens of the last model call, as the provider counted.
    reported: u64,
    /// Encoded size at that moment.
    reported_bytes: usize,
    /// Calls of the newest reply that have no result yet.
    open_calls: usize,
    /// Messages that would stand between a call and its result; they come right behind the last result.
    held: Vec<(u64, Message)>,
    /// Seq of the newest compaction, 0 = none.
    compacted_at: u64,
    /// Seq of the newest reply that was finished, and the model that gave it.
    replied: Option<(u64, Arc<str>)>,
}

impl History {
    pub(crate) fn new(chat: Box<dyn Chat>) -> Self {
        Self {
            chat,
            marks: Vec::new(),
            results: 0,
            reported: 0,
            reported_bytes: 0,
            open_calls: 0,
            held: Vec::new(),
            compacted_at: 0,
            replied: None,
        }
    }

    pub(crate) fn marks(&self) -> &[Mark] {
        &self.marks
    }
    /// User and assistant messages the model sees.
    pub(crate) fn messages(&self) -> u64 {
        self.marks.len() as u64 - self.results
    }
    /// Tool results the model sees.
    pub(crate) fn results(&self) -> u64 {
        self.results
    }
    pub(crate) fn bytes(&self) -> usize {
        self.chat.bytes()
    }

    pub(crate) fn push(&mut self, seq: u64, message: &Message) {
        match message {
            Message::User(_) => {
                self.calls_are_done();
                self.encode(seq, MarkKind::User, message);
            }
            Message::Assistant(reply) => {
                self.calls_are_done();
                self.encode(seq, MarkKind::Assistant, message);
                self.open_calls = reply.calls().count();
            }
            Message::Result(_) => {
                self.encode(seq, MarkKind::Result, message);
                self.open_calls = self.open_calls.saturating_sub(1);
                if self.open_calls == 0 {
                    self.calls_are_done();
                }
            }
        }
        // What was counted of a reply that was cut short says nothing about how full the context is.
        if let Message::Assistant(message) = message
            && matches!(message.end, vocab::MessageEnd::Finished(_))
        {
            self.report(&message.usage);
            self.replied = Some((seq, message.model.clone()));
        }
    }

    /// A message that may come at any time. While a call waits for its result it is held back.
    pub(crate) fn push_beside(&mut self, seq: u64, message: Message) {
        if self.open_calls > 0 {
            self.held.push((seq, message));
        } else {
            self.encode(seq, MarkKind::Beside, &message);
        }
    }

    fn calls_are_done(&mut self) {
        self.open_calls = 0;
        for (seq, message) in std::mem::take(&mut self.held) {
            self.encode(seq, MarkKind::Beside, &message);
        }
    }

    fn encode(&mut self, seq: u64, kind: MarkKind, message: &Message) {
        let before = self.chat.bytes();
        self.chat.push(message);
        self.results += u64::from(kind == MarkKind::Result);
        self.marks.push(Mark { seq, kind, bytes: self.chat.bytes() - before });
    }

    fn push_summary(&mut self, compaction: &Compaction) {
        let message = Message::User(vec![Part::text(summary_message(&compaction.summary))]);
        self.encode(compaction.first_kept, MarkKind::Summary, &message);
    }

    fn report(&mut self, usage: &Usage) {
        if usage.context() > 0 {
            self.reported = usage.context();
            self.reported_bytes = self.chat.bytes();
        }
    }

    /// The provider's last count, corrected by what came after it.
    pub(crate) fn context_tokens(&self) -> u64 {
        let since = self.chat.bytes().saturating_sub(self.reported_bytes);
        self.reported.saturating_add(estimate_tokens(since))
    }
    /// The provider's last count alone.
    pub(crate) fn reported_tokens(&self) -> u64 {
        self.reported
    }

    /// Rebuilds from a branch. While a turn runs, calls without a result are still to get theirs.
    pub(crate) fn rebuild(&mut self, branch: &Branch, turn: Option<&TurnId>) {
        let from = branch.compaction.as_ref().map_or(0, |compaction| compaction.first_kept);
        // Ids are unique within a turn only: an older turn's lost call may have the same one.
        let started = branch.turn_started;
        let pending = |seq: u64, message: &Message| match message {
            Message::Result(result) => {
                let open = |(owner, call): &(TurnId, Call)| Some(owner) == turn && call.id == result.call;
                seq > started && result.end == CallEnd::Lost && branch.open_calls.iter().any(open)
            }
            Message::User(_) | Message::Assistant(_) => false,
        };
        let kept = branch.messages.iter().filter(|said| said.seq >= from && !pending(said.seq, &said.message));
        self.replace(branch.compaction.as_ref(), kept);
        self.compacted_at = branch.compacted_at;
        if let Some(compaction) = branch.compaction.as_ref().filter(|_| branch.compacted_at > branch.last_reply_seq()) {
            self.set_reported(compaction.tokens_after);
        }
    }

    /// Starts over with a summary and what follows it.
    pub(crate) fn replace<'a>(&mut self, compaction: Option<&Compaction>, messages: impl Iterator<Item = &'a Said>) {
        self.chat.clear();
        self.marks.clear();
        self.results = 0;
        self.reported = 0;
        self.reported_bytes = 0;
        self.open_calls = 0;
        self.held.clear();
        self.replied = None;
        if let Some(compaction) = compaction {
            self.push_summary(compaction);
        }
        for said in messages {
            match said.beside {
                true => self.push_beside(said.seq, said.message.clone()),
                false => self.push(said.seq, &said.message),
            }
        }
    }

    pub(crate) fn compacted(&mut self, seq: u64) {
        self.compacted_at = seq;
    }
    /// The model that gave the last finished reply since the newest compaction.
    pub(crate) fn replier(&self) -> Option<&Arc<str>> {
        self.replied.as_ref().filter(|(seq, _)| *seq > self.compacted_at).map(|(_, model)| model)
    }
    /// Nothing was said since the newest compaction.
    pub(crate) fn is_compacted(&self) -> bool {
        let is_old = |mark: &Mark| mark.kind == MarkKind::Summary || mark.seq < self.compacted_at;
        self.compacted_at > 0 && self.marks.iter().all(is_old) && self.held.is_empty()
    }

    /// After a compaction nothing was counted yet: the estimate stands in.
    pub(crate) fn set_reported(&mut self, tokens: u64) {
        self.reported = tokens;
        self.reported_bytes = self.chat.bytes();
    }
}

/// How a summary is put to the model.
pub(crate) fn summary_message(summary: &str) -> String {
    format!("Summary of the conversation so far (earlier messages were compacted):\n\n{summary}")
}

/// How a command of the user's own is put to the model.
pub(crate) fn shell_message(shell: &Shell) -> String {
    let mut text = format!("The user ran `{}` in the workspace.\n", shell.command);
    match shell.output.trim_end() {
        "" => text.push_str("(no output)"),
        output => {
            text.push_str("```\n");
            text.push_str(output);
            text.push_str("\n```");
        }
    }
    match shell.exit_code {
        _ if shell.cancelled => text.push_str("\nIt was stopped before it ended."),
        Some(code) if code != 0 => text.push_str(&format!("\nIt exited with code {code}.")),
        _ => {}
    }
    if shell.truncated {
        text.push_str("\nThe output above is not complete.");
        if let Some(place) = &shell.spilled {
            text.push_str(&format!(" All of it is in {place}."));
        }
    }
    text
}

fn branch_message(summary: &str) -> String {
    format!("Summary of another branch of this conversation, which was left:\n\n{summary}")
}

/// A message of a branch and the entry it comes from.
pub(crate) struct Said {
    pub(crate) seq: u64,
    pub(crate) message: Message,
    /// See [`MarkKind::Beside`].
    pub(crate) beside: bool,
}

impl Said {
    /// A message that came in beside the conversation.
    pub(crate) fn beside(seq: u64, text: String) -> Self {
        Self { seq, message: Message::User(vec![Part::text(text)]), beside: true }
    }
}

/// The active branch of a log, read back.
#[derive(Default)]
pub(crate) struct Branch {
    pub(crate) messages: Vec<Said>,
    pub(crate) compaction: Option<Compaction>,
    compacted_at: u64,
    /// Calls without a result, with the turn that made them.
    pub(crate) open_calls: Vec<(TurnId, Call)>,
    pub(crate) open_turn: Option<TurnId>,
    /// Seq of the newest turn's start.
    turn_started: u64,
    /// What the replies of the open turn cost.
    pub(crate) open_usage: Usage,
    pub(crate) open_asks: Vec<Ask>,
    pub(crate) waiting: Vec<Item>,
    /// Gadgets that were switched off, when any ever was.
    pub(crate) gadgets_off: Option<Vec<Arc<str>>>,
    /// The thinking level, when the log ever said one.
    pub(crate) thinking: Option<Option<Arc<str>>>,
    pub(crate) todos: Vec<TodoPhase>,
    /// Commands of the user's that were begun and did not end.
    pub(crate) open_shells: Vec<(Arc<str>, bool)>,
    /// Files that an undo may not have put back: it is the last thing in the log.
    pub(crate) unrestored: Vec<Arc<str>>,
}

impl Branch {
    fn last_reply_seq(&self) -> u64 {
        self.messages.iter().rev().find(|said| matches!(said.message, Message::Assistant(_))).map_or(0, |said| said.seq)
    }

    /// Walks from the newest entry to the root, then reads that path forwards. Results are placed right behind the
    /// reply that made the call, wherever they stand in the log: a result recorded by a later repair must not come
    /// after messages that the model has seen since.
    pub(crate) fn read(entries: &[Arc<Entry>]) -> Branch {
        let mut branch = Branch::default();
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
                self.open_usage = Usage::default();
            }
            Body::Turn(TurnEntry::Ended(_)) => self.open_turn = None,
            Body::Assistant { message, .. } => self.open_usage.add(&message.usage),
            Body::Model(ModelEntry::Spent { turn: Some(_), usage, .. }) => self.open_usage.add(usage),
            Body::Ask(AskEntry::Opened(ask)) => self.open_asks.push(ask.clone()),
            Body::Ask(AskEntry::Closed { ask, .. }) => self.open_asks.retain(|open| open.id != *ask),
            Body::Setting(SettingEntry::Thinking { level }) => self.thinking = Some(level.clone()),
            Body::Setting(SettingEntry::Gadgets { off }) => self.gadgets_off = Some(off.clone()),
            Body::Shell(ShellEntry::Started { command, aside }) => self.open_shells.push((command.clone(), *aside)),
            Body::Shell(ShellEntry::Ended(shell)) => {
                let is_it = |(command, aside): &(Arc<str>, bool)| *command == shell.command && *aside == shell.aside;
                if let Some(at) = self.open_shells.iter().position(is_it) {
                    self.open_shells.remove(at);
                }
            }
            Body::Queue(QueueEntry::Queued(item)) => self.waiting.push(item.clone()),
            Body::Queue(QueueEntry::Settled { item, .. }) => self.waiting.retain(|waiting| waiting.id != *item),
            _ => {}
        }
    }

    fn take(&mut self, entry: &Arc<Entry>, results: &mut HashMap<(TurnId, CallId), &CallResult>) {
        let said = |message| Said { seq: entry.seq, message, beside: false };
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
                self.messages.push(Said::beside(entry.seq, shell_message(shell)));
            }
            Body::Branch(BranchEntry::Summary { summary, .. }) => {
                self.messages.push(Said::beside(entry.seq, branch_message(summary)));
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
