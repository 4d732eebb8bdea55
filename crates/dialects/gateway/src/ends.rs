//! How requests end with their run, with their session, or with the process.

use vocab::{Fault, FaultKind, LaneNote, Reply, RunRef, SessionId, SessionVerb, TurnId, WaitingOnRestart};
use wire::{Close, CloseCode, Parting};

use crate::events::{self, DoneData, RunStateWord, run_state};
use crate::faults::{self, RunEnd};
use crate::ledger::{RequestId, Terminal};
use crate::own::{Code, GatewayRefusal, Out};
use crate::pending::Wanted;
use crate::projection::error_data;
use crate::results::{Collected, QueueCode, SendResult, UsageSum, WaitError, WaitResult, WaitState};
use crate::run::{GatewayRun, Tails};
use crate::session_view::{AboutContext, EndedRun, HeldWait, How, InRun, WaitsFor};
use crate::shape::AnyJson;
use crate::{Gateway, OnDisconnect};

impl Gateway {
    /// The `error` event, and then the error frame with the same code.
    pub(crate) fn fail(&mut self, id: RequestId, refusal: &GatewayRefusal, out: &mut Out) {
        self.ledger.event(id, &events::tail("error", &error_data(refusal)), out);
        self.refuse(id, refusal, out);
    }

    /// A lane did not take or keep a message.
    pub(crate) fn dropped(&mut self, id: RequestId, code: QueueCode, lane: &SessionId, note: &LaneNote, out: &mut Out) {
        let (refusal, data) = faults::dropped(code, lane, note);
        self.ledger.event(id, &events::tail("error", &data), out);
        self.refuse(id, &refusal, out);
    }

    /// Sends the last frames of a run whose end was logged, once the `State` behind it has said how full the context is.
    pub(crate) fn flush(&mut self, at: usize, out: &mut Out) {
        let view = &mut self.views[at];
        if !view.run.as_ref().is_some_and(GatewayRun::is_over) {
            return;
        }
        let Some(run) = view.run.take() else { return };
        let ids = std::mem::take(&mut view.ids);
        let is_of = |it: &HeldWait| matches!(&it.of, WaitsFor::Turn(turn) if *turn == run.turn);
        let (held, left) = std::mem::take(&mut view.held).into_iter().partition(is_of);
        view.held = left;
        let ended = EndedRun { run, ids, held, context: AboutContext::Unknown };
        if ended.run.is_whole || ended.run.is_lost || (ended.ids.is_empty() && ended.held.is_empty()) {
            return self.run_over(at, ended, out);
        }
        // Not all of it was heard here.
        let (session, turn) = (view.session.clone(), ended.run.turn.clone());
        view.ended.push(ended);
        self.want(&session, SessionVerb::Recount { of: RunRef::Turn(turn.clone()) }, Wanted::Ends(turn), out);
    }

    pub(crate) fn recounted_end(
        &mut self,
        session: Option<SessionId>,
        turn: &TurnId,
        result: Result<Reply, Fault>,
        out: &mut Out,
    ) {
        let Some(at) = session.and_then(|session| self.view_at(&session)) else { return };
        let view = &mut self.views[at];
        let Some(place) = view.ended.iter().position(|ended| ended.run.turn == *turn) else { return };
        let mut ended = view.ended.remove(place);
        if let Ok(Reply::Recounted(recounted)) = result {
            let whole = GatewayRun::recounted(turn.clone(), &recounted.entries, &mut Vec::new());
            if whole.is_over() {
                ended.run = whole;
            }
        }
        self.run_over(at, ended, out);
    }

    /// A run is over: every request in it gets its last frames.
    pub(crate) fn run_over(&mut self, at: usize, ended: EndedRun, out: &mut Out) {
        let outcome = match self.outcome(at, &ended.run) {
            RunEnd::Failed(refusal) => RunEnd::Failed(self.incident(refusal, out)),
            other => other,
        };
        let Some(ended) = self.with_checkpoint(at, ended, &outcome, out) else { return };
        let EndedRun { run, ids, held, context } = ended;
        let mut tails = Tails::new();
        match &outcome {
            RunEnd::Complete => {
                if let AboutContext::Warning(warning) = context {
                    tails.push(events::tail("context_warning", &*warning));
                }
                tails.push(run_state(RunStateWord::Complete, self.options.clock.now_ms()));
                let (content, usage) = (Some(run.content()), self.usage(at, &run));
                let run_id = Some(run.turn.as_str().to_owned());
                let done = DoneData { content, usage, run_id, model: None, duration_ms: None };
                tails.push(events::tail("done", &done));
            }
            RunEnd::Cancelled(_) => tails.push(run_state(RunStateWord::Cancelled, self.options.clock.now_ms())),
            RunEnd::Failed(_) => tails.push(run_state(RunStateWord::Error, self.options.clock.now_ms())),
        }
        for it in ids {
            tails.iter().for_each(|tail| self.ledger.event(it.id, tail, out));
            self.last_frames(at, it, &run, &outcome, false, out);
        }
        for it in held {
            self.wait_over(it.id, &run, out);
        }
    }

    fn outcome(&self, at: usize, run: &GatewayRun) -> RunEnd {
        let provider = self.views[at].state.model_info.provider.clone();
        let lost = || GatewayRefusal::internal("store", "the end of this run could not be written");
        match &run.end {
            _ if run.is_lost => RunEnd::Failed(lost()),
            Some(end) => faults::run_end(end, run.cut, Some(&provider)),
            None => RunEnd::Failed(lost()),
        }
    }

    fn usage(&self, at: usize, run: &GatewayRun) -> UsageSum {
        let usage = run.end.as_ref().map(|end| end.usage).unwrap_or_default();
        // One model made all of it, as far as is known here.
        let info = &self.views[at].state.model_info;
        let prices = info.prices.filter(|_| run.model.as_ref().is_some_and(|model| *model == info.slug));
        UsageSum::of(&usage, prices.map(|prices| prices.cost(&usage)))
    }

    /// What differs from request to request.
    fn last_frames(&mut self, at: usize, it: InRun, run: &GatewayRun, outcome: &RunEnd, replayed: bool, out: &mut Out) {
        let again = |refusal: GatewayRefusal| if replayed { refusal.with("replayed", true) } else { refusal };
        match outcome {
            RunEnd::Complete => {
                let content = run.content();
                let collected = match it.how {
                    How::Collected { count, leader } => {
                        Some(Collected { run_id: run.turn.to_string(), count: count as u64, leader })
                    }
                    How::Started | How::Steered => None,
                };
                let result = SendResult {
                    response: content.clone(),
                    content,
                    usage: self.usage(at, run),
                    session_id: self.views[at].session.as_str().to_owned(),
                    run_id: Some(run.turn.as_str().to_owned()),
                    stop_reason: run.end.as_ref().map(|end| faults::stop_word(end.stop)),
                    model: run.model.clone(),
                    replayed: replayed.then_some(true),
                    steered: (it.how == How::Steered).then_some(true),
                    collected,
                    command: None,
                };
                self.ledger.settle(it.id, Terminal::Result(&crate::written(&result)), out);
            }
            RunEnd::Cancelled(reason) => {
                let reason = if it.timed_out && *reason == "cancelled" { "timeout" } else { reason };
                let refusal = again(faults::cancelled(reason).with("content", &*run.content()));
                self.last_error(it.id, &refusal, replayed, out);
            }
            RunEnd::Failed(refusal) => self.last_error(it.id, &again(refusal.clone()), replayed, out),
        }
    }

    fn last_error(&mut self, id: RequestId, refusal: &GatewayRefusal, replayed: bool, out: &mut Out) {
        match replayed {
            true => self.refuse(id, refusal, out),
            false => self.fail(id, refusal, out),
        }
    }

    /// A repeat of a message whose run is over: its answer once more, at once.
    pub(crate) fn settle_recounted(&mut self, at: usize, id: RequestId, how: How, run: &GatewayRun, out: &mut Out) {
        // To be told once more is no new incident.
        let outcome = match self.outcome(at, run) {
            RunEnd::Failed(refusal) => RunEnd::Failed(faults::outward(refusal)),
            other => other,
        };
        self.last_frames(at, InRun { id, how, is_repeat: true, timed_out: false }, run, &outcome, true, out);
    }

    /// The run that somebody waited for is over.
    pub(crate) fn wait_over(&mut self, id: RequestId, run: &GatewayRun, out: &mut Out) {
        let end = run.end.as_ref();
        let outcome = match end {
            Some(end) if !run.is_lost => faults::run_end(end, run.cut, None),
            _ => RunEnd::Failed(GatewayRefusal::internal("store", "the end of this run could not be written")),
        };
        let error = |refusal: &GatewayRefusal| WaitError {
            code: i64::from(refusal.code.number()),
            message: refusal.message.clone(),
            data: crate::ledger::refusal_data(refusal).map(AnyJson),
        };
        let (state, error) = match &outcome {
            RunEnd::Complete => (WaitState::Complete, None),
            RunEnd::Cancelled(reason) => (WaitState::Cancelled, Some(error(&faults::cancelled(reason)))),
            RunEnd::Failed(refusal) => (WaitState::Error, Some(error(refusal))),
        };
        let usage = end.map(|end| UsageSum::of(&end.usage, None));
        let run_id = Some(run.turn.as_str().to_owned());
        self.answer(id, &WaitResult { run_id, state, content: Some(run.content()), usage, error }, out);
    }

    /// The time of `agent.wait` is over, and the run is not.
    pub(crate) fn wait_timed_out(&mut self, id: RequestId, out: &mut Out) {
        let held = self.views.iter_mut().find_map(|view| {
            let at = view.held.iter().position(|it| it.id == id)?;
            Some(view.held.remove(at))
        });
        let (run_id, state) = match held.map(|held| held.of) {
            Some(WaitsFor::Turn(turn)) => (Some(turn.to_string()), WaitState::Running),
            Some(WaitsFor::Item(_)) | None => (None, WaitState::Waiting),
        };
        self.answer(id, &WaitResult { run_id, state, content: None, usage: None, error: None }, out);
    }

    /// The session is not there any more, or the connection has been let go of because it does not read: then it is told
    /// where it goes on, and everything that it was on goes on without it.
    pub(crate) fn gone(&mut self, at: usize, fault: &Fault, out: &mut Out) {
        if !fault.is_too_slow() {
            return self.gone_from(at, fault, out);
        }
        let close = self.closing(CloseCode::TryAgainLater, "it is read too slowly");
        while !self.views.is_empty() {
            self.gone_from(0, fault, out);
        }
        let refusal = GatewayRefusal::internal("session_lost", faults::message(&fault.explained()));
        for id in self.ledger.ids_where(|_| true) {
            self.fail_or_refuse(id, &refusal, out);
        }
        out.close_with(close);
    }

    /// Whatever waits for a session ends here.
    fn gone_from(&mut self, at: usize, fault: &Fault, out: &mut Out) {
        self.flush(at, out);
        self.end_without_checkpoints(at, out);
        let mut view = self.views.remove(at);
        let session = view.session.clone();
        let (refusal, cancels) = match fault.kind {
            FaultKind::UnknownSession => (faults::cancelled("session_deleted"), true),
            FaultKind::ShuttingDown => (faults::cancelled("shutdown"), true),
            _ => {
                let message = faults::message(&fault.explained());
                (self.incident(GatewayRefusal::internal("session_lost", message), out), false)
            }
        };
        let now_ms = self.options.clock.now_ms();
        let mut runs: Vec<(GatewayRun, Vec<InRun>)> = Vec::new();
        runs.extend(view.ended.drain(..).map(|ended| (ended.run, ended.ids)));
        runs.extend(view.run.take().map(|run| (run, std::mem::take(&mut view.ids))));
        for (mut run, ids) in runs {
            // Its log is left open, and the next start goes on with it: who sends the message again has it done twice.
            let resumes = fault.is_suspended() && !run.is_over() && !run.is_stopping();
            let refusal = if resumes { refusal.clone().with("resumes", true) } else { refusal.clone() };
            let waits = view.held.extract_if(.., |it| matches!(&it.of, WaitsFor::Turn(turn) if *turn == run.turn));
            for it in waits {
                self.refuse(it.id, &refusal, out);
            }
            let mut tails = Tails::new();
            run.vanished(&mut tails);
            if cancels {
                run.cancel_requested(now_ms, &mut tails);
            }
            tails.push(run_state(if cancels { RunStateWord::Cancelled } else { RunStateWord::Error }, now_ms));
            let refusal = refusal.with("content", &*run.content());
            for it in ids {
                tails.iter().for_each(|tail| self.ledger.event(it.id, tail, out));
                self.fail(it.id, &refusal, out);
            }
        }
        // The same where the next start goes on with what waits.
        let waits_on = fault.is_suspended() && self.keeps_waiting(&session);
        let waiting = if waits_on { refusal.clone().with("resumes", true) } else { refusal.clone() };
        for it in &view.waiting {
            self.fail(it.id, &waiting, out);
        }
        for listener in &view.listeners {
            let to = view.at.seq.max(view.state.last_seq);
            listener.lag(&session, to, listener.cursor, &self.ledger, out);
        }
        // Those that were asked of it, or hold on to it.
        for id in self.ledger.ids_where(|stage| stage.session() == Some(&session)) {
            self.fail_or_refuse(id, &refusal, out);
        }
        self.callbacks.retain(|it| *it != session);
        if session == self.attached && fault.kind == FaultKind::UnknownSession {
            self.attached = self.fresh_session();
        }
    }

    /// Whether a message of this session that waits outlives the process.
    fn keeps_waiting(&self, session: &SessionId) -> bool {
        let usual = (self.options.usual)(session);
        usual.is_some_and(|usual| usual.conduct.waiting_on_restart == WaitingOnRestart::GoesOn)
    }

    /// How the connection ends.
    pub(crate) fn parted(&mut self, why: Parting, out: &mut Out) {
        match why {
            // Nobody is there to be answered; what runs goes on, or not, as the options say.
            Parting::Eof | Parting::Deaf => {
                if self.options.on_disconnect == OnDisconnect::Cancel {
                    self.cancel_own(out);
                }
                out.close_with(Close::normal());
            }
            Parting::Asked { .. } => self.shutting_down = true,
            Parting::GraceOver => {
                self.shutting_down = true;
                let close = self.closing(CloseCode::GoingAway, SHUTTING_DOWN);
                // All sessions of a gateway are opened with `OnRestart::Continue`.
                while !self.views.is_empty() {
                    self.gone_from(0, &Fault::suspended(), out);
                }
                for id in self.ledger.ids_where(|_| true) {
                    self.fail_or_refuse(id, &faults::cancelled("shutdown"), out);
                }
                out.close_with(close);
            }
        }
    }

    /// What was sent gets its event; the rest has the error alone.
    fn fail_or_refuse(&mut self, id: RequestId, refusal: &GatewayRefusal, out: &mut Out) {
        use crate::ledger::Awaits;
        let is_sent = matches!(
            self.ledger.stage(id),
            Some(Awaits::Opening { .. } | Awaits::Offered { .. } | Awaits::Waiting { .. } | Awaits::Running { .. })
        );
        if is_sent { self.fail(id, refusal, out) } else { self.refuse(id, refusal, out) }
    }

    /// Closes when everybody was answered.
    pub(crate) fn close_if_over(&mut self, out: &mut Out) {
        if self.shutting_down && self.ledger.is_empty() && out.close.is_none() {
            out.close_with(self.closing(CloseCode::GoingAway, SHUTTING_DOWN));
        }
    }

    /// The last word: where a subscriber goes on, or else why it is the last.
    fn closing(&self, code: CloseCode, why: &str) -> Close {
        let cursor = self.views.iter().find_map(|view| view.listeners.first().map(|it| it.cursor));
        Close::new(code, cursor.map_or_else(|| why.to_owned(), |cursor| format!("resume {cursor}")))
    }
}

const SHUTTING_DOWN: &str = "shutting down";

/// While the process ends nothing new is taken.
pub(crate) fn shutting_down() -> GatewayRefusal {
    GatewayRefusal::new(Code::Cancelled, "the server is shutting down").because("shutdown")
}
