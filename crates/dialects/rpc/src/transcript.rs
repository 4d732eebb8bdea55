//! A session's log as this family sees it: lines of a session file, of which the messages are the most. Pure: entries in,
//! lines out; used for events, for `get_messages` and its like, and for session files, so that all three agree.

mod json;
mod names;
#[cfg(test)]
mod tests;
mod whole;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use vocab::{
    AskEntry, AskKind, AssistantMessage, Body, BranchEntry, Call, CallEnd, CallEntry, CallId, CallInput, CallResult,
    Entry, Fault, Json, MessageEnd, ModelEntry, NoteEntry, Part, SettingEntry, ShellEntry, Stop, TurnEnd, TurnEntry,
    Usage, UserFrom, parts_text,
};

use crate::messages::{self, Cost, Faces};
use names::Print;
pub use names::name_of_bytes;
pub use whole::{Stats, Transcript};

/// One line of a session file behind its head: 8 hex digits, unique in the file.
pub type Name = Arc<str>;

#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// The entry it stands for.
    pub seq: u64,
    pub at_ms: i64,
    pub name: Name,
    /// `None` for the first of a branch.
    pub parent: Option<Name>,
    pub kind: LineKind,
}

#[derive(Clone, PartialEq, Debug)]
pub enum LineKind {
    Message(Said),
    ModelChange { provider: Arc<str>, id: Arc<str> },
    ThinkingChange { level: Option<Arc<str>> },
    Compaction { summary: Arc<str>, first_kept: Name, tokens_before: u64 },
    BranchSummary { from: Option<Name>, summary: Arc<str> },
    Label { target: Name, label: Option<Arc<str>> },
    Title { name: Arc<str> },
}

/// A message and what can be said about it without reading its JSON.
#[derive(Clone, PartialEq, Debug)]
pub struct Said {
    pub role: Role,
    /// The whole AgentMessage as one line of JSON.
    pub json: Arc<str>,
    /// Its text blocks joined; for the user messages and `get_last_assistant_text`.
    pub text: Arc<str>,
    /// Tool calls it makes.
    pub calls: u64,
    pub usage: Option<(Usage, f64)>,
    /// In the file, but not in what the model sees (an attempt that failed and was tried again).
    pub only_in_file: bool,
    /// An aborted assistant message without content.
    pub empty: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    User,
    /// Our own reminders and an extension's additions.
    Developer,
    Assistant,
    ToolResult,
    BashExecution,
    /// Only in [`Transcript::context`]: in a file these are lines of their own kind.
    CompactionSummary,
    BranchSummary,
}

/// How the newest assistant message of the running turn ended.
#[derive(Clone, PartialEq, Default)]
enum Newest {
    #[default]
    None,
    Finished,
    Interrupted,
    Failed,
    /// It failed with these words and waits to be tried again; the last try is still to come.
    Waiting(String),
}

/// Characters of arguments that do not fit which are shown again.
const ARGS_CHARS_MAX: usize = 4000;

/// Turns entries into lines, in order. Fed from the first entry on it also knows every line's name and parent; fed from
/// the middle of a log the messages are still right.
#[derive(Default)]
pub struct Projector {
    /// Seq of the first entry that was taken.
    first: u64,
    /// By entry: its own line, and the line that what follows it hangs on.
    own: Vec<Option<Name>>,
    tail: Vec<Option<Name>>,
    taken: HashSet<Name>,
    /// Names that a foreign file has given to entries still to come.
    foreign: HashMap<u64, Name>,
    /// Messages of that file which are told as they stood there.
    raws: HashMap<u64, Json>,
    /// The first entry's line waits for the second entry: an imported session has its own first lines.
    opened: Option<Arc<str>>,
    opened_ms: i64,
    model: Arc<str>,
    now_ms: i64,
    newest: Newest,
    /// Calls of the running turn that a host was asked to run.
    hosted: Vec<CallId>,
    /// What the newest assistant message called.
    called: Vec<Call>,
    /// What sub-agents of the call that is about to get its result used, and what that cost.
    by_children: Option<(Usage, f64)>,
}

impl Projector {
    pub fn new() -> Self {
        Self::default()
    }

    /// What holds before the first entry, for one that is fed from the middle.
    pub fn assume(&mut self, model: &str, now_ms: i64) {
        self.model = model.into();
        self.now_ms = now_ms;
    }

    /// The timestamp of the next assistant message: when that which it answers was logged. A message that has only begun
    /// can say so already, whatever is logged beside it until it ends.
    pub fn now_ms(&self) -> i64 {
        self.now_ms
    }

    /// Slug of the model that speaks.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The line of this entry.
    pub fn name_of(&self, seq: u64) -> Option<&Name> {
        self.own.get(self.index(seq)?)?.as_ref()
    }

    /// The line of this entry or the nearest before it on its branch.
    pub fn tail_of(&self, seq: u64) -> Option<&Name> {
        self.tail.get(self.index(seq)?)?.as_ref()
    }

    fn index(&self, seq: u64) -> Option<usize> {
        usize::try_from(seq.checked_sub(self.first)?).ok()
    }

    pub fn take(&mut self, entry: &Entry, faces: &dyn Faces) -> Vec<Line> {
        let mut lines = Vec::new();
        // What could not be logged has a message, and no place among the lines.
        let in_log = entry.seq > 0;
        if in_log && self.own.is_empty() {
            self.first = entry.seq;
        }
        self.open(entry, faces, &mut lines);
        let parent = self.tail_of(entry.parent).cloned();
        let kind = self.kind(entry, faces);
        self.follow(entry);
        self.count_children(entry, faces);
        let name = kind.as_ref().map(|_| match self.foreign.remove(&entry.seq) {
            Some(name) => name,
            None => Print::of(entry.at_ms, kind_word(&entry.body), &entry.body).claim(&mut self.taken),
        });
        if in_log {
            self.own.push(name.clone());
            self.tail.push(name.clone().or_else(|| parent.clone()));
        }
        if let (Some(mut kind), Some(name)) = (kind, name) {
            if let LineKind::Compaction { first_kept, .. } = &mut kind
                && first_kept.is_empty()
            {
                // Nothing is kept: no line before this one has its name.
                *first_kept = name.clone();
            }
            if let LineKind::BranchSummary { from: from @ None, .. } = &mut kind {
                *from = parent.clone();
            }
            lines.push(Line { seq: entry.seq, at_ms: entry.at_ms, name, parent, kind });
        }
        lines
    }

    /// The result of their call stands for them: they have no messages here.
    fn count_children(&mut self, entry: &Entry, faces: &dyn Faces) {
        match &entry.body {
            Body::Model(ModelEntry::Spent { call: Some(_), model, usage, .. }) => {
                let more = Cost::of(usage, faces.face(model).prices.as_ref()).total();
                let (sum, cost) = self.by_children.get_or_insert_default();
                sum.add(usage);
                *cost += more;
            }
            Body::Call(CallEntry::Ended { .. }) => self.by_children = None,
            _ => {}
        }
    }

    /// The line that the first entry has when the second one shows that the session began here.
    fn open(&mut self, entry: &Entry, faces: &dyn Faces, lines: &mut Vec<Line>) {
        let Some(model) = self.opened.take() else { return };
        if matches!(entry.body, Body::Note(NoteEntry::Imported { .. })) {
            return;
        }
        let mut print = Print::new(self.opened_ms, "opened");
        print.text(&model);
        let name = print.claim(&mut self.taken);
        self.own[0] = Some(name.clone());
        self.tail[0] = Some(name.clone());
        let kind = model_change(&model, faces);
        lines.push(Line { seq: self.first, at_ms: self.opened_ms, name, parent: None, kind });
    }

    fn kind(&mut self, entry: &Entry, faces: &dyn Faces) -> Option<LineKind> {
        let named = self.foreign.contains_key(&entry.seq);
        match &entry.body {
            Body::User { .. }
            | Body::Assistant { .. }
            | Body::Call(CallEntry::Ended { .. })
            | Body::Shell(ShellEntry::Ended(_)) => {
                let said = self.said(entry, faces);
                let raw = self.raws.remove(&entry.seq);
                said.map(|said| raw.map_or(said.clone(), |raw| said.standing(&raw))).map(LineKind::Message)
            }
            Body::Model(ModelEntry::Retrying { fault, .. }) => {
                let said = self.error(fault, faces, true);
                Some(LineKind::Message(said))
            }
            Body::Turn(TurnEntry::Ended(end)) => self.ending(end, faces).map(LineKind::Message),
            Body::Setting(SettingEntry::Model { model }) => {
                (named || *model != self.model).then(|| model_change(model, faces))
            }
            Body::Setting(SettingEntry::Thinking { level }) => Some(LineKind::ThinkingChange { level: level.clone() }),
            Body::Branch(BranchEntry::Compacted(compaction)) => Some(LineKind::Compaction {
                summary: compaction.summary.clone(),
                first_kept: self.name_from(compaction.first_kept).unwrap_or_default(),
                tokens_before: compaction.tokens_before,
            }),
            Body::Branch(BranchEntry::Summary { from, summary }) => {
                let from = from.and_then(|seq| self.tail_of(seq)).cloned();
                Some(LineKind::BranchSummary { from, summary: summary.clone() })
            }
            Body::Note(NoteEntry::Label { target, label }) => {
                let target = self.tail_of(*target)?.clone();
                Some(LineKind::Label { target, label: label.clone() })
            }
            Body::Setting(SettingEntry::Title { title }) => Some(LineKind::Title { name: title.clone() }),
            Body::Opened { .. }
            | Body::Turn(TurnEntry::Started { .. })
            | Body::Call(CallEntry::Started { .. })
            | Body::Ask(_)
            | Body::Queue(_)
            | Body::Branch(BranchEntry::Moved { .. })
            | Body::Setting(SettingEntry::Mode { .. })
            | Body::Setting(SettingEntry::Gadgets { .. })
            | Body::Setting(SettingEntry::Todos { .. })
            | Body::Note(NoteEntry::Imported { .. })
            | Body::Model(ModelEntry::Requested(_))
            | Body::Shell(ShellEntry::Started { .. })
            | Body::Branch(BranchEntry::Restored { .. })
            | Body::Model(ModelEntry::FellBack(_))
            | Body::Model(ModelEntry::Spent { .. })
            | Body::Note(NoteEntry::Recovered { .. }) => None,
        }
    }

    /// The first line at or behind this entry.
    fn name_from(&self, seq: u64) -> Option<Name> {
        let from = self.index(seq.max(self.first))?;
        self.own.get(from..)?.iter().flatten().next().cloned()
    }

    fn said(&self, entry: &Entry, faces: &dyn Faces) -> Option<Said> {
        let at_ms = entry.at_ms;
        let mut out = Vec::new();
        Some(match &entry.body {
            Body::User { parts, from, .. } => {
                let role = match from {
                    UserFrom::Prompt | UserFrom::Steer | UserFrom::FollowUp => Role::User,
                    UserFrom::Reminder | UserFrom::Extension => Role::Developer,
                };
                match role {
                    Role::User => messages::user(&mut out, parts, at_ms),
                    _ => messages::developer(&mut out, parts, at_ms),
                }
                Said { text: parts_text(parts).into(), ..Said::new(role, out) }
            }
            Body::Assistant { message, .. } => self.assistant(message, faces),
            Body::Call(CallEntry::Ended { result, .. }) => {
                let result = self.worded(result);
                messages::tool_result(&mut out, &result, at_ms);
                let (text, usage) = (result.text().into(), self.by_children);
                Said { text, usage, ..Said::new(Role::ToolResult, out) }
            }
            Body::Shell(ShellEntry::Ended(shell)) => {
                messages::bash_execution(&mut out, shell, at_ms);
                Said::new(Role::BashExecution, out)
            }
            _ => return None,
        })
    }

    /// The result in this family's words: a host's tool that was aborted is said to be one, and arguments that do not
    /// fit are shown with what is wrong with them.
    pub(crate) fn worded<'a>(&self, result: &'a CallResult) -> Cow<'a, CallResult> {
        let tool = messages::tool_name(&result.tool);
        let text = match result.end {
            CallEnd::Interrupted if self.hosted.contains(&result.call) => format!("Host tool \"{tool}\" was aborted"),
            CallEnd::Invalid => {
                let said = result.text();
                let detail = said.strip_prefix("invalid tool arguments: ").unwrap_or(&said);
                let call = self.called.iter().find(|call| call.id == result.call);
                let args = call.map(|call| match &call.input {
                    CallInput::Object(json) => json.as_str().to_owned(),
                    CallInput::Broken { text, .. } => text.to_string(),
                });
                let args: String = args.unwrap_or_default().chars().take(ARGS_CHARS_MAX).collect();
                format!("Validation failed for tool \"{tool}\":\n  - {detail}\n\nReceived arguments:\n{args}")
            }
            _ => return Cow::Borrowed(result),
        };
        Cow::Owned(CallResult { parts: vec![Part::text(text)], ..result.clone() })
    }

    fn assistant(&self, message: &AssistantMessage, faces: &dyn Faces) -> Said {
        let face = faces.face(&message.model);
        let mut out = Vec::new();
        messages::assistant(&mut out, message, &face, self.now_ms);
        let cost = Cost::of(&message.usage, face.prices.as_ref()).total();
        Said {
            text: message.text().into(),
            calls: message.calls().count() as u64,
            usage: Some((message.usage, cost)),
            empty: message.blocks.is_empty() && message.end == MessageEnd::Interrupted,
            ..Said::new(Role::Assistant, out)
        }
    }

    /// An assistant message that never came to be.
    fn hollow(&self, stop: &str, error: &str, faces: &dyn Faces) -> Said {
        let mut out = Vec::new();
        messages::assistant_head(&mut out);
        let face = faces.face(&self.model);
        messages::assistant_tail(&mut out, &face, &Usage::default(), stop, Some(error), self.now_ms);
        Said { usage: Some((Usage::default(), 0.0)), ..Said::new(Role::Assistant, out) }
    }

    fn error(&self, fault: &Fault, faces: &dyn Faces, only_in_file: bool) -> Said {
        Said { only_in_file, ..self.hollow("error", messages::fault_text(fault), faces) }
    }

    /// A turn that did not end with an assistant message saying so gets one that does.
    fn ending(&self, end: &TurnEnd, faces: &dyn Faces) -> Option<Said> {
        match (end.stop, &end.fault) {
            (Stop::Interrupted, _) if self.newest != Newest::Interrupted => {
                Some(Said { empty: true, ..self.hollow("aborted", messages::ABORTED, faces) })
            }
            // The wait was cut short: this failure has its message already.
            (Stop::Error, Some(fault)) if self.newest == Newest::Waiting(fault.message.clone()) => None,
            (Stop::Error, fault) if self.newest != Newest::Failed => {
                let none = Fault::new(vocab::FaultKind::Internal, "");
                Some(self.error(fault.as_ref().unwrap_or(&none), faces, false))
            }
            _ => None,
        }
    }

    /// What the entry means for those behind it.
    fn follow(&mut self, entry: &Entry) {
        match &entry.body {
            Body::Opened { model, .. } => {
                self.model = model.clone();
                if self.own.is_empty() {
                    self.opened = Some(model.clone());
                    self.opened_ms = entry.at_ms;
                }
            }
            Body::Setting(SettingEntry::Model { model }) => self.model = model.clone(),
            Body::Note(NoteEntry::Imported { names, raws, .. }) => {
                self.raws.extend(raws.iter().cloned());
                self.taken.extend(names.iter().map(|(_, name)| name.clone()));
                self.foreign.extend(names.iter().cloned());
            }
            Body::Turn(TurnEntry::Started { .. }) | Body::User { .. } | Body::Model(ModelEntry::FellBack(_)) => {
                self.newest = Newest::None
            }
            Body::Turn(TurnEntry::Ended(_)) => {
                self.newest = Newest::None;
                self.hosted.clear();
            }
            Body::Ask(AskEntry::Opened(ask)) => {
                if let AskKind::HostCall { call, .. } = &ask.kind {
                    self.hosted.push(call.clone());
                }
            }
            Body::Assistant { message, .. } => {
                self.called = message.calls().cloned().collect();
                self.newest = match &message.end {
                    MessageEnd::Finished(_) => Newest::Finished,
                    MessageEnd::Interrupted => Newest::Interrupted,
                    MessageEnd::Failed(_) => Newest::Failed,
                }
            }
            Body::Model(ModelEntry::Retrying { attempt, attempts_max, fault, .. }) => {
                self.newest = match attempt < attempts_max {
                    true => Newest::Waiting(fault.message.clone()),
                    // The log does not tell a last try that failed from a last wait that was cut short.
                    false => Newest::Finished,
                }
            }
            _ => {}
        }
        if moves_time(&entry.body) {
            self.now_ms = entry.at_ms;
        }
    }
}

impl Said {
    /// In the words of the file it came from.
    fn standing(self, raw: &Json) -> Self {
        let mut json = Vec::new();
        messages::object(&mut json, raw);
        Said { json: Said::new(self.role, json).json, ..self }
    }

    fn new(role: Role, json: Vec<u8>) -> Self {
        Said {
            role,
            json: String::from_utf8(json).expect("escaping text yields text").into(),
            text: "".into(),
            calls: 0,
            usage: None,
            only_in_file: false,
            empty: false,
        }
    }
}

fn model_change(slug: &str, faces: &dyn Faces) -> LineKind {
    let face = faces.face(slug);
    LineKind::ModelChange { provider: face.provider, id: face.id }
}

/// Whether an assistant message may be the answer to this. What is logged beside a running reply is not.
fn moves_time(body: &Body) -> bool {
    match body {
        Body::Opened { .. }
        | Body::Turn(_)
        | Body::User { .. }
        | Body::Assistant { .. }
        | Body::Call(_)
        | Body::Model(ModelEntry::Retrying { .. })
        | Body::Branch(BranchEntry::Compacted(_))
        | Body::Branch(BranchEntry::Moved { .. })
        | Body::Branch(BranchEntry::Summary { .. })
        | Body::Note(NoteEntry::Imported { .. }) => true,
        Body::Ask(_)
        | Body::Queue(_)
        | Body::Setting(_)
        | Body::Shell(_)
        | Body::Model(ModelEntry::Requested(_))
        | Body::Branch(BranchEntry::Restored { .. })
        | Body::Model(ModelEntry::FellBack(_))
        | Body::Model(ModelEntry::Spent { .. })
        | Body::Note(NoteEntry::Label { .. })
        | Body::Note(NoteEntry::Recovered { .. }) => false,
    }
}

/// Tells lines apart that could say the same at the same moment.
fn kind_word(body: &Body) -> &'static str {
    match body {
        Body::User { .. } => "user",
        Body::Assistant { .. } => "assistant",
        Body::Call(CallEntry::Ended { .. }) => "result",
        Body::Shell(ShellEntry::Ended(_)) => "shell",
        Body::Model(ModelEntry::Retrying { .. }) => "retrying",
        Body::Turn(TurnEntry::Ended(_)) => "ended",
        Body::Setting(SettingEntry::Model { .. }) => "model",
        Body::Setting(SettingEntry::Thinking { .. }) => "thinking",
        Body::Branch(BranchEntry::Compacted(_)) => "compacted",
        Body::Branch(BranchEntry::Summary { .. }) => "branch",
        Body::Note(NoteEntry::Label { .. }) => "label",
        Body::Setting(SettingEntry::Title { .. }) => "title",
        _ => "other",
    }
}
