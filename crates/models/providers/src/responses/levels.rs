//! Levels of thinking in the words of OpenAI's models. They do not all know the same ones.

use std::sync::Arc;

use vocab::ModelInfo;

use crate::completions::Compat;

/// What a request says about thinking.
pub(super) struct RequestedLevel {
    /// The model thinks at all, as far as is known.
    pub(super) thinks: bool,
    pub(super) effort: Option<Arc<str>>,
    /// Whether summaries are wanted: not of a model that is told not to think.
    pub(super) summary: bool,
}

impl RequestedLevel {
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

/// The model's own word for a level; `None` = it has none, and is left to decide.
fn word(model: &str, level: &Arc<str>) -> Option<Arc<str>> {
    let ends = Ends::of(model);
    match &**level {
        "off" => ends.off.map(Arc::from),
        "minimal" => Some(ends.minimal.into()),
        "xhigh" => Some(ends.xhigh.into()),
        _ => Some(level.clone()),
    }
}

/// The words at both ends of the scale, where models differ. In the middle all know the same.
struct Ends {
    off: Option<&'static str>,
    minimal: &'static str,
    xhigh: &'static str,
}

impl Ends {
    /// Of models that are not OpenAI's nothing is known: they get our words, and cannot be told to stop thinking.
    const UNKNOWN: Ends = Ends { off: None, minimal: "minimal", xhigh: "xhigh" };

    fn of(model: &str) -> Ends {
        // Servers that pass requests on name the vendor, too.
        let name = model.rsplit('/').next().unwrap_or_default();
        let Some(version) = name.strip_prefix("gpt-") else {
            let digit = |rest: &str| rest.starts_with(|char: char| char.is_ascii_digit());
            let o_series = name.strip_prefix('o').is_some_and(digit);
            return if o_series { Ends { off: None, minimal: "low", xhigh: "high" } } else { Ends::UNKNOWN };
        };
        let number = version.split('-').next().unwrap_or_default();
        let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
        let (Ok(major), Ok(minor)) = (major.parse::<u32>(), minor.parse::<u32>()) else { return Ends::UNKNOWN };
        let is = |kind: &str| version.split('-').any(|part| part == kind);
        if major < 5 || is("chat") {
            return Ends::UNKNOWN;
        }
        let xhigh = if (major, minor) >= (5, 2) || is("max") { "xhigh" } else { "high" };
        if is("codex") || is("pro") {
            // Made for code and for hard problems: they cannot do without thinking.
            return Ends { off: None, minimal: "low", xhigh };
        }
        // Thinking can be turned off from 5.1 on; before that there was a least of it.
        match (major, minor) {
            (5, 0) => Ends { off: Some("minimal"), minimal: "minimal", xhigh },
            _ => Ends { off: Some("none"), minimal: "low", xhigh },
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
            ("gpt-5", "minimal minimal low high"),
            ("gpt-5-mini-2025-08-07", "minimal minimal low high"),
            ("gpt-5.1", "none low low high"),
            ("openai/gpt-5.2", "none low low xhigh"),
            ("gpt-5.5-2026-01-01", "none low low xhigh"),
            ("gpt-6-astra", "none low low xhigh"),
            ("gpt-5-codex", "- low low high"),
            ("gpt-5.1-codex-max", "- low low xhigh"),
            ("gpt-5.1-codex-mini", "- low low high"),
            ("gpt-5.4-pro", "- low low xhigh"),
            ("o3", "- low low high"),
            ("o4-mini", "- low low high"),
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
            let got = RequestedLevel::of(&model, &compat, level.map(Arc::from).as_ref());
            let got = (got.thinks, got.effort.as_deref(), got.summary);
            assert_eq!(got, (thinking, effort, summary), "{level:?}");
        }
    }
}
