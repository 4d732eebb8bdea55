//! Model and mode of a session, whichever of its three ways an agent offers them (section 4). Pure.

use acp_types::{ConfigChoice, ConfigOption, SessionResponse, SessionUpdate};
use serde_json::Value;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SessionSetting {
    Model,
    Mode,
}

impl SessionSetting {
    pub(crate) fn word(self) -> &'static str {
        match self {
            SessionSetting::Model => "model",
            SessionSetting::Mode => "mode",
        }
    }
}

/// How a choice is sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum SetVia {
    Option(String),
    /// `session/set_model` or `session/set_mode`.
    Older,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct OfferedChoices {
    pub way: SetVia,
    pub current: String,
    pub choices: Vec<ConfigChoice>,
}

#[derive(Default)]
pub(crate) struct Choices {
    info: SessionResponse,
}

impl Choices {
    pub(crate) fn new(info: SessionResponse) -> Self {
        Self { info }
    }

    /// `None`: the agent leaves no choice.
    pub(crate) fn offered(&self, what: SessionSetting) -> Option<OfferedChoices> {
        let is_it = |option: &&ConfigOption| match &option.category {
            Some(category) => category == what.word(),
            None => option.id == what.word(),
        };
        if let Some(option) = self.info.config_options.iter().flatten().find(is_it) {
            let current = option.current_value.as_str().unwrap_or_default().to_owned();
            return Some(OfferedChoices { way: SetVia::Option(option.id.clone()), current, choices: option.choices() });
        }
        let choice = |value: &str, name: &str| ConfigChoice { value: value.into(), name: name.into() };
        match what {
            SessionSetting::Model => self.info.models.as_ref().map(|models| OfferedChoices {
                way: SetVia::Older,
                current: models.current_model_id.clone(),
                choices: models.available_models.iter().map(|it| choice(&it.model_id, &it.name)).collect(),
            }),
            SessionSetting::Mode => self.info.modes.as_ref().map(|modes| OfferedChoices {
                way: SetVia::Older,
                current: modes.current_mode_id.clone(),
                choices: modes.available_modes.iter().map(|it| choice(&it.id, &it.name)).collect(),
            }),
        }
    }

    pub(crate) fn take_options(&mut self, options: Vec<ConfigOption>) {
        if !options.is_empty() {
            self.info.config_options = Some(options);
        }
    }

    pub(crate) fn chosen(&mut self, what: SessionSetting, value: &str) {
        let is_it = |option: &&mut ConfigOption| option.category.as_deref().unwrap_or(&option.id) == what.word();
        if let Some(option) = self.info.config_options.iter_mut().flatten().find(is_it) {
            option.current_value = Value::from(value);
        }
        match (what, &mut self.info.models, &mut self.info.modes) {
            (SessionSetting::Model, Some(models), _) => models.current_model_id = value.into(),
            (SessionSetting::Mode, _, Some(modes)) => modes.current_mode_id = value.into(),
            _ => {}
        }
    }

    /// What the agent changed by itself.
    pub(crate) fn follow(&mut self, update: &SessionUpdate) {
        match update {
            SessionUpdate::CurrentModeUpdate { current_mode_id, .. } => {
                self.chosen(SessionSetting::Mode, current_mode_id)
            }
            SessionUpdate::ConfigOptionUpdate { config_options, .. } => self.take_options(config_options.clone()),
            _ => {}
        }
    }
}

impl OfferedChoices {
    /// By value, name, number in the list, or the one that begins so.
    pub(crate) fn find(&self, word: &str) -> Option<&ConfigChoice> {
        let lower = word.to_lowercase();
        let number = word.parse::<usize>().ok().and_then(|number| self.choices.get(number.checked_sub(1)?));
        let same = |choice: &&ConfigChoice| choice.value == word || choice.name.to_lowercase() == lower;
        let begins: Vec<&ConfigChoice> = self
            .choices
            .iter()
            .filter(|it| it.value.to_lowercase().starts_with(&lower) || it.name.to_lowercase().starts_with(&lower))
            .collect();
        let only = if let [only] = begins[..] { Some(only) } else { None };
        self.choices.iter().find(same).or(number).or(only)
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let mark = |choice: &ConfigChoice| if choice.value == self.current { "*" } else { " " };
        let line = |(at, it): (usize, &ConfigChoice)| match it.name == it.value || it.name.is_empty() {
            true => format!("{} {}. {}", mark(it), at + 1, it.value),
            false => format!("{} {}. {}  {}", mark(it), at + 1, it.value, it.name),
        };
        self.choices.iter().enumerate().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn choices(info: Value) -> Choices {
        Choices::new(serde_json::from_value(info).unwrap())
    }

    #[test]
    fn options_come_before_the_older_ways_and_changes_are_followed() {
        let models =
            json!({ "currentModelId": "a", "availableModels": [{ "modelId": "a" }, { "modelId": "b", "name": "B" }] });
        let old =
            choices(json!({ "models": models, "modes": { "currentModeId": "x", "availableModes": [{ "id": "x" }] } }));
        assert_eq!(old.offered(SessionSetting::Model).unwrap().way, SetVia::Older);
        let values = json!([{ "value": "m1", "name": "One" }, { "value": "m2", "name": "Two" }]);
        let option =
            json!({ "id": "llm", "category": "model", "type": "select", "currentValue": "m1", "options": values });
        let mut new = choices(json!({ "models": models, "configOptions": [option] }));
        let offered = new.offered(SessionSetting::Model).unwrap();
        assert_eq!((offered.way.clone(), offered.current.as_str()), (SetVia::Option("llm".into()), "m1"));
        for word in ["m2", "two", "2", "tw"] {
            assert_eq!(offered.find(word).map(|it| it.value.as_str()), Some("m2"), "{word}");
        }
        assert!(offered.find("m").is_none() && offered.find("9").is_none() && offered.find("0").is_none());
        assert_eq!(offered.lines(), ["* 1. m1  One", "  2. m2  Two"]);
        new.chosen(SessionSetting::Model, "m2");
        assert_eq!(new.offered(SessionSetting::Model).unwrap().current, "m2");
        assert!(new.offered(SessionSetting::Mode).is_none());
    }
}
