//! Entries become lines, one after the other.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use vocab::{
    AskEntry, AskKind, Body, BranchEntry, Call, CallEntry, CallId, Entry, Json, MessageEnd, ModelEntry, NoteEntry,
    SettingEntry, ShellEntry, TurnEntry, Usage,
};

use super::names::Print;
use super::{LineKind, LineName, TranscriptLine};
use crate::messages::{Cost, Faces};

/// How the newest assistant message of the running turn ended.
#[derive(Clone, PartialEq, Default)]
pub(super) enum Newest {
    #[default]
    None,
    Finished,
    Interrupted,
    Failed,
    /// It failed with these words and waits to be tried again; the last try is still to come.
    Waiting(String),
}

/// Turns entries into lines, in order. Fed from the first entry on it also knows every line's name and parent; fed from
/// the middle of a log the messages are still right.
#[derive(Default)]
pub struct Projector {
    /// Seq of the first entry that was taken.
    first: u64,
    /// By entry: its own line, and the line that what follows it hangs on.
    own: Vec<Option<LineName>>,
    tail: Vec<Option<LineName>>,
    taken: HashSet<LineName>,
    /// Names that a foreign file has given to entries still to come.
    foreign: HashMap<u64, LineName>,
    /// Messages of that file which are told as they stood there.
    raws: HashMap<u64, Json>,
    /// The first entry's line waits for the second entry: an imported session has its own first lines.
    opened: Option<Arc<str>>,
    opened_ms: i64,
    pub(super) model: Arc<str>,
    pub(super) now_ms: i64,
    pub(super) newest: Newest,
    /// Calls of the running turn that a host was asked to run.
    pub(super) hosted: Vec<CallId>,
    /// What the newest assistant message called.
    pub(super) called: Vec<Call>,
    /// What sub-agents of the call that is about to get its result used, and what that cost.
    pub(super) by_children: Option<(Usage, f64)>,
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
    pub fn name_of(&self, seq: u64) -> Option<&LineName> {
        self.own.get(self.index(seq)?)?.as_ref()
    }

    /// The line of this entry or the nearest before it on its branch.
    pub fn tail_of(&self, seq: u64) -> Option<&LineName> {
        self.tail.get(self.index(seq)?)?.as_ref()
    }

    fn index(&self, seq: u64) -> Option<usize> {
        usize::try_from(seq.checked_sub(self.first)?).ok()
    }

    pub fn take(&mut self, entry: &Entry, faces: &dyn Faces) -> Vec<TranscriptLine> {
        let mut lines = Vec::new();
        // Fed from the middle it may not have heard what an answer answers; a time that is later is one.
        if self.now_ms == 0 {
            self.now_ms = entry.at_ms;
        }
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
            lines.push(TranscriptLine { seq: entry.seq, at_ms: entry.at_ms, name, parent, kind });
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
    fn open(&mut self, entry: &Entry, faces: &dyn Faces, lines: &mut Vec<TranscriptLine>) {
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
        lines.push(TranscriptLine { seq: self.first, at_ms: self.opened_ms, name, parent: None, kind });
    }

    fn kind(&mut self, entry: &Entry, faces: &dyn Faces) -> Option<LineKind> {
        let named = self.foreign.contains_key(&entry.seq);
        match &entry.body {
            Body::User { .. }
            | Body::Assistant { .. }
            | Body::Call(CallEntry::Ended { .. })
            | Body::Shell(ShellEntry::Ended(_)) => {
                let raw = self.raws.remove(&entry.seq);
                let message = self.message(entry, faces)?;
                Some(LineKind::Message(match raw {
                    Some(raw) => message.standing(&raw),
                    None => message,
                }))
            }
            Body::Model(ModelEntry::Retrying { fault, .. }) => Some(LineKind::Message(self.error(fault, faces, true))),
            Body::Turn(TurnEntry::Ended(end)) => self.ending(end, faces).map(LineKind::Message),
            Body::Setting(SettingEntry::Model { model, .. }) => {
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
            | Body::Turn(TurnEntry::Started { .. } | TurnEntry::Taken { .. } | TurnEntry::Cut { .. })
            | Body::Call(CallEntry::Started { .. })
            | Body::Ask(_)
            | Body::Queue(_)
            | Body::Branch(BranchEntry::Moved { .. })
            | Body::Setting(SettingEntry::Mode { .. })
            | Body::Setting(SettingEntry::Gadgets { .. } | SettingEntry::Lane { .. } | SettingEntry::Elevated { .. })
            | Body::Setting(SettingEntry::Todos { .. })
            | Body::Note(NoteEntry::Imported { .. })
            | Body::Model(ModelEntry::Requested(_))
            | Body::Shell(ShellEntry::Started { .. } | ShellEntry::Called { .. } | ShellEntry::Returned(_))
            | Body::Branch(BranchEntry::Restored { .. })
            | Body::Model(ModelEntry::FellBack(_))
            | Body::Model(ModelEntry::Spent { .. })
            | Body::Note(NoteEntry::Keyed(_) | NoteEntry::Recovered { .. } | NoteEntry::Waived { .. }) => None,
        }
    }

    /// The first line at or behind this entry.
    fn name_from(&self, seq: u64) -> Option<LineName> {
        let from = self.index(seq.max(self.first))?;
        self.own.get(from..)?.iter().flatten().next().cloned()
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
            Body::Setting(SettingEntry::Model { model, .. }) => self.model = model.clone(),
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
        | Body::Note(NoteEntry::Keyed(_) | NoteEntry::Recovered { .. } | NoteEntry::Waived { .. }) => false,
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
