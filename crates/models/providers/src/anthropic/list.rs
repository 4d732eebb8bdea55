//! The list of models.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use vocab::ModelInfo;
use vocab::thinking::OFF;

use crate::catalogue::MODELS_MAX;

#[derive(Deserialize)]
struct AnthropicList<'a> {
    #[serde(borrow, default)]
    data: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct ListedName {
    id: String,
    #[serde(default)]
    display_name: Option<String>,
}

/// A field of the wrong type costs the extras, never the model.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Extras {
    max_input_tokens: Option<u64>,
    max_tokens: Option<u64>,
    capabilities: Option<ModelCapabilities>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ModelCapabilities {
    image_input: Option<Support>,
    thinking: Option<ThinkingSupport>,
    effort: Option<Effort>,
}

#[derive(Deserialize)]
struct Support {
    supported: bool,
}

#[derive(Deserialize)]
struct ThinkingSupport {
    supported: bool,
    #[serde(default)]
    types: Option<Types>,
}

/// Those by which thinking is switched off.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Types {
    disabled: Option<Support>,
    between_tools: Option<Support>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Effort {
    supported: bool,
    low: Option<Support>,
    medium: Option<Support>,
    high: Option<Support>,
    xhigh: Option<Support>,
    max: Option<Support>,
}

/// `default_window`: for models of which the list says nothing.
pub(crate) fn parse(body: &[u8], default_window: u64) -> Result<Vec<ModelInfo>, serde_json::Error> {
    let list: AnthropicList<'_> = serde_json::from_slice(body)?;
    let entries = list.data.into_iter().flatten().take(MODELS_MAX);
    let models = entries.filter_map(|entry| {
        let name: ListedName = serde_json::from_str(entry.get()).ok()?;
        let extras: Extras = serde_json::from_str(entry.get()).unwrap_or_default();
        (!name.id.trim().is_empty()).then(|| extras.model(name, default_window))
    });
    Ok(models.collect())
}

impl Extras {
    fn model(self, name: ListedName, default_window: u64) -> ModelInfo {
        let window = self.max_input_tokens.filter(|window| *window > 0).unwrap_or(default_window);
        let capabilities = self.capabilities.unwrap_or_default();
        let has = |support: &Option<Support>| support.as_ref().is_none_or(|support| support.supported);
        let mut model = ModelInfo::named(name.id, window);
        if let Some(shown) = name.display_name.filter(|shown| !shown.trim().is_empty()) {
            model.name = shown.into();
        }
        model.max_output = self.max_tokens.filter(|tokens| *tokens > 0);
        model.images = has(&capabilities.image_input);
        model.thinking = capabilities.thinking.as_ref().is_none_or(|thinking| thinking.supported);
        model.levels = capabilities.thinking.map(|thinking| levels(&thinking, capabilities.effort.as_ref()));
        model
    }
}

/// Ours for what it takes, weakest first. Without efforts it takes a budget, and every budget has a level.
fn levels(thinking: &ThinkingSupport, effort: Option<&Effort>) -> Arc<[Arc<str>]> {
    let has = |support: &Option<Support>| support.as_ref().is_some_and(|support| support.supported);
    let off = thinking.types.as_ref().is_none_or(|types| has(&types.disabled) || has(&types.between_tools));
    let levels = match effort.filter(|effort| effort.supported) {
        _ if !thinking.supported => Vec::new(),
        None => vec![OFF, "minimal", "low", "medium", "high"],
        Some(effort) => [
            (off, OFF),
            (has(&effort.low), "low"),
            (has(&effort.medium), "medium"),
            (has(&effort.high), "high"),
            (has(&effort.xhigh) || has(&effort.max), "xhigh"),
        ]
        .into_iter()
        .filter_map(|(has, level)| has.then_some(level))
        .collect(),
    };
    levels.into_iter().map(Arc::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_come_with_what_the_list_says_of_them() {
        let body = br#"{"data":[
            {"type":"model","id":"claude-new","display_name":"Claude New","max_input_tokens":1000000,"max_tokens":128000,
             "capabilities":{"image_input":{"supported":true},"thinking":{"supported":true,"types":{"adaptive":{"supported":true},"disabled":{"supported":false}}},
              "effort":{"supported":true,"low":{"supported":true},"medium":{"supported":true},"high":{"supported":true},
                        "max":{"supported":true},"xhigh":null}}},
            {"id":"claude-old","display_name":"Claude Old","max_input_tokens":200000,"max_tokens":64000,
             "capabilities":{"image_input":{"supported":false},"thinking":{"supported":true},"effort":{"supported":false}}},
            {"id":"claude-plain","max_tokens":0,"capabilities":{"thinking":{"supported":false}}},
            {"id":"switch","capabilities":{"thinking":{"supported":true,"types":{"between_tools":{"supported":true}}},
              "effort":{"supported":true,"high":{"supported":true}}}},
            {"id":"bare","display_name":" "}, {"id":"odd","max_tokens":"many"}, {"display_name":"no id"}, 7],
            "has_more":false,"first_id":"a","last_id":"b"}"#;
        let models = parse(body, 99).unwrap();
        let rows: Vec<_> = models
            .iter()
            .map(|model| {
                let levels = model.levels.as_ref().map(|levels| levels.join(" "));
                (&*model.id, &*model.name, model.context_window, model.max_output, model.images, model.thinking, levels)
            })
            .collect();
        let levels = |text: &str| Some(text.to_owned());
        assert_eq!(
            rows,
            [
                ("claude-new", "Claude New", 1_000_000, Some(128_000), true, true, levels("low medium high xhigh")),
                ("claude-old", "Claude Old", 200_000, Some(64_000), false, true, levels("off minimal low medium high")),
                ("claude-plain", "claude-plain", 99, None, true, false, levels("")),
                ("switch", "switch", 99, None, true, true, levels("off high")),
                ("bare", "bare", 99, None, true, true, None),
                ("odd", "odd", 99, None, true, true, None),
            ]
        );
        assert_eq!(parse(br#"{"data":null}"#, 1).unwrap().len(), 0);
        assert!(parse(b"<html>", 1).is_err());
    }
}
