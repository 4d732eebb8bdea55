//! Requests that need several answers: they are done when the last one is here, and the first that is a refusal is theirs.

use vocab::{Fault, FaultKind, QueueVerb, Reply, SessionId, SessionVerb, Tag};

use crate::Gateway;
use crate::faults;
use crate::ledger::{Awaits, RequestId, StopBy};
use crate::own::{GatewayAnswer, GatewayOwn, GatewayRefusal, Out};
use crate::pending::{Wanted, WantedOfService, Work, WorkEnd, WorkId, WorkPart};
use crate::results::{CancelResult, CreateResult, PatchResult, SessionConfig, SuccessResult};
use crate::services::ServiceAnswer;
use crate::session_view::{How, InRun};

impl Gateway {
    pub(crate) fn begin_work(&mut self, id: RequestId, then: WorkEnd) -> WorkId {
        self.works_made += 1;
        let number = WorkId(self.works_made);
        let work = Work {
            number,
            id,
            left: 0,
            refused: None,
            inspected: None,
            slash: None,
            used: None,
            paired: None,
            subagents: None,
            active: false,
            queued: 0,
            then,
        };
        self.works.push(work);
        number
    }

    /// Takes note of something.
    pub(crate) fn work(&mut self, number: WorkId, note: impl FnOnce(&mut Work)) {
        if let Some(work) = self.works.iter_mut().find(|work| work.number == number) {
            note(work);
        }
    }

    /// One command of it. Its tag.
    pub(crate) fn work_part(
        &mut self,
        number: WorkId,
        session: &SessionId,
        verb: SessionVerb,
        part: WorkPart,
        out: &mut Out,
    ) -> Tag {
        self.work(number, |work| work.left += 1);
        self.want(session, verb, Wanted::Part(number, part), out)
    }

    /// One answer of it.
    pub(crate) fn part_answered(
        &mut self,
        number: WorkId,
        part: WorkPart,
        session: Option<&SessionId>,
        result: Result<Reply, Fault>,
        out: &mut Out,
    ) {
        let (mut interrupted, mut withdrawn, mut missed) = (false, None, None);
        self.work(number, |work| {
            work.left = work.left.saturating_sub(1);
            match (part, result) {
                (WorkPart::TakeBackOf(id), Ok(Reply::Queue(items))) if items.is_empty() => missed = Some(id),
                (WorkPart::TakeBackOf(id), Err(fault)) if fault.kind == FaultKind::NotFound => missed = Some(id),
                (WorkPart::Withdraw(id), Ok(Reply::Interrupted { was_running: false })) => withdrawn = Some(id),
                (WorkPart::Withdraw(id), Ok(Reply::Queue(items))) if items.is_empty() => withdrawn = Some(id),
                (WorkPart::Interrupt | WorkPart::Withdraw(_), Ok(Reply::Interrupted { was_running })) => {
                    work.active |= was_running;
                    interrupted = was_running;
                }
                (WorkPart::TakeBack | WorkPart::TakeBackOf(_) | WorkPart::Withdraw(_), Ok(Reply::Queue(items))) => {
                    work.queued += items.len() as u64
                }
                (WorkPart::Abort, Ok(_)) => work.active = true,
                (WorkPart::Inspect, Ok(Reply::Inspected(inspected))) => work.inspected = Some(inspected),
                (WorkPart::Slash, Ok(Reply::Slash(reply))) => work.slash = Some(reply),
                (WorkPart::Used, Ok(Reply::Slash(reply))) => work.used = Some(reply),
                // It was over before it could be stopped.
                (
                    WorkPart::TakeBack
                    | WorkPart::TakeBackOf(_)
                    | WorkPart::Interrupt
                    | WorkPart::Withdraw(_)
                    | WorkPart::Abort,
                    Err(fault),
                ) if matches!(fault.kind, FaultKind::NotFound | FaultKind::UnknownSession | FaultKind::NothingToDo) => {
                }
                (_, Ok(_)) => {}
                (WorkPart::Set, Err(fault)) => {
                    work.refused.get_or_insert_with(|| faults::refused_change(&fault));
                }
                (_, Err(fault)) => {
                    work.refused.get_or_insert_with(|| faults::refusal(&fault, None));
                }
            }
        });
        if let Some(id) = withdrawn {
            self.withdraw(id, number, StopBy::Sender, out);
        }
        // A run took the message while it was to be taken back, and was told before this answer.
        if let Some(id) = missed.filter(|id| matches!(self.ledger.stage(*id), Some(Awaits::Running { .. }))) {
            self.cancel_one(id, number, StopBy::Sender, out);
        }
        if interrupted && let Some(at) = session.and_then(|session| self.view_at(session)) {
            self.cancel_requested(at, out);
        }
        self.work_done(number, out);
    }

    /// A service's answer of it.
    pub(crate) fn paired(&mut self, number: WorkId, answer: Result<GatewayAnswer, GatewayRefusal>, out: &mut Out) {
        let paired = answer.and_then(|answer| match answer {
            GatewayAnswer::Service(answer) => match *answer {
                ServiceAnswer::Pairing(paired) => Ok(paired),
                _ => Err(GatewayRefusal::mixed_up()),
            },
            _ => Err(GatewayRefusal::mixed_up()),
        });
        self.work(number, |work| {
            work.left = work.left.saturating_sub(1);
            match paired {
                Ok(paired) => work.paired = Some(paired),
                Err(refusal) => work.refused = Some(refusal),
            }
        });
        self.work_done(number, out);
    }

    /// Where nothing is left of it, its answer.
    pub(crate) fn work_done(&mut self, number: WorkId, out: &mut Out) {
        let Some(at) = self.works.iter().position(|work| work.number == number && work.left == 0) else { return };
        let work = self.works.remove(at);
        let id = work.id;
        match (work.then, work.refused) {
            (WorkEnd::Command { session, plan }, refused) => {
                let done = crate::commands::show::Done {
                    refused,
                    inspected: work.inspected,
                    slash: work.slash,
                    used: work.used,
                    paired: work.paired,
                    subagents: work.subagents,
                    active: work.active,
                    queued: work.queued,
                };
                self.command_done(id, &session, plan, done, out);
            }
            (WorkEnd::Nobody, _) => {}
            (_, Some(refusal)) => {
                let refusal = self.incident_of(id, refusal, out);
                self.refuse(id, &refusal, out);
            }
            (WorkEnd::Cancelled, None) => {
                let (active, queued) = (work.active, work.queued);
                self.answer(id, &CancelResult { cancelled: active || queued > 0, active, queued }, out);
            }
            (WorkEnd::Patched { session, notify }, None) => match work.inspected {
                Some(inspected) => {
                    if let Some(on) = notify {
                        self.call(GatewayOwn::Notify { session: session.clone(), on }, WantedOfService::Nothing, out);
                    }
                    let config = SessionConfig::of(&inspected.state, self.options.clock.now_ms());
                    let title = inspected.state.title.clone();
                    self.answer(id, &PatchResult { session_id: session.to_string(), config, title }, out);
                }
                None => self.refuse(id, &GatewayRefusal::mixed_up(), out),
            },
            (WorkEnd::Created { session, created }, None) => {
                self.attached = session.clone();
                self.answer(id, &CreateResult { session_id: session.to_string(), created }, out);
            }
            (WorkEnd::Callback, None) => self.answer(id, &SuccessResult { success: true }, out),
        }
    }

    /// Its own time is over.
    pub(crate) fn timed_out(&mut self, id: RequestId, out: &mut Out) {
        let work = self.begin_work(id, WorkEnd::Nobody);
        self.cancel_one(id, work, StopBy::Time, out);
        self.work_done(work, out);
    }

    /// As the last thing before the connection goes, where that is what the options say.
    pub(crate) fn cancel_own(&mut self, out: &mut Out) {
        let stops: Vec<(SessionId, SessionVerb)> = self
            .views
            .iter()
            .flat_map(|view| {
                let interrupt = view.run.as_ref().and_then(|run| {
                    // What began with the messages of others goes on for them.
                    let is_shared = |it: &InRun| it.is_repeat || matches!(it.how, How::Collected { .. });
                    let turn = run.turn.clone();
                    match view.ids.iter().any(|it| it.how == How::Started && !it.is_repeat) {
                        true => Some(SessionVerb::Interrupt { turn: Some(turn) }),
                        false if view.ids.iter().any(is_shared) => Some(SessionVerb::InterruptUnlessWanted { turn }),
                        false => None,
                    }
                });
                let back = |item: &vocab::ItemId| SessionVerb::Queue(QueueVerb::TakeBack(item.clone()));
                let waiting = view.waiting.iter().filter(|it| it.is_own).map(move |it| back(&it.item));
                waiting.chain(interrupt).map(|verb| (view.session.clone(), verb)).collect::<Vec<_>>()
            })
            .collect();
        for (session, verb) in stops {
            self.want(&session, verb, Wanted::Nothing, out);
        }
    }
}
