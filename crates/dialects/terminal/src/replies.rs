//! Replies to what the dialect asked of the session: its opening, a prompt, a command, its last entries.

use vocab::{
    Change, Delivery, Event, Fault, FaultKind, ItemEnd, Reply, SessionId, SessionVerb, SlashCode, SlashOutcome, Tag,
    Told, Verb,
};
use wire::{OpenCalls, Out};

use crate::last_exchange::{self, last_exchange};
use crate::{Renderer, TerminalDialect, TerminalPhase, exit_code, slash};

impl<R: Renderer> TerminalDialect<R> {
    pub(crate) fn replied(&mut self, tag: Tag, result: &Result<Reply, Fault>, out: &mut Out) {
        if self.recalling == Some(tag) {
            if let Ok(Reply::Entries(entries)) = result {
                self.renderer.recalled(&last_exchange(entries), &mut out.frames);
            }
            return self.recalled(out);
        }
        if self.phase == TerminalPhase::Opening {
            return self.opened(result, out);
        }
        if self.pending != Some(tag) {
            return;
        }
        match result {
            Ok(Reply::Slash(reply)) => {
                self.renderer.slash(reply, &mut out.frames);
                if reply.is_exit() {
                    return self.close(exit_code::OK, out);
                }
                if reply.failed_with(SlashCode::UnknownCommand) {
                    self.renderer.notice(&slash::instead_of(&reply.command, self.options.builtins), &mut out.frames);
                }
                if let Some(session) = reply.moved_to() {
                    self.moved(session, out);
                }
                if let Ok(SlashOutcome::Resumed { turn: Some(turn), present, .. }) = &reply.result {
                    self.view.turn_started(turn);
                    OpenCalls::running(present).for_each(|started| self.logged(started, out));
                }
                self.idle(exit_code::OK, out);
            }
            // An extension has the command; it works beside the conversation.
            Ok(Reply::Done) => {
                self.trying = None;
                self.idle(exit_code::OK, out);
            }
            // The turn's end is what ends the wait.
            Ok(Reply::Started { turn }) => {
                self.pending = None;
                self.view.turn = Some(turn.clone());
            }
            // What was there before it comes first; its own turn begins when it is taken up.
            Ok(Reply::Waiting { .. }) => {
                self.waiting = self.pending.take();
                self.renderer.notice("something else runs in this session; this waits for its end", &mut out.frames);
            }
            Ok(_) => self.pending = None,
            Err(fault) if fault.kind == FaultKind::UnknownCommand && self.trying.is_some() => {
                if let Some((name, args)) = self.trying.take() {
                    self.busy_with(Verb::Session(SessionVerb::Slash { name: slash::our_name(name), args }), out);
                }
            }
            Err(fault) => {
                self.renderer.fault(fault, &mut out.frames);
                self.idle(exit_code::NOT_STARTED, out);
            }
        }
    }

    /// The prompt that waited is taken up by the turn that has just begun, or will never be.
    pub(crate) fn taken_up(&mut self, end: ItemEnd, out: &mut Out) {
        self.waiting = None;
        match end {
            ItemEnd::Consumed => self.view.turn = self.view.running.clone(),
            ItemEnd::Superseded | ItemEnd::Dropped | ItemEnd::Cancelled => {
                if !self.interrupting {
                    let why = "not run: somebody else stopped what it waited for, or took it out of the queue";
                    self.renderer.notice(why, &mut out.frames);
                }
                self.idle(exit_code::INTERRUPTED, out);
            }
        }
    }

    /// A session that a controller drove may remember full access, with every call put to that controller. Here the mode
    /// itself decides, so a session that is taken up again gets the mode of the person who takes it up.
    pub(crate) fn moved(&mut self, session: &SessionId, out: &mut Out) {
        self.view.session = Some(session.clone());
        // What runs and asks where we are no more is nothing to wait for.
        self.view.running = None;
        self.asks.clear();
        if let Some(mode) = self.view.mode {
            self.command(Verb::Session(SessionVerb::Set(Change::Mode(mode))), out);
        }
    }

    pub(crate) fn opened(&mut self, result: &Result<Reply, Fault>, out: &mut Out) {
        match result {
            Ok(Reply::Opened(opened)) => {
                self.phase = TerminalPhase::Open;
                self.renderer.opened(opened, &mut out.frames);
                self.view.session = Some(opened.session.clone());
                self.view.mode = Some(opened.state.mode);
                if let Some(turn) = &opened.state.turn {
                    self.view.turn_started(turn);
                }
                let recalls = opened.resumed && !self.one_shot;
                for started in opened.state.turn.iter().flat_map(|_| OpenCalls::running(&opened.present)) {
                    match recalls {
                        true => {
                            self.behind_recall.push(Told::new(opened.session.clone(), Event::Logged(started.clone())))
                        }
                        false => self.logged(started, out),
                    }
                }
                match self.options.once.take() {
                    // The turn that a dead process left goes on first, and what waits behind it.
                    Some(parts) if opened.resumed => self.prompt(parts, Delivery::Queue, out),
                    Some(parts) => self.prompt(parts, Delivery::RejectIfBusy, out),
                    None if opened.resumed => self.recall(opened.state.last_seq, out),
                    None => self.idle(exit_code::OK, out),
                }
            }
            Ok(_) => {}
            Err(fault) => {
                self.renderer.fault(fault, &mut out.frames);
                self.close(exit_code::NOT_STARTED, out);
            }
        }
    }

    /// What was said last is shown before anything else is shown or asked.
    pub(crate) fn recall(&mut self, last_seq: u64, out: &mut Out) {
        self.view.spoken = true;
        let after = last_seq.saturating_sub(last_exchange::ENTRIES_MAX);
        self.recalling = Some(self.command(Verb::Session(SessionVerb::Read { after }), out));
    }
}
