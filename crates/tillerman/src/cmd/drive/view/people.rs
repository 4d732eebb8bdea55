//! For people. On a terminal everything is one flow; where stdout is a file or a pipe it gets the answer alone, and the rest
//! goes to the side. Nothing an agent says reaches the terminal as an escape sequence.

use std::collections::{HashMap, HashSet};

use client::{
    Block, CallContent, CallStatus, Elicitation, Error, Event, PermissionAsk, PermissionOption, Problem, StopReason,
    Terminated, ToolCall, Turn, Update,
};
use similar::TextDiff;

use super::{Beginning, Shown, View};
use crate::terminal::show::{self, DIFF_LINES_MAX};
use crate::terminal::{Paint, clean};

/// Calls whose state is kept to show their end; those beyond are shown as they come.
const CARDS_MAX: usize = 256;
/// Lines of an agent's stderr that are shown when it is lost.
const STDERR_LINES: usize = 10;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Text,
    Thinking,
    Block,
}

pub(in super::super) struct People {
    paint: Paint,
    /// Stdout is a terminal.
    inline: bool,
    last: Last,
    /// The flow is at the start of a line.
    fresh: bool,
    cards: HashMap<String, ToolCall>,
    /// Calls whose diff was seen with the question.
    previewed: HashSet<String>,
    /// The call whose title was written last.
    titled: Option<String>,
    /// The session is open; before that, whoever waits tells what went wrong.
    begun: bool,
    /// The end of the connection was told as an error already.
    told_lost: bool,
}

impl People {
    pub(in super::super) fn new(paint: Paint, inline: bool) -> Self {
        Self {
            paint,
            inline,
            last: Last::Nothing,
            fresh: true,
            cards: HashMap::new(),
            previewed: HashSet::new(),
            titled: None,
            begun: false,
            told_lost: false,
        }
    }

    fn text(&mut self, words: &str, shown: &mut Shown) {
        if words.is_empty() {
            return;
        }
        if self.last != Last::Text {
            self.end_flow(shown);
            if self.last == Last::Block && self.inline {
                shown.out.push('\n');
            }
            self.last = Last::Text;
        }
        let words = clean(words);
        shown.out.push_str(&words);
        self.fresh = words.ends_with('\n');
    }

    fn thinking(&mut self, words: &str, shown: &mut Shown) {
        if !self.inline || words.is_empty() {
            return;
        }
        if self.last != Last::Thinking {
            self.end_flow(shown);
            if self.paint.on {
                shown.out.push_str("\x1b[2m");
            }
            self.last = Last::Thinking;
        }
        let words = clean(words);
        shown.out.push_str(&words);
        self.fresh = words.ends_with('\n');
    }

    /// Back to the start of a line, in plain colours.
    fn end_flow(&mut self, shown: &mut Shown) {
        if self.last == Last::Thinking {
            if self.paint.on {
                shown.out.push_str("\x1b[0m");
            }
            self.last = Last::Block;
        }
        if !std::mem::replace(&mut self.fresh, true) {
            shown.out.push('\n');
        }
    }

    fn block(&mut self, lines: impl IntoIterator<Item = String>, shown: &mut Shown) {
        self.titled = None;
        if !self.inline {
            shown.side.extend(lines);
            // Words behind it begin a line of their own, as they do on a terminal.
            self.last = Last::Block;
            return;
        }
        self.end_flow(shown);
        for line in lines {
            shown.out.push_str(&line);
            shown.out.push('\n');
        }
        self.last = Last::Block;
    }

    fn called(&mut self, patch: &ToolCall, shown: &mut Shown) {
        let id = patch.tool_call_id.clone();
        if !self.cards.contains_key(&id) && self.cards.len() >= CARDS_MAX {
            self.cards.clear();
        }
        let card = self
            .cards
            .entry(id.clone())
            .or_insert_with(|| ToolCall { tool_call_id: id.clone(), ..ToolCall::default() });
        let had_end = card.status.as_ref().is_some_and(CallStatus::is_end);
        let old_title = card.title.clone();
        card.patch(patch.clone());
        let card = card.clone();
        let ended = card.status.as_ref().is_some_and(CallStatus::is_end) && !had_end;
        let renamed = card.title.is_some() && card.title != old_title;
        if ended {
            self.end_card(&card, shown);
        } else if renamed && !had_end {
            self.title(&card, shown);
        }
    }

    fn title(&mut self, card: &ToolCall, shown: &mut Shown) {
        if self.titled.as_deref() == Some(card.tool_call_id.as_str()) && !self.inline {
            return;
        }
        let title = card.title.as_deref().or(card.name.as_deref()).unwrap_or(&card.tool_call_id);
        let line = format!("{} {}", self.paint.cyan("●"), show::line(title).trim_start());
        self.block([line], shown);
        self.titled = Some(card.tool_call_id.clone());
    }

    fn end_card(&mut self, card: &ToolCall, shown: &mut Shown) {
        if self.titled.as_deref() != Some(card.tool_call_id.as_str()) {
            self.title(card, shown);
        }
        let failed = card.status == Some(CallStatus::Failed);
        let mut lines: Vec<String> = Vec::new();
        if failed {
            lines.push(self.paint.red("  failed"));
        }
        let previewed = self.previewed.remove(&card.tool_call_id);
        let fresh = |content: &&CallContent| !(previewed && matches!(content, CallContent::Diff { .. }));
        lines.extend(card.content.iter().flatten().filter(fresh).flat_map(|content| self.content(content)));
        self.block(lines, shown);
    }

    fn content(&self, content: &CallContent) -> Vec<String> {
        match content {
            CallContent::Content { content, .. } => {
                show::result(&content.shown()).iter().map(|line| self.paint.dim(line)).collect()
            }
            CallContent::Diff { path, old_text, new_text, .. } => {
                let old = old_text.as_deref().unwrap_or_default();
                let diff = TextDiff::from_lines(old, new_text.as_str());
                let patch = diff.unified_diff().context_radius(2).missing_newline_hint(false).to_string();
                let head = if old_text.is_some() { show::line(path) } else { format!("{} (new)", show::line(path)) };
                std::iter::once(head).chain(show::diff(&patch, self.paint, DIFF_LINES_MAX)).collect()
            }
            CallContent::Terminal { .. } | CallContent::Unknown(_) => Vec::new(),
        }
    }

    fn last_words(&self, end: &Terminated) -> Vec<String> {
        let from = end.stderr.len().saturating_sub(STDERR_LINES);
        end.stderr[from..].iter().map(|line| self.paint.dim(&show::line(line))).collect()
    }

    fn update(&mut self, update: &Update, shown: &mut Shown) {
        match update {
            Update::AgentMessageChunk(chunk) => self.text(&chunk.content.shown(), shown),
            Update::AgentThoughtChunk(chunk) => self.thinking(&chunk.content.shown(), shown),
            // Only a replay tells what we said ourselves.
            Update::UserMessageChunk(chunk) => {
                let words = Block::shown(&chunk.content);
                let lines: Vec<String> =
                    clean(&words).lines().map(|line| self.paint.bold(&format!("> {line}"))).collect();
                self.block(lines, shown);
            }
            Update::ToolCall(call) | Update::ToolCallUpdate(call) => self.called(call, shown),
            Update::Plan { entries, .. } => {
                let line = |entry: &client::PlanEntry| {
                    let mark = match entry.status.as_deref() {
                        Some("completed") => "[x]",
                        Some("in_progress") => "[>]",
                        _ => "[ ]",
                    };
                    format!("  {mark} {}", show::line(&entry.content).trim_start())
                };
                let lines: Vec<String> = entries.iter().map(line).collect();
                self.block(lines, shown);
            }
            Update::Notice { title, description, .. } => {
                let text = [title.as_str()].into_iter().chain(description.as_deref()).collect::<Vec<_>>().join(": ");
                self.notice(&text, shown);
            }
            Update::AvailableCommandsUpdate { .. }
            | Update::CurrentModeUpdate { .. }
            | Update::ConfigOptionUpdate { .. }
            | Update::SessionInfoUpdate { .. }
            | Update::UsageUpdate { .. }
            | Update::CompactionUpdate { .. }
            | Update::CompactionSummaryChunk { .. }
            | Update::Unknown(_) => {}
        }
    }
}

impl View for People {
    fn begun(&mut self, it: &Beginning<'_>, shown: &mut Shown) {
        self.begun = true;
        self.end_flow(shown);
        let line = format!("{}, session {} ({})", clean(it.agent), clean(it.session), it.how);
        let line = self.paint.dim(&line);
        self.block([line], shown);
    }

    fn event(&mut self, event: &Event, shown: &mut Shown) {
        match event {
            Event::Update { update, .. } => self.update(update, shown),
            Event::Note(text) => self.notice(text, shown),
            Event::ConnectionLost(end) if self.begun && !self.told_lost => {
                let line = self.paint.red(&end.to_string());
                let lines: Vec<String> = std::iter::once(line).chain(self.last_words(end)).collect();
                self.block(lines, shown);
            }
            Event::ConnectionLost(_)
            | Event::CallLeftOpen { .. }
            | Event::Notification { .. }
            | Event::Permission(_)
            | Event::Elicitation(_)
            | Event::AskClosed { .. }
            | Event::TurnEnded { .. } => {}
        }
    }

    fn question(&mut self, ask: &PermissionAsk, shown: &mut Shown) {
        let title = ask.call.title.clone().or_else(|| self.cards.get(&ask.call.tool_call_id)?.title.clone());
        let title = title.unwrap_or_else(|| ask.call.tool_call_id.clone());
        if ask.call.content.iter().flatten().any(|it| matches!(it, CallContent::Diff { .. })) {
            self.previewed.insert(ask.call.tool_call_id.clone());
        }
        let mut lines = vec![format!("{} {}", self.paint.yellow("?"), show::line(&title).trim_start())];
        lines.extend(ask.call.content.iter().flatten().flat_map(|content| self.content(content)));
        for (at, option) in ask.options.iter().enumerate() {
            let name = if option.name.is_empty() { &option.option_id } else { &option.name };
            lines.push(format!("  {}. {}", at + 1, show::line(name).trim_start()));
        }
        self.block(lines, shown);
    }

    fn explain(&mut self, ask: &PermissionAsk, shown: &mut Shown) {
        let input = ask.call.raw_input.as_ref().map(|input| format!("{input:#}")).unwrap_or_default();
        let lines: Vec<String> = clean(&input).lines().map(|line| self.paint.dim(&format!("  {line}"))).collect();
        self.block(lines, shown);
    }

    fn decided(&mut self, ask: &PermissionAsk, option: Option<&PermissionOption>, shown: &mut Shown) {
        let title = ask.call.title.as_deref().unwrap_or(&ask.call.tool_call_id);
        let text = match option.is_some_and(PermissionOption::allows) {
            true => format!("allowed: {title}"),
            false => format!("denied: {title} (`--yes` would allow it)"),
        };
        self.notice(&text, shown);
    }

    fn form(&mut self, ask: &Elicitation, shown: &mut Shown) {
        self.notice(&ask.message, shown);
    }

    fn turn_ended(&mut self, turn: &Result<Turn, Error>, _: u8, shown: &mut Shown) {
        self.cards.clear();
        self.previewed.clear();
        match turn {
            Ok(turn) => {
                let mut words = Vec::new();
                if turn.stop != StopReason::EndTurn {
                    words.push(clean(turn.stop.as_str()).replace('_', " "));
                }
                if let Some(usage) = turn.usage {
                    let all = usage
                        .input_tokens
                        .saturating_add(usage.cached_read_tokens)
                        .saturating_add(usage.cached_write_tokens);
                    words.push(format!("{} tokens in, {} out", show::count(all), show::count(usage.output_tokens)));
                }
                let line = (!words.is_empty() && self.inline).then(|| self.paint.dim(&words.join(", ")));
                if let Some(line) = line {
                    self.block([line], shown);
                } else {
                    self.end_flow(shown);
                    if turn.stop != StopReason::EndTurn {
                        self.notice(&format!("the turn ended: {}", turn.stop.as_str()), shown);
                    }
                }
            }
            Err(error) => self.error(error, shown),
        }
    }

    fn error(&mut self, error: &Error, shown: &mut Shown) {
        self.end_flow(shown);
        let mut lines = vec![format!("{} {}", self.paint.red("error:"), clean(&error.to_string()))];
        if let Problem::ProcessTerminated(end) = &error.problem {
            self.told_lost = true;
            if !end.before_hello {
                lines.extend(self.last_words(end));
            }
        }
        lines.extend(error.hint.iter().map(|hint| format!("{} {}", self.paint.cyan("hint:"), clean(hint))));
        self.block(lines, shown);
    }

    fn notice(&mut self, text: &str, shown: &mut Shown) {
        let line = self.paint.dim(&format!("({})", show::line(text).trim_start()));
        match self.inline {
            true => self.block([line], shown),
            // Not part of the conversation: the words go on as they were.
            false => shown.side.push(line),
        }
    }

    fn list(&mut self, lines: &[String], shown: &mut Shown) {
        let lines: Vec<String> = lines.iter().map(|line| show::line(line)).collect();
        self.block(lines, shown);
    }
}
