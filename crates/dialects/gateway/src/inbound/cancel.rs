//! Stopping what runs or waits: one request, a whole lane, or everything that this connection has sent.

use vocab::{QueueVerb, SessionId, SessionVerb};

use crate::Gateway;
use crate::faults;
use crate::ledger::{Awaits, RequestId, StopBy, WireId};
use crate::own::{GatewayRefusal, Out};
use crate::params::CancelParams;
use crate::pending::{AfterOpen, StopWish, WantedOfService, WorkEnd, WorkId, WorkPart};
use crate::session_view::How;

pub(crate) fn cancel(
    gateway: &mut Gateway,
    id: RequestId,
    params: CancelParams,
    out: &mut Out,
) -> Result<(), GatewayRefusal> {
    let work = gateway.begin_work(id, WorkEnd::Cancelled);
    match (params.request_id, params.session_id) {
        (Some(number), _) => {
            let found = WireId::new(number.number()).and_then(|number| gateway.ledger.find(number));
            if let Some(found) = found.filter(|found| *found != id) {
                gateway.cancel_one(found, work, StopBy::Sender, out);
            }
        }
        (None, Some(session)) => gateway.cancel_all_of(id, session.0, work, out),
        (None, None) => {
            let attached = gateway.attached.clone();
            // The lane has them all; the others are looked for one by one.
            let is_sent = |stage: &Awaits| {
                matches!(
                    stage,
                    Awaits::Opening { .. } | Awaits::Offered { .. } | Awaits::Waiting { .. } | Awaits::Running { .. }
                ) && stage.session() != Some(&attached)
            };
            for sent in gateway.ledger.ids_where(is_sent) {
                gateway.cancel_one(sent, work, StopBy::Sender, out);
            }
            gateway.cancel_all_of(id, attached, work, out);
        }
    }
    gateway.work_done(work, out);
    Ok(())
}

impl Gateway {
    /// One request, whatever it waits for. One whose time is over ends alone: the engine knows the time of its message, and
    /// whether others want what that came into.
    pub(crate) fn cancel_one(&mut self, id: RequestId, work: WorkId, by: StopBy, out: &mut Out) {
        let timed_out = by == StopBy::Time;
        let Some(stage) = self.ledger.stage_mut(id) else { return };
        match stage {
            // Nothing was asked of a lane yet.
            Awaits::Opening { .. } => {
                self.fail(id, &faults::cancelled(by.before_start()), out);
                self.work(work, |work| work.queued += 1);
            }
            // The lane has it, and will say whether it runs or waits: only then is it known what was stopped.
            Awaits::Offered { .. } => {
                self.stops.push(StopWish { id, by, work });
                self.work(work, |work| work.left += 1);
            }
            Awaits::Waiting { session, item } => {
                let (session, item) = (session.clone(), item.clone());
                let (mut others, mut is_own) = (0, true);
                for it in self.view_mut(&session).into_iter().flat_map(|view| &view.waiting) {
                    if it.id == id {
                        is_own = it.is_own;
                    } else if it.item == item {
                        others += 1;
                    }
                }
                let (verb, part) = match (others, is_own) {
                    _ if timed_out => return self.withdraw(id, work, by, out),
                    (0, true) => (QueueVerb::TakeBack(item), WorkPart::TakeBackOf(id)),
                    (0, false) => (QueueVerb::TakeBackUnlessWanted(item), WorkPart::Withdraw(id)),
                    _ => return self.withdraw(id, work, by, out),
                };
                self.work_part(work, &session, SessionVerb::Queue(verb), part, out);
            }
            Awaits::Running { session, turn } => {
                let (session, turn) = (session.clone(), turn.clone());
                let (mut others, mut how, mut is_repeat) = (0, How::Started, false);
                for it in self.view_mut(&session).into_iter().flat_map(|view| &mut view.ids) {
                    if it.id == id {
                        (it.timed_out, how, is_repeat) = (it.timed_out || timed_out, it.how, it.is_repeat);
                    } else {
                        others += 1;
                    }
                }
                let (verb, part) = match (how, is_repeat, others) {
                    _ if timed_out => return self.withdraw(id, work, by, out),
                    (How::Started, false, _) => (SessionVerb::Interrupt { turn: Some(turn) }, WorkPart::Interrupt),
                    // Others may be in it on connections that this one knows nothing of.
                    (_, true, 0) | (How::Collected { .. }, false, 0) => {
                        (SessionVerb::InterruptUnlessWanted { turn }, WorkPart::Withdraw(id))
                    }
                    (How::Steered, false, _) | (_, true, _) | (How::Collected { .. }, false, _) => {
                        return self.withdraw(id, work, by, out);
                    }
                };
                self.work_part(work, &session, verb, part, out);
            }
            Awaits::Asked { session: Some(session), aside: Some(of) } => {
                let (session, of) = (session.clone(), *of);
                self.work_part(work, &session, SessionVerb::AbortCall { of }, WorkPart::Abort, out);
            }
            // Who waits for a run waits no more; the run goes on.
            Awaits::Held { .. } => {
                self.refuse(id, &faults::cancelled("cancelled"), out);
                self.work(work, |work| work.active = true);
            }
            Awaits::Asked { .. } => {}
        }
    }

    /// This request alone ends; what it came into goes on for others.
    pub(crate) fn withdraw(&mut self, id: RequestId, work: WorkId, by: StopBy, out: &mut Out) {
        let session = self.ledger.stage(id).and_then(Awaits::session).cloned();
        let Some(at) = session.and_then(|session| self.view_at(&session)) else { return };
        let view = &mut self.views[at];
        if let Some(place) = view.waiting.iter().position(|it| it.id == id) {
            view.waiting.remove(place);
            self.fail(id, &faults::cancelled(by.before_start()), out);
            return self.work(work, |work| work.queued += 1);
        }
        // What is over ends by itself.
        let Some(run) = view.run.as_ref().filter(|run| !run.is_over()) else { return };
        let Some(place) = view.ids.iter().position(|it| it.id == id) else { return };
        view.ids.remove(place);
        let reason = match by {
            StopBy::Sender => "cancelled",
            StopBy::Time => "timeout",
        };
        let now_ms = self.options.clock.now_ms();
        let refusal = faults::cancelled(reason).with("content", &*run.content());
        for tail in run.withdrawn(now_ms) {
            self.ledger.event(id, &tail, out);
        }
        self.fail(id, &refusal, out);
        self.work(work, |work| work.active = true);
    }

    /// The whole lane: what waits first, for otherwise the next of it would begin.
    fn cancel_all_of(&mut self, id: RequestId, session: SessionId, work: WorkId, out: &mut Out) {
        self.work(work, |work| work.left += 1);
        let after = AfterOpen::Cancel { id, work };
        match self.view_at(&session).is_some() || self.is_opening(&session) {
            true => self.on_session(&session, after, out),
            false => {
                let wanted = WantedOfService::Exists { session: session.clone(), after: Box::new(after) };
                self.call(crate::own::GatewayOwn::Exists { session }, wanted, out);
            }
        }
    }

    /// On the session: stops it.
    pub(crate) fn clear_and_interrupt(&mut self, session: &SessionId, work: WorkId, out: &mut Out) {
        self.work_part(work, session, SessionVerb::Queue(QueueVerb::Clear), WorkPart::TakeBack, out);
        self.work_part(work, session, SessionVerb::Interrupt { turn: None }, WorkPart::Interrupt, out);
    }
}
