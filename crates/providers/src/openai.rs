//! OpenAI Chat Completions over HTTP: the wire of OpenAI, Ollama, llama.cpp, vLLM, LM Studio, OpenRouter and most
//! others. Knows one server; knows nothing of turns, tools or retries.

mod calls;
pub(crate) mod catalogue;
mod chunk;
mod compat;
mod encode;
mod reader;
mod routing;
mod stream;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use bytes::Bytes;
use hyper::Method;
use vocab::{CallSpec, Chat, Fault, FaultKind, Later, Message, ModelFault, ModelInfo, ModelStream, Provider, ToolSpec};

pub use calls::{ARGUMENT_BYTES_MAX, CALLS_MAX};
pub use compat::{Compat, TokensField};
pub use routing::Routing;
pub use stream::{ERROR_BYTES_MAX, WHOLE_BYTES_MAX};

use crate::body::Pieces;
use crate::detect::provider_name;
use crate::http::Http;
use crate::{Known, Late, Proxy, Secret, faults};
use encode::Transcript;
use stream::{Answer, Frame, Quirks};

/// How long a list of models may take when nobody gave a time.
const LIST_TIME_MAX: Duration = Duration::from_secs(30);
/// The longest idle time that can be set; more means the same.
const IDLE_MS_MAX: u64 = 24 * 60 * 60 * 1000;

/// The name of this wire format.
pub const API: &str = "openai-completions";

/// One server and what is known of it beforehand.
#[derive(Clone, Debug)]
pub struct Config {
    /// Up to and including `/v1`.
    pub base_url: String,
    /// The name under which its models are offered; `None` = by its address.
    pub provider: Option<Arc<str>>,
    pub api_key: Option<Secret>,
    /// Sent with every request.
    pub headers: Vec<(String, Secret)>,
    /// Asked before the first request for a key and headers, instead of the two above.
    pub late: Option<Late>,
    pub compat: Compat,
    /// For a server that passes requests on to others.
    pub routing: Option<Routing>,
    /// Models the configuration describes; they win over the server's list.
    pub models: Vec<ModelInfo>,
    /// For models of which nothing else is known.
    pub default_context_window: u64,
    /// How long the model may say nothing; 0 = for ever.
    pub idle_timeout_ms: u64,
    /// For name, connection and TLS together.
    pub connect_timeout_ms: u64,
    /// Where the server's list is remembered.
    pub cache_file: Option<PathBuf>,
    /// For https servers only; see [`Proxy::from_env`].
    pub proxy: Option<Proxy>,
}

impl Config {
    pub fn new(base_url: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            provider: None,
            api_key: None,
            headers: Vec::new(),
            late: None,
            compat: Compat::default(),
            routing: None,
            models: Vec::new(),
            default_context_window: 128_000,
            idle_timeout_ms: 120_000,
            connect_timeout_ms: 10_000,
            cache_file: None,
            proxy: None,
        }
    }
}

/// Where a list of models came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loaded {
    /// It was known already, from this run or an earlier one.
    Remembered,
    Fetched,
}

/// A server that speaks Chat Completions. Cheap to clone; clones share connections and what was learned.
#[derive(Clone)]
pub struct OpenAi {
    inner: Arc<Inner>,
}

struct Inner {
    config: Config,
    provider: Arc<str>,
    api: Arc<str>,
    http: Arc<Http>,
    catalogue: Mutex<Catalogue>,
}

#[derive(Default)]
struct Catalogue {
    /// The file has been looked at.
    looked: bool,
    models: Option<Arc<[ModelInfo]>>,
}

impl OpenAi {
    /// Touches neither network nor disk. Fails on a base URL or a key that could never work.
    pub fn new(mut config: Config) -> Result<Self, Fault> {
        // Zero would mean that no connection is ever in time.
        let connect_timeout = Duration::from_millis(config.connect_timeout_ms.max(1));
        let known = Known { key: config.api_key.clone(), headers: config.headers.clone() };
        let http = Http::new(&config.base_url, &known, config.late.clone(), connect_timeout, config.proxy.clone())?;
        let provider = config.provider.clone().unwrap_or_else(|| provider_name(&config.base_url).into());
        let models = std::mem::take(&mut config.models);
        let mut inner = Inner { config, provider, api: API.into(), http: Arc::new(http), catalogue: Mutex::default() };
        inner.config.models = models.into_iter().map(|model| inner.ours(model)).collect();
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The name under which its models are offered.
    pub fn provider(&self) -> &Arc<str> {
        &self.inner.provider
    }

    /// Whether requests carry a key, as far as that is known.
    pub fn has_key(&self) -> bool {
        self.inner.config.api_key.is_some() || self.inner.config.late.is_some()
    }

    /// What is known without asking the server: configured models, then the remembered list.
    pub fn known(&self) -> Vec<ModelInfo> {
        self.inner.merged(&self.inner.remembered().unwrap_or_default())
    }

    /// As [`Provider::chat`], for a model that differs from its server.
    pub fn chat_with(&self, model: &ModelInfo, compat: Compat) -> Box<dyn Chat> {
        Box::new(Conversation {
            inner: self.inner.clone(),
            model: model.clone(),
            transcript: Transcript::new(model.images),
            fixed: None,
            quirks: Arc::new(Quirks::new(&compat)),
            compat,
        })
    }

    /// For start-up: makes windows known, from the file when there is one, else from the server within `timeout`.
    pub async fn load_catalogue(&self, timeout: Duration) -> Result<Loaded, Fault> {
        if self.inner.remembered().is_some() {
            return Ok(Loaded::Remembered);
        }
        self.inner.fetch(timeout).await?;
        Ok(Loaded::Fetched)
    }

    /// Asks the server for its models within `timeout`; where it does not say, what is remembered counts.
    pub async fn refreshed(&self, timeout: Duration) -> Result<(Vec<ModelInfo>, Loaded), Fault> {
        let inner = &self.inner;
        match inner.fetch(timeout).await {
            Ok(listed) => Ok((inner.merged(&listed), Loaded::Fetched)),
            Err(fault) => {
                let remembered = inner.remembered().ok_or(fault)?;
                Ok((inner.merged(&remembered), Loaded::Remembered))
            }
        }
    }

    /// The base URL, fit to be shown.
    pub fn server(&self) -> &str {
        &self.inner.http.server
    }
}

impl Inner {
    fn catalogue(&self) -> MutexGuard<'_, Catalogue> {
        self.catalogue.lock().expect("nothing panics while holding it")
    }

    /// The list from memory, or from the file the first time.
    fn remembered(&self) -> Option<Arc<[ModelInfo]>> {
        let mut catalogue = self.catalogue();
        if !std::mem::replace(&mut catalogue.looked, true)
            && let Some(path) = &self.config.cache_file
        {
            let models = catalogue::load(path, &self.http.server);
            catalogue.models = models.map(|models| models.into_iter().map(|model| self.ours(model)).collect());
        }
        catalogue.models.clone()
    }

    async fn fetch(&self, timeout: Duration) -> Result<Arc<[ModelInfo]>, Fault> {
        let listed = tokio::time::timeout(timeout, list(&self.http, self.config.default_context_window)).await;
        let listed = listed.unwrap_or_else(|_| {
            let message = format!("{} gave no list of models within {} ms", self.http.server, timeout.as_millis());
            Err(ModelFault::new(FaultKind::Network, message))
        });
        let models: Arc<[ModelInfo]> = match listed {
            Ok(models) => models.into_iter().map(|model| self.ours(model)).collect(),
            Err(fault) => return Err(self.http.seal(fault).fault),
        };
        *self.catalogue() = Catalogue { looked: true, models: Some(models.clone()) };
        if let Some(path) = self.config.cache_file.clone() {
            let (server, models) = (self.http.server.clone(), models.clone());
            // A cache that cannot be written costs a question next time, not this answer.
            let _ = tokio::task::spawn_blocking(move || catalogue::save(&path, &server, &models)).await;
        }
        Ok(models)
    }

    /// A model with the name and the place of its server.
    fn ours(&self, mut model: ModelInfo) -> ModelInfo {
        model.provider = self.provider.clone();
        model.api = self.api.clone();
        model.base_url = self.http.server.clone();
        model
    }

    /// Configured models first, then the rest of the list.
    fn merged(&self, listed: &[ModelInfo]) -> Vec<ModelInfo> {
        let configured = &self.config.models;
        let rest = listed.iter().filter(|model| configured.iter().all(|known| known.slug != model.slug));
        configured.iter().chain(rest).cloned().collect()
    }
}

/// Asks the server for its models.
pub(crate) async fn list(http: &Http, default_window: u64) -> Result<Vec<ModelInfo>, ModelFault> {
    let (head, mut reply) = http.send(Method::GET, "/models", "application/json", Pieces::empty).await?;
    let status = head.status().as_u16();
    let limit = if status == 200 { catalogue::LIST_BYTES_MAX } else { ERROR_BYTES_MAX };
    let (body, whole) = reply.collect(limit).await.map_err(|error| faults::cut(Some(&error)))?;
    if whole {
        reply.done(http).await;
    }
    if status != 200 {
        return Err(faults::refused(status, head.headers(), &body, &http.server));
    }
    catalogue::parse(&body, default_window).map_err(|error| {
        let html = faults::looks_like_html(&String::from_utf8_lossy(&body));
        let what = if html { "an HTML page".to_owned() } else { error.to_string() };
        let mut fault = faults::provider(format!("{} gave no list of models: {what}", http.server));
        faults::hint(&mut fault, &format!("does the base URL {} end in /v1?", http.server));
        fault
    })
}

impl Provider for OpenAi {
    /// Any name may be one of the server's: it need not list what it serves.
    fn resolve(&self, slug: &str) -> Result<ModelInfo, Fault> {
        let slug = slug.trim();
        if slug.is_empty() {
            let known = self.inner.merged(&self.inner.remembered().unwrap_or_default());
            let names: Vec<&str> = known.iter().take(10).map(|model| &*model.slug).collect();
            let fault = Fault::new(FaultKind::UnknownModel, "no model was named");
            return Err(if names.is_empty() { fault } else { fault.hint(format!("known: {}", names.join(", "))) });
        }
        let named = |models: &[ModelInfo]| models.iter().find(|model| &*model.slug == slug).cloned();
        let known = named(&self.inner.config.models).or_else(|| named(&self.inner.remembered()?));
        Ok(known.unwrap_or_else(|| {
            let unknown = ModelInfo::named(slug, self.inner.config.default_context_window);
            self.inner.ours(unknown)
        }))
    }

    /// Asks the server each time. Without a connection it gives what is remembered, if anything is.
    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        Box::pin(async {
            let inner = &self.inner;
            match inner.fetch(LIST_TIME_MAX).await {
                Ok(listed) => Ok(inner.merged(&listed)),
                Err(fault) => {
                    let known = inner.merged(&inner.remembered().unwrap_or_default());
                    if fault.kind == FaultKind::Network && !known.is_empty() { Ok(known) } else { Err(fault) }
                }
            }
        })
    }

    fn chat(&self, model: &ModelInfo) -> Result<Box<dyn Chat>, Fault> {
        Ok(self.chat_with(model, self.inner.config.compat.clone()))
    }
}

/// One conversation with one model.
struct Conversation {
    inner: Arc<Inner>,
    model: ModelInfo,
    transcript: Transcript,
    fixed: Option<Fixed>,
    quirks: Arc<Quirks>,
    compat: Compat,
}

/// The encoded system prompt and tools, good as long as the next call shares the same ones.
struct Fixed {
    system: Arc<str>,
    tools: Arc<[ToolSpec]>,
    bytes: Bytes,
}

impl Conversation {
    fn fixed(&mut self, spec: &CallSpec) -> Bytes {
        let same = |fixed: &&Fixed| Arc::ptr_eq(&fixed.system, &spec.system) && Arc::ptr_eq(&fixed.tools, &spec.tools);
        if let Some(fixed) = self.fixed.as_ref().filter(same) {
            return fixed.bytes.clone();
        }
        let bytes = encode::fixed_head(self.compat.role(self.model.thinking), &spec.system, &spec.tools);
        self.fixed = Some(Fixed { system: spec.system.clone(), tools: spec.tools.clone(), bytes: bytes.clone() });
        bytes
    }
}

impl Chat for Conversation {
    fn push(&mut self, message: &Message) {
        self.transcript.push(message);
    }
    fn clear(&mut self) {
        self.transcript.clear();
    }
    fn bytes(&self) -> usize {
        self.transcript.bytes() + self.fixed.as_ref().map_or(0, |fixed| fixed.bytes.len())
    }

    fn call(&mut self, spec: &CallSpec) -> ModelStream {
        let frame = Frame {
            model: self.model.id.clone(),
            max_tokens: self.model.max_output.map_or(spec.max_tokens, |limit| limit.min(spec.max_tokens)),
            effort: self.compat.effort(spec.thinking.as_ref(), self.model.thinking),
            route: self.inner.config.routing.as_ref().and_then(Routing::get),
            fixed: self.fixed(spec),
            has_system: !spec.system.is_empty(),
            pieces: self.transcript.pieces().to_vec(),
            quirks: self.quirks.clone(),
        };
        let config = &self.inner.config;
        let idle = Some(config.idle_timeout_ms.min(IDLE_MS_MAX)).filter(|ms| *ms > 0).map(Duration::from_millis);
        Box::pin(Answer::new(self.inner.http.clone(), idle, frame))
    }
}
