//! A whole log at once: which lines there are, which of them are live, and what they add up to.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use vocab::{Entry, Usage};

use super::json::ROOT;
use super::{LineKind, LineName, MessageRole, Projector, TranscriptLine, TranscriptMessage};
use crate::messages::{self, Faces, member};
use vocab::iso8601;

/// A session's lines and the branch that is active.
#[derive(Default)]
pub struct Transcript {
    lines: Vec<TranscriptLine>,
    by_name: HashMap<LineName, usize>,
    leaf: Option<LineName>,
    projector: Projector,
}

/// What the live messages add up to.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Stats {
    pub user_messages: u64,
    pub assistant_messages: u64,
    pub tool_calls: u64,
    pub tool_results: u64,
    pub total_messages: u64,
    pub usage: Usage,
    pub cost: f64,
}

impl Transcript {
    pub fn new(entries: &[Arc<Entry>], faces: &dyn Faces) -> Self {
        let mut transcript = Self::default();
        for entry in entries {
            transcript.take(entry, faces);
        }
        transcript
    }

    /// Goes on with the next entry.
    pub fn take(&mut self, entry: &Entry, faces: &dyn Faces) {
        for line in self.projector.take(entry, faces) {
            self.by_name.insert(line.name.clone(), self.lines.len());
            self.lines.push(line);
        }
        self.leaf = self.projector.tail_of(entry.seq).cloned();
    }

    pub fn lines(&self) -> &[TranscriptLine] {
        &self.lines
    }

    pub fn line(&self, name: &str) -> Option<&TranscriptLine> {
        self.by_name.get(name).map(|at| &self.lines[*at])
    }

    /// Where the next line would hang.
    pub fn leaf(&self) -> Option<&LineName> {
        self.leaf.as_ref()
    }

    pub fn seq_of(&self, name: &str) -> Option<u64> {
        self.line(name).map(|line| line.seq)
    }

    /// The line of this entry or the nearest before it on its branch.
    pub fn name_of(&self, seq: u64) -> Option<&LineName> {
        self.projector.tail_of(seq)
    }

    /// The name that the newest compaction gives as the first line that it kept.
    pub fn first_kept(&self) -> Option<&LineName> {
        self.path().into_iter().rev().find_map(|line| match &line.kind {
            LineKind::Compaction { first_kept, .. } => Some(first_kept),
            _ => None,
        })
    }

    /// Lines from the first to the leaf.
    pub fn path(&self) -> Vec<&TranscriptLine> {
        let mut path = Vec::new();
        let mut at = self.leaf.as_ref();
        while let Some(line) = at.and_then(|name| self.line(name)) {
            path.push(line);
            // A log with a name in it twice could go round in a circle.
            at = line.parent.as_ref().filter(|_| path.len() < self.lines.len());
        }
        path.reverse();
        path
    }

    /// The live messages: what the model would see, in this family's words.
    pub fn context(&self) -> Vec<TranscriptMessage> {
        let path = self.path();
        let Some(at) = path.iter().rposition(|line| matches!(line.kind, LineKind::Compaction { .. })) else {
            return path.into_iter().filter_map(live).collect();
        };
        let mut live_lines = Vec::new();
        if let LineKind::Compaction { summary, tokens_before, first_kept } = &path[at].kind {
            let mut out = Vec::new();
            messages::compaction_summary(&mut out, summary, *tokens_before, path[at].at_ms);
            live_lines.push(TranscriptMessage {
                text: summary.clone(),
                ..TranscriptMessage::new(MessageRole::CompactionSummary, out)
            });
            let kept = path[..at].iter().position(|line| line.name == *first_kept).unwrap_or(at);
            live_lines.extend(path[kept..at].iter().copied().filter_map(live));
        }
        live_lines.extend(path[at + 1..].iter().copied().filter_map(live));
        live_lines
    }

    /// Every user message of every branch that says something, oldest first.
    pub fn users(&self) -> Vec<(LineName, Arc<str>)> {
        let user = |line: &TranscriptLine| match &line.kind {
            LineKind::Message(message) if message.role == MessageRole::User && !message.text.is_empty() => {
                Some((line.name.clone(), message.text.clone()))
            }
            _ => None,
        };
        self.lines.iter().filter_map(user).collect()
    }

    /// Text of the last live assistant message, trimmed. Aborted ones without content are passed over.
    pub fn last_assistant_text(&self) -> Option<Arc<str>> {
        let message = self
            .context()
            .into_iter()
            .rev()
            .find(|message| message.role == MessageRole::Assistant && !message.empty)?;
        let text = message.text.trim();
        (!text.is_empty()).then(|| text.into())
    }

    pub fn stats(&self) -> Stats {
        let mut stats = Stats::default();
        for message in self.context() {
            stats.total_messages += 1;
            stats.tool_calls += message.calls;
            match message.role {
                MessageRole::User => stats.user_messages += 1,
                MessageRole::Assistant => stats.assistant_messages += 1,
                MessageRole::ToolResult => stats.tool_results += 1,
                MessageRole::Developer
                | MessageRole::BashExecution
                | MessageRole::CompactionSummary
                | MessageRole::BranchSummary => {}
            }
            if let Some((usage, cost)) = &message.usage {
                stats.usage.add(usage);
                stats.cost += cost;
            }
        }
        stats
    }

    /// The whole line as JSON.
    pub fn entry_json(&self, line: &TranscriptLine) -> String {
        let mut out = Vec::new();
        line.write(&mut out);
        String::from_utf8(out).expect("escaping text yields text")
    }

    /// The label that stands now on each line, and when it was set.
    pub fn labels(&self) -> HashMap<LineName, (Arc<str>, i64)> {
        let mut labels = HashMap::new();
        for line in &self.lines {
            if let LineKind::Label { target, label } = &line.kind {
                match label.as_ref().filter(|label| !label.is_empty()) {
                    Some(label) => labels.insert(target.clone(), (label.clone(), line.at_ms)),
                    None => labels.remove(target),
                };
            }
        }
        labels
    }

    /// The lines as a tree, `[{"entry":..,"children":[..],"label"?,"labelTimestamp"?}]`. A conversation is as deep as it
    /// is long, so this walks with a list instead of recursion.
    pub fn tree_json(&self, out: &mut Vec<u8>) {
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.lines.len()];
        let mut roots = Vec::new();
        for (at, line) in self.lines.iter().enumerate() {
            match line.parent.as_ref().and_then(|parent| self.by_name.get(parent)) {
                Some(parent) => children[*parent].push(at),
                None => roots.push(at),
            }
        }
        let labels = self.labels();
        // What is still to be written, the next one last: a node or the end of one.
        let mut todo = vec![TreeStep::Close(None)];
        out.push(b'[');
        push_nodes(&mut todo, &roots);
        while let Some(step) = todo.pop() {
            match step {
                TreeStep::Node { at, first } => {
                    out.extend_from_slice(if first { b"{\"entry\":" } else { b",{\"entry\":" });
                    self.lines[at].write(out);
                    out.extend_from_slice(b",\"children\":[");
                    todo.push(TreeStep::Close(Some(at)));
                    push_nodes(&mut todo, &children[at]);
                }
                TreeStep::Close(None) => out.push(b']'),
                TreeStep::Close(Some(at)) => {
                    out.push(b']');
                    if let Some((label, at_ms)) = labels.get(&self.lines[at].name) {
                        member(out, "label", label);
                        member(out, "labelTimestamp", &iso8601(*at_ms));
                    }
                    out.push(b'}');
                }
            }
        }
    }

    /// All names that are taken.
    pub fn names(&self) -> HashSet<LineName> {
        self.by_name.keys().cloned().collect()
    }
}

enum TreeStep {
    Node {
        at: usize,
        first: bool,
    },
    /// The end of a node's children and of the node; of the whole list.
    Close(Option<usize>),
}

fn push_nodes(todo: &mut Vec<TreeStep>, nodes: &[usize]) {
    let steps = nodes.iter().enumerate().map(|(place, at)| TreeStep::Node { at: *at, first: place == 0 });
    todo.extend(steps.rev());
}

/// The message that the model sees for a line, if any.
fn live(line: &TranscriptLine) -> Option<TranscriptMessage> {
    match &line.kind {
        LineKind::Message(message) => (!message.only_in_file).then(|| message.clone()),
        LineKind::BranchSummary { from, summary } if !summary.is_empty() => {
            let mut out = Vec::new();
            messages::branch_summary(&mut out, summary, from.as_deref().unwrap_or(ROOT), line.at_ms);
            Some(TranscriptMessage { text: summary.clone(), ..TranscriptMessage::new(MessageRole::BranchSummary, out) })
        }
        _ => None,
    }
}
