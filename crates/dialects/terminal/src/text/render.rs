//! What people are shown when something happens.

use unicode_width::UnicodeWidthStr;
use vocab::{
    Answer, Ask, AskKind, Body, BranchEntry, CallEntry, CompactionEvent, Delta, Event, ExtensionEvent, Fact, Fault,
    Missing, ModelEntry, NoteEntry, Opened, Principal, RetryEvent, SessionId, SlashReply, TurnEnd, short_id, visible,
};
use wire::FrameBuf;

use super::{TextRenderer, always, may_it};
use crate::UnaskedDenial;
use crate::excerpt;
use crate::fact_rows::FactRows;
use crate::last_exchange::LastExchange;
use crate::pager::QuestionPager;
use crate::paint::{Paint, clean};
use crate::renderer::{Renderer, StartedWork, WantedLine};
use crate::screen_control::ScreenControl;
use crate::streamed_text::LastWritten;
use crate::waiting_for::WaitingFor;

/// Lines of the last prompt and of the last answer that are shown to a person who comes back.
const RECALLED_PROMPT_LINES: usize = 3;
const RECALLED_ANSWER_LINES: usize = 12;
/// Lines and characters of a message of somebody else's that are shown.
const SAID_LINES_MAX: usize = 8;
const SAID_CHARS_MAX: usize = 1000;

/// What keys do, below the commands and in line with them.
const KEYS: [&str; 8] = [
    "",
    "Esc, Ctrl-C              Stop what runs; lines that wait are not run then.",
    "Ctrl-C twice, Ctrl-D     Leave, at an empty line.",
    "Enter while it works     Let the line wait; it runs when its turn comes.",
    "Up                       Take back the line that waits last, or an older one.",
    "Ctrl-R                   Search older lines.",
    "Alt-Enter                Go on in the next row; so does a backslash at the end.",
    "Tab                      Complete a command.",
];

impl Renderer for TextRenderer {
    fn opened(&mut self, opened: &Opened, out: &mut FrameBuf) {
        let cols = (self.window)().map_or(usize::MAX, |size| size.cols);
        let notices = opened.notices.iter().map(|notice| self.paint.dim(&in_one_row(&clean(notice), cols)));
        let mut lines: Vec<String> = notices.collect();
        let state = &opened.state;
        self.model = state.model.to_string();
        if self.talks && self.inline() {
            let version = env!("CARGO_PKG_VERSION");
            let line = format!(
                "tillerman {version} · {} · {} · /help lists what can be typed",
                state.model,
                state.mode.as_str()
            );
            lines.push(self.paint.dim(&clean(&line)));
        }
        if opened.resumed {
            let id = short_id(opened.session.as_str(), &[]);
            lines.push(self.paint.dim(&format!("resumed {id} ({} messages)", state.messages)));
        }
        if !lines.is_empty() {
            self.remark(&lines, out);
        }
    }

    fn logged(&mut self, body: &Body, out: &mut FrameBuf) {
        self.cost.logged(body);
        match body {
            Body::Call(CallEntry::Started { call, tool, .. }) => self.call_started(call, tool, out),
            Body::Call(CallEntry::Ended { result, .. }) => self.call_ended(result, out),
            Body::Assistant { message, .. } => {
                if self.quiet {
                    self.answer = message.text().to_string();
                }
                self.text.end_thinking(out);
                self.text.fresh_line(out);
            }
            Body::Model(ModelEntry::Retrying { attempt, attempts_max, wait_ms, fault, .. }) => {
                let wait = *wait_ms as f64 / 1000.0;
                let line = format!("retrying in {wait:.1} s ({attempt}/{attempts_max}): {}", clean(&fault.message));
                self.block(&[self.paint.yellow(&line)], out);
                self.waits_for(WaitingFor::Pausing, out);
            }
            Body::Model(ModelEntry::FellBack(it)) => {
                self.model = it.to.to_string();
                self.waits_for(WaitingFor::Asking, out);
                let line = format!("{} could not answer, asking {}: {}", it.from, it.to, it.fault.message);
                self.block(&[self.paint.yellow(&clean(&line))], out);
            }
            Body::Branch(BranchEntry::Compacted(it)) => {
                let (before, after) = (excerpt::count(it.tokens_before), excerpt::count(it.tokens_after));
                self.block(&[self.paint.dim(&format!("older messages summarised: {before} -> {after} tokens"))], out);
                self.summarised(out);
            }
            Body::Note(NoteEntry::Recovered { text }) => self.block(&[self.paint.yellow(&clean(text))], out),
            // Shown by what follows them, or asked for by the person.
            Body::Opened { .. }
            | Body::Turn(_)
            | Body::User { .. }
            | Body::Ask(_)
            | Body::Queue(_)
            | Body::Branch(BranchEntry::Moved { .. })
            | Body::Setting(_)
            | Body::Shell(_)
            | Body::Note(NoteEntry::Imported { .. })
            | Body::Model(ModelEntry::Requested(_))
            | Body::Branch(BranchEntry::Restored { .. })
            | Body::Model(ModelEntry::Spent { .. })
            | Body::Note(NoteEntry::Label { .. } | NoteEntry::Keyed(_) | NoteEntry::Waived { .. })
            | Body::Branch(BranchEntry::Summary { .. }) => {}
        }
    }

    fn event(&mut self, event: &Event, out: &mut FrameBuf) {
        match event {
            Event::Delta(Delta::Text { delta, .. }) => {
                self.answers(out);
                self.words(delta, out);
            }
            Event::Delta(Delta::Thinking { delta, .. }) => {
                self.answers(out);
                self.thinking(delta, out);
            }
            Event::Compaction(CompactionEvent::Started { .. }) => {
                self.block(&[self.paint.dim("summarising older messages …")], out);
                if self.waiting_for != WaitingFor::Nothing {
                    self.waits_for(WaitingFor::Summarising, out);
                }
            }
            Event::Compaction(CompactionEvent::Failed { fault, .. }) => {
                let line = format!("summarising failed: {}", clean(&fault.message));
                self.block(&[self.paint.yellow(&line)], out);
                self.summarised(out);
            }
            Event::Delta(Delta::ModelCalled { .. }) | Event::Retry(RetryEvent::Started { .. }) => {
                if matches!(
                    self.waiting_for,
                    WaitingFor::Starting | WaitingFor::Answering | WaitingFor::Pausing | WaitingFor::Summarising
                ) {
                    self.waits_for(WaitingFor::Asking, out);
                }
            }
            Event::Delta(Delta::CallProgress { call, parts, .. }) => {
                self.progress(call, &vocab::parts_text(parts), out)
            }
            Event::Extension(ExtensionEvent::Notice(notice)) => self.shown(notice, out),
            Event::State(state) => self.model = state.model.to_string(),
            Event::Extension(ExtensionEvent::Trouble { source, during, text }) => {
                let line = format!("{} ({}): {}", clean(source), clean(during), clean(text));
                let lines: Vec<String> = line.lines().map(|line| self.paint.red(line)).collect();
                self.block(&lines, out);
            }
            Event::Delta(Delta::CallInput { .. } | Delta::CallBegan { .. })
            | Event::Retry(RetryEvent::Ended { .. })
            | Event::Settled
            | Event::Watch(_)
            | Event::ShellProgress { .. }
            | Event::Extension(ExtensionEvent::Hook(_))
            | Event::Delta(Delta::Sealed { .. })
            | Event::SignIn { .. }
            | Event::Editor(_)
            | Event::Queue(_)
            | Event::Live { .. }
            | Event::Logged(_)
            | Event::Reply { .. }
            | Event::TurnLost(_)
            | Event::Gone { .. } => {}
        }
    }

    fn ask(&mut self, ask: &Ask, out: &mut FrameBuf) {
        self.told = None;
        ScreenControl::Waits(None).write(out);
        match &ask.kind {
            AskKind::Permission(permission) => self.permission(permission, out),
            AskKind::Budget(budget) => self.budget_question(budget, out),
            AskKind::Select { title, options } => {
                let mut lines = vec![self.paint.bold(&clean(title))];
                lines.extend(options.iter().enumerate().map(|(at, it)| format!("  {}. {}", at + 1, clean(it))));
                lines.push(self.paint.dim("a number chooses, an empty line cancels"));
                self.block(&lines, out);
            }
            AskKind::Confirm { title, message } => self.question(&format!("{title} {message} [y/n]"), out),
            AskKind::Input { title, placeholder } => {
                // Not a default: an empty line takes nothing.
                let such_as = |text: &str| format!(" (such as {text}; an empty line cancels)");
                let example = placeholder.as_deref().map(such_as).unwrap_or_default();
                self.question(&format!("{title}{example}"), out);
            }
            AskKind::Editor { title, prefill } => {
                let mut lines = vec![self.paint.bold(&clean(title))];
                if let Some(prefill) = prefill {
                    lines.extend(clean(prefill).lines().map(|line| self.paint.dim(&format!("  {line}"))));
                    lines.push(self.paint.dim("a lone `.` ends the text; typed first, it keeps what is above"));
                } else {
                    lines.push(self.paint.dim("a lone `.` ends the text; typed first, it cancels"));
                }
                self.block(&lines, out);
            }
            AskKind::HostCall { .. } => {}
        }
    }

    fn explain(&mut self, ask: &Ask, why: Option<&str>, out: &mut FrameBuf) {
        let permission = match &ask.kind {
            AskKind::Permission(permission) => permission,
            AskKind::Budget(budget) => return self.budget_question(budget, out),
            _ => return,
        };
        let mut lines = self.pager.as_mut().map(QuestionPager::more).unwrap_or_default();
        lines.push(format!("  tool: {}", clean(&permission.tool)));
        lines.push(format!("  needs: {} (mode is {})", permission.required.as_str(), permission.active.as_str()));
        lines.push("  y  allow it this once".into());
        lines.push("  n  deny it; `n because ...` tells the model why".into());
        lines.push(format!("  {}", always(permission)));
        lines.extend(self.pager.as_ref().and_then(QuestionPager::warning));
        lines.extend(why.map(|why| self.paint.yellow(why)));
        self.block(&lines, out);
        self.question(&may_it(permission), out);
        self.shown_call = Some(permission.call.clone());
    }

    fn has_shown_all(&self) -> bool {
        self.pager.as_ref().is_none_or(QuestionPager::is_whole)
    }

    fn answered_unasked(&mut self, ask: &Ask, _answer: &Answer, denial: Option<&UnaskedDenial>, out: &mut FrameBuf) {
        if let (AskKind::Permission(permission), Some(UnaskedDenial { why, how })) = (&ask.kind, denial) {
            let line = format!("denied {}: {why}; {how} would allow it", visible::headline(&permission.summary));
            self.block(&[self.paint.yellow(&line)], out);
            self.told_denied.insert(permission.call.clone());
        }
    }

    fn slash(&mut self, reply: &SlashReply, out: &mut FrameBuf) {
        self.text.fresh_line(out);
        let mut lines: Vec<String> =
            clean(wire::slash::text(reply, &vocab::names::CANONICAL).trim_end()).lines().map(str::to_owned).collect();
        match reply.command.as_str() {
            "diff" => lines.iter_mut().for_each(|line| *line = excerpt::coloured(line, self.paint)),
            "help" if self.talks && self.inline() => lines.extend(KEYS.map(str::to_owned)),
            _ => {}
        }
        self.text.lines(lines, out);
    }

    fn fault(&mut self, fault: &Fault, out: &mut FrameBuf) {
        let mut lines = vec![format!("{} {}", self.paint.red("error:"), clean(&fault.message))];
        lines.extend(fault.hints.iter().map(|hint| format!("{} {}", self.paint.cyan("hint:"), clean(hint))));
        self.block(&lines, out);
    }

    fn notice(&mut self, text: &str, out: &mut FrameBuf) {
        self.block(&[self.paint.dim(&clean(text))], out);
    }

    fn turn_ended(&mut self, end: &TurnEnd, _exit_code: u8, out: &mut FrameBuf) {
        self.text.end_thinking(out);
        self.text.fresh_line(out);
        self.headlines.clear();
        self.previewed.clear();
        self.running.clear();
        self.told_denied.clear();
        self.waits_for(WaitingFor::Nothing, out);
        if !self.answer.trim().is_empty() {
            out.raw(clean(self.answer.trim_end()).as_bytes());
            out.raw(b"\n");
        }
        self.answer.clear();
        if let Some(fault) = &end.fault {
            self.fault(fault, out);
        }
        let mut lines: Vec<String> = self.stopped(end).into_iter().collect();
        if self.rounds_shown && end.usage.context() > 0 {
            let rounds = match end.iterations {
                0 => String::new(),
                1 => ", 1 tool round".to_owned(),
                many => format!(", {many} tool rounds"),
            };
            let cost = self.cost.cost(end).filter(|cost| *cost > 0.0).map(|cost| format!(", ${cost:.4}"));
            let cost = cost.unwrap_or_default();
            lines.push(self.paint.dim(&format!("{}{cost}{rounds}", excerpt::usage(&end.usage))));
        }
        if !lines.is_empty() {
            self.block(&lines, out);
        }
        self.text.last = LastWritten::Nothing;
    }

    fn want(&mut self, want: WantedLine, out: &mut FrameBuf) {
        if want == WantedLine::Prompt {
            self.waits_for(WaitingFor::Nothing, out);
        }
        ScreenControl::Want(want).write(out);
    }

    fn recalled(&mut self, last: &LastExchange, out: &mut FrameBuf) {
        let mut lines = Vec::new();
        if let Some(prompt) = &last.prompt {
            lines.extend(
                excerpt::shortened(prompt, RECALLED_PROMPT_LINES)
                    .iter()
                    .map(|line| self.paint.dim(&format!("> {}", line.trim_start()))),
            );
        }
        if let Some(answer) = &last.answer {
            let answer = clean(answer);
            let skipped = answer.lines().count().saturating_sub(RECALLED_ANSWER_LINES);
            if skipped > 0 {
                lines.push(self.paint.dim(&format!("… {skipped} lines above")));
            }
            lines.extend(answer.lines().skip(skipped).map(|line| self.paint.dim(line)));
        }
        self.remark(&lines, out);
    }

    fn shows_others(&self) -> bool {
        self.inline() || self.talks
    }

    fn said_elsewhere(&mut self, by: Option<&Principal>, text: &str, out: &mut FrameBuf) {
        let by = by.map(|by| format!(" ({by})")).unwrap_or_default();
        let said = said_elsewhere(format!("said elsewhere{by}"), text.trim_end());
        // Every row has its mark: none of them can pose as one that was typed here, as a question or as the answer.
        let rows = FactRows::new(&[said], (self.window)(), Paint { on: false }).all();
        let rows: Vec<String> = rows.iter().map(|row| self.paint.dim(row)).collect();
        self.remark(&rows, out);
    }

    fn left(&mut self, way_back: &str, session: &SessionId, out: &mut FrameBuf) {
        let line = format!("resume with: {way_back} {}", visible::shell_word(&short_id(session.as_str(), &[])));
        if self.inline() {
            self.block(&[self.paint.dim(&line)], out);
        }
    }

    fn sent(&mut self, sent: StartedWork<'_>, out: &mut FrameBuf) {
        let what = match sent {
            StartedWork::Prompt => WaitingFor::Starting,
            StartedWork::Command(name) => WaitingFor::Command(clean(name).into_owned()),
            StartedWork::Interrupt => WaitingFor::Stopping,
            StartedWork::Elsewhere => WaitingFor::Asking,
        };
        self.waits_for(what, out);
    }

    fn goes_on(&mut self, out: &mut FrameBuf) {
        // A turn of somebody else's that was met at its question: nothing was said of it so far.
        let is_new = self.waiting_for == WaitingFor::Nothing;
        self.waits_for(if is_new { WaitingFor::Asking } else { self.waiting_for.clone() }, out);
    }

    fn line_typed(&mut self) {
        self.text.line_was_ended();
    }

    fn closing(&mut self, out: &mut FrameBuf) {
        self.waits_for(WaitingFor::Nothing, out);
        self.text.end_thinking(out);
        self.text.fresh_line(out);
    }
}

/// How a message of somebody else's begins.
fn said_elsewhere(label: String, text: &str) -> Fact {
    let end_of_lines = text.match_indices('\n').nth(SAID_LINES_MAX - 1).map_or(text.len(), |(at, _)| at);
    let end = text.char_indices().nth(SAID_CHARS_MAX).map_or(text.len(), |(at, _)| at).min(end_of_lines);
    let rest = text[end..].trim_start_matches('\n');
    Fact { missing: Missing { lines: rest.lines().count(), bytes: rest.len() }, ..Fact::text(label, &text[..end]) }
}

/// A notice that is longer says where the rest of it is.
fn in_one_row(notice: &str, cols: usize) -> String {
    const MORE: &str = " (`tillerman models` says more)";
    if notice.width() < cols {
        return notice.to_owned();
    }
    let first = notice.split("; ").next().unwrap_or(notice);
    let line = format!("{first}{MORE}");
    let mut row = if line.width() < cols { line } else { first.to_owned() };
    if row.width() >= cols {
        while row.width() + 1 >= cols && row.pop().is_some() {}
        row.push('…');
    }
    row
}
