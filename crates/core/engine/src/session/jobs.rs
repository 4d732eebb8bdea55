//! What a verb waits for that is neither the turn's nor its peer's to wait for: a list of models from a server, pictures
//! that are made smaller, a log that is read whole, a file that is written. It runs beside everything else; an interrupt
//! or an answer never waits for it, and neither does the running turn.
//!
//! A peer's own commands keep their order: what it sends behind one that is not done is taken up when it is.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll};

use vocab::{Delivery, Event, Fault, FaultKind, Later, Part, PeerId, Reply, Tag, Verb};

use super::{Mail, Session, guarded};
use crate::outbox::Outbox;

/// Commands kept behind slow ones of their peers; one more is refused.
const KEPT_MAX: usize = 64;

/// What is left to do when the waiting is over.
pub(super) enum Finish {
    Reply(Result<Reply, Fault>),
    /// With the session in hand.
    With(Step),
    /// A message whose pictures are ready.
    Prompt {
        parts: Vec<Part>,
        delivery: Delivery,
    },
}

type Step = Box<dyn FnOnce(&mut Session) -> Result<Reply, Fault> + Send>;
type Begin = Box<dyn FnOnce() -> Later<'static, Finish> + Send>;

enum Stage {
    /// Begins when the log is written up to here.
    Waits {
        upto: u64,
        begin: Option<Begin>,
    },
    Runs(Later<'static, Finish>),
}

pub(super) struct Job {
    pub(super) outbox: Arc<Outbox>,
    pub(super) tag: Tag,
    stage: Stage,
    /// Of a message that is not yet the lane's.
    delivery: Option<Delivery>,
}

/// Under way, and what waits behind it.
#[derive(Default)]
pub(super) struct Jobs {
    running: Vec<Job>,
    kept: VecDeque<Mail>,
}

impl Jobs {
    fn is_busy_for(&self, peer: PeerId) -> bool {
        self.running.iter().any(|job| job.outbox.peer == peer)
    }
}

impl Session {
    pub(super) fn job(&mut self, outbox: &Arc<Outbox>, tag: Tag, job: Later<'static, Finish>) {
        self.push_job(outbox, tag, Stage::Runs(job), None);
    }

    /// The message becomes the lane's when its pictures are ready.
    pub(super) fn prompt_job(
        &mut self,
        outbox: &Arc<Outbox>,
        tag: Tag,
        delivery: Delivery,
        job: Later<'static, Finish>,
    ) {
        self.push_job(outbox, tag, Stage::Runs(job), Some(delivery));
    }

    /// As [`Session::job`], once everything that was said so far is written: a peer reads what it was told.
    pub(super) fn job_when_written(
        &mut self,
        outbox: &Arc<Outbox>,
        tag: Tag,
        begin: impl FnOnce() -> Later<'static, Finish> + Send + 'static,
    ) {
        let upto = self.log.last_seq();
        self.push_job(outbox, tag, Stage::Waits { upto, begin: Some(Box::new(begin)) }, None);
    }

    fn push_job(&mut self, outbox: &Arc<Outbox>, tag: Tag, stage: Stage, delivery: Option<Delivery>) {
        self.jobs.running.push(Job { outbox: outbox.clone(), tag, stage, delivery });
    }

    /// Ready when one is done, or when something that waited behind one can be taken up.
    pub(super) fn poll_jobs(&mut self, context: &mut Context<'_>) -> Poll<Result<(Job, Finish), Mail>> {
        let committed = self.log.committed();
        let free = |mail: &Mail| sender(mail).is_none_or(|peer| !self.jobs.is_busy_for(peer));
        if let Some(mail) = self.jobs.kept.iter().position(free).and_then(|at| self.jobs.kept.remove(at)) {
            return Poll::Ready(Err(mail));
        }
        for at in 0..self.jobs.running.len() {
            // Whoever does not read gets nothing more to read; what it sends waits behind this.
            if self.jobs.running[at].outbox.poll_room(context).is_pending() {
                continue;
            }
            if let Poll::Ready(finish) = self.jobs.running[at].stage.poll(committed, context) {
                return Poll::Ready(Ok((self.jobs.running.remove(at), finish)));
            }
        }
        Poll::Pending
    }

    pub(super) async fn job_done(&mut self, job: Job, finish: Finish) {
        self.log.answering = Some((job.outbox.clone(), job.tag));
        let result = match finish {
            Finish::Reply(result) => Some(result),
            Finish::With(step) => Some(step(self)),
            Finish::Prompt { parts, delivery } => match self.load_at_rest().await {
                Ok(()) => {
                    self.offer(job.outbox.peer, job.tag, parts, delivery);
                    None
                }
                Err(fault) => Some(Err(fault)),
            },
        };
        if let Some(result) = result {
            self.log.reply(job.outbox, Event::Reply { tag: job.tag, result });
        }
        self.log.answering = None;
    }

    /// Gives the mail back where nothing is before it.
    pub(super) fn keep_in_order(&mut self, mail: Mail) -> Option<Mail> {
        let urgent = matches!(&mail, Mail::Verb { verb, .. } if verb.is_urgent());
        let behind = sender(&mail).is_some_and(|peer| self.jobs.is_busy_for(peer));
        if urgent || !behind {
            return Some(mail);
        }
        if self.jobs.kept.len() < KEPT_MAX {
            self.jobs.kept.push_back(mail);
            return None;
        }
        let text = format!("{KEPT_MAX} commands wait for one that is not done");
        self.refuse_mail(mail, &Fault::new(FaultKind::QueueFull, text).hint("wait for its answer"));
        None
    }

    /// Stops messages that are not yet the lane's, when nothing else runs that an interrupt could mean. Those that wait
    /// for their turn whatever happens are none.
    pub(super) fn interrupt_prompts(&mut self) -> bool {
        if self.queue.is_busy() {
            return false;
        }
        let is_meant =
            |delivery: Delivery| matches!(delivery, Delivery::RejectIfBusy | Delivery::Queue | Delivery::Policy);
        let fault = Fault::new(FaultKind::Cancelled, "interrupted before it began");
        let jobs: Vec<Job> = self.jobs.running.extract_if(.., |job| job.delivery.is_some_and(is_meant)).collect();
        let is_prompt =
            |mail: &Mail| matches!(mail, Mail::Verb { verb: Verb::Prompt { delivery, .. }, .. } if is_meant(*delivery));
        let (stopped, kept): (VecDeque<Mail>, VecDeque<Mail>) =
            std::mem::take(&mut self.jobs.kept).into_iter().partition(is_prompt);
        self.jobs.kept = kept;
        let any = !jobs.is_empty() || !stopped.is_empty();
        self.refuse_all(jobs, stopped, &fault);
        any
    }

    /// The write that a job waited for has failed.
    pub(super) fn fail_jobs(&mut self, fault: &Fault) {
        let committed = self.log.committed();
        let waits = |job: &mut Job| matches!(&job.stage, Stage::Waits { upto, .. } if *upto > committed);
        let jobs: Vec<Job> = self.jobs.running.extract_if(.., waits).collect();
        self.refuse_all(jobs, VecDeque::new(), fault);
    }

    pub(super) fn refuse_jobs(&mut self, fault: &Fault) {
        let Jobs { running, kept } = std::mem::take(&mut self.jobs);
        self.refuse_all(running, kept, fault);
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

    /// The peer goes, and does not wait for what it asked for.
    pub(super) fn leave_jobs(&mut self, peer: PeerId) {
        let jobs = self.jobs.running.extract_if(.., |job| job.outbox.peer == peer).collect();
        let (left, kept) = std::mem::take(&mut self.jobs.kept).into_iter().partition(|mail| sender(mail) == Some(peer));
        self.jobs.kept = kept;
        self.refuse_all(jobs, left, &Fault::new(FaultKind::Cancelled, "you left the session before it was done"));
    }
}

impl Stage {
    fn poll(&mut self, committed: u64, context: &mut Context<'_>) -> Poll<Finish> {
        let failed = |text: String| Finish::Reply(Err(Fault::new(FaultKind::Internal, text)));
        if let Stage::Waits { upto, begin } = self {
            // The commit was polled before and wakes us.
            let Some(begin) = begin.take_if(|_| *upto <= committed) else { return Poll::Pending };
            match guarded(begin) {
                Ok(job) => *self = Stage::Runs(job),
                Err(text) => return Poll::Ready(failed(text)),
            }
        }
        match self {
            Stage::Runs(job) => match guarded(|| job.as_mut().poll(context)) {
                Ok(polled) => polled,
                Err(text) => Poll::Ready(failed(text)),
            },
            Stage::Waits { .. } => Poll::Pending,
        }
    }
}

fn sender(mail: &Mail) -> Option<PeerId> {
    match mail {
        Mail::Verb { outbox, .. } | Mail::Say { outbox, .. } => Some(outbox.peer),
        _ => None,
    }
}
