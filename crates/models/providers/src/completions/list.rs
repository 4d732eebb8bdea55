//! The list of models in the words of many servers.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use vocab::{ModelInfo, Prices};

use crate::catalogue::MODELS_MAX;

#[derive(Deserialize)]
struct CompletionsList<'a> {
    #[serde(borrow, default, alias = "models")]
    data: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct ListedId {
    id: String,
}

/// An entry in the words of many servers. A field of the wrong type costs the extras, never the model.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Extras {
    context_length: Option<u64>,
    context_window: Option<u64>,
    max_model_len: Option<u64>,
    max_context_length: Option<u64>,
    max_output: Option<u64>,
    max_completion_tokens: Option<u64>,
    top_provider: Option<TopProvider>,
    pricing: Option<Pricing>,
    architecture: Option<Architecture>,
    supported_parameters: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct TopProvider {
    max_completion_tokens: Option<u64>,
}
#[derive(Deserialize)]
struct Architecture {
    input_modalities: Option<Vec<String>>,
}
/// Dollars per token, as text.
#[derive(Deserialize)]
struct Pricing {
    prompt: Option<String>,
    completion: Option<String>,
    input_cache_read: Option<String>,
    input_cache_write: Option<String>,
}

impl Pricing {
    fn prices(&self) -> Option<Prices> {
        let price = |text: &Option<String>| {
            let dollars: f64 = text.as_deref()?.parse().ok()?;
            // A negative price means that it depends.
            (dollars.is_finite() && dollars >= 0.0).then_some(dollars * 1e6)
        };
        let input = price(&self.prompt)?;
        Some(Prices {
            input,
            output: price(&self.completion)?,
            cache_read: price(&self.input_cache_read).unwrap_or(input),
            cache_write: price(&self.input_cache_write).unwrap_or(input),
        })
    }
}

/// Reads `GET /models`: `{"data": [..]}`, `{"models": [..]}` or the bare list.
pub(crate) fn parse(body: &[u8], default_window: u64) -> Result<Vec<ModelInfo>, serde_json::Error> {
    let entries = if body.trim_ascii_start().starts_with(b"[") {
        serde_json::from_slice::<Vec<&RawValue>>(body)?
    } else {
        serde_json::from_slice::<CompletionsList<'_>>(body)?.data.unwrap_or_default()
    };
    let models = entries.iter().take(MODELS_MAX).filter_map(|entry| {
        let name: ListedId = serde_json::from_str(entry.get()).ok()?;
        let extras: Extras = serde_json::from_str(entry.get()).unwrap_or_default();
        (!name.id.trim().is_empty()).then(|| extras.model(&name.id, default_window))
    });
    Ok(models.collect())
}

impl Extras {
    fn model(self, id: &str, default_window: u64) -> ModelInfo {
        let windows = [self.context_length, self.context_window, self.max_model_len, self.max_context_length];
        let top = self.top_provider.and_then(|top| top.max_completion_tokens);
        let has = |list: Option<Vec<String>>, what: &str| list.is_none_or(|list| list.iter().any(|one| one == what));
        let window = windows.into_iter().flatten().find(|window| *window > 0).unwrap_or(default_window);
        ModelInfo {
            max_output: self.max_output.or(self.max_completion_tokens).or(top).filter(|tokens| *tokens > 0),
            prices: self.pricing.and_then(|pricing| pricing.prices()),
            images: has(self.architecture.and_then(|architecture| architecture.input_modalities), "image"),
            levels: self.supported_parameters.as_deref().map(levels),
            thinking: has(self.supported_parameters, "reasoning"),
            ..ModelInfo::named(id, window)
        }
    }
}

/// What a server takes that says which parameters it takes, weakest first. It says nothing of models that always think;
/// not asking for it is always possible.
const LEVELS: [&str; 5] = ["off", "minimal", "low", "medium", "high"];

fn levels(parameters: &[String]) -> Arc<[Arc<str>]> {
    let thinks = parameters.iter().any(|one| one == "reasoning");
    LEVELS.iter().filter(|_| thinks).map(|level| Arc::from(*level)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_of_many_servers_are_read() {
        let body = br#"{"object":"list","data":[
            {"id":"plain","object":"model"},
            {"id":"router","context_length":1000,"top_provider":{"max_completion_tokens":50},
             "pricing":{"prompt":"0.000001","completion":"0.000002"},
             "architecture":{"input_modalities":["text"]},"supported_parameters":["tools"]},
            {"id":"groq","context_window":2000,"max_completion_tokens":60},
            {"id":"vllm","max_model_len":3000},
            {"id":"odd","context_length":"many"},
            {"id":"auto","pricing":{"prompt":"-1","completion":"-1"}},
            {"name":"no id"}, 7]}"#;
        let models = parse(body, 99).unwrap();
        let short: Vec<_> = models.iter().map(|m| (&*m.slug, m.context_window, m.max_output, m.images)).collect();
        assert_eq!(
            short,
            [
                ("plain", 99, None, true),
                ("router", 1000, Some(50), false),
                ("groq", 2000, Some(60), true),
                ("vllm", 3000, None, true),
                ("odd", 99, None, true),
                ("auto", 99, None, true),
            ]
        );
        assert_eq!(models[1].prices, Some(Prices { input: 1.0, cache_read: 1.0, cache_write: 1.0, output: 2.0 }));
        assert!(!models[1].thinking);
        assert_eq!(
            models.iter().map(|model| model.levels.as_ref().map(|it| it.len())).collect::<Vec<_>>(),
            [None, Some(0), None, None, None, None]
        );
        let thinks = parse(br#"[{"id":"a","supported_parameters":["tools","reasoning"]}]"#, 1).unwrap();
        assert_eq!(thinks[0].levels.as_deref().unwrap().join(" "), "off minimal low medium high");
        assert_eq!(models[5].prices, None);
        assert_eq!(parse(br#"[{"id":"a"}]"#, 1).unwrap().len(), 1);
        assert_eq!(parse(br#"{"data":null}"#, 1).unwrap().len(), 0);
        assert!(parse(b"<html>", 1).is_err());
    }
}
