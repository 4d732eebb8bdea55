//! The host goes to another session, or waits until nothing runs any more.

use std::path::PathBuf;
use std::sync::Arc;

use vocab::{Change, Entry, Fault, Opened, Reply, SessionVerb, Target, Verb, Which};
use wire::Out;

use crate::frames::Writer;
use crate::inbound::RpcCall;
use crate::pending::{Handoff, ReadFor, RpcPending, Then};
use crate::{Rpc, answers};
use pi_format::transcript::{LineKind, MessageRole, Transcript};

impl Rpc {
    pub(crate) fn opened(&mut self, opened: &Opened, command: Option<(RpcCall, Option<String>)>, out: &mut Out) {
        let before = self.view.session.replace(opened.session.clone());
        self.view.prompts.left(&mut out.frames);
        self.view.past_names.clear();
        self.view.resumed = opened.resumed;
        self.view.waiting = 0;
        let state = Arc::new(opened.state.clone());
        let level = self.view.known.state.as_ref().and_then(|state| state.thinking.clone());
        self.view.run.forget(&state.model);
        self.view.known.learn(&state);
        if let Some(before) = before.filter(|before| *before != opened.session) {
            self.send_to(Target::Session(before), Verb::Leave, RpcPending::Nothing, out);
            self.carry_over(level.filter(|_| !opened.resumed), out);
        }
        if let (Some((call, _)), Some(Handoff { instructions })) = (&command, self.handoff.take()) {
            // Still moving: what comes next waits for the summary.
            return self.send(
                Verb::Session(SessionVerb::Compact { instructions, wait: false }),
                RpcPending::Handoff(call.clone()),
                out,
            );
        }
        match command {
            Some((call, text)) => {
                let mut data = Vec::new();
                answers::moved(opened, call.command == "open_session", text.as_deref(), &mut data);
                self.respond(&call, Some(&|out| out.extend_from_slice(&data)), out);
            }
            None => {
                self.ready = true;
                Writer::event(&mut out.frames, "ready", |w| {
                    w.text("version", &self.options.version);
                });
                if let Some(title) = self.options.title.clone() {
                    self.send(Verb::Session(SessionVerb::Set(Change::Title(title))), RpcPending::Nothing, out);
                }
            }
        }
        if let Some(turn) = &opened.state.turn {
            self.view.run.join(turn, &opened.present, &self.view.known, &mut out.frames);
        }
        self.moving = false;
        self.release(out);
    }

    /// What belongs to the host and not to one session.
    pub(crate) fn carry_over(&mut self, level: Option<Arc<str>>, out: &mut Out) {
        if !self.host_tools.offered.is_empty() {
            let tools = self.host_tools.offered.clone();
            self.send(Verb::Session(SessionVerb::OfferTools { tools }), RpcPending::Nothing, out);
        }
        let (retry, compaction) = (self.options.retry, self.options.compaction);
        let mut changes = vec![Change::Retry(retry), Change::Compaction(compaction)];
        changes.extend((!self.lane.is_empty()).then_some(Change::Lane(self.lane)));
        changes.extend(self.locale.clone().map(|locale| Change::Locale(Some(locale))));
        changes.extend(level.map(|level| Change::Thinking(Some(level))));
        for change in changes {
            self.send(Verb::Session(SessionVerb::Set(change)), RpcPending::Nothing, out);
        }
    }

    pub(crate) fn not_moved(&mut self, call: &RpcCall, fault: &Fault, out: &mut Out) {
        self.fault(call, fault, out);
        self.moving = false;
        self.release(out);
    }

    /// The host is on a session that goes on from a summary; `null` when there was nothing to summarise.
    pub(crate) fn handed_over(&mut self, call: &RpcCall, summarised: bool, out: &mut Out) {
        self.respond(call, Some(&|out| out.extend_from_slice(if summarised { b"{}" } else { b"null" })), out);
        self.moving = false;
        self.release(out);
    }

    pub(crate) fn branch(&mut self, call: RpcCall, entry: &str, entries: &[Arc<Entry>], out: &mut Out) {
        let transcript = Transcript::new(entries, &self.view.known);
        let is_user = |kind: &LineKind| matches!(kind, LineKind::Message(said) if said.role == MessageRole::User);
        let at = transcript.line(entry).filter(|line| is_user(&line.kind)).map(|line| line.seq);
        let Some(at) = at else {
            let what = if call.command == "fork" { "forking" } else { "branching" };
            self.fail(&call, &format!("Invalid entry ID for {what}"), out);
            self.moving = false;
            return self.release(out);
        };
        self.send(Verb::Fork { at: Some(at) }, RpcPending::Fork(call), out);
    }

    // ---- stopping -----------------------------------------------------------------------------------------------

    /// Only a run says later that it has ended. A compaction, or a prompt that had not begun, is over by the time the
    /// engine says that it was stopped.
    pub(crate) fn stop_heard(&mut self, result: &Result<Reply, Fault>, out: &mut Out) {
        let was_running = matches!(result, Ok(Reply::Interrupted { was_running: true }));
        if was_running && self.view.run.is_on(&self.view.known) {
            self.view.stopping = true;
        } else {
            self.stopped(out);
        }
    }

    /// Nothing runs: whoever waited for that goes on.
    pub(crate) fn stopped(&mut self, out: &mut Out) {
        self.view.stopping = false;
        for call in std::mem::take(&mut self.aborts) {
            self.respond(&call, None, out);
        }
        for then in std::mem::take(&mut self.thens) {
            self.go_on(then, out);
        }
    }

    pub(crate) fn go_on(&mut self, then: Then, out: &mut Out) {
        match then {
            Then::Prompt(call, text) => self.prompt(call, text, out),
            Then::New(call, parent) => {
                self.parent = parent.map(Into::into);
                self.go_to(Which::New, call, None, out);
            }
            Then::Switch(call, path) => self.go_to(Which::Path(PathBuf::from(path)), call, None, out),
            Then::Branch(call, entry) => {
                let verb = Verb::Session(SessionVerb::Read { after: 0 });
                self.send(verb, RpcPending::Read(call, ReadFor::Branch { entry }), out);
            }
            Then::Clone(call) => self.send(Verb::Fork { at: None }, RpcPending::Fork(call), out),
            Then::Compact(call, instructions) => {
                let verb = SessionVerb::Compact { instructions: instructions.map(Into::into), wait: false };
                self.send(Verb::Session(verb), RpcPending::Compact(call), out);
            }
        }
    }
}
