//! Which keys go to another machine by plain http: those that the user's own files have beside its very address, and
//! `OPENAI_API_KEY` with `OPENAI_BASE_URL`. Such a server in one's own network is common, and whoever wrote the two together has
//! said where the key goes. No other key does; the client refuses ([`providers::Config::is_paired`]). A vendor's key is told by
//! its value as well as by the name of its variable: `${NAME}` in a file is a plain word by the time it is here.

use config::agent::{CustomProvider, Word};
use net::address::open_way;
use providers::detect::{Env, provider_name};
use vocab::{Keyring, SCRUBBED_BYTES_MIN};

use crate::vendors::{KEYED_VENDORS, Provided};

/// The values of all vendors' variables. What is shorter than a key is a word that many servers take for one.
pub(crate) fn vendor_keys(env: config::Env<'_>) -> Keyring {
    let values = KEYED_VENDORS.iter().flat_map(|it| it.keys).filter_map(|(name, _)| env(name));
    values.filter(|value| value.trim().len() >= SCRUBBED_BYTES_MIN).collect()
}

/// Whether naming these beside an address says that they are meant for it. The variable of a vendor is not: its key is that
/// vendor's, whoever else is told to take it, and in whatever words.
fn are_meant<'a>(words: impl IntoIterator<Item = &'a Word>, vendors: &Keyring) -> bool {
    let is_vendors = |name: &String| KEYED_VENDORS.iter().flat_map(|it| it.keys).any(|(key, _)| key == name);
    let holds_one = |word: &Word| word.plain().is_some_and(|value| vendors.is_in(value.expose().as_bytes()));
    words.into_iter().all(|word| !matches!(word, Word::Variable(name, _) if is_vendors(name)) && !holds_one(word))
}

fn headers(headers: &[(String, Word)]) -> impl Iterator<Item = &Word> {
    headers.iter().map(|(_, word)| word)
}

/// Of a provider in the models file of the agent directory: the key of the provider, and the headers of one of its models.
pub(crate) fn described(key: Option<&Word>, beside: &[(String, Word)], vendors: &Keyring) -> bool {
    are_meant(key.into_iter().chain(headers(beside)), vendors)
}

/// Of a table of the configuration. An address from elsewhere is none that the user has put a key beside.
pub(crate) fn configured(provided: &Provided, vendors: &Keyring) -> bool {
    provided.is_own_address && are_meant(provided.key.iter().chain(headers(&provided.headers)), vendors)
}

/// One line for each provider and host that gets a key unencrypted, without the key.
pub(crate) fn warnings(
    described_ones: &[CustomProvider],
    configured_ones: &[Provided],
    env: &Env,
    vendors: &Keyring,
) -> Vec<String> {
    let mut open: Vec<(&str, String)> = Vec::new();
    if let Some(url) = env.base_url.as_deref().filter(|_| env.api_key.is_some()) {
        open.extend(open_way(url).map(|host| (provider_name(url), host)));
    }
    for provider in described_ones {
        for model in &provider.models {
            let proves = provider.key.is_some() || !model.headers.is_empty();
            let goes = proves && described(provider.key.as_ref(), &model.headers, vendors);
            open.extend(open_way(&model.info.base_url).filter(|_| goes).map(|host| (&*provider.name, host)));
        }
    }
    for provided in configured_ones {
        let goes = (provided.key.is_some() || !provided.headers.is_empty()) && configured(provided, vendors);
        open.extend(open_way(&provided.base_url).filter(|_| goes).map(|host| (&*provided.name, host)));
    }
    let mut lines: Vec<String> = Vec::new();
    for (name, host) in open {
        let line =
            format!("the key of {name} goes unencrypted to {host}, as you wrote the two together; https would hide it");
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}
