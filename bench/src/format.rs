//! The wire formats of model APIs, as far as the mock and the rows tell them apart.

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Format {
    Completions,
    Responses,
    Anthropic,
    Gemini,
}

impl Format {
    pub(crate) const ALL: [Format; 4] = [Format::Completions, Format::Responses, Format::Anthropic, Format::Gemini];

    /// The name that a models file uses.
    pub(crate) fn api(self) -> &'static str {
        match self {
            Format::Completions => "openai-completions",
            Format::Responses => "openai-responses",
            Format::Anthropic => "anthropic-messages",
            Format::Gemini => "google-generative-ai",
        }
    }
    /// What its base URL ends in.
    pub(crate) fn base(self) -> &'static str {
        match self {
            Format::Completions | Format::Responses | Format::Anthropic => "/v1",
            Format::Gemini => "/v1beta",
        }
    }
    /// The provider of the mock's model in this format.
    pub(crate) fn provider(self) -> &'static str {
        match self {
            Format::Completions => "mock",
            Format::Responses => "mock-responses",
            Format::Anthropic => "mock-anthropic",
            Format::Gemini => "mock-gemini",
        }
    }
    /// Which format a request is in, by where it goes.
    pub(crate) fn of(path: &str) -> Option<Format> {
        match path.split('?').next().unwrap_or_default() {
            "/v1/chat/completions" => Some(Format::Completions),
            "/v1/responses" => Some(Format::Responses),
            "/v1/messages" => Some(Format::Anthropic),
            path if path.starts_with("/v1beta/models/") && path.ends_with(":streamGenerateContent") => {
                Some(Format::Gemini)
            }
            _ => None,
        }
    }
}
