//! Whose work goes on: what was said here, or a turn that somebody else on the session began. Both are watched, and both
//! can be stopped.

use vocab::{Told, TurnId, UserFrom};
use wire::Out;

use crate::{Renderer, StartedWork, TerminalDialect, TerminalPhase, exit_code};

/// Events that wait for what was said last to be shown. One more, and they are shown without it.
const BEHIND_RECALL_MAX: usize = 1024;

impl<R: Renderer> TerminalDialect<R> {
    /// Something that was said here has not come to its end.
    pub(crate) fn awaits_own(&self) -> bool {
        self.pending.is_some() || self.waiting.is_some() || self.recalling.is_some() || self.view.turn.is_some()
    }

    /// The session works, for whomever: nothing else can be begun, and an interrupt stops it.
    pub(crate) fn is_busy(&self) -> bool {
        self.awaits_own() || self.view.running.is_some()
    }

    /// Who leaves leaves nothing behind that was said here. What others said goes on without us.
    pub(crate) fn has_no_work_left(&self) -> bool {
        !self.awaits_own() && self.held.is_empty()
    }

    /// A turn has begun. Where somebody else began it, the line that was wanted is not wanted before its end.
    pub(crate) fn watch_turn(&mut self, out: &mut Out) {
        if !self.awaits_own() && self.asks.is_empty() {
            self.renderer.sent(StartedWork::Elsewhere, &mut out.frames);
        }
    }

    /// A prompt is told behind the turn that it became, so by then it is known whether that one is ours. We never steer.
    pub(crate) fn is_from_elsewhere(&self, turn: Option<&TurnId>, from: UserFrom) -> bool {
        match from {
            UserFrom::Prompt => turn.is_some() && turn != self.view.turn.as_ref(),
            UserFrom::Steer | UserFrom::FollowUp => true,
            // Nobody said these.
            UserFrom::Reminder | UserFrom::Extension => false,
        }
    }

    /// The turn that runs is none of the one prompt's, and who reads is not to see it.
    pub(crate) fn passes_over_turn(&self) -> bool {
        let is_anothers = self.view.running.is_some() && self.view.running != self.view.turn;
        self.options.is_shared && self.one_shot && is_anothers && !self.renderer.shows_others()
    }

    pub(crate) fn keep_behind_recall(&mut self, told: &Told, out: &mut Out) {
        self.behind_recall.push(told.clone());
        if self.behind_recall.len() > BEHIND_RECALL_MAX {
            self.recalled(out);
        }
    }

    /// The past was shown: now what has happened since, and what is wanted.
    pub(crate) fn recalled(&mut self, out: &mut Out) {
        for told in std::mem::take(&mut self.behind_recall) {
            self.happened(&told, out);
        }
        self.recalling = None;
        // A question among it was shown, and asks for its answer.
        if self.phase == TerminalPhase::Open && (self.asks.is_empty() || self.eof) {
            self.idle(exit_code::OK, out);
        }
    }
}
