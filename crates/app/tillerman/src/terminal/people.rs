//! The face for people. On a terminal everything is one flow of text; where stdout is a file or a pipe it gets the
//! answer alone, and the rest goes to the side.

mod face;

use std::collections::{HashMap, HashSet};

use vocab::{Call, CallEnd, CallId, CallResult, FactForm, Notice, NoticeLevel, PermissionAsk, Stop, TurnEnd, visible};
use wire::FrameBuf;
use wire::question::of_input;

use super::bill::{Bill, PriceOf};
use super::cue::Cue;
use super::doing::Doing;
use super::paint::{Paint, clean};
use super::reading::Reading;
use super::running::Running;
use super::sheet::Size;
use super::show::{self, DIFF_LINES_MAX};

/// What can be typed at a permission question.
pub(crate) const CHOICES: &str = "[y]es [n]o [a]lways this session [?] ";

/// How large the screen is now; `None` where there is none.
pub(crate) type Window = Box<dyn Fn() -> Option<Size> + Send>;

/// Where everything goes that is not the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    /// Into the same flow: stdout is a terminal.
    Inline,
    /// One line at a time to somewhere else.
    Lines,
}

pub(crate) struct People {
    paint: Paint,
    side: Side,
    window: Window,
    /// The question that is open, as far as it was read.
    reading: Option<Reading>,
    /// Lines are prompts: it is a conversation and not one turn.
    talks: bool,
    /// Only the last message of a turn, and what went wrong.
    quiet: bool,
    /// That message, as far as it is known.
    answer: String,
    bill: Bill,
    model: String,
    doing: Doing,
    /// What was last said to be waited for.
    told: Option<String>,
    /// The flow is at the start of a line.
    fresh: bool,
    /// What was written last, to put one blank line between text and tools.
    last: Last,
    /// Calls of this turn that have no result yet.
    headlines: HashMap<CallId, String>,
    /// The call whose line was written last.
    shown_call: Option<CallId>,
    /// Calls whose diff was seen with the question.
    previewed: HashSet<CallId>,
    /// Output of running calls as far as it was shown.
    running: HashMap<CallId, Running>,
    /// Calls whose denial was told already.
    told_denied: HashSet<CallId>,
    rounds_shown: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Text,
    Thinking,
    Block,
}

impl People {
    pub(crate) fn new(paint: Paint, side: Side, window: Window, talks: bool) -> Self {
        Self {
            paint,
            rounds_shown: side == Side::Inline,
            side,
            window,
            reading: None,
            talks,
            quiet: false,
            answer: String::new(),
            bill: Bill::default(),
            model: String::new(),
            doing: Doing::Nothing,
            told: None,
            fresh: true,
            last: Last::Nothing,
            headlines: HashMap::new(),
            shown_call: None,
            previewed: HashSet::new(),
            running: HashMap::new(),
            told_denied: HashSet::new(),
        }
    }

    /// Tells what a turn cost.
    pub(crate) fn with_prices(self, prices: PriceOf) -> Self {
        Self { bill: Bill::new(prices), ..self }
    }

    /// The answer alone goes to stdout; beside it only what is asked and what went wrong is said.
    pub(crate) fn quiet(self) -> Self {
        Self { quiet: true, side: Side::Lines, rounds_shown: false, ..self }
    }

    fn inline(&self) -> bool {
        self.side == Side::Inline
    }

    fn fresh_line(&mut self, out: &mut FrameBuf) {
        if !std::mem::replace(&mut self.fresh, true) {
            out.raw(b"\n");
        }
    }

    /// Streams words of the answer.
    fn text(&mut self, delta: &str, out: &mut FrameBuf) {
        if delta.is_empty() || self.quiet {
            return;
        }
        if self.last != Last::Text {
            self.end_thinking(out);
            self.fresh_line(out);
            if self.last == Last::Block && self.inline() {
                out.raw(b"\n");
            }
            self.last = Last::Text;
        }
        let text = clean(delta);
        out.raw(text.as_bytes());
        if let Some(last) = text.as_bytes().last() {
            self.fresh = *last == b'\n';
        }
    }

    fn thinking(&mut self, delta: &str, out: &mut FrameBuf) {
        if !self.inline() || delta.is_empty() {
            return;
        }
        if self.last != Last::Thinking {
            self.fresh_line(out);
            if self.paint.on {
                out.raw(b"\x1b[2m");
            }
            self.last = Last::Thinking;
        }
        let text = clean(delta);
        out.raw(text.as_bytes());
        self.fresh = text.ends_with('\n');
    }

    fn end_thinking(&mut self, out: &mut FrameBuf) {
        if self.last == Last::Thinking {
            if self.paint.on {
                out.raw(b"\x1b[0m");
            }
            self.fresh_line(out);
            self.last = Last::Block;
        }
    }

    /// Whole lines beside the answer.
    fn block(&mut self, lines: &[String], out: &mut FrameBuf) {
        self.end_thinking(out);
        self.shown_call = None;
        match self.side {
            Side::Lines => {
                // Both may be read at one place.
                self.fresh_line(out);
                lines.iter().for_each(|line| Cue::Aside(line.clone()).write(out));
            }
            Side::Inline => {
                let after_text = self.last == Last::Text;
                self.fresh_line(out);
                if after_text {
                    out.raw(b"\n");
                }
                for line in lines {
                    out.raw(line.as_bytes());
                    out.raw(b"\n");
                }
                self.last = Last::Block;
            }
        }
    }

    /// Lines that nobody misses who wants the answer alone.
    fn remark(&mut self, lines: &[String], out: &mut FrameBuf) {
        if !self.quiet {
            self.block(lines, out);
        }
    }

    /// Says what is waited for, where it is not what was said last.
    fn does(&mut self, doing: Doing, out: &mut FrameBuf) {
        self.doing = doing;
        if self.quiet {
            return;
        }
        let words = self.doing.words(&self.model, &self.headlines);
        if words != self.told {
            Cue::Waits(words.clone()).write(out);
            self.told = words;
        }
    }

    fn call_started(&mut self, call: &Call, tool: &str, out: &mut FrameBuf) {
        let about = show::about(&call.input.json());
        let line = format!("● {} {about}", clean(tool)).trim_end().to_owned();
        self.remark(&[self.paint.dim(&line)], out);
        self.headlines.insert(call.id.clone(), line);
        self.shown_call = Some(call.id.clone());
        self.does(self.doing.clone(), out);
    }

    fn call_ended(&mut self, result: &CallResult, out: &mut FrameBuf) {
        let headline = self.headlines.remove(&result.call);
        if matches!(self.doing, Doing::Starting | Doing::Answering) {
            self.doing = Doing::Asking;
        }
        self.does(self.doing.clone(), out);
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
                lines.extend(show::result(&text).into_iter().map(|line| self.paint.red(&line)))
            }
            CallEnd::Ran if !result.edits.is_empty() => self.edits(result, &mut lines),
            CallEnd::Ran => lines.extend(show::result(&text).into_iter().map(|line| self.paint.dim(&line))),
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
        if let Some(took) = show::took(result.duration_ms).filter(|_| self.inline() && result.end == CallEnd::Ran) {
            lines.push(self.paint.dim(&format!("  took {took}")));
        }
        self.remark(&lines, out);
    }

    /// Words come: whoever was asked answers.
    fn answers(&mut self, out: &mut FrameBuf) {
        if matches!(self.doing, Doing::Starting | Doing::Asking | Doing::Pausing) {
            self.does(Doing::Answering, out);
        }
    }

    fn summarised(&mut self, out: &mut FrameBuf) {
        if self.doing == Doing::Summarising {
            self.does(Doing::Asking, out);
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
        lines.extend(new.iter().map(|line| show::line(line)));
        let lines: Vec<String> = lines.iter().map(|line| self.paint.dim(line)).collect();
        self.block(&lines, out);
        self.shown_call = Some(call.clone());
    }

    fn edits(&mut self, result: &CallResult, lines: &mut Vec<String>) {
        let seen = self.previewed.remove(&result.call);
        for edit in &result.edits {
            match show::changed(edit) {
                Some(changed) => {
                    let line = format!("  {} (+{} -{})", clean(&edit.path), changed.added, changed.removed);
                    lines.push(self.paint.dim(&line));
                    if !seen {
                        lines.extend(show::diff(&changed.patch, self.paint, DIFF_LINES_MAX));
                    }
                }
                None => lines.push(self.paint.dim(&format!("  {} (changed)", clean(&edit.path)))),
            }
        }
    }

    /// Everything the call would do, as far as one screen holds it, and the question below.
    fn permission(&mut self, ask: &PermissionAsk, out: &mut FrameBuf) {
        let facts = wire::question::facts(ask);
        if facts.iter().any(|fact| fact.form == FactForm::Diff) {
            self.previewed.insert(ask.call.clone());
        }
        let headline = self.headlines.get(&ask.call).cloned().unwrap_or_default();
        let reason = ask.reason.as_ref().map(|reason| format!("  {}", clean(reason)));
        let always = format!("  {}", always(ask));
        let question = may_it(ask);
        let mut reading = Reading::new(&facts, || of_input(&ask.input), (self.window)(), self.paint);
        let around = [&headline, reason.as_deref().unwrap_or_default(), &always, &question, CHOICES];
        let mut lines = reading.first(&around);
        lines.extend(reason.map(|reason| self.paint.yellow(&reason)));
        lines.push(self.paint.dim(&always));
        lines.extend(reading.warning());
        self.reading = Some(reading);
        self.block(&lines, out);
        self.question(&question, out);
        // What follows is about this call, and the question said which it is.
        self.shown_call = Some(ask.call.clone());
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
            Stop::EndTurn | Stop::Error => return None,
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
    match engine::permission::is_particular(ask.required) {
        true => "a  allow exactly this call from now on, in this session".to_owned(),
        false => {
            let (tool, required) = (clean(&ask.tool), ask.required.as_str());
            format!("a  allow every {tool} that needs {required} from now on, in this session")
        }
    }
}
