//! Model APIs as [`vocab::Provider`]. HTTP, TLS and every provider's own format stay in here; the readers are pure.
//!
//! * [`openai`]: OpenAI Chat Completions, which Ollama, llama.cpp, vLLM, LM Studio and OpenRouter speak too.
//! * [`openrouter`]: what OpenRouter says beyond that.
//! * [`detect`]: which server to talk to when nobody said so.

mod body;
mod credentials;
mod date;
pub mod detect;
mod endpoint;
mod faults;
mod http;
mod once;
pub mod openai;
pub mod openrouter;
mod proxy;
pub mod sse;

pub use credentials::{Credentials, Known, Late};
pub use endpoint::{Endpoint, Incoming};
pub use faults::MESSAGE_CHARS_MAX;
pub use once::{Answer, Content, Once};
pub use proxy::Proxy;
pub use vocab::Secret;
