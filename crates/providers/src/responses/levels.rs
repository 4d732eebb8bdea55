//! Levels of thinking in the words of OpenAI's models. They do not all know the same ones.

use std::sync::Arc;

use vocab::ModelInfo;

use crate::completions::Compat;

/// What a request says about thinking.
pub(super) struct Reasoning {
    /// The model thinks at all, as far as is known.
    pub(super) thinks: bool,
    pub(super) effort: Option<Arc<str>>,
    /// Whether summaries are wanted: not of a model that is told not to think.
    pub(super) summary: bool,
}

impl Reasoning {
    pub(super) fn of(model: &ModelInfo, compat: &Compat, level: Option<&Arc<str>>) -> Self {
        let level = level.filter(|level| !level.is_empty());
        let off = level.is_some_and(|level| &**level == "off");
        let effort = level.filter(|_| model.thinking).and_then(|level| match compat.efforts.get(level) {
            Some(word) => word.clone(),
            None => word(&model.id, level),
        });
        Self { thinks: model.thinking, effort, summary: model.thinking && !off }
    }
}

/// The model's own word for a level; `None` = it has none, and is left to decide. Of models that are not OpenAI's
/// nothing is known but that they take what most take.
fn word(model: &str, level: &Arc<str>) -> Option<Arc<str>> {
    let lowest = match Family::of(model) {
        Family::First => Lowest { off: Some("minimal"), minimal: "minimal" },
        Family::Later => Lowest { off: Some("none"), minimal: "low" },
        Family::Always => Lowest { off: None, minimal: "low" },
        Family::Unknown => Lowest { off: None, minimal: "minimal" },
    };
    match &**level {
        "off" => lowest.off.map(Arc::from),
        "minimal" => Some(lowest.minimal.into()),
        _ => Some(level.clone()),
    }
}

/// Where models differ: the lower end.
struct Lowest {
    off: Option<&'static str>,
    minimal: &'static str,
}

enum Family {
    /// `gpt-5` and its small ones: they think a little at least.
    First,
    /// From `gpt-5.1` on thinking can be turned off.
    Later,
    /// Cannot do without, and knows nothing below `low`: the o series, and the kinds for code and for hard problems.
    Always,
    Unknown,
}

impl Family {
    fn of(model: &str) -> Self {
        // Servers that pass requests on name the vendor, too.
        let name = model.rsplit('/').next().unwrap_or_default();
        let o_series = name.strip_prefix('o').is_some_and(|rest| rest.starts_with(|char: char| char.is_ascii_digit()));
        let Some(version) = name.strip_prefix("gpt-").filter(|_| !name.starts_with("gpt-oss")) else {
            return if o_series { Family::Always } else { Family::Unknown };
        };
        let number = version.split('-').next().unwrap_or_default();
        let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
        let (Ok(major), Ok(minor)) = (major.parse::<u32>(), minor.parse::<u32>()) else { return Family::Unknown };
        let is = |kind: &str| version.split('-').any(|part| part == kind);
        match (major, minor) {
            (..5, _) => Family::Unknown,
            _ if is("chat") => Family::Unknown,
            _ if is("codex") || is("pro") => Family::Always,
            (5, 0) => Family::First,
            _ => Family::Later,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_gets_words_it_knows() {
        // The words for off, minimal, low, xhigh.
        for (model, want) in [
            ("gpt-5", "minimal minimal low xhigh"),
            ("gpt-5-mini-2025-08-07", "minimal minimal low xhigh"),
            ("gpt-5.1", "none low low xhigh"),
            ("openai/gpt-5.2", "none low low xhigh"),
            ("gpt-5.5-2026-01-01", "none low low xhigh"),
            ("gpt-6-astra", "none low low xhigh"),
            ("gpt-5-codex", "- low low xhigh"),
            ("gpt-5.1-codex-max", "- low low xhigh"),
            ("gpt-5.4-pro", "- low low xhigh"),
            ("o3", "- low low xhigh"),
            ("o4-mini", "- low low xhigh"),
            ("gpt-5.1-chat-latest", "- minimal low xhigh"),
            ("gpt-4o", "- minimal low xhigh"),
            ("gpt-oss-120b", "- minimal low xhigh"),
            ("gpt-", "- minimal low xhigh"),
            ("olmo", "- minimal low xhigh"),
            ("qwen3", "- minimal low xhigh"),
        ] {
            let words = ["off", "minimal", "low", "xhigh"].map(|level| word(model, &level.into()));
            let words = words.map(|word| word.map_or("-".to_owned(), |word| word.to_string()));
            assert_eq!(words.join(" "), want, "{model}");
        }
    }

    #[test]
    fn what_somebody_said_wins_and_models_that_do_not_think_are_not_asked_to() {
        let mut compat = Compat::default();
        compat.efforts.insert("xhigh".into(), Some("max".into()));
        compat.efforts.insert("off".into(), None);
        for (level, thinking, effort, summary) in [
            (Some("xhigh"), true, Some("max"), true),
            (Some("off"), true, None, false),
            (Some("high"), true, Some("high"), true),
            (Some(""), true, None, true),
            (None, true, None, true),
            (Some("high"), false, None, false),
        ] {
            let model = ModelInfo { thinking, ..ModelInfo::named("gpt-5.1", 1) };
            let got = Reasoning::of(&model, &compat, level.map(Arc::from).as_ref());
            let got = (got.thinks, got.effort.as_deref(), got.summary);
            assert_eq!(got, (thinking, effort, summary), "{level:?}");
        }
    }
}
