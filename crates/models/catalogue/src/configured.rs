//! Providers of [`crate::vendors`] as sources of models: a client each, which touches nothing before it is asked. All models
//! of a source go by `NAME/ID`; it may have more than it lists, so any id behind its name is taken.

use std::sync::Arc;

use config::ConfiguredModel;
use config::agent::Word;
use net::{Late, Proxy};
use providers::{Api, Client, Config, models, openrouter};
use vocab::{Chat, Fault, Later, ModelInfo, Provider};

use crate::keys::{KeysAndHeaders, LateKey, Withheld};
use crate::left_out::{self, LeftOut};
use crate::names;
use crate::pairing;
use crate::settings::ModelSettings;
use crate::source::{Source, SourceKind};
use crate::sources_report::SourceReport;
use crate::vendors::{KEYED_VENDORS, KeyOrigin, KeyedVendor, Provided};

/// One of them.
pub(crate) struct ConfiguredSource {
    client: Client,
    key: Option<Arc<LateKey>>,
    api: Api,
    pub(crate) origin: KeyOrigin,
    default: Option<Arc<str>>,
}

/// All that are configured, in the order in which one becomes the default.
#[derive(Default)]
pub(crate) struct ConfiguredModels {
    all: Vec<ConfiguredSource>,
    /// Others that are not among them.
    left_out: Vec<LeftOut>,
    /// Why some are not, one line each.
    pub(crate) notes: Vec<String>,
    /// Bare ids are a server's own.
    pub(crate) beside_server: bool,
}

impl ConfiguredModels {
    /// What cannot be asked is left out and pointed out; it must not keep the others from working.
    pub(crate) fn new(setup: &ModelSettings) -> Self {
        let mut sources = ConfiguredModels { left_out: left_out::of(setup), ..ConfiguredModels::default() };
        let missing = |vendor: &&KeyedVendor| {
            wants(setup, vendor.name) && setup.providers.iter().all(|it| *it.name != *vendor.name)
        };
        // The key of this run is for whom it was asked for.
        let flagged = KEYED_VENDORS.iter().find(missing).filter(|_| setup.api_key.is_some());
        let flagged = flagged.and_then(|vendor| Provided::flagged(vendor.name));
        for provided in setup.providers.iter().chain(&flagged).filter(|provided| *provided.name != *openrouter::NAME) {
            match ConfiguredSource::new(setup, provided.clone()) {
                Ok(source) => sources.all.push(source),
                Err(fault) => {
                    sources.notes.push(format!("{} is left out: {}", provided.name, fault.message));
                    sources.left_out.push(LeftOut::refused(&provided.name, fault));
                }
            }
        }
        sources
    }

    /// One more, with the key of this run. Nothing happens where there is one already.
    pub(crate) fn add(&mut self, setup: &ModelSettings, provided: Option<Provided>) -> Result<(), Fault> {
        let Some(mut provided) = provided.filter(|provided| self.find(&provided.name).is_none()) else {
            return Ok(());
        };
        provided.key = setup.api_key.clone().map(Word::Plain);
        self.all.push(ConfiguredSource::new(setup, provided)?);
        Ok(())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &ConfiguredSource> {
        self.all.iter()
    }
    pub(crate) fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.all.iter().map(ConfiguredSource::name)
    }
    pub(crate) fn find(&self, name: &str) -> Option<&ConfiguredSource> {
        self.all.iter().find(|source| source.name().eq_ignore_ascii_case(name))
    }

    /// A model by the name of its provider and its own; `None`: the provider is none of these.
    pub(crate) fn named(&self, slug: &str) -> Option<Result<ModelInfo, Fault>> {
        let (name, id) = slug.split_once('/')?;
        self.find(name).map(|source| source.resolve(id))
    }

    /// The provider of this name, where it is configured and cannot be asked. Of two that differ in case alone the one is
    /// meant that is spelt like this.
    pub(crate) fn left_out(&self, name: &str) -> Option<&LeftOut> {
        let spelt = self.left_out.iter().find(|left| *left.name == *name);
        let left = spelt.or_else(|| self.left_out.iter().find(|left| left.name.eq_ignore_ascii_case(name)))?;
        match self.all.iter().find(|source| source.name().eq_ignore_ascii_case(name)) {
            Some(source) => spelt.filter(|_| **source.name() != *name),
            None => Some(left),
        }
    }

    /// The same by the name of a model.
    pub(crate) fn left_out_of(&self, slug: &str) -> Option<&LeftOut> {
        let of = |left: &&LeftOut| names::is_of(slug, &left.name);
        // A name may have a slash in it.
        slug.split_once('/').and_then(|(name, _)| self.left_out(name)).or_else(|| {
            let left = self.left_out.iter().find(of)?;
            self.find(&left.name).is_none().then_some(left)
        })
    }

    /// The names of all that are configured, whether they can be asked or not.
    pub(crate) fn claimed(&self) -> Vec<Arc<str>> {
        self.names().chain(self.left_out.iter().map(|left| &left.name)).cloned().collect()
    }

    pub(crate) fn known(&self) -> Vec<ModelInfo> {
        self.all.iter().flat_map(ConfiguredSource::known).collect()
    }

    /// Whose it is by its bare id, where only one of them is known to have it.
    fn owner(&self, id: &str) -> Option<&ConfiguredSource> {
        let mut owners = self.all.iter().filter(|source| source.client.has(id) == Some(true));
        owners.next().filter(|_| owners.next().is_none())
    }
}

impl Source for ConfiguredModels {
    fn kind(&self) -> SourceKind {
        SourceKind::Configured
    }

    fn resolve(&self, slug: &str) -> Option<Result<ModelInfo, Fault>> {
        // The server's own list wins over the short form of another's model.
        let by_id = || self.owner(slug).filter(|_| !self.beside_server).map(|source| source.resolve(slug));
        // Those behind us take any name, so who cannot be asked is said here.
        let left_out = || self.left_out_of(slug).map(|left| Err(left.fault(slug)));
        left_out().or_else(|| self.named(slug)).or_else(by_id)
    }

    fn chat(&self, model: &ModelInfo) -> Option<Result<Box<dyn Chat>, Fault>> {
        let source = self.all.iter().find(|source| *source.name() == model.provider)?;
        (source.client.server() == &*model.base_url).then(|| source.client.chat(model))
    }

    fn known(&self) -> Vec<ModelInfo> {
        ConfiguredModels::known(self)
    }

    /// Asks all at once; one that does not say gives what is known of it.
    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        let ask = |source: &ConfiguredSource| {
            let client = source.client.clone();
            tokio::spawn(async move { client.models().await.unwrap_or_else(|_| client.known()) })
        };
        Box::pin(async move {
            let asked: Vec<_> = self.all.iter().map(ask).collect();
            let mut models = Vec::new();
            for (source, asked) in self.all.iter().zip(asked) {
                let listed = asked.await.unwrap_or_else(|_| source.client.known());
                models.extend(listed.into_iter().map(shown));
            }
            Ok(models)
        })
    }

    fn report(&self) -> Vec<SourceReport> {
        let one = |source: &ConfiguredSource| SourceReport {
            kind: SourceKind::Configured,
            name: source.name().clone(),
            api: source.api.as_str().into(),
            base_url: source.client.server().into(),
            key: source.origin.to_string(),
            has_key: source.key.is_some(),
            models: source.known().len(),
            failed: source.key.as_ref().is_some_and(|key| key.failed()),
        };
        self.all.iter().map(one).collect()
    }

    fn servers(&self) -> Vec<(Arc<str>, Result<Client, Fault>)> {
        self.all.iter().map(|source| (source.name().clone(), Ok(source.client.clone()))).collect()
    }
}

/// OpenAI as the last that is asked for a bare name: it lists more than it describes.
pub(crate) struct AnyOfOpenAi(Client);

impl AnyOfOpenAi {
    pub(crate) fn of(openai: &ConfiguredSource) -> Self {
        Self(openai.client.clone())
    }
}

impl Source for AnyOfOpenAi {
    fn kind(&self) -> SourceKind {
        SourceKind::Configured
    }

    fn resolve(&self, slug: &str) -> Option<Result<ModelInfo, Fault>> {
        (!slug.contains('/')).then(|| self.0.resolve(slug).map(shown))
    }

    /// What it resolves is a configured source's, which is asked before.
    fn chat(&self, _: &ModelInfo) -> Option<Result<Box<dyn Chat>, Fault>> {
        None
    }
}

impl ConfiguredSource {
    fn new(setup: &ModelSettings, provided: Provided) -> Result<Self, Fault> {
        let name = provided.name.clone();
        let given = setup.api_key.clone().filter(|_| wants(setup, &name));
        let origin = if given.is_some() { KeyOrigin::Flag } else { provided.origin.clone() };
        // The key of this run stands beside no address.
        let is_paired = given.is_none() && pairing::configured(&provided, &setup.owned_keys);
        let word = given.map(Word::Plain).or_else(|| provided.key.clone());
        let key = word.map(|word| LateKey::new(format!("the API key of {name}"), word));
        let default = provided.default_model().map(Arc::from);
        let api = provided.api;
        let client = Client::new(Config { is_paired, ..config(setup, provided, key.clone()) })?;
        Ok(Self { client, key, api, origin, default })
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        self.client.provider()
    }

    pub(crate) fn known(&self) -> Vec<ModelInfo> {
        self.client.known().into_iter().map(shown).collect()
    }

    pub(crate) fn resolve(&self, id: &str) -> Result<ModelInfo, Fault> {
        self.client.resolve(id).map(shown)
    }

    /// What it is asked for when nobody names a model; without asking it.
    pub(crate) fn default_model(&self) -> Option<ModelInfo> {
        let first = || self.client.known().first().map(|model| model.id.clone());
        let id = self.default.clone().or_else(first)?;
        self.resolve(&id).ok()
    }
}

/// Whether what was asked for on the command line is this provider's: then the key given there is for it.
pub(crate) fn wants(setup: &ModelSettings, name: &str) -> bool {
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

fn config(setup: &ModelSettings, provided: Provided, key: Option<Arc<LateKey>>) -> Config {
    let kept = pairing::kept_from_configured(&provided, &setup.owned_keys);
    let Provided { name, api, base_url, key_header, key_name, headers, compat, models: entries, ca_file, .. } =
        provided;
    let mut config = Config::new(base_url);
    let held = |(header, word): (String, Word)| {
        let held = LateKey::new(format!("the header {header} of {name}"), word);
        (header, held)
    };
    let headers = headers.into_iter().map(held).collect();
    let withheld = Withheld::of(&name, &config.base_url, kept, setup.note);
    let purse = Arc::new(KeysAndHeaders { key, headers, withheld });
    match purse.known() {
        Some(known) => (config.api_key, config.headers) = (known.key, known.headers),
        None => config.late = Some(Late(purse)),
    }
    config.models = described(setup, &name, &entries);
    config.api = api;
    config.keyring = setup.keyring.clone();
    config.vendor_keys = setup.owned_keys.all().clone();
    config.key_header = key_header;
    config.key_name = key_name;
    config.compat = compat;
    config.ca_file = ca_file;
    config.cache_file = setup.cache_file(&format!("provider-{name}.json"));
    config.proxy = Proxy::from_env(&config.base_url, |name| std::env::var(name).ok());
    config.provider = Some(name);
    setup.time_and_window(&mut config);
    config
}

/// Models of a provider that the configuration describes: those of its own table, then those of `models` with its name
/// before theirs. The rest is the client's to know.
pub(crate) fn described(setup: &ModelSettings, name: &str, entries: &[ConfiguredModel]) -> Vec<ModelInfo> {
    let prefix = format!("{name}/");
    let elsewhere = setup.known_models.iter().filter_map(|model| {
        let id: Arc<str> = model.slug.strip_prefix(&*prefix)?.into();
        let shown = if model.name == model.slug { id.clone() } else { model.name.clone() };
        Some(ModelInfo { slug: id.clone(), id, name: shown, ..model.clone() })
    });
    entries.iter().map(|entry| info(name, entry)).chain(elsewhere).collect()
}

/// What the user says of a model; a window of 0 is for others to tell.
fn info(provider: &str, entry: &ConfiguredModel) -> ModelInfo {
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
