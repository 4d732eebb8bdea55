//! Tools that are called by hand, beside whatever runs. As with commands of users, that one is about to run is written before it
//! does, and what came of it before its caller is told. The model reads none of it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::time::{Duration, Instant, Sleep};
use vocab::{
    Body, Call, CallContext, CallEnd, CallId, CallInput, CallResult, Event, Fault, FaultKind, IdKind, Json, Later,
    Outcome, PeerId, Plan, Principal, Reply, Required, ShellEntry, Tag, Tool,
};

use super::turn::{Verdict, synthetic};
use super::{Session, guarded};
use crate::outbox::Outbox;
use crate::permission::Decision;

/// Calls by hand that run at once in one session; one more is refused until another has ended.
const ASIDES_MAX: usize = 8;

enum AsideStage {
    /// Begins when the log, with the word that it is about to, is written up to here.
    Waits {
        upto: u64,
        context: Option<Box<CallContext>>,
    },
    Runs(Later<'static, Outcome>),
}

/// One that runs, or is about to.
pub(super) struct RunningAside {
    outbox: Arc<Outbox>,
    tag: Tag,
    by: Option<Principal>,
    call: CallId,
    input: Json,
    tool: Arc<dyn Tool>,
    mutation: Option<Arc<str>>,
    stage: AsideStage,
    since: Instant,
    limit: Option<Pin<Box<Sleep>>>,
    is_stopped: bool,
}

/// The calls by hand of one session.
#[derive(Default)]
pub(super) struct Asides {
    /// Read by the session itself: where it is empty, nothing of this file runs.
    pub(super) running: Vec<RunningAside>,
}

/// How one ended.
pub(super) enum AsideEnd {
    Ran(Outcome),
    Stopped(&'static str),
}

impl RunningAside {
    fn poll(&mut self, committed: u64, context: &mut Context<'_>) -> Poll<AsideEnd> {
        if self.is_stopped {
            return Poll::Ready(AsideEnd::Stopped("interrupted"));
        }
        if let AsideStage::Waits { upto, context: given } = &mut self.stage {
            // The commit was polled before and wakes us.
            let Some(given) = given.take_if(|_| *upto <= committed) else { return Poll::Pending };
            self.since = Instant::now();
            match guarded(|| self.tool.run(self.input.clone(), *given)) {
                Ok(future) => self.stage = AsideStage::Runs(future),
                Err(text) => return Poll::Ready(AsideEnd::Ran(Outcome::error(format!("the tool failed: {text}")))),
            }
        }
        let AsideStage::Runs(future) = &mut self.stage else { return Poll::Pending };
        match guarded(|| future.as_mut().poll(context)) {
            Ok(Poll::Ready(outcome)) => return Poll::Ready(AsideEnd::Ran(outcome)),
            Ok(Poll::Pending) => {}
            Err(text) => return Poll::Ready(AsideEnd::Ran(Outcome::error(format!("the tool failed: {text}")))),
        }
        match &mut self.limit {
            Some(limit) => limit.as_mut().poll(context).map(|()| AsideEnd::Stopped("it took too long and was stopped")),
            None => Poll::Pending,
        }
    }
}

impl Session {
    /// Takes a call; its reply comes when it is done. What a mode would ask about is allowed: whoever calls by hand has said yes.
    pub(super) fn call_by_hand(
        &mut self,
        outbox: &Arc<Outbox>,
        tag: Tag,
        (name, input): (Arc<str>, Json),
        limit_ms: Option<u64>,
    ) -> Result<(), Fault> {
        let (name, plan) = self.planned(&name, &input).map_err(|verdict| match verdict {
            Verdict::Invalid(detail) => Fault::new(FaultKind::Invalid, detail),
            _ => Fault::new(FaultKind::NotFound, format!("no tool `{name}` in this session")),
        })?;
        let tool = self.tools.find(&self.settings, &name).filter(|tool| !tool.has_subagents());
        let Some(tool) = tool else {
            return Err(Fault::new(FaultKind::Unsupported, format!("`{name}` cannot be called by hand")));
        };
        if self.asides.running.len() >= ASIDES_MAX {
            let text = format!("{ASIDES_MAX} calls by hand are running already");
            return Err(Fault::new(FaultKind::QueueFull, text).hint("wait for one of them"));
        }
        if self.log.last_seq() > 0 {
            self.view_at_rest()?;
        }
        let call = CallId::from(self.shared.ports.ids.mint(IdKind::Call));
        let begun = Call { id: call.clone(), name: name.clone(), input: CallInput::Object(input.clone()), seal: None };
        self.log(Body::Shell(ShellEntry::Called { call: begun, tool: name.clone() }));
        if let Decision::Deny(reason) = self.decide(&name, plan.required) {
            self.return_aside(outbox, tag, synthetic(call, name, CallEnd::Denied, &reason));
            return Ok(());
        }
        let Plan { required, mutation, .. } = plan;
        let context = Some(Box::new(self.aside_context(&call, required)));
        let limit = limit_ms.map(|ms| Box::pin(tokio::time::sleep(Duration::from_millis(ms))));
        self.log.sync_batch();
        self.asides.running.push(RunningAside {
            outbox: outbox.clone(),
            tag,
            by: self.log.commands.acting().cloned(),
            call,
            input,
            tool,
            mutation,
            stage: AsideStage::Waits { upto: self.log.last_seq(), context },
            since: Instant::now(),
            limit,
            is_stopped: false,
        });
        Ok(())
    }

    fn aside_context(&self, call: &CallId, granted: Required) -> CallContext {
        CallContext {
            session: self.id.clone(),
            call: call.clone(),
            granted,
            progress: Arc::new(|_: &str| {}),
            todos: self.log.logged().todos.clone(),
            editor_requests: None,
            children: None,
            processes: None,
        }
    }

    fn return_aside(&mut self, outbox: &Arc<Outbox>, tag: Tag, result: CallResult) {
        self.log(Body::Shell(ShellEntry::Returned(result.clone())));
        let result = Ok(Reply::Called(Box::new(result)));
        self.log.reply(outbox.clone(), Event::Reply { tag, result });
    }

    /// Whether there was one to stop.
    pub(super) fn abort_call(&mut self, peer: PeerId, of: Tag) -> Result<Reply, Fault> {
        if self.activity.is_compacting_for(peer, of) {
            self.interrupt(None);
            return Ok(Reply::Done);
        }
        let found = self.asides.running.iter_mut().find(|aside| aside.outbox.peer == peer && aside.tag == of);
        let missing = || Fault::new(FaultKind::NotFound, "nothing of this tag is running");
        found.map(|aside| aside.is_stopped = true).ok_or_else(missing)?;
        Ok(Reply::Done)
    }

    pub(super) fn stop_asides(&mut self, whose: impl Fn(PeerId) -> bool) {
        let meant = self.asides.running.iter_mut().filter(|aside| whose(aside.outbox.peer));
        meant.for_each(|aside| aside.is_stopped = true);
    }

    /// Ends them at once; their callers get no other answer.
    pub(super) fn drop_asides(&mut self, fault: &Fault) {
        for RunningAside { outbox, tag, .. } in self.asides.running.drain(..) {
            let result = Err(fault.clone());
            self.log.peers.tell_one(&outbox, Event::Reply { tag, result });
        }
    }

    /// The write that said they were about to begin has failed: they do not.
    pub(super) fn fail_asides(&mut self, fault: &Fault) {
        let committed = self.log.committed();
        let waits =
            |aside: &mut RunningAside| matches!(&aside.stage, AsideStage::Waits { upto, .. } if *upto > committed);
        for aside in self.asides.running.extract_if(.., waits).collect::<Vec<_>>() {
            self.log.reply(aside.outbox, Event::Reply { tag: aside.tag, result: Err(fault.clone()) });
        }
    }

    /// Calls that the log has begun and not ended, and that do not run here, are lost.
    pub(super) fn close_lost_asides(&mut self, open: Vec<Call>) {
        let lost = open.into_iter().filter(|call| !self.asides.running.iter().any(|aside| aside.call == call.id));
        for call in lost.collect::<Vec<_>>() {
            let result = super::model_view::lost_result(&call);
            self.log(Body::Shell(ShellEntry::Returned(result)));
        }
    }

    /// Ready when one of them is done.
    pub(super) fn poll_asides(&mut self, context: &mut Context<'_>) -> Poll<(usize, AsideEnd)> {
        let committed = self.log.committed();
        for (index, aside) in self.asides.running.iter_mut().enumerate() {
            if let Poll::Ready(end) = aside.poll(committed, context) {
                return Poll::Ready((index, end));
            }
        }
        Poll::Pending
    }

    /// One of them is done: into the log, then to its caller.
    pub(super) fn aside_done(&mut self, index: usize, end: AsideEnd) {
        let aside = self.asides.running.swap_remove(index);
        self.log.look_at_end(&aside.outbox, aside.tag, aside.by);
        let name = aside.tool.spec().name.clone();
        let duration_ms = aside.since.elapsed().as_millis() as u64;
        let result = match end {
            AsideEnd::Ran(outcome) => {
                let outcome = self.shared.ports.keyring.scrub_outcome(outcome);
                CallResult {
                    call: aside.call,
                    tool: name,
                    end: CallEnd::Ran,
                    mutation: aside.mutation.filter(|_| !outcome.is_error),
                    parts: outcome.parts,
                    is_error: outcome.is_error,
                    duration_ms,
                    edits: outcome.edits,
                    details: outcome.details,
                }
            }
            AsideEnd::Stopped(why) => {
                CallResult { duration_ms, ..synthetic(aside.call, name, CallEnd::Interrupted, why) }
            }
        };
        self.return_aside(&aside.outbox, aside.tag, result);
        self.log.looked_at();
    }
}
