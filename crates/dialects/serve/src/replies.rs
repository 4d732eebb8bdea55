//! What the engine's answers mean: each belongs to one command, and each command that a controller sent ends in
//! exactly the lines the protocol promises for it.

use std::sync::Arc;

use vocab::{
    Event, Fault, FaultKind, Opened, Present, Reply, SessionId, SlashOutcome, SlashReply, State, Stop, Tag, TurnEnd,
    TurnId, Usage,
};
use wire::{Close, CloseCode, OpenCalls, Out};

use crate::frames::{Closed, Error};
use crate::slash;
use crate::tool_names::TOOL_NAMES;
use crate::{STRAYS_MAX, Serve, faults};

/// A command on its way.
pub(crate) struct PendingReply {
    /// Number of the view that sent it.
    pub(crate) view: u64,
    pub(crate) what: ServePending,
}

/// What its reply is for.
pub(crate) enum ServePending {
    Open,
    Prompt,
    Answer,
    Slash {
        name: String,
        exit: bool,
    },
    /// Nobody waits for this one: interrupts, denials of ours, leaving.
    Nothing,
}

impl Serve {
    pub(crate) fn replied(&mut self, tag: Tag, result: &Result<Reply, Fault>, out: &mut Out) {
        let Some(PendingReply { view, what }) = self.pending.answered(tag) else { return };
        let Some(at) = self.views.iter().position(|one| one.number == view) else { return };
        match what {
            ServePending::Nothing => {}
            ServePending::Open => match result {
                Ok(Reply::Opened(opened)) => self.opened(at, opened, out),
                Ok(_) => self.not_opened(at, &Fault::new(FaultKind::Internal, "the engine opened nothing"), out),
                Err(fault) => self.not_opened(at, fault, out),
            },
            ServePending::Prompt => {
                let promise = match result {
                    Ok(Reply::Started { turn }) => Some(turn),
                    Ok(_) | Err(_) => None,
                };
                self.views[at].turns.answered(promise);
                self.complain(at, result, out);
            }
            ServePending::Answer => self.complain(at, result, out),
            ServePending::Slash { name, exit } => self.slashed(at, &name, exit, result, out),
        }
    }

    /// An `error` line for a message that the engine refused. Never with a turn: the running one, if any, goes on.
    fn complain(&mut self, at: usize, result: &Result<Reply, Fault>, out: &mut Out) {
        if let Err(fault) = result {
            self.view_pen(at, out).fault(fault, None);
        }
    }

    fn opened(&mut self, at: usize, opened: &Opened, out: &mut Out) {
        if let Some(other) = self.view_of(&opened.session)
            && self.options.multi
        {
            // Events carry the id of their session; two labels for one id could not be told apart. Not left
            // again: leaving goes by the same id and would take the other label along.
            let label = self.views[other].label.as_deref().unwrap_or_default();
            let fault = Fault::new(FaultKind::SessionBusy, format!("session {} is open as {label:?}", opened.session));
            return self.not_opened(at, &fault, out);
        }
        let view = &mut self.views[at];
        view.session = Some(opened.session.clone());
        view.note(&opened.state);
        self.greeted = true;
        let mut pen = self.view_pen(at, out);
        pen.ready(opened, self.protocol(), &self.options.version);
        if let Some(turn) = &opened.state.turn {
            self.joined(at, turn, &opened.present, out);
        }
        self.release(at, out);
    }

    /// Joined in mid-turn: its `turn_complete` and the results of its calls will come, so their starts are said first.
    fn joined(&mut self, at: usize, turn: &TurnId, present: &Present, out: &mut Out) {
        self.view_pen(at, out).turn_started(turn);
        self.views[at].turns.started(turn);
        for started in OpenCalls::running(present) {
            self.event(at, &Event::Logged(started.clone()), out);
        }
    }

    fn not_opened(&mut self, at: usize, fault: &Fault, out: &mut Out) {
        let mut pen = self.view_pen(at, out);
        let code = faults::opening_code(fault.kind);
        pen.write(&Error { code, message: &faults::message(fault), origin: "local", turn_id: None });
        let view = self.views.remove(at);
        for _ in &view.held {
            let mut pen = self.pen(view.label.as_deref(), out);
            pen.refuse(faults::code(FaultKind::UnknownSession), "the session was not opened");
        }
        if !self.options.multi {
            out.close_with(Close::new(faults::close_code(fault.kind), "the session was not opened"));
        }
    }

    fn slashed(&mut self, at: usize, name: &str, exit: bool, result: &Result<Reply, Fault>, out: &mut Out) {
        let view = &mut self.views[at];
        view.slashes = view.slashes.saturating_sub(1);
        view.exits = view.exits.saturating_sub(usize::from(exit));
        let fault = match result {
            Ok(Reply::Slash(reply)) => return self.slash_done(at, reply, out),
            Ok(_) => &Fault::new(FaultKind::Internal, "the engine gave no result"),
            Err(fault) => fault,
        };
        // Failures are results, too: one `slash_result` per command, whatever happens.
        let message = faults::message(fault);
        let data = slash::failed(faults::code(fault.kind), &message);
        self.view_pen(at, out).slash_result(name, &message, &data, false, false);
        self.release(at, out);
    }

    fn slash_done(&mut self, at: usize, reply: &SlashReply, out: &mut Out) {
        if let Some(session) = reply.moved_to() {
            self.views[at].session = Some(session.clone());
            self.adopt_stray(at, session, out);
        }
        let (moved, exit) = (reply.moved_to().is_some(), reply.is_exit());
        let (text, data) = (wire::slash::text(reply, &TOOL_NAMES), slash::data(reply));
        self.view_pen(at, out).slash_result(&reply.command, &text, &data, moved, exit);
        if let Ok(SlashOutcome::Resumed { turn: Some(turn), present, .. }) = &reply.result {
            self.joined(at, turn, present, out);
        }
        if exit {
            self.end_view(at, out);
            if !self.options.multi {
                out.ending = true;
                self.end(out);
            }
        }
        self.release(at, out);
    }

    /// Keeps the newest state of a session that no label stands for yet. `/clear` tells the state of the new session
    /// before its result says that the label moved there.
    pub(crate) fn stray(&mut self, session: &SessionId, state: &Arc<State>) {
        self.strays.retain(|(other, _)| other != session);
        if self.strays.len() == STRAYS_MAX {
            self.strays.pop_front();
        }
        self.strays.push_back((session.clone(), state.clone()));
    }

    fn adopt_stray(&mut self, at: usize, session: &SessionId, out: &mut Out) {
        let Some(found) = self.strays.iter().position(|(other, _)| other == session) else { return };
        let Some((_, state)) = self.strays.remove(found) else { return };
        if let Some(changed) = self.views[at].changed(&state) {
            self.view_pen(at, out).write(&changed);
        }
        self.views[at].note(&state);
    }

    /// The session is lost. A running turn still gets its end, so that nobody waits for it for ever.
    pub(crate) fn gone(&mut self, at: usize, fault: &Fault, out: &mut Out) {
        let mut pen = self.view_pen(at, out);
        match self.views[at].turns.current() {
            None => pen.fault(fault, None),
            Some(turn) => pen.turn_ended(&TurnEnd {
                turn: turn.clone(),
                stop: Stop::Error,
                iterations: 0,
                usage: Usage::default(),
                mutations: Vec::new(),
                fault: Some(fault.clone()),
            }),
        }
        if self.options.multi {
            pen.write(&Closed {});
        } else {
            out.close_with(Close::new(CloseCode::Internal, "the session is lost"));
        }
        self.views.remove(at);
    }
}
