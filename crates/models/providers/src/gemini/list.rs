//! Gemini's list of models.

use serde::Deserialize;
use serde_json::value::RawValue;
use vocab::ModelInfo;

use super::model;
use crate::catalogue::MODELS_MAX;

/// What a model must be able to do.
const METHOD: &str = "generateContent";

#[derive(Deserialize)]
struct GeminiList<'a> {
    #[serde(borrow, default)]
    models: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct GeminiListEntry {
    /// With its collection: `models/x`.
    name: String,
    #[serde(default)]
    display_name: Option<String>,
    #[serde(default)]
    input_token_limit: Option<u64>,
    #[serde(default)]
    output_token_limit: Option<u64>,
    #[serde(default)]
    supported_generation_methods: Option<Vec<String>>,
    /// Only models that think have it.
    #[serde(default)]
    thinking: Option<bool>,
}

/// Reads `GET /models`. An entry that cannot be read costs itself only.
pub(crate) fn parse(body: &[u8], default_window: u64) -> Result<Vec<ModelInfo>, serde_json::Error> {
    let list: GeminiList<'_> = serde_json::from_slice(body)?;
    let entries = list.models.unwrap_or_default();
    let entries =
        entries.iter().take(MODELS_MAX).filter_map(|raw| serde_json::from_str::<GeminiListEntry>(raw.get()).ok());
    Ok(entries.filter_map(|entry| entry.model(default_window)).collect())
}

impl GeminiListEntry {
    fn model(self, default_window: u64) -> Option<ModelInfo> {
        let talks = |methods: &Vec<String>| methods.iter().any(|method| method == METHOD);
        let id = self.name.strip_prefix("models/").unwrap_or(&self.name).trim();
        if id.is_empty() || !self.supported_generation_methods.as_ref().is_none_or(talks) {
            return None;
        }
        let known = ModelInfo::named(id, self.input_token_limit.filter(|it| *it > 0).unwrap_or(default_window));
        let thinking = self.thinking.unwrap_or(false);
        Some(ModelInfo {
            name: self.display_name.filter(|name| !name.is_empty()).map_or(known.name, Into::into),
            max_output: self.output_token_limit.filter(|it| *it > 0),
            thinking,
            levels: if thinking { model::levels(id) } else { Some([].into()) },
            ..known
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_talk_are_listed_with_their_limits() {
        let body = br#"{"models":[
            {"name":"models/gemini-2.5-pro","displayName":"Gemini 2.5 Pro","inputTokenLimit":1048576,"outputTokenLimit":65536,
             "supportedGenerationMethods":["generateContent","countTokens"],"thinking":true,"temperature":1},
            {"name":"models/embedding-001","supportedGenerationMethods":["embedContent"]},
            {"name":"models/gemini-2.0-flash","supportedGenerationMethods":["generateContent"],"inputTokenLimit":0},
            {"name":"bare"}, {"name":"models/"}, {"displayName":"no name"}, 7],"nextPageToken":"x"}"#;
        let models = parse(body, 99).unwrap();
        let short: Vec<_> = models
            .iter()
            .map(|m| {
                (
                    &*m.slug,
                    &*m.id,
                    &*m.name,
                    m.context_window,
                    m.max_output,
                    m.thinking,
                    m.levels.as_ref().map(|it| it.join(" ")),
                )
            })
            .collect();
        assert_eq!(
            short,
            [
                (
                    "gemini-2.5-pro",
                    "gemini-2.5-pro",
                    "Gemini 2.5 Pro",
                    1_048_576,
                    Some(65_536),
                    true,
                    Some("minimal low medium high".into())
                ),
                ("gemini-2.0-flash", "gemini-2.0-flash", "gemini-2.0-flash", 99, None, false, Some(String::new())),
                ("bare", "bare", "bare", 99, None, false, Some(String::new())),
            ]
        );
        assert_eq!(parse(b"{}", 1).unwrap().len(), 0);
        assert!(parse(b"<html>", 1).is_err());
    }
}
