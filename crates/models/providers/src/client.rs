//! One server that serves models, in whatever wire format: its list, and conversations with its models. Knows nothing of
//! turns, tools or retries.

mod conversation;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use net::address::{behind_host, host, is_local, open_way};
use net::{Http, HttpConfig, KeyHeader, KnownCredentials, Late, Method, Pieces, Proxy, RequestHead};
use vocab::{Chat, Fault, FaultKind, Keyring, Later, ModelFault, ModelInfo, Provider};

use crate::api::{Api, Manners};
use crate::catalogue;
use crate::completions::{Compat, Routing};
use crate::detect::{provider_name, talks};
use crate::gemini::CloudCode;
use crate::listing::Listing;
use crate::model_call::{ERROR_BYTES_MAX, Greeting};
use crate::models::Vendor;
use crate::recent::RecentPieces;
use crate::{Secret, faults};
use conversation::Conversation;

/// How long a list of models may take when nobody gave a time. Whoever asked is told then, and may name a model unasked.
const LIST_TIME_MAX: Duration = Duration::from_secs(10);
/// Headers that are lists: what the user configured comes behind what a format says, not instead of it.
const LIST_HEADERS: [&str; 1] = ["anthropic-beta"];

/// One server and what is known of it beforehand.
#[derive(Clone, Debug)]
pub struct Config {
    pub api: Api,
    /// Up to and including the version.
    pub base_url: String,
    /// The name under which its models are offered; `None` = by its address.
    pub provider: Option<Arc<str>>,
    pub api_key: Option<Secret>,
    /// How the key is sent; `None` = as the format's own vendor wants it.
    pub key_header: Option<KeyHeader>,
    /// Where people set the key, for hints: the name of a variable.
    pub key_name: Option<Arc<str>>,
    /// Sent with every request.
    pub headers: Vec<(String, Secret)>,
    /// Asked before the first request for a key and headers, instead of the two above.
    pub late: Option<Late>,
    /// The user has written this key and these headers beside this very address, so they go there by plain http as well.
    /// Without that nothing that proves who we are goes to another machine unencrypted.
    pub is_paired: bool,
    /// Keys of vendors and others, whosever server this is: an address is refused that holds one.
    pub vendor_keys: Keyring,
    /// Sent with every call, and shown in logs; names in lower case.
    pub greeting: Vec<(&'static str, String)>,
    pub listing: Listing,
    pub compat: Compat,
    /// For a server that passes requests on to others.
    pub routing: Option<Routing>,
    /// For Gemini behind Google's Cloud Code.
    pub cloud_code: Option<CloudCode>,
    /// Models the configuration describes; they win over the server's list. A window of 0 is one that it does not name.
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
    /// A PEM file of authorities to trust beside the system's; `None` = as [`net::trust_everywhere`] says.
    pub ca_file: Option<PathBuf>,
    /// Learns every key that is sent.
    pub keyring: Keyring,
}

impl Config {
    /// A server that speaks Chat Completions, as most do.
    pub fn new(base_url: impl Into<String>) -> Self {
        Self {
            api: Api::Completions,
            base_url: base_url.into(),
            provider: None,
            api_key: None,
            key_header: None,
            key_name: None,
            headers: Vec::new(),
            late: None,
            is_paired: false,
            vendor_keys: Keyring::default(),
            greeting: Vec::new(),
            listing: Listing::Server,
            compat: Compat::default(),
            routing: None,
            cloud_code: None,
            models: Vec::new(),
            default_context_window: 128_000,
            idle_timeout_ms: 120_000,
            connect_timeout_ms: 10_000,
            cache_file: None,
            proxy: None,
            ca_file: None,
            keyring: Keyring::default(),
        }
    }
}

impl Config {
    /// Whatever shows or logs an address would show the key in it, and over plain http everybody on the way reads it.
    fn check_address(&self) -> Result<(), Fault> {
        let proofs = self.headers.iter().filter(|(header, value)| net::is_key(header, value)).map(|(_, value)| value);
        let own: Keyring = self.api_key.iter().chain(proofs).map(Secret::expose).collect();
        // A server's name may be the word that it takes for a key.
        let path = behind_host(&self.base_url).as_bytes();
        let is_word = host(&self.base_url).is_some_and(|host| self.vendor_keys.knows(&host));
        let looked_at = if is_word { path } else { self.base_url.as_bytes() };
        if !self.vendor_keys.is_in(looked_at) && !own.is_in(path) && !self.keyring.is_in(path) {
            return Ok(());
        }
        let whose = self.provider.as_deref().unwrap_or("the server");
        let message = format!("the address of {whose} has a key in it, and addresses are shown and logged");
        Err(Fault::new(FaultKind::Invalid, message).hint("take it out of the address; a key goes in a header"))
    }

    /// Here and not where addresses and keys are found: whatever brings the two together has to come by.
    fn check_way(&self) -> Result<(), Fault> {
        let proves = self.api_key.is_some() || self.late.is_some() || !self.headers.is_empty();
        let Some(host) = open_way(&self.base_url).filter(|_| proves && !self.is_paired) else { return Ok(()) };
        let unset = match &self.key_name {
            Some(name) => format!("unset {name} if that server wants no key"),
            None => "take the key away if that server wants none".to_owned(),
        };
        let provider = self.provider.as_deref().unwrap_or_else(|| provider_name(&self.base_url));
        let message =
            format!("the key of {provider} is not sent to {host}: plain http shows it to everybody on the way");
        let fault = Fault::new(FaultKind::Invalid, message).hint(format!("use an https address; or {unset}"));
        Err(fault
            .hint("a key that your own files have beside that very address is sent, unless it is that of a vendor's variable, or of one that is not named there: docs/models.md, Local servers"))
    }
}

/// Where a list of models came from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loaded {
    /// It was known already, from this run or an earlier one.
    Remembered,
    Fetched,
}

/// One server. Cheap to clone; clones share connections and what was learned.
#[derive(Clone)]
pub struct Client {
    inner: Arc<ServerState>,
}

struct ServerState {
    config: Config,
    provider: Arc<str>,
    api: Arc<str>,
    http: Arc<Http>,
    greeting: Greeting,
    /// Whose server it is, where the built-in table knows the owner.
    vendor: Option<&'static Vendor>,
    catalogue: Mutex<Catalogue>,
    recent: Arc<RecentPieces>,
}

#[derive(Default)]
struct Catalogue {
    /// The file has been looked at.
    looked: bool,
    models: Option<Arc<[ModelInfo]>>,
}

impl Client {
    /// Touches neither network nor disk. Fails on a base URL or a key that could never work, and on a key that others
    /// would read: on the way, or in the address.
    pub fn new(mut config: Config) -> Result<Self, Fault> {
        config.check_address()?;
        config.check_way()?;
        // Zero would mean that no connection is ever in time.
        let connect_timeout = Duration::from_millis(config.connect_timeout_ms.max(1));
        let known = KnownCredentials { key: config.api_key.clone(), headers: config.headers.clone() };
        let http = HttpConfig::new(&config.base_url, &known, connect_timeout, config.proxy.clone());
        let http = Http::new(HttpConfig {
            late: config.late.clone(),
            key_header: config.key_header.unwrap_or(config.api.key_header()),
            key_name: config.key_name.clone(),
            list_headers: &LIST_HEADERS,
            keyring: config.keyring.clone(),
            ..http.trusting(config.ca_file.clone())
        })?;
        let vendor = match config.listing {
            Listing::Table(vendor) => Some(vendor),
            _ => Vendor::of_server(config.provider.as_deref(), config.api, &config.base_url),
        };
        let provider = config.provider.clone().unwrap_or_else(|| provider_name(&config.base_url).into());
        let models = std::mem::take(&mut config.models);
        let greeting = std::mem::take(&mut config.greeting).into();
        let config_api = config.api;
        let mut inner = ServerState {
            config,
            provider,
            api: config_api.as_str().into(),
            http: Arc::new(http),
            greeting,
            vendor,
            catalogue: Mutex::default(),
            recent: Arc::default(),
        };
        inner.config.models = models.into_iter().map(|model| inner.ours(model)).collect();
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The name under which its models are offered.
    pub fn provider(&self) -> &Arc<str> {
        &self.inner.provider
    }

    pub fn api(&self) -> Api {
        self.inner.config.api
    }

    /// Whether requests carry a key, as far as that is known.
    pub fn has_key(&self) -> bool {
        self.inner.config.api_key.is_some() || self.inner.config.late.is_some()
    }

    /// What is known without asking the server: configured models, then the remembered list. Where a vendor itself has
    /// never been asked, it is taken to serve what the built-in table has.
    pub fn known(&self) -> Vec<ModelInfo> {
        self.inner.known()
    }

    /// Whether the server has a model of this name, as far as anybody tells; `None`: nobody does. The built-in table
    /// tells only what there is, and only of a server that was never asked: it is no list.
    pub fn has(&self, name: &str) -> Option<bool> {
        let ServerState { config, vendor, .. } = &*self.inner;
        let listed = self.inner.remembered();
        let meant = vendor.and_then(|vendor| vendor.alias(name));
        if listed.is_none() && vendor.is_some_and(|vendor| meant.is_some() || vendor.find(name).is_some()) {
            return Some(true);
        }
        let mut told = config.models.iter().chain(listed.iter().flat_map(|listed| listed.iter())).peekable();
        told.peek()?;
        let has = told.any(|model| &*model.slug == name || Some(&*model.slug) == meant);
        (has || !self.inner.has_table()).then_some(has)
    }

    /// As [`Provider::chat`], for a model that differs from its server. What is known of the server anyway counts where
    /// nothing is said.
    pub fn chat_with(&self, model: &ModelInfo, compat: Compat) -> Box<dyn Chat> {
        let compat = match self.inner.config.api {
            Api::Completions => compat.over(&Compat::of(&self.inner.provider, &self.inner.http.server)),
            // Vendors of the other formats differ little, and where a server speaks two it has other quirks in each.
            Api::Responses | Api::Anthropic | Api::Gemini => compat,
        };
        let Config { routing, cloud_code, .. } = &self.inner.config;
        let manners = Manners {
            compat,
            routing: routing.clone(),
            cloud_code: cloud_code.clone(),
            recent: self.inner.recent.clone(),
        };
        let encoder = self.inner.config.api.encoder(model, manners);
        Box::new(Conversation::new(self.inner.clone(), encoder, model))
    }

    /// For start-up: makes windows known, from the file when there is one, else from the server within `timeout`.
    pub async fn load_catalogue(&self, timeout: Duration) -> Result<Loaded, Fault> {
        if self.inner.remembered().is_some() || self.inner.has_table() {
            return Ok(Loaded::Remembered);
        }
        self.inner.fetch(timeout).await?;
        Ok(Loaded::Fetched)
    }

    /// The first model that can hold a conversation, from the server's list: asked for now unless it is known.
    pub async fn first_model(&self) -> Result<Arc<str>, Fault> {
        let listed = match self.inner.remembered() {
            Some(listed) if !self.inner.has_table() => self.inner.merged(&listed),
            _ => self.models().await?,
        };
        let first = listed.iter().find(|model| talks(&model.slug)).or(listed.first());
        first.map(|model| model.slug.clone()).ok_or_else(|| {
            let fault = Fault::new(FaultKind::UnknownModel, format!("{} lists no models", self.server()));
            fault.hint("name one with --model")
        })
    }

    /// Asks the server for its models within `timeout`; where it does not say, what is remembered counts.
    pub async fn refreshed(&self, timeout: Duration) -> Result<(Vec<ModelInfo>, Loaded), Fault> {
        let inner = &self.inner;
        if inner.has_table() {
            return Ok((inner.known(), Loaded::Remembered));
        }
        match inner.fetch(timeout).await {
            Ok(listed) => Ok((inner.merged(&listed), Loaded::Fetched)),
            Err(fault) => {
                let remembered = inner.remembered().ok_or(fault)?;
                Ok((inner.merged(&remembered), Loaded::Remembered))
            }
        }
    }

    /// Whether the server answers: the number of models it lists. One that nobody can ask for a list is taken at its word.
    pub async fn reach(&self, timeout: Duration) -> Result<usize, Fault> {
        match self.inner.has_table() {
            true => Ok(self.inner.known().len()),
            false => Ok(self.inner.fetch(timeout).await?.len()),
        }
    }

    /// The base URL, fit to be shown.
    pub fn server(&self) -> &str {
        &self.inner.http.server
    }
}

impl ServerState {
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
        // 0: whether anybody else knows the window is seen later.
        let asked = async {
            match &self.config.listing {
                Listing::Asked(lister) => lister.asked().await,
                Listing::Server | Listing::Table(_) => list(&self.http, self.config.api, 0).await,
            }
        };
        let listed = tokio::time::timeout(timeout, asked).await;
        let listed = listed.unwrap_or_else(|_| {
            let message = format!("{} gave no list of models within {} ms", self.http.server, timeout.as_millis());
            let mut fault = ModelFault::new(FaultKind::Network, message);
            fault.fault = fault.fault.hint("name a model with --model: then nobody has to ask for the list");
            Err(fault)
        });
        let models: Arc<[ModelInfo]> = match listed {
            Ok(models) => models.into_iter().map(|model| self.ours(model)).collect(),
            Err(fault) => return Err(self.http.seal(fault.fault)),
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

    /// A model that nobody has told us of: the built-in table may know it.
    fn untold(&self, name: &str) -> ModelInfo {
        ModelInfo { unlisted: self.vendor.is_none_or(|it| it.find(name).is_none()), ..ModelInfo::named(name, 0) }
    }
    /// Nobody can be asked.
    fn has_table(&self) -> bool {
        matches!(self.config.listing, Listing::Table(_))
    }

    fn known(&self) -> Vec<ModelInfo> {
        let unasked = || {
            // A server on this machine has what was put there, whatever it is called.
            let vendor = self.vendor.filter(|_| self.has_table() || !is_local(&self.http.server));
            vendor.map(Vendor::infos).unwrap_or_default().into_iter().map(|model| self.ours(model)).collect()
        };
        self.merged(&self.remembered().unwrap_or_else(unasked))
    }

    /// Configured models first, then the rest of the list.
    fn merged(&self, listed: &[ModelInfo]) -> Vec<ModelInfo> {
        let configured = &self.config.models;
        let rest = listed.iter().filter(|model| configured.iter().all(|known| known.slug != model.slug));
        configured.iter().chain(rest).map(|model| self.completed(model.clone(), listed)).collect()
    }

    /// What one source leaves open the next one says: the configuration, the server's list, the built-in table, the
    /// default.
    fn completed(&self, mut model: ModelInfo, listed: &[ModelInfo]) -> ModelInfo {
        let configured = self.config.models.iter().any(|known| known.slug == model.slug);
        if let Some(listed) = listed.iter().find(|listed| configured && listed.slug == model.slug) {
            if model.context_window == 0 {
                model.context_window = listed.context_window;
            }
            if model.name == model.id {
                model.name = listed.name.clone();
            }
            model.max_output = model.max_output.or(listed.max_output);
            model.prices = model.prices.or(listed.prices);
            model.levels = model.levels.or_else(|| listed.levels.clone());
        }
        if let Some(facts) = self.vendor.and_then(|vendor| vendor.find(&model.id)) {
            // The configuration always says whether a model thinks and sees.
            if !configured {
                facts.restrict(&mut model);
            }
            facts.fill(&mut model);
        }
        if model.context_window == 0 {
            model.context_window = self.config.default_context_window;
        }
        model
    }
}

/// Asks the server for its models.
pub(crate) async fn list(http: &Http, api: Api, default_window: u64) -> Result<Vec<ModelInfo>, ModelFault> {
    let headers = api.list_headers();
    let head =
        RequestHead { method: &Method::GET, path: api.list_path(), accept: "application/json", headers: &headers };
    let (head, mut reply) = http.send(head, Pieces::empty).await.map_err(faults::of_net)?;
    let status = head.status().as_u16();
    let limit = if status == 200 { catalogue::LIST_BYTES_MAX } else { ERROR_BYTES_MAX };
    let (body, whole) = reply.collect(limit).await.map_err(|error| faults::cut(Some(&error)))?;
    if whole {
        reply.done(http).await;
    }
    if status != 200 {
        let mut fault = faults::refused(status, head.headers(), &body, &http.server);
        if status == 404 {
            faults::hint_address(&mut fault, &http.server, api.version());
        }
        return Err(fault);
    }
    api.list(&body, default_window).map_err(|error| {
        let html = net::looks_like_html(&String::from_utf8_lossy(&body));
        let what = if html { "an HTML page".to_owned() } else { error.to_string() };
        let mut fault = faults::provider(format!("{} gave no list of models: {what}", http.server));
        faults::hint_address(&mut fault, &http.server, api.version());
        fault
    })
}

impl Provider for Client {
    /// Any name may be one of the server's: it need not list what it serves.
    fn resolve(&self, slug: &str) -> Result<ModelInfo, Fault> {
        let slug = slug.trim();
        if slug.is_empty() {
            let known = self.inner.known();
            let names: Vec<&str> = known.iter().take(10).map(|model| &*model.slug).collect();
            let fault = Fault::new(FaultKind::UnknownModel, "no model was named");
            return Err(if names.is_empty() { fault } else { fault.hint(format!("known: {}", names.join(", "))) });
        }
        let inner = &self.inner;
        let listed = inner.remembered().unwrap_or_default();
        let named = |models: &[ModelInfo], name: &str| models.iter().find(|model| &*model.slug == name).cloned();
        let told = |name: &str| named(&inner.config.models, name).or_else(|| named(&listed, name));
        let model = told(slug).unwrap_or_else(|| {
            let name = inner.vendor.and_then(|vendor| vendor.alias(slug)).unwrap_or(slug);
            told(name).unwrap_or_else(|| inner.ours(inner.untold(name)))
        });
        Ok(inner.completed(model, &listed))
    }

    /// Asks the server each time. Without a connection it gives what is remembered, if anything is.
    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        Box::pin(async {
            let inner = &self.inner;
            if inner.has_table() {
                return Ok(inner.known());
            }
            match inner.fetch(LIST_TIME_MAX).await {
                Ok(listed) => Ok(inner.merged(&listed)),
                Err(fault) => {
                    let known = inner.known();
                    if fault.kind == FaultKind::Network && !known.is_empty() { Ok(known) } else { Err(fault) }
                }
            }
        })
    }

    fn chat(&self, model: &ModelInfo) -> Result<Box<dyn Chat>, Fault> {
        Ok(self.chat_with(model, self.inner.config.compat.clone()))
    }
}
