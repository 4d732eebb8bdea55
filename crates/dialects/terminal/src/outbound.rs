//! What the log says: questions, calls and the ends of turns on their way to the renderer.

use vocab::{AskEntry, Body, CallEntry, Entry, Stop, TurnEnd, TurnEntry, parts_text};
use wire::Out;

use crate::{Renderer, TerminalDialect, exit_code};

impl<R: Renderer> TerminalDialect<R> {
    pub(crate) fn logged(&mut self, entry: &Entry, out: &mut Out) {
        self.view.calls.logged(entry);
        let unseen = self.passes_over_turn();
        match &entry.body {
            Body::Ask(AskEntry::Opened(ask)) => self.asked(ask, out),
            Body::Ask(AskEntry::Closed { ask, .. }) => self.ask_closed(ask, out),
            Body::Turn(TurnEntry::Ended(end)) => self.turn_ended(end, out),
            Body::Turn(TurnEntry::Started { turn }) => {
                self.view.turn_started(turn);
                self.renderer.logged(&entry.body, &mut out.frames);
                self.watch_turn(out);
            }
            _ if unseen => {}
            Body::User { turn, parts, from } if self.is_from_elsewhere(turn.as_ref(), *from) => {
                self.view.spoken = true;
                self.renderer.said_elsewhere(entry.by.as_ref(), &parts_text(parts), &mut out.frames);
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
        let unseen = self.passes_over_turn();
        if !self.view.turn_ended(end) {
            let why = end.fault.as_ref().map_or("it was not finished", |fault| &fault.message);
            return self.renderer.notice(&format!("the turn before this one was cut short: {why}"), &mut out.frames);
        }
        let code = match end.stop {
            Stop::EndTurn if self.view.is_silent() && !unseen => {
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
        if !unseen {
            self.renderer.turn_ended(end, code, &mut out.frames);
        }
        self.view.turn.take_if(|turn| *turn == end.turn);
        // A turn that somebody else began ends beside a command that has its own end, or in front of a prompt that waits.
        if self.awaits_own() {
            return;
        }
        // One that leaves a question ends beside a line that is wanted already.
        let waits_for_line = !self.asks.is_empty() && !self.interrupting && !self.one_shot && !self.eof;
        if !waits_for_line {
            self.idle(code, out);
        }
    }
}
