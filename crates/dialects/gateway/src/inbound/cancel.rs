//! Stopping what runs or waits: one request, a whole lane, or everything that this connection has sent.

use vocab::{QueueVerb, SessionId, SessionVerb};

use crate::Gateway;
use crate::faults;
use crate::ledger::{Awaits, RequestId, WireId};
use crate::own::{GatewayRefusal, Out};
use crate::params::CancelParams;
use crate::pending::{AfterOpen, Wanted, WorkEnd, WorkId, WorkPart};

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
                gateway.cancel_one(found, work, false, out);
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
                gateway.cancel_one(sent, work, false, out);
            }
            gateway.cancel_all_of(id, attached, work, out);
        }
    }
    gateway.work_done(work, out);
    Ok(())
}

impl Gateway {
    /// One request, whatever it waits for. `timed_out`: because its own time is over.
    pub(crate) fn cancel_one(&mut self, id: RequestId, work: WorkId, timed_out: bool, out: &mut Out) {
        let Some(stage) = self.ledger.stage_mut(id) else { return };
        match stage {
            // Nothing was asked of a lane yet.
            Awaits::Opening { .. } => {
                let reason = if timed_out { "timeout" } else { "cancelled_before_start" };
                self.fail(id, &faults::cancelled(reason), out);
                self.work(work, |work| work.queued += 1);
            }
            Awaits::Offered { cancelled, .. } => {
                *cancelled = true;
                self.work(work, |work| work.queued += 1);
            }
            Awaits::Waiting { session, item } => {
                let (session, item) = (session.clone(), item.clone());
                if let Some(view) = self.view_mut(&session) {
                    view.waiting.iter_mut().filter(|it| it.id == id).for_each(|it| it.timed_out |= timed_out);
                }
                self.work_part(work, &session, SessionVerb::Queue(QueueVerb::TakeBack(item)), WorkPart::TakeBack, out);
            }
            Awaits::Running { session, turn } => {
                let (session, turn) = (session.clone(), turn.clone());
                if let Some(view) = self.view_mut(&session) {
                    view.ids.iter_mut().filter(|it| it.id == id).for_each(|it| it.timed_out |= timed_out);
                }
                let verb = SessionVerb::Interrupt { turn: Some(turn) };
                self.work_part(work, &session, verb, WorkPart::Interrupt, out);
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

    /// The whole lane: what waits first, for otherwise the next of it would begin.
    fn cancel_all_of(&mut self, id: RequestId, session: SessionId, work: WorkId, out: &mut Out) {
        self.work(work, |work| work.left += 1);
        let after = AfterOpen::Cancel { id, work };
        match self.view_at(&session).is_some() || self.is_opening(&session) {
            true => self.on_session(&session, after, out),
            false => {
                let wanted = Wanted::Exists { session: session.clone(), after: Box::new(after) };
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
