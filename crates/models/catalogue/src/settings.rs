//! What a catalogue is built from.

use std::path::PathBuf;

use config::{Suggestion, agent};
use providers::detect::{Candidate, Env, settled};
use providers::{Config, Secret};
use vocab::{Keyring, ModelInfo};

use crate::account_keys::AccountSettings;
use crate::account_models::OPENAI;
use crate::left_out::LeftOut;
use crate::names::ModelNames;
use crate::owned_keys::OwnedKeys;
use crate::vendors::Provided;
use crate::{described, keys};

/// Everything that flags, files and the environment say about models.
pub struct ModelSettings {
    pub wanted: Wanted,
    /// Providers that the user described, in the agent directory.
    pub described: agent::DescribedModels,
    /// Vendors whose key is known, and what the configuration describes.
    pub providers: Vec<Provided>,
    /// What the configuration describes and nobody can ask.
    pub left_out: Vec<LeftOut>,
    /// The server that the environment and the user's configuration lead to.
    pub env: Env,
    /// Servers that may be running on this machine.
    pub candidates: Vec<Candidate>,
    pub accounts: AccountSettings,
    pub names: ModelNames,
    pub lookout: Lookout,
    /// Given on the command line, for the provider of the model that is chosen.
    pub api_key: Option<Secret>,
    pub known_models: Vec<ModelInfo>,
    pub default_context_window: Option<u64>,
    pub idle_timeout_ms: Option<u64>,
    /// Where lists of models are remembered; `None`: nowhere.
    pub cache: Option<PathBuf>,
    /// Learns every key that is sent.
    pub keyring: Keyring,
    /// What variables of vendors and others hold: see [`crate::pairing`].
    pub owned_keys: OwnedKeys,
    /// For one line to people, from the background.
    pub note: fn(&str),
}

impl ModelSettings {
    /// All keys and headers, as the user wrote them.
    pub fn key_words(&self) -> impl Iterator<Item = &agent::Word> {
        let described = self.described.providers.iter();
        let headers = described.clone().flat_map(|it| it.models.iter().flat_map(|model| &model.headers));
        let headers = headers.chain(self.providers.iter().flat_map(|it| &it.headers)).map(|(_, word)| word);
        let keys = described.filter_map(|it| it.key.as_ref());
        keys.chain(self.providers.iter().filter_map(|it| it.key.as_ref())).chain(headers)
    }

    /// Every secret in it that is known now. One that stands in a file is, if it can be read: whoever gets it later is told
    /// what is wrong.
    pub fn known_secrets(&self) -> Vec<Secret> {
        let filed = self.providers.iter().filter_map(|provided| match &provided.key {
            Some(agent::Word::File(path)) => keys::read(path).ok(),
            _ => None,
        });
        let given = self.env.api_key.iter().chain(&self.api_key).chain(self.accounts.secrets()).cloned();
        described::secrets(&self.described.providers).into_iter().chain(given).chain(filed).collect()
    }

    /// Where the list of a server is remembered.
    pub(crate) fn cache_file(&self, name: &str) -> Option<PathBuf> {
        self.cache.as_ref().map(|cache| cache.join(name))
    }

    /// What the settings say of every server.
    pub(crate) fn time_and_window(&self, config: &mut Config) {
        if let Some(window) = self.default_context_window {
            config.default_context_window = window;
        }
        if let Some(ms) = self.idle_timeout_ms {
            config.idle_timeout_ms = ms;
        }
    }

    /// Whether the environment or the configuration has a server or a key that stands for OpenAI.
    pub fn openai_stands(&self) -> bool {
        settled(&self.env).is_some() || self.providers.iter().any(|provided| &*provided.name == OPENAI)
    }
}

/// How a server on this machine is looked for, where nothing else is configured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lookout {
    /// The command that starts waits for it, for a fifth of a second at most.
    Wait,
    /// Nothing waits before the first prompt.
    Later,
}

/// Which model somebody asked for.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// By flag or configuration: it is this one or none.
    pub model: Option<String>,
    pub provider: Option<String>,
    /// The models that are gone round; the first of them is the one to start with.
    pub scope: Vec<String>,
    /// A habit, not a demand: provider and model, taken where they exist.
    pub usual: Option<(Option<String>, String)>,
    /// As controllers of the pi family name models: parts of names count, a level may stand behind them, the first
    /// described model is the default, and the tour does not stand beside real models.
    pub loose: bool,
    /// What a file that came with the code would like; see [`crate::suggest`].
    pub suggested: Option<Suggestion>,
}
