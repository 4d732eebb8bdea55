//! What the model is told of the place it works in. A port looks once, before the session's first model call; what was seen
//! then holds for as long as the session is open, because a system prompt that changes is read anew by every provider's
//! cache. A session that is opened again is looked at again.

use vocab::{Briefing, Event, ExtensionEvent, Later, Notice, NoticeLevel};

use super::{Session, TurnWaits, guarded};
use crate::session::turn::Effect;

impl Session {
    /// Whether the model call has to wait for a look around. It comes again when that is done.
    pub(super) fn await_briefing(&mut self) -> bool {
        if self.tools.is_briefed() {
            return false;
        }
        match self.look_at_place() {
            Some(look) => {
                self.activity.wait(TurnWaits::Briefing(look));
                true
            }
            None => {
                self.tools.brief(Briefing::default());
                false
            }
        }
    }

    pub(super) fn briefed(&mut self, briefing: Briefing) {
        self.activity.stop_waiting();
        self.learn(briefing);
        self.activity.push_effect(Effect::CallModel);
    }

    /// For a client that asks what the model is told before anything was: the look around that this has to wait for.
    pub(super) fn brief_at_rest(&mut self) -> Option<Later<'static, Briefing>> {
        if self.tools.is_briefed() || self.activity.turn().is_some() {
            return None;
        }
        let look = self.look_at_place();
        if look.is_none() {
            self.learn(Briefing::default());
        }
        look
    }

    /// Unless a turn has looked meanwhile.
    pub(super) fn learn_once(&mut self, briefing: Briefing) {
        if !self.tools.is_briefed() {
            self.learn(briefing);
        }
    }

    fn look_at_place(&self) -> Option<Later<'static, Briefing>> {
        guarded(|| self.shared.ports.surroundings.briefing(&self.settings.workspace)).ok().flatten()
    }

    fn learn(&mut self, briefing: Briefing) {
        let keyring = &self.shared.ports.keyring;
        let Briefing { surroundings, instructions, notes } = briefing;
        let briefing = Briefing {
            surroundings: keyring.scrub(&surroundings).into_owned(),
            instructions: keyring.scrub(&instructions).into_owned(),
            notes: Vec::new(),
        };
        self.tools.brief(briefing);
        // A child works where its parent does, and people were told there.
        for text in notes.into_iter().filter(|_| self.subagents.child_of.is_none()) {
            self.log.emit(Event::Extension(ExtensionEvent::Notice(Notice::Say {
                text: text.into(),
                level: NoticeLevel::Warning,
            })));
        }
    }
}
