//! The renderer for people. On a terminal everything is one flow of text; where stdout is a file or a pipe it gets the
//! answer alone, and the rest goes to the side.

mod render;

use std::collections::{HashMap, HashSet};

use vocab::{
    BudgetAsk, Call, CallEnd, CallId, CallResult, FactForm, Notice, NoticeLevel, PermissionAsk, Stop, TurnEnd, visible,
};
use wire::FrameBuf;
use wire::question::{self, of_input};

use crate::cost::{PriceOf, TurnCost};
use crate::excerpt::{self, DIFF_LINES_MAX};
use crate::fact_rows::ScreenSize;
use crate::live_output::LiveOutput;
use crate::pager::QuestionPager;
use crate::paint::{Paint, clean};
use crate::screen_control::ScreenControl;
use crate::streamed_text::{LastWritten, StreamedText};
use crate::waiting_for::WaitingFor;

/// What can be typed at a permission question.
pub const CHOICES: &str = "[y]es [n]o [a]lways this session [?] ";

/// How large the screen is now; `None` where there is none.
pub type SizeProbe = Box<dyn Fn() -> Option<ScreenSize> + Send>;

/// Where everything goes that is not the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SideChannel {
    /// Into the same flow: stdout is a terminal.
    Inline,
    /// One line at a time to somewhere else.
    Lines,
}

pub struct TextRenderer {
    paint: Paint,
    side: SideChannel,
    window: SizeProbe,
    /// The question that is open, as far as it was read.
    pager: Option<QuestionPager>,
    /// Lines are prompts: it is a conversation and not one turn.
    talks: bool,
    /// Only the last message of a turn, and what went wrong.
    quiet: bool,
    /// That message, as far as it is known.
    answer: String,
    cost: TurnCost,
    model: String,
    waiting_for: WaitingFor,
    /// What was last said to be waited for.
    told: Option<String>,
    text: StreamedText,
    /// Calls of this turn that have no result yet.
    headlines: HashMap<CallId, String>,
    /// The call whose line was written last.
    shown_call: Option<CallId>,
    /// Calls whose diff was seen with the question.
    previewed: HashSet<CallId>,
    /// Output of running calls as far as it was shown.
    running: HashMap<CallId, LiveOutput>,
    /// Calls whose denial was told already.
    told_denied: HashSet<CallId>,
    rounds_shown: bool,
}

impl TextRenderer {
    pub fn new(paint: Paint, side: SideChannel, window: SizeProbe, talks: bool) -> Self {
        Self {
            paint,
            rounds_shown: side == SideChannel::Inline,
            side,
            window,
            pager: None,
            talks,
            quiet: false,
            answer: String::new(),
            cost: TurnCost::default(),
            model: String::new(),
            waiting_for: WaitingFor::Nothing,
            told: None,
            text: StreamedText::new(paint),
            headlines: HashMap::new(),
            shown_call: None,
            previewed: HashSet::new(),
            running: HashMap::new(),
            told_denied: HashSet::new(),
        }
    }

    /// Tells what a turn cost.
    pub fn with_prices(self, prices: PriceOf) -> Self {
        Self { cost: TurnCost::new(prices), ..self }
    }

    /// The answer alone goes to stdout; beside it only what is asked and what went wrong is said.
    pub fn quiet(self) -> Self {
        Self { quiet: true, side: SideChannel::Lines, rounds_shown: false, ..self }
    }

    fn inline(&self) -> bool {
        self.side == SideChannel::Inline
    }

    /// Streams words of the answer.
    fn words(&mut self, delta: &str, out: &mut FrameBuf) {
        if !delta.is_empty() && !self.quiet {
            self.text.text(delta, self.inline(), out);
        }
    }

    fn thinking(&mut self, delta: &str, out: &mut FrameBuf) {
        if self.inline() && !delta.is_empty() {
            self.text.thinking(delta, out);
        }
    }

    /// Whole lines beside the answer.
    fn block(&mut self, lines: &[String], out: &mut FrameBuf) {
        self.text.end_thinking(out);
        self.shown_call = None;
        match self.side {
            SideChannel::Lines => {
                // Both may be read at one place.
                self.text.fresh_line(out);
                lines.iter().for_each(|line| ScreenControl::Aside(line.clone()).write(out));
            }
            SideChannel::Inline => {
                let after_text = self.text.last == LastWritten::Text;
                self.text.fresh_line(out);
                if after_text {
                    out.raw(b"\n");
                }
                self.text.lines(lines.iter().cloned(), out);
            }
        }
    }

    /// Lines that a person who wants the answer alone does not miss.
    fn remark(&mut self, lines: &[String], out: &mut FrameBuf) {
        if !self.quiet {
            self.block(lines, out);
        }
    }

    /// Says what is waited for, where it is not what was said last.
    fn waits_for(&mut self, what: WaitingFor, out: &mut FrameBuf) {
        self.waiting_for = what;
        if self.quiet {
            return;
        }
        let words = self.waiting_for.words(&self.model, &self.headlines);
        if words != self.told {
            ScreenControl::Waits(words.clone()).write(out);
            self.told = words;
        }
    }

    fn call_started(&mut self, call: &Call, tool: &str, out: &mut FrameBuf) {
        let about = excerpt::about(&call.input.json());
        let line = format!("● {} {about}", clean(tool)).trim_end().to_owned();
        self.remark(&[self.paint.dim(&line)], out);
        self.headlines.insert(call.id.clone(), line);
        self.shown_call = Some(call.id.clone());
        self.waits_for(self.waiting_for.clone(), out);
    }

    fn call_ended(&mut self, result: &CallResult, out: &mut FrameBuf) {
        let headline = self.headlines.remove(&result.call);
        if matches!(self.waiting_for, WaitingFor::Starting | WaitingFor::Answering) {
            self.waiting_for = WaitingFor::Asking;
        }
        self.waits_for(self.waiting_for.clone(), out);
        let mut lines = Vec::new();
        if self.shown_call.as_ref() != Some(&result.call)
            && let Some(headline) = headline
        {
            // Other lines came between: calls ran side by side, or a question was asked.
            lines.push(self.paint.dim(&headline.replacen('●', "└", 1)));
        }
        let mut text = result.text();
        if let Some(rest) = self.running.remove(&result.call).and_then(|running| running.rest(&text)) {
            text = rest;
        }
        let first = text.lines().next().unwrap_or_default();
        match result.end {
            CallEnd::Ran if result.is_error => {
                lines.extend(excerpt::result(&text).into_iter().map(|line| self.paint.red(&line)))
            }
            CallEnd::Ran if !result.edits.is_empty() => self.edits(result, &mut lines),
            CallEnd::Ran => lines.extend(excerpt::result(&text).into_iter().map(|line| self.paint.dim(&line))),
            CallEnd::Denied if self.told_denied.remove(&result.call) => return,
            CallEnd::Denied => {
                let denied = if first.starts_with("denied") { "" } else { "denied: " };
                lines.push(self.paint.yellow(&format!("  ✗ {denied}{}", clean(first))));
            }
            CallEnd::Interrupted => lines.push(self.paint.yellow("  ✗ interrupted")),
            CallEnd::Skipped => lines.push(self.paint.yellow("  ✗ skipped")),
            CallEnd::Unknown | CallEnd::Invalid | CallEnd::Lost => {
                lines.push(self.paint.red(&format!("  ✗ {}", clean(first))));
            }
        }
        if !self.inline() {
            // Beside a pipe one line per call is enough, unless something is wrong with it.
            lines.truncate(if result.is_error || result.end != CallEnd::Ran { 3 } else { 0 });
        }
        if let Some(took) = excerpt::took(result.duration_ms).filter(|_| self.inline() && result.end == CallEnd::Ran) {
            lines.push(self.paint.dim(&format!("  took {took}")));
        }
        self.remark(&lines, out);
    }

    /// Words come: the model that was asked answers.
    fn answers(&mut self, out: &mut FrameBuf) {
        if matches!(self.waiting_for, WaitingFor::Starting | WaitingFor::Asking | WaitingFor::Pausing) {
            self.waits_for(WaitingFor::Answering, out);
        }
    }

    fn summarised(&mut self, out: &mut FrameBuf) {
        if self.waiting_for == WaitingFor::Summarising {
            self.waits_for(WaitingFor::Asking, out);
        }
    }

    /// What a running call has written since the last time, in whole lines.
    fn progress(&mut self, call: &CallId, text: &str, out: &mut FrameBuf) {
        if !self.inline() {
            return;
        }
        let new = self.running.entry(call.clone()).or_default().take(text);
        if new.is_empty() {
            return;
        }
        let headline = self.headlines.get(call).filter(|_| self.shown_call.as_ref() != Some(call));
        let mut lines: Vec<String> = headline.map(|line| line.replacen('●', "└", 1)).into_iter().collect();
        lines.extend(new.iter().map(|line| excerpt::line(line)));
        let lines: Vec<String> = lines.iter().map(|line| self.paint.dim(line)).collect();
        self.block(&lines, out);
        self.shown_call = Some(call.clone());
    }

    fn edits(&mut self, result: &CallResult, lines: &mut Vec<String>) {
        let seen = self.previewed.remove(&result.call);
        for edit in &result.edits {
            match excerpt::changed(edit) {
                Some(changed) => {
                    let line = format!("  {} (+{} -{})", clean(&edit.path), changed.added, changed.removed);
                    lines.push(self.paint.dim(&line));
                    if !seen {
                        lines.extend(excerpt::diff(&changed.patch, self.paint, DIFF_LINES_MAX));
                    }
                }
                None => lines.push(self.paint.dim(&format!("  {} (changed)", clean(&edit.path)))),
            }
        }
    }

    /// Everything the call would do, as far as one screen holds it, and the question below.
    fn permission(&mut self, ask: &PermissionAsk, out: &mut FrameBuf) {
        let facts = question::facts(ask);
        if facts.iter().any(|fact| fact.form == FactForm::Diff) {
            self.previewed.insert(ask.call.clone());
        }
        let headline = self.headlines.get(&ask.call).cloned().unwrap_or_default();
        let reason = ask.reason.as_ref().map(|reason| format!("  {}", clean(reason)));
        let always = format!("  {}", always(ask));
        let question = may_it(ask);
        let mut pager = QuestionPager::new(&facts, || of_input(&ask.input), (self.window)(), self.paint);
        let beside = [&headline, reason.as_deref().unwrap_or_default(), &always, &question, CHOICES];
        let mut lines = pager.first(&beside);
        lines.extend(reason.map(|reason| self.paint.yellow(&reason)));
        lines.push(self.paint.dim(&always));
        lines.extend(pager.warning());
        self.pager = Some(pager);
        self.block(&lines, out);
        self.question(&question, out);
        // What follows is about this call, and the question said which it is.
        self.shown_call = Some(ask.call.clone());
    }

    /// A budget is spent: what each answer means, and the question.
    fn budget_question(&mut self, ask: &BudgetAsk, out: &mut FrameBuf) {
        // The question before it may have had more to show; this one is one line.
        self.pager = None;
        let lines = [
            format!("  y  go on until another {} is spent", ask.unit.shown(ask.more)),
            "  n  end the turn here".to_owned(),
            format!("  a  lift the budget {} for this session", ask.name()),
        ];
        self.block(&lines.map(|line| self.paint.dim(&line)), out);
        self.question(&ask.summary(), out);
    }

    /// The last line of a question; what can be typed stands below it.
    fn question(&mut self, text: &str, out: &mut FrameBuf) {
        self.block(&[self.paint.bold(&clean(text))], out);
    }

    /// What an extension shows. A terminal that scrolls has no place of its own for it: it becomes lines.
    fn shown(&mut self, notice: &Notice, out: &mut FrameBuf) {
        let mark = |text: &str| format!("· {}", clean(text));
        let lines: Vec<String> = match notice {
            Notice::Say { text, level } => {
                let paint = |line: &str| match level {
                    NoticeLevel::Info => self.paint.cyan(line),
                    NoticeLevel::Warning => self.paint.yellow(line),
                    NoticeLevel::Error => self.paint.red(line),
                };
                text.lines().map(|line| paint(&mark(line))).collect()
            }
            Notice::Status { text: Some(text), .. } => vec![self.paint.dim(&mark(text))],
            Notice::Widget { lines: Some(lines), .. } => lines.iter().map(|it| self.paint.dim(&mark(it))).collect(),
            Notice::EditorText { text } => vec![self.paint.dim(&mark(&format!("to type: {text}")))],
            Notice::Exit => vec![self.paint.yellow(&mark("an extension asks to leave: /exit"))],
            // What goes away was lines that have scrolled by, and the title is the terminal's own.
            Notice::Status { text: None, .. } | Notice::Widget { lines: None, .. } | Notice::Title { .. } => return,
        };
        self.remark(&lines, out);
    }

    fn stopped(&self, end: &TurnEnd) -> Option<String> {
        let why = match end.stop {
            // The fault has said it.
            Stop::EndTurn | Stop::Error | Stop::Budget => return None,
            Stop::MaxTokens => "stopped: the answer reached its token limit (--max-tokens)",
            Stop::MaxIterations => {
                let rounds = end.iterations;
                let why = format!(
                    "stopped: {rounds} tool rounds are used up; `go on` goes on (--max-iterations sets how many)"
                );
                return Some(self.paint.yellow(&why));
            }
            Stop::Refusal => "stopped: the model refused",
            Stop::Interrupted => "interrupted",
        };
        Some(self.paint.yellow(why))
    }
}

fn may_it(ask: &PermissionAsk) -> String {
    format!("Allow {}?", visible::headline(&ask.summary))
}

/// What `a` allows from then on, no more and no less.
fn always(ask: &PermissionAsk) -> String {
    format!("a  allow {} from now on, in this session", question::session_scope(ask, &ask.tool))
}
