//! What the log says: questions, calls and the ends of turns on their way to the renderer.

use vocab::{AskEntry, Body, CallEntry, Entry, Stop, TurnEnd, TurnEntry};
use wire::Out;

use crate::{Renderer, TerminalDialect, TerminalPhase, exit_code};

impl<R: Renderer> TerminalDialect<R> {
    pub(crate) fn logged(&mut self, entry: &Entry, out: &mut Out) {
        self.view.calls.logged(entry);
        match &entry.body {
            Body::Ask(AskEntry::Opened(ask)) => self.asked(ask, out),
            Body::Ask(AskEntry::Closed { ask, .. }) => self.ask_closed(ask, out),
            Body::Turn(TurnEntry::Ended(end)) => self.turn_ended(end, out),
            Body::Turn(TurnEntry::Started { turn }) => {
                self.view.turn_started(turn);
                self.renderer.logged(&entry.body, &mut out.frames);
            }
            Body::Call(CallEntry::Ended { turn, .. }) if self.view.lost.as_ref() == Some(turn) => {}
            body => {
                match body {
                    Body::Assistant { message, .. } => self.view.answered(message),
                    Body::Call(_) => self.view.called(),
                    _ => {}
                }
                self.renderer.logged(body, &mut out.frames);
            }
        }
    }

    pub(crate) fn turn_ended(&mut self, end: &TurnEnd, out: &mut Out) {
        if !self.view.turn_ended(end) {
            let why = end.fault.as_ref().map_or("it was not finished", |fault| &fault.message);
            return self.renderer.notice(&format!("the turn before this one was cut short: {why}"), &mut out.frames);
        }
        let code = match end.stop {
            Stop::EndTurn if self.view.is_silent() => {
                self.renderer.notice("the model sent an empty answer", &mut out.frames);
                exit_code::FAILED
            }
            Stop::EndTurn if self.denied_unasked => exit_code::UNFINISHED,
            Stop::EndTurn => exit_code::OK,
            Stop::MaxTokens | Stop::MaxIterations | Stop::Refusal | Stop::Budget => exit_code::UNFINISHED,
            Stop::Interrupted if self.unread => exit_code::OK,
            Stop::Interrupted => exit_code::INTERRUPTED,
            Stop::Error => exit_code::FAILED,
        };
        self.asks.retain(|ask| ask.turn.is_none());
        self.renderer.turn_ended(end, code, &mut out.frames);
        // A turn that an extension began ends beside a line that is wanted already, or beside a command that has its own end.
        if self.view.turn.take_if(|turn| *turn == end.turn).is_none() {
            return;
        }
        // One that leaves a question does so, too.
        let waits_for_line = !self.asks.is_empty() && !self.interrupting && !self.one_shot && !self.eof;
        if waits_for_line {
            self.phase = TerminalPhase::Idle;
            self.pending = None;
        } else if self.phase != TerminalPhase::Idle {
            self.idle(code, out);
        }
    }
}
