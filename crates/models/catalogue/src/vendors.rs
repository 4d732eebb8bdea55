//! Model servers that are there without being looked for: vendors whose key is known, and those of `[providers.NAME]`. Pure:
//! from variables and settings to a list, in the order in which one of them becomes the default.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use net::KeyHeader;
use providers::{Api, Compat, Secret, models, openrouter};
use vocab::ModelInfo;

use config::agent::Word;
use config::{ConfiguredModel, Env, ProviderEntry};

use crate::left_out::LeftOut;

/// A vendor, and the variables that lead to it.
pub struct KeyedVendor {
    pub name: &'static str,
    /// With its key, and how that one is sent where it is not as usual. The first that is set counts.
    pub keys: &'static [(&'static str, Option<KeyHeader>)],
    /// With another address.
    pub urls: &'static [&'static str],
}

/// In this order one becomes the default. What they serve, and where, is in [`providers::models`].
pub const KEYED_VENDORS: [KeyedVendor; 8] = [
    KeyedVendor {
        name: "anthropic",
        keys: &[("ANTHROPIC_API_KEY", None), ("ANTHROPIC_AUTH_TOKEN", Some(KeyHeader::Bearer))],
        urls: &["ANTHROPIC_BASE_URL"],
    },
    // OPENAI_BASE_URL leads to another server, which speaks Chat Completions.
    KeyedVendor { name: "openai", keys: &[("OPENAI_API_KEY", None)], urls: &[] },
    KeyedVendor {
        name: "google",
        keys: &[("GEMINI_API_KEY", None), ("GOOGLE_API_KEY", None)],
        urls: &["GOOGLE_GEMINI_BASE_URL"],
    },
    KeyedVendor { name: openrouter::NAME, keys: &[("OPENROUTER_API_KEY", None)], urls: &["OPENROUTER_BASE_URL"] },
    KeyedVendor { name: "deepseek", keys: &[("DEEPSEEK_API_KEY", None)], urls: &["DEEPSEEK_BASE_URL"] },
    KeyedVendor { name: "xai", keys: &[("XAI_API_KEY", None)], urls: &["XAI_BASE_URL"] },
    KeyedVendor { name: "mistral", keys: &[("MISTRAL_API_KEY", None)], urls: &["MISTRAL_BASE_URL"] },
    KeyedVendor { name: "groq", keys: &[("GROQ_API_KEY", None)], urls: &["GROQ_BASE_URL"] },
];

/// The vendor of this name.
pub fn keyed_vendor(name: &str) -> Option<&'static KeyedVendor> {
    KEYED_VENDORS.iter().find(|vendor| vendor.name.eq_ignore_ascii_case(name))
}

/// What the built-in table knows of a model: by a short name, by `VENDOR/ID`, or by its id. Whether it can be asked is another matter.
pub fn built_in(name: &str) -> Option<ModelInfo> {
    let by_alias = || models::alias(name).map(|(vendor, facts)| (vendor, facts.id));
    let by_slug = || {
        let (vendor, id) = name.split_once('/')?;
        let vendor = models::vendor(vendor)?;
        Some((vendor, vendor.find(id)?.id))
    };
    let by_id = || models::VENDORS.iter().find_map(|vendor| Some((vendor, vendor.find(name)?.id)));
    let (vendor, id) = by_alias().or_else(by_slug).or_else(by_id)?;
    let info = vendor.infos().into_iter().find(|info| *info.id == *id)?;
    Some(ModelInfo { slug: format!("{}/{id}", vendor.name).into(), ..info })
}

/// Where a key comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeyOrigin {
    /// This variable.
    Env(String),
    /// The command line.
    Flag,
    File(PathBuf),
    Command,
    /// There is none.
    Keyless,
}

impl fmt::Display for KeyOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyOrigin::Env(name) => write!(f, "{name} is set"),
            KeyOrigin::Flag => f.write_str("--api-key is given"),
            KeyOrigin::File(path) => write!(f, "its key is in {}", path.display()),
            KeyOrigin::Command => f.write_str("its secret_command is configured"),
            KeyOrigin::Keyless => f.write_str("it is configured, without a key"),
        }
    }
}

/// One server that can be asked.
#[derive(Clone, Debug)]
pub struct Provided {
    pub name: Arc<str>,
    pub api: Api,
    pub base_url: String,
    /// The address stands in the user's table of this provider, so what stands beside it is meant for that very server.
    pub is_own_address: bool,
    pub key: Option<Word>,
    pub key_header: Option<KeyHeader>,
    /// The variable that people set, for hints.
    pub key_name: Option<Arc<str>>,
    pub origin: KeyOrigin,
    pub headers: Vec<(String, Word)>,
    /// Named by `${NAME}` in its table.
    pub variables: Vec<String>,
    pub compat: Compat,
    pub models: Vec<ConfiguredModel>,
    pub ca_file: Option<PathBuf>,
}

impl Provided {
    /// A vendor that is known by nothing but the key of this run.
    pub(crate) fn flagged(name: &str) -> Option<Provided> {
        let vendor = keyed_vendor(name)?;
        let facts = models::vendor(name)?;
        let keyed = Keyed {
            key: None,
            header: None,
            origin: KeyOrigin::Flag,
            name: vendor.keys.first().map(|(name, _)| Arc::from(*name)),
        };
        Some(provided(vendor.name, facts.apis[0], facts.url.to_owned(), None, keyed))
    }

    /// What it is asked for when nobody names a model.
    pub fn default_model(&self) -> Option<&str> {
        let first = self.models.first().map(|model| model.slug.as_str());
        let table = || models::vendor(&self.name).map(|vendor| vendor.tiers.default);
        first.or_else(table).or((*self.name == *openrouter::NAME).then_some(OPENROUTER_DEFAULT))
    }
}

/// It chooses a model itself.
const OPENROUTER_DEFAULT: &str = "openrouter/auto";

/// What is there, and what is wrong with the rest, one line each.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    pub providers: Vec<Provided>,
    pub notes: Vec<String>,
    /// Of the rest, who cannot be asked.
    pub left_out: Vec<LeftOut>,
    /// Keys in the environment, also those that nobody asks for.
    pub secrets: Vec<Secret>,
}

/// Vendors in the order of the table, then the others in the order of the file. `elsewhere`: OpenAI's key goes to another
/// server.
pub fn gather(env: Env<'_>, entries: &[ProviderEntry], elsewhere: bool) -> Gathered {
    let mut gathered = Gathered::default();
    for vendor in &KEYED_VENDORS {
        let entry = entries.iter().find(|entry| entry.name.eq_ignore_ascii_case(vendor.name));
        let own = vendor.keys.iter().filter_map(|(name, header)| Some((*name, secret(env, name)?, *header)));
        let own: Vec<(&str, Secret, Option<KeyHeader>)> = own.collect();
        gathered.secrets.extend(own.iter().map(|(_, secret, _)| secret.clone()));
        let own = own.into_iter().next().filter(|_| !(elsewhere && vendor.name == "openai"));
        let known = known(env, vendor, entry, own);
        // Without a key a sign-in, a stored key or a server in OpenAI's place may stand for these two.
        let others_stand = matches!(vendor.name, "openai" | openrouter::NAME);
        if let Some(entry) = entry.filter(|_| known.is_none() && !others_stand) {
            let variable = entry.key_env.as_deref().unwrap_or(vendor.keys[0].0);
            gathered.left_out.push(LeftOut::keyless(vendor.name, variable));
        }
        gathered.providers.extend(known);
    }
    for entry in entries.iter().filter(|entry| keyed_vendor(&entry.name).is_none()) {
        match other(env, entry) {
            Some(provided) => gathered.providers.push(provided),
            None => {
                gathered.notes.push(format!("providers.{} has no base_url, so it adds no models", entry.name));
                gathered.left_out.push(LeftOut::configured(&entry.name, "it has no base_url"));
            }
        }
    }
    let named = entries.iter().filter_map(|entry| secret(env, entry.key_env.as_deref()?));
    let headers = entries.iter().flat_map(|entry| &entry.headers).filter_map(proof);
    gathered.secrets.extend(named.chain(headers));
    gathered
}

/// The value of a header, where it is known and to be kept from others.
pub(crate) fn proof((header, word): &(String, Word)) -> Option<Secret> {
    word.plain().filter(|value| net::is_key(header, value)).cloned()
}

fn secret(env: Env<'_>, name: &str) -> Option<Secret> {
    env(name).as_deref().and_then(Secret::new)
}

fn known(
    env: Env<'_>,
    vendor: &KeyedVendor,
    entry: Option<&ProviderEntry>,
    own: Option<(&str, Secret, Option<KeyHeader>)>,
) -> Option<Provided> {
    let facts = models::vendor(vendor.name);
    let own_url = facts.map_or(openrouter::URL, |facts| facts.url);
    let moved = vendor.urls.iter().find_map(|name| env(name).filter(|url| !url.trim().is_empty()));
    let said = moved.as_deref().or_else(|| entry?.base_url.as_deref());
    let (key, header, origin) = key(env, entry, own);
    if key.is_none() && entry.is_none_or(|entry| entry.base_url.is_none()) {
        return None;
    }
    let api = entry.and_then(|entry| entry.api).or(facts.map(|facts| facts.apis[0])).unwrap_or(Api::Completions);
    let base_url = completed(api, said.unwrap_or(own_url), own_url);
    let name = vendor.keys.first().map(|(name, _)| Arc::from(*name));
    let provided = provided(vendor.name, api, base_url, entry, Keyed { key, header, origin, name });
    Some(Provided { is_own_address: moved.is_none() && provided.is_own_address, ..provided })
}

/// One of the user's own.
fn other(env: Env<'_>, entry: &ProviderEntry) -> Option<Provided> {
    let api = entry.api.unwrap_or(Api::Completions);
    let base_url = completed(api, entry.base_url.as_deref()?, "");
    let (key, header, origin) = key(env, Some(entry), None);
    let name = entry.key_env.as_deref().map(Arc::from);
    Some(provided(&entry.name, api, base_url, Some(entry), Keyed { key, header, origin, name }))
}

struct Keyed {
    key: Option<Word>,
    header: Option<KeyHeader>,
    origin: KeyOrigin,
    name: Option<Arc<str>>,
}

fn provided(name: &str, api: Api, base_url: String, entry: Option<&ProviderEntry>, keyed: Keyed) -> Provided {
    Provided {
        name: name.into(),
        api,
        base_url,
        is_own_address: entry.is_some_and(|entry| entry.base_url.is_some()),
        key: keyed.key,
        key_header: keyed.header,
        key_name: keyed.name,
        origin: keyed.origin,
        headers: entry.map(|entry| entry.headers.clone()).unwrap_or_default(),
        variables: entry.map(|entry| entry.variables.clone()).unwrap_or_default(),
        compat: entry.map(|entry| entry.compat.clone()).unwrap_or_default(),
        models: entry.map(|entry| entry.models.clone()).unwrap_or_default(),
        ca_file: entry.and_then(|entry| entry.ca_file.clone()),
    }
}

/// A variable first: `key_env`, or the vendor's own where none is named; then a command, then a file.
fn key(
    env: Env<'_>,
    entry: Option<&ProviderEntry>,
    own: Option<(&str, Secret, Option<KeyHeader>)>,
) -> (Option<Word>, Option<KeyHeader>, KeyOrigin) {
    let named = entry.and_then(|entry| entry.key_env.as_deref());
    let variable = match named {
        Some(name) => secret(env, name).map(|secret| (name, secret, None)),
        None => own,
    };
    if let Some((name, secret, header)) = variable {
        return (Some(Word::Variable(name.to_owned(), secret)), header, KeyOrigin::Env(name.to_owned()));
    }
    if let Some(command) = entry.and_then(|entry| entry.secret_command.clone()) {
        return (Some(Word::Command(command)), None, KeyOrigin::Command);
    }
    match entry.and_then(|entry| entry.key_file.clone()) {
        Some(file) => (Some(Word::File(file.clone())), None, KeyOrigin::File(file)),
        None => (None, None, KeyOrigin::Keyless),
    }
}

/// An address as vendors and their tools write it often ends before the version. One without a path gets the vendor's own;
/// Anthropic's clients add the version to whatever they are given.
pub(crate) fn completed(api: Api, url: &str, own_url: &str) -> String {
    let path = |url: &str| -> Option<String> {
        let rest = url.split_once("://")?.1;
        Some(rest.split_once('/').map_or(String::new(), |(_, path)| path.trim_end_matches('/').to_owned()))
    };
    let url = url.trim().trim_end_matches('/');
    let (Some(said), own) = (path(url), path(own_url).unwrap_or_default()) else { return url.to_owned() };
    let version = |part: &str| part.strip_prefix('v').is_some_and(|it| it.starts_with(|c: char| c.is_ascii_digit()));
    let has_version = said.rsplit('/').next().is_some_and(version);
    match api {
        _ if said.is_empty() && !own.is_empty() => format!("{url}/{own}"),
        Api::Anthropic if !has_version => format!("{url}/v1"),
        Api::Gemini if said.is_empty() => format!("{url}/v1beta"),
        Api::Completions | Api::Responses | Api::Anthropic | Api::Gemini => url.to_owned(),
    }
}

#[cfg(test)]
pub(crate) mod tests;
