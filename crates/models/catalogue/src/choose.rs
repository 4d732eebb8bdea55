//! Which model a session starts with, and why. Touches the network only where nothing but a server's own list can tell.
//!
//! The sources are gone round twice: first for the model that somebody named or is used to; then, where that led nowhere,
//! for what stands in its place. The first source that has one ends it.

mod faults;
mod local;
mod named;
mod offered;

use std::sync::Arc;
use std::time::Duration;

use net::address::shown;
use providers::Client;
use providers::detect::{Choice, Server, settled};
use vocab::{Fault, ModelInfo, Provider};

use crate::account_models::{AccountModels, AccountSource};
use crate::auto::Auto;
use crate::built_in::is_built_in;
use crate::catalogue::{Catalogue, Sources};
use crate::configured::ConfiguredModels;
use crate::described::DescribedModels;
use crate::names::{AUTO, MeantModels, NameContext};
use crate::server::{ServerClients, ServerModels};
use crate::settings::ModelSettings;
use crate::source::SourceKind;
use crate::{pick, suggest};

/// Who is asked for a model by its name, or for the usual one, in this order. Described and configured providers are
/// asked together: a part of a name has to be unique among all their models.
const BY_NAME: [SourceKind; 4] = [SourceKind::BuiltIn, SourceKind::Local, SourceKind::Described, SourceKind::Account];

/// Who is asked then. A server that the environment names comes first, and takes any name; then a vendor whose key is
/// known, an account of the user's, what the user described, a server on this machine, and the tour.
const IN_ITS_PLACE: [SourceKind; 6] = [
    SourceKind::Server,
    SourceKind::Configured,
    SourceKind::Account,
    SourceKind::Described,
    SourceKind::Local,
    SourceKind::BuiltIn,
];

/// How long a server may take to list its models the very first time; afterwards the list is remembered.
const CATALOGUE_TIME_MAX: Duration = Duration::from_millis(1500);
/// The same where somebody speaks to us as soon as we are started, or where the model is named and the list tells only its
/// window. After that we start without it: a prompt asks again.
const LIST_PATIENCE: Duration = Duration::from_millis(300);

/// The model to start with, and the catalogue that has it.
pub struct Chosen {
    pub catalogue: Catalogue,
    pub model: String,
    pub thinking: Option<Arc<str>>,
    pub scope: Vec<Arc<str>>,
    /// Why it is this one, in one line.
    pub reason: String,
    /// For stderr, one line each.
    pub notes: Vec<String>,
}

/// The model that was asked for, or the best there is, and why.
pub async fn choose(settings: &ModelSettings, accounts: &Arc<AccountModels>) -> Result<Chosen, Fault> {
    let mut chooser = Chooser::new(settings, accounts);
    let asked = chooser.asked();
    let choice = chooser.choice(&asked).await?;
    let mut chosen = chooser.finish(choice)?;
    // A server that takes any name was asked for one that may be another's.
    if asked.model().is_some() && !settings.described.unread.is_empty() {
        chosen.catalogue.resolve(&chosen.model)?;
    }
    suggest::follow(&settings.wanted, &mut chosen);
    chosen.catalogue.name(&chosen.model);
    Ok(chosen)
}

impl Chooser<'_> {
    async fn choice(&mut self, asked: &AskedModel) -> Result<FoundModel, Fault> {
        for kind in BY_NAME {
            let found = match kind {
                SourceKind::BuiltIn => self.built_in_by_name(asked)?,
                SourceKind::Local => self.local_by_name(asked).await?,
                SourceKind::Described | SourceKind::Configured => self.known_by_name(asked)?,
                SourceKind::Account => self.account_by_name(asked).await?,
                SourceKind::Server => None,
            };
            if let Some(choice) = found {
                return Ok(choice);
            }
        }
        for kind in IN_ITS_PLACE {
            let found = match kind {
                SourceKind::Server => self.settled_server(asked).await?,
                SourceKind::Configured => self.vendor(asked)?,
                SourceKind::Account => self.first_of_accounts(asked).await?,
                SourceKind::Described => self.first_described(asked),
                SourceKind::Local => self.local_server(asked).await?,
                SourceKind::BuiltIn => self.tour(asked),
            };
            if let Some(choice) = found {
                return Ok(choice);
            }
        }
        Err(self.nobody_has_it(asked))
    }
}

/// What was asked for, after short names were looked up.
struct AskedModel {
    model: Option<String>,
    provider: Option<String>,
}

impl AskedModel {
    fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }
    fn provider(&self) -> Option<&str> {
        self.provider.as_deref()
    }
}

/// A model, before there is a catalogue.
struct FoundModel {
    model: String,
    provider: Arc<str>,
    thinking: Option<Arc<str>>,
    reason: String,
    /// Where it is asked, if that is neither a provider of the settings nor the server of the environment.
    server: Option<Client>,
    /// What will answer is not known yet.
    auto: Option<Auto>,
    /// The key of this run is for its provider, if that one is described.
    takes_key: bool,
    /// The tour was asked for, so it stands in lists, too.
    is_tour: bool,
}

impl FoundModel {
    /// Of a provider that has a name.
    fn of(info: &ModelInfo, thinking: Option<&str>, reason: String) -> Self {
        Self {
            model: info.slug.to_string(),
            provider: info.provider.clone(),
            thinking: thinking.map(Arc::from),
            reason,
            server: None,
            auto: None,
            takes_key: true,
            is_tour: false,
        }
    }

    /// The same, and whose server answers.
    fn served(info: &ModelInfo, thinking: Option<&str>, reason: &str) -> Self {
        Self::of(info, thinking, format!("{reason}, served by {} at {}", info.provider, shown(&info.base_url)))
    }

    /// By a name that only its server can make something of.
    fn named(model: String, provider: Arc<str>, reason: String) -> Self {
        Self { provider, takes_key: false, model, ..Self::of(&ModelInfo::named("", 0), None, reason) }
    }
}

struct Chooser<'a> {
    settings: &'a ModelSettings,
    accounts: &'a Arc<AccountModels>,
    configured: ConfiguredModels,
    notes: Vec<String>,
    /// What was asked for stands for these.
    meant: Option<MeantModels>,
    /// Why nobody answers on this machine, once it was looked for.
    nobody: String,
}

impl<'a> Chooser<'a> {
    fn new(settings: &'a ModelSettings, accounts: &'a Arc<AccountModels>) -> Self {
        let mut configured = ConfiguredModels::new(settings);
        let notes = std::mem::take(&mut configured.notes);
        Self { settings, accounts, configured, notes, meant: None, nobody: String::new() }
    }

    /// Short names are the user's first, then what is built in; a tier that the user calls `default` is one.
    fn asked(&mut self) -> AskedModel {
        let ModelSettings { wanted, names, .. } = self.settings;
        let blank =
            |text: &Option<String>| text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
        let (mut model, provider) = (blank(&wanted.model), blank(&wanted.provider));
        let by_tier = names.has_tier("default") && wanted.usual.is_none() && wanted.scope.is_empty();
        let asked = model.clone().or_else(|| by_tier.then(|| "default".to_owned()));
        let context = self.name_context();
        if let Some(meant) = asked.filter(|_| provider.is_none()).and_then(|asked| names.meant(&asked, &context)) {
            let known = meant.slugs.iter().find(|slug| self.is_known(slug));
            model = known.or(meant.slugs.first()).cloned();
            self.meant = Some(meant);
        }
        AskedModel { model, provider }
    }

    fn name_context(&self) -> NameContext {
        NameContext { configured: self.configured.names().cloned().collect(), server: self.settled().is_some() }
    }

    /// The server that the environment leads to.
    fn settled(&self) -> Option<Server> {
        settled(&self.settings.env).and_then(|Choice { server, .. }| server)
    }

    /// Whether this is somebody's model, without asking anybody.
    fn is_known(&self, slug: &str) -> bool {
        let name = pick::split_level(slug).0;
        let prefix = name.split_once('/').map(|(prefix, _)| prefix);
        is_built_in(name)
            || name == AUTO
            || self.described().any(|known| *known.slug == *name)
            || self.configured.named(name).is_some()
            || prefix.is_some_and(|prefix| self.account_source(None).names().iter().any(|it| **it == *prefix))
    }

    fn described(&self) -> impl Iterator<Item = &'a ModelInfo> {
        self.settings.described.providers.iter().flat_map(|provider| &provider.models).map(|model| &model.info)
    }

    /// Models of described providers, and of configured ones where no server takes every name.
    fn infos(&self, model: Option<&str>) -> Vec<ModelInfo> {
        let named = model.and_then(|model| self.configured.find(model.split_once('/')?.0)).is_some();
        let all = named || self.settled().is_none();
        self.described().cloned().chain(self.configured.known().into_iter().filter(|_| all)).collect()
    }

    /// The user's accounts beside a server of this name.
    fn account_source(&self, server: Option<&str>) -> AccountSource {
        let described = &self.settings.described.providers;
        let taken = |name: &str| described.iter().any(|it| *it.name == *name) || self.configured.find(name).is_some();
        AccountSource::new(self.accounts.clone(), server, taken)
    }

    /// How the model was named, for people.
    fn by_name(&self) -> String {
        self.meant.as_ref().map_or_else(|| "asked for by name".to_owned(), |meant| meant.how.clone())
    }

    fn client(&self, server: &Server) -> Result<Client, Fault> {
        ServerClients::of(self.settings).client(server)
    }

    /// The catalogue around the choice.
    fn finish(mut self, choice: FoundModel) -> Result<Chosen, Fault> {
        let FoundModel { model, provider, thinking, reason, server, auto, takes_key, is_tour } = choice;
        // A server that the environment names stays within reach, whatever is asked first.
        let server = match server {
            Some(server) => Some(server),
            None => self.settled().map(|server| self.client(&server)).transpose()?,
        };
        let ModelSettings { wanted, described, names, api_key, idle_timeout_ms, keyring, owned_keys, note, .. } =
            self.settings;
        let unread = described.unread.clone();
        let key = api_key.as_ref().filter(|_| takes_key).map(|key| (&*provider, key));
        let mut described =
            DescribedModels::new(&described.providers, key, *idle_timeout_ms, keyring, (owned_keys, *note));
        described.server = server.clone();
        let accounts = self.account_source(server.as_ref().map(|server| &**server.provider()));
        self.configured.beside_server = server.is_some();
        let is_searching = auto.is_some() && server.is_none();
        let sources =
            Sources { described, configured: self.configured, accounts, server: server.map(ServerModels), auto };
        let mut catalogue = Catalogue::new(sources, names.clone(), unread, is_tour || !wanted.loose);
        // What is still looked for stands before nobody yet.
        if let Some(meant) = self.meant.as_ref().filter(|_| !is_searching) {
            catalogue.chain(&model, &meant.slugs);
        }
        let scope = scope(&catalogue, &wanted.scope, &mut self.notes);
        scope.iter().for_each(|slug| catalogue.name(slug));
        // An address with a key in it is not asked, but it is shown.
        let reason = owned_keys.all().scrub(&keyring.scrub(&reason)).into_owned();
        Ok(Chosen { catalogue, model, thinking, scope, reason, notes: self.notes })
    }
}

/// The models that a scope names; of patterns that fit nothing a note is made.
fn scope(catalogue: &Catalogue, patterns: &[String], notes: &mut Vec<String>) -> Vec<Arc<str>> {
    let known = catalogue.known();
    let (found, nothing) = pick::scope(&known, patterns);
    let mut scope: Vec<Arc<str>> = found.into_iter().map(|(info, _)| info.slug.clone()).collect();
    for pattern in nothing {
        // A server need not list what it serves.
        match catalogue.takes_any_name() && !pattern.contains(['*', '?', '/']) {
            true => scope.push(pick::split_level(pattern).0.into()),
            false => notes.push(format!("no model fits `{pattern}` of the scope")),
        }
    }
    scope
}
