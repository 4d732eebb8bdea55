//! Providers that come and go with the user's accounts: OpenRouter by key, OpenAI and Antigravity by sign-in. A client each is made at the
//! start, which touches nothing; whether its models are offered is looked up whenever somebody asks.

mod antigravity;
mod chatgpt;

use std::sync::Arc;
use std::time::Duration;

use accounts::Auth;
use accounts::Key;
use net::{Late, Proxy};
use providers::{Client, Config, Loaded, Routing, openrouter};
use vocab::{Chat, Fault, FaultKind, Later, ModelInfo, Provider};

use crate::account_keys::{UserKey, checked};
use crate::configured::{described, wants};
use crate::keys::LateKey;
use crate::pick;
use crate::settings::ModelSettings;
use crate::source::{Source, SourceKind};
use crate::sources_report::SourceReport;
use antigravity::ANTIGRAVITY;
pub(crate) use chatgpt::OPENAI;

/// What came of a new key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeySet {
    /// Models that it gives access to.
    pub models: u64,
    pub source: ModelSource,
}

impl KeySet {
    /// Nothing is known of what it gives access to.
    pub const UNTRIED: KeySet = KeySet { models: 0, source: ModelSource::Fallback };
}

/// How a list of models was got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ModelSource {
    Remote,
    /// Remembered from an earlier time.
    Cache,
    /// The provider could not be asked and nothing is remembered.
    Fallback,
}

pub struct AccountModels {
    auth: Auth,
    key: Arc<UserKey>,
    routing: Routing,
    openrouter_url: String,
    openrouter: Client,
    /// `None`: a server or key of the environment stands for it.
    openai: Option<Client>,
    antigravity: Client,
}

impl AccountModels {
    pub fn new(setup: &ModelSettings, auth: Auth) -> Result<Self, Fault> {
        let settings = &setup.accounts;
        let provided = setup.providers.iter().find(|provided| *provided.name == *openrouter::NAME);
        let key = Arc::new(UserKey {
            auth: auth.clone(),
            key: Key::OpenRouter,
            given: setup.api_key.clone().filter(|_| wants(setup, openrouter::NAME)),
            environment: settings.openrouter_key.clone(),
            configured: provided.and_then(|provided| {
                let word = provided.key.clone()?;
                Some(LateKey::new(format!("the API key of {}", provided.name), word))
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
        let openai = match setup.openai_stands() {
            true => None,
            false => Some(Client::new(chatgpt::config(setup, &auth)?)?),
        };
        let antigravity = Client::new(antigravity::config(setup, &auth)?)?;
        Ok(Self { auth, key, routing, openrouter_url, openrouter, openai, antigravity })
    }

    pub fn auth(&self) -> &Auth {
        &self.auth
    }
    pub fn has_openrouter(&self) -> bool {
        self.key.is_there()
    }

    pub fn route(&self, to: Option<Arc<str>>) {
        self.routing.set(to.filter(|to| !to.trim().is_empty()));
    }

    /// Which servers OpenRouter can send this model's requests to.
    pub async fn routes(&self, model: &str) -> Result<Vec<Arc<str>>, Fault> {
        let key = self.key.get().await?.ok_or_else(|| self.key.missing())?;
        let id = self.openrouter_id(model.strip_prefix("openrouter/").unwrap_or(model));
        openrouter::routes(&self.openrouter_url, &key, &id, |name| std::env::var(name).ok()).await
    }

    /// What the key that was just set gives access to. A list that cannot be had is no reason to refuse the key.
    pub async fn try_key(&self, timeout: Duration) -> KeySet {
        match self.openrouter.refreshed(timeout).await {
            Ok((models, loaded)) => KeySet {
                models: models.len() as u64,
                source: match loaded {
                    Loaded::Fetched => ModelSource::Remote,
                    Loaded::Remembered => ModelSource::Cache,
                },
            },
            Err(_) => KeySet::UNTRIED,
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
pub(crate) fn config(setup: &ModelSettings, name: &'static str, url: &str, late: Late) -> Config {
    let mut config = Config::new(url);
    config.keyring = setup.keyring.clone();
    config.vendor_keys = setup.owned_keys.all().clone();
    config.provider = Some(name.into());
    config.late = Some(late);
    config.cache_file = setup.cache_file(&format!("account-{name}.json"));
    config.proxy = Proxy::from_env(url, |name| std::env::var(name).ok());
    setup.time_and_window(&mut config);
    config
}

/// The accounts as one catalogue sees them: a name that another of its sources has is that source's.
pub(crate) struct AccountSource {
    accounts: Arc<AccountModels>,
    /// OpenAI's models go by their bare ids, because no other server's do.
    bare: bool,
    openai: bool,
    antigravity: bool,
    openrouter: bool,
}

impl AccountSource {
    /// `server`: whose models go by bare ids already. `taken`: names of other providers.
    pub(crate) fn new(accounts: Arc<AccountModels>, server: Option<&str>, taken: impl Fn(&str) -> bool) -> Self {
        let free = |name: &str| server != Some(name) && !taken(name);
        Self {
            bare: server.is_none(),
            openai: free(OPENAI),
            antigravity: free(ANTIGRAVITY),
            openrouter: free(openrouter::NAME),
            accounts,
        }
    }

    /// Those whose credential is there now.
    pub(crate) fn active(&self) -> impl Iterator<Item = &Client> {
        let [openai, antigravity, openrouter] = self.clients();
        let present = self.accounts.auth.present();
        let signed_in = [openai.filter(|_| present.openai), antigravity.filter(|_| present.antigravity)];
        signed_in.into_iter().flatten().chain(openrouter.filter(|_| self.accounts.has_openrouter()))
    }

    /// Those whose names are free.
    fn clients(&self) -> [Option<&Client>; 3] {
        let accounts = &self.accounts;
        let openai = accounts.openai.as_ref().filter(|_| self.openai);
        let antigravity = Some(&accounts.antigravity).filter(|_| self.antigravity);
        [openai, antigravity, Some(&accounts.openrouter).filter(|_| self.openrouter)]
    }

    pub(crate) fn names(&self) -> Vec<Arc<str>> {
        self.active().map(|client| client.provider().clone()).collect()
    }

    fn find(&self, name: &str) -> Option<&Client> {
        self.active().find(|client| client.provider().eq_ignore_ascii_case(name))
    }

    /// Whether this provider's models go by their bare ids.
    pub(crate) fn is_bare(&self, provider: &str) -> bool {
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

    /// Makes one provider's models known, within a time; `None` when there is no such provider.
    pub(crate) async fn load(&self, name: &str, timeout: Duration) -> Option<Result<Vec<ModelInfo>, Fault>> {
        let client = self.find(name)?;
        Some(client.load_catalogue(timeout).await.map(|_| self.known_of(client)))
    }
}

impl Source for AccountSource {
    fn kind(&self) -> SourceKind {
        SourceKind::Account
    }

    fn resolve(&self, slug: &str) -> Option<Result<ModelInfo, Fault>> {
        let named = slug.split_once('/').and_then(|(name, rest)| Some((self.find(name)?, rest)));
        let (client, id) = match named {
            Some((client, rest)) if &**client.provider() == openrouter::NAME => {
                (client, self.accounts.openrouter_id(rest))
            }
            Some((client, rest)) => (client, rest.to_owned()),
            // Nobody else could have it.
            None if self.bare && self.openrouter && slug.starts_with("openrouter/") => {
                return Some(Err(self.accounts.key.missing()));
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
    fn chat(&self, model: &ModelInfo) -> Option<Result<Box<dyn Chat>, Fault>> {
        let ours = |client: &&Client| *client.provider() == model.provider && client.server() == &*model.base_url;
        let client = self.clients().into_iter().flatten().find(ours)?;
        let ready = match &**client.provider() {
            ANTIGRAVITY => antigravity::ready(&self.accounts.auth),
            _ => Ok(()),
        };
        Some(ready.and_then(|()| client.chat(model)))
    }

    fn known(&self) -> Vec<ModelInfo> {
        self.active().flat_map(|client| self.known_of(client)).collect()
    }

    /// Asks each; one that is down gives what is known of it.
    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        Box::pin(async {
            let ask = async |client: Option<&Client>| match client {
                Some(client) => client.models().await.unwrap_or_else(|_| client.known()),
                None => Vec::new(),
            };
            let mut active = self.active();
            let (first, second, third) = tokio::join!(ask(active.next()), ask(active.next()), ask(active.next()));
            Ok(first.into_iter().chain(second).chain(third).map(|model| self.shown(model)).collect())
        })
    }

    fn slug(&self, provider: &str, id: &str) -> Option<Arc<str>> {
        self.is_bare(provider).then(|| id.into())
    }

    fn report(&self) -> Vec<SourceReport> {
        let one = |client: &Client| SourceReport {
            kind: SourceKind::Account,
            name: client.provider().clone(),
            api: client.api().as_str().into(),
            base_url: client.server().into(),
            key: match &**client.provider() {
                OPENAI | ANTIGRAVITY => "signed in".to_owned(),
                _ => self.accounts.key.origin(),
            },
            has_key: true,
            models: client.known().len(),
            failed: false,
        };
        self.active().map(one).collect()
    }

    fn servers(&self) -> Vec<(Arc<str>, Result<Client, Fault>)> {
        self.active().map(|client| (client.provider().clone(), Ok(client.clone()))).collect()
    }
}
