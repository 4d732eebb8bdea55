//! A place among the turns that run at once, where these have a bound. A message has it before its turn starts, so that nobody is
//! told of a start that is none yet; until then it waits in the queue, and the log has it. A turn without one (it goes on after a
//! restart, its sender was promised a turn at once, or it left its place while somebody was asked or its model was not to be
//! asked again yet) waits for it before it calls a model or runs a tool.

use std::sync::Arc;

use super::Session;
use super::activity::TurnWaits;
use super::queue::{Queue, QueueAct};
use super::turn::{Effect, Turn};
use crate::turn_places::{TurnPlace, TurnPlaces, WaitsSince};

impl Session {
    /// The bound that this session's turns are under. A child has its parent's place, which waits for it.
    pub(super) fn bound(&self) -> Option<&Arc<TurnPlaces>> {
        self.shared.turns.as_ref().filter(|_| self.subagents.child_of.is_none())
    }

    /// Lets the queue decide something that may start a turn, and does what it says.
    pub(super) fn step_queue(&mut self, step: impl FnOnce(&mut Queue, i64) -> Vec<QueueAct>) {
        let acts = self.ask_queue(step);
        self.act(acts);
    }

    /// What the queue says. Where it starts a turn, that has its place.
    pub(super) fn ask_queue(&mut self, step: impl FnOnce(&mut Queue, i64) -> Vec<QueueAct>) -> Vec<QueueAct> {
        let Some(turns) = self.bound() else {
            let now_ms = self.prompts.now_ms();
            return step(&mut self.prompts.queue, now_ms);
        };
        // Who waits in the line for one is before us: then none is free.
        let (place, drawn) = (turns.take(), turns.draw());
        self.prompts.queue.set_drawn(drawn);
        self.ask_queue_with(place, step)
    }

    fn ask_queue_with(
        &mut self,
        place: Option<TurnPlace>,
        step: impl FnOnce(&mut Queue, i64) -> Vec<QueueAct>,
    ) -> Vec<QueueAct> {
        self.prompts.queue.set_has_place(place.is_some());
        let now_ms = self.prompts.now_ms();
        let acts = step(&mut self.prompts.queue, now_ms);
        if acts.iter().any(|act| matches!(act, QueueAct::Start { .. })) {
            self.activity.place = place;
        }
        acts
    }

    /// Gets in line for a place while a message waits for nothing else, and out of it when none does.
    pub(super) fn arm_queue(&mut self) {
        let turns = self.bound().filter(|_| !self.activity.is_ending()).cloned();
        self.prompts.arm(turns);
    }

    /// There is a place for the message that waited for one.
    pub(super) fn queue_placed(&mut self, place: TurnPlace) {
        let acts = self.ask_queue_with(Some(place), Queue::tick);
        self.act(acts);
    }

    /// Whether the turn may work: call a model, or run a tool.
    pub(super) fn has_place(&mut self) -> bool {
        let Some(turns) = self.bound() else { return true };
        // Messages of this session that are in line already leave theirs to the turn.
        let is_in_line = self.activity.line.is_some() || self.prompts.is_in_line();
        if self.activity.place.is_none() && !is_in_line {
            self.activity.place = turns.take();
        }
        self.activity.place.is_some()
    }

    /// As many turns work as may: this goes on when the turn has a place.
    pub(super) fn await_place(&mut self, then: Effect) {
        let Some(turns) = self.bound().cloned() else { return self.activity.push_effect(then) };
        let line = self.activity.line.take().or_else(|| self.prompts.leave_line());
        let line = line.unwrap_or_else(|| turns.queue_up(WaitsSince::Here(turns.draw())));
        self.activity.wait(TurnWaits::Place { line, then });
    }

    pub(super) fn placed(&mut self, place: TurnPlace) {
        self.activity.place = Some(place);
        if let TurnWaits::Place { then, .. } = self.activity.stop_waiting() {
            self.activity.push_effect(then);
        }
    }

    /// A turn that has nothing to do leaves its place to others: people take days, a server that is overrun minutes, and as many
    /// of these as there are places would stop everybody.
    pub(super) fn leave_place(&mut self) {
        let has_any = self.activity.place.is_some() || self.activity.line.is_some();
        if has_any && self.has_nothing_to_do() {
            (self.activity.place, self.activity.line) = (None, None);
        }
    }

    /// A turn of an earlier process is in line before all others, whatever it has to wait for first.
    pub(super) fn queue_up_again(&mut self) {
        self.activity.line = self.bound().map(|turns| turns.queue_up(WaitsSince::Earlier(i64::MIN)));
    }

    /// Whether the turn does nothing until a person answers, or a controller that runs the call, or until its model may be asked
    /// again.
    fn has_nothing_to_do(&self) -> bool {
        let is_asked_by_extension = || !self.askers().is_empty();
        match self.activity.waiting() {
            TurnWaits::Budget { .. } | TurnWaits::Retry(_) => true,
            TurnWaits::Host { .. } => self.is_with_controller() || is_asked_by_extension(),
            TurnWaits::Hook(_) => is_asked_by_extension(),
            TurnWaits::Nothing => self.activity.turn().is_some_and(Turn::is_asking),
            _ => false,
        }
    }
}
