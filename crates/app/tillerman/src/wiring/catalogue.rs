//! All models under one roof: described providers, configured ones and vendors, the server of the environment or of this
//! machine, those of the user's accounts, the built-in tour, and scripts.

use std::path::Path;
use std::sync::Arc;

use pi_format::messages::{Face, Faces};
use providers::Client;
use tour::{Script, Tour};
use vocab::{Chat, Fault, FaultKind, Later, ModelInfo, Provider};

use super::auto::Auto;
use super::custom::Custom;
use super::linked::{Linked, Links};
use super::names::{AUTO, Around, Names};
use super::pick;
use super::sources::Sources;

const SCRIPT_PREFIX: &str = "script:";
pub(super) const TOUR: &str = "tour";

/// Its ids have slashes themselves, and its own models begin with its own name.
const NESTED: &str = "openrouter";

/// Names that need no server.
pub(super) fn is_built_in(slug: &str) -> bool {
    slug.starts_with(SCRIPT_PREFIX) || matches!(slug, TOUR | "tour-mini")
}

/// Whether a name, however it is spelled, is that of a file which is played as a model: its commands are then run.
pub(super) fn is_script(slug: &str) -> bool {
    Catalogue::built_in(slug).is_some_and(|name| name.starts_with(SCRIPT_PREFIX))
}

pub(crate) struct Catalogue {
    custom: Custom,
    remote: Option<Client>,
    sources: Sources,
    links: Links,
    names: Names,
    auto: Option<Auto>,
    /// Models to ask instead of the one that was chosen by the name of several.
    chain: Option<Chain>,
    tour: Tour,
    /// Whether the tour stands in the list beside real models.
    lists_tour: bool,
}

/// A model, and the slugs of those to ask instead.
struct Chain {
    model: Arc<str>,
    others: Arc<[Arc<str>]>,
}

/// What a catalogue is made of.
pub(super) struct Parts {
    pub(super) custom: Custom,
    pub(super) remote: Option<Client>,
    pub(super) sources: Sources,
    pub(super) linked: Arc<Linked>,
    pub(super) names: Names,
    pub(super) lists_tour: bool,
}

impl Catalogue {
    pub(super) fn new(parts: Parts) -> Self {
        let Parts { custom, remote, sources, linked, names, lists_tour } = parts;
        let server = remote.as_ref().map(|remote| &**remote.provider());
        let taken = |name: &str| custom.providers().any(|(taken, _)| **taken == *name) || sources.find(name).is_some();
        let links = Links::new(linked, server, taken);
        Self { custom, remote, sources, links, names, auto: None, chain: None, tour: Tour::default(), lists_tour }
    }

    /// A server on this machine is still being asked.
    pub(super) fn set_auto(&mut self, auto: Auto) {
        self.auto = Some(auto);
    }

    /// `model` was chosen as the first of these; the others are asked when it cannot answer.
    pub(super) fn chain(&mut self, model: &str, slugs: &[String]) {
        let Ok(chosen) = self.resolve(model) else { return };
        self.chain = Some(Chain { model: chosen.slug.clone(), others: self.others(&chosen, slugs) });
    }

    /// Those that are behind a model in a list, as far as they are known.
    fn others(&self, chosen: &ModelInfo, slugs: &[String]) -> Arc<[Arc<str>]> {
        let known = slugs.iter().filter_map(|slug| self.model(pick::split_level(slug).0).ok());
        let mut others: Vec<Arc<str>> = Vec::new();
        for model in known.skip_while(|model| model.slug != chosen.slug).skip(1) {
            if model.slug != chosen.slug && !others.contains(&model.slug) {
                others.push(model.slug);
            }
        }
        others.into()
    }

    pub(super) fn sources(&self) -> &Sources {
        &self.sources
    }
    pub(super) fn custom(&self) -> &Custom {
        &self.custom
    }
    pub(super) fn remote(&self) -> Option<&Client> {
        self.remote.as_ref()
    }
    pub(super) fn links(&self) -> &Links {
        &self.links
    }

    /// Whether there is anybody to ask but the built-in tour: somebody who is configured, or a server on this machine.
    pub(super) async fn has_any(&self) -> bool {
        let configured = self.census().iter().any(|source| !source.failed);
        configured || matches!(&self.auto, Some(auto) if auto.is_somebody().await)
    }

    /// What is known without asking anybody.
    pub(super) fn known(&self) -> Vec<ModelInfo> {
        let remote = self.remote.as_ref().map(Client::known).unwrap_or_default();
        let described = self.custom.models().iter().cloned();
        described.chain(self.sources.known()).chain(remote).chain(self.links.known()).collect()
    }

    /// `tour/tour-mini` is `tour-mini`; every other name is what it is.
    fn built_in(slug: &str) -> Option<&str> {
        let name = slug.strip_prefix("tour/").unwrap_or(slug);
        is_built_in(name).then_some(name)
    }

    /// The server's own name for a model. `openai/gpt-5` is its `gpt-5`, unless it lists that very name.
    fn remote_id<'s>(remote: &Client, slug: &'s str) -> Result<&'s str, Fault> {
        let prefixed = slug.split_once('/').filter(|(name, _)| *name == &**remote.provider());
        let Some((provider, rest)) = prefixed else { return Ok(slug) };
        let has = |id: &str| remote.has(id) == Some(true);
        if has(slug) || (provider == NESTED && !has(rest) && !rest.contains('/')) {
            return Ok(slug);
        }
        // Who names the provider means a model that it has.
        if remote.has(rest) == Some(false) {
            let message = format!("no model `{slug}`; there is: {}", pick::names(remote.known().iter()));
            return Err(Fault::new(FaultKind::UnknownModel, message));
        }
        Ok(rest)
    }

    fn described(&self, slug: &str) -> Option<Result<&ModelInfo, Fault>> {
        let models = self.custom.models();
        if let Some(model) = models.iter().find(|model| &*model.slug == slug) {
            return Some(Ok(model));
        }
        let mut short = models.iter().filter(|model| &*model.id == slug).peekable();
        // The server's own list wins over the short form of a described model.
        short.peek()?;
        if self.remote.as_ref().is_some_and(|remote| remote.known().iter().any(|model| &*model.slug == slug)) {
            return None;
        }
        match (short.next(), short.next()) {
            (None, _) => None,
            (Some(model), None) => Some(Ok(model)),
            (Some(first), Some(second)) => {
                let names = pick::names([first, second].into_iter().chain(short));
                let message = format!("`{slug}` could be any of: {names}");
                Some(Err(Fault::new(FaultKind::UnknownModel, message)))
            }
        }
    }

    fn unknown(&self, slug: &str) -> Fault {
        let tour = ["tour", "tour-mini", "script:FILE"].map(|slug| ModelInfo::named(slug, 0));
        let linked = self.links.known();
        let sources = self.sources.known();
        let names = pick::names(self.custom.models().iter().chain(&sources).chain(&linked).chain(&tour));
        let mut fault = Fault::new(FaultKind::UnknownModel, format!("unknown model: {slug} (there is: {names})"));
        let known = self.known();
        if let Some(near) = self.names.nearest(slug, &known, &self.around()) {
            fault = fault.hint(format!("did you mean `{near}`?"));
        }
        fault.hint("set a vendor's key, or OPENAI_BASE_URL (and OPENAI_API_KEY), for other models")
    }

    /// What decides what the names stand for.
    fn around(&self) -> Around<'_> {
        Around { sources: self.sources.names().map(|name| &**name).collect(), remote: self.remote.is_some() }
    }

    /// A model by one of its own names.
    fn model(&self, slug: &str) -> Result<ModelInfo, Fault> {
        if let Some(name) = Self::built_in(slug) {
            return match script(name) {
                Some(script) => script?.resolve(name),
                None => self.tour.resolve(name),
            };
        }
        if let Some(auto) = self.auto.as_ref().filter(|_| slug == AUTO) {
            return Ok(auto.info());
        }
        if let Some(described) = self.described(slug) {
            return described.cloned();
        }
        let named = |name: &str| self.custom.providers().any(|(provider, _)| **provider == *name);
        // A described provider has the models that are described, and no others.
        if slug.split_once('/').is_some_and(|(provider, _)| named(provider)) {
            return Err(self.unknown(slug));
        }
        if let Some(model) = self.sources.resolve(slug) {
            return model;
        }
        // The server's own list wins over the short form of another's model.
        if self.remote.is_none()
            && let Some(source) = self.sources.owner(slug)
        {
            return source.resolve(slug);
        }
        if let Some(linked) = self.links.resolve(slug) {
            return linked;
        }
        if let Some(remote) = &self.remote {
            return remote.resolve(Self::remote_id(remote, slug)?);
        }
        if let Some(local) = self.auto.as_ref().and_then(Auto::client) {
            return local.resolve(Self::remote_id(&local, slug)?);
        }
        match self.sources.find("openai").filter(|_| !slug.contains('/')) {
            // It lists more than it describes.
            Some(openai) => openai.resolve(slug),
            None => Err(self.unknown(slug)),
        }
    }
}

fn script(slug: &str) -> Option<Result<Script, Fault>> {
    slug.strip_prefix(SCRIPT_PREFIX).map(|file| Script::load(Path::new(file)))
}

impl Provider for Catalogue {
    fn resolve(&self, slug: &str) -> Result<ModelInfo, Fault> {
        if let Some(meant) = self.names.meant(slug, &self.around()) {
            let mut models = meant.slugs.iter().map(|slug| self.model(pick::split_level(slug).0));
            let first = models.next().unwrap_or_else(|| Err(self.unknown(slug)));
            // Of several the first that is there.
            let mut model = first.or_else(|fault| models.find_map(Result::ok).ok_or(fault))?;
            model.fallbacks = self.others(&model, &meant.slugs);
            return Ok(model);
        }
        let mut model = self.model(slug)?;
        if let Some(chain) = self.chain.as_ref().filter(|chain| chain.model == model.slug) {
            model.fallbacks = chain.others.clone();
        }
        Ok(model)
    }

    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        Box::pin(async {
            let server = async {
                match &self.remote {
                    Some(remote) => remote.models().await,
                    None => Ok(Vec::new()),
                }
            };
            let local = async {
                match &self.auto {
                    Some(auto) => auto.models().await,
                    None => Vec::new(),
                }
            };
            let (server, sources, linked, local) =
                tokio::join!(server, self.sources.models(), self.links.models(), local);
            let others = !(sources.is_empty() && linked.is_empty() && local.is_empty());
            let mut models = match (server, &self.remote) {
                (Ok(models), _) => models,
                // A server that is down must not hide the models of others.
                (Err(_), Some(remote)) if !self.custom.models().is_empty() || others => remote.known(),
                (Err(fault), _) => return Err(fault),
            };
            models.extend(self.custom.models().iter().cloned());
            models.extend(sources);
            models.extend(local);
            models.extend(linked);
            // Where there is nothing else, it is what there is.
            if self.lists_tour || (self.remote.is_none() && models.is_empty()) {
                models.extend(self.tour.models().await?);
            }
            Ok(models)
        })
    }

    fn chat(&self, model: &ModelInfo) -> Result<Box<dyn Chat>, Fault> {
        if is_built_in(&model.slug) {
            return match script(&model.slug) {
                Some(script) => script?.chat(model),
                None => self.tour.chat(model),
            };
        }
        if let Some(chat) = self.custom.chat(&model.slug) {
            return chat;
        }
        if let Some(auto) = self.auto.as_ref().filter(|_| &*model.slug == AUTO) {
            return Ok(auto.chat());
        }
        if let Some(chat) = self.sources.chat(model) {
            return chat;
        }
        if let Some(chat) = self.links.chat(model) {
            return chat;
        }
        if let Some(local) = self.auto.as_ref().and_then(Auto::client)
            && local.server() == &*model.base_url
        {
            return local.chat(model);
        }
        self.remote.as_ref().ok_or_else(|| self.unknown(&model.slug))?.chat(model)
    }
}

/// How session files name models: by provider and id.
impl Faces for Catalogue {
    fn face(&self, slug: &str) -> Face {
        match self.resolve(slug) {
            Ok(model) => Face { provider: model.provider, id: model.id, api: model.api, prices: model.prices },
            Err(_) => Face::guess(slug),
        }
    }
}

impl session_files::ModelNames for Catalogue {
    fn slug(&self, provider: &str, id: &str) -> Arc<str> {
        let ours = self.remote.as_ref().is_some_and(|remote| &**remote.provider() == provider);
        let described = self.custom.providers().any(|(name, _)| **name == *provider);
        match () {
            () if described => format!("{provider}/{id}").into(),
            // These go by their bare ids, as everywhere outside of files.
            () if ours || self.links.is_bare(provider) || (provider == TOUR && is_built_in(id)) => id.into(),
            () => format!("{provider}/{id}").into(),
        }
    }
}

/// What is known about the way to a model, without touching the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    /// Nothing but the built-in tour.
    NoProvider,
    /// There is a server, and a key where it wants one.
    Connected,
    /// There is a server, but no key for it.
    AuthError,
}

impl Catalogue {
    /// The provider of a model and how things stand with it.
    pub(super) fn standing(&self, slug: &str) -> (Standing, Option<Arc<str>>) {
        if Self::built_in(slug).is_some() {
            return (Standing::NoProvider, None);
        }
        let Ok(model) = self.resolve(slug) else { return (Standing::NoProvider, None) };
        let failed = self.custom.providers().any(|(name, failed)| *name == model.provider && failed)
            || self.sources.iter().any(|source| *source.name() == model.provider && source.failed());
        // OpenAI and OpenRouter answer nobody without a key; other servers may.
        let linked = self.links.names().contains(&model.provider);
        let keyless = !linked
            && self.sources.find(&model.provider).is_none()
            && self.custom.providers().all(|(name, _)| *name != model.provider)
            && self.remote.as_ref().is_some_and(|remote| !remote.has_key())
            && matches!(&*model.provider, "openai" | "openrouter");
        (if failed || keyless { Standing::AuthError } else { Standing::Connected }, Some(model.provider))
    }
}
