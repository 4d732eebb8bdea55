//! Which keys go to another machine by plain http: those that the user's own files have beside its very address, and
//! `OPENAI_API_KEY` with `OPENAI_BASE_URL`. Such a server in one's own network is common, and whoever wrote the two together has
//! said where the key goes. No other key does; the client refuses ([`providers::Config::is_paired`]). A key that is somebody's is
//! told by its value as well as by the name of its variable: `${NAME}` in a file is a plain word by the time it is here.

use config::agent::{CustomProvider, Word};
use net::address::open_way;
use providers::detect::{Env, provider_name};

use crate::owned_keys::{OwnedKeys, is_vendors};
use crate::vendors::Provided;

/// Whether naming these beside an address says that they are meant for it. The variable of a vendor is not: its key is that
/// vendor's, whoever else is told to take it, and in whatever words.
fn are_meant<'a>(words: impl IntoIterator<Item = &'a Word>, kept: &OwnedKeys) -> bool {
    let holds_one = |word: &Word| word.plain().is_some_and(|value| kept.whose(value.expose().as_bytes()).is_some());
    words.into_iter().all(|word| !matches!(word, Word::Variable(name, _) if is_vendors(name)) && !holds_one(word))
}

/// Whether one of these words names a variable: it is that one's value, or a command with its name among the words.
fn names<'a>(words: impl IntoIterator<Item = &'a Word>, variable: &str) -> bool {
    words.into_iter().any(|word| match word {
        Word::Variable(name, _) => name == variable,
        Word::Command(line) => {
            let mut words = line.expose().split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            words.any(|word| word == variable)
        }
        Word::Plain(_) | Word::File(_) => false,
    })
}

fn headers(headers: &[(String, Word)]) -> impl Iterator<Item = &Word> {
    headers.iter().map(|(_, word)| word)
}

/// What does not go to a provider of the models file of the agent directory: the user has not named it there.
pub(crate) fn kept_from_described(key: Option<&Word>, beside: &[(String, Word)], owned: &OwnedKeys) -> OwnedKeys {
    owned.not_named(|variable| names(key.into_iter().chain(headers(beside)), variable))
}

/// The same for a table of the configuration.
pub(crate) fn kept_from_configured(provided: &Provided, owned: &OwnedKeys) -> OwnedKeys {
    let words = || provided.key.iter().chain(headers(&provided.headers));
    owned.not_named(|variable| provided.variables.iter().any(|it| it == variable) || names(words(), variable))
}

/// Of a provider in the models file of the agent directory: the key of the provider, and the headers of one of its models.
pub(crate) fn described(key: Option<&Word>, beside: &[(String, Word)], owned: &OwnedKeys) -> bool {
    are_meant(key.into_iter().chain(headers(beside)), &kept_from_described(key, beside, owned))
}

/// Of a table of the configuration. An address from elsewhere is none that the user has put a key beside.
pub(crate) fn configured(provided: &Provided, owned: &OwnedKeys) -> bool {
    let words = provided.key.iter().chain(headers(&provided.headers));
    provided.is_own_address && are_meant(words, &kept_from_configured(provided, owned))
}

/// What people are told of a key that everybody on the way can read.
pub(crate) fn goes(name: &str, host: &str) -> String {
    format!("the key of {name} goes unencrypted to {host}, as you wrote the two together; https would hide it")
}

/// Whether there is something to send, and all of it is known: what a command prints may be refused yet.
fn are_known<'a>(words: impl IntoIterator<Item = &'a Word>) -> bool {
    let mut words = words.into_iter().peekable();
    words.peek().is_some() && words.all(|word| word.plain().is_some())
}

/// One line for each provider and host that gets a key unencrypted, without the key. Where a command prints it, or a file has
/// it, this is said when it goes ([`crate::keys::Withheld`]).
pub(crate) fn warnings(
    described_ones: &[CustomProvider],
    configured_ones: &[Provided],
    env: &Env,
    owned: &OwnedKeys,
) -> Vec<String> {
    let mut open: Vec<(&str, String)> = Vec::new();
    if let Some(url) = env.base_url.as_deref().filter(|_| env.api_key.is_some()) {
        open.extend(open_way(url).map(|host| (provider_name(url), host)));
    }
    for provider in described_ones {
        for model in &provider.models {
            let key = provider.key.as_ref();
            let is_known = are_known(key.into_iter().chain(headers(&model.headers)));
            let goes = is_known && described(key, &model.headers, owned);
            open.extend(open_way(&model.info.base_url).filter(|_| goes).map(|host| (&*provider.name, host)));
        }
    }
    for provided in configured_ones {
        let is_known = are_known(provided.key.iter().chain(headers(&provided.headers)));
        let goes = is_known && configured(provided, owned);
        open.extend(open_way(&provided.base_url).filter(|_| goes).map(|host| (&*provided.name, host)));
    }
    let mut lines: Vec<String> = Vec::new();
    for (name, host) in open {
        let line = goes(name, &host);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}
