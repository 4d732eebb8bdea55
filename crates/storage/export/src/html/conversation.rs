//! A session's entries in the order they are read: turns, messages, cards, and small notes for everything else. One arm
//! of [`PageBody::entry`], or of what it calls, per kind of entry.

use vocab::{
    Answer, AskEnd, AskEntry, AskKind, AssistantMessage, Block, Body, BranchEntry, CallEntry, CompactReason,
    Compaction, Entry, Fault, Finish, ItemEnd, MessageEnd, ModelEntry, NoteEntry, Part, QueueEntry, SettingEntry,
    Shell, ShellEntry, Stop, TodoPhase, TodoStatus, TurnEnd, TurnEntry, TurnId, Usage, UserFrom,
};

use super::blocks;
use super::branch::Branch;
use super::cards::Card;
use super::escape::{cut, escape, first_line, without_paint};
use super::figures::{clock, count, duration, plural, tokens};
use super::prose::{self, Breaks};

/// Characters of a note that comes from the log.
const NOTE_CHARS_MAX: usize = 2000;

pub(super) struct PageBody<'o, 'a> {
    out: &'o mut String,
    branch: Branch<'a>,
    /// When the open turn began.
    turn_started: Option<i64>,
    turns: u64,
    prompts: usize,
    /// The model whose message was shown last, when nothing came after it: its next message needs no head of its own.
    speaker: Option<&'a str>,
    /// A failure told last; the same one is told by the message, the retry and the turn.
    told: Option<&'a str>,
}

impl<'o, 'a> PageBody<'o, 'a> {
    pub(super) fn write(out: &'o mut String, mut branch: Branch<'a>) {
        let path = std::mem::take(&mut branch.path);
        let mut page = PageBody { out, branch, turn_started: None, turns: 0, prompts: 0, speaker: None, told: None };
        let mut before = 0;
        for entry in path {
            page.entry(entry, before);
            before = entry.seq;
        }
        page.leave_turn();
    }

    /// `before` is the number of the entry shown last.
    fn entry(&mut self, entry: &'a Entry, before: u64) {
        let at_ms = entry.at_ms;
        match &entry.body {
            Body::Opened { forked_from, child_of, .. } => {
                if let Some((from, at)) = forked_from {
                    self.note(&format!("forked from session {from} before entry {at}"));
                }
                if let Some((parent, call)) = child_of {
                    self.note(&format!("working for call {call} of session {parent}"));
                }
            }
            Body::User { parts, from, .. } => self.user(parts, *from, at_ms),
            Body::Assistant { turn, message } => self.assistant(turn.as_ref(), message, at_ms),
            Body::Turn(TurnEntry::Started { .. }) => self.enter_turn(at_ms),
            // Messages are shown one by one, and a turn that was cut says so where it ends.
            Body::Turn(TurnEntry::Taken { .. } | TurnEntry::Cut { .. }) => {}
            Body::Turn(TurnEntry::Ended(end)) => self.turn_ended(end, at_ms),
            Body::Call(CallEntry::Ended { turn, result }) => {
                if !self.branch.is_claimed(entry.seq) {
                    let verdict = self.branch.verdict(Some(turn), result.call.as_str());
                    Card { call: None, result: Some(result), verdict }.write(self.out);
                }
            }
            Body::Ask(AskEntry::Closed { ask, end }) => {
                if let Some(kind) = self.branch.ask(ask) {
                    self.dialog(kind, end);
                }
            }
            // A call is shown with the reply that made it, a question with its answer.
            Body::Call(CallEntry::Started { .. }) | Body::Ask(AskEntry::Opened(_)) => {}
            Body::Queue(entry) => self.queue(entry),
            Body::Model(entry) => self.model(entry),
            Body::Branch(BranchEntry::Moved { .. }) => {
                let gone = entry.seq.saturating_sub(before + 1);
                self.note(&format!("undone: {} left out here", plural_entries(gone)));
            }
            Body::Branch(BranchEntry::Compacted(compaction)) => self.compacted(compaction),
            Body::Branch(BranchEntry::Summary { summary, .. }) => {
                self.note("came back from another branch");
                prose::write(self.out, summary, Breaks::Flow);
            }
            Body::Branch(BranchEntry::Restored { files }) if files.is_empty() => {}
            Body::Branch(BranchEntry::Restored { files }) => self.note(&format!("restored: {}", files.join(", "))),
            Body::Setting(entry) => self.setting(entry),
            // A command is shown with what came of it, and so is a call that was made by hand.
            Body::Shell(ShellEntry::Started { .. } | ShellEntry::Called { .. }) => {}
            Body::Shell(ShellEntry::Returned(result)) => {
                self.note("called by hand");
                Card { call: None, result: Some(result), verdict: None }.write(self.out);
            }
            Body::Shell(ShellEntry::Ended(shell)) => self.shell(shell, at_ms),
            Body::Note(entry) => self.noted(entry),
        }
    }

    fn queue(&mut self, entry: &QueueEntry) {
        match entry {
            QueueEntry::Settled { end: ItemEnd::Dropped, .. } => self.note("a waiting message was dropped"),
            QueueEntry::Settled { end: ItemEnd::Cancelled, .. } => self.note("a waiting message was cancelled"),
            // A waiting message is shown when it is taken.
            QueueEntry::Queued(_) | QueueEntry::Settled { end: ItemEnd::Consumed | ItemEnd::Superseded, .. } => {}
        }
    }

    fn model(&mut self, entry: &'a ModelEntry) {
        match entry {
            ModelEntry::Retrying { attempt, attempts_max, wait_ms, fault, .. } => {
                let why = self.tell(fault);
                self.note(&format!("retry {attempt} of {attempts_max} after {}{why}", duration(*wait_ms)));
            }
            ModelEntry::FellBack(it) => {
                let why = self.tell(&it.fault);
                self.note(&format!("{} could not answer; {} is asked{why}", it.from, it.to));
            }
            // What was sent and what it cost is for other readers.
            ModelEntry::Requested(_) | ModelEntry::Spent { .. } => {}
        }
    }

    fn setting(&mut self, entry: &'a SettingEntry) {
        match entry {
            SettingEntry::Model { model, .. } => self.note(&format!("model: {model}")),
            SettingEntry::Mode { mode } => self.note(&format!("mode: {}", mode.as_str())),
            SettingEntry::Thinking { level } => {
                self.note(&format!("thinking: {}", level.as_deref().unwrap_or("as the model likes")))
            }
            SettingEntry::Lane { wish } if wish.is_empty() => self.note("messages that wait: as usual"),
            SettingEntry::Lane { wish } => match wish.mode {
                Some(mode) => self.note(&format!("messages that wait: {mode:?}").to_lowercase()),
                None => self.note("messages that wait: by rules of their own"),
            },
            SettingEntry::Elevated { until_ms: Some(until) } => {
                self.note(&format!("nothing is asked until {}", clock(*until)))
            }
            SettingEntry::Elevated { until_ms: None } => self.note("what needs it is asked again"),
            SettingEntry::Gadgets { off } if off.is_empty() => self.note("all gadgets on"),
            SettingEntry::Gadgets { off } => self.note(&format!("gadgets off: {}", off.join(", "))),
            SettingEntry::Title { title } => self.note(&format!("renamed: {title}")),
            SettingEntry::Todos { phases } => self.todos(phases),
        }
    }

    fn noted(&mut self, entry: &NoteEntry) {
        match entry {
            NoteEntry::Recovered { text } => self.warning(text),
            NoteEntry::Keyed(_) => {}
            NoteEntry::Waived { tool, .. } => self.note(&format!("{tool} ran without a question")),
            NoteEntry::Imported { .. } => self.note("read from another program's session file"),
            NoteEntry::Label { target, label: Some(label) } => {
                self.note(&format!("entry {target} is labelled: {label}"))
            }
            NoteEntry::Label { target, label: None } => self.note(&format!("entry {target} has no label any more")),
        }
    }

    fn enter_turn(&mut self, at_ms: i64) {
        self.leave_turn();
        self.speaker = None;
        self.turns += 1;
        self.turn_started = Some(at_ms);
        self.out.push_str("<section class=\"turn\">\n");
    }

    fn leave_turn(&mut self) {
        if self.turn_started.take().is_some() {
            self.out.push_str("</section>\n");
        }
    }

    fn user(&mut self, parts: &[Part], from: UserFrom, at_ms: i64) {
        self.prompts += 1;
        self.speaker = None;
        let word = match from {
            UserFrom::Prompt => "",
            UserFrom::Steer => ", while the turn ran",
            UserFrom::FollowUp => ", as a follow-up",
            UserFrom::Reminder => ", by itself: tasks were left",
            UserFrom::Extension => ", by an extension",
        };
        self.out.push_str(&format!(
            "<article class=\"msg user\" id=\"p{}\"><header><h2>User</h2><span class=\"dim\">{}{word}</span></header>\n",
            self.prompts,
            clock(at_ms)
        ));
        for part in parts {
            match part {
                Part::Text(text) => prose::write(self.out, text, Breaks::Keep),
                Part::Image(image) => blocks::image(self.out, image),
            }
        }
        self.out.push_str("</article>\n");
    }

    fn assistant(&mut self, turn: Option<&'a TurnId>, message: &'a AssistantMessage, at_ms: i64) {
        self.out.push_str("<article class=\"msg\">\n");
        if self.speaker.replace(&message.model) != Some(&message.model) {
            self.out.push_str("<header><h2>Assistant</h2><span class=\"dim\">");
            self.out.push_str(&clock(at_ms));
            self.out.push_str(", ");
            escape(self.out, &cut(&message.model, NOTE_CHARS_MAX));
            self.out.push_str("</span></header>\n");
        }
        for block in &message.blocks {
            match block {
                Block::Text(text) => prose::write(self.out, text, Breaks::Flow),
                Block::Redacted(_) => {}
                Block::Thinking { text, .. } if text.trim().is_empty() => {}
                Block::Thinking { text, .. } => self.thinking(text),
                Block::Call(call) => {
                    let result = self.branch.claim(turn, call.id.as_str());
                    let verdict = self.branch.verdict(turn, call.id.as_str());
                    Card { call: Some(call), result, verdict }.write(self.out);
                }
            }
        }
        match &message.end {
            MessageEnd::Finished(Finish::Stop | Finish::ToolUse) => {}
            MessageEnd::Finished(Finish::Length) => self.warning("cut off: the longest allowed answer"),
            MessageEnd::Finished(Finish::Refusal) => self.warning("the model refused"),
            MessageEnd::Interrupted => self.warning("interrupted"),
            MessageEnd::Failed(failed) => {
                let why = self.tell(&failed.fault);
                self.warning(&format!("the model call failed{why}"));
            }
        }
        self.out.push_str("</article>\n");
    }

    /// A command that the user ran beside the conversation.
    fn shell(&mut self, shell: &Shell, at_ms: i64) {
        self.speaker = None;
        self.out.push_str("<article class=\"msg user\"><header><h2>Command</h2><span class=\"dim\">");
        self.out.push_str(&clock(at_ms));
        match shell.exit_code {
            _ if shell.cancelled => self.out.push_str(", stopped"),
            Some(0) | None => {}
            Some(code) => self.out.push_str(&format!(", exit code {code}")),
        }
        self.out.push_str("</span></header>\n");
        self.out.push_str("<pre class=\"sh\"><span class=\"p\">$ </span><code>");
        escape(self.out, &shell.command);
        self.out.push_str("</code></pre>\n");
        if !shell.output.is_empty() {
            blocks::foldable(self.out, "output", &without_paint(&shell.output), None);
        }
        self.out.push_str("</article>\n");
    }

    fn todos(&mut self, phases: &[TodoPhase]) {
        let tasks = phases.iter().flat_map(|phase| &phase.tasks);
        let open = vocab::open_tasks(phases).count();
        self.note(&format!("todo list: {open} of {} open", tasks.clone().count()));
        self.out.push_str("<ul class=\"todo\">\n");
        for task in tasks {
            let mark = match task.status {
                TodoStatus::Pending => "☐",
                TodoStatus::InProgress => "▶",
                TodoStatus::Completed => "☑",
                TodoStatus::Abandoned => "☒",
            };
            self.out.push_str(&format!("<li>{mark} "));
            escape(self.out, &cut(&task.content, NOTE_CHARS_MAX));
            self.out.push_str("</li>\n");
        }
        self.out.push_str("</ul>\n");
    }

    fn thinking(&mut self, text: &str) {
        self.out.push_str("<details class=\"think\"><summary>Thinking <span class=\"dim\">");
        escape(self.out, &first_line(text, 80));
        self.out.push_str("</span></summary>\n<div class=\"in\">\n");
        prose::write(self.out, text, Breaks::Flow);
        self.out.push_str("</div></details>\n");
    }

    fn turn_ended(&mut self, end: &'a TurnEnd, at_ms: i64) {
        let trouble = match end.stop {
            Stop::EndTurn => None,
            Stop::MaxTokens => Some("stopped: the longest allowed answer"),
            Stop::MaxIterations => Some("stopped: too many tool rounds"),
            Stop::Refusal => Some("stopped: the model refused"),
            Stop::Interrupted => Some("interrupted"),
            Stop::Error => Some("failed"),
            Stop::Budget => Some("stopped"),
        };
        if let Some(word) = trouble {
            let why = end.fault.as_ref().map_or_else(String::new, |fault| self.tell(fault));
            self.warning(&format!("turn {word}{why}"));
        }
        let mut line = match self.turn_started {
            Some(started) => format!("turn {}, {}", self.turns, duration(at_ms.saturating_sub(started).max(0) as u64)),
            None => "turn".to_owned(),
        };
        if end.iterations > 0 {
            line.push_str(&format!(", {}", plural(end.iterations.into(), "tool round")));
        }
        if end.usage != Usage::default() {
            line.push_str(&format!("; tokens: {}", tokens(&end.usage)));
        }
        self.out.push_str("<p class=\"end\">");
        escape(self.out, &line);
        self.out.push_str("</p>\n");
        self.leave_turn();
    }

    fn dialog(&mut self, kind: &AskKind, end: &AskEnd) {
        let title: &str = match kind {
            AskKind::Budget(asked) => &asked.summary(),
            // Shown with the call they are about.
            AskKind::Permission(_) | AskKind::HostCall { .. } => return,
            AskKind::Select { title, .. }
            | AskKind::Confirm { title, .. }
            | AskKind::Input { title, .. }
            | AskKind::Editor { title, .. } => title,
        };
        let answer = match end {
            AskEnd::Withdrawn => "withdrawn",
            AskEnd::Answered { answer, .. } => match answer {
                Answer::Text(text) => text,
                Answer::Confirmed(true) | Answer::Allow(_) => "yes",
                Answer::Confirmed(false) | Answer::Deny(_) => "no",
                Answer::Dismissed => "dismissed",
                Answer::Result { .. } => "answered",
            },
        };
        self.note(&format!("asked: {title} \u{2192} {answer}"));
    }

    fn compacted(&mut self, compaction: &Compaction) {
        self.speaker = None;
        let reason = match compaction.reason {
            CompactReason::Manual => "on request",
            CompactReason::Threshold => "the context was nearly full",
            CompactReason::Overflow => "the context was full",
            CompactReason::Switch => "the model is of another provider",
        };
        self.out.push_str(&format!(
            "<div class=\"cut\"><details><summary>Earlier messages compacted, {reason}: {} \u{2192} {} tokens, {} \u{2192} {} messages</summary>\n<div class=\"in\">\n",
            count(compaction.tokens_before),
            count(compaction.tokens_after),
            count(compaction.messages_before),
            count(compaction.messages_after),
        ));
        prose::write(self.out, &compaction.summary, Breaks::Flow);
        if compaction.usage != Usage::default() {
            self.out.push_str(&format!("<p class=\"end\">tokens: {}</p>\n", tokens(&compaction.usage)));
        }
        self.out.push_str("</div></details></div>\n");
    }

    /// `: message (hints)`, or nothing when that was told just before.
    fn tell(&mut self, fault: &'a Fault) -> String {
        if self.told.replace(&fault.message) == Some(&fault.message) {
            return String::new();
        }
        format!(": {}", fault.explained())
    }

    fn note(&mut self, text: &str) {
        self.line("<p class=\"note\">", text);
    }

    fn warning(&mut self, text: &str) {
        self.line("<p class=\"note bad\">", text);
    }

    fn line(&mut self, open: &str, text: &str) {
        self.out.push_str(open);
        escape(self.out, &cut(text, NOTE_CHARS_MAX));
        self.out.push_str("</p>\n");
    }
}

fn plural_entries(number: u64) -> String {
    if number == 1 { "1 entry".into() } else { format!("{} entries", count(number)) }
}
