//! A dialect for people: a line typed is a prompt, a command or an answer; events become text. It carries the
//! conversation of `run` (one prompt, one turn, an exit code) and of `repl` (line after line). How things look is a
//! [`Face`]'s affair. No I/O here: bytes go through the host like those of any other dialect.

mod answer;
mod bill;
mod cue;
mod doing;
mod face;
mod json;
mod paint;
mod people;
mod reading;
mod recall;
mod running;
mod sheet;
pub(crate) mod show;
mod slash;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;

use vocab::{
    Answer, Ask, AskEntry, AskId, AskKind, AssistantMessage, Block, Body, CallEntry, Change, Command, Delivery, Entry,
    Event, Fault, FaultKind, Mode, Open, Part, Reply, Required, SessionId, Stop, Tag, Target, Told, TurnEnd, TurnEntry,
    TurnId, Verb,
};
use wire::{Dialect, Line, OpenCalls, Out, Parting};

use answer::Heard;
pub(crate) use bill::PriceOf;
pub(crate) use cue::{Cue, Piece, first as first_piece};
pub(crate) use face::{Face, Sent, Want};
pub(crate) use json::{JsonLines, stop_name};
pub(crate) use paint::{Paint, clean};
pub(crate) use people::{CHOICES, People, Side, Window};
pub(crate) use reading::{NOT_TAKEN, Reading};
pub(crate) use sheet::Size;

/// A line that stands for Ctrl-C where signals do not reach the pump themselves.
pub(crate) const INTERRUPT_LINE: &[u8] = b"\x03";

/// In front of a line that was typed as a prompt: whatever is asked by now, it is no answer to that.
pub(crate) const PROMPT_MARK: &str = "\x05";

/// Stands for a line break inside one typed line, because LF ends a frame.
pub(crate) const LINE_JOIN: char = '\x1e';

/// How a conversation can end, as a process tells it.
pub(crate) const OK: u8 = 0;
pub(crate) const FAILED: u8 = 1;
pub(crate) const NOT_STARTED: u8 = 2;
pub(crate) const UNFINISHED: u8 = 3;
pub(crate) const INTERRUPTED: u8 = 130;

/// What the model is told when the person has gone.
const GONE: &str = "denied: the user left before answering.";

/// Why a call is denied without a question.
pub(crate) struct Denial {
    pub(crate) why: &'static str,
    /// The flags that would have let it through.
    pub(crate) how: String,
}

impl Denial {
    /// What the model is told.
    fn told(&self) -> Arc<str> {
        format!("denied: {}. The user can allow it with {}.", self.why, self.how).into()
    }
}

/// Who answers the engine's questions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answers {
    Person,
    /// `--yes`.
    AllowAll,
    Nobody,
}

/// What the conversation is for.
pub(crate) struct Talk {
    pub(crate) open: Open,
    /// The one prompt of `run`; `None` means that lines are prompts.
    pub(crate) once: Option<Vec<Part>>,
    pub(crate) answers: Answers,
    /// The session can be taken up again later.
    pub(crate) kept: bool,
    /// The mode that a flag names. `--yes` is a yes to what it allows: beside `workspace-write` it does not reach out of
    /// the workspace.
    pub(crate) bound: Option<Mode>,
}

impl Talk {
    /// Whether a flag says that this is too much, whoever answers.
    fn is_bound_below(&self, required: Required) -> bool {
        self.bound == Some(Mode::WorkspaceWrite) && required > Required::WorkspaceWrite
    }

    fn denial(&self, required: Required) -> Denial {
        let mode = format!("`--mode {}`", required.as_str());
        let bound = self.is_bound_below(required);
        let why = match self.answers {
            Answers::AllowAll if bound => {
                "`--yes` beside `--mode workspace-write` allows nothing that could leave the workspace"
            }
            _ => "nobody can be asked here",
        };
        Denial { why, how: if bound { mode } else { format!("`--yes` or {mode}") } }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Opening,
    Idle,
    /// A turn or a command is under way.
    Busy,
    Closed,
}

/// One person at one terminal.
pub(crate) struct Terminal<F> {
    talk: Talk,
    face: F,
    phase: Phase,
    /// Open questions, the first of them shown.
    asks: VecDeque<Ask>,
    /// Ctrl-C was pressed in this turn.
    interrupting: bool,
    eof: bool,
    /// A call was denied because nobody could be asked.
    denied_unasked: bool,
    /// The model has answered in this turn, with no word and no call so far.
    silent: Option<bool>,
    tag: u64,
    pending: Option<Tag>,
    /// The turn that the last prompt became: its end ends the wait, no other's does.
    turn: Option<TurnId>,
    /// The turn whose start was seen here. The end of any other was left over by a process that died.
    running: Option<TurnId>,
    calls: OpenCalls,
    /// The last turn that could not be written. What the log says later about its calls was said here.
    lost: Option<TurnId>,
    one_shot: bool,
    session: Option<SessionId>,
    /// The mode the person is working in, which goes with them into another session.
    mode: Option<Mode>,
    /// Lines typed so far for a text of several lines.
    draft: Vec<String>,
    /// A command that nobody may know: name and arguments as typed.
    trying: Option<(String, String)>,
    /// Asks what was said last in a session that is taken up again.
    recalling: Option<Tag>,
    /// Something was said in this session.
    spoken: bool,
}

impl<F: Face> Terminal<F> {
    pub(crate) fn new(talk: Talk, face: F) -> Self {
        let one_shot = talk.once.is_some();
        Self {
            talk,
            face,
            phase: Phase::Opening,
            asks: VecDeque::new(),
            interrupting: false,
            eof: false,
            denied_unasked: false,
            silent: None,
            tag: 0,
            pending: None,
            turn: None,
            running: None,
            calls: OpenCalls::default(),
            lost: None,
            one_shot,
            session: None,
            mode: None,
            draft: Vec::new(),
            trying: None,
            recalling: None,
            spoken: false,
        }
    }

    fn command(&mut self, verb: Verb, out: &mut Out) -> Tag {
        self.tag += 1;
        let tag = Tag(self.tag);
        out.commands.push(Command { tag, target: Target::Current, verb });
        tag
    }

    /// A command whose reply ends the wait.
    fn busy_with(&mut self, verb: Verb, out: &mut Out) {
        let sent = match &verb {
            Verb::Slash { name, .. } => Sent::Command(name),
            Verb::Command { name, .. } => Sent::Command(name),
            _ => Sent::Prompt,
        };
        self.face.sent(sent, &mut out.frames);
        self.phase = Phase::Busy;
        self.interrupting = false;
        self.turn = None;
        self.pending = Some(self.command(verb, out));
    }

    fn prompt(&mut self, parts: Vec<Part>, out: &mut Out) {
        self.spoken = true;
        self.busy_with(Verb::Prompt { parts, delivery: Delivery::RejectIfBusy }, out);
    }

    fn close(&mut self, code: u8, out: &mut Out) {
        self.phase = Phase::Closed;
        self.face.closing(&mut out.frames);
        if let Some(session) = self.session.as_ref().filter(|_| self.spoken && self.talk.kept && !self.one_shot) {
            self.face.left(session, &mut out.frames);
        }
        out.exit_code = code;
        out.close = true;
    }

    /// Ready for the next line, or done.
    fn idle(&mut self, code: u8, out: &mut Out) {
        self.pending = None;
        self.interrupting = false;
        if self.one_shot {
            return self.close(code, out);
        }
        if self.eof {
            return self.close(OK, out);
        }
        self.phase = Phase::Idle;
        match self.asks.is_empty() {
            true => self.face.want(Want::Prompt, &mut out.frames),
            // A question that is not the turn's is still there; the next line is its answer.
            false => self.show_next_ask(out),
        }
    }

    // ---- lines --------------------------------------------------------------------------------------------------

    fn line(&mut self, line: &str, out: &mut Out) {
        self.face.heard_line();
        let (line, is_prompt) = line.strip_prefix(PROMPT_MARK).map_or((line, false), |line| (line, true));
        if let Some(ask) = self.asks.front().cloned().filter(|_| !is_prompt) {
            return self.answered(&ask, line, out);
        }
        let line = line.trim();
        match self.phase {
            Phase::Idle if line.is_empty() => self.face.want(Want::Prompt, &mut out.frames),
            Phase::Idle => {
                match line.strip_prefix('/').filter(|rest| !rest.is_empty() && !slash::calls_for_a_skill(rest)) {
                    Some(rest) => {
                        let (name, args) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                        self.slash(name.to_lowercase(), args.trim().to_owned(), out);
                    }
                    None => self.prompt(vec![Part::text(line.replace(LINE_JOIN, "\n"))], out),
                }
            }
            // Typed ahead, before a question: taking it for the answer would allow what nobody has seen.
            Phase::Opening | Phase::Busy | Phase::Closed => {
                if !line.is_empty() {
                    self.face.notice("nothing was asked; that line is ignored (Ctrl-C interrupts)", &mut out.frames);
                }
            }
        }
    }

    /// What is not built in may be an extension's; what is nobody's is answered like any unknown command.
    fn slash(&mut self, name: String, args: String, out: &mut Out) {
        if engine::COMMANDS.iter().any(|command| command.name == name) {
            return self.busy_with(Verb::Slash { name, args }, out);
        }
        let verb = Verb::Command { name: name.as_str().into(), args: args.as_str().into() };
        self.trying = Some((name, args));
        self.busy_with(verb, out);
    }

    fn answered(&mut self, ask: &Ask, line: &str, out: &mut Out) {
        let heard = match &ask.kind {
            AskKind::Editor { prefill, .. } => answer::edit(&mut self.draft, prefill.as_deref(), line),
            kind => answer::read(kind, line),
        };
        match heard {
            Heard::Answer(Answer::Allow(_)) if !self.face.has_shown_all() => {
                self.face.explain(ask, Some(NOT_TAKEN), &mut out.frames);
                self.face.want(Want::answer_to(ask), &mut out.frames);
            }
            Heard::Answer(answer) => {
                self.asks.pop_front();
                self.command(Verb::Answer { ask: ask.id.clone(), answer }, out);
                self.after_question(out);
            }
            Heard::Explain => {
                self.face.explain(ask, None, &mut out.frames);
                self.face.want(Want::answer_to(ask), &mut out.frames);
            }
            Heard::Unclear(how) => {
                self.face.notice(how, &mut out.frames);
                self.face.want(Want::answer_to(ask), &mut out.frames);
            }
            Heard::More => self.face.want(Want::answer_to(ask), &mut out.frames),
        }
    }

    fn interrupt(&mut self, out: &mut Out) {
        match self.phase {
            // The line editor clears its line by itself, and the wish for a line still stands.
            Phase::Idle if !self.one_shot => {}
            Phase::Busy if !self.interrupting => {
                self.interrupting = true;
                self.face.notice("interrupting; once more to leave at once", &mut out.frames);
                self.face.sent(Sent::Interrupt, &mut out.frames);
                self.command(Verb::Interrupt { turn: None }, out);
            }
            Phase::Closed => {}
            Phase::Opening | Phase::Idle | Phase::Busy => self.close(INTERRUPTED, out),
        }
    }

    // ---- questions ----------------------------------------------------------------------------------------------

    fn asked(&mut self, ask: &Ask, out: &mut Out) {
        if matches!(ask.kind, AskKind::HostCall { .. }) {
            // Never offered by us; whoever offered the tool answers.
            return;
        }
        let unasked = match (self.talk.answers, &ask.kind) {
            (Answers::AllowAll, AskKind::Permission(it)) if self.talk.is_bound_below(it.required) => {
                Some(Answer::Deny(Some(self.talk.denial(it.required).told())))
            }
            (Answers::AllowAll, AskKind::Permission(_)) => Some(Answer::Allow(vocab::Scope::Once)),
            (Answers::Person, _) if !self.eof => None,
            (Answers::Person, AskKind::Permission(_)) => Some(Answer::Deny(Some(GONE.into()))),
            (Answers::Nobody, AskKind::Permission(it)) => {
                Some(Answer::Deny(Some(self.talk.denial(it.required).told())))
            }
            _ => Some(Answer::Dismissed),
        };
        match unasked {
            Some(answer) => self.answer_unasked(ask, answer, out),
            None => {
                self.asks.push_back(ask.clone());
                if self.asks.len() == 1 {
                    self.show_next_ask(out);
                }
            }
        }
    }

    fn answer_unasked(&mut self, ask: &Ask, answer: Answer, out: &mut Out) {
        self.denied_unasked |= matches!(answer, Answer::Deny(_));
        let denial = match &ask.kind {
            AskKind::Permission(it) if matches!(answer, Answer::Deny(_)) => Some(self.talk.denial(it.required)),
            _ => None,
        };
        self.face.answered_unasked(ask, &answer, denial.as_ref(), &mut out.frames);
        self.command(Verb::Answer { ask: ask.id.clone(), answer }, out);
    }

    fn show_next_ask(&mut self, out: &mut Out) {
        self.draft.clear();
        if let Some(ask) = self.asks.front() {
            self.face.ask(ask, &mut out.frames);
            self.face.want(Want::answer_to(ask), &mut out.frames);
        }
    }

    /// The next question, or back to what went on before it.
    fn after_question(&mut self, out: &mut Out) {
        match (self.asks.front(), self.phase) {
            (Some(_), _) => self.show_next_ask(out),
            (None, Phase::Idle) => self.face.want(Want::Prompt, &mut out.frames),
            (None, _) => self.face.goes_on(&mut out.frames),
        }
    }

    /// Answered by somebody else, or withdrawn.
    fn ask_closed(&mut self, id: &AskId, out: &mut Out) {
        let shown = self.asks.front().is_some_and(|ask| ask.id == *id);
        self.asks.retain(|ask| ask.id != *id);
        if shown && !self.interrupting {
            self.draft.clear();
            self.face.notice("the question is settled", &mut out.frames);
            self.after_question(out);
        }
    }

    /// Nobody will type any more.
    fn deny_open_asks(&mut self, out: &mut Out) {
        while let Some(ask) = self.asks.pop_front() {
            let answer = match ask.kind {
                AskKind::Permission(_) => Answer::Deny(Some(GONE.into())),
                _ => Answer::Dismissed,
            };
            self.answer_unasked(&ask, answer, out);
        }
    }

    // ---- events -------------------------------------------------------------------------------------------------

    fn replied(&mut self, tag: Tag, result: &Result<Reply, Fault>, out: &mut Out) {
        if self.recalling.take_if(|it| *it == tag).is_some() {
            if let Ok(Reply::Entries(entries)) = result {
                self.face.recalled(&recall::last_exchange(entries), &mut out.frames);
            }
            return self.idle(OK, out);
        }
        if self.phase == Phase::Opening {
            return self.opened(result, out);
        }
        if self.pending != Some(tag) {
            return;
        }
        match result {
            Ok(Reply::Slash(reply)) => {
                self.face.slash(reply, &mut out.frames);
                if reply.is_exit() {
                    return self.close(OK, out);
                }
                if reply.failed_with(vocab::SlashCode::UnknownCommand) {
                    self.face.notice(&slash::instead_of(&reply.command), &mut out.frames);
                }
                if let Some(session) = reply.moved_to() {
                    self.moved(session, out);
                }
                self.idle(OK, out);
            }
            // An extension has the command; it works beside the conversation.
            Ok(Reply::Done) => {
                self.trying = None;
                self.idle(OK, out);
            }
            // The turn's end is what ends the wait.
            Ok(Reply::Started { turn }) => {
                self.pending = None;
                self.turn = Some(turn.clone());
            }
            Ok(_) => self.pending = None,
            Err(fault) if fault.kind == FaultKind::UnknownCommand && self.trying.is_some() => {
                if let Some((name, args)) = self.trying.take() {
                    self.busy_with(Verb::Slash { name: slash::our_name(name), args }, out);
                }
            }
            Err(fault) => {
                self.face.fault(fault, &mut out.frames);
                self.idle(NOT_STARTED, out);
            }
        }
    }

    /// A session that a controller drove may remember full access, with every call put to that controller. Here the mode
    /// itself decides, so a session that is taken up again gets the mode of whoever takes it up.
    fn moved(&mut self, session: &SessionId, out: &mut Out) {
        self.session = Some(session.clone());
        if let Some(mode) = self.mode {
            self.command(Verb::Set(Change::Mode(mode)), out);
        }
    }

    fn opened(&mut self, result: &Result<Reply, Fault>, out: &mut Out) {
        match result {
            Ok(Reply::Opened(opened)) => {
                self.face.opened(opened, &mut out.frames);
                self.session = Some(opened.session.clone());
                self.mode = Some(opened.state.mode);
                self.running = opened.state.turn.clone();
                match self.talk.once.take() {
                    Some(parts) => self.prompt(parts, out),
                    None if opened.resumed => self.recall(opened.state.last_seq, out),
                    None => self.idle(OK, out),
                }
            }
            Ok(_) => {}
            Err(fault) => {
                self.face.fault(fault, &mut out.frames);
                self.close(NOT_STARTED, out);
            }
        }
    }

    /// What was said last is shown before anything else is asked.
    fn recall(&mut self, last_seq: u64, out: &mut Out) {
        self.phase = Phase::Busy;
        self.spoken = true;
        let after = last_seq.saturating_sub(recall::ENTRIES_MAX);
        self.recalling = Some(self.command(Verb::Read { after }, out));
    }

    fn logged(&mut self, entry: &Entry, out: &mut Out) {
        self.calls.logged(entry);
        match &entry.body {
            Body::Ask(AskEntry::Opened(ask)) => self.asked(ask, out),
            Body::Ask(AskEntry::Closed { ask, .. }) => self.ask_closed(ask, out),
            Body::Turn(TurnEntry::Ended(end)) => self.turn_ended(end, out),
            Body::Turn(TurnEntry::Started { turn }) => {
                self.running = Some(turn.clone());
                self.silent = None;
                self.face.logged(&entry.body, &mut out.frames);
            }
            Body::Call(CallEntry::Ended { turn, .. }) if self.lost.as_ref() == Some(turn) => {}
            body => {
                match body {
                    Body::Assistant { message, .. } => {
                        self.silent = Some(self.silent.unwrap_or(true) && !says_something(message));
                    }
                    Body::Call(_) => self.silent = Some(false),
                    _ => {}
                }
                self.face.logged(body, &mut out.frames);
            }
        }
    }

    fn turn_ended(&mut self, end: &TurnEnd, out: &mut Out) {
        if self.running.take_if(|running| *running == end.turn).is_none() {
            let why = end.fault.as_ref().map_or("it was not finished", |fault| &fault.message);
            return self.face.notice(&format!("the turn before this one was cut short: {why}"), &mut out.frames);
        }
        let code = match end.stop {
            Stop::EndTurn if self.silent == Some(true) => {
                self.face.notice("the model sent an empty answer", &mut out.frames);
                FAILED
            }
            Stop::EndTurn if self.denied_unasked => UNFINISHED,
            Stop::EndTurn => OK,
            Stop::MaxTokens | Stop::MaxIterations | Stop::Refusal => UNFINISHED,
            Stop::Interrupted => INTERRUPTED,
            Stop::Error => FAILED,
        };
        self.asks.retain(|ask| ask.turn.is_none());
        self.face.turn_ended(end, code, &mut out.frames);
        // A turn that an extension began ends beside a line that is wanted already, or beside a command that has its own end.
        if self.turn.take_if(|turn| *turn == end.turn).is_none() {
            return;
        }
        // One that leaves a question does so, too.
        let waits_for_line = !self.asks.is_empty() && !self.interrupting && !self.one_shot && !self.eof;
        if waits_for_line {
            self.phase = Phase::Idle;
            self.pending = None;
        } else if self.phase != Phase::Idle {
            self.idle(code, out);
        }
    }
}

impl<F: Face> Dialect for Terminal<F> {
    fn greet(&mut self, out: &mut Out) {
        let open = self.talk.open.clone();
        self.command(Verb::Open(open), out);
    }

    fn hear(&mut self, frame: Line<'_>, out: &mut Out) {
        match frame {
            Line::Whole(INTERRUPT_LINE) => self.interrupt(out),
            Line::Whole(bytes) => self.line(&String::from_utf8_lossy(bytes), out),
            Line::TooLong { limit } => {
                self.face.notice(&format!("that line is longer than {limit} bytes; it was dropped"), &mut out.frames);
                self.line("", out);
            }
        }
    }

    fn tell(&mut self, told: &Told, out: &mut Out) {
        if self.phase == Phase::Closed {
            return;
        }
        for lost in self.calls.lost_by(&told.event) {
            self.tell(&Told { session: told.session.clone(), event: lost }, out);
        }
        match &told.event {
            Event::Reply { tag, result } => self.replied(*tag, result, out),
            Event::Logged(entry) => self.logged(entry, out),
            Event::TurnLost(end) => {
                self.lost = Some(end.turn.clone());
                self.face.notice("the end of this turn could not be saved", &mut out.frames);
                self.turn_ended(end, out);
            }
            Event::Gone { fault } => {
                self.face.fault(fault, &mut out.frames);
                self.close(FAILED, out);
            }
            Event::State(state) => {
                if self.session.as_ref() == Some(&state.session) {
                    self.mode = Some(state.mode);
                    self.face.event(&told.event, &mut out.frames);
                }
            }
            event => self.face.event(event, &mut out.frames),
        }
    }

    fn part(&mut self, why: Parting, out: &mut Out) {
        match why {
            Parting::Eof => {
                self.eof = true;
                self.deny_open_asks(out);
                if self.phase == Phase::Idle {
                    self.close(OK, out);
                }
            }
            Parting::Signal(_) => self.interrupt(out),
            Parting::Deaf if self.phase == Phase::Busy && !self.interrupting => self.interrupt(out),
            Parting::Deaf | Parting::GraceOver => self.close(INTERRUPTED, out),
        }
    }
}

fn says_something(message: &AssistantMessage) -> bool {
    message.blocks.iter().any(|block| matches!(block, Block::Text(text) if !text.trim().is_empty()))
}
