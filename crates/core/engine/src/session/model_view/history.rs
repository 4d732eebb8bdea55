//! The history of a conversation as the model sees it: the active branch of the log, held in the provider's encoded form plus a light index. Bodies
//! stay in the store; memory grows by the encoded bytes and nothing else.

use std::sync::Arc;

use vocab::{Call, CallEnd, Chat, Compaction, Message, Part, Shell, TurnId, Usage, estimate_tokens};

use super::branch::{Branch, BranchMessage};

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
    pub(crate) fn replace<'a>(
        &mut self,
        compaction: Option<&Compaction>,
        messages: impl Iterator<Item = &'a BranchMessage>,
    ) {
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
