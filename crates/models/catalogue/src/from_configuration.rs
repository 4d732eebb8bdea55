//! What the user's configuration, the agent directory and the environment say about models, for every front end alike.

use std::path::Path;

use config::{Configuration, agent};
use providers::Secret;
use providers::detect::{CANDIDATES, Env, OPENAI_URL};
use vocab::Keyring;

use crate::account_keys::AccountSettings;
use crate::names::ModelNames;
use crate::owned_keys::OwnedKeys;
use crate::pairing;
use crate::settings::{Lookout, ModelSettings, Wanted};
use crate::vendors::gather;

/// The settings, and secrets that they lead to. What is wrong with a file becomes a warning of the configuration.
pub fn from_configuration(
    config: &mut Configuration,
    agent_dir: &Path,
    note: fn(&str),
) -> (ModelSettings, Vec<Secret>) {
    let described = agent::models(agent_dir, &config::process_env);
    config.warnings.extend(described.notes.iter().cloned());
    let elsewhere = base_url(config);
    let gathered = gather(&config::process_env, config.providers(), elsewhere.is_some());
    config.warnings.extend(gathered.notes);
    let env = Env { base_url: elsewhere, ..Env::read() };
    let text = |text: std::ffi::OsString| text.into_string().ok();
    let variables = std::env::vars_os().filter_map(|(name, value)| Some((text(name)?, text(value)?)));
    let owned_keys = OwnedKeys::of(variables);
    config.warnings.extend(pairing::warnings(&described.providers, &gathered.providers, &env, &owned_keys));
    let settings = ModelSettings {
        wanted: Wanted {
            model: config.model().map(str::to_owned),
            suggested: config.suggestion(),
            ..Wanted::default()
        },
        described,
        providers: gathered.providers,
        left_out: gathered.left_out,
        env,
        candidates: CANDIDATES.to_vec(),
        accounts: accounts(config),
        names: ModelNames { aliases: config.slugs("aliases").to_vec(), tiers: config.slugs("tiers").to_vec() },
        lookout: Lookout::Later,
        api_key: None,
        known_models: config.known_models(),
        default_context_window: config.context_window(),
        idle_timeout_ms: config.idle_timeout_s().map(|seconds| seconds.saturating_mul(1000)),
        cache: None,
        keyring: Keyring::default(),
        owned_keys,
        note,
    };
    (settings, gathered.secrets)
}

/// A server instead of OpenAI's own, which is a vendor like any other.
fn base_url(config: &Configuration) -> Option<String> {
    let own = |url: &&str| url.trim().trim_end_matches('/').eq_ignore_ascii_case(OPENAI_URL);
    config.base_url().filter(|url| !own(url)).map(str::to_owned)
}

/// Addresses from the configuration, secrets from the environment alone.
fn accounts(config: &Configuration) -> AccountSettings {
    let secret = |name: &str| config::process_env(name).as_deref().and_then(Secret::new);
    AccountSettings {
        openai_issuer: config.account("openai_issuer"),
        openai_url: config.account("openai_url"),
        openai_api: config.account("openai_api"),
        openai_usage_url: config.account("openai_usage_url"),
        antigravity_issuer: config.account("antigravity_issuer"),
        antigravity_url: config.account("antigravity_url"),
        antigravity_client_id: config.account("antigravity_client_id"),
        antigravity_client_secret: secret("TILLERMAN_ANTIGRAVITY_CLIENT_SECRET"),
        oauth_port: config.oauth_port(),
        openrouter_url: config.account("openrouter_url"),
        exa_url: config.account("exa_url"),
        openrouter_key: secret("OPENROUTER_API_KEY"),
        exa_key: secret("EXA_API_KEY"),
        environment: ::accounts::Environment::system(),
    }
}
