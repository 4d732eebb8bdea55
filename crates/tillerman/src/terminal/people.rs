//! The face for people. On a terminal everything is one flow of text; where stdout is a file or a pipe it gets the
//! answer alone, and the rest goes to the side.

use std::collections::{HashMap, HashSet};

use vocab::{
    Answer, Ask, AskKind, Body, Call, CallEnd, CallId, CallResult, Event, FactForm, Fault, Notice, NoticeLevel, Opened,
    PermissionAsk, SlashReply, Stop, TurnEnd, visible,
};
use wire::FrameBuf;
use wire::question::of_input;

use super::Denial;
use super::cue::Cue;
use super::doing::Doing;
use super::face::{Face, Sent, Want};
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
        if delta.is_empty() {
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

    /// Says what is waited for, where it is not what was said last.
    fn does(&mut self, doing: Doing, out: &mut FrameBuf) {
        self.doing = doing;
        let words = self.doing.words(&self.model, &self.headlines);
        if words != self.told {
            Cue::Waits(words.clone()).write(out);
            self.told = words;
        }
    }

    fn call_started(&mut self, call: &Call, tool: &str, out: &mut FrameBuf) {
        let about = show::about(&call.input.json());
        let line = format!("● {} {about}", clean(tool)).trim_end().to_owned();
        self.block(&[self.paint.dim(&line)], out);
        self.headlines.insert(call.id.clone(), line);
        self.shown_call = Some(call.id.clone());
        self.does(self.doing.clone(), out);
    }

    fn call_ended(&mut self, result: &CallResult, out: &mut FrameBuf) {
        let headline = self.headlines.remove(&result.call);
        if self.doing == Doing::Answering {
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
        self.block(&lines, out);
    }

    /// Words come: whoever was asked answers.
    fn answers(&mut self, out: &mut FrameBuf) {
        if matches!(self.doing, Doing::Asking | Doing::Pausing) {
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
        self.block(&lines, out);
    }

    fn stopped(&self, end: &TurnEnd) -> Option<String> {
        let why = match end.stop {
            Stop::EndTurn | Stop::Error => return None,
            Stop::MaxTokens => "stopped: the answer reached its token limit (--max-tokens)",
            Stop::MaxIterations => {
                let rounds = end.iterations;
                let why =
                    format!("stopped after {rounds} tool rounds; `go on` goes on (--max-iterations sets how many)");
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

impl Face for People {
    fn opened(&mut self, opened: &Opened, out: &mut FrameBuf) {
        let mut lines: Vec<String> = opened.notices.iter().map(|notice| self.paint.dim(&clean(notice))).collect();
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
            lines.push(self.paint.dim(&format!("resumed {} ({} messages)", opened.session, state.messages)));
        }
        if !lines.is_empty() {
            self.block(&lines, out);
        }
    }

    fn logged(&mut self, body: &Body, out: &mut FrameBuf) {
        match body {
            Body::CallStarted { call, tool, .. } => self.call_started(call, tool, out),
            Body::CallEnded { result, .. } => self.call_ended(result, out),
            Body::Assistant { .. } => {
                self.end_thinking(out);
                self.fresh_line(out);
            }
            Body::Retrying { attempt, attempts_max, wait_ms, fault, .. } => {
                let wait = *wait_ms as f64 / 1000.0;
                let line = format!("retrying in {wait:.1} s ({attempt}/{attempts_max}): {}", clean(&fault.message));
                self.block(&[self.paint.yellow(&line)], out);
                self.does(Doing::Pausing, out);
            }
            Body::FellBack(it) => {
                self.model = it.to.to_string();
                self.does(Doing::Asking, out);
                let line = format!("{} could not answer, asking {}: {}", it.from, it.to, it.fault.message);
                self.block(&[self.paint.yellow(&clean(&line))], out);
            }
            Body::Compacted(it) => {
                let (before, after) = (show::count(it.tokens_before), show::count(it.tokens_after));
                self.block(&[self.paint.dim(&format!("older messages summarised: {before} -> {after} tokens"))], out);
                self.summarised(out);
            }
            Body::Recovered { text } => self.block(&[self.paint.yellow(&clean(text))], out),
            // Shown by what follows them, or asked for by the person.
            Body::Opened { .. }
            | Body::TurnStarted { .. }
            | Body::User { .. }
            | Body::TurnEnded(_)
            | Body::AskOpened(_)
            | Body::AskClosed { .. }
            | Body::Queued(_)
            | Body::Settled { .. }
            | Body::Moved { .. }
            | Body::Model { .. }
            | Body::Mode { .. }
            | Body::Thinking { .. }
            | Body::Gadgets { .. }
            | Body::Shell(_)
            | Body::Todos { .. }
            | Body::Imported { .. }
            | Body::Requested(_)
            | Body::ShellStarted { .. }
            | Body::Restored { .. }
            | Body::Spent { .. }
            | Body::Label { .. }
            | Body::BranchSummary { .. }
            | Body::Title { .. } => {}
        }
    }

    fn event(&mut self, event: &Event, out: &mut FrameBuf) {
        match event {
            Event::Text { delta, .. } => {
                self.answers(out);
                self.text(delta, out);
            }
            Event::Thinking { delta, .. } => {
                self.answers(out);
                self.thinking(delta, out);
            }
            Event::CompactionStarted { .. } => {
                self.block(&[self.paint.dim("summarising older messages …")], out);
                if self.doing != Doing::Nothing {
                    self.does(Doing::Summarising, out);
                }
            }
            Event::CompactionFailed { fault, .. } => {
                let line = format!("summarising failed: {}", clean(&fault.message));
                self.block(&[self.paint.yellow(&line)], out);
                self.summarised(out);
            }
            Event::ModelCalled { .. } | Event::RetryStarted { .. } => {
                if matches!(self.doing, Doing::Answering | Doing::Pausing | Doing::Summarising) {
                    self.does(Doing::Asking, out);
                }
            }
            Event::CallProgress { call, parts, .. } => self.progress(call, &vocab::parts_text(parts), out),
            Event::Notice(notice) => self.shown(notice, out),
            Event::State(state) => self.model = state.model.to_string(),
            Event::Trouble { source, during, text } => {
                let line = format!("{} ({}): {}", clean(source), clean(during), clean(text));
                let lines: Vec<String> = line.lines().map(|line| self.paint.red(line)).collect();
                self.block(&lines, out);
            }
            Event::CallInput { .. }
            | Event::RetryEnded { .. }
            | Event::Settled
            | Event::ShellProgress { .. }
            | Event::Consult(_)
            | Event::Sealed { .. }
            | Event::SignIn { .. }
            | Event::Errand(_)
            | Event::ErrandDropped { .. }
            | Event::Queue(_)
            | Event::ItemEnded { .. }
            | Event::Live { .. }
            | Event::Logged(_)
            | Event::Reply { .. }
            | Event::TurnLost(_)
            | Event::Gone { .. } => {}
        }
    }

    fn ask(&mut self, ask: &Ask, out: &mut FrameBuf) {
        self.told = None;
        Cue::Waits(None).write(out);
        match &ask.kind {
            AskKind::Permission(permission) => self.permission(permission, out),
            AskKind::Select { title, options } => {
                let mut lines = vec![self.paint.bold(&clean(title))];
                lines.extend(options.iter().enumerate().map(|(at, it)| format!("  {}. {}", at + 1, clean(it))));
                lines.push(self.paint.dim("a number chooses, an empty line cancels"));
                self.block(&lines, out);
            }
            AskKind::Confirm { title, message } => self.question(&format!("{title} {message} [y/n]"), out),
            AskKind::Input { title, placeholder } => {
                let example = placeholder.as_ref().map(|text| format!(" ({text})")).unwrap_or_default();
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
        let AskKind::Permission(permission) = &ask.kind else { return };
        let mut lines = self.reading.as_mut().map(Reading::more).unwrap_or_default();
        lines.push(format!("  tool: {}", clean(&permission.tool)));
        lines.push(format!("  needs: {} (mode is {})", permission.required.as_str(), permission.active.as_str()));
        lines.push("  y  allow it this once".into());
        lines.push("  n  deny it; `n because ...` tells the model why".into());
        lines.push(format!("  {}", always(permission)));
        lines.extend(self.reading.as_ref().and_then(Reading::warning));
        lines.extend(why.map(|why| self.paint.yellow(why)));
        self.block(&lines, out);
        self.question(&may_it(permission), out);
        self.shown_call = Some(permission.call.clone());
    }

    fn has_shown_all(&self) -> bool {
        self.reading.as_ref().is_none_or(Reading::is_whole)
    }

    fn answered_unasked(&mut self, ask: &Ask, _answer: &Answer, denial: Option<&Denial>, out: &mut FrameBuf) {
        if let (AskKind::Permission(permission), Some(Denial { why, how })) = (&ask.kind, denial) {
            let line = format!("denied {}: {why}; {how} would allow it", visible::headline(&permission.summary));
            self.block(&[self.paint.yellow(&line)], out);
            self.told_denied.insert(permission.call.clone());
        }
    }

    fn slash(&mut self, reply: &SlashReply, out: &mut FrameBuf) {
        self.fresh_line(out);
        let text = clean(reply.text.trim_end());
        if !text.is_empty() {
            out.raw(text.as_bytes());
            out.raw(b"\n");
        }
        self.last = Last::Block;
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
        self.end_thinking(out);
        self.fresh_line(out);
        self.headlines.clear();
        self.previewed.clear();
        self.running.clear();
        self.told_denied.clear();
        self.does(Doing::Nothing, out);
        if let Some(fault) = &end.fault {
            self.fault(fault, out);
        }
        let mut lines: Vec<String> = self.stopped(end).into_iter().collect();
        if self.rounds_shown {
            let rounds = match end.iterations {
                0 => String::new(),
                1 => ", 1 tool round".to_owned(),
                many => format!(", {many} tool rounds"),
            };
            lines.push(self.paint.dim(&format!("{}{rounds}", show::usage(&end.usage))));
        }
        if !lines.is_empty() {
            self.block(&lines, out);
        }
        self.last = Last::Nothing;
    }

    fn want(&mut self, want: Want, out: &mut FrameBuf) {
        if want == Want::Prompt {
            self.does(Doing::Nothing, out);
        }
        Cue::Want(want).write(out);
    }

    fn sent(&mut self, sent: Sent<'_>, out: &mut FrameBuf) {
        let doing = match sent {
            Sent::Prompt => Doing::Asking,
            Sent::Command(name) => Doing::Command(clean(name).into_owned()),
            Sent::Interrupt => Doing::Stopping,
        };
        self.does(doing, out);
    }

    fn goes_on(&mut self, out: &mut FrameBuf) {
        self.does(self.doing.clone(), out);
    }

    fn heard_line(&mut self) {
        // The person's Enter ended the line on the screen.
        self.fresh = true;
    }

    fn closing(&mut self, out: &mut FrameBuf) {
        self.does(Doing::Nothing, out);
        self.end_thinking(out);
        self.fresh_line(out);
    }
}
