//! A model that was asked for by its name or its provider's, and the one that is usual.

use std::sync::Arc;

use providers::detect::provider_name;
use vocab::{Fault, FaultKind, ModelInfo};

use super::faults::{ambiguous, unknown_model};
use super::{AskedModel, CATALOGUE_TIME_MAX, Chooser, FoundModel};
use crate::built_in::{TOUR, is_built_in};
use crate::configured::ConfiguredSource;
use crate::pick::{self, Pick};
use crate::source::Source;

impl Chooser<'_> {
    /// A name that only we can play is played by us.
    pub(super) fn built_in_by_name(&self, asked: &AskedModel) -> Result<Option<FoundModel>, Fault> {
        let tour = |model: &str| {
            let reason = "built in, asked for by name".to_owned();
            FoundModel { is_tour: true, ..FoundModel::named(model.to_owned(), TOUR.into(), reason) }
        };
        let of_tour = asked.provider() == Some(TOUR);
        match asked.model() {
            Some(model) if is_built_in(model) && (of_tour || asked.provider().is_none()) => Ok(Some(tour(model))),
            _ if !of_tour => Ok(None),
            model => match model.map_or("", |model| model.strip_prefix("tour/").unwrap_or(model)) {
                "" => Ok(Some(tour(TOUR))),
                model if is_built_in(model) => Ok(Some(tour(model))),
                model => Err(unknown_model(&format!("tour/{model}"), "tour, tour-mini")),
            },
        }
    }

    /// A described or configured model that is asked for, or usual, or the first where nothing else is known.
    pub(super) fn known_by_name(&self, asked: &AskedModel) -> Result<Option<FoundModel>, Fault> {
        let infos = self.infos(asked.model());
        match (asked.model(), asked.provider()) {
            (Some(model), provider) => self.picked(&infos, model, provider),
            (None, Some(provider)) => {
                let left_out = self.configured.left_out(provider);
                let usual = self.configured.find(provider).and_then(|source| source.default_model());
                let of_it = infos.into_iter().find(|info| info.provider.eq_ignore_ascii_case(provider));
                let reason = "the first model of the provider asked for";
                match (usual.or(of_it), left_out) {
                    (None, Some(left)) => Err(left.fault(provider)),
                    (found, _) => Ok(found.map(|info| FoundModel::served(&info, None, reason))),
                }
            }
            (None, None) => Ok(self.usual(&infos)),
        }
    }

    fn picked(&self, infos: &[ModelInfo], model: &str, provider: Option<&str>) -> Result<Option<FoundModel>, Fault> {
        // A provider that is left out has its name still, and a described one may have the same.
        let left_out = match provider {
            Some(provider) => self.configured.left_out(provider),
            None => self.configured.left_out_of(model),
        };
        let provider = provider.or(left_out.map(|left| &*left.name));
        let of = |info: &&ModelInfo| provider.is_some_and(|it| info.provider.eq_ignore_ascii_case(it));
        match pick::find(infos, provider, model, self.settings.wanted.loose) {
            Pick::One(info, level) => Ok(Some(FoundModel::served(info, level, &self.by_name()))),
            Pick::Many => Err(ambiguous(model, infos)),
            Pick::None => match self.source_of(model, provider) {
                // It may have more than anybody knows.
                Some((source, rest)) => {
                    let (id, level) = pick::split_level(rest);
                    Ok(Some(FoundModel::served(&source.resolve(id)?, level, &self.by_name())))
                }
                None => match left_out {
                    Some(left) => Err(left.fault(model)),
                    None if infos.iter().any(|info| of(&info)) => {
                        Err(unknown_model(model, &pick::names(infos.iter().filter(of))))
                    }
                    None => Ok(None),
                },
            },
        }
    }

    /// The first in the scope, or the usual one; where parts of names count, the first that is described.
    fn usual(&self, infos: &[ModelInfo]) -> Option<FoundModel> {
        let wanted = &self.settings.wanted;
        let usual = wanted.usual.as_ref().and_then(|(provider, model)| {
            match pick::find(infos, provider.as_deref(), model, false) {
                Pick::One(info, level) => Some((info.clone(), level)),
                Pick::Many => None,
                Pick::None => {
                    let (source, rest) = self.source_of(model, provider.as_deref())?;
                    let (id, level) = pick::split_level(rest);
                    Some((source.resolve(id).ok()?, level))
                }
            }
        });
        let (scope, _) = pick::scope(infos, &wanted.scope);
        if let Some(first) = scope.first() {
            let usual = usual.and_then(|(usual, _)| scope.iter().find(|(info, _)| info.slug == usual.slug));
            let (info, level) = usual.unwrap_or(first);
            return Some(FoundModel::served(info, *level, "first in the scope"));
        }
        if let Some((info, level)) = usual {
            return Some(FoundModel::served(&info, level, "the usual one"));
        }
        let first = self.described().next().filter(|_| wanted.loose && self.settled().is_none())?;
        Some(FoundModel::served(first, None, "the first described model"))
    }

    /// The configured provider that a name leads to, and its own name for the model.
    fn source_of<'t>(&self, model: &'t str, provider: Option<&str>) -> Option<(&ConfiguredSource, &'t str)> {
        let named = model.split_once('/');
        match provider {
            Some(provider) => {
                let rest =
                    named.filter(|(name, _)| name.eq_ignore_ascii_case(provider)).map_or(model, |(_, rest)| rest);
                Some((self.configured.find(provider)?, rest))
            }
            None => named.and_then(|(name, rest)| Some((self.configured.find(name)?, rest))),
        }
    }

    /// A model of an account that is asked for by its provider's name, which no described provider has.
    pub(super) async fn account_by_name(&self, asked: &AskedModel) -> Result<Option<FoundModel>, Fault> {
        let server = self.settled();
        let accounts = self.account_source(server.as_ref().map(|server| provider_name(&server.base_url)));
        let named = asked.provider().or_else(|| asked.model()?.split_once('/').map(|(name, _)| name));
        let Some(name) = named.and_then(|name| accounts.names().into_iter().find(|it| it.eq_ignore_ascii_case(name)))
        else {
            return Ok(None);
        };
        // A server that is down now may be up for the first prompt, if somebody knows what to ask it for.
        let listed = accounts.load(&name, CATALOGUE_TIME_MAX).await.unwrap_or_else(|| Ok(Vec::new()));
        let Some(model) = asked.model() else { return first_of(&name, listed?).map(Some) };
        let infos = listed.unwrap_or_default();
        let (slug, level) = match pick::find(&infos, Some(&name), model, self.settings.wanted.loose) {
            Pick::One(info, level) => (info.slug.to_string(), level),
            Pick::Many => return Err(ambiguous(model, &infos)),
            Pick::None => (format!("{name}/{}", model.strip_prefix(&format!("{name}/")).unwrap_or(model)), None),
        };
        let info = accounts.resolve(&slug).unwrap_or_else(|| Err(unknown_model(&slug, &pick::names(infos.iter()))))?;
        Ok(Some(FoundModel::served(&info, level, &self.by_name())))
    }
}

/// The first model that an account lists.
pub(super) fn first_of(name: &Arc<str>, listed: Vec<ModelInfo>) -> Result<FoundModel, Fault> {
    let first = listed.first().ok_or_else(|| {
        Fault::new(FaultKind::UnknownModel, format!("{name} lists no models")).hint("name one with --model")
    })?;
    Ok(FoundModel::served(first, None, "the first model of your account"))
}
