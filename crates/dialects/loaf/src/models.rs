//! Models and thinking levels in the words of this wire, and what is selected.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};
use vocab::{AccountList, ModelInfo};

use crate::own::account;

/// The route that means: let OpenRouter decide.
pub const ANY_ROUTE: &str = "any";

/// Whose models need nobody.
const TOUR: &str = "tour";

/// The providers of this wire, in the order they are listed in.
pub(crate) const PROVIDERS: [&str; 3] = ["openai", "antigravity", "openrouter"];

/// Whose model it is, as far as this wire can tell: every server of OpenAI's wire format is `openai`.
pub(crate) fn provider(info: &ModelInfo) -> &'static str {
    match &*info.provider {
        "openrouter" => "openrouter",
        "antigravity" => "antigravity",
        _ => "openai",
    }
}

/// Levels of this wire, weakest first.
const LEVELS: [&str; 6] = ["OFF", "MINIMAL", "LOW", "MEDIUM", "HIGH", "XHIGH"];

/// A thinking level.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub(crate) struct Thinking(&'static str);

impl Thinking {
    pub(crate) const OFF: Thinking = Thinking("OFF");
    const USUAL: Thinking = Thinking("HIGH");

    pub(crate) fn parse(text: &str) -> Option<Self> {
        LEVELS.into_iter().find(|level| level.eq_ignore_ascii_case(text.trim())).map(Thinking)
    }
    pub(crate) fn is_on(self) -> bool {
        self != Self::OFF
    }
    pub(crate) fn as_str(self) -> &'static str {
        self.0
    }
    /// The engine's word for it.
    pub(crate) fn level(self) -> Option<Arc<str>> {
        self.is_on().then(|| self.0.to_ascii_lowercase().into())
    }
    pub(crate) fn of_level(level: Option<&str>) -> Self {
        level.and_then(Self::parse).unwrap_or(Self::OFF)
    }
}

/// What a model is known to take; `None` where nothing is known.
fn supported(info: &ModelInfo) -> Option<Vec<Thinking>> {
    let levels = info.levels.as_ref()?;
    let known = levels.iter().filter_map(|level| Thinking::parse(level)).filter(|level| level.is_on());
    Some(std::iter::once(Thinking::OFF).chain(known).collect())
}

fn default_level(supported: &[Thinking]) -> Thinking {
    let middle = supported.get(supported.len() / 2).copied().unwrap_or(Thinking::OFF);
    if supported.contains(&Thinking::USUAL) { Thinking::USUAL } else { middle }
}

/// The level that a model runs with when this one is asked for. Asking for what it does not know is no error.
pub(crate) fn fitting(info: &ModelInfo, asked: Option<&str>) -> Thinking {
    let asked = asked.and_then(Thinking::parse);
    match supported(info) {
        // A model of which nothing is known is asked for no thinking unless the user wants it.
        None => asked.unwrap_or(Thinking::OFF),
        Some(levels) => asked.filter(|level| levels.contains(level)).unwrap_or_else(|| default_level(&levels)),
    }
}

/// What all sessions of the process use.
#[derive(Clone)]
pub(crate) struct UsualModel {
    pub(crate) model: Option<Arc<ModelInfo>>,
    pub(crate) thinking: Thinking,
    pub(crate) route: Arc<str>,
}

impl UsualModel {
    pub(crate) fn model_id(&self) -> &str {
        self.model.as_ref().map_or("", |info| &info.id)
    }
    pub(crate) fn provider(&self) -> Option<&'static str> {
        self.model.as_deref().map(provider)
    }
    /// The members that several answers share.
    pub(crate) fn selected(&self) -> Value {
        json!({
            "selected_model": self.model_id(),
            "selected_provider": self.provider(),
            "selected_thinking": self.thinking,
            "selected_openrouter_provider": self.route,
        })
    }
}

/// Which providers can be used now.
pub(crate) fn enabled(accounts: &AccountList, choice: &UsualModel) -> Vec<&'static str> {
    let has = |name: &str| match name {
        "openai" => accounts.is_ready(account::OPENAI),
        "antigravity" => accounts.is_ready(account::ANTIGRAVITY),
        _ => accounts.is_ready(account::OPENROUTER),
    };
    // A model that is selected is there, whoever serves it.
    PROVIDERS.into_iter().filter(|name| has(name) || choice.provider() == Some(name)).collect()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Model<'a> {
    id: &'a str,
    provider: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    display_provider: Option<&'a str>,
    label: &'a str,
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    supported_thinking_levels: Option<Vec<Thinking>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_thinking_level: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_window_tokens: Option<u64>,
}

fn model(info: &ModelInfo) -> Model<'_> {
    let provider = provider(info);
    let levels = supported(info);
    Model {
        id: &info.id,
        provider,
        display_provider: Some(&*info.provider).filter(|name| !name.is_empty() && *name != provider),
        label: &info.name,
        description: match info.context_window {
            0 => info.name.to_string(),
            window => format!("{}, {window} tokens of context", info.name),
        },
        default_thinking_level: levels.as_deref().map(default_level),
        supported_thinking_levels: levels,
        context_window_tokens: Some(info.context_window).filter(|window| *window > 0),
    }
}

/// The answer of `model.list`: the models of one provider, or of all that are enabled.
pub(crate) fn list(models: &[ModelInfo], only: Option<&str>, accounts: &AccountList, choice: &UsualModel) -> Value {
    let enabled = enabled(accounts, choice);
    let wanted = |name: &str| only.map_or_else(|| enabled.contains(&name), |only| only == name);
    let ordered = PROVIDERS.into_iter().filter(|name| wanted(name));
    // The built-in tour is no model of anybody's; it is shown to whoever has chosen it.
    let touring = choice.model.as_ref().is_some_and(|info| &*info.provider == TOUR);
    let rows = ordered.flat_map(|name| models.iter().filter(move |info| provider(info) == name));
    let rows = rows.filter(|info| touring || &*info.provider != TOUR);
    let mut answer = choice.selected();
    answer["providers"] = json!(enabled);
    answer["models"] = json!(rows.map(model).collect::<Vec<_>>());
    answer
}

#[cfg(test)]
mod tests {
    use vocab::AccountInfo;

    use super::*;

    fn info(levels: Option<&[&str]>) -> ModelInfo {
        let levels = levels.map(|levels| levels.iter().map(|level| Arc::from(*level)).collect());
        ModelInfo { levels, ..ModelInfo::named("m", 100) }
    }

    #[test]
    fn a_level_that_does_not_fit_falls_back() {
        let full = info(Some(&["minimal", "low", "medium", "high"]));
        for (asked, got) in [("HIGH", "HIGH"), ("low", "LOW"), ("XHIGH", "HIGH"), ("nonsense", "HIGH"), ("OFF", "OFF")]
        {
            assert_eq!(fitting(&full, Some(asked)).as_str(), got, "{asked}");
        }
        let few = info(Some(&["low", "medium"]));
        assert_eq!(fitting(&few, Some("HIGH")).as_str(), "LOW", "the middle of off, low, medium");
        assert_eq!(fitting(&info(Some(&[])), Some("HIGH")).as_str(), "OFF");
        for (asked, got) in [(Some("HIGH"), "HIGH"), (Some("?"), "OFF"), (None, "OFF")] {
            assert_eq!(fitting(&info(None), asked).as_str(), got, "of this model nothing is known");
        }
    }

    #[test]
    fn the_tour_is_listed_for_whoever_has_chosen_it() {
        let named = |provider: &str| ModelInfo { provider: provider.into(), ..ModelInfo::named(provider, 1) };
        let models = [named("mine"), named(TOUR)];
        let openai = AccountInfo { name: account::OPENAI, is_ready: true, id: None, profile: None };
        let accounts = AccountList { accounts: vec![openai], has_model: true };
        for (chosen, count) in [(0, 1), (1, 2)] {
            let model = Some(Arc::new(models[chosen].clone()));
            let choice = UsualModel { model, thinking: Thinking::OFF, route: ANY_ROUTE.into() };
            assert_eq!(list(&models, None, &accounts, &choice)["models"].as_array().unwrap().len(), count);
        }
    }

    #[test]
    fn levels_have_the_engines_words() {
        for level in LEVELS {
            let thinking = Thinking::parse(level).unwrap();
            assert_eq!(Thinking::of_level(thinking.level().as_deref()), thinking);
        }
        assert_eq!(Thinking::OFF.level(), None);
    }
}
