//! Described providers as a source of models. A client is made for the first conversation with one of its models; nothing
//! here touches the network before.

use std::sync::{Arc, OnceLock};

use net::Late;
use providers::{Api, Compat, Config, Secret};
use vocab::{Chat, Fault, Keyring, ModelInfo};

use super::keys::{Held, Purse};
use super::vendors::{completed, proof};
use crate::config::agent::{CustomProvider, Word};

#[derive(Default)]
pub(super) struct Custom {
    keys: Vec<(Arc<str>, Option<Arc<Held>>)>,
    infos: Vec<ModelInfo>,
    /// As many as there are infos.
    ways: Vec<Way>,
}

/// How a model is reached.
struct Way {
    compat: Compat,
    client: Arc<Address>,
}

/// One address with one set of headers.
struct Address {
    provider: Arc<str>,
    api: Api,
    base_url: Arc<str>,
    headers: Vec<(String, Word)>,
    purse: Arc<Purse>,
    idle_timeout_ms: Option<u64>,
    keyring: Keyring,
    made: OnceLock<Result<providers::Client, Fault>>,
}

impl Custom {
    /// `key` takes the place of what the files say for one provider.
    pub(super) fn new(
        providers: &[CustomProvider],
        key: Option<(&str, &Secret)>,
        idle_timeout_ms: Option<u64>,
        keyring: &Keyring,
    ) -> Custom {
        let mut custom = Custom::default();
        for provider in providers {
            let name = &provider.name;
            let given = key.filter(|(whose, _)| *whose == &**name).map(|(_, key)| Word::Plain(key.clone()));
            let word = given.or_else(|| provider.key.clone());
            let key = word.map(|word| Held::new(format!("the API key of {name}"), word));
            let mut clients: Vec<Arc<Address>> = Vec::new();
            for model in &provider.models {
                let same = |client: &&Arc<Address>| {
                    client.base_url == model.info.base_url && client.api == model.api && client.headers == model.headers
                };
                let client = clients.iter().find(same).cloned().unwrap_or_else(|| {
                    let held = |(header, word): &(String, Word)| {
                        (header.clone(), Held::new(format!("the header {header} of {name}"), word.clone()))
                    };
                    let headers = model.headers.iter().map(held).collect();
                    let client = Arc::new(Address {
                        provider: name.clone(),
                        api: model.api,
                        base_url: model.info.base_url.clone(),
                        headers: model.headers.clone(),
                        purse: Arc::new(Purse { key: key.clone(), headers }),
                        idle_timeout_ms,
                        keyring: keyring.clone(),
                        made: OnceLock::new(),
                    });
                    clients.push(client.clone());
                    client
                });
                custom.infos.push(model.info.clone());
                custom.ways.push(Way { compat: model.compat.clone(), client });
            }
            custom.keys.push((name.clone(), key));
        }
        custom
    }

    /// Names of the providers, and whether the last try to get its key went wrong.
    pub(super) fn providers(&self) -> impl Iterator<Item = (&Arc<str>, bool)> {
        self.keys.iter().map(|(name, key)| (name, key.as_ref().is_some_and(|key| key.failed())))
    }

    /// Each address of each provider once, or why it cannot be one.
    pub(super) fn clients(&self) -> Vec<(Arc<str>, Result<providers::Client, Fault>)> {
        let mut seen: Vec<&Arc<Address>> = Vec::new();
        for way in &self.ways {
            if !seen.iter().any(|client| Arc::ptr_eq(client, &way.client)) {
                seen.push(&way.client);
            }
        }
        seen.into_iter().map(|client| (client.provider.clone(), client.get().cloned())).collect()
    }

    pub(super) fn has_key(&self, name: &str) -> bool {
        self.keys.iter().any(|(provider, key)| **provider == *name && key.is_some())
    }

    pub(super) fn models(&self) -> &[ModelInfo] {
        &self.infos
    }

    pub(super) fn chat(&self, slug: &str) -> Option<Result<Box<dyn Chat>, Fault>> {
        let at = self.infos.iter().position(|info| &*info.slug == slug)?;
        let Way { compat, client } = &self.ways[at];
        Some(client.get().map(|client| client.chat_with(&self.infos[at], compat.clone())))
    }
}

impl Address {
    fn get(&self) -> Result<&providers::Client, Fault> {
        self.made.get_or_init(|| self.make()).as_ref().map_err(Fault::clone)
    }

    fn make(&self) -> Result<providers::Client, Fault> {
        let mut config = Config::new(completed(self.api, &self.base_url, ""));
        config.api = self.api;
        config.keyring = self.keyring.clone();
        config.provider = Some(self.provider.clone());
        config.proxy = net::Proxy::from_env(&self.base_url, |name| std::env::var(name).ok());
        if let Some(ms) = self.idle_timeout_ms {
            config.idle_timeout_ms = ms;
        }
        match self.purse.known() {
            Some(known) => {
                config.api_key = known.key;
                config.headers = known.headers;
            }
            None => config.late = Some(Late(self.purse.clone())),
        }
        providers::Client::new(config)
            .map_err(|fault| Fault { message: format!("{}: {}", self.provider, fault.message), ..fault })
    }
}

/// Every secret that is known at start, so that the commands of a model do not get it by way of the environment.
pub(super) fn secrets(providers: &[CustomProvider]) -> Vec<Secret> {
    let keys = providers.iter().filter_map(|provider| provider.key.as_ref()?.plain().cloned());
    let headers = providers.iter().flat_map(|provider| &provider.models).flat_map(|model| &model.headers);
    keys.chain(headers.filter_map(proof)).collect()
}
