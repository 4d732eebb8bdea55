//! Which model a session starts with, and why. Touches the network only where nothing but a server's own list can tell.

use std::sync::Arc;
use std::time::Duration;

use providers::detect::{Candidate, Choice, Env, Server, detect, provider_name, settled};
use providers::{Client, Config, Secret};
use vocab::{Fault, FaultKind, ModelInfo, Provider};

use super::Setup;
use super::catalogue::{Catalogue, TOUR, is_built_in};
use super::custom::Custom;
use super::linked::{Linked, Links};
use super::pick::{self, Pick};

/// How long a server may take to list its models the very first time; afterwards the list is remembered.
const CATALOGUE_TIME_MAX: Duration = Duration::from_millis(1500);

/// Which model somebody asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    /// By flag or configuration: it is this one or none.
    pub(crate) model: Option<String>,
    pub(crate) provider: Option<String>,
    /// The models that are gone round; the first of them is the one to start with.
    pub(crate) scope: Vec<String>,
    /// A habit, not a demand: provider and model, taken where they exist.
    pub(crate) usual: Option<(Option<String>, String)>,
    /// As controllers of the pi family name models: parts of names count, a level may stand behind them, the first
    /// described model is the default, and the tour does not stand beside real models.
    pub(crate) loose: bool,
}

pub(super) struct Chosen {
    pub(super) catalogue: Catalogue,
    pub(super) model: String,
    pub(super) thinking: Option<Arc<str>>,
    pub(super) scope: Vec<Arc<str>>,
    pub(super) reason: String,
    /// For stderr, one line each.
    pub(super) notes: Vec<String>,
}

/// A model by name, before there is a catalogue.
struct Found {
    model: String,
    provider: Arc<str>,
    thinking: Option<Arc<str>>,
    reason: String,
}

/// Where models can come from, besides what is described.
pub(super) struct Sources<'a> {
    pub(super) env: &'a Env,
    /// Servers that may be running on this machine.
    pub(super) candidates: &'a [Candidate],
    pub(super) linked: &'a Arc<Linked>,
}

/// A name that only we can play is played by us, a described model is taken from its provider; otherwise the environment,
/// then a server on this machine, then an account of the user's, then the tour.
pub(super) async fn choose(setup: &Setup, sources: Sources<'_>) -> Result<Chosen, Fault> {
    let Sources { env, candidates, linked } = sources;
    let choice = Chooser { setup, env, candidates, linked, notes: Vec::new() };
    choice.run().await
}

struct Chooser<'a> {
    setup: &'a Setup,
    env: &'a Env,
    candidates: &'a [Candidate],
    linked: &'a Arc<Linked>,
    notes: Vec<String>,
}

impl Chooser<'_> {
    async fn run(mut self) -> Result<Chosen, Fault> {
        let Setup { wanted, .. } = self.setup;
        let blank =
            |text: &Option<String>| text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
        let (model, provider) = (blank(&wanted.model), blank(&wanted.provider));
        if let Some(model) = model.as_deref().filter(|model| is_built_in(model))
            && provider.as_deref().is_none_or(|provider| provider == TOUR)
        {
            return self.tour(model.to_owned(), "built in, asked for by name".to_owned());
        }
        if provider.as_deref() == Some(TOUR) {
            let asked = model.as_deref().map_or("", |model| model.strip_prefix("tour/").unwrap_or(model));
            return match asked {
                "" => self.tour(TOUR.to_owned(), "built in, asked for by name".to_owned()),
                model if is_built_in(model) => self.tour(model.to_owned(), "built in, asked for by name".to_owned()),
                model => Err(unknown_model(&format!("tour/{model}"), "tour, tour-mini")),
            };
        }
        if let Some(found) = self.described(model.as_deref(), provider.as_deref())? {
            return self.described_model(found);
        }
        if let Some(found) = self.account(model.as_deref(), provider.as_deref()).await? {
            return self.described_model(found);
        }
        self.server(model.as_deref(), provider.as_deref()).await
    }

    fn infos(&self) -> Vec<ModelInfo> {
        let models = self.setup.described.providers.iter().flat_map(|provider| &provider.models);
        models.map(|model| model.info.clone()).collect()
    }

    /// A described model that is asked for, or usual, or the first where nothing else is known.
    fn described(&mut self, model: Option<&str>, provider: Option<&str>) -> Result<Option<Found>, Fault> {
        let wanted = &self.setup.wanted;
        let infos = self.infos();
        let ours = |name: &str| infos.iter().any(|info| info.provider.eq_ignore_ascii_case(name));
        let found = |info: &ModelInfo, level: Option<&str>, reason: &str| {
            let reason = format!("{reason}, served by {} at {}", info.provider, info.base_url);
            Some(Found {
                model: info.slug.to_string(),
                provider: info.provider.clone(),
                thinking: level.map(Arc::from),
                reason,
            })
        };
        if let Some(model) = model {
            return match pick::find(&infos, provider, model, wanted.loose) {
                Pick::One(info, level) => Ok(found(info, level, "asked for by name")),
                Pick::Many => Err(ambiguous(model, &infos)),
                Pick::None if provider.is_some_and(ours) => {
                    let of =
                        infos.iter().filter(|info| provider.is_some_and(|it| info.provider.eq_ignore_ascii_case(it)));
                    Err(unknown_model(model, &pick::names(of)))
                }
                Pick::None => Ok(None),
            };
        }
        if let Some(provider) = provider {
            let first = infos.iter().find(|info| info.provider.eq_ignore_ascii_case(provider));
            return Ok(first.and_then(|info| found(info, None, "the first model of the provider asked for")));
        }
        let usual = wanted.usual.as_ref().and_then(|(provider, model)| {
            match pick::find(&infos, provider.as_deref(), model, false) {
                Pick::One(info, level) => Some((info, level)),
                Pick::Many | Pick::None => None,
            }
        });
        let (scope, _) = pick::scope(&infos, &wanted.scope);
        if !scope.is_empty() {
            let usual = usual.and_then(|(usual, _)| scope.iter().find(|(info, _)| info.slug == usual.slug));
            let (info, level) = usual.unwrap_or(&scope[0]);
            return Ok(found(info, *level, "first in the scope"));
        }
        if let Some((info, level)) = usual {
            return Ok(found(info, level, "the usual one"));
        }
        let settled = settled(self.env).is_some();
        Ok(match infos.first() {
            Some(info) if wanted.loose && !settled => found(info, None, "the first described model"),
            _ => None,
        })
    }

    fn described_model(self, found: Found) -> Result<Chosen, Fault> {
        let key = self.setup.api_key.as_ref().map(|key| (&*found.provider, key));
        let custom = self.custom(key);
        let server = settled(self.env).and_then(|choice| choice.server);
        let remote = server.map(|server| remote(self.setup, &server)).transpose()?;
        let catalogue = Catalogue::new(custom, remote, self.linked.clone(), !self.setup.wanted.loose);
        Ok(self.finish(catalogue, found.model, found.thinking, found.reason))
    }

    fn tour(self, model: String, reason: String) -> Result<Chosen, Fault> {
        // Who asks for the tour asks no server; one that was named stays within reach.
        let server = settled(self.env).and_then(|choice| choice.server).filter(|_| self.env.base_url.is_some());
        let remote = server.map(|server| remote(self.setup, &server)).transpose()?;
        let catalogue = Catalogue::new(self.custom(None), remote, self.linked.clone(), true);
        Ok(self.finish(catalogue, model, None, reason))
    }

    /// The user's accounts beside a server of this name.
    fn links(&self, server: Option<&str>) -> Links {
        let described = &self.setup.described.providers;
        Links::new(self.linked.clone(), server, |name| described.iter().any(|provider| *provider.name == *name))
    }

    /// A model of an account that is asked for by its provider's name, which no described provider has.
    async fn account(&mut self, model: Option<&str>, provider: Option<&str>) -> Result<Option<Found>, Fault> {
        let server = settled(self.env).and_then(|choice| choice.server);
        let links = self.links(server.as_ref().map(|server| provider_name(&server.base_url)));
        let named = provider.or_else(|| model?.split_once('/').map(|(name, _)| name));
        let Some(name) = named.and_then(|name| links.names().into_iter().find(|it| it.eq_ignore_ascii_case(name)))
        else {
            return Ok(None);
        };
        // A server that is down now may be up for the first prompt, if somebody knows what to ask it for.
        let listed = links.load(&name, CATALOGUE_TIME_MAX).await.unwrap_or_else(|| Ok(Vec::new()));
        let Some(model) = model else { return first_of(&name, listed?).map(Some) };
        let infos = listed.unwrap_or_default();
        let (slug, level) = match pick::find(&infos, Some(&name), model, self.setup.wanted.loose) {
            Pick::One(info, level) => (info.slug.to_string(), level.map(Arc::from)),
            Pick::Many => return Err(ambiguous(model, &infos)),
            Pick::None => (format!("{name}/{}", model.strip_prefix(&format!("{name}/")).unwrap_or(model)), None),
        };
        let info = links.resolve(&slug).unwrap_or_else(|| Err(unknown_model(&slug, &pick::names(infos.iter()))))?;
        Ok(Some(by_account(&info, level, "asked for by name")))
    }

    /// Where no server is: a model of the first account that has one.
    async fn first_of_accounts(&mut self, model: Option<&str>, provider: Option<&str>) -> Result<Option<Found>, Fault> {
        let links = self.links(None);
        match (model, provider) {
            (Some(model), None) => {
                let (name, level) = pick::split_level(model);
                let (name, level) = if self.setup.wanted.loose { (name, level) } else { (model, None) };
                let info = links.resolve(name).transpose()?;
                return Ok(info.map(|info| by_account(&info, level.map(Arc::from), "asked for by name")));
            }
            (_, Some(_)) => return Ok(None),
            (None, None) => {}
        }
        for name in links.names() {
            match links.load(&name, CATALOGUE_TIME_MAX).await.map(|listed| listed.and_then(|it| first_of(&name, it))) {
                Some(Ok(found)) => return Ok(Some(found)),
                Some(Err(fault)) => self.notes.push(format!("no model of {name}: {}", fault.message)),
                None => {}
            }
        }
        Ok(None)
    }

    fn custom(&self, key: Option<(&str, &Secret)>) -> Custom {
        Custom::new(&self.setup.described.providers, key, self.setup.idle_timeout_ms)
    }

    /// A model of the environment's server or of one on this machine.
    async fn server(mut self, wanted: Option<&str>, provider: Option<&str>) -> Result<Chosen, Fault> {
        let loose = self.setup.wanted.loose;
        let mut env = self.env.clone();
        let given = self.setup.api_key.clone();
        let by_flag = given.is_some() && env.base_url.is_none();
        env.api_key = given.or(env.api_key);
        let Choice { server, mut reason } = detect(&env, self.candidates).await;
        if by_flag {
            reason = "--api-key is given".to_owned();
        }
        let infos = self.infos();
        let Some(server) = server else {
            if let Some(found) = self.first_of_accounts(wanted, provider).await? {
                return self.described_model(found);
            }
            let mut fault = match (wanted, provider) {
                (_, Some(provider)) => unknown_provider(provider, &infos, &self.links(None).names()),
                (Some(model), None) => {
                    let mut message = format!("no server to ask for the model `{model}`: {reason}");
                    if !infos.is_empty() {
                        message.push_str(&format!("; there is: {}", pick::names(infos.iter())));
                    }
                    Fault::new(FaultKind::UnknownModel, message)
                }
                (None, None) => {
                    let reason = format!(
                        "{reason}; this is the built-in tour. Set OPENAI_BASE_URL and OPENAI_API_KEY for a real model"
                    );
                    let catalogue = Catalogue::new(self.custom(None), None, self.linked.clone(), !loose);
                    return Ok(self.finish(catalogue, TOUR.to_owned(), None, reason));
                }
            };
            fault = fault.hint("set OPENAI_BASE_URL (and OPENAI_API_KEY), or start a local server such as Ollama");
            return Err(fault.hint("`--model tour` needs neither"));
        };
        let name = provider_name(&server.base_url);
        if let Some(provider) = provider.filter(|provider| !provider.eq_ignore_ascii_case(name)) {
            let mut names = vec![Arc::from(name)];
            names.extend(self.links(Some(name)).names());
            return Err(unknown_provider(provider, &infos, &names));
        }
        let remote = remote(self.setup, &server)?;
        // A server that is down now may be up for the first prompt; only the windows are unknown then.
        let listed = remote.load_catalogue(CATALOGUE_TIME_MAX).await;
        let usual =
            self.setup.wanted.usual.as_ref().filter(|(provider, _)| provider.as_deref().is_none_or(|it| it == name));
        let (model, thinking, reason) = match (wanted, usual, server.model) {
            (Some(model), _, _) => {
                let (model, level) = by_name(&remote, model, loose)?;
                (model, level, format!("asked for by name, served by {}", remote.server()))
            }
            (None, Some((_, model)), _) => {
                (model.clone(), None, format!("the usual one, served by {}", remote.server()))
            }
            (None, None, Some(model)) => (model, None, reason),
            (None, None, None) => {
                let model = first_listed(&remote, listed.map(|_| ())).await?;
                (model, None, format!("{reason}; the first model that {} lists", remote.server()))
            }
        };
        let catalogue = Catalogue::new(self.custom(None), Some(remote), self.linked.clone(), !loose);
        self.notes.extend(usual_missing(&self.setup.wanted, name, &infos));
        Ok(self.finish(catalogue, model, thinking, reason))
    }

    fn finish(mut self, catalogue: Catalogue, model: String, thinking: Option<Arc<str>>, reason: String) -> Chosen {
        let known = catalogue.known();
        let (scope, nothing) = pick::scope(&known, &self.setup.wanted.scope);
        let mut scope: Vec<Arc<str>> = scope.into_iter().map(|(info, _)| info.slug.clone()).collect();
        for pattern in nothing {
            // A server need not list what it serves.
            match catalogue.remote().filter(|_| !pattern.contains(['*', '?', '/'])) {
                Some(_) => scope.push(pick::split_level(pattern).0.into()),
                None => self.notes.push(format!("no model fits `{pattern}` of the scope")),
            }
        }
        Chosen { catalogue, model, thinking, scope, reason, notes: self.notes }
    }
}

fn by_account(info: &ModelInfo, thinking: Option<Arc<str>>, reason: &str) -> Found {
    Found {
        model: info.slug.to_string(),
        provider: info.provider.clone(),
        thinking,
        reason: format!("{reason}, served by {} at {}", info.provider, info.base_url),
    }
}

fn first_of(name: &str, listed: Vec<ModelInfo>) -> Result<Found, Fault> {
    let first = listed.first().ok_or_else(|| {
        Fault::new(FaultKind::UnknownModel, format!("{name} lists no models")).hint("name one with --model")
    })?;
    Ok(by_account(first, None, "the first model of your account"))
}

/// A model of a server that may have more than it lists.
fn by_name(remote: &Client, text: &str, loose: bool) -> Result<(String, Option<Arc<str>>), Fault> {
    if !loose {
        return Ok((text.to_owned(), None));
    }
    let known = remote.known();
    match pick::find(&known, None, text, true) {
        Pick::One(info, level) => Ok((info.slug.to_string(), level.map(Arc::from))),
        Pick::Many | Pick::None => {
            let (name, level) = pick::split_level(text);
            Ok((name.to_owned(), level.map(Arc::from)))
        }
    }
}

async fn first_listed(remote: &Client, listed: Result<(), Fault>) -> Result<String, Fault> {
    match listed.and(remote.models().await)?.first() {
        Some(first) => Ok(first.slug.to_string()),
        None => {
            let message = format!("{} lists no models", remote.server());
            Err(Fault::new(FaultKind::UnknownModel, message).hint("name one with --model"))
        }
    }
}

fn usual_missing(wanted: &Wanted, server: &str, infos: &[ModelInfo]) -> Option<String> {
    let (provider, model) = wanted.usual.as_ref()?;
    let provider = provider.as_deref()?;
    let elsewhere = provider != server && wanted.model.is_none();
    let described = infos.iter().any(|info| *info.provider == *provider && *info.id == **model);
    (elsewhere && !described).then(|| format!("settings.json asks for {provider}/{model}, which is not here"))
}

fn unknown_model(model: &str, there_is: &str) -> Fault {
    Fault::new(FaultKind::UnknownModel, format!("no model `{model}`; there is: {there_is}"))
}

fn ambiguous(model: &str, infos: &[ModelInfo]) -> Fault {
    let lower = pick::split_level(model).0.to_lowercase();
    let part = lower.rsplit('/').next().unwrap_or(&lower);
    let fits = |info: &&ModelInfo| info.slug.to_lowercase().contains(part) || info.name.to_lowercase().contains(part);
    let names = pick::names(infos.iter().filter(fits));
    Fault::new(FaultKind::UnknownModel, format!("`{model}` could be any of: {names}"))
}

fn unknown_provider(provider: &str, infos: &[ModelInfo], others: &[Arc<str>]) -> Fault {
    let mut names: Vec<&str> = Vec::new();
    for name in infos.iter().map(|info| &*info.provider).chain(others.iter().map(|name| &**name)).chain([TOUR]) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    Fault::new(FaultKind::UnknownModel, format!("unknown provider `{provider}`; there is: {}", names.join(", ")))
}

fn remote(setup: &Setup, server: &Server) -> Result<Client, Fault> {
    let mut config = Config::new(&server.base_url);
    config.api_key = server.api_key.clone();
    config.key_name = Some("OPENAI_API_KEY".into());
    config.models = setup.known_models.clone();
    config.cache_file = (!setup.settings.ephemeral).then(|| setup.data.join("cache").join("models.json"));
    config.proxy = providers::Proxy::from_env(&server.base_url, |name| std::env::var(name).ok());
    if let Some(window) = setup.default_context_window {
        config.default_context_window = window;
    }
    if let Some(ms) = setup.idle_timeout_ms {
        config.idle_timeout_ms = ms;
    }
    Client::new(config)
}
