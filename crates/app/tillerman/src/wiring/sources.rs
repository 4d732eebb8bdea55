//! Providers of [`super::vendors`] as sources of models: a client each, which touches nothing before it is asked. All models
//! of a source go by `NAME/ID`; it may have more than it lists, so any id behind its name is taken.

use std::sync::Arc;

use net::{Late, Proxy};
use providers::{Api, Client, Config, models, openrouter};
use vocab::{Chat, Fault, ModelInfo, Provider};

use super::Setup;
use super::accounts::checked;
use super::keys::{Held, Purse};
use super::vendors::{Origin, Provided, VENDORS, Vendor};
use crate::config::ModelEntry;
use crate::config::agent::Word;

/// One of them.
pub(crate) struct Source {
    client: Client,
    key: Option<Arc<Held>>,
    pub(super) api: Api,
    pub(super) origin: Origin,
    default: Option<Arc<str>>,
}

/// All that are configured, in the order in which one becomes the default.
#[derive(Default)]
pub(crate) struct Sources {
    all: Vec<Source>,
    /// Why others are not among them, one line each.
    pub(super) notes: Vec<String>,
}

impl Sources {
    /// What cannot be asked is left out and pointed out; it must not keep the others from working.
    pub(super) fn new(setup: &Setup) -> Self {
        let mut sources = Sources::default();
        let missing =
            |vendor: &&Vendor| wants(setup, vendor.name) && setup.providers.iter().all(|it| *it.name != *vendor.name);
        // The key of this run is for whom it was asked for.
        let flagged = VENDORS.iter().find(missing).filter(|_| setup.api_key.is_some());
        let flagged = flagged.and_then(|vendor| Provided::flagged(vendor.name));
        for provided in setup.providers.iter().chain(&flagged).filter(|provided| *provided.name != *openrouter::NAME) {
            match Source::new(setup, provided.clone()) {
                Ok(source) => sources.all.push(source),
                Err(fault) => sources.notes.push(format!("{} is left out: {}", provided.name, fault.message)),
            }
        }
        sources
    }

    /// One more, with the key of this run. Nothing happens where there is one already.
    pub(super) fn add(&mut self, setup: &Setup, provided: Option<Provided>) -> Result<(), Fault> {
        let Some(mut provided) = provided.filter(|provided| self.find(&provided.name).is_none()) else {
            return Ok(());
        };
        provided.key = setup.api_key.clone().map(Word::Plain);
        self.all.push(Source::new(setup, provided)?);
        Ok(())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Source> {
        self.all.iter()
    }
    pub(super) fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.all.iter().map(Source::name)
    }
    pub(super) fn find(&self, name: &str) -> Option<&Source> {
        self.all.iter().find(|source| source.name().eq_ignore_ascii_case(name))
    }

    /// What is known without asking anybody.
    pub(super) fn known(&self) -> Vec<ModelInfo> {
        self.all.iter().flat_map(Source::known).collect()
    }

    /// Asks all at once; one that does not say gives what is known of it.
    pub(super) async fn models(&self) -> Vec<ModelInfo> {
        let ask = |source: &Source| {
            let client = source.client.clone();
            tokio::spawn(async move { client.models().await.unwrap_or_else(|_| client.known()) })
        };
        let asked: Vec<_> = self.all.iter().map(ask).collect();
        let mut models = Vec::new();
        for (source, asked) in self.all.iter().zip(asked) {
            let listed = asked.await.unwrap_or_else(|_| source.client.known());
            models.extend(listed.into_iter().map(shown));
        }
        models
    }

    /// `None`: it is none of theirs.
    pub(super) fn resolve(&self, slug: &str) -> Option<Result<ModelInfo, Fault>> {
        let (name, id) = slug.split_once('/')?;
        self.find(name).map(|source| source.resolve(id))
    }

    /// Whose it is by its bare id, where only one of them is known to have it.
    pub(super) fn owner(&self, id: &str) -> Option<&Source> {
        let mut owners = self.all.iter().filter(|source| source.client.has(id) == Some(true));
        owners.next().filter(|_| owners.next().is_none())
    }

    pub(super) fn chat(&self, model: &ModelInfo) -> Option<Result<Box<dyn Chat>, Fault>> {
        let source = self.all.iter().find(|source| *source.name() == model.provider)?;
        (source.client.server() == &*model.base_url).then(|| source.client.chat(model))
    }
}

impl Source {
    fn new(setup: &Setup, provided: Provided) -> Result<Self, Fault> {
        let name = provided.name.clone();
        let given = setup.api_key.clone().filter(|_| wants(setup, &name));
        let origin = if given.is_some() { Origin::Flag } else { provided.origin.clone() };
        let word = given.map(Word::Plain).or_else(|| provided.key.clone());
        let key = word.map(|word| Held::new(format!("the API key of {name}"), word));
        let default = provided.default_model().map(Arc::from);
        let api = provided.api;
        let client = Client::new(config(setup, provided, key.clone())?)?;
        Ok(Self { client, key, api, origin, default })
    }

    pub(super) fn name(&self) -> &Arc<str> {
        self.client.provider()
    }
    pub(super) fn server(&self) -> &str {
        self.client.server()
    }
    pub(super) fn client(&self) -> &Client {
        &self.client
    }
    /// The last try to get its key went wrong.
    pub(super) fn failed(&self) -> bool {
        self.key.as_ref().is_some_and(|key| key.failed())
    }

    pub(super) fn known(&self) -> Vec<ModelInfo> {
        self.client.known().into_iter().map(shown).collect()
    }

    pub(super) fn resolve(&self, id: &str) -> Result<ModelInfo, Fault> {
        self.client.resolve(id).map(shown)
    }

    /// What it is asked for when nobody names a model; without asking it.
    pub(super) fn default_model(&self) -> Option<ModelInfo> {
        let first = || self.client.known().first().map(|model| model.id.clone());
        let id = self.default.clone().or_else(first)?;
        self.resolve(&id).ok()
    }
}

/// Whether what was asked for on the command line is this provider's: then the key given there is for it.
pub(super) fn wants(setup: &Setup, name: &str) -> bool {
    let wanted = &setup.wanted;
    if let Some(provider) = &wanted.provider {
        return provider.trim().eq_ignore_ascii_case(name);
    }
    let model = wanted.model.as_deref().map(str::trim).unwrap_or_default();
    match model.split_once('/') {
        Some((prefix, _)) => prefix.eq_ignore_ascii_case(name),
        None => models::find(name, model).is_some(),
    }
}

fn shown(mut model: ModelInfo) -> ModelInfo {
    model.slug = format!("{}/{}", model.provider, model.id).into();
    model
}

fn config(setup: &Setup, provided: Provided, key: Option<Arc<Held>>) -> Result<Config, Fault> {
    let Provided { name, api, base_url, key_header, key_name, headers, compat, models: entries, ca_file, .. } =
        provided;
    let bare = key.is_none() && headers.is_empty();
    // A key never goes in the clear to another machine; who has none has nothing to lose.
    let mut config = Config::new(if bare { base_url } else { checked(&name, &base_url)? });
    let held = |(header, word): (String, Word)| {
        let held = Held::new(format!("the header {header} of {name}"), word);
        (header, held)
    };
    let purse = Arc::new(Purse { key, headers: headers.into_iter().map(held).collect() });
    match purse.known() {
        Some(known) => (config.api_key, config.headers) = (known.key, known.headers),
        None => config.late = Some(Late(purse)),
    }
    config.models = described(setup, &name, &entries);
    config.api = api;
    config.keyring = setup.keyring.clone();
    config.key_header = key_header;
    config.key_name = key_name;
    config.compat = compat;
    config.ca_file = ca_file;
    config.cache_file =
        (!setup.settings.ephemeral).then(|| setup.data.join("cache").join(format!("provider-{name}.json")));
    config.proxy = Proxy::from_env(&config.base_url, |name| std::env::var(name).ok());
    config.provider = Some(name);
    if let Some(window) = setup.default_context_window {
        config.default_context_window = window;
    }
    if let Some(ms) = setup.idle_timeout_ms {
        config.idle_timeout_ms = ms;
    }
    Ok(config)
}

/// Models of a provider that the configuration describes: those of its own table, then those of `models` with its name
/// before theirs. The rest is the client's to know.
pub(super) fn described(setup: &Setup, name: &str, entries: &[ModelEntry]) -> Vec<ModelInfo> {
    let prefix = format!("{name}/");
    let elsewhere = setup.known_models.iter().filter_map(|model| {
        let id: Arc<str> = model.slug.strip_prefix(&*prefix)?.into();
        let shown = if model.name == model.slug { id.clone() } else { model.name.clone() };
        Some(ModelInfo { slug: id.clone(), id, name: shown, ..model.clone() })
    });
    entries.iter().map(|entry| info(name, entry)).chain(elsewhere).collect()
}

/// What the user says of a model; a window of 0 is for others to tell.
fn info(provider: &str, entry: &ModelEntry) -> ModelInfo {
    let facts = models::find(provider, &entry.slug);
    let levels = |levels: &Vec<String>| levels.iter().map(|level| Arc::from(level.as_str())).collect();
    ModelInfo {
        name: entry.name.as_deref().unwrap_or(&entry.slug).into(),
        max_output: entry.max_output,
        prices: entry.prices,
        images: entry.images.unwrap_or(facts.is_none_or(|facts| facts.images)),
        thinking: entry.thinking.unwrap_or(facts.is_none_or(|facts| !facts.levels.is_empty())),
        levels: entry.levels.as_ref().map(levels),
        ..ModelInfo::named(entry.slug.as_str(), entry.context_window.unwrap_or(0))
    }
}
