//! What can be chosen in a session: mode, model, thinking. Told in three views at once, because clients of different ages know
//! different ones.

use acp_types::{ConfigEntry, ConfigOption, ConfigValue, ModeChoice, ModeState, ModelChoice, ModelState, Other};
use vocab::{Mode, ModelInfo, State};

pub(crate) const MODEL: &str = "model";
pub(crate) const MODE: &str = "mode";
pub(crate) const THOUGHT: &str = "thought_level";
/// No thinking is asked for.
pub(crate) const OFF: &str = "off";
/// What a model is offered of which nothing is known.
const LEVELS: [&str; 4] = ["minimal", "low", "medium", "high"];

fn mode_name(mode: Mode) -> (&'static str, &'static str) {
    match mode {
        Mode::ReadOnly => ("Read only", "Nothing may be changed."),
        Mode::WorkspaceWrite => {
            ("Workspace write", "Files of the workspace may be changed; what else is needed is asked for.")
        }
        Mode::DangerFullAccess => ("Full access", "Everything runs without asking."),
        Mode::Prompt => ("Ask", "Whatever is more than reading is asked for."),
        Mode::Plan => ("Plan", "Look, think and propose; change nothing."),
    }
}

/// What a session has now, and what it could have.
#[derive(Clone, PartialEq)]
pub(crate) struct Chosen {
    pub(crate) mode: Mode,
    pub(crate) model: ModelInfo,
    pub(crate) thinking: Option<String>,
}

impl Chosen {
    pub(crate) fn of(state: &State) -> Self {
        let thinking = state.thinking.as_ref().map(ToString::to_string);
        Self { mode: state.mode, model: ModelInfo::clone(&state.model_info), thinking }
    }

    pub(crate) fn modes(&self) -> ModeState {
        let one = |mode: Mode| {
            let (name, description) = mode_name(mode);
            ModeChoice { id: mode.as_str().into(), name: name.into(), description: Some(description.into()) }
        };
        ModeState { current_mode_id: self.mode.as_str().into(), available_modes: Mode::ALL.map(one).to_vec() }
    }

    /// The model that is used comes with the others even where the list does not have it.
    fn models<'a>(&'a self, known: &'a [ModelInfo]) -> Vec<&'a ModelInfo> {
        let listed = known.iter().any(|info| info.slug == self.model.slug);
        (!listed).then_some(&self.model).into_iter().chain(known).collect()
    }

    /// As clients know it from before there were options.
    pub(crate) fn legacy_models(&self, known: &[ModelInfo]) -> ModelState {
        let one = |info: &ModelInfo| ModelChoice {
            model_id: info.slug.to_string(),
            name: info.name.to_string(),
            description: Some(about(info)),
        };
        let available_models = self.models(known).into_iter().map(one).collect();
        ModelState { current_model_id: self.model.slug.to_string(), available_models }
    }

    pub(crate) fn levels(&self) -> Vec<String> {
        let known = match &self.model.levels {
            Some(levels) => levels.iter().filter(|level| &***level != OFF).map(ToString::to_string).collect(),
            None if self.model.thinking => LEVELS.map(str::to_owned).to_vec(),
            None => Vec::new(),
        };
        std::iter::once(OFF.to_owned()).chain(known).collect()
    }

    pub(crate) fn options(&self, known: &[ModelInfo]) -> Vec<ConfigOption> {
        let model = |info: &ModelInfo| value(&info.slug, &info.name, Some(about(info)));
        let mode = |mode: Mode| {
            let (name, description) = mode_name(mode);
            value(mode.as_str(), name, Some(description.into()))
        };
        let mut options = vec![
            select(MODE, "Mode", self.mode.as_str(), Mode::ALL.map(mode).to_vec()),
            select(MODEL, "Model", &self.model.slug, self.models(known).into_iter().map(model).collect()),
        ];
        let levels = self.levels();
        if levels.len() > 1 {
            let now = self.thinking.as_deref().unwrap_or(OFF);
            let level = |level: &str| value(level, level, None);
            let mut all: Vec<ConfigEntry> = levels.iter().map(|it| level(it)).collect();
            if !levels.iter().any(|level| level == now) {
                all.push(level(now));
            }
            options.push(select(THOUGHT, "Thinking", now, all));
        }
        options
    }
}

fn about(info: &ModelInfo) -> String {
    format!("{}, {} tokens of context", info.provider, info.context_window)
}

fn value(value: &str, name: &str, description: Option<String>) -> ConfigEntry {
    let (value, name) = (value.to_owned(), Some(name.to_owned()));
    ConfigEntry::Value(ConfigValue { value, name, description, other: Other::new() })
}

fn select(id: &str, name: &str, now: &str, options: Vec<ConfigEntry>) -> ConfigOption {
    ConfigOption {
        id: id.into(),
        name: name.into(),
        category: Some(id.into()),
        kind: Some("select".into()),
        current_value: now.into(),
        options: Some(options),
        other: Other::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_thinking_is_offered_once_whether_or_not_the_model_names_it() {
        for (levels, want) in [
            (Some(&["off", "low", "high"][..]), "off low high"),
            (Some(&["low", "high"]), "off low high"),
            (Some(&[]), "off"),
            (None, "off minimal low medium high"),
        ] {
            let levels = levels.map(|levels| levels.iter().map(|level| (*level).into()).collect());
            let model = ModelInfo { levels, ..ModelInfo::named("m", 100) };
            let chosen = Chosen { mode: Mode::Prompt, model, thinking: None };
            assert_eq!(chosen.levels().join(" "), want);
        }
    }
}
