//! What the configuration says of the user's accounts, and the keys that stand for them. Touches nothing.

use std::sync::Arc;

use accounts::{Account, Key};
use accounts::{Auth, Environment, Issuer, safe_url};
use net::{Credentials, KnownCredentials};
use providers::Secret;
use vocab::{Fault, FaultKind, Later};

use crate::keys::LateKey;

/// What was set; the vendors' own addresses count where nothing is.
#[derive(Clone, Debug)]
pub struct AccountSettings {
    pub openai_issuer: Option<String>,
    /// Models of a signed-in account.
    pub openai_url: Option<String>,
    /// The format spoken there, by its name.
    pub openai_api: Option<String>,
    pub openai_usage_url: Option<String>,
    /// One base for accounts, tokens and profiles.
    pub antigravity_issuer: Option<String>,
    pub antigravity_url: Option<String>,
    pub antigravity_client_id: Option<String>,
    pub antigravity_client_secret: Option<Secret>,
    /// For the browser that comes back, instead of the vendors' own.
    pub oauth_port: Option<u16>,
    pub openrouter_url: Option<String>,
    /// From the environment; stored ones come first.
    pub openrouter_key: Option<Secret>,
    pub exa_key: Option<Secret>,
    pub exa_url: Option<String>,
    pub environment: Environment,
}

impl AccountSettings {
    fn auth(&self) -> accounts::AccountsConfig {
        let mut config = accounts::AccountsConfig::vendors(self.environment.clone());
        if let Some(base) = &self.openai_issuer {
            config.openai = Issuer::openai(base);
        }
        if let Some(base) = &self.openai_usage_url {
            config.openai_usage_url = accounts::usage_url(base);
        }
        if let Some(base) = &self.antigravity_issuer {
            config.antigravity = Issuer::google(base, base, base);
        }
        if let Some(base) = &self.antigravity_url {
            config.antigravity_url = base.clone();
        }
        if let Some(id) = &self.antigravity_client_id {
            config.antigravity.client_id = id.clone();
        }
        config.antigravity.client_secret = self.antigravity_client_secret.clone();
        if let Some(port) = self.oauth_port {
            config.openai.redirect.ports = vec![port];
            config.antigravity.redirect.ports = vec![port];
        }
        config
    }

    /// All secrets in it.
    pub fn secrets(&self) -> impl Iterator<Item = &Secret> {
        self.antigravity_client_secret.iter().chain(&self.openrouter_key).chain(&self.exa_key)
    }
}

/// An address that a key or token may be sent to.
pub fn checked(name: &str, url: &str) -> Result<String, Fault> {
    if safe_url(url) {
        return Ok(url.trim_end_matches('/').to_owned());
    }
    let message = format!("the address of {name} must be an https URL, or http on this machine");
    Err(Fault::new(FaultKind::Invalid, message))
}

/// A key of the user's: the one given for this run, the stored one, or that of the environment. Looked up each time, for
/// it can be set and removed while we run.
pub struct UserKey {
    pub(crate) auth: Auth,
    pub(crate) key: Key,
    pub(crate) given: Option<Secret>,
    pub(crate) environment: Option<Secret>,
    /// Where the configuration says it is.
    pub(crate) configured: Option<Arc<LateKey>>,
}

impl UserKey {
    pub async fn get(&self) -> Result<Option<Secret>, Fault> {
        if self.given.is_some() {
            return Ok(self.given.clone());
        }
        let stored = self.auth.key(self.key).await?.or_else(|| self.environment.clone());
        match (stored, &self.configured) {
            (None, Some(held)) => held.get().await.map(Some),
            (stored, _) => Ok(stored),
        }
    }

    /// Without waiting.
    pub fn is_there(&self) -> bool {
        let stored = || match self.key {
            Key::OpenRouter => self.auth.present().openrouter,
            Key::Exa => self.auth.present().exa,
        };
        self.given.is_some() || self.environment.is_some() || self.configured.is_some() || stored()
    }

    /// Name and variable.
    fn names(&self) -> (&'static str, &'static str) {
        match self.key {
            Key::OpenRouter => ("openrouter", "OPENROUTER_API_KEY"),
            Key::Exa => ("exa", "EXA_API_KEY"),
        }
    }

    /// Where it comes from, for people.
    pub(crate) fn origin(&self) -> String {
        let present = self.auth.present();
        let stored = match self.key {
            Key::OpenRouter => present.openrouter,
            Key::Exa => present.exa,
        };
        match () {
            () if self.given.is_some() => "--api-key is given".to_owned(),
            () if stored => "its key is stored".to_owned(),
            () if self.environment.is_some() => format!("{} is set", self.names().1),
            () => "its key is configured".to_owned(),
        }
    }

    pub fn missing(&self) -> Fault {
        let (name, variable) = self.names();
        Fault::new(FaultKind::Auth, format!("{name} api key is not configured")).hint(format!("set {variable}"))
    }
}

impl Credentials for UserKey {
    fn fetch(&self) -> Later<'_, Result<KnownCredentials, Fault>> {
        Box::pin(async {
            let key = self.get().await?.ok_or_else(|| self.missing())?;
            Ok(KnownCredentials { key: Some(key), headers: Vec::new() })
        })
    }
    fn is_live(&self) -> bool {
        true
    }
}

/// The token of a signed-in account, fresh for each request.
pub(crate) struct UserToken {
    pub(crate) auth: Auth,
    pub(crate) account: Account,
    /// The header in which the vendor wants to be told whose token it is, where it wants that.
    pub(crate) account_header: Option<&'static str>,
}

impl UserToken {
    /// An account whose id nobody told is left for the vendor to complain about.
    fn known(&self, token: Secret) -> KnownCredentials {
        let id = || self.auth.present().openai_account_id.as_deref().and_then(Secret::new);
        let header = self.account_header.and_then(|name| Some((name.to_owned(), id()?)));
        KnownCredentials { key: Some(token), headers: header.into_iter().collect() }
    }
}

impl Credentials for UserToken {
    fn fetch(&self) -> Later<'_, Result<KnownCredentials, Fault>> {
        Box::pin(async { self.auth.access_token(self.account).await.map(|token| self.known(token)) })
    }
    fn is_live(&self) -> bool {
        true
    }
    fn renewed(&self, used: &KnownCredentials) -> Later<'_, Result<Option<KnownCredentials>, Fault>> {
        let used = used.key.clone();
        Box::pin(async move {
            let Some(used) = used else { return Ok(None) };
            self.auth.refreshed_after_401(self.account, &used).await.map(|token| Some(self.known(token)))
        })
    }
}

/// The key to search the web with.
pub(crate) fn exa_key(settings: &AccountSettings, auth: &Auth) -> UserKey {
    UserKey { auth: auth.clone(), key: Key::Exa, given: None, environment: settings.exa_key.clone(), configured: None }
}

/// Of this run.
pub fn sign_ins(settings: &AccountSettings, config: &std::path::Path) -> Auth {
    Auth::new(settings.auth(), &config.join(DIRECTORY), Arc::new(accounts::SystemTimer))
}

/// Below the user's configuration; nothing else is in it.
const DIRECTORY: &str = "auth";

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Nothing is set, and no environment is read.
    pub(crate) fn none() -> AccountSettings {
        AccountSettings {
            openai_issuer: None,
            openai_url: None,
            openai_api: None,
            openai_usage_url: None,
            antigravity_issuer: None,
            antigravity_url: None,
            antigravity_client_id: None,
            antigravity_client_secret: None,
            oauth_port: None,
            openrouter_url: None,
            openrouter_key: None,
            exa_key: None,
            exa_url: None,
            environment: Environment(Arc::new(|_| None)),
        }
    }

    #[test]
    fn what_is_set_takes_the_vendors_place_and_nothing_else_does() {
        let usual = none().auth();
        assert!(usual.openai.token_url.starts_with("https://auth.openai.com/"));
        assert_eq!(usual.openai.redirect.ports, [1455]);
        let mut settings = none();
        settings.openai_issuer = Some("http://127.0.0.1:1/a/".into());
        settings.openai_usage_url = Some("http://127.0.0.1:2".into());
        settings.antigravity_issuer = Some("http://127.0.0.1:3".into());
        settings.antigravity_client_id = Some("client".into());
        settings.antigravity_client_secret = Secret::new("CANARY-secret");
        settings.oauth_port = Some(0);
        let config = settings.auth();
        assert_eq!(config.openai.token_url, "http://127.0.0.1:1/a/oauth/token");
        assert_eq!(config.openai_usage_url, "http://127.0.0.1:2/wham/usage");
        let google = &config.antigravity;
        assert_eq!(google.token_url, "http://127.0.0.1:3/token");
        assert_eq!(google.userinfo_url.as_deref(), Some("http://127.0.0.1:3/oauth2/v1/userinfo?alt=json"));
        assert_eq!((google.client_id.as_str(), &google.redirect.ports[..]), ("client", &[0][..]));
        assert_eq!(config.openai.redirect.ports, [0]);
        assert!(!format!("{settings:?} {config:?}").contains("CANARY"));
    }
}
