//! The settings in force, and what they were before a change that is not written yet: what is refused is not in force.

use std::collections::VecDeque;
use std::sync::Arc;

use vocab::{Body, ModelInfo, SettingEntry, Settings};

use super::Session;

/// How a session behaves at one moment.
#[derive(Clone)]
pub(super) struct Stance {
    pub(super) settings: Settings,
    /// The chosen model.
    pub(super) model: Arc<ModelInfo>,
}

/// Changes that a failed write would take back, oldest first: the entry whose commit makes each of them final, and how
/// it was before. As many as there are changes on their way to the disk.
#[derive(Default)]
pub(super) struct Changes(VecDeque<(u64, Stance)>);

impl Changes {
    fn keep(&mut self, committed: u64, seq: u64, before: Stance) {
        self.drop_final(committed);
        if seq > committed {
            self.0.push_back((seq, before));
        }
    }
    fn drop_final(&mut self, committed: u64) {
        while self.0.front().is_some_and(|(seq, _)| *seq <= committed) {
            self.0.pop_front();
        }
    }
    /// How it was before the oldest change that is not written; `None`: all of them are.
    fn before(&self, committed: u64) -> Option<&Stance> {
        self.0.iter().find(|(seq, _)| *seq > committed).map(|(_, before)| before)
    }
    fn take_back(&mut self, committed: u64) -> Option<Stance> {
        self.drop_final(committed);
        std::mem::take(&mut self.0).pop_front().map(|(_, before)| before)
    }
}

impl Session {
    pub(super) fn stance(&self) -> Stance {
        Stance { settings: self.settings.clone(), model: self.chosen_model().clone() }
    }

    /// Something was changed, and whatever of it belongs into the log is logged.
    pub(super) fn changed(&mut self, before: Stance) {
        self.changes.keep(self.log.committed(), self.log.last_seq(), before);
    }

    /// What peers may know: without changes that are not written yet.
    pub(super) fn settled_stance(&self) -> Stance {
        self.changes.before(self.log.committed()).cloned().unwrap_or_else(|| self.stance())
    }

    /// A write failed: what it was to record is not in force.
    pub(super) fn take_back_changes(&mut self) {
        let committed = self.log.committed();
        self.remembered.take_back(committed);
        let Some(Stance { settings, model }) = self.changes.take_back(committed) else { return };
        self.settings = settings;
        self.fallen = None;
        self.speak_to(model);
        self.spec = None;
        // Nothing waits here now: the rules change and nothing else.
        let acts = self.queue.set_policy(self.settings.lane, self.now_ms());
        self.act(acts);
    }

    pub(super) fn log_opened(&mut self) {
        self.log(Body::Opened {
            workspace: self.settings.workspace.clone(),
            model: self.settings.model.clone(),
            mode: self.settings.mode,
            forked_from: None,
            child_of: self.child_of.clone(),
        });
        if !self.settings.gadgets_off.is_empty() {
            self.log(Body::Setting(SettingEntry::Gadgets { off: self.settings.gadgets_off.clone() }));
        }
        self.log_thinking();
    }

    fn log_thinking(&mut self) {
        if self.log.logged().thinking != self.settings.thinking {
            self.log(Body::Setting(SettingEntry::Thinking { level: self.settings.thinking.clone() }));
        }
    }

    /// Settings that were given from outside are part of the log before the next turn is.
    pub(super) fn log_settings(&mut self) {
        if self.log.last_seq() == 0 {
            return self.log_opened();
        }
        if self.log.logged().model != self.settings.model {
            self.log(Body::Setting(SettingEntry::Model { model: self.settings.model.clone() }));
        }
        if self.log.logged().mode != self.settings.mode {
            self.log(Body::Setting(SettingEntry::Mode { mode: self.settings.mode }));
        }
        self.log_thinking();
    }
}
