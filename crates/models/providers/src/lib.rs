//! Model APIs as [`vocab::Provider`]: the wire formats, and what they share. The formats are pure; HTTP is [`net`]'s.
//!
//! * [`Client`]: one server, in one of the wire formats of [`Api`].
//! * [`completions`]: OpenAI Chat Completions, which Ollama, llama.cpp, vLLM, LM Studio and OpenRouter speak too.
//! * `responses`, `anthropic`, `gemini`: the formats of OpenAI, Anthropic and Google.
//! * [`openrouter`]: what OpenRouter says beyond that.
//! * [`models`]: what is known of current models without asking anybody.
//! * [`detect`]: which server to talk to when nobody said so.
//! * [`Replay`]: requests written again from a log.

mod anthropic;
mod api;
mod call_pairing;
mod catalogue;
mod client;
pub mod completions;
pub mod detect;
mod encoded_messages;
mod faults;
mod format;
mod gemini;
mod json;
mod listing;
mod model_call;
pub mod models;
pub mod openrouter;
mod overflow;
mod pattern;
mod prefix;
mod reader;
mod recent;
mod replay;
mod responses;
mod tool_calls;
mod waits;

pub use api::Api;
pub use client::{Client, Config, Loaded};
pub use completions::{CallIds, Compat, ReasoningBack, Routing, ThinkingFormat, TokensField};
pub use gemini::CloudCode;
pub use listing::{Lister, Listing, Lists};
pub use model_call::{ERROR_BYTES_MAX, WHOLE_BYTES_MAX};
pub use replay::Replay;
pub use tool_calls::{ARGUMENT_BYTES_MAX, CALLS_MAX};
pub use vocab::Secret;
