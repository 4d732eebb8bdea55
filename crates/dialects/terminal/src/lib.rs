//! A dialect for people: a line typed is a prompt, a command or an answer; events become text. It carries the
//! conversation of `run` (one prompt, one turn, an exit code) and of `repl` (line after line). How things look is a
//! [`Renderer`]'s affair. No I/O here: bytes go through the host like those of any other dialect.

mod answer;
mod cost;
pub mod excerpt;
pub mod exit_code;
mod fact_rows;
mod faults;
mod inbound;
mod json;
mod last_exchange;
mod lines_held;
pub mod listing;
mod live_output;
mod options;
mod outbound;
mod pager;
mod paint;
mod questions;
mod renderer;
mod replies;
mod screen_control;
mod session_view;
mod slash;
mod streamed_text;
mod text;
mod turn_watch;
mod waiting_for;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use vocab::{Ask, Command, Delivery, Event, Part, QueueEvent, SessionVerb, Tag, Target, Told, Verb};
use wire::{Close, CloseCode, Dialect, Frame, Out, Parting};

use lines_held::HeldLines;
use session_view::SessionView;

pub use cost::PriceOf;
pub use fact_rows::ScreenSize;
pub use json::{JsonRenderer, stop_name};
pub use last_exchange::LastExchange;
pub use options::{AnswerPolicy, BuiltinCommands, TerminalOptions, UnaskedDenial};
pub use pager::{NOT_TAKEN, QuestionPager};
pub use paint::{Paint, clean};
pub use renderer::{Renderer, StartedWork, WantedLine};
pub use screen_control::{OutputPiece, ScreenControl, first_piece};
pub use streamed_text::{LastWritten, StreamedText, TextSink};
pub use text::{CHOICES, SideChannel, SizeProbe, TextRenderer};

/// A line that stands for Ctrl-C where signals do not reach the pump themselves.
pub const INTERRUPT_LINE: &[u8] = b"\x03";

/// A line that stands for the end of input where the pipe itself stays open. What is open by then stays so for whoever comes.
pub const END_LINE: &str = "\x04";

/// In front of a line that was typed as a prompt: whatever is asked by now, it is no answer to that.
pub const PROMPT_MARK: &str = "\x05";

/// Stands for a line break inside one typed line, because LF ends a frame.
pub const LINE_JOIN: char = '\x1e';

/// Whether something is under way is no phase: a turn may be anybody's ([`TerminalDialect::is_busy`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TerminalPhase {
    Opening,
    Open,
    Closed,
}

/// One person at one terminal.
pub struct TerminalDialect<R> {
    options: TerminalOptions,
    renderer: R,
    phase: TerminalPhase,
    view: SessionView,
    /// Open questions, the first of them shown.
    asks: VecDeque<Ask>,
    /// Ctrl-C was pressed in this turn.
    interrupting: bool,
    eof: bool,
    /// The person went and left everything as it is.
    leaves: bool,
    /// Nobody reads what we write any more; what runs is stopped for that reason alone.
    unread: bool,
    /// A call was denied because no person could be asked.
    denied_unasked: bool,
    tag: u64,
    /// The command whose reply ends the wait.
    pending: Option<Tag>,
    /// The prompt that waits for what runs before it.
    waiting: Option<Tag>,
    one_shot: bool,
    /// Lines typed so far for a text of several lines.
    draft: Vec<String>,
    /// A command that may be an extension's: name and arguments as typed.
    trying: Option<(String, String)>,
    /// Asks what was said last in a session that is taken up again.
    recalling: Option<Tag>,
    /// What happened since; it is shown behind that.
    behind_recall: Vec<Told>,
    held: HeldLines,
}

impl<R: Renderer> TerminalDialect<R> {
    pub fn new(options: TerminalOptions, renderer: R) -> Self {
        let one_shot = options.once.is_some();
        Self {
            options,
            renderer,
            phase: TerminalPhase::Opening,
            view: SessionView::default(),
            asks: VecDeque::new(),
            interrupting: false,
            eof: false,
            leaves: false,
            unread: false,
            denied_unasked: false,
            tag: 0,
            pending: None,
            waiting: None,
            one_shot,
            draft: Vec::new(),
            trying: None,
            recalling: None,
            behind_recall: Vec::new(),
            held: HeldLines::default(),
        }
    }

    fn command(&mut self, verb: Verb, out: &mut Out) -> Tag {
        self.tag += 1;
        let tag = Tag(self.tag);
        out.commands.push(Command::of(tag, Target::Current, verb));
        tag
    }

    /// A command whose reply ends the wait.
    fn busy_with(&mut self, verb: Verb, out: &mut Out) {
        let sent = match &verb {
            Verb::Session(SessionVerb::Slash { name, .. }) => StartedWork::Command(name),
            Verb::Session(SessionVerb::Command { name, .. }) => StartedWork::Command(name),
            _ => StartedWork::Prompt,
        };
        self.renderer.sent(sent, &mut out.frames);
        self.interrupting = false;
        self.view.turn = None;
        self.pending = Some(self.command(verb, out));
    }

    fn prompt(&mut self, parts: Vec<Part>, delivery: Delivery, out: &mut Out) {
        self.view.spoken = true;
        self.busy_with(Verb::Session(SessionVerb::Prompt { parts, delivery }), out);
    }

    fn close(&mut self, code: u8, out: &mut Out) {
        self.phase = TerminalPhase::Closed;
        self.renderer.closing(&mut out.frames);
        if let (Some(session), Some(way_back), true, false) =
            (&self.view.session, &self.options.way_back, self.view.spoken, self.one_shot)
        {
            self.renderer.left(way_back, session, &mut out.frames);
        }
        out.close_with(Close::new(CloseCode::Private(code), ""));
    }

    /// Nothing more will be typed: what runs is watched to its end, what asks is left to others.
    fn end_of_input(&mut self, out: &mut Out) {
        (self.eof, self.leaves) = (true, true);
        match self.phase {
            TerminalPhase::Open if !self.asks.is_empty() => self.close(exit_code::UNFINISHED, out),
            TerminalPhase::Open if self.has_no_work_left() => self.close(exit_code::OK, out),
            TerminalPhase::Opening | TerminalPhase::Open | TerminalPhase::Closed => {}
        }
    }

    /// What was said here is done with: ready for the next line, unless somebody else's turn runs, or done.
    fn idle(&mut self, code: u8, out: &mut Out) {
        self.pending = None;
        if self.one_shot {
            return self.close(code, out);
        }
        if self.eof && self.held.is_empty() {
            return self.close(exit_code::OK, out);
        }
        if self.view.running.is_none() {
            self.interrupting = false;
        }
        match self.asks.is_empty() {
            // A question that is not the turn's is still there; the next line is its answer.
            false => self.show_next_ask(out),
            true if self.view.running.is_none() => self.next_line(out),
            true if self.interrupting => {}
            true => self.renderer.sent(StartedWork::Elsewhere, &mut out.frames),
        }
    }

    /// One that came while none was wanted, or the person's next.
    fn next_line(&mut self, out: &mut Out) {
        match self.held.next() {
            Some(line) => self.carry_out(&line, out),
            None => self.renderer.want(WantedLine::Prompt, &mut out.frames),
        }
    }
}

impl<R: Renderer> Dialect for TerminalDialect<R> {
    type Own = wire::NoOwn;

    fn greet(&mut self, out: &mut Out) {
        let open = self.options.open.clone();
        self.command(Verb::Open(open), out);
    }

    fn hear(&mut self, frame: Frame<'_>, out: &mut Out) {
        match frame {
            Frame::Whole(INTERRUPT_LINE) => self.interrupt(out),
            Frame::Whole(line) if line == END_LINE.as_bytes() => self.end_of_input(out),
            Frame::Whole(bytes) => self.line(&String::from_utf8_lossy(bytes), out),
            Frame::TooLong { limit } => {
                self.renderer
                    .notice(&format!("that line is longer than {limit} bytes; it was dropped"), &mut out.frames);
                self.line("", out);
            }
        }
    }

    fn tell(&mut self, told: &Told, out: &mut Out) {
        match &told.event {
            // There is nothing to come behind it.
            Event::Gone { .. } => {}
            Event::Reply { tag, .. } if self.recalling == Some(*tag) => {}
            _ if self.recalling.is_some() => return self.keep_behind_recall(told, out),
            _ => {}
        }
        self.happened(told, out);
    }

    fn part(&mut self, why: Parting, out: &mut Out) {
        match why {
            Parting::Eof => {
                self.eof = true;
                self.deny_open_asks(out);
                if self.phase == TerminalPhase::Open && self.has_no_work_left() {
                    self.close(exit_code::OK, out);
                }
            }
            Parting::Asked { .. } => self.interrupt(out),
            // A reader that has seen enough is no failure.
            Parting::Deaf if self.is_busy() && !self.interrupting => {
                self.unread = true;
                self.interrupt(out);
            }
            Parting::Deaf if !self.interrupting => self.close(exit_code::OK, out),
            Parting::GraceOver if self.unread => self.close(exit_code::OK, out),
            Parting::Deaf | Parting::GraceOver => self.close(exit_code::INTERRUPTED, out),
        }
    }
}

impl<R: Renderer> TerminalDialect<R> {
    fn happened(&mut self, told: &Told, out: &mut Out) {
        if self.phase == TerminalPhase::Closed {
            return;
        }
        for lost in self.view.calls.lost_by(&told.event) {
            self.happened(&Told::new(told.session.clone(), lost), out);
        }
        match &told.event {
            Event::Reply { tag, result } => self.replied(*tag, result, out),
            Event::Logged(entry) => self.logged(entry, out),
            Event::TurnLost(end) => {
                self.view.lost = Some(end.turn.clone());
                self.renderer.notice("the end of this turn could not be saved", &mut out.frames);
                self.turn_ended(end, out);
            }
            Event::Gone { fault } => {
                self.renderer.fault(fault, &mut out.frames);
                self.close(exit_code::FAILED, out);
            }
            Event::State(state) => {
                if self.view.session.as_ref() == Some(&state.session) {
                    self.view.mode = Some(state.mode);
                    self.renderer.event(&told.event, &mut out.frames);
                }
            }
            Event::Queue(QueueEvent::Ended { tag, end, .. }) if self.waiting == Some(*tag) => self.taken_up(*end, out),
            Event::Delta(_) | Event::Retry(_) if self.passes_over_turn() => {}
            event => self.renderer.event(event, &mut out.frames),
        }
    }
}
