//! OpenAI's models for a signed-in ChatGPT account: where they are asked, in which format, and what that server wants
//! besides. Touches nothing.

use std::sync::Arc;

use accounts::Account;
use accounts::Auth;
use net::Late;
use providers::detect::OPENAI_URL;
use providers::models::CHATGPT;
use providers::{Api, Config, Listing};
use vocab::{Fault, FaultKind, ModelInfo};

use crate::account_keys::{AccountSettings, UserToken, checked};
use crate::configured::described;
use crate::settings::ModelSettings;

pub(crate) const OPENAI: &str = "openai";

/// Whose token it is; without it the server does not know which of a user's accounts pays.
const ACCOUNT: &str = "chatgpt-account-id";
/// Who asks, and for what: this server wants both.
const GREETING: [(&str, &str); 2] = [("originator", "tillerman"), ("openai-beta", "responses=experimental")];

pub(crate) fn config(setup: &ModelSettings, auth: &Auth) -> Result<Config, Fault> {
    let settings = &setup.accounts;
    let api = api(settings)?;
    let usual = if api == Api::Responses { CHATGPT.url } else { OPENAI_URL };
    let url = checked(OPENAI, settings.openai_url.as_deref().unwrap_or(usual))?;
    let account_header = (api == Api::Responses).then_some(ACCOUNT);
    let token = UserToken { auth: auth.clone(), account: Account::OpenAi, account_header };
    let mut config = super::config(setup, OPENAI, &url, Late(Arc::new(token)));
    config.api = api;
    if api == Api::Completions {
        config.models = setup.known_models.clone();
        return Ok(config);
    }
    config.models = own_models(setup);
    config.listing = Listing::Table(&CHATGPT);
    // Nothing is ever asked for that could be remembered.
    config.cache_file = None;
    config.greeting = GREETING.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
    config.compat.output_limit = Some(false);
    config.compat.instructions = Some(true);
    Ok(config)
}

/// What was said; else what the address says. One that ends in a version is one of OpenAI's own API, or like it: that was
/// the only kind that could be set before this server was spoken to, and Chat Completions was what it got.
fn api(settings: &AccountSettings) -> Result<Api, Fault> {
    let Some(name) = &settings.openai_api else {
        let versioned = settings.openai_url.as_deref().is_some_and(|url| url.trim_end_matches('/').ends_with("/v1"));
        return Ok(if versioned { Api::Completions } else { Api::Responses });
    };
    Api::parse(name.trim()).filter(|api| matches!(api, Api::Responses | Api::Completions)).ok_or_else(|| {
        let [responses, completions] = [Api::Responses, Api::Completions].map(Api::as_str);
        let message = format!("accounts.openai_api is {responses} or {completions}, not {name:?}");
        Fault::new(FaultKind::Invalid, message)
    })
}

/// Models of the configuration that are meant for it: with its name before theirs, or without any.
fn own_models(setup: &ModelSettings) -> Vec<ModelInfo> {
    let bare = setup.known_models.iter().filter(|model| !model.slug.contains('/')).cloned();
    bare.chain(described(setup, OPENAI, &[])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account_keys::tests::none;

    #[test]
    fn the_address_tells_the_format_unless_somebody_does() {
        let api = |url: Option<&str>, api: Option<&str>| {
            let (openai_url, openai_api) = (url.map(str::to_owned), api.map(str::to_owned));
            super::api(&AccountSettings { openai_url, openai_api, ..none() }).map_err(|fault| fault.message)
        };
        assert_eq!(api(None, None), Ok(Api::Responses));
        assert_eq!(api(Some("https://chatgpt.example/backend-api/codex/"), None), Ok(Api::Responses));
        assert_eq!(api(Some("https://api.openai.com/v1"), None), Ok(Api::Completions));
        assert_eq!(api(Some("http://127.0.0.1:1/v1/"), None), Ok(Api::Completions));
        assert_eq!(api(Some("http://127.0.0.1:1/v1"), Some("openai-responses")), Ok(Api::Responses));
        assert_eq!(api(None, Some(" openai-completions ")), Ok(Api::Completions));
        let refused = "accounts.openai_api is openai-responses or openai-completions, not \"anthropic-messages\"";
        assert_eq!(api(None, Some("anthropic-messages")), Err(refused.to_owned()));
    }
}
