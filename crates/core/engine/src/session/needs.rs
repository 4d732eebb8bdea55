//! What a command has to have before it can be carried out: the model's view read back from the log, everything written, a look
//! around the workspace. What lacks something waits, apart from everything else, and then begins anew ([`super::jobs`]).

use std::sync::Arc;

use vocab::{Briefing, Later, Part, SessionVerb, Tag};

use super::jobs::{Awaited, Need};
use super::{Mail, Session, later, undo};
use crate::commands;
use crate::outbox::Outbox;

/// What is not there yet.
pub(super) enum Lack {
    Need(Need),
    Briefing(Later<'static, Briefing>),
}

impl Session {
    /// `None`: it can be carried out, or says itself why not.
    pub(super) fn unmet(&mut self, outbox: &Outbox, verb: &SessionVerb) -> Option<Lack> {
        if !self.log.peers.is_here(outbox.peer) || self.jobs.failure().is_err() {
            return None;
        }
        let ends = self.activity.is_ending();
        match verb {
            SessionVerb::Prompt { .. }
            | SessionVerb::Compact { .. }
            | SessionVerb::Shell { .. }
            | SessionVerb::Call { .. }
                if ends =>
            {
                None
            }
            SessionVerb::Call { .. } if self.log.last_seq() > 0 => self.lacks_view(),
            // With images it waits when they are ready.
            SessionVerb::Prompt { parts, .. } if parts.iter().any(|part| matches!(part, Part::Image(_))) => None,
            SessionVerb::Prompt { .. } => self.lacks_view(),
            SessionVerb::Queue(_) if self.log.last_seq() > 0 => self.lacks_queue(),
            SessionVerb::Interrupt { turn } => self.lacks_open_turn(turn.as_ref()),
            SessionVerb::Shell { command, .. } if self.log.last_seq() > 0 && self.takes_shell(command).is_ok() => {
                self.lacks_view()
            }
            SessionVerb::Inspect if self.log.last_seq() > 0 && !self.settings.is_model_gone() => {
                self.lacks_view().or_else(|| self.lacks_briefing())
            }
            SessionVerb::Inspect => self.lacks_briefing(),
            SessionVerb::Compact { .. } => self.lacks_written_view(),
            SessionVerb::StartOver if self.log.last_seq() > 0 => self.lacks_written_view(),
            SessionVerb::Slash { name, args } => match commands::find(name).map(|command| command.name) {
                Some("context") => self.lacks_view().or_else(|| self.lacks_briefing()),
                Some("compact") => self.lacks_written_view(),
                // How many messages the model sees, and which gadgets are off, the log says.
                Some("gadgets" | "status" | "tools") if self.log.last_seq() > 0 => self.lacks_view(),
                Some("undo") if undo::count(args.trim()).is_some() => self.lacks_written_view(),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn lacks_view(&mut self) -> Option<Lack> {
        matches!(self.view_at_rest(), Ok(false)).then_some(Lack::Need(Need::View))
    }

    /// What is about to change or to summarise the branch needs to know that it is in the store.
    fn lacks_written_view(&mut self) -> Option<Lack> {
        if self.prompts.queue.is_busy() {
            return None;
        }
        self.lacks_view().or_else(|| {
            let upto = self.log.last_seq();
            (!self.log.is_settled()).then_some(Lack::Need(Need::Written { upto }))
        })
    }

    fn lacks_briefing(&mut self) -> Option<Lack> {
        self.brief_at_rest().map(Lack::Briefing)
    }

    pub(super) fn wait_for(&mut self, lack: Lack, outbox: Arc<Outbox>, tag: Tag, verb: SessionVerb) {
        match lack {
            Lack::Need(need) => {
                self.await_need(need, Awaited::Mail(Mail::Verb { outbox, tag, verb, provenance: None }))
            }
            Lack::Briefing(look) => {
                let mail = Mail::Verb { outbox: outbox.clone(), tag, verb, provenance: None };
                self.job(&outbox, tag, later::briefed(look, mail));
            }
        }
    }
}
