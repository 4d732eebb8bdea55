//! What stands in the place of a model that nobody named, or that no provider is known to have: the server of the
//! environment, a vendor, an account, what is described, the tour.

use std::sync::Arc;

use providers::detect::{Choice, Server, provider_name, settled};
use providers::{Client, openrouter};
use vocab::{Fault, FaultKind, ModelInfo};

use super::faults::{SET_A_KEY, keyless, keyless_model, no_such_model, unknown_provider};
use super::named::first_of;
use super::{AskedModel, CATALOGUE_TIME_MAX, Chooser, FoundModel, LIST_PATIENCE};
use crate::auto::Auto;
use crate::built_in::TOUR;
use crate::left_out;
use crate::names::AUTO;
use crate::pick::{self, Pick};
use crate::settings::{Lookout, Wanted};
use crate::source::Source;
use crate::vendors::{KeyOrigin, Provided, built_in};

impl Chooser<'_> {
    /// A model of the server that the environment leads to.
    pub(super) async fn settled_server(&mut self, asked: &AskedModel) -> Result<Option<FoundModel>, Fault> {
        let mut env = self.settings.env.clone();
        env.api_key = self.settings.api_key.clone().or(env.api_key);
        match settled(&env) {
            Some(Choice { server: Some(server), reason }) => {
                self.served(server, reason, asked.model(), asked.provider()).await.map(Some)
            }
            _ => Ok(None),
        }
    }

    /// A model of a server that takes any name.
    pub(super) async fn served(
        &mut self,
        server: Server,
        reason: String,
        model: Option<&str>,
        provider: Option<&str>,
    ) -> Result<FoundModel, Fault> {
        let wanted = &self.settings.wanted;
        let name = provider_name(&server.base_url);
        let infos = self.infos(model);
        if let Some(provider) = provider.filter(|provider| !provider.eq_ignore_ascii_case(name)) {
            let mut names = vec![Arc::from(name)];
            names.extend(self.account_source(Some(name)).names());
            return Err(self.unread(provider).unwrap_or_else(|| unknown_provider(provider, &infos, &names)));
        }
        let client = self.client(&server)?;
        // A server that is down now may be up for the first prompt; only the windows are unknown then.
        let can_wait = self.settings.lookout == Lookout::Wait;
        let patience = match model {
            // A part of a name means nothing without the list.
            Some(_) if wanted.loose => CATALOGUE_TIME_MAX,
            None if can_wait => CATALOGUE_TIME_MAX,
            Some(_) | None => LIST_PATIENCE,
        };
        let listed = client.load_catalogue(patience).await;
        // A habit that leads to a provider that is left out is not this server's.
        let ours = |(provider, model): &&(Option<String>, String)| match provider.as_deref() {
            Some(provider) => provider == name,
            // Nor is one that may be described in a file that nobody could read.
            None => {
                let is_listed = || client.has(model) == Some(true);
                self.configured.left_out_of(model).is_none() && (self.unread(model).is_none() || is_listed())
            }
        };
        let usual = wanted.usual.as_ref().filter(ours);
        let (model, thinking, reason) = match (model, usual, server.model) {
            (Some(model), _, _) => {
                let (model, level) = by_name(&client, model, wanted.loose);
                (model, level, format!("{}, served by {}", self.by_name(), client.server()))
            }
            (None, Some((_, model)), _) => {
                (model.clone(), None, format!("the usual one, served by {}", client.server()))
            }
            (None, None, Some(model)) => (model, None, reason),
            (None, None, None) => {
                let first = match listed {
                    Ok(_) => client.first_model().await,
                    Err(fault) => Err(fault),
                };
                match first {
                    Ok(model) => {
                        (model.to_string(), None, format!("{reason}; the first model that {} lists", client.server()))
                    }
                    Err(fault) if can_wait => return Err(fault),
                    // Whoever wants something of a model is told then.
                    Err(_) => return Ok(self.unlisted(client, &reason)),
                }
            }
        };
        self.notes.extend(usual_missing(wanted, name, &infos));
        Ok(FoundModel { thinking, server: Some(client), ..FoundModel::named(model, name.into(), reason) })
    }

    /// A server that was named and has not said yet what it serves.
    fn unlisted(&self, client: Client, reason: &str) -> FoundModel {
        let reason = format!("{reason}; the first model that {} will list", client.server());
        let auto = Auto::of(client.clone(), self.unknown_window());
        let choice = FoundModel::named(AUTO.to_owned(), client.provider().clone(), reason);
        FoundModel { server: Some(client), auto: Some(auto), ..choice }
    }

    /// The default of the first provider that is there; or any name that OpenAI may know better than we do.
    pub(super) fn vendor(&mut self, asked: &AskedModel) -> Result<Option<FoundModel>, Fault> {
        if self.settings.api_key.is_some() && asked.provider().is_none() {
            self.configured.add(self.settings, Provided::flagged("openai"))?;
        }
        let (Some(model), provider) = (asked.model(), asked.provider()) else {
            return match asked.provider() {
                Some(provider) => keyless(provider).map_or(Ok(None), Err),
                None => Ok(self.first_vendor()),
            };
        };
        let named = provider.or_else(|| model.split_once('/').map(|(name, _)| name));
        if let Some(fault) = named.and_then(keyless).filter(|_| self.account_source(None).resolve(model).is_none()) {
            return Err(fault);
        }
        let Some(openai) = self.configured.find("openai").filter(|_| provider.is_none()) else { return Ok(None) };
        let (id, level) = if self.settings.wanted.loose { pick::split_level(model) } else { (model, None) };
        let info = openai.resolve(id)?;
        match self.unread(model).filter(|_| info.unlisted) {
            Some(fault) => Err(fault),
            None => Ok(Some(FoundModel::served(&info, level, &self.by_name()))),
        }
    }

    fn first_vendor(&self) -> Option<FoundModel> {
        let of = |info: &ModelInfo, origin: &KeyOrigin| FoundModel::of(info, None, origin.to_string());
        for provided in &self.settings.providers {
            if *provided.name == *openrouter::NAME {
                let slug = provided.default_model().map(|id| format!("{}/{id}", openrouter::NAME));
                if let Some(Ok(info)) = slug.and_then(|slug| self.account_source(None).resolve(&slug)) {
                    return Some(of(&info, &provided.origin));
                }
            } else if let Some(source) = self.configured.find(&provided.name)
                && let Some(info) = source.default_model()
            {
                return Some(of(&info, &source.origin));
            }
        }
        // The key of this run may be for one that has none of its own.
        let given = self.configured.iter().find(|source| source.origin == KeyOrigin::Flag)?;
        Some(of(&given.default_model()?, &given.origin))
    }

    /// Where no server is: a model of the first account that has one.
    pub(super) async fn first_of_accounts(&mut self, asked: &AskedModel) -> Result<Option<FoundModel>, Fault> {
        let accounts = self.account_source(None);
        match (asked.model(), asked.provider()) {
            (Some(model), None) => {
                let (name, level) = pick::split_level(model);
                let (name, level) = if self.settings.wanted.loose { (name, level) } else { (model, None) };
                let info = accounts.resolve(name).transpose()?;
                return Ok(info.map(|info| FoundModel::served(&info, level, &self.by_name())));
            }
            (_, Some(_)) => return Ok(None),
            (None, None) => {}
        }
        for name in accounts.names() {
            let listed = accounts.load(&name, CATALOGUE_TIME_MAX).await;
            match listed.map(|listed| listed.and_then(|it| first_of(&name, it))) {
                Some(Ok(found)) => return Ok(Some(found)),
                Some(Err(fault)) => self.notes.push(format!("no model of {name}: {}", fault.message)),
                None => {}
            }
        }
        Ok(None)
    }

    /// The first model that the user has described in the agent directory.
    pub(super) fn first_described(&self, asked: &AskedModel) -> Option<FoundModel> {
        let first = self.described().next().filter(|_| asked.model().is_none() && asked.provider().is_none())?;
        Some(FoundModel::served(first, None, "the first described model"))
    }

    /// Where nothing was asked for and nobody answers.
    pub(super) fn tour(&self, asked: &AskedModel) -> Option<FoundModel> {
        let reason = format!("{}; this is the built-in tour. {SET_A_KEY}", self.nobody);
        let nothing = asked.model().is_none() && asked.provider().is_none();
        nothing.then(|| FoundModel::named(TOUR.to_owned(), TOUR.into(), reason))
    }

    /// A short name or an id of a vendor's that has a key and is left out for another reason.
    fn vendor_left_out(&self, model: &str) -> Option<Fault> {
        let meant = built_in(model)?;
        self.configured.left_out_of(&meant.slug).map(|left| left.fault(model))
    }

    /// A name that may stand in a file which nobody could read.
    fn unread(&self, name: &str) -> Option<Fault> {
        left_out::unread(name, &self.settings.described.unread)
    }

    /// A name that leads nowhere.
    pub(super) fn nobody_has_it(&self, asked: &AskedModel) -> Fault {
        let model = asked.model().unwrap_or_default();
        let infos = self.infos(asked.model());
        let fault = match asked.provider() {
            Some(provider) if let Some(fault) = self.unread(provider) => return fault,
            Some(provider) => unknown_provider(provider, &infos, &self.account_source(None).names()),
            None => match self.vendor_left_out(model).or_else(|| keyless_model(model)).or_else(|| self.unread(model)) {
                Some(fault) => return fault,
                // Somebody can be asked, but not for this.
                None if !infos.is_empty() => {
                    let near = self.settings.names.nearest(model, &infos, &self.name_context());
                    return no_such_model(model, &infos, near);
                }
                None => {
                    let message = format!("no server to ask for the model `{model}`: {}", self.nobody);
                    Fault::new(FaultKind::UnknownModel, message)
                }
            },
        };
        let fault = fault.hint("set ANTHROPIC_API_KEY, OPENAI_API_KEY or another vendor's key; or OPENAI_BASE_URL");
        fault.hint("start a local server such as Ollama; or `--model tour`, which needs nothing")
    }
}

/// A model of a server that may have more than it lists, and the level behind its name.
fn by_name(server: &Client, text: &str, loose: bool) -> (String, Option<Arc<str>>) {
    if !loose {
        return (text.to_owned(), None);
    }
    let known = server.known();
    match pick::find(&known, None, text, true) {
        Pick::One(info, level) => (info.slug.to_string(), level.map(Arc::from)),
        Pick::Many | Pick::None => {
            let (name, level) = pick::split_level(text);
            (name.to_owned(), level.map(Arc::from))
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
