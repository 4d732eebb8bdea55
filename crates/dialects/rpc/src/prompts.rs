//! What became of a prompt: the word in its acknowledgement, and its last word when everything it caused is over. The
//! clients of pi read the one, those of oh-my-pi wait for the other.

use vocab::{Fault, ItemEnd, ItemId};
use wire::FrameBuf;

use crate::frames::Writer;
use crate::inbound::RpcCall;
use crate::outbound::run::CallOutcome;

/// `data.disposition` of an acknowledged message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Disposition {
    /// A run begins with it.
    Started,
    /// It waits for its place in a run.
    Queued,
    /// A command took it; no run begins.
    Handled,
}

impl Disposition {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Disposition::Started => "started",
            Disposition::Queued => "queued",
            Disposition::Handled => "handled",
        }
    }
}

/// Prompts that were taken and have no result yet. Their number is bounded by what may wait in a session.
#[derive(Default)]
pub(crate) struct Prompts {
    open: Vec<Taken>,
}

struct Taken {
    id: Option<Box<str>>,
    /// What it waits as, until a run takes it up: the end of another run is not its own.
    waits: Option<ItemId>,
}

impl Prompts {
    /// Messages that only join somebody else's run have no result of their own.
    pub(crate) fn taken(&mut self, call: &RpcCall, waits: Option<&ItemId>) {
        if is_prompt(call) {
            self.open.push(Taken { id: call.id.clone(), waits: waits.cloned() });
        }
    }

    /// A command took it: nothing of it will ever run.
    pub(crate) fn handled(call: &RpcCall, settled: bool, frames: &mut FrameBuf) {
        if is_prompt(call) {
            result(frames, call.id.as_deref(), false, &CallOutcome::Completed, settled);
        }
    }

    /// A message waits no longer: a run took it up, or it will never have one.
    pub(crate) fn item_ended(&mut self, item: &ItemId, end: ItemEnd, settled: bool, frames: &mut FrameBuf) {
        let Some(at) = self.open.iter().position(|taken| taken.waits.as_ref() == Some(item)) else { return };
        if end == ItemEnd::Consumed {
            self.open[at].waits = None;
        } else {
            result(frames, self.open.remove(at).id.as_deref(), false, &CallOutcome::Aborted, settled);
        }
    }

    /// Everything that those caused is over that a run took up; the others wait on.
    pub(crate) fn over(&mut self, outcome: &CallOutcome, settled: bool, frames: &mut FrameBuf) {
        for taken in self.open.extract_if(.., |taken| taken.waits.is_none()) {
            result(frames, taken.id.as_deref(), true, outcome, settled);
        }
    }

    /// The session is gone under its host. A prompt that waits may be sent again, unless the next process has it.
    pub(crate) fn lost(&mut self, fault: &Fault, message: &str, frames: &mut FrameBuf) {
        for taken in self.open.drain(..) {
            let retryable = taken.waits.is_some() && fault.is_suspended() && !fault.keeps_waiting();
            let outcome = CallOutcome::Failed { message: message.to_owned(), retryable };
            result(frames, taken.id.as_deref(), taken.waits.is_none(), &outcome, true);
        }
    }

    /// The host leaves the session: what runs and waits there has no end that could be told.
    pub(crate) fn left(&mut self, frames: &mut FrameBuf) {
        for taken in self.open.drain(..) {
            result(frames, taken.id.as_deref(), taken.waits.is_none(), &CallOutcome::Aborted, true);
        }
    }
}

fn is_prompt(call: &RpcCall) -> bool {
    matches!(call.command, "prompt" | "abort_and_prompt")
}

fn result(frames: &mut FrameBuf, id: Option<&str>, invoked: bool, outcome: &CallOutcome, settled: bool) {
    Writer::event(frames, "prompt_result", |w| {
        if let Some(id) = id {
            w.raw("id", id.as_bytes());
        }
        w.flag("agentInvoked", invoked).text("status", outcome.word()).flag("sessionSettled", settled);
        if let CallOutcome::Failed { message, retryable } = outcome {
            w.key("error");
            Writer::object(w.out, |w| {
                w.text("message", message).flag("retryable", *retryable);
            });
        }
    });
}
