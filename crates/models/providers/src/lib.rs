//! Model APIs as [`vocab::Provider`]. HTTP, TLS and every provider's own format stay in here; the formats are pure.
//!
//! * [`Client`]: one server, in one of the wire formats of [`Api`].
//! * [`completions`]: OpenAI Chat Completions, which Ollama, llama.cpp, vLLM, LM Studio and OpenRouter speak too.
//! * `responses`, `anthropic`, `gemini`: the formats of OpenAI, Anthropic and Google.
//! * [`openrouter`]: what OpenRouter says beyond that.
//! * [`models`]: what is known of current models without asking anybody.
//! * [`detect`]: which server to talk to when nobody said so.
//! * [`Replay`]: requests written again from a log.

mod address;
mod anthropic;
mod api;
mod body;
mod call;
mod calls;
mod catalogue;
mod client;
pub mod completions;
mod credentials;
mod date;
pub mod detect;
mod endpoint;
mod faults;
mod fixed;
mod format;
mod gemini;
mod http;
mod json;
mod listing;
pub mod models;
mod once;
pub mod openrouter;
mod overflow;
mod pairs;
mod proxy;
mod reader;
mod replay;
mod responses;
mod ribbon;
pub mod sse;
mod tls;
mod waits;

pub use api::Api;
pub use call::{ERROR_BYTES_MAX, WHOLE_BYTES_MAX};
pub use calls::{ARGUMENT_BYTES_MAX, CALLS_MAX};
pub use client::{Client, Config, Loaded};
pub use completions::{CallIds, Compat, ReasoningBack, Routing, ThinkingFormat, TokensField};
pub use credentials::{Credentials, KeyHeader, Known, Late, is_key};
pub use endpoint::{Endpoint, Incoming};
pub use faults::MESSAGE_CHARS_MAX;
pub use gemini::CloudCode;
pub use listing::{Lister, Listing, Lists};
pub use once::{Answer, Content, Once};
pub use proxy::Proxy;
pub use replay::Replay;
pub use tls::trust_everywhere;
pub use vocab::Secret;
