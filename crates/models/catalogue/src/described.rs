//! Described providers as a source of models. A client is made for the first conversation with one of its models; nothing
//! here touches the network before.

use std::sync::{Arc, OnceLock};

use config::agent::{CustomProvider, Word};
use net::address::shown;
use net::{Late, Proxy};
use providers::{Api, Client, Compat, Config, Secret};
use vocab::{Chat, Fault, FaultKind, Keyring, ModelInfo};

use crate::keys::{KeysAndHeaders, LateKey, Withheld};
use crate::owned_keys::OwnedKeys;
use crate::pairing;
use crate::source::{Source, SourceKind};
use crate::sources_report::SourceReport;
use crate::vendors::{completed, proof};
use crate::{names, pick};

#[derive(Default)]
pub(crate) struct DescribedModels {
    keys: Vec<(Arc<str>, Option<Arc<LateKey>>)>,
    infos: Vec<ModelInfo>,
    /// As many as there are infos.
    routes: Vec<ModelRoute>,
    /// The server beside them, whose own names come before the short forms of these.
    pub(crate) server: Option<Client>,
    /// Providers that are configured, whose names come before them as well.
    others: Vec<Arc<str>>,
}

/// How a model is reached.
struct ModelRoute {
    compat: Compat,
    client: Arc<DescribedServer>,
}

/// One address with one set of headers.
struct DescribedServer {
    provider: Arc<str>,
    api: Api,
    base_url: Arc<str>,
    headers: Vec<(String, Word)>,
    credentials: Arc<KeysAndHeaders>,
    is_paired: bool,
    idle_timeout_ms: Option<u64>,
    keyring: Keyring,
    vendor_keys: Keyring,
    made: OnceLock<Result<Client, Fault>>,
}

impl DescribedModels {
    /// `key` takes the place of what the files say for one provider.
    pub(crate) fn new(
        providers: &[CustomProvider],
        key: Option<(&str, &Secret)>,
        idle_timeout_ms: Option<u64>,
        keyring: &Keyring,
        (owned_keys, note): (&OwnedKeys, fn(&str)),
    ) -> DescribedModels {
        let mut described = DescribedModels::default();
        for provider in providers {
            let name = &provider.name;
            let given = key.filter(|(whose, _)| *whose == &**name).map(|(_, key)| Word::Plain(key.clone()));
            // The key of this run stands beside no address.
            let is_given = given.is_some();
            let word = given.or_else(|| provider.key.clone());
            let key = word.map(|word| LateKey::new(format!("the API key of {name}"), word));
            let mut clients: Vec<Arc<DescribedServer>> = Vec::new();
            for model in &provider.models {
                let same = |client: &&Arc<DescribedServer>| {
                    client.base_url == model.info.base_url && client.api == model.api && client.headers == model.headers
                };
                let client = clients.iter().find(same).cloned().unwrap_or_else(|| {
                    let held = |(header, word): &(String, Word)| {
                        (header.clone(), LateKey::new(format!("the header {header} of {name}"), word.clone()))
                    };
                    let headers = model.headers.iter().map(held).collect();
                    let kept = pairing::kept_from_described(provider.key.as_ref(), &model.headers, owned_keys);
                    let withheld = Withheld::of(name, &model.info.base_url, kept, note);
                    let client = Arc::new(DescribedServer {
                        provider: name.clone(),
                        api: model.api,
                        base_url: model.info.base_url.clone(),
                        headers: model.headers.clone(),
                        credentials: Arc::new(KeysAndHeaders { key: key.clone(), headers, withheld }),
                        is_paired: !is_given && pairing::described(provider.key.as_ref(), &model.headers, owned_keys),
                        idle_timeout_ms,
                        keyring: keyring.clone(),
                        vendor_keys: owned_keys.all().clone(),
                        made: OnceLock::new(),
                    });
                    clients.push(client.clone());
                    client
                });
                // The client alone has to know what stands behind a `?`.
                let base_url = keyring.scrub(shown(&model.info.base_url));
                let base_url = owned_keys.all().scrub(&base_url).into();
                described.infos.push(ModelInfo { base_url, ..model.info.clone() });
                described.routes.push(ModelRoute { compat: model.compat.clone(), client });
            }
            described.keys.push((name.clone(), key));
        }
        described
    }

    /// Providers of these names are configured.
    pub(crate) fn leave(&mut self, others: Vec<Arc<str>>) {
        self.others = others;
    }

    fn has_provider(&self, name: &str) -> bool {
        self.keys.iter().any(|(provider, _)| **provider == *name)
    }
}

impl Source for DescribedModels {
    fn kind(&self) -> SourceKind {
        SourceKind::Described
    }

    fn resolve(&self, slug: &str) -> Option<Result<ModelInfo, Fault>> {
        if let Some(model) = self.infos.iter().find(|model| &*model.slug == slug) {
            return Some(Ok(model.clone()));
        }
        let mut short = self.infos.iter().filter(|model| &*model.id == slug).peekable();
        short.peek()?;
        // Whose name stands before it is meant, whatever a described server calls its models.
        if self.others.iter().any(|other| names::is_of(slug, other)) {
            return None;
        }
        // The server's own list wins over the short form of a described model.
        if self.server.as_ref().is_some_and(|server| server.known().iter().any(|model| &*model.slug == slug)) {
            return None;
        }
        match (short.next(), short.next()) {
            (None, _) => None,
            (Some(model), None) => Some(Ok(model.clone())),
            (Some(first), Some(second)) => {
                let names = pick::names([first, second].into_iter().chain(short));
                let message = format!("`{slug}` could be any of: {names}");
                Some(Err(Fault::new(FaultKind::UnknownModel, message)))
            }
        }
    }

    /// A described provider has the models that are described, and no others.
    fn owns(&self, slug: &str) -> bool {
        slug.split_once('/').is_some_and(|(provider, _)| self.has_provider(provider))
    }

    fn chat(&self, model: &ModelInfo) -> Option<Result<Box<dyn Chat>, Fault>> {
        let at = self.infos.iter().position(|info| info.slug == model.slug)?;
        let ModelRoute { compat, client } = &self.routes[at];
        Some(client.get().map(|client| client.chat_with(&self.infos[at], compat.clone())))
    }

    fn known(&self) -> Vec<ModelInfo> {
        self.infos.clone()
    }

    fn slug(&self, provider: &str, id: &str) -> Option<Arc<str>> {
        self.has_provider(provider).then(|| format!("{provider}/{id}").into())
    }

    fn report(&self) -> Vec<SourceReport> {
        let one = |(name, key): &(Arc<str>, Option<Arc<LateKey>>)| {
            let models = || self.infos.iter().filter(|model| model.provider == *name);
            let first = models().next()?;
            Some(SourceReport {
                kind: SourceKind::Described,
                name: name.clone(),
                api: first.api.clone(),
                base_url: first.base_url.clone(),
                key: if key.is_some() { "its key is described" } else { "described, without a key" }.to_owned(),
                has_key: key.is_some(),
                models: models().count(),
                failed: key.as_ref().is_some_and(|key| key.failed()),
            })
        };
        self.keys.iter().filter_map(one).collect()
    }

    /// Each address of each provider once.
    fn servers(&self) -> Vec<(Arc<str>, Result<Client, Fault>)> {
        let mut seen: Vec<&Arc<DescribedServer>> = Vec::new();
        for route in &self.routes {
            if !seen.iter().any(|client| Arc::ptr_eq(client, &route.client)) {
                seen.push(&route.client);
            }
        }
        seen.into_iter().map(|client| (client.provider.clone(), client.get().cloned())).collect()
    }
}

impl DescribedServer {
    fn get(&self) -> Result<&Client, Fault> {
        self.made.get_or_init(|| self.make()).as_ref().map_err(Fault::clone)
    }

    fn make(&self) -> Result<Client, Fault> {
        let mut config = Config::new(completed(self.api, &self.base_url, ""));
        config.api = self.api;
        config.keyring = self.keyring.clone();
        config.vendor_keys = self.vendor_keys.clone();
        config.provider = Some(self.provider.clone());
        config.is_paired = self.is_paired;
        config.proxy = Proxy::from_env(&self.base_url, |name| std::env::var(name).ok());
        if let Some(ms) = self.idle_timeout_ms {
            config.idle_timeout_ms = ms;
        }
        match self.credentials.known() {
            Some(known) => {
                config.api_key = known.key;
                config.headers = known.headers;
            }
            None => config.late = Some(Late(self.credentials.clone())),
        }
        Client::new(config).map_err(|fault| Fault { message: format!("{}: {}", self.provider, fault.message), ..fault })
    }
}

/// Every secret that is known at start, so that the commands of a model do not get it by route of the environment.
pub(crate) fn secrets(providers: &[CustomProvider]) -> Vec<Secret> {
    let keys = providers.iter().filter_map(|provider| provider.key.as_ref()?.plain().cloned());
    let headers = providers.iter().flat_map(|provider| &provider.models).flat_map(|model| &model.headers);
    keys.chain(headers.filter_map(proof)).collect()
}
