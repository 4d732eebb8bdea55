//! The wire formats by name: one line each per question, and nothing else knows them all.

use std::sync::Arc;

use net::KeyHeader;
use vocab::ModelInfo;

use crate::anthropic;
use crate::completions::{self, Compat, Routing};
use crate::format::{Decoder, Encoder};
use crate::gemini::{self, CloudCode};
use crate::recent::RecentPieces;
use crate::responses;

/// A wire format.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Api {
    /// OpenAI Chat Completions, which most servers speak.
    Completions,
    /// OpenAI Responses.
    Responses,
    /// Anthropic Messages.
    Anthropic,
    /// Google Gemini.
    Gemini,
}

/// How a conversation is to be written, beyond the model.
#[derive(Clone, Default)]
pub(crate) struct Manners {
    pub(crate) compat: Compat,
    pub(crate) routing: Option<Routing>,
    pub(crate) cloud_code: Option<CloudCode>,
    /// With the other conversations of its server.
    pub(crate) recent: Arc<RecentPieces>,
}

impl Api {
    pub const ALL: [Api; 4] = [Api::Completions, Api::Responses, Api::Anthropic, Api::Gemini];

    /// The name that configurations, session files and logs use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Api::Completions => "openai-completions",
            Api::Responses => "openai-responses",
            Api::Anthropic => "anthropic-messages",
            Api::Gemini => "google-generative-ai",
        }
    }
    pub fn parse(name: &str) -> Option<Api> {
        Api::ALL.into_iter().find(|api| api.as_str() == name)
    }

    /// How the format's own vendor wants the key.
    pub(crate) fn key_header(self) -> KeyHeader {
        match self {
            Api::Completions | Api::Responses => KeyHeader::Bearer,
            Api::Anthropic => KeyHeader::Named("x-api-key"),
            Api::Gemini => KeyHeader::Named("x-goog-api-key"),
        }
    }
    /// What a base URL ends in, for hints.
    pub(crate) fn version(self) -> &'static str {
        match self {
            Api::Completions | Api::Responses | Api::Anthropic => "/v1",
            Api::Gemini => "/v1beta",
        }
    }

    pub(crate) fn encoder(self, model: &ModelInfo, manners: Manners) -> Box<dyn Encoder> {
        let Manners { compat, routing, cloud_code, recent } = manners;
        match self {
            Api::Completions => Box::new(completions::CompletionsEncoder::new(model, compat, routing).sharing(recent)),
            Api::Responses => Box::new(responses::ResponsesEncoder::new(model, compat).sharing(recent)),
            Api::Anthropic => Box::new(anthropic::AnthropicEncoder::new(model, compat).sharing(recent)),
            Api::Gemini => Box::new(gemini::GeminiEncoder::new(model, cloud_code).sharing(recent)),
        }
    }
    /// As [`Encoder::manner`] says.
    pub(crate) fn again(self, manner: &str) -> Option<Box<dyn Encoder>> {
        match self {
            Api::Completions => Some(Box::new(completions::CompletionsEncoder::again(manner)?)),
            Api::Responses => Some(Box::new(responses::ResponsesEncoder::again(manner)?)),
            Api::Anthropic => Some(Box::new(anthropic::AnthropicEncoder::again(manner)?)),
            Api::Gemini => Some(Box::new(gemini::GeminiEncoder::again(manner)?)),
        }
    }
    pub(crate) fn decoder(self, server: Arc<str>) -> Box<dyn Decoder> {
        match self {
            Api::Completions => completions::decoder(server),
            Api::Responses => responses::decoder(server),
            Api::Anthropic => anthropic::decoder(server),
            Api::Gemini => gemini::decoder(server),
        }
    }

    /// Where the list of models is, behind the base URL.
    pub(crate) fn list_path(self) -> &'static str {
        match self {
            Api::Completions | Api::Responses => "/models",
            Api::Anthropic => "/models?limit=1000",
            Api::Gemini => "/models?pageSize=1000",
        }
    }
    pub(crate) fn list_headers(self) -> Vec<(&'static str, String)> {
        match self {
            Api::Completions | Api::Responses | Api::Gemini => Vec::new(),
            Api::Anthropic => anthropic::list_headers(),
        }
    }
    /// `default_window`: for models of which the list says nothing.
    pub(crate) fn list(self, body: &[u8], default_window: u64) -> Result<Vec<ModelInfo>, serde_json::Error> {
        match self {
            Api::Completions | Api::Responses => completions::list::parse(body, default_window),
            Api::Anthropic => anthropic::list::parse(body, default_window),
            Api::Gemini => gemini::list::parse(body, default_window),
        }
    }
}
