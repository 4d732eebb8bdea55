//! Which model a session starts with, and why. Touches the network only where nothing but a server's own list can tell.

mod faults;
mod local;

use std::sync::Arc;
use std::time::Duration;

use config::Suggestion;
use providers::detect::{Candidate, Choice, Env, Server, provider_name, settled};
use providers::{Client, Secret, openrouter};
use vocab::{Fault, FaultKind, ModelInfo};

use super::auto::Auto;
use super::catalogue::{Catalogue, Parts, TOUR, is_built_in};
use super::custom::Custom;
use super::linked::{Linked, Links};
use super::names::{AUTO, Around, Meant};
use super::pick::{self, Pick};
use super::sources::Sources;
use super::vendors::{Origin, Provided};
use super::{Lookout, Setup};
use faults::{ambiguous, keyless, keyless_model, unknown_model, unknown_provider};
use local::{Local, remote};

/// How long a server may take to list its models the very first time; afterwards the list is remembered.
const CATALOGUE_TIME_MAX: Duration = Duration::from_millis(1500);
/// The same where somebody speaks to us as soon as we are started, or where the model is named and the list tells only its
/// window. After that we start without it: a prompt asks again.
const LIST_PATIENCE: Duration = Duration::from_millis(300);

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
    /// What a file that came with the code would like; see [`super::suggest`].
    pub(crate) suggested: Option<Suggestion>,
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

/// Where models can come from, besides what is described and configured.
pub(super) struct Grounds<'a> {
    pub(super) env: &'a Env,
    /// Servers that may be running on this machine.
    pub(super) candidates: &'a [Candidate],
    pub(super) linked: &'a Arc<Linked>,
}

/// A name that only we can play is played by us, a described model is taken from its provider; otherwise the server of the
/// environment, then a vendor whose key is known, then an account of the user's, then a server on this machine, then the
/// tour.
pub(super) async fn choose(setup: &Setup, grounds: Grounds<'_>) -> Result<Chosen, Fault> {
    let Grounds { env, candidates, linked } = grounds;
    let mut sources = Sources::new(setup);
    let notes = std::mem::take(&mut sources.notes);
    let choice = Chooser { setup, env, candidates, linked, sources, notes, meant: None };
    choice.run().await
}

struct Chooser<'a> {
    setup: &'a Setup,
    env: &'a Env,
    candidates: &'a [Candidate],
    linked: &'a Arc<Linked>,
    sources: Sources,
    notes: Vec<String>,
    /// What was asked for stands for these.
    meant: Option<Meant>,
}

impl Chooser<'_> {
    async fn run(mut self) -> Result<Chosen, Fault> {
        let Setup { wanted, .. } = self.setup;
        let blank =
            |text: &Option<String>| text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
        let (mut model, provider) = (blank(&wanted.model), blank(&wanted.provider));
        let by_tier = self.setup.names.has_tier("default") && wanted.usual.is_none() && wanted.scope.is_empty();
        let asked = model.clone().or_else(|| by_tier.then(|| "default".to_owned()));
        if let Some(meant) = asked.filter(|_| provider.is_none()).and_then(|asked| self.meant(&asked)) {
            let known = meant.slugs.iter().find(|slug| self.is_known(slug));
            model = known.or(meant.slugs.first()).cloned();
            self.meant = Some(meant);
        }
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
        if model.as_deref() == Some(AUTO) && settled(self.env).is_none() {
            return self.local_or_none().await;
        }
        if let Some(found) = self.described(model.as_deref(), provider.as_deref())? {
            return self.described_model(found);
        }
        if let Some(found) = self.account(model.as_deref(), provider.as_deref()).await? {
            return self.described_model(found);
        }
        self.server(model.as_deref(), provider.as_deref()).await
    }

    /// Models of described providers, and of configured ones where no server takes every name.
    fn infos(&self, model: Option<&str>) -> Vec<ModelInfo> {
        let models = self.setup.described.providers.iter().flat_map(|provider| &provider.models);
        let described = models.map(|model| model.info.clone());
        let named = model.and_then(|model| self.sources.find(model.split_once('/')?.0)).is_some();
        let all = named || settled(self.env).is_none();
        described.chain(self.sources.known().into_iter().filter(|_| all)).collect()
    }

    /// What a name stands for, if it is not simply a model's.
    fn meant(&self, name: &str) -> Option<Meant> {
        let around =
            Around { sources: self.sources.names().map(|name| &**name).collect(), remote: settled(self.env).is_some() };
        self.setup.names.meant(name, &around)
    }

    /// Whether this is somebody's model, without asking anybody.
    fn is_known(&self, slug: &str) -> bool {
        let name = pick::split_level(slug).0;
        let described = self.setup.described.providers.iter().flat_map(|provider| &provider.models);
        let prefix = name.split_once('/').map(|(prefix, _)| prefix);
        is_built_in(name)
            || name == AUTO
            || described.map(|model| &model.info.slug).any(|known| **known == *name)
            || self.sources.resolve(name).is_some()
            || prefix.is_some_and(|prefix| self.links(None).names().iter().any(|it| **it == *prefix))
    }

    /// How the model was named, for people.
    fn by_name(&self) -> String {
        self.meant.as_ref().map_or_else(|| "asked for by name".to_owned(), |meant| meant.how.clone())
    }

    /// A described model that is asked for, or usual, or the first where nothing else is known.
    fn described(&mut self, model: Option<&str>, provider: Option<&str>) -> Result<Option<Found>, Fault> {
        let wanted = &self.setup.wanted;
        let infos = self.infos(model);
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
                Pick::One(info, level) => Ok(found(info, level, &self.by_name())),
                Pick::Many => Err(ambiguous(model, &infos)),
                Pick::None if self.source_of(model, provider).is_some() => {
                    // It may have more than anybody knows.
                    let (source, rest) = self.source_of(model, provider).expect("that is what was asked");
                    let (id, level) = pick::split_level(rest);
                    let info = source.resolve(id)?;
                    Ok(found(&info, level, &self.by_name()))
                }
                Pick::None if provider.is_some_and(ours) => {
                    let of =
                        infos.iter().filter(|info| provider.is_some_and(|it| info.provider.eq_ignore_ascii_case(it)));
                    Err(unknown_model(model, &pick::names(of)))
                }
                Pick::None => Ok(None),
            };
        }
        if let Some(provider) = provider {
            let usual = self.sources.find(provider).and_then(|source| source.default_model());
            let first = usual.as_ref().or(infos.iter().find(|info| info.provider.eq_ignore_ascii_case(provider)));
            return Ok(first.and_then(|info| found(info, None, "the first model of the provider asked for")));
        }
        let usual = wanted.usual.as_ref().and_then(|(provider, model)| {
            match pick::find(&infos, provider.as_deref(), model, false) {
                Pick::One(info, level) => Some((info.clone(), level)),
                Pick::Many => None,
                Pick::None => {
                    let (source, rest) = self.source_of(model, provider.as_deref())?;
                    let (id, level) = pick::split_level(rest);
                    Some((source.resolve(id).ok()?, level))
                }
            }
        });
        let (scope, _) = pick::scope(&infos, &wanted.scope);
        if !scope.is_empty() {
            let usual = usual.and_then(|(usual, _)| scope.iter().find(|(info, _)| info.slug == usual.slug));
            let (info, level) = usual.unwrap_or(&scope[0]);
            return Ok(found(info, *level, "first in the scope"));
        }
        if let Some((info, level)) = usual {
            return Ok(found(&info, level, "the usual one"));
        }
        let settled = settled(self.env).is_some();
        let first = self.setup.described.providers.iter().flat_map(|provider| &provider.models).next();
        Ok(match first {
            Some(model) if wanted.loose && !settled => found(&model.info, None, "the first described model"),
            _ => None,
        })
    }

    /// The first model that the user has described in the agent directory.
    fn first_described(&self) -> Option<Found> {
        let first = self.setup.described.providers.iter().flat_map(|provider| &provider.models).next()?;
        Some(by_account(&first.info, None, "the first described model"))
    }

    /// The configured provider that a name leads to, and its own name for the model.
    fn source_of<'t>(&self, model: &'t str, provider: Option<&str>) -> Option<(&super::sources::Source, &'t str)> {
        let named = model.split_once('/');
        match provider {
            Some(provider) => {
                let rest =
                    named.filter(|(name, _)| name.eq_ignore_ascii_case(provider)).map_or(model, |(_, rest)| rest);
                Some((self.sources.find(provider)?, rest))
            }
            None => named.and_then(|(name, rest)| Some((self.sources.find(name)?, rest))),
        }
    }

    fn described_model(self, found: Found) -> Result<Chosen, Fault> {
        let key = self.setup.api_key.as_ref().map(|key| (&*found.provider, key));
        let custom = self.custom(key);
        let server = settled(self.env).and_then(|choice| choice.server);
        let remote = server.map(|server| remote(self.setup, &server)).transpose()?;
        let tour = !self.setup.wanted.loose;
        Ok(self.finish(custom, remote, tour, found))
    }

    fn tour(self, model: String, reason: String) -> Result<Chosen, Fault> {
        // Who asks for the tour asks no server; one that was named stays within reach.
        let server = settled(self.env).and_then(|choice| choice.server).filter(|_| self.env.base_url.is_some());
        let remote = server.map(|server| remote(self.setup, &server)).transpose()?;
        let custom = self.custom(None);
        Ok(self.finish(custom, remote, true, Found { model, provider: TOUR.into(), thinking: None, reason }))
    }

    /// The user's accounts beside a server of this name.
    fn links(&self, server: Option<&str>) -> Links {
        let described = &self.setup.described.providers;
        let taken =
            |name: &str| described.iter().any(|provider| *provider.name == *name) || self.sources.find(name).is_some();
        Links::new(self.linked.clone(), server, taken)
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
        Ok(Some(by_account(&info, level, &self.by_name())))
    }

    /// Where no server is: a model of the first account that has one.
    async fn first_of_accounts(&mut self, model: Option<&str>, provider: Option<&str>) -> Result<Option<Found>, Fault> {
        let links = self.links(None);
        match (model, provider) {
            (Some(model), None) => {
                let (name, level) = pick::split_level(model);
                let (name, level) = if self.setup.wanted.loose { (name, level) } else { (model, None) };
                let info = links.resolve(name).transpose()?;
                return Ok(info.map(|info| by_account(&info, level.map(Arc::from), &self.by_name())));
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
        Custom::new(&self.setup.described.providers, key, self.setup.idle_timeout_ms, &self.setup.keyring)
    }

    /// A model of the environment's server, of a vendor, of an account, or of a server on this machine.
    async fn server(mut self, wanted: Option<&str>, provider: Option<&str>) -> Result<Chosen, Fault> {
        let mut env = self.env.clone();
        env.api_key = self.setup.api_key.clone().or(env.api_key);
        if let Some(Choice { server: Some(server), reason }) = settled(&env) {
            return self.served(server, reason, wanted, provider).await;
        }
        if self.setup.api_key.is_some() && provider.is_none() {
            self.sources.add(self.setup, Provided::flagged("openai"))?;
        }
        if let Some(found) = self.vendor(wanted, provider)? {
            return self.described_model(found);
        }
        if let Some(found) = self.first_of_accounts(wanted, provider).await? {
            return self.described_model(found);
        }
        if let Some(found) = self.first_described().filter(|_| wanted.is_none() && provider.is_none()) {
            return self.described_model(found);
        }
        let reason = match provider {
            Some(_) => String::new(),
            None => match self.local(wanted).await? {
                Local::At(server, reason) => return self.served(server, reason, wanted, None).await,
                Local::Perhaps(auto) => return Ok(self.perhaps(auto)),
                Local::Nobody(reason) => reason,
            },
        };
        let infos = self.infos(wanted);
        let fault = match (wanted, provider) {
            (_, Some(provider)) => unknown_provider(provider, &infos, &self.links(None).names()),
            // Somebody can be asked, but not for this.
            (Some(model), None) if !infos.is_empty() => return Err(self.no_such(model, &infos)),
            (Some(model), None) => {
                if let Some(fault) = keyless_model(model) {
                    return Err(fault);
                }
                Fault::new(FaultKind::UnknownModel, format!("no server to ask for the model `{model}`: {reason}"))
            }
            (None, None) => {
                let reason = format!("{reason}; this is the built-in tour. {SET_A_KEY}");
                let custom = self.custom(None);
                let tour = !self.setup.wanted.loose;
                let found = Found { model: TOUR.to_owned(), provider: TOUR.into(), thinking: None, reason };
                return Ok(self.finish(custom, None, tour, found));
            }
        };
        let fault = fault.hint("set ANTHROPIC_API_KEY, OPENAI_API_KEY or another vendor's key; or OPENAI_BASE_URL");
        Err(fault.hint("start a local server such as Ollama; or `--model tour`, which needs nothing"))
    }

    /// A name that is nobody's, where models are known.
    fn no_such(&self, model: &str, infos: &[ModelInfo]) -> Fault {
        if let Some(fault) = keyless_model(model) {
            return fault;
        }
        let around = Around { sources: self.sources.names().map(|name| &**name).collect(), remote: false };
        let mut fault = unknown_model(model, &pick::names(infos.iter()));
        if let Some(near) = self.setup.names.nearest(model, infos, &around) {
            fault = fault.hint(format!("did you mean `{near}`?"));
        }
        fault.hint("`tillerman models` lists all there are")
    }

    /// A model of a server that takes any name.
    async fn served(
        mut self,
        server: Server,
        reason: String,
        wanted: Option<&str>,
        provider: Option<&str>,
    ) -> Result<Chosen, Fault> {
        let loose = self.setup.wanted.loose;
        let name = provider_name(&server.base_url);
        let infos = self.infos(wanted);
        if let Some(provider) = provider.filter(|provider| !provider.eq_ignore_ascii_case(name)) {
            let mut names = vec![Arc::from(name)];
            names.extend(self.links(Some(name)).names());
            return Err(unknown_provider(provider, &infos, &names));
        }
        let remote = remote(self.setup, &server)?;
        // A server that is down now may be up for the first prompt; only the windows are unknown then.
        let can_wait = self.setup.lookout == Lookout::Wait;
        let patience = match wanted {
            // A part of a name means nothing without the list.
            Some(_) if loose => CATALOGUE_TIME_MAX,
            None if can_wait => CATALOGUE_TIME_MAX,
            Some(_) | None => LIST_PATIENCE,
        };
        let listed = remote.load_catalogue(patience).await;
        let usual =
            self.setup.wanted.usual.as_ref().filter(|(provider, _)| provider.as_deref().is_none_or(|it| it == name));
        let (model, thinking, reason) = match (wanted, usual, server.model) {
            (Some(model), _, _) => {
                let (model, level) = by_name(&remote, model, loose)?;
                (model, level, format!("{}, served by {}", self.by_name(), remote.server()))
            }
            (None, Some((_, model)), _) => {
                (model.clone(), None, format!("the usual one, served by {}", remote.server()))
            }
            (None, None, Some(model)) => (model, None, reason),
            (None, None, None) => {
                let first = match listed {
                    Ok(_) => remote.first_model().await,
                    Err(fault) => Err(fault),
                };
                match first {
                    Ok(model) => {
                        (model.to_string(), None, format!("{reason}; the first model that {} lists", remote.server()))
                    }
                    Err(fault) if can_wait => return Err(fault),
                    // Whoever wants something of a model is told then.
                    Err(_) => return Ok(self.unlisted(remote, &reason)),
                }
            }
        };
        self.notes.extend(usual_missing(&self.setup.wanted, name, &infos));
        let custom = self.custom(None);
        Ok(self.finish(custom, Some(remote), !loose, Found { model, provider: name.into(), thinking, reason }))
    }

    /// The default of the first provider that is there; or any name that OpenAI may know better than we do.
    fn vendor(&mut self, wanted: Option<&str>, provider: Option<&str>) -> Result<Option<Found>, Fault> {
        let Some(model) = wanted else {
            if let Some(provider) = provider {
                return keyless(provider).map_or(Ok(None), Err);
            }
            return Ok(self.first_vendor());
        };
        let named = provider.or_else(|| model.split_once('/').map(|(name, _)| name));
        if let Some(fault) = named.and_then(keyless).filter(|_| self.links(None).resolve(model).is_none()) {
            return Err(fault);
        }
        let Some(openai) = self.sources.find("openai").filter(|_| provider.is_none()) else { return Ok(None) };
        let (id, level) = if self.setup.wanted.loose { pick::split_level(model) } else { (model, None) };
        let info = openai.resolve(id)?;
        Ok(Some(by_account(&info, level.map(Arc::from), &self.by_name())))
    }

    fn first_vendor(&self) -> Option<Found> {
        let found = |info: &ModelInfo, origin: &Origin| Found {
            model: info.slug.to_string(),
            provider: info.provider.clone(),
            thinking: None,
            reason: origin.to_string(),
        };
        for provided in &self.setup.providers {
            if *provided.name == *openrouter::NAME {
                let links = self.links(None);
                let slug = provided.default_model().map(|id| format!("{}/{id}", openrouter::NAME));
                if let Some(Ok(info)) = slug.and_then(|slug| links.resolve(&slug)) {
                    return Some(found(&info, &provided.origin));
                }
            } else if let Some(source) = self.sources.find(&provided.name)
                && let Some(info) = source.default_model()
            {
                return Some(found(&info, &source.origin));
            }
        }
        // The key of this run may be for one that has none of its own.
        let given = self.sources.iter().find(|source| source.origin == Origin::Flag)?;
        Some(found(&given.default_model()?, &given.origin))
    }

    fn finish(mut self, custom: Custom, remote: Option<Client>, lists_tour: bool, found: Found) -> Chosen {
        let Found { model, thinking, reason, .. } = found;
        let parts = Parts {
            custom,
            remote,
            sources: self.sources,
            linked: self.linked.clone(),
            names: self.setup.names.clone(),
            lists_tour,
        };
        let mut catalogue = Catalogue::new(parts);
        if let Some(meant) = &self.meant {
            catalogue.chain(&model, &meant.slugs);
        }
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

const SET_A_KEY: &str =
    "Set ANTHROPIC_API_KEY, OPENAI_API_KEY or another vendor's key, or OPENAI_BASE_URL, for a real model";

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

fn usual_missing(wanted: &Wanted, server: &str, infos: &[ModelInfo]) -> Option<String> {
    let (provider, model) = wanted.usual.as_ref()?;
    let provider = provider.as_deref()?;
    let elsewhere = provider != server && wanted.model.is_none();
    let described = infos.iter().any(|info| *info.provider == *provider && *info.id == **model);
    (elsewhere && !described).then(|| format!("settings.json asks for {provider}/{model}, which is not here"))
}
