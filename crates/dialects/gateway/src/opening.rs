//! Being on sessions: a connection goes onto one when a request needs it, once for all who wait, and leaves it when nothing does.

use std::sync::Arc;

use vocab::{
    Abilities, Along, Change, Command, Cursor, Fault, IdKind, Level, OnRestart, Open, Opened, Position, SessionId,
    SessionVerb, Tag, Target, Verb, Which,
};

use crate::Gateway;
use crate::faults;
use crate::ledger::{Awaits, RequestId};
use crate::methods::{OwnPlan, ToldBy};
use crate::own::{Code, GatewayOwn, GatewayRefusal, Out};
use crate::pending::{AfterOpen, CreatePlan, GatewayPending, SendPlan, Wanted, WantedOfService, WorkEnd, WorkPart};
use crate::results::ConfirmResult;
use crate::session_view::{OpenConfirm, SessionView, VIEWS_MAX};

/// What a connection can do on every session. No event of this wire could show an extension's dialog, and `tool_confirm` says
/// until when it is to be answered.
const ABLE: Abilities = Abilities {
    answers: false,
    has_time: false,
    dialogs: false,
    level: Level::Deltas,
    editor: None,
    tools: None,
    only_listens: false,
};

/// Requests that wait until the connection is on a session.
pub(crate) struct Opening {
    session: SessionId,
    waiting: Vec<AfterOpen>,
}

impl Gateway {
    pub(crate) fn view_at(&self, session: &SessionId) -> Option<usize> {
        self.views.iter().position(|view| view.session == *session)
    }
    pub(crate) fn view_mut(&mut self, session: &SessionId) -> Option<&mut SessionView> {
        self.views.iter_mut().find(|view| view.session == *session)
    }
    pub(crate) fn is_opening(&self, session: &SessionId) -> bool {
        self.opening.iter().any(|opening| opening.session == *session)
    }

    /// Asks a session that the connection is on. The tag of the command.
    pub(crate) fn want(&mut self, session: &SessionId, verb: SessionVerb, what: Wanted, out: &mut Out) -> Tag {
        self.submit(session, Verb::Session(verb), what, out)
    }
    pub(crate) fn submit(&mut self, session: &SessionId, verb: Verb, what: Wanted, out: &mut Out) -> Tag {
        let pending = GatewayPending::Command { session: Some(session.clone()), what };
        let tag = self.pending.submit(Target::Session(session.clone()), verb, pending, out);
        if let Some(view) = self.view_mut(session) {
            view.asked += 1;
        }
        tag
    }
    /// Asks a service.
    pub(crate) fn call(&mut self, call: GatewayOwn, what: WantedOfService, out: &mut Out) {
        self.pending.call(call, GatewayPending::Call(what), out);
    }
    /// Has a service answer a request.
    pub(crate) fn ask_service(&mut self, id: RequestId, plan: OwnPlan, told: ToldBy, out: &mut Out) {
        match plan {
            OwnPlan::Call(call) => self.call(call, WantedOfService::Answer { id, told }, out),
            OwnPlan::KeepFirst { session, call } => {
                self.on_session(&session, AfterOpen::Service { id, call, told }, out);
            }
        }
    }

    /// Does this on the session: now where the connection is on it, else when it is. One that is unknown is made.
    pub(crate) fn on_session(&mut self, session: &SessionId, after: AfterOpen, out: &mut Out) {
        let id = after.id();
        if let Some(at) = self.view_at(session) {
            return self.carry_out(at, after, out);
        }
        let sends = matches!(after, AfterOpen::Send(_));
        let stage = match sends {
            true => Awaits::Opening { session: session.clone() },
            false => Awaits::Asked { session: Some(session.clone()), aside: None },
        };
        self.ledger.put(id, stage);
        if let Some(opening) = self.opening.iter_mut().find(|opening| opening.session == *session) {
            return opening.waiting.push(after);
        }
        if self.views.len() + self.opening.len() >= VIEWS_MAX {
            let message = format!("a connection is on at most {VIEWS_MAX} sessions at once");
            let refusal = GatewayRefusal::new(Code::Busy, message).because("too_many_sessions");
            return self.not_opened(after, &refusal, out);
        }
        let open = self.open_for(session, &after);
        self.opening.push(Opening { session: session.clone(), waiting: vec![after] });
        let what = GatewayPending::apart(Wanted::Opened(session.clone()));
        self.pending.submit(Target::Session(session.clone()), Verb::Open(open), what, out);
    }

    /// The same for a session that must exist. The attached one does.
    pub(crate) fn on_known_session(&mut self, session: SessionId, after: AfterOpen, out: &mut Out) {
        if session == self.attached || self.view_at(&session).is_some() || self.is_opening(&session) {
            return self.on_session(&session, after, out);
        }
        let wanted = WantedOfService::Exists { session: session.clone(), after: Box::new(after) };
        self.call(GatewayOwn::Exists { session }, wanted, out);
    }

    pub(crate) fn existed(
        &mut self,
        session: SessionId,
        after: AfterOpen,
        exists: Result<bool, GatewayRefusal>,
        out: &mut Out,
    ) {
        match exists {
            Ok(true) => self.on_session(&session, after, out),
            Ok(false) => self.not_opened(after, &GatewayRefusal::no_session(&session), out),
            Err(refusal) => self.not_opened(after, &refusal, out),
        }
    }

    /// It cannot be done.
    fn not_opened(&mut self, after: AfterOpen, refusal: &GatewayRefusal, out: &mut Out) {
        match after {
            // Where there is no session nothing runs.
            AfterOpen::Cancel { work, .. } => {
                if refusal.code != Code::SessionNotFound {
                    self.work(work, |work| work.refused = Some(refusal.clone()));
                }
                self.work(work, |work| work.left -= 1);
                self.work_done(work, out);
            }
            AfterOpen::Subscribe { id, plan } => {
                self.subscribing.retain(|it| it.number != plan);
                self.refuse(id, refusal, out);
            }
            AfterOpen::Send(plan) => self.fail(plan.id, refusal, out),
            // Where there is no session no question is open.
            AfterOpen::Confirm { id, .. } if refusal.code == Code::SessionNotFound => {
                self.answer(id, &ConfirmResult { accepted: false }, out);
            }
            after => self.refuse(after.id(), refusal, out),
        }
    }

    fn plan_after(&self, plan: u64) -> Option<crate::cursor::EventCursor> {
        self.subscribing.iter().find(|it| it.number == plan).and_then(|plan| plan.after)
    }

    fn open_for(&self, session: &SessionId, after: &AfterOpen) -> Open {
        let only_listens = after.only_listens();
        let answers = matches!(after, AfterOpen::Callback { enabled: true, .. });
        let cursor = match after {
            AfterOpen::Subscribe { plan, .. } => self.plan_after(*plan),
            _ => None,
        };
        let plan = match after {
            AfterOpen::Create(plan) => Some(plan),
            _ => None,
        };
        let at = |cursor: crate::cursor::EventCursor| Cursor {
            session: Some(session.clone()),
            at: Position::at(cursor.whole_seq()),
            along: Along::Log,
        };
        Open {
            workspace: plan.and_then(|plan| plan.cwd.clone()),
            model: plan.and_then(|plan| plan.model.clone()),
            keep: after.keeps(),
            without_model: true,
            tool_names: Some(vocab::names::CANONICAL),
            abilities: Abilities { answers, only_listens, ..ABLE },
            usual: (self.options.usual)(session),
            on_restart: Some(OnRestart::Continue),
            after: cursor.map(at),
            ..Open::new(Which::Named(session.clone()))
        }
    }

    /// The connection is on the session, or not.
    pub(crate) fn opened(&mut self, session: &SessionId, result: Result<Box<Opened>, Fault>, out: &mut Out) {
        let waiting = match self.opening.iter().position(|opening| opening.session == *session) {
            Some(at) => self.opening.remove(at).waiting,
            None => Vec::new(),
        };
        let opened = match result {
            Ok(opened) => opened,
            Err(fault) => {
                let refusal = self.incident(faults::refusal(&fault, None), out);
                let mut waiting = waiting.into_iter();
                // The open failed only for the first waiter's `afterSeq`; the others try again without it.
                if fault.kind == vocab::FaultKind::Invalid
                    && let Some(AfterOpen::Subscribe { plan, .. }) = waiting.as_slice().first()
                    && let Some(after) = self.plan_after(*plan)
                    && let Some(first) = waiting.next()
                {
                    let message = format!("`afterSeq` is {after}: {}", refusal.message);
                    self.not_opened(first, &GatewayRefusal::wrong_param("afterSeq", message), out);
                    return waiting.for_each(|after| self.on_session(session, after, out));
                }
                return waiting.for_each(|after| self.not_opened(after, &refusal, out));
            }
        };
        let at = match self.view_at(session) {
            // There was a view already: this open only saved the session.
            Some(at) => at,
            None => {
                let at = match opened.present.attached {
                    vocab::Attached::After(after) => after,
                    vocab::Attached::Live | vocab::Attached::Anew { .. } => opened.present.at,
                };
                let mut view = SessionView::new(session.clone(), Arc::new(opened.state), at, out.now_ms);
                view.run.iter_mut().for_each(|run| run.joins_round(&opened.present.round));
                view.only_listens = waiting.first().is_some_and(AfterOpen::only_listens);
                view.callback = self.callbacks.contains(session);
                view.depth = opened.present.waiting.len();
                view.asks = opened.present.asks.iter().filter_map(|entry| OpenConfirm::of(entry)).collect();
                self.views.push(view);
                self.views.len() - 1
            }
        };
        let is_kept = waiting.first().is_some_and(AfterOpen::keeps);
        for (number, after) in waiting.into_iter().enumerate() {
            match is_kept {
                true => self.carry_out_kept(at, after, !opened.resumed && number == 0, out),
                // It was opened for something that did not need it saved.
                false => self.carry_out(at, after, out),
            }
        }
    }

    /// Carries `after` out. Where it needs a saved session and nothing is written yet, the session is saved first.
    pub(crate) fn carry_out(&mut self, at: usize, after: AfterOpen, out: &mut Out) {
        match after {
            AfterOpen::Create(plan) if plan.model.is_some() => self.model_first(at, plan, out),
            after if after.keeps() && self.views[at].at.seq == 0 => self.keep_view(at, after, out),
            after => self.carry_out_kept(at, after, false, out),
        }
    }

    /// The same on a session that is saved as far as this needs it. `created`: it was made for this.
    fn carry_out_kept(&mut self, at: usize, after: AfterOpen, created: bool, out: &mut Out) {
        let (id, session) = (after.id(), self.views[at].session.clone());
        if !self.ledger.is_open(id) {
            return;
        }
        if !after.only_listens() && self.views[at].only_listens {
            self.views[at].only_listens = false;
            self.tell_able(at, out);
        }
        let asked = Awaits::Asked { session: Some(session.clone()), aside: None };
        match after {
            AfterOpen::Send(plan) => self.send_on(*plan, out),
            AfterOpen::Create(plan) => self.create_on(at, plan, created, out),
            AfterOpen::Patch { id, changes, queue, notify } => {
                self.ledger.put(id, asked);
                let work = self.begin_work(id, WorkEnd::Patched { session: session.clone(), notify });
                self.set_all(work, at, changes, queue, out);
                self.work_part(work, &session, SessionVerb::Inspect, WorkPart::Inspect, out);
            }
            AfterOpen::Fork { id, at: seq } => {
                self.ledger.put(id, asked);
                let at = seq.or(Some(self.views[at].at.seq));
                let what = Wanted::Forked { id, from: session.clone(), at };
                self.submit(&session, Verb::Fork { at: seq }, what, out);
            }
            AfterOpen::Cancel { work, .. } => {
                self.work(work, |work| work.left -= 1);
                self.clear_and_interrupt(&session, work, out);
            }
            AfterOpen::Command { id, plan } => {
                self.ledger.put(id, asked);
                self.command_on(at, id, plan, out);
            }
            AfterOpen::Callback { id, enabled } => self.callback_on(at, id, enabled, out),
            AfterOpen::Confirm { id, of, answer } => self.confirm_on(at, id, &of, answer, out),
            AfterOpen::Queue { id, remove } => self.queue_on(at, id, remove, out),
            AfterOpen::Wait(plan) => {
                self.ledger.put(id, asked);
                let of = plan.of.clone();
                self.want(&session, SessionVerb::Recount { of }, Wanted::Waits(plan), out);
            }
            AfterOpen::Tools { id } => {
                self.ledger.put(id, asked);
                self.want(&session, SessionVerb::Inspect, Wanted::Tools(id), out);
            }
            AfterOpen::Execute { id, tool, input, limit_ms } => {
                let verb = SessionVerb::Call { tool, input, limit_ms: Some(limit_ms) };
                let tag = self.want(&session, verb, Wanted::Called(id), out);
                self.ledger.put(id, Awaits::Asked { session: Some(session), aside: Some(tag) });
            }
            AfterOpen::Subscribe { plan, .. } => {
                if let Some(plan) = self.subscribing.iter_mut().find(|it| it.number == plan) {
                    plan.left = plan.left.saturating_sub(1);
                }
                self.subscribed_if_ready(plan, out);
            }
            AfterOpen::Service { id, call, told } => self.call(call, WantedOfService::Answer { id, told }, out),
        }
    }

    /// Saves a session that this connection is on. Once for all who need it.
    fn keep_view(&mut self, at: usize, after: AfterOpen, out: &mut Out) {
        let session = self.views[at].session.clone();
        self.ledger.put(after.id(), Awaits::Asked { session: Some(session.clone()), aside: None });
        if let Some(opening) = self.opening.iter_mut().find(|opening| opening.session == session) {
            return opening.waiting.push(after);
        }
        let open = Open { abilities: self.abilities(at), ..self.open_for(&session, &after) };
        self.opening.push(Opening { session: session.clone(), waiting: vec![after] });
        let what = GatewayPending::apart(Wanted::Opened(session.clone()));
        self.pending.submit(Target::Session(session), Verb::Open(open), what, out);
    }

    /// Changes the model of an existing session first, so that one that cannot be had changes nothing.
    fn model_first(&mut self, at: usize, mut plan: Box<CreatePlan>, out: &mut Out) {
        let Some(model) = plan.model.take() else { return };
        let session = self.views[at].session.clone();
        self.ledger.put(plan.id, Awaits::Asked { session: Some(session.clone()), aside: None });
        self.want(&session, SessionVerb::Set(Change::Model(model)), Wanted::ModelFirst(plan), out);
    }

    fn create_on(&mut self, at: usize, plan: Box<CreatePlan>, created: bool, out: &mut Out) {
        // One that was opened for this was opened with it.
        if plan.model.is_some() && !created {
            return self.model_first(at, plan, out);
        }
        let session = self.views[at].session.clone();
        self.ledger.put(plan.id, Awaits::Asked { session: Some(session.clone()), aside: None });
        let work = self.begin_work(plan.id, WorkEnd::Created { session, created });
        self.set_all(work, at, plan.changes, plan.queue, out);
        self.work_done(work, out);
    }

    /// Changes of a session, all or none, as a part of a work.
    pub(crate) fn set_all(
        &mut self,
        work: crate::pending::WorkId,
        at: usize,
        mut changes: Vec<Change>,
        queue: Option<crate::params::QueuePart>,
        out: &mut Out,
    ) {
        let session = self.views[at].session.clone();
        changes.extend(queue.map(|queue| Change::Lane(queue.wish())));
        if !changes.is_empty() {
            self.work_part(work, &session, SessionVerb::SetAll(changes), WorkPart::Set, out);
        }
    }

    /// A message, and the model that it chooses if it is taken.
    fn send_on(&mut self, plan: SendPlan, out: &mut Out) {
        let SendPlan { id, session, parts, key, model, trace } = plan;
        self.ledger.put(id, Awaits::Offered { session: session.clone() });
        // The message has what is left of the request's time, and keeps it where this connection goes first.
        let limit_ms = self.ledger.deadline(id).map(|at| at.saturating_sub(out.now_ms));
        let verb = SessionVerb::Prompt { parts, delivery: vocab::Delivery::Policy };
        self.want(&session, verb, Wanted::Prompt { id, key: key.clone() }, out);
        if let Some(command) = out.commands.last_mut() {
            *command = Command { key, trace, model, limit_ms, ..command.clone() };
        }
    }

    fn abilities(&self, at: usize) -> Abilities {
        let view = &self.views[at];
        let (answers, only_listens) = (view.callback, view.only_listens);
        Abilities { answers, only_listens, ..ABLE }
    }
    /// What this connection can do on the session from now on.
    pub(crate) fn tell_able(&mut self, at: usize, out: &mut Out) {
        let (session, abilities) = (self.views[at].session.clone(), self.abilities(at));
        self.want(&session, SessionVerb::Able(abilities), Wanted::Nothing, out);
    }

    fn callback_on(&mut self, at: usize, id: RequestId, enabled: bool, out: &mut Out) {
        let session = self.views[at].session.clone();
        self.views[at].callback = enabled;
        self.callbacks.retain(|it| *it != session);
        if enabled {
            self.callbacks.push(session.clone());
        }
        self.ledger.put(id, Awaits::Asked { session: Some(session.clone()), aside: None });
        let work = self.begin_work(id, WorkEnd::Callback);
        let able = SessionVerb::Able(self.abilities(at));
        self.work_part(work, &session, able, WorkPart::Set, out);
        if enabled {
            self.show_asks(at, out);
        }
    }

    /// Adds an incident id to look for in the log, unless the request is settled and nobody would see it.
    pub(crate) fn incident_of(&self, id: RequestId, refusal: GatewayRefusal, out: &mut Out) -> GatewayRefusal {
        if self.ledger.is_open(id) { self.incident(refusal, out) } else { refusal }
    }
    pub(crate) fn incident(&self, refusal: GatewayRefusal, out: &mut Out) -> GatewayRefusal {
        if refusal.code != Code::Internal {
            return refusal;
        }
        let incident = self.options.ids.mint(IdKind::Item);
        out.notes.push(format!("incident {incident}: {}", refusal.message));
        faults::outward(refusal).with("incident", incident)
    }
}
