//! A place among the turns that run at once, where these have a bound. A message has it before its turn starts, so that nobody is
//! told of a start that is none yet; until then it waits in the queue, and the log has it. A turn that starts without one (it goes
//! on after a restart, or its sender was promised a turn at once) waits for it before it calls a model.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::activity::TurnWaits;
use super::queue::{Queue, QueueAct};
use super::turn::Effect;
use super::{Session, later};

impl Session {
    /// The bound that this session's turns are under. A child has its parent's place, which waits for it.
    pub(super) fn bound(&self) -> Option<&Arc<Semaphore>> {
        self.shared.turns.as_ref().filter(|_| self.subagents.child_of.is_none())
    }

    /// Lets the queue decide something that may start a turn, and does what it says.
    pub(super) fn step_queue(&mut self, step: impl FnOnce(&mut Queue, i64) -> Vec<QueueAct>) {
        let Some(turns) = self.bound() else {
            let now_ms = self.prompts.now_ms();
            let acts = step(&mut self.prompts.queue, now_ms);
            return self.act(acts);
        };
        // Who waits in the line for one is before us: then none is free.
        let place = turns.clone().try_acquire_owned().ok();
        self.step_queue_with(place, step);
    }

    fn step_queue_with(
        &mut self,
        place: Option<OwnedSemaphorePermit>,
        step: impl FnOnce(&mut Queue, i64) -> Vec<QueueAct>,
    ) {
        self.prompts.queue.set_has_place(place.is_some());
        let now_ms = self.prompts.now_ms();
        let acts = step(&mut self.prompts.queue, now_ms);
        if acts.iter().any(|act| matches!(act, QueueAct::Start { .. })) {
            self.activity.place = place;
        }
        self.act(acts);
    }

    /// Gets in line for a place while a message waits for nothing else, and out of it when none does.
    pub(super) fn arm_queue(&mut self) {
        let turns = self.bound().filter(|_| !self.activity.is_ending()).cloned();
        self.prompts.arm(turns);
    }

    /// There is a place for the message that waited for one.
    pub(super) fn queue_placed(&mut self, place: Option<OwnedSemaphorePermit>) {
        self.step_queue_with(place, Queue::tick);
    }

    /// Whether the turn may call a model. Where as many run as may it waits for its place, and calls then.
    pub(super) fn has_place(&mut self) -> bool {
        let Some(turns) = self.bound().cloned() else { return true };
        if self.activity.place.is_some() {
            return true;
        }
        let place = match self.prompts.leave_line() {
            // Messages of this session were in line already.
            Some(place) => place,
            None => match turns.clone().try_acquire_owned() {
                Ok(place) => {
                    self.activity.place = Some(place);
                    return true;
                }
                Err(_) => later::place(turns),
            },
        };
        self.activity.wait(TurnWaits::Place(place));
        false
    }

    pub(super) fn placed(&mut self, place: Option<OwnedSemaphorePermit>) {
        self.activity.stop_waiting();
        self.activity.place = place;
        self.activity.push_effect(Effect::CallModel);
    }
}
