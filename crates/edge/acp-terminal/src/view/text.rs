//! For people. On a terminal everything is one flow; where stdout is a file or a pipe it gets the answer alone, and the rest
//! goes to the side. Nothing an agent says reaches the terminal as an escape sequence.

use std::collections::{HashMap, HashSet};

use acp_client::{ClientError, ClientEvent, ClientProblem, Elicitation, PermissionAsk};
use acp_types::{ContentBlock, PermissionOption, PromptResponse, SessionUpdate, StopReason, ToolCall, ToolCallContent};
use dialect_terminal::{LastWritten, Paint, QuestionPager, SizeProbe, StreamedText, clean, excerpt};
use vocab::visible::headline;

use super::call_card::CallCard;
use super::{AgentView, Beginning, DiffText, ViewOutput, question};

/// Calls whose state is kept to show their end; those beyond are shown as they come.
const CARDS_MAX: usize = 256;
/// Lines of an agent's stderr, and of an error, that are shown when it is lost.
const STDERR_LINES: usize = 10;

/// A question as far as it was read.
struct OpenQuestion {
    title: String,
    pager: QuestionPager,
    /// Some of its options were not listed yet.
    options_hidden: bool,
}

pub struct TextView {
    paint: Paint,
    /// Stdout is a terminal.
    inline: bool,
    window: SizeProbe,
    /// The question that is open.
    asked: Option<OpenQuestion>,
    diff: DiffText,
    text: StreamedText,
    cards: HashMap<String, CallCard>,
    /// Calls whose diff was seen with the question.
    previewed: HashSet<String>,
    /// Calls whose titles are not written yet: most agents begin with a tool's name and say a moment later what it does.
    held: Vec<String>,
    /// The call whose title was written last.
    titled: Option<String>,
    /// A prompt is being answered.
    in_turn: bool,
    /// The session is open; before that, the command that opens it tells what went wrong.
    begun: bool,
    /// The end of the connection was told as an error already.
    told_lost: bool,
}

impl TextView {
    pub fn new(paint: Paint, inline: bool, window: SizeProbe, diff: DiffText) -> Self {
        Self {
            paint,
            inline,
            window,
            asked: None,
            diff,
            text: StreamedText::new(paint),
            cards: HashMap::new(),
            previewed: HashSet::new(),
            held: Vec::new(),
            titled: None,
            in_turn: false,
            begun: false,
            told_lost: false,
        }
    }

    fn words(&mut self, words: &str, shown: &mut ViewOutput) {
        if !words.is_empty() {
            self.settle(shown);
            self.text.text(words, self.inline, &mut shown.out);
        }
    }

    fn thinking(&mut self, words: &str, shown: &mut ViewOutput) {
        if self.inline && !words.is_empty() {
            self.settle(shown);
            self.text.thinking(words, &mut shown.out);
        }
    }

    fn block(&mut self, lines: impl IntoIterator<Item = String>, shown: &mut ViewOutput) {
        self.settle(shown);
        self.titled = None;
        if !self.inline {
            shown.side.extend(lines);
            // Words behind it begin a line of their own, as they do on a terminal.
            self.text.last = LastWritten::Block;
            return;
        }
        self.text.end_line(&mut shown.out);
        self.text.lines(lines, &mut shown.out);
    }

    /// Takes a card out, and makes room for one more.
    fn card(&mut self, id: &str) -> Option<CallCard> {
        let card = self.cards.remove(id);
        if card.is_none() && self.cards.len() >= CARDS_MAX {
            self.cards.clear();
        }
        card
    }

    /// A request for permission is a patch of what was told of the call before. Some agents name it there alone.
    fn learn(&mut self, patch: &ToolCall) -> ToolCall {
        let mut card = self.card(&patch.tool_call_id).unwrap_or_else(|| CallCard::new(&patch.tool_call_id));
        card.patch(patch);
        let call = card.call.clone();
        self.cards.insert(patch.tool_call_id.clone(), card);
        call
    }

    fn called(&mut self, patch: &ToolCall, shown: &mut ViewOutput) {
        let id = patch.tool_call_id.as_str();
        let mut card = self.card(id).unwrap_or_else(|| CallCard::new(id));
        let (was_over, old_title) = (card.is_over(), card.call.title.clone());
        card.patch(patch);
        let renamed = card.call.title != old_title;
        if card.is_over() && !was_over {
            self.held.retain(|held| held != id);
            self.end_card(&card, shown);
        } else if old_title.is_none() && renamed && !was_over {
            self.held.push(id.to_owned());
        } else if renamed && self.titled.as_deref() == Some(id) {
            // Its end repeats the title, as it is then.
            self.titled = None;
        }
        self.cards.insert(id.to_owned(), card);
    }

    fn title(&mut self, card: &CallCard, shown: &mut ViewOutput) {
        let line = format!("{} {}", self.paint.cyan("●"), excerpt::line(card.title()).trim_start());
        self.block([line], shown);
        self.titled = Some(card.call.tool_call_id.clone());
    }

    fn end_card(&mut self, card: &CallCard, shown: &mut ViewOutput) {
        if self.titled.as_deref() != Some(card.call.tool_call_id.as_str()) {
            self.title(card, shown);
        }
        let previewed = self.previewed.remove(&card.call.tool_call_id);
        self.block(card.result(!previewed, self.paint), shown);
    }

    fn asking(&self, title: &str) -> String {
        format!("{} {title}", self.paint.yellow("?"))
    }

    fn last_words(&self, stderr: &[String]) -> Vec<String> {
        let from = stderr.len().saturating_sub(STDERR_LINES);
        stderr[from..].iter().map(|line| self.paint.dim(&excerpt::line(line))).collect()
    }

    fn update(&mut self, update: &SessionUpdate, shown: &mut ViewOutput) {
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => self.words(&chunk.content.shown(), shown),
            SessionUpdate::AgentThoughtChunk(chunk) => self.thinking(&chunk.content.shown(), shown),
            // Some agents repeat what they were just told.
            SessionUpdate::UserMessageChunk(_) if self.in_turn => {}
            SessionUpdate::UserMessageChunk(chunk) => {
                let words = ContentBlock::shown(&chunk.content);
                let lines: Vec<String> =
                    clean(&words).lines().map(|line| self.paint.bold(&format!("> {line}"))).collect();
                self.block(lines, shown);
            }
            SessionUpdate::ToolCall(call) | SessionUpdate::ToolCallUpdate(call) => self.called(call, shown),
            SessionUpdate::Plan { entries, .. } => {
                let line = |entry: &acp_types::PlanEntry| {
                    let mark = match entry.status.as_deref() {
                        Some("completed") => "[x]",
                        Some("in_progress") => "[>]",
                        _ => "[ ]",
                    };
                    format!("  {mark} {}", excerpt::line(&entry.content).trim_start())
                };
                let lines: Vec<String> = entries.iter().map(line).collect();
                self.block(lines, shown);
            }
            SessionUpdate::Notice { title, description, .. } => {
                let text = [title.as_str()].into_iter().chain(description.as_deref()).collect::<Vec<_>>().join(": ");
                self.notice(&text, shown);
            }
            SessionUpdate::AvailableCommandsUpdate { .. }
            | SessionUpdate::CurrentModeUpdate { .. }
            | SessionUpdate::ConfigOptionUpdate { .. }
            | SessionUpdate::SessionInfoUpdate { .. }
            | SessionUpdate::UsageUpdate { .. }
            | SessionUpdate::CompactionUpdate { .. }
            | SessionUpdate::CompactionSummaryChunk { .. }
            | SessionUpdate::Unknown(_) => {}
        }
    }
}

/// The first lines of a text, a word in front.
fn headed(head: &str, text: &str) -> Vec<String> {
    let text = clean(text);
    let mut lines: Vec<String> = text.lines().take(STDERR_LINES).map(str::to_owned).collect();
    if text.lines().nth(STDERR_LINES).is_some() {
        lines.push("  …".to_owned());
    }
    match lines.first_mut() {
        Some(first) => *first = format!("{head} {first}"),
        None => lines.push(head.to_owned()),
    }
    lines
}

impl AgentView for TextView {
    fn begun(&mut self, it: &Beginning<'_>, shown: &mut ViewOutput) {
        self.begun = true;
        self.text.end_line(&mut shown.out);
        let line = format!("{}, session {} ({})", clean(it.agent), clean(it.session), it.how);
        let line = self.paint.dim(&line);
        self.block([line], shown);
    }

    fn event(&mut self, event: &ClientEvent, shown: &mut ViewOutput) {
        match event {
            ClientEvent::Update { update, .. } => self.update(update, shown),
            ClientEvent::Note(text) => self.notice(text, shown),
            ClientEvent::ConnectionLost(end) if self.begun && !self.told_lost => {
                let line = self.paint.red(&end.to_string());
                let lines: Vec<String> = std::iter::once(line).chain(self.last_words(&end.stderr)).collect();
                self.block(lines, shown);
            }
            ClientEvent::ConnectionLost(_)
            | ClientEvent::CallLeftOpen { .. }
            | ClientEvent::Notification { .. }
            | ClientEvent::Permission(_)
            | ClientEvent::Elicitation(_)
            | ClientEvent::AskClosed { .. }
            | ClientEvent::TurnEnded { .. } => {}
        }
    }

    fn question(&mut self, ask: &PermissionAsk, shown: &mut ViewOutput) {
        let call = self.learn(&ask.call);
        let title = call.title.clone().unwrap_or_else(|| ask.call.tool_call_id.clone());
        // The question is its title.
        self.held.retain(|held| *held != ask.call.tool_call_id);
        if call.content.iter().flatten().any(|it| matches!(it, ToolCallContent::Diff { .. })) {
            self.previewed.insert(ask.call.tool_call_id.clone());
        }
        let title = headline(&title);
        let size = (self.window)();
        let (options, options_hidden) = question::fitting(question::options(&ask.options), size);
        let mut pager = QuestionPager::new(&question::facts(&call, self.diff), Vec::new, size, self.paint);
        // The call's own line above, and the line that is typed below.
        let beside: Vec<&str> =
            [title.as_str(), &title, ""].into_iter().chain(options.iter().map(String::as_str)).collect();
        let mut lines = vec![self.asking(&title)];
        lines.extend(pager.first(&beside));
        lines.extend(pager.warning());
        lines.extend(options);
        self.asked = Some(OpenQuestion { title, pager, options_hidden });
        self.block(lines, shown);
    }

    fn explain(&mut self, ask: &PermissionAsk, shown: &mut ViewOutput) {
        let Some(mut asked) = self.asked.take() else { return };
        let mut lines = asked.pager.more();
        lines.extend(question::options(&ask.options));
        if ask.options.iter().any(PermissionOption::lasts) {
            lines.push(self.paint.dim(question::ALWAYS));
        }
        lines.push(self.paint.dim(question::REASON));
        // What is asked may have gone off the screen above.
        lines.push(self.asking(&asked.title));
        asked.options_hidden = false;
        self.asked = Some(asked);
        self.block(lines, shown);
    }

    fn has_shown_all(&self) -> bool {
        self.asked.as_ref().is_none_or(|asked| asked.pager.is_whole() && !asked.options_hidden)
    }

    fn decided(&mut self, ask: &PermissionAsk, option: Option<&PermissionOption>, shown: &mut ViewOutput) {
        let call = self.learn(&ask.call);
        let title = headline(call.title.as_deref().unwrap_or(&call.tool_call_id));
        let text = match option.is_some_and(PermissionOption::allows) {
            true => format!("allowed: {title}"),
            false => format!("denied: {title} (`--yes` would allow it)"),
        };
        self.notice(&text, shown);
    }

    fn form(&mut self, ask: &Elicitation, shown: &mut ViewOutput) {
        self.notice(&ask.message, shown);
    }

    fn prompted(&mut self) {
        self.in_turn = true;
    }

    fn running(&self) -> Option<String> {
        let mut running = self.cards.values().filter(|card| !card.is_over());
        let first = running.next()?;
        Some(match running.count() {
            0 => format!("running {}", headline(first.title())),
            more => format!("running {} calls", more + 1),
        })
    }

    fn holds(&self) -> bool {
        !self.held.is_empty()
    }

    fn settle(&mut self, shown: &mut ViewOutput) {
        for id in std::mem::take(&mut self.held) {
            if let Some(card) = self.cards.get(&id).cloned() {
                self.title(&card, shown);
            }
        }
    }

    fn turn_ended(&mut self, turn: &Result<PromptResponse, ClientError>, _: u8, shown: &mut ViewOutput) {
        self.settle(shown);
        self.in_turn = false;
        self.cards.clear();
        self.previewed.clear();
        match turn {
            Ok(turn) => {
                let mut words = Vec::new();
                if turn.stop_reason != StopReason::EndTurn {
                    words.push(clean(turn.stop_reason.as_str()).replace('_', " "));
                }
                if let Some(usage) = turn.usage {
                    let all = usage
                        .input_tokens
                        .saturating_add(usage.cached_read_tokens)
                        .saturating_add(usage.cached_write_tokens);
                    words.push(format!(
                        "{} tokens in, {} out",
                        excerpt::count(all),
                        excerpt::count(usage.output_tokens)
                    ));
                }
                let line = (!words.is_empty() && self.inline).then(|| self.paint.dim(&words.join(", ")));
                if let Some(line) = line {
                    self.block([line], shown);
                } else {
                    self.text.end_line(&mut shown.out);
                    if turn.stop_reason != StopReason::EndTurn {
                        self.notice(&format!("the turn ended: {}", turn.stop_reason.as_str()), shown);
                    }
                }
            }
            Err(error) => self.error(error, shown),
        }
    }

    fn error(&mut self, error: &ClientError, shown: &mut ViewOutput) {
        self.text.end_line(&mut shown.out);
        self.told_lost |= matches!(error.problem, ClientProblem::ProcessTerminated(_));
        let message = error.to_string();
        let mut lines: Vec<String> = headed(&self.paint.red("error:"), &message);
        lines.extend(self.last_words(&error.stderr));
        lines.extend(error.hint.iter().flat_map(|hint| headed(&self.paint.cyan("hint:"), hint)));
        self.block(lines, shown);
    }

    fn notice(&mut self, text: &str, shown: &mut ViewOutput) {
        let line = self.paint.dim(&format!("({})", excerpt::line(text).trim_start()));
        match self.inline {
            true => self.block([line], shown),
            // Not part of the conversation: the words go on as they were.
            false => shown.side.push(line),
        }
    }

    fn list(&mut self, lines: &[String], shown: &mut ViewOutput) {
        let lines: Vec<String> = lines.iter().map(|line| excerpt::line(line)).collect();
        self.block(lines, shown);
    }
}
