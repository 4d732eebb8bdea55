//! What the log says about how a session behaves, folded from its entries. The log keeps it twice: as it will be once
//! everything on its way is written, and as it was told.

use std::sync::Arc;

use vocab::{Body, Mode, SettingEntry, TodoPhase};

#[derive(Clone, Debug)]
pub(crate) struct Logged {
    pub(crate) model: Arc<str>,
    pub(crate) mode: Mode,
    pub(crate) thinking: Option<Arc<str>>,
    pub(crate) title: Option<Arc<str>>,
    pub(crate) todos: Arc<[TodoPhase]>,
}

impl Default for Logged {
    fn default() -> Self {
        Self { model: "".into(), mode: Mode::Prompt, thinking: None, title: None, todos: Arc::from([]) }
    }
}

impl Logged {
    pub(crate) fn take(&mut self, body: &Body) {
        match body {
            Body::Opened { model, mode, .. } => {
                self.model = model.clone();
                self.mode = *mode;
                self.thinking = None;
            }
            Body::Setting(SettingEntry::Model { model }) => self.model = model.clone(),
            Body::Setting(SettingEntry::Mode { mode }) => self.mode = *mode,
            Body::Setting(SettingEntry::Thinking { level }) => self.thinking = level.clone(),
            Body::Setting(SettingEntry::Title { title }) => self.title = Some(title.clone()),
            Body::Setting(SettingEntry::Todos { phases }) => self.todos = phases.as_slice().into(),
            _ => {}
        }
    }
}
