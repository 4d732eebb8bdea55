//! What the answers of the engine and of the services mean.

use std::sync::Arc;

use vocab::{Entry, Fault, FaultKind, Recounted, Reply, RunRef, SessionId, SessionVerb, Tag, ToolSpec, TurnId};
use wire::{Close, CloseCode};

use crate::Gateway;
use crate::events::{self, ContentData, RunStateWord, run_state};
use crate::faults;
use crate::inbound::events::{ReplayWish, beyond};
use crate::ledger::{Awaits, RequestId, StopBy, Terminal};
use crate::own::{Code, GatewayAnswer, GatewayOwn, GatewayRefusal, Out, Scopes, Topic};
use crate::pending::{AfterOpen, AheadPlace, GatewayPending, SubscribePlan, WaitPlan, Wanted, WantedOfService};
use crate::results::{
    ConfirmResult, ExecuteResult, ForkResult, ForkedFrom, LoginResult, QueueCode, ReplayResult, SubscribeResult,
    SuccessResult, ToolInfo, ToolsResult,
};
use crate::run::GatewayRun;
use crate::session_view::{How, InQueue, WaitsFor};
use crate::shape::AnyJson;
use crate::tool_names::TOOL_NAMES;

/// Why a connection ends whose credential is gone.
pub const REVOKED: &str = "the credential was revoked";

impl Gateway {
    pub(crate) fn replied(&mut self, tag: Tag, result: Result<Reply, Fault>, out: &mut Out) {
        let Some(GatewayPending::Command { session, what }) = self.pending.answered(tag) else { return };
        if let Some(view) = session.as_ref().and_then(|session| self.view_mut(session)) {
            view.asked = view.asked.saturating_sub(1);
        }
        match what {
            Wanted::Opened(session) => {
                let opened = result.and_then(|reply| match reply {
                    Reply::Opened(opened) => Ok(opened),
                    _ => Err(Fault::new(FaultKind::Internal, "an answer came that belongs to another question")),
                });
                self.opened(&session, opened, out);
            }
            Wanted::ModelFirst(plan) => match (result, session.and_then(|session| self.view_at(&session))) {
                (Ok(_), Some(at)) => self.carry_out(at, AfterOpen::Create(plan), out),
                (Ok(_), None) => self.refuse(plan.id, &GatewayRefusal::mixed_up(), out),
                (Err(fault), _) => {
                    let refusal = self.incident_of(plan.id, faults::refused_change(&fault), out);
                    self.refuse(plan.id, &refusal, out);
                }
            },
            Wanted::Prompt { id, key } => self.prompted(session, id, tag, key, result, out),
            Wanted::Joins(id) => self.joins(session, id, result, out),
            Wanted::Ends(turn) => self.recounted_end(session, &turn, result, out),
            Wanted::Waits(plan) => self.waits(session, plan, result, out),
            Wanted::Part(work, part) => self.part_answered(work, part, session.as_ref(), result, out),
            Wanted::Subagents(work) => self.subagents_answered(work, result, out),
            Wanted::Called(id) => self.called(id, result, out),
            Wanted::Queue(id) => self.queue_told(id, result, out),
            Wanted::TakenBack(id) => self.taken_back(id, result, out),
            Wanted::Confirmed(id) => match result {
                Ok(_) => self.answer(id, &ConfirmResult { accepted: true }, out),
                Err(fault) if fault.kind == FaultKind::UnknownAsk => {
                    self.answer(id, &ConfirmResult { accepted: false }, out);
                }
                Err(fault) => self.faulty(id, &fault, out),
            },
            Wanted::Deleted { id, session } => self.deleted(id, &session, result, out),
            Wanted::Forked { id, from, at } => match result {
                Ok(Reply::Forked { session, .. }) => {
                    let forked_from = ForkedFrom { session_id: from.to_string(), seq: at };
                    self.answer(id, &ForkResult { session_id: session.to_string(), forked_from }, out);
                }
                Ok(_) => self.refuse(id, &GatewayRefusal::mixed_up(), out),
                Err(fault) => self.faulty(id, &fault, out),
            },
            Wanted::Tools(id) => match result {
                Ok(Reply::Inspected(it)) => self.answer(id, &tools(&it.spec.tools), out),
                Ok(Reply::Tools(list)) => self.answer(id, &tools(&list), out),
                Ok(_) => self.refuse(id, &GatewayRefusal::mixed_up(), out),
                Err(fault) => self.faulty(id, &fault, out),
            },
            Wanted::Nothing => {}
        }
    }

    pub(crate) fn faulty(&mut self, id: RequestId, fault: &Fault, out: &mut Out) {
        let refusal = self.incident_of(id, faults::refusal(fault, None), out);
        self.refuse(id, &refusal, out);
    }

    /// A message was taken, waits, or was refused.
    fn prompted(
        &mut self,
        session: Option<SessionId>,
        id: RequestId,
        tag: Tag,
        key: Option<Arc<str>>,
        result: Result<Reply, Fault>,
        out: &mut Out,
    ) {
        let at = session.as_ref().and_then(|session| self.view_at(session));
        let by = self.stops.iter().find(|wish| wish.id == id).map_or(StopBy::Sender, |wish| wish.by);
        let Some((at, session)) = at.zip(session) else {
            let refusal = result.err().map_or_else(GatewayRefusal::mixed_up, |fault| faults::not_taken(&fault, by));
            let refusal = self.incident_of(id, refusal, out);
            return self.fail(id, &refusal, out);
        };
        match result {
            Ok(Reply::Started { turn }) => {
                let how = self.views[at].how_begun(&turn);
                self.starts(at, id, &turn, (how, false), out);
            }
            Ok(Reply::Waiting { item, .. }) => {
                let view = &mut self.views[at];
                // Where no run goes on it waits for something else, such as a place.
                if view.state.lane.mode == vocab::LaneMode::Interrupt && view.is_running() {
                    let text = "stopping what runs for this message".to_owned();
                    let notice = ContentData { text, transient: Some(true), is_final: None };
                    self.ledger.event(id, &events::tail("content", &notice), out);
                }
                view.waiting.push(InQueue { id, item: item.clone(), is_own: true, is_repeat: false });
                self.ledger.put(id, Awaits::Waiting { session, item });
            }
            Ok(Reply::Again(_)) => {
                let Some(key) = key else { return self.refuse(id, &GatewayRefusal::mixed_up(), out) };
                self.want(&session, SessionVerb::Recount { of: RunRef::Key(key) }, Wanted::Joins(id), out);
                return;
            }
            Ok(_) => return self.fail(id, &GatewayRefusal::mixed_up(), out),
            Err(fault) => {
                let view = &mut self.views[at];
                let note = view.refused.iter().position(|(of, _)| *of == tag).map(|note| view.refused.remove(note).1);
                let note = note.or_else(|| (fault.kind == FaultKind::QueueFull).then(|| Box::new(view.usual_note())));
                return match note {
                    Some(note) => self.dropped(id, QueueCode::Overflow, &session, &note, out),
                    None => {
                        let refusal = self.incident_of(id, faults::not_taken(&fault, by), out);
                        self.fail(id, &refusal, out);
                    }
                };
            }
        }
        self.stop_as_said(id, out);
    }

    /// Somebody wanted this request to end before it was known how: it is known now. The first word counts, for its reason is
    /// the one that is told.
    pub(crate) fn stop_as_said(&mut self, id: RequestId, out: &mut Out) {
        for wish in self.stops.extract_if(.., |wish| wish.id == id).collect::<Vec<_>>() {
            self.work(wish.work, |work| work.left = work.left.saturating_sub(1));
            self.cancel_one(id, wish.work, wish.by, out);
            self.work_done(wish.work, out);
        }
    }

    /// Those that ended by themselves before it was known how to stop them: there is nothing to stop.
    pub(crate) fn stops_too_late(&mut self, out: &mut Out) {
        let ledger = &self.ledger;
        for wish in self.stops.extract_if(.., |wish| !ledger.is_open(wish.id)).collect::<Vec<_>>() {
            self.work(wish.work, |work| work.left = work.left.saturating_sub(1));
            self.work_done(wish.work, out);
        }
    }

    /// A request is in a run from here on. `is_repeat`: its message is there already, and came so.
    pub(crate) fn starts(
        &mut self,
        at: usize,
        id: RequestId,
        turn: &TurnId,
        (how, is_repeat): (How, bool),
        out: &mut Out,
    ) {
        let now_ms = self.options.clock.now_ms();
        let view = &mut self.views[at];
        view.run_of(turn);
        let session = view.session.clone();
        view.ids.push(crate::session_view::InRun { id, how, is_repeat, timed_out: false });
        self.ledger.put(id, Awaits::Running { session, turn: turn.clone() });
        self.ledger.event(id, &run_state(RunStateWord::Start, now_ms), out);
    }

    fn called(&mut self, id: RequestId, result: Result<Reply, Fault>, out: &mut Out) {
        match result {
            Ok(Reply::Called(result)) => {
                let shown = events::shown(&result);
                let executed = ExecuteResult {
                    success: shown.outcome.success,
                    output: shown.outcome.output,
                    error: shown.outcome.error.0,
                    truncated: shown.truncated,
                    full_bytes: shown.full_bytes,
                };
                self.answer(id, &executed, out);
            }
            Ok(_) => self.refuse(id, &GatewayRefusal::mixed_up(), out),
            Err(fault) if fault.kind == FaultKind::NotFound => {
                let refusal = GatewayRefusal::new(Code::ToolNotFound, faults::message(&fault.message));
                self.refuse(id, &refusal.because("unknown_tool"), out);
            }
            Err(fault) if fault.kind == FaultKind::Invalid => {
                self.refuse(id, &GatewayRefusal::invalid("invalid_args", faults::message(&fault.message)), out);
            }
            Err(fault) => self.faulty(id, &fault, out),
        }
    }

    fn deleted(&mut self, id: RequestId, session: &SessionId, result: Result<Reply, Fault>, out: &mut Out) {
        let is_attached = *session == self.attached;
        match result {
            Ok(_) => {}
            // A name without a session is gone as soon as nobody has it.
            Err(fault) if is_attached && matches!(fault.kind, FaultKind::NotFound | FaultKind::UnknownSession) => {}
            Err(fault) if matches!(fault.kind, FaultKind::NotFound | FaultKind::UnknownSession) => {
                return self.refuse(id, &GatewayRefusal::no_session(session), out);
            }
            Err(fault) => return self.faulty(id, &fault, out),
        }
        if let Some(at) = self.view_at(session) {
            self.gone(at, &Fault::new(FaultKind::UnknownSession, "the session was deleted"), out);
        }
        if is_attached {
            self.attached = self.fresh_session();
        }
        self.answer(id, &SuccessResult { success: true }, out);
    }

    pub(crate) fn own_replied(&mut self, tag: Tag, answer: Result<GatewayAnswer, GatewayRefusal>, out: &mut Out) {
        let Some(GatewayPending::Call(what)) = self.pending.answered(tag) else { return };
        let answer = match answer {
            Ok(GatewayAnswer::Last(answer)) => {
                out.close_with(Close::new(CloseCode::PolicyViolation, REVOKED));
                Ok(GatewayAnswer::Service(answer))
            }
            answer => answer,
        };
        match what {
            WantedOfService::Login(id) => self.logged_in(id, answer, out),
            WantedOfService::Answer { id, told } => match answer.and_then(|answer| told(self, answer)) {
                Ok(json) => {
                    self.ledger.settle(id, Terminal::Result(&json), out);
                }
                Err(refusal) => self.refuse(id, &refusal, out),
            },
            WantedOfService::Exists { session, after } => {
                let exists = answer.and_then(|answer| match answer {
                    GatewayAnswer::Exists(exists) => Ok(exists),
                    _ => Err(GatewayRefusal::mixed_up()),
                });
                self.existed(session, *after, exists, out);
            }
            WantedOfService::FindsRun(plan) => {
                // What nobody remembers may be in the log of the session that is meant where none is named.
                let found = match answer {
                    Ok(GatewayAnswer::RunIn(Some(session))) => session,
                    _ => self.attached.clone(),
                };
                self.on_known_session(found, AfterOpen::Wait(plan), out);
            }
            WantedOfService::AttachedDeleted(session) => match answer {
                Ok(GatewayAnswer::Exists(false)) => self.attached_deleted(&session),
                // A newer call watches.
                Ok(GatewayAnswer::Exists(true)) => {}
                Ok(_) | Err(_) => self.watch_failed(&session, out),
            },
            WantedOfService::Replay { id, wish } => match answer.and_then(|answer| self.replayed(&wish, answer)) {
                Ok(page) => self.answer(id, &page, out),
                Err(refusal) => self.refuse(id, &refusal, out),
            },
            WantedOfService::HasPlace { plan, seq } => {
                let has = answer.and_then(entries).map(|entries| entries.iter().any(|entry| entry.seq == seq));
                self.has_place(plan, has, out);
            }
            WantedOfService::CatchUp { session, subscription } => {
                self.caught_up(&session, subscription, answer.and_then(entries), out);
            }
            WantedOfService::Paired(work) => self.paired(work, answer, out),
            WantedOfService::Checkpointed { session, turn } => self.checkpointed(&session, &turn, answer, out),
            WantedOfService::News(asked) => {
                // They are in the services' memory: nothing can keep them from being told.
                let Ok(GatewayAnswer::News { items, mark }) = answer else { return };
                self.news.tell(&items, mark, &self.ledger, out);
                if asked == self.news.asked && !self.news.topics().is_empty() {
                    self.ask_news(out);
                }
            }
            WantedOfService::Nothing => {}
        }
    }

    fn replayed(&self, wish: &ReplayWish, answer: GatewayAnswer) -> Result<ReplayResult, GatewayRefusal> {
        match answer {
            GatewayAnswer::Entries { entries, more } => wish.page(&entries, more, &self.options.prices),
            GatewayAnswer::EntriesBefore { entries, first } => {
                Ok(wish.page_before(&entries, first, &self.options.prices))
            }
            _ => Err(GatewayRefusal::mixed_up()),
        }
    }

    /// The call that waits for news. Where nobody wants any more it says so, and waits for nothing.
    pub(crate) fn ask_news(&mut self, out: &mut Out) {
        let topics = self.news.topics();
        self.news.asked += 1;
        let answers = topics.contains(&Topic::Asks) && self.scopes().has(Scopes::TOOLS);
        let call = GatewayOwn::News { topics, after: self.news.mark(), answers };
        self.call(call, WantedOfService::News(self.news.asked), out);
    }

    /// Where a subscription is on all its sessions: its answer, and then its events.
    pub(crate) fn subscribed_if_ready(&mut self, number: u64, out: &mut Out) {
        let Some(at) = self.subscribing.iter().position(|it| it.number == number && it.left == 0) else { return };
        let plan = &self.subscribing[at];
        if !self.ledger.is_open(plan.id) {
            self.subscribing.remove(at);
            return;
        }
        // Who has lost one of them meanwhile looks for it again: an answer says that all of them are heard.
        let lost: Vec<SessionId> = plan.sessions.iter().filter(|it| self.view_at(it).is_none()).cloned().collect();
        if !lost.is_empty() {
            let id = plan.id;
            self.subscribing[at].left = lost.len();
            for session in lost {
                self.on_known_session(session, AfterOpen::Subscribe { id, plan: number }, out);
            }
            return;
        }
        let first = plan.sessions.first().and_then(|session| self.view_at(session));
        let stands = first.map_or(0, |at| self.views[at].at.seq);
        // Another connection may have been told more than this one, but nobody more than is stored.
        if let (Some(after), Some(session)) = (plan.after.filter(|after| after.seq > stands), plan.sessions.first()) {
            match plan.place {
                AheadPlace::Unknown => {
                    let (session, seq) = (session.clone(), after.seq);
                    self.subscribing[at].place = AheadPlace::Asked;
                    let call = GatewayOwn::Read { session, after: seq - 1, limit: 1 };
                    return self.call(call, WantedOfService::HasPlace { plan: number, seq }, out);
                }
                AheadPlace::InLog if after.whole_seq() <= stands => {}
                AheadPlace::Asked | AheadPlace::InLog => return,
            }
        }
        let SubscribePlan { id, sessions, topics, after, thinking, .. } = self.subscribing.remove(at);
        let subscription = self.ledger.next_subscription();
        let cursor = after.unwrap_or_else(|| crate::cursor::EventCursor::at(stands));
        let result = SubscribeResult { subscription_id: subscription.0, seq: cursor.seq, cursor };
        let json = crate::written(&result);
        self.ledger.settle_subscribed(id, Terminal::Result(&json), out);
        for session in sessions {
            self.listens(&session, subscription, (after, thinking), out);
        }
        if self.news.want(subscription, topics) {
            self.ask_news(out);
        }
    }

    /// Whether the log has got to where a subscription wants to begin. The connection is told it in a moment, and then begins.
    fn has_place(&mut self, number: u64, has: Result<bool, GatewayRefusal>, out: &mut Out) {
        let Some(at) = self.subscribing.iter().position(|it| it.number == number) else { return };
        let refusal = match has {
            Ok(true) => {
                self.subscribing[at].place = AheadPlace::InLog;
                return self.subscribed_if_ready(number, out);
            }
            Ok(false) => {
                let stands = self.subscribing[at].sessions.first().and_then(|session| self.view_at(session));
                beyond(self.subscribing[at].after.unwrap_or_default(), stands.map(|at| self.views[at].at.seq))
            }
            Err(refusal) => refusal,
        };
        let plan = self.subscribing.remove(at);
        self.refuse(plan.id, &refusal, out);
    }

    /// Subscriptions that waited until this connection was told what they know already.
    pub(crate) fn subscribe_waiting(&mut self, out: &mut Out) {
        let waiting = self.subscribing.iter().filter(|it| it.place == AheadPlace::InLog);
        let waiting: Vec<u64> = waiting.map(|it| it.number).collect();
        waiting.into_iter().for_each(|number| self.subscribed_if_ready(number, out));
    }

    fn logged_in(&mut self, id: RequestId, answer: Result<GatewayAnswer, GatewayRefusal>, out: &mut Out) {
        match answer {
            Ok(GatewayAnswer::LoggedIn { name, scopes }) => {
                self.auth.known(scopes);
                // Whether this connection answers questions may be otherwise now.
                if !self.news.topics().is_empty() {
                    self.ask_news(out);
                }
                let (connection_id, scopes) = (self.connection.clone(), scopes.words());
                self.answer(id, &LoginResult { authenticated: true, connection_id, scopes, name }, out);
            }
            Ok(_) => self.refuse(id, &GatewayRefusal::mixed_up(), out),
            Err(refusal) => {
                self.refuse(id, &refusal, out);
                if refusal.code == Code::AuthFailed
                    && let Some(close) = self.auth.failed()
                {
                    out.close_with(close);
                }
            }
        }
    }

    /// Who waits for a run.
    fn waits(&mut self, session: Option<SessionId>, plan: WaitPlan, result: Result<Reply, Fault>, out: &mut Out) {
        let WaitPlan { id, of, mut elsewhere } = plan;
        let at = session.as_ref().and_then(|session| self.view_at(session));
        let (recounted, at) = match (result, at) {
            (Ok(Reply::Recounted(recounted)), Some(at)) => (recounted, at),
            (Err(fault), _) if fault.kind == FaultKind::NotFound => {
                while let Some(next) = elsewhere.pop() {
                    if let Some(at) = self.view_at(&next) {
                        return self.carry_out(at, AfterOpen::Wait(WaitPlan { id, of, elsewhere }), out);
                    }
                }
                return self.refuse(id, &GatewayRefusal::invalid("unknown_run", "there is no such run here"), out);
            }
            (Err(fault), _) => return self.faulty(id, &fault, out),
            _ => return self.refuse(id, &GatewayRefusal::mixed_up(), out),
        };
        let session = self.views[at].session.clone();
        let Recounted { turn, item, settled, ended, entries } = *recounted;
        let of = match (turn, item) {
            (Some(turn), _) if ended => {
                let run = GatewayRun::recounted(turn, &entries, &mut Vec::new());
                return self.wait_over(id, &run, out);
            }
            (Some(turn), _) => {
                // One that goes on after a restart may have begun to do so behind the opening, without a start.
                if self.views[at].run.is_none() {
                    self.views[at].run_of(&turn);
                }
                WaitsFor::Turn(turn)
            }
            (None, Some(item)) if !ended => WaitsFor::Item(item),
            (None, _) => {
                let refusal = faults::never_began(settled, &session, &self.views[at].usual_note());
                return self.refuse(id, &refusal, out);
            }
        };
        self.views[at].held.push(crate::session_view::HeldWait { id, of });
        self.ledger.put(id, Awaits::Held { session });
        // Its time was over before this was known.
        if self.ledger.deadline(id).is_none() {
            self.wait_timed_out(id, out);
        }
    }
}

fn entries(answer: GatewayAnswer) -> Result<Vec<Arc<Entry>>, GatewayRefusal> {
    match answer {
        GatewayAnswer::Entries { entries, .. } => Ok(entries),
        _ => Err(GatewayRefusal::mixed_up()),
    }
}

fn tools(list: &[ToolSpec]) -> ToolsResult {
    let info = |tool: &ToolSpec| ToolInfo {
        name: TOOL_NAMES.show(&tool.name).to_owned(),
        description: tool.description.clone(),
        input_schema: AnyJson(tool.schema.on_one_line()),
    };
    ToolsResult { tools: list.iter().map(info).collect() }
}
