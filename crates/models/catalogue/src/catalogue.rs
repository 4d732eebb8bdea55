//! Which model, and why: every source of models in one list, asked in one order. Commands, dialects and the engine get
//! their answers from here.
//!
//! A name is looked up in the order of [`Sources::in_order`], and a conversation goes to the first source that knows its
//! model. Where nobody names a model, [`choose`](crate::choose) goes round the same sources.

use std::sync::Arc;

use vocab::{Chat, Fault, FaultKind, Later, MODEL_NAME_CHARS_MAX, ModelInfo, Provider, check_model_name};

use crate::account_models::AccountSource;
use crate::auto::{Auto, AutoName, LocalServer};
use crate::built_in::{self, BuiltInModels};
use crate::configured::{AnyOfOpenAi, ConfiguredModels};
use crate::described::DescribedModels;
use crate::names::{self, ModelNames, NameContext};
use crate::server::ServerModels;
use crate::source::{Source, SourceKind, all};
use crate::sources_report::{SourceReport, Standing, standing};
use crate::{left_out, pick};

/// What a catalogue is made of.
pub(crate) struct Sources {
    pub(crate) described: DescribedModels,
    pub(crate) configured: ConfiguredModels,
    pub(crate) accounts: AccountSource,
    pub(crate) server: Option<ServerModels>,
    pub(crate) auto: Option<Auto>,
}

impl Sources {
    /// THE order. The first source that has a name is asked for its model; those further down take names that nobody
    /// above them has.
    fn in_order(self) -> Vec<Box<dyn Source>> {
        let Sources { mut described, configured, accounts, server, auto } = self;
        described.leave(configured.claimed());
        let any = configured.find("openai").map(AnyOfOpenAi::of);
        let mut sources: Vec<Box<dyn Source>> = vec![Box::new(BuiltInModels::default())];
        sources.extend(auto.clone().map(|auto| Box::new(AutoName(auto)) as Box<dyn Source>));
        sources.push(Box::new(described));
        sources.push(Box::new(configured));
        sources.push(Box::new(accounts));
        sources.extend(server.map(|server| Box::new(server) as Box<dyn Source>));
        sources.extend(auto.map(|auto| Box::new(LocalServer(auto)) as Box<dyn Source>));
        sources.extend(any.map(|openai| Box::new(openai) as Box<dyn Source>));
        sources
    }
}

pub struct Catalogue {
    sources: Vec<Box<dyn Source>>,
    names: ModelNames,
    /// Decides what the names stand for.
    context: NameContext,
    /// Models to ask instead of the one that was chosen by the name of several.
    chain: Option<FallbackChain>,
    /// Models that the user's own settings name, whether or not a list has them.
    named: Vec<String>,
    /// Files that describe providers which nobody could read: see [`left_out::unread`].
    unread: Vec<String>,
    /// Whether the tour stands in the list beside real models.
    lists_tour: bool,
    /// Others than the user name models here: of files only those are played that the user's own settings name.
    is_shared: bool,
}

/// A model, and the slugs of those to ask instead.
struct FallbackChain {
    model: Arc<str>,
    others: Arc<[Arc<str>]>,
}

impl Catalogue {
    pub(crate) fn new(sources: Sources, names: ModelNames, unread: Vec<String>, lists_tour: bool) -> Self {
        let configured = sources.configured.names().cloned().collect();
        let context = NameContext { configured, server: sources.server.is_some() };
        let named = names.slugs().map(|slug| pick::split_level(slug).0.to_owned()).collect();
        Self { sources: sources.in_order(), names, context, chain: None, named, unread, lists_tour, is_shared: false }
    }

    /// The settings name this model, too.
    pub(crate) fn name(&mut self, slug: &str) {
        self.named.push(slug.to_owned());
    }

    /// From now on others name models here, too.
    pub fn share(&mut self) {
        self.is_shared = true;
    }

    /// Whether whoever names models here may name this one: a file that is played as a model says what is done, and is read
    /// for that. Decided here for all ways to name one.
    pub fn may_name(&self, slug: &str) -> Result<(), Fault> {
        let same = |named: &String| built_in::bare(named).is_some_and(|named| Some(named) == built_in::bare(slug));
        if !self.is_shared || !config::is_script(slug) || self.named.iter().any(same) {
            return Ok(());
        }
        let text = "script:FILE names a file of the gateway's machine: its owner alone may";
        Err(Fault::new(FaultKind::UnknownModel, text))
    }

    /// A model by one of its own names.
    fn model(&self, slug: &str) -> Result<ModelInfo, Fault> {
        self.may_name(slug)?;
        for source in &self.sources {
            match source.resolve(slug) {
                Some(Ok(model)) if model.unlisted => {
                    // Who takes any name would take what is said to another server.
                    let unread = left_out::unread(slug, &self.unread).filter(|_| !names::is_of(slug, &model.provider));
                    if let Some(fault) = unread {
                        return Err(fault);
                    }
                    let unlisted = !self.named.iter().any(|named| **named == *model.slug || named == slug);
                    return Ok(ModelInfo { unlisted, ..model });
                }
                Some(model) => return model,
                None if source.owns(slug) => break,
                None => {}
            }
        }
        Err(left_out::unread(slug, &self.unread).unwrap_or_else(|| self.unknown(slug)))
    }

    /// Lists have always had another order than the lookup: what the user described comes first there, and the tour last.
    fn shown(&self) -> Vec<&dyn Source> {
        let mut sources: Vec<&dyn Source> = self.sources.iter().map(|source| &**source).collect();
        sources.sort_by_key(|source| source.kind());
        sources
    }

    /// What is known without asking anybody.
    pub fn known(&self) -> Vec<ModelInfo> {
        self.shown().iter().flat_map(|source| source.known()).collect()
    }

    /// Where models come from.
    pub fn sources_report(&self) -> Vec<SourceReport> {
        self.shown().iter().flat_map(|source| source.report()).collect()
    }

    /// The provider of a model and how things stand with it.
    pub fn standing(&self, slug: &str) -> (Standing, Option<Arc<str>>) {
        match self.resolve(slug) {
            Ok(model) if built_in::bare(slug).is_none() => {
                (standing(&model.provider, &self.sources_report()), Some(model.provider))
            }
            _ => (Standing::NoProvider, None),
        }
    }

    /// Whether there is anybody to ask but the built-in tour: somebody who is configured, or a server on this machine.
    pub async fn has_any(&self) -> bool {
        if self.sources_report().iter().any(|source| !source.failed) {
            return true;
        }
        all(self.sources.iter().map(|source| source.answers()).collect()).await.contains(&true)
    }

    /// The servers behind all sources, for who wants to know whether they answer.
    pub(crate) fn servers(&self) -> Vec<(Arc<str>, Result<providers::Client, Fault>)> {
        self.shown().iter().flat_map(|source| source.servers()).collect()
    }

    /// The name of a model here, from how files name it: by provider and id.
    pub fn slug(&self, provider: &str, id: &str) -> Arc<str> {
        let ours = self.shown().iter().find_map(|source| source.slug(provider, id));
        ours.unwrap_or_else(|| format!("{provider}/{id}").into())
    }

    /// Whether a server takes names that nobody lists.
    pub(crate) fn takes_any_name(&self) -> bool {
        self.context.server
    }

    /// `model` was chosen as the first of these; the others are asked when it cannot answer.
    pub(crate) fn chain(&mut self, model: &str, slugs: &[String]) {
        let Ok(chosen) = self.resolve(model) else { return };
        self.chain = Some(FallbackChain { model: chosen.slug.clone(), others: self.others(&chosen, slugs) });
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

    fn unknown(&self, slug: &str) -> Fault {
        // A server's list is long, and it takes other names as well.
        let named = self.shown().into_iter().filter(|source| source.kind() != SourceKind::Server);
        let built_in = built_in::names().into_iter().filter(|it| self.may_name(&it.slug).is_ok());
        let models: Vec<ModelInfo> = named.flat_map(|source| source.known()).chain(built_in).collect();
        let names = pick::names(models.iter());
        let mut fault = Fault::new(FaultKind::UnknownModel, format!("unknown model: {slug} (there is: {names})"));
        if let Some(near) = self.names.nearest(slug, &self.known(), &self.context) {
            fault = fault.hint(format!("did you mean `{near}`?"));
        }
        fault.hint("set a vendor's key, or OPENAI_BASE_URL (and OPENAI_API_KEY), for other models")
    }
}

/// As [`MODEL_NAME_CHARS_MAX`], of `script:FILE`: it has the length that its path has.
const PATH_CHARS_MAX: usize = 4096;

impl Provider for Catalogue {
    fn resolve(&self, slug: &str) -> Result<ModelInfo, Fault> {
        // Once for all: a source that looked past a blank would have the names of those that do not.
        let slug = slug.trim();
        let is_file = built_in::bare(slug).is_some();
        check_model_name(slug, if is_file { PATH_CHARS_MAX } else { MODEL_NAME_CHARS_MAX })?;
        if let Some(meant) = self.names.meant(slug, &self.context) {
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
            let mut sources = self.shown();
            // The server that the user has named leads the list of everything.
            sources.sort_by_key(|source| source.kind() != SourceKind::Server);
            let asked = all(sources.iter().map(|source| source.models()).collect()).await;
            let mut answers: Vec<_> = sources.into_iter().zip(asked).collect();
            let tour = answers.pop_if(|(source, _)| source.kind() == SourceKind::BuiltIn);
            let is_alone = answers.iter().all(|(_, listed)| listed.as_ref().map_or(true, Vec::is_empty));
            let mut models = Vec::new();
            for (source, listed) in answers {
                models.extend(match listed {
                    Ok(models) => models,
                    Err(fault) if is_alone => return Err(fault),
                    // A server that is down must not hide the models of others.
                    Err(_) => source.known(),
                });
            }
            // Where there is nothing else, it is what there is.
            if let Some((_, tour)) = tour.filter(|_| self.lists_tour || (models.is_empty() && !self.takes_any_name())) {
                models.extend(tour?);
            }
            Ok(models)
        })
    }

    fn chat(&self, model: &ModelInfo) -> Result<Box<dyn Chat>, Fault> {
        let chat = self.sources.iter().find_map(|source| source.chat(model));
        chat.unwrap_or_else(|| Err(self.unknown(&model.slug)))
    }
}
