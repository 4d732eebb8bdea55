//! A session whose model is gone. What an earlier process left open stays so until there is another model, and goes on with that;
//! but who wants it stopped, or asks what waits, need not choose a model first: the log says enough for both.

use vocab::{Body, Change, CutBy, Fault, Principal, SessionVerb, ShellEntry, TurnEntry, TurnId};

use super::Session;
use super::jobs::Need;
use super::needs::Lack;
use crate::session::model_view::{Branch, ReadLog};

/// What is wanted of a log that no model can go on with.
#[derive(Default)]
pub(super) struct WithoutModel {
    /// The next read of the log is for who wants the turn stopped in which it ends: this one, where one is named, and whose
    /// doing that is.
    wants_stop: Option<(Option<TurnId>, Option<Principal>)>,
    /// What waits is known.
    pub(super) has_queue: bool,
    /// Whether a turn was stopped, until who wanted it is answered.
    has_stopped: bool,
}

impl Session {
    /// Nothing of the log is in memory, nothing runs, and no model is known that could go on.
    fn is_log_unread(&self) -> bool {
        self.settings.is_model_gone() && self.log.last_seq() > 0 && !self.prompts.queue.is_busy()
    }

    /// A message names a model, and the session's own is gone: this one is chosen before anything else, since the log is not
    /// read without one, and until then nobody knows whether the message can be taken.
    pub(super) fn mend_model(&mut self, verb: &SessionVerb) -> Result<(), Fault> {
        let named = self.log.commands.model().filter(|_| matches!(verb, SessionVerb::Prompt { .. })).cloned();
        let is_without = self.settings.is_model_gone() && !self.prompts.queue.is_busy();
        match named.filter(|_| is_without && !self.activity.is_ending()) {
            Some(model) => self.set(Change::Model(model)),
            None => Ok(()),
        }
    }

    pub(super) fn lacks_queue(&mut self) -> Option<Lack> {
        if self.recovery.without_model.has_queue {
            return None;
        }
        self.lacks_view()
    }

    /// An interrupt has nothing to wait for, unless the log may end in a turn that nobody has taken up.
    pub(super) fn lacks_open_turn(&mut self, turn: Option<&TurnId>) -> Option<Lack> {
        if !self.is_log_unread() {
            return None;
        }
        let by = self.log.commands.acting().cloned();
        self.recovery.without_model.wants_stop = Some((turn.cloned(), by));
        Some(Lack::Need(Need::View))
    }

    /// Whether a turn was stopped for the interrupt that waited for the log.
    pub(super) fn was_stopped_unread(&mut self) -> bool {
        std::mem::take(&mut self.recovery.without_model.has_stopped)
    }

    /// What waits has to be known: from the model's view, or without one.
    pub(super) fn check_queue(&mut self) -> Result<(), Fault> {
        if self.log.last_seq() == 0 || self.recovery.without_model.has_queue {
            return Ok(());
        }
        self.view_at_rest().map(drop)
    }

    /// The log was read, and there is no model for it: what waits is known, and who wants its turn stopped has that done.
    pub(super) fn take_without_model(&mut self, read: ReadLog) {
        let wanted = std::mem::take(&mut self.recovery.without_model);
        self.recovery.without_model.has_queue = true;
        let mut branch = Branch::of(&read.window);
        let meant = wanted.wants_stop.filter(|(turn, _)| turn.is_none() || *turn == branch.open_turn);
        let (Some(turn), Some((_, by))) = (branch.open_turn.clone(), meant) else {
            let goes_on = branch.open_turn.is_some();
            return self.restore_waiting(branch.waiting, &branch.dropped, goes_on);
        };
        self.prompts.turn_by = branch.turn_by.take();
        let spent = self.settle_lost(&read.lost);
        branch.open_usage.add(&spent);
        self.log_by(by, Body::Turn(TurnEntry::Cut { turn: turn.clone(), why: CutBy::Asked, item: None }));
        self.recovery.stop_unread(turn);
        for shell in self.repair(branch, None) {
            self.log(Body::Shell(ShellEntry::Ended(shell)));
        }
        // As behind every end of a turn.
        self.tell_state();
        self.recovery.without_model.has_stopped = true;
    }
}
