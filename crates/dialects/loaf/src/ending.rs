//! How a conversation ends: by a request, by the end of input, by a signal.

use serde_json::json;
use vocab::{DirectoryVerb, QueueVerb, SessionVerb, Verb};
use wire::{Close, Parting};

use crate::Loaf;
use crate::frames::LoafCall;
use crate::own::Out;
use crate::pending::LoafPending;

#[derive(Default)]
pub(crate) struct End {
    /// No new request is taken; we close when what runs has stopped.
    pub(crate) ending: bool,
    /// Events are over; what was asked before is still answered.
    pub(crate) mute: bool,
    /// Nothing is waited for any more.
    now: bool,
}

impl Loaf {
    pub(crate) fn shutdown_asked(&mut self, call: &LoafCall, reason: Option<String>, out: &mut Out) {
        self.state_changed(reason.as_deref().unwrap_or("shutdown"), None, out);
        let mut answer = json!({ "accepted": true });
        if let Some(reason) = reason {
            answer["reason"] = json!(reason);
        }
        self.pen(out).result(call, answer);
        self.wind_down(out);
    }

    pub(crate) fn quit(&mut self, call: &LoafCall, out: &mut Out) {
        self.state_changed("quit_command", None, out);
        self.pen(out).result(call, json!({ "shutting_down": true }));
        self.wind_down(out);
    }

    /// Stops everything that runs; what waits is dropped.
    fn wind_down(&mut self, out: &mut Out) {
        if std::mem::replace(&mut self.end.ending, true) {
            return;
        }
        out.ending = true;
        self.want(Verb::Directory(DirectoryVerb::CancelSignIns), LoafPending::Nothing, out);
        for at in 0..self.views.len() {
            self.tell_view(at, Verb::Session(SessionVerb::Queue(QueueVerb::Clear)), LoafPending::Nothing, out);
            // Whatever it is: a turn may be about to begin that we do not know of yet.
            self.tell_view(at, Verb::Session(SessionVerb::Interrupt { turn: None }), LoafPending::Nothing, out);
        }
    }

    pub(crate) fn parted(&mut self, why: Parting, out: &mut Out) {
        match why {
            Parting::Asked { by } => {
                // This wire knows two words for it.
                let reason = if by == "sigint" { by } else { "sigterm" };
                // Asked twice, we do not wait.
                self.end.now |= self.end.ending;
                if !self.end.ending {
                    self.state_changed(reason, None, out);
                }
            }
            Parting::Eof | Parting::Deaf => self.end.mute = true,
            Parting::GraceOver => self.end.now = true,
        }
        self.wind_down(out);
    }

    /// Closes when everything has stopped and everybody was answered.
    pub(crate) fn settle(&mut self, out: &mut Out) {
        if self.end.ending {
            let stopped = self.views.iter().all(|view| view.turn.is_none() && !view.locked && !view.compacting);
            if self.end.now || (stopped && self.pending.is_empty()) {
                out.close_with(Close::normal());
            }
        }
    }
}
