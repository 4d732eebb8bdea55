//! What a verb waits for that is neither the turn's nor its peer's to wait for: a list of models from a server, images
//! that are made smaller, a log that is read whole, a file that is written. It runs beside everything else; an interrupt
//! or an answer never waits for it, and neither does the running turn.
//!
//! A peer's own commands keep their order: what it sends behind one that is not done is taken up when it is.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::oneshot;
use vocab::{Briefing, Delivery, Event, Fault, FaultKind, Later, Part, PeerId, Reply, SessionVerb, Tag};

use super::{Mail, Session, guarded};
use crate::outbox::Outbox;

/// Commands kept behind slow ones of their peers; one more is refused.
const KEPT_MAX: usize = 64;

/// What is left to do when the waiting is over.
pub(super) enum Finish {
    Reply(Result<Reply, Fault>),
    /// With the session in hand.
    With(JobStep),
    /// As [`Finish::With`], where the session may have gone on too far meanwhile: then there is more to wait for.
    Unless(JobTry),
    /// A message whose images are ready.
    Prompt {
        parts: Vec<Part>,
        delivery: Delivery,
    },
    /// What the workspace looks like, for a command that could not be carried out without.
    Briefed(Briefing, Box<Mail>),
}

/// What has to be there before something can be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Need {
    /// The model's view, read back from the log.
    View,
    /// Everything that was logged so far is written.
    Written { upto: u64 },
}

/// Something that is done from its beginning once its need is met, or cannot be.
struct Awaiting {
    need: Need,
    what: Awaited,
    /// Set when the waiting is over.
    outcome: Option<Result<(), Fault>>,
}

/// What waits for a [`Need`].
pub(super) enum Awaited {
    Mail(Mail),
    /// A message whose images are ready.
    Prompt {
        outbox: Arc<Outbox>,
        tag: Tag,
        parts: Vec<Part>,
        delivery: Delivery,
    },
}

impl Awaited {
    fn sender(&self) -> Option<PeerId> {
        match self {
            Awaited::Mail(mail) => sender(mail),
            Awaited::Prompt { outbox, .. } => Some(outbox.peer),
        }
    }
    /// How it is to be delivered, where it is a message.
    fn delivery(&self) -> Option<Delivery> {
        match self {
            Awaited::Mail(mail) => prompt_delivery(mail),
            Awaited::Prompt { delivery, .. } => Some(*delivery),
        }
    }
    fn into_mail(self) -> Mail {
        match self {
            Awaited::Mail(mail) => mail,
            Awaited::Prompt { outbox, tag, parts, delivery } => {
                Mail::Verb { outbox, tag, verb: SessionVerb::Prompt { parts, delivery }, provenance: None }
            }
        }
    }
}

/// What the jobs have for the session.
pub(super) enum JobEvent {
    Done(Job, Finish),
    /// To be done from its beginning: what it needed is there, or will not be.
    Again(Awaited, Result<(), Fault>),
    /// What stood before it is done.
    Next(Mail),
}

type JobStep = Box<dyn FnOnce(&mut Session) -> Result<Reply, Fault> + Send>;
/// An error is what has to be waited for first.
pub(super) type JobTry = Box<dyn FnOnce(&mut Session) -> Result<Result<Reply, Fault>, Later<'static, Finish>> + Send>;
type BeginJob = Box<dyn FnOnce() -> Later<'static, Finish> + Send>;

enum JobStage {
    /// Begins when the log is written up to here.
    Waits {
        upto: u64,
        begin: Option<BeginJob>,
    },
    Runs(Later<'static, Finish>),
}

pub(super) struct Job {
    pub(super) outbox: Arc<Outbox>,
    pub(super) tag: Tag,
    stage: JobStage,
    /// Of a message that is not yet the queue's.
    delivery: Option<Delivery>,
}

/// Under way, and what waits behind it.
#[derive(Default)]
pub(super) struct Jobs {
    running: Vec<Job>,
    awaiting: VecDeque<Awaiting>,
    kept: VecDeque<Mail>,
    /// Who wants to know whether something runs; answered when everything said so far is written.
    pub(super) asked_busy: Vec<oneshot::Sender<bool>>,
    /// Why the need of what is being done now could not be met.
    failure: Option<Fault>,
}

impl Jobs {
    fn is_busy_for(&self, peer: PeerId) -> bool {
        self.running.iter().any(|job| job.outbox.peer == peer) || self.is_awaiting_for(peer)
    }

    fn is_awaiting_for(&self, peer: PeerId) -> bool {
        self.awaiting.iter().any(|it| it.what.sender() == Some(peer))
    }
    /// It has said that it goes or comes in, and that waits.
    fn is_to_move(&self, peer: PeerId) -> bool {
        let moves = |mail: &Mail| matches!(mail, Mail::Leave { .. } | Mail::Join { .. });
        self.kept.iter().any(|mail| moves(mail) && sender(mail) == Some(peer))
    }
    /// A user's command waits to begin.
    pub(super) fn is_shell_awaiting(&self) -> bool {
        let is_shell = |mail: &Mail| matches!(mail, Mail::Verb { verb: SessionVerb::Shell { .. }, .. });
        self.awaiting.iter().any(|it| matches!(&it.what, Awaited::Mail(mail) if is_shell(mail)))
    }

    /// Something waits for the model's view.
    pub(super) fn want_view(&self) -> bool {
        self.awaiting.iter().any(|it| it.need == Need::View && it.outcome.is_none())
    }
    /// A controller that waits to come in has servers of tools with it.
    pub(super) fn is_bringing_servers(&self) -> bool {
        let brings =
            |it: &Awaiting| matches!(&it.what, Awaited::Mail(Mail::Join { open, .. }) if !open.servers.is_empty());
        self.awaiting.iter().any(brings)
    }
    pub(super) fn awaited(&self) -> usize {
        self.awaiting.len()
    }
    /// A command waits here, whose peer may be gone by now.
    pub(super) fn is_awaited(&self) -> bool {
        !self.awaiting.is_empty()
    }
    /// The log was read for the model, or could not be.
    pub(super) fn view_read(&mut self, result: &Result<(), Fault>) {
        for it in self.awaiting.iter_mut().filter(|it| it.need == Need::View) {
            it.outcome.get_or_insert_with(|| result.clone());
        }
    }
    /// An error where what is being done now waited in vain.
    pub(super) fn failure(&self) -> Result<(), Fault> {
        self.failure.clone().map_or(Ok(()), Err)
    }

    /// `viewed`: whether the model's view is in memory.
    fn next_again(&mut self, committed: u64, viewed: bool) -> Option<(Awaited, Result<(), Fault>)> {
        let is_met = |need: Need| match need {
            Need::View => viewed,
            Need::Written { upto } => upto <= committed,
        };
        let is_over = |it: &Awaiting| it.outcome.is_some() || is_met(it.need);
        let at = self.awaiting.iter().position(is_over)?;
        self.awaiting.remove(at).map(|it| (it.what, it.outcome.unwrap_or(Ok(()))))
    }
}

impl Session {
    pub(super) fn job(&mut self, outbox: &Arc<Outbox>, tag: Tag, job: Later<'static, Finish>) {
        self.push_job(outbox, tag, JobStage::Runs(job), None);
    }

    /// The message becomes the queue's when its images are ready.
    pub(super) fn prompt_job(
        &mut self,
        outbox: &Arc<Outbox>,
        tag: Tag,
        delivery: Delivery,
        job: Later<'static, Finish>,
    ) {
        self.push_job(outbox, tag, JobStage::Runs(job), Some(delivery));
    }

    /// As [`Session::job`], once everything that was said so far is written: a peer reads what it was told.
    pub(super) fn job_when_written(
        &mut self,
        outbox: &Arc<Outbox>,
        tag: Tag,
        begin: impl FnOnce() -> Later<'static, Finish> + Send + 'static,
    ) {
        let upto = self.log.last_seq();
        self.push_job(outbox, tag, JobStage::Waits { upto, begin: Some(Box::new(begin)) }, None);
    }

    fn push_job(&mut self, outbox: &Arc<Outbox>, tag: Tag, stage: JobStage, delivery: Option<Delivery>) {
        self.jobs.running.push(Job { outbox: outbox.clone(), tag, stage, delivery });
    }

    /// Ready when one is done, or when something that waited behind one can be taken up.
    pub(super) fn poll_jobs(&mut self, context: &mut Context<'_>) -> Poll<JobEvent> {
        let committed = self.log.committed();
        if let Some((what, outcome)) = self.jobs.next_again(committed, self.view.is_loaded()) {
            return Poll::Ready(JobEvent::Again(what, outcome));
        }
        let free = |mail: &Mail| sender(mail).is_none_or(|peer| !self.jobs.is_busy_for(peer));
        if let Some(mail) = self.jobs.kept.iter().position(free).and_then(|at| self.jobs.kept.remove(at)) {
            return Poll::Ready(JobEvent::Next(mail));
        }
        for at in 0..self.jobs.running.len() {
            // A peer that does not read gets nothing more to read; what it sends waits behind this.
            if self.jobs.running[at].outbox.poll_room(context).is_pending() {
                continue;
            }
            if let Poll::Ready(finish) = self.jobs.running[at].stage.poll(committed, context) {
                return Poll::Ready(JobEvent::Done(self.jobs.running.remove(at), finish));
            }
        }
        Poll::Pending
    }

    /// What waits begins anew when its need is met.
    pub(super) fn await_need(&mut self, need: Need, what: Awaited) {
        self.jobs.awaiting.push_back(Awaiting { need, what, outcome: None });
    }

    pub(super) fn job_event(&mut self, event: JobEvent) {
        match event {
            JobEvent::Done(job, finish) => self.job_done(job, finish),
            JobEvent::Next(mail) if self.activity.is_undoing() => self.mail(mail),
            // It was the first of its peer.
            JobEvent::Next(mail) => self.take_mail(mail),
            JobEvent::Again(what, outcome) => {
                self.jobs.failure = outcome.err();
                match what {
                    Awaited::Mail(mail) => self.take_mail(mail),
                    Awaited::Prompt { outbox, tag, parts, delivery } => {
                        self.log.look_at(&outbox, tag);
                        self.offer_when_viewed(outbox, tag, parts, delivery);
                        self.log.looked_at();
                    }
                }
                self.jobs.failure = None;
            }
        }
    }

    /// A message whose images are ready becomes the queue's once the log is read.
    fn offer_when_viewed(&mut self, outbox: Arc<Outbox>, tag: Tag, parts: Vec<Part>, delivery: Delivery) {
        match self.view_at_rest() {
            Ok(true) => self.offer(&outbox, tag, parts, delivery),
            Ok(false) => self.await_need(Need::View, Awaited::Prompt { outbox, tag, parts, delivery }),
            Err(fault) => self.log.reply(outbox, Event::Reply { tag, result: Err(fault) }),
        }
    }

    fn job_done(&mut self, job: Job, finish: Finish) {
        self.log.look_at(&job.outbox, job.tag);
        let result = match finish {
            Finish::Reply(result) => Some(result),
            Finish::With(step) => Some(step(self)),
            Finish::Unless(step) => match step(self) {
                Ok(result) => Some(result),
                Err(more) => {
                    self.job(&job.outbox, job.tag, more);
                    None
                }
            },
            Finish::Prompt { parts, delivery } => {
                self.offer_when_viewed(job.outbox.clone(), job.tag, parts, delivery);
                None
            }
            Finish::Briefed(briefing, mail) => {
                self.learn_once(briefing);
                return self.take_mail(*mail);
            }
        };
        if let Some(result) = result {
            self.log.reply(job.outbox, Event::Reply { tag: job.tag, result });
        }
        self.log.looked_at();
    }

    /// Gives the mail back where nothing is before it.
    pub(super) fn keep_in_order(&mut self, mail: Mail) -> Option<Mail> {
        let urgent = matches!(&mail, Mail::Verb { verb, .. } if verb.is_urgent());
        if self.activity.is_undoing() && !urgent {
            // Nothing gets in between, and nothing is lost.
            self.jobs.kept.push_back(mail);
            return None;
        }
        let behind = match &mail {
            // What it asked for and the session only waits to begin is taken up before it goes or comes in anew.
            Mail::Leave { peer } => self.jobs.is_awaiting_for(*peer) || self.jobs.is_to_move(*peer),
            Mail::Join { outbox, .. } => self.jobs.is_awaiting_for(outbox.peer) || self.jobs.is_to_move(outbox.peer),
            mail => sender(mail).is_some_and(|peer| self.jobs.is_busy_for(peer)),
        };
        if urgent || !behind {
            return Some(mail);
        }
        if self.jobs.kept.len() < KEPT_MAX || matches!(mail, Mail::Leave { .. } | Mail::Join { .. }) {
            self.jobs.kept.push_back(mail);
            return None;
        }
        let text = format!("{KEPT_MAX} commands wait for one that is not done");
        self.refuse_mail(mail, &Fault::new(FaultKind::QueueFull, text).hint("wait for its answer"));
        None
    }

    /// Stops messages that are not yet the queue's, when nothing else runs that an interrupt could mean. Those that wait
    /// for their turn whatever happens are none.
    pub(super) fn interrupt_prompts(&mut self) -> bool {
        if self.prompts.queue.is_busy() {
            return false;
        }
        let is_meant =
            |delivery: Delivery| matches!(delivery, Delivery::RejectIfBusy | Delivery::Queue | Delivery::Policy);
        let fault = Fault::new(FaultKind::Cancelled, "interrupted before it began");
        let jobs: Vec<Job> = self.jobs.running.extract_if(.., |job| job.delivery.is_some_and(is_meant)).collect();
        let is_prompt = |mail: &Mail| prompt_delivery(mail).is_some_and(is_meant);
        let (behind, kept): (VecDeque<Mail>, VecDeque<Mail>) =
            std::mem::take(&mut self.jobs.kept).into_iter().partition(is_prompt);
        self.jobs.kept = kept;
        let (awaiting, others) = std::mem::take(&mut self.jobs.awaiting)
            .into_iter()
            .partition::<VecDeque<_>, _>(|it| it.what.delivery().is_some_and(is_meant));
        self.jobs.awaiting = others;
        let stopped: VecDeque<Mail> = awaiting.into_iter().map(|it| it.what.into_mail()).chain(behind).collect();
        let any = !jobs.is_empty() || !stopped.is_empty();
        self.refuse_all(jobs, stopped, &fault);
        any
    }

    /// The write that a job waited for has failed.
    pub(super) fn fail_jobs(&mut self, fault: &Fault) {
        let committed = self.log.committed();
        let waits = |job: &mut Job| matches!(&job.stage, JobStage::Waits { upto, .. } if *upto > committed);
        let jobs: Vec<Job> = self.jobs.running.extract_if(.., waits).collect();
        for it in &mut self.jobs.awaiting {
            it.outcome.get_or_insert_with(|| Err(fault.clone()));
        }
        self.refuse_all(jobs, VecDeque::new(), fault);
    }

    pub(super) fn refuse_jobs(&mut self, fault: &Fault) {
        let Jobs { running, awaiting, kept, .. } = std::mem::take(&mut self.jobs);
        let waiting = awaiting.into_iter().map(|it| it.what.into_mail()).chain(kept).collect();
        self.refuse_all(running, waiting, fault);
    }

    fn refuse_all(&mut self, jobs: Vec<Job>, kept: VecDeque<Mail>, fault: &Fault) {
        for Job { outbox, tag, .. } in jobs {
            self.log.reply(outbox, Event::Reply { tag, result: Err(fault.clone()) });
        }
        kept.into_iter().for_each(|mail| self.refuse_mail(mail, fault));
    }

    fn refuse_mail(&mut self, mail: Mail, fault: &Fault) {
        match mail {
            Mail::Verb { outbox, tag, .. } => {
                self.log.reply(outbox, Event::Reply { tag, result: Err(fault.clone()) });
            }
            Mail::Say { outbox, event } => self.log.reply(outbox, event),
            _ => {}
        }
    }

    /// The peer goes, and does not wait for what it asked for. That it comes back may wait here already.
    pub(super) fn leave_jobs(&mut self, peer: PeerId) {
        let is_its = |mail: &Mail| sender(mail) == Some(peer) && !matches!(mail, Mail::Join { .. });
        let jobs = self.jobs.running.extract_if(.., |job| job.outbox.peer == peer).collect();
        let (left, kept): (VecDeque<Mail>, VecDeque<Mail>) =
            std::mem::take(&mut self.jobs.kept).into_iter().partition(is_its);
        self.jobs.kept = kept;
        let (awaiting, others) = std::mem::take(&mut self.jobs.awaiting)
            .into_iter()
            .partition::<VecDeque<_>, _>(|it| it.what.sender() == Some(peer));
        self.jobs.awaiting = others;
        let left = awaiting.into_iter().map(|it| it.what.into_mail()).chain(left).collect();
        self.refuse_all(jobs, left, &left_too_soon());
    }
}

/// Told to the sender, and to whoever sent the same under the same key.
pub(super) fn left_too_soon() -> Fault {
    Fault::new(FaultKind::Cancelled, "its sender left the session before it was done")
}

impl JobStage {
    fn poll(&mut self, committed: u64, context: &mut Context<'_>) -> Poll<Finish> {
        let failed = |text: String| Finish::Reply(Err(Fault::new(FaultKind::Internal, text)));
        if let JobStage::Waits { upto, begin } = self {
            // The commit was polled before and wakes us.
            let Some(begin) = begin.take_if(|_| *upto <= committed) else { return Poll::Pending };
            match guarded(begin) {
                Ok(job) => *self = JobStage::Runs(job),
                Err(text) => return Poll::Ready(failed(text)),
            }
        }
        match self {
            JobStage::Runs(job) => match guarded(|| job.as_mut().poll(context)) {
                Ok(polled) => polled,
                Err(text) => Poll::Ready(failed(text)),
            },
            JobStage::Waits { .. } => Poll::Pending,
        }
    }
}

fn sender(mail: &Mail) -> Option<PeerId> {
    match mail {
        Mail::Verb { outbox, .. } | Mail::Say { outbox, .. } | Mail::Join { outbox, .. } => Some(outbox.peer),
        Mail::Leave { peer } => Some(*peer),
        _ => None,
    }
}

/// How a message is to be delivered; `None` where the mail is no message.
fn prompt_delivery(mail: &Mail) -> Option<Delivery> {
    match mail {
        Mail::Verb { verb: SessionVerb::Prompt { delivery, .. }, .. } => Some(*delivery),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outbox::Slow;

    fn prompt(peer: u64, tag: u64) -> Awaited {
        let verb = SessionVerb::Prompt { parts: Vec::new(), delivery: Delivery::Enqueue };
        Awaited::Mail(Mail::Verb {
            outbox: Outbox::new(PeerId(peer), Slow::Wait),
            tag: Tag(tag),
            verb,
            provenance: None,
        })
    }

    fn awaiting(needs: &[(u64, Need)]) -> Jobs {
        let mut jobs = Jobs::default();
        for (at, (peer, need)) in needs.iter().enumerate() {
            jobs.awaiting.push_back(Awaiting { need: *need, what: prompt(*peer, at as u64), outcome: None });
        }
        jobs
    }

    fn next(jobs: &mut Jobs, committed: u64, viewed: bool) -> Option<(u64, bool)> {
        jobs.next_again(committed, viewed).map(|(what, outcome)| match what.into_mail() {
            Mail::Verb { tag, .. } => (tag.0, outcome.is_ok()),
            _ => panic!("all of them are prompts"),
        })
    }

    #[test]
    fn what_waits_is_taken_up_in_order_when_its_need_is_met() {
        let needs = [(1, Need::View), (2, Need::Written { upto: 5 }), (3, Need::View)];
        let mut jobs = awaiting(&needs);
        assert!(jobs.want_view() && jobs.is_busy_for(PeerId(2)) && !jobs.is_busy_for(PeerId(4)));
        assert_eq!(next(&mut jobs, 4, false), None);
        assert_eq!(next(&mut jobs, 5, false), Some((1, true)), "it does not wait for the view");
        assert_eq!(next(&mut jobs, 5, true), Some((0, true)));
        assert_eq!(next(&mut jobs, 5, true), Some((2, true)));
        assert!(!jobs.is_awaited() && !jobs.want_view());
    }

    #[test]
    fn what_waits_in_vain_is_told_why() {
        let mut jobs = awaiting(&[(1, Need::View), (2, Need::Written { upto: 5 })]);
        jobs.view_read(&Err(Fault::new(FaultKind::Store, "cannot be read")));
        assert!(!jobs.want_view(), "it is not read again for the same one");
        assert_eq!(next(&mut jobs, 0, false), Some((0, false)));
        assert_eq!(next(&mut jobs, 0, false), None, "the other one waits on");
    }
}
