//! Commands that come twice. One with a key is carried out once: whoever lost the answer, and with it the knowledge whether
//! anything happened, asks again with the same key, also of the next process.

use std::fmt::Write as _;
use std::sync::Arc;

use vocab::{Change, Fault, FaultKind, FnvSum, KEY_BYTES_MAX, Part, QueueVerb, Reply, SessionVerb, Tag};

use super::Session;
use super::jobs::{Awaited, Need};
use super::log::commands::KeyedCommand;
use super::mail::Mail;
use super::verbs::Response;
use crate::outbox::Outbox;

/// Commands that may wait when one with a key comes which has to wait for the log, too: one more is refused. Urgent ones do not
/// stand behind others of their peer, so nothing else bounds them.
const KEYED_WAITING_MAX: usize = 64;

impl Session {
    /// How a command with a key is answered; gives the verb back where it is to be carried out.
    pub(super) fn repeated(
        &mut self,
        outbox: &Arc<Outbox>,
        tag: Tag,
        verb: SessionVerb,
    ) -> Result<Response, SessionVerb> {
        let Some(key) = self.log.commands.key_of(outbox, tag).cloned() else { return Err(verb) };
        let refuse = |kind, text: String| Ok(Response::Now(Err(Fault::new(kind, text))));
        if !is_kept(&verb) {
            return refuse(FaultKind::Unsupported, "this command cannot have a key: send it without one".to_owned());
        }
        if key.is_empty() || key.len() > KEY_BYTES_MAX {
            return refuse(FaultKind::Invalid, format!("a key has 1 to {KEY_BYTES_MAX} bytes"));
        }
        // What the log says of it has to be read.
        if self.log.last_seq() > 0 && self.jobs.failure().is_ok() && matches!(self.view_at_rest(), Ok(false)) {
            if self.jobs.awaited() >= KEYED_WAITING_MAX {
                let text = format!("{KEYED_WAITING_MAX} commands wait for the log to be read");
                return Ok(Response::Now(Err(Fault::new(FaultKind::QueueFull, text).hint("send it again later"))));
            }
            let mail = Mail::Verb { outbox: outbox.clone(), tag, verb, provenance: None };
            self.await_need(Need::View, Awaited::Mail(mail));
            return Ok(Response::Later);
        }
        if let Err(fault) = self.jobs.failure() {
            return Ok(Response::Now(Err(fault)));
        }
        if is_harmless(&verb) {
            self.log.commands.forget_key(outbox, tag);
            return Err(verb);
        }
        let of = sum_of(&verb);
        let clash = || Fault::new(FaultKind::KeyTaken, "this key stands for another command").hint("choose a new one");
        let (by, now_ms) = (self.log.commands.acting().cloned(), self.shared.ports.clock.now_ms());
        if let Some(known) = self.log.logged().keys.find(by.as_ref(), &key, now_ms) {
            let result =
                if known.of == of { Ok(Reply::Again(Box::new(known.reply.clone().into()))) } else { Err(clash()) };
            self.log.commands.forget_key(outbox, tag);
            return Ok(Response::Now(result));
        }
        match self.log.commands.claim(outbox, tag, of) {
            KeyedCommand::First => {
                // The answer is an entry, and the first entry of a log is another one.
                if self.log.last_seq() == 0 {
                    self.log_opened();
                }
                Err(verb)
            }
            KeyedCommand::Repeats => Ok(Response::Later),
            KeyedCommand::Clashes => Ok(Response::Now(Err(clash()))),
            KeyedCommand::TooMany => refuse(FaultKind::QueueFull, "too many repeats wait for its answer".to_owned()),
        }
    }
}

/// What changes something and has an answer that fits into the log.
fn is_kept(verb: &SessionVerb) -> bool {
    match verb {
        SessionVerb::Prompt { .. }
        | SessionVerb::Answer { .. }
        | SessionVerb::Interrupt { .. }
        | SessionVerb::Set(_)
        | SessionVerb::SetAll(_)
        | SessionVerb::Queue(QueueVerb::TakeBack(_) | QueueVerb::Clear | QueueVerb::ClearTurns) => true,
        SessionVerb::Queue(QueueVerb::List | QueueVerb::TakeBackUnlessWanted(_))
        | SessionVerb::Progress { .. }
        | SessionVerb::InterruptIfAlone
        | SessionVerb::InterruptUnlessWanted { .. }
        | SessionVerb::AbortRetry
        | SessionVerb::Slash { .. }
        | SessionVerb::Compact { .. }
        | SessionVerb::Able(_)
        | SessionVerb::OfferTools { .. }
        | SessionVerb::OfferEditor(_)
        | SessionVerb::EditorReplied { .. }
        | SessionVerb::Shell { .. }
        | SessionVerb::AbortShell
        | SessionVerb::Read { .. }
        | SessionVerb::Inspect
        | SessionVerb::Export { .. }
        | SessionVerb::Command { .. }
        | SessionVerb::Call { .. }
        | SessionVerb::AbortCall { .. }
        | SessionVerb::Recount { .. }
        | SessionVerb::StartOver
        | SessionVerb::Extension(_) => false,
    }
}

/// What no log keeps: its answer must not outlive it, and done twice it is as done once.
fn is_harmless(verb: &SessionVerb) -> bool {
    matches!(verb, SessionVerb::Set(Change::Locale(_) | Change::Retry(_) | Change::Compaction(_) | Change::Lane(_)))
}

/// The sum over what a command asks for, by which a repeat is told from another command with the same key.
fn sum_of(verb: &SessionVerb) -> u64 {
    let mut sum = FnvSum::default();
    let written = match verb {
        SessionVerb::Prompt { parts, delivery } => {
            for part in parts {
                match part {
                    Part::Text(text) => sum.take(text.as_bytes()),
                    Part::Image(image) => sum.take(image.base64.as_bytes()),
                }
                sum.take(&[0xff]);
            }
            write!(sum, "{delivery:?}")
        }
        other => write!(sum, "{other:?}"),
    };
    debug_assert!(written.is_ok(), "a sum takes every text");
    sum.value()
}
