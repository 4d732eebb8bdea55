//! What reaches a session from outside: peers and their commands, the router, the engine.

use std::sync::Arc;

use tokio::sync::oneshot;
use vocab::{Event, Fault, LanePolicy, Open, PeerId, Principal, SessionVerb, State, Tag};

use super::Session;
use super::jobs::{Awaited, Need};
use super::log::commands::Provenance;
use super::verbs::Response;
use crate::outbox::Outbox;
use crate::turn_places::TurnsHeld;

pub(crate) enum Mail {
    Join {
        outbox: Arc<Outbox>,
        tag: Tag,
        resumed: bool,
        /// What it wants, and what it says about itself.
        open: Box<Open>,
        /// Whose doing it is.
        by: Option<Principal>,
        /// Whether the peer is on the session now. Dropped unanswered when the session ends first.
        joined: oneshot::Sender<bool>,
    },
    Leave {
        peer: PeerId,
    },
    Verb {
        outbox: Arc<Outbox>,
        tag: Tag,
        verb: SessionVerb,
        /// `None`: it was looked at before, and its sender is known.
        provenance: Option<Box<Provenance>>,
    },
    /// The peer's real outbox takes the place of the private one it came in with, and gets what that one holds.
    Rebind {
        outbox: Arc<Outbox>,
        aside: Arc<Outbox>,
    },
    /// Go on with what the log says, also with no peer here.
    TakeUp(TakenUp),
    State(oneshot::Sender<State>),
    /// A peer has begun to watch.
    Glance,
    /// To be told behind everything that came before it.
    Say {
        outbox: Arc<Outbox>,
        event: Event,
    },
    /// Who stands beside the sessions has changed.
    Extensions,
    /// What was usual for its queue is this now.
    UsualLane {
        before: LanePolicy,
        after: LanePolicy,
    },
    /// For the controllers that are here.
    Trouble(Event),
    /// Whether no peer is here and nothing runs; then the session ends, and nobody comes in before it has.
    Deserted(oneshot::Sender<bool>),
    /// Whether a turn or a compaction runs; answered when everything said so far is written.
    Busy(oneshot::Sender<bool>),
    /// Begin nothing new, and end when what runs can be stopped.
    Drain,
    /// The session is to be deleted: it ends now, and its peers are told that it is gone.
    Remove {
        by: Option<Principal>,
    },
    /// End the turn, write everything, let go of the lease.
    Stop(oneshot::Sender<()>),
}

/// A session that goes on without a peer.
pub(crate) struct TakenUp {
    /// Whether its log could be read.
    pub(crate) told: oneshot::Sender<Result<(), Fault>>,
    /// Given back when the session is in line for a place itself.
    pub(crate) _held: TurnsHeld,
}

impl Session {
    pub(super) fn mail(&mut self, mail: Mail) {
        if let Some(mail) = self.keep_in_order(mail) {
            self.take_mail(mail);
        }
    }

    /// Mail that nothing stands before.
    pub(super) fn take_mail(&mut self, mail: Mail) {
        match mail {
            // It comes again: the router sees to it.
            Mail::Join { .. } if self.idle.is_dismissed() => {}
            // Whoever comes is told of the turn that goes on, so that is known first.
            mail @ Mail::Join { .. } if self.recovery.is_to_continue() && self.jobs.failure().is_ok() => {
                self.await_need(Need::View, Awaited::Mail(mail));
            }
            Mail::Join { outbox, tag, resumed, open, by, joined } => {
                if let Err(fault) = self.wake() {
                    self.log.peers.tell_one(&outbox, Event::Reply { tag, result: Err(fault) });
                    let _ = joined.send(false);
                    return;
                }
                let _ = joined.send(self.join(outbox, tag, (*open, by), resumed));
            }
            // Nobody need come; it ends by itself when there is nothing left to do.
            Mail::TakeUp(taken_up) => {
                self.recovery.take_up(taken_up);
                self.log.peers.was_joined = true;
                self.log_repair();
            }
            Mail::Leave { peer } => self.leave(peer),
            Mail::Rebind { outbox, aside } => {
                aside.pour_into(&outbox);
                self.log.peers.go_live(outbox);
            }
            Mail::State(reply) => {
                // A peer that asks wants to know how full the context is; what cannot be read is told by the next prompt.
                if self.log.last_seq() > 0 && matches!(self.view_at_rest(), Ok(false)) {
                    return self.await_need(Need::View, Awaited::Mail(Mail::State(reply)));
                }
                let _ = reply.send(self.state());
            }
            Mail::Glance => self.log.peers.is_news = true,
            Mail::Say { outbox, event } => self.log.reply(outbox, event),
            Mail::Extensions => self.hear_of_extensions(),
            Mail::UsualLane { before, after } => self.usual_lane_changed(before, after),
            Mail::Trouble(trouble) => self.tell_trouble(trouble),
            Mail::Deserted(reply) => {
                let is_deserted = self.is_deserted();
                if is_deserted {
                    self.idle.dismiss();
                }
                let _ = reply.send(is_deserted);
            }
            Mail::Busy(reply) => self.jobs.asked_busy.push(reply),
            Mail::Drain => {
                self.activity.drain();
                self.give_up_what_waits();
            }
            Mail::Remove { by } => self.remove(by),
            Mail::Stop(stopped) => {
                self.activity.end(stopped);
                self.give_up_what_waits();
                self.stop_shells(|_| true);
                self.stop_asides(|_| true);
                self.suspend_turn();
            }
            Mail::Verb { outbox, tag, verb, provenance } => {
                if let Err(fault) = self.wake() {
                    return self.log.reply(outbox, Event::Reply { tag, result: Err(fault) });
                }
                if let Some(provenance) = provenance {
                    self.log.commands.begin(&outbox, tag, *provenance);
                }
                self.log.look_at(&outbox, tag);
                let response = match (self.mend_model(&verb), self.log.commands.key_of(&outbox, tag)) {
                    (Err(fault), _) => Ok(Response::Now(Err(fault))),
                    (Ok(()), Some(_)) => self.repeated(&outbox, tag, verb),
                    (Ok(()), None) => Err(verb),
                };
                let response = response.unwrap_or_else(|verb| self.verb(&outbox, tag, verb));
                if let Response::Now(result) = response {
                    self.log.reply(outbox, Event::Reply { tag, result });
                }
                self.log.looked_at();
            }
        }
    }

    /// A peer that asked whether something runs is told when everything that was said before is written, and begun.
    pub(super) fn tell_busy(&mut self) {
        if self.log.is_settled() && !self.jobs.is_awaited() {
            let busy = self.prompts.queue.is_busy();
            for asked in self.jobs.asked_busy.drain(..) {
                let _ = asked.send(busy);
            }
        }
    }
}
