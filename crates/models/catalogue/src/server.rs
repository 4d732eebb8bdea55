//! The server of the environment, or one that was found: it takes any name that no other source has.

use std::sync::Arc;

use providers::detect::Server;
use providers::{Api, Client, Config, openrouter};
use vocab::{Chat, Fault, FaultKind, Later, ModelInfo, Provider};

use crate::pick;
use crate::settings::ModelSettings;
use crate::source::{Source, SourceKind};
use crate::sources_report::SourceReport;

pub(crate) struct ServerModels(pub(crate) Client);

impl Source for ServerModels {
    fn kind(&self) -> SourceKind {
        SourceKind::Server
    }

    fn resolve(&self, slug: &str) -> Option<Result<ModelInfo, Fault>> {
        Some(resolve(&self.0, slug))
    }

    fn chat(&self, model: &ModelInfo) -> Option<Result<Box<dyn Chat>, Fault>> {
        Some(self.0.chat(model))
    }

    fn known(&self) -> Vec<ModelInfo> {
        self.0.known()
    }

    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        self.0.models()
    }

    /// They go by their bare ids, as everywhere outside of files.
    fn slug(&self, provider: &str, id: &str) -> Option<Arc<str>> {
        (&**self.0.provider() == provider).then(|| id.into())
    }

    fn report(&self) -> Vec<SourceReport> {
        let key = if self.0.has_key() { "OPENAI_API_KEY is set" } else { "without a key" };
        vec![SourceReport {
            kind: SourceKind::Server,
            name: self.0.provider().clone(),
            api: Api::Completions.as_str().into(),
            base_url: self.0.server().into(),
            key: key.to_owned(),
            has_key: self.0.has_key(),
            models: self.0.known().len(),
            failed: false,
        }]
    }

    fn servers(&self) -> Vec<(Arc<str>, Result<Client, Fault>)> {
        vec![(self.0.provider().clone(), Ok(self.0.clone()))]
    }
}

/// A model of a server that takes any name.
pub(crate) fn resolve(server: &Client, slug: &str) -> Result<ModelInfo, Fault> {
    server.resolve(own_id(server, slug)?)
}

/// The server's own name for a model. `openai/gpt-5` is its `gpt-5`, unless it lists that very name.
fn own_id<'s>(server: &Client, slug: &'s str) -> Result<&'s str, Fault> {
    let prefixed = slug.split_once('/').filter(|(name, _)| *name == &**server.provider());
    let Some((provider, rest)) = prefixed else { return Ok(slug) };
    let has = |id: &str| server.has(id) == Some(true);
    // OpenRouter's ids have slashes themselves, and its own models begin with its own name.
    if has(slug) || (provider == openrouter::NAME && !has(rest) && !rest.contains('/')) {
        return Ok(slug);
    }
    // Who names the provider means a model that it has.
    if server.has(rest) == Some(false) {
        let message = format!("no model `{slug}`; there is: {}", pick::names(server.known().iter()));
        return Err(Fault::new(FaultKind::UnknownModel, message));
    }
    Ok(rest)
}

/// What a client of a server needs of the settings.
pub(crate) struct ServerClients(Config);

impl ServerClients {
    pub(crate) fn of(settings: &ModelSettings) -> Self {
        let mut config = Config::new("");
        config.keyring = settings.keyring.clone();
        config.vendor_keys = settings.owned_keys.all().clone();
        config.key_name = Some("OPENAI_API_KEY".into());
        config.models = settings.known_models.clone();
        config.cache_file = settings.cache_file("models.json");
        settings.time_and_window(&mut config);
        Self(config)
    }

    pub(crate) fn client(self, server: &Server) -> Result<Client, Fault> {
        let mut config = self.0;
        config.base_url = server.base_url.clone();
        config.api_key = server.api_key.clone();
        // Whoever names a server for all models, and has that variable set, has brought the two together: it is how servers of
        // one's own network are used.
        config.is_paired = true;
        config.proxy = net::Proxy::from_env(&server.base_url, |name| std::env::var(name).ok());
        Client::new(config)
    }
}
