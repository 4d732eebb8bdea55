//! Providers that come and go with the user's accounts: OpenRouter by key, OpenAI and Antigravity by sign-in. A client each is made at the
//! start, which touches nothing; whether its models are offered is looked up whenever somebody asks.

use std::sync::Arc;
use std::time::Duration;

use accounts::Auth;
use net::{Late, Proxy};
use providers::{Client, Config, Loaded, Routing, openrouter};
use vocab::{Chat, Fault, FaultKind, Key, KeySet, ModelInfo, ModelSource, Provider};

use super::accounts::{UserKey, checked};
use super::antigravity::{self, ANTIGRAVITY};
use super::census::Standpoint;
use super::chatgpt::{self, OPENAI};
use super::keys::Held;
use super::sources::{described, wants};
use super::{Setup, pick};

pub(crate) struct Linked {
    auth: Auth,
    key: Arc<UserKey>,
    routing: Routing,
    openrouter_url: String,
    openrouter: Client,
    /// `None`: a server or key of the environment stands for it.
    openai: Option<Client>,
    antigravity: Client,
}

impl Linked {
    /// `stands`: whether the environment or the configuration has a server or a key that stands for OpenAI.
    pub(super) fn new(setup: &Setup, auth: Auth, stands: bool) -> Result<Self, Fault> {
        let settings = &setup.accounts;
        let provided = setup.providers.iter().find(|provided| *provided.name == *openrouter::NAME);
        let key = Arc::new(UserKey {
            auth: auth.clone(),
            key: Key::OpenRouter,
            given: setup.api_key.clone().filter(|_| wants(setup, openrouter::NAME)),
            environment: settings.openrouter_key.clone(),
            configured: provided.and_then(|provided| {
                let word = provided.key.clone()?;
                Some(Held::new(format!("the API key of {}", provided.name), word))
            }),
        });
        let routing = Routing::default();
        let moved = settings.openrouter_url.as_deref().or(provided.map(|provided| &*provided.base_url));
        let openrouter_url = checked(openrouter::NAME, moved.unwrap_or(openrouter::URL))?;
        let mut config = config(setup, openrouter::NAME, &openrouter_url, Late(key.clone()));
        config.routing = Some(routing.clone());
        if let Some(provided) = provided {
            config.models = described(setup, openrouter::NAME, &provided.models);
            config.compat = provided.compat.clone();
            config.ca_file = provided.ca_file.clone();
        }
        let openrouter = Client::new(config)?;
        let openai = match stands {
            true => None,
            false => Some(Client::new(chatgpt::config(setup, &auth)?)?),
        };
        let antigravity = Client::new(antigravity::config(setup, &auth)?)?;
        Ok(Self { auth, key, routing, openrouter_url, openrouter, openai, antigravity })
    }

    pub(super) fn auth(&self) -> &Auth {
        &self.auth
    }
    pub(super) fn has_openrouter(&self) -> bool {
        self.key.is_there()
    }

    pub(super) fn route(&self, to: Option<Arc<str>>) {
        self.routing.set(to.filter(|to| !to.trim().is_empty()));
    }

    /// Which servers OpenRouter can send this model's requests to.
    pub(super) async fn routes(&self, model: &str) -> Result<Vec<Arc<str>>, Fault> {
        let key = self.key.get().await?.ok_or_else(|| self.key.missing())?;
        let id = self.openrouter_id(model.strip_prefix("openrouter/").unwrap_or(model));
        openrouter::routes(&self.openrouter_url, &key, &id, |name| std::env::var(name).ok()).await
    }

    /// What the key that was just set gives access to. A list that cannot be had is no reason to refuse the key.
    pub(super) async fn try_key(&self, timeout: Duration) -> KeySet {
        match self.openrouter.refreshed(timeout).await {
            Ok((models, loaded)) => KeySet {
                models: models.len() as u64,
                source: match loaded {
                    Loaded::Fetched => ModelSource::Remote,
                    Loaded::Remembered => ModelSource::Cache,
                },
            },
            Err(_) => KeySet { models: 0, source: ModelSource::Fallback },
        }
    }

    /// OpenRouter's own name for what stands behind `openrouter/`. Its own models begin with its own name.
    fn openrouter_id(&self, rest: &str) -> String {
        let listed = |id: &str| self.openrouter.known().iter().any(|model| &*model.id == id);
        match rest.contains('/') || listed(rest) {
            true => rest.to_owned(),
            false => format!("{}/{rest}", openrouter::NAME),
        }
    }
}

/// A server that an account is asked at.
pub(super) fn config(setup: &Setup, name: &'static str, url: &str, late: Late) -> Config {
    let mut config = Config::new(url);
    config.keyring = setup.keyring.clone();
    config.provider = Some(name.into());
    config.late = Some(late);
    config.cache_file =
        (!setup.settings.ephemeral).then(|| setup.data.join("cache").join(format!("account-{name}.json")));
    config.proxy = Proxy::from_env(url, |name| std::env::var(name).ok());
    if let Some(window) = setup.default_context_window {
        config.default_context_window = window;
    }
    if let Some(ms) = setup.idle_timeout_ms {
        config.idle_timeout_ms = ms;
    }
    config
}

/// The linked providers as one catalogue sees them: a name that another of its sources has is that source's.
pub(super) struct Links {
    linked: Arc<Linked>,
    /// OpenAI's models go by their bare ids, because no other server's do.
    bare: bool,
    openai: bool,
    antigravity: bool,
    openrouter: bool,
}

impl Links {
    /// `server`: whose models go by bare ids already. `taken`: names of other providers.
    pub(super) fn new(linked: Arc<Linked>, server: Option<&str>, taken: impl Fn(&str) -> bool) -> Self {
        let free = |name: &str| server != Some(name) && !taken(name);
        Self {
            bare: server.is_none(),
            openai: free(OPENAI),
            antigravity: free(ANTIGRAVITY),
            openrouter: free(openrouter::NAME),
            linked,
        }
    }

    /// Those whose credential is there now.
    pub(super) fn active(&self) -> impl Iterator<Item = &Client> {
        let [openai, antigravity, openrouter] = self.clients();
        let present = self.linked.auth.present();
        let signed_in = [openai.filter(|_| present.openai), antigravity.filter(|_| present.antigravity)];
        signed_in.into_iter().flatten().chain(openrouter.filter(|_| self.linked.has_openrouter()))
    }

    /// Those whose names are free.
    fn clients(&self) -> [Option<&Client>; 3] {
        let linked = &self.linked;
        let openai = linked.openai.as_ref().filter(|_| self.openai);
        let antigravity = Some(&linked.antigravity).filter(|_| self.antigravity);
        [openai, antigravity, Some(&linked.openrouter).filter(|_| self.openrouter)]
    }

    pub(super) fn names(&self) -> Vec<Arc<str>> {
        self.active().map(|client| client.provider().clone()).collect()
    }

    /// Those whose credential is there now, for people.
    pub(super) fn census(&self) -> Vec<Standpoint> {
        let one = |client: &Client| Standpoint {
            name: client.provider().clone(),
            api: client.api().as_str().into(),
            base_url: client.server().into(),
            key: match &**client.provider() {
                OPENAI | ANTIGRAVITY => "signed in".to_owned(),
                _ => self.linked.key.origin(),
            },
            models: client.known().len(),
            failed: false,
        };
        self.active().map(one).collect()
    }

    fn find(&self, name: &str) -> Option<&Client> {
        self.active().find(|client| client.provider().eq_ignore_ascii_case(name))
    }

    /// Whether this provider's models go by their bare ids.
    pub(super) fn is_bare(&self, provider: &str) -> bool {
        self.bare && provider == OPENAI && self.find(OPENAI).is_some()
    }

    fn shown(&self, mut model: ModelInfo) -> ModelInfo {
        if !(self.bare && &*model.provider == OPENAI) {
            model.slug = format!("{}/{}", model.provider, model.id).into();
        }
        model
    }

    fn known_of(&self, client: &Client) -> Vec<ModelInfo> {
        client.known().into_iter().map(|model| self.shown(model)).collect()
    }

    /// What is known without asking anybody.
    pub(super) fn known(&self) -> Vec<ModelInfo> {
        self.active().flat_map(|client| self.known_of(client)).collect()
    }

    /// Asks each; one that is down gives what is known of it.
    pub(super) async fn models(&self) -> Vec<ModelInfo> {
        let ask = async |client: Option<&Client>| match client {
            Some(client) => client.models().await.unwrap_or_else(|_| client.known()),
            None => Vec::new(),
        };
        let mut active = self.active();
        let (first, second, third) = tokio::join!(ask(active.next()), ask(active.next()), ask(active.next()));
        first.into_iter().chain(second).chain(third).map(|model| self.shown(model)).collect()
    }

    /// `None`: it is none of theirs.
    pub(super) fn resolve(&self, slug: &str) -> Option<Result<ModelInfo, Fault>> {
        let named = slug.split_once('/').and_then(|(name, rest)| Some((self.find(name)?, rest)));
        let (client, id) = match named {
            Some((client, rest)) if &**client.provider() == openrouter::NAME => {
                (client, self.linked.openrouter_id(rest))
            }
            Some((client, rest)) => (client, rest.to_owned()),
            // Nobody else could have it.
            None if self.bare && self.openrouter && slug.starts_with("openrouter/") => {
                return Some(Err(self.linked.key.missing()));
            }
            None => (self.find(OPENAI).filter(|_| self.bare)?, slug.to_owned()),
        };
        // Who names the provider means a model that it has.
        if named.is_some() && client.has(&id) == Some(false) {
            let there_is = pick::names(self.known_of(client).iter());
            let message = format!("no model `{slug}`; there is: {there_is}");
            return Some(Err(Fault::new(FaultKind::UnknownModel, message)));
        }
        Some(client.resolve(&id).map(|model| self.shown(model)))
    }

    /// Also where the credential has gone meanwhile: then the request says what is missing.
    pub(super) fn chat(&self, model: &ModelInfo) -> Option<Result<Box<dyn Chat>, Fault>> {
        let ours = |client: &&Client| *client.provider() == model.provider && client.server() == &*model.base_url;
        let client = self.clients().into_iter().flatten().find(ours)?;
        let ready = match &**client.provider() {
            ANTIGRAVITY => antigravity::ready(&self.linked.auth),
            _ => Ok(()),
        };
        Some(ready.and_then(|()| client.chat(model)))
    }

    /// Makes one provider's models known, within a time; `None` when there is no such provider.
    pub(super) async fn load(&self, name: &str, timeout: Duration) -> Option<Result<Vec<ModelInfo>, Fault>> {
        let client = self.find(name)?;
        Some(client.load_catalogue(timeout).await.map(|_| self.known_of(client)))
    }
}
