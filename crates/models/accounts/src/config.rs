//! Where issuers are and how to speak with them. All of it is configuration; the defaults are what vendors publish.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::Account;
use vocab::{Fault, FaultKind, Secret};

/// Looks up an environment variable. The crate reads the environment nowhere else.
#[derive(Clone)]
pub struct Environment(pub Arc<Lookup>);

pub type Lookup = dyn Fn(&str) -> Option<String> + Send + Sync;

impl Environment {
    pub fn system() -> Self {
        Self(Arc::new(|name| std::env::var(name).ok()))
    }
    /// `None` also for a blank one.
    pub fn get(&self, name: &str) -> Option<String> {
        (self.0)(name).filter(|value| !value.trim().is_empty())
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Environment")
    }
}

#[derive(Clone, Debug)]
pub struct AccountsConfig {
    pub openai: Issuer,
    pub antigravity: Issuer,
    /// Where OpenAI tells how much of an account is used up.
    pub openai_usage_url: String,
    /// Antigravity's own API, without a path.
    pub antigravity_url: String,
    pub limits: Limits,
    pub environment: Environment,
    /// Whether a missing `DISPLAY` says anything; true on Linux.
    pub display_matters: bool,
}

impl AccountsConfig {
    /// The vendors' own addresses.
    pub fn vendors(environment: Environment) -> Self {
        Self {
            openai: Issuer::openai("https://auth.openai.com"),
            antigravity: Issuer::google(
                "https://accounts.google.com",
                "https://oauth2.googleapis.com",
                "https://www.googleapis.com",
            ),
            openai_usage_url: usage_url(OPENAI_USAGE_BASE),
            antigravity_url: ANTIGRAVITY_URL.into(),
            limits: Limits::default(),
            environment,
            display_matters: cfg!(target_os = "linux"),
        }
    }

    pub(crate) fn issuer(&self, account: Account) -> &Issuer {
        match account {
            Account::OpenAi => &self.openai,
            Account::Antigravity => &self.antigravity,
        }
    }
}

/// One issuer as this client knows it.
#[derive(Clone, Debug)]
pub struct Issuer {
    pub authorize_url: String,
    pub token_url: String,
    /// Where an email address and a name can be asked for.
    pub userinfo_url: Option<String>,
    /// How to sign in without a browser on this machine, if that is possible at all.
    pub device: Option<Device>,
    pub client_id: String,
    /// Some issuers give "installed" clients a secret that is none; it is sent to the token endpoint only.
    pub client_secret: Option<Secret>,
    pub scope: String,
    pub redirect: Redirect,
    /// More parameters of the authorisation URL, as they are.
    pub extra: Vec<(String, String)>,
}

/// Where the browser is sent back to. The listener is on loopback whatever the host is called here.
#[derive(Clone, Debug)]
pub struct Redirect {
    pub host: String,
    pub path: String,
    /// Tried in order; 0 is any free port. Vendors that compare the whole URI need theirs.
    pub ports: Vec<u16>,
}

#[derive(Clone, Debug)]
pub struct Device {
    pub style: DeviceStyle,
    pub start_url: String,
    pub poll_url: String,
    /// Where the user types the code, unless the issuer says so itself.
    pub verification_url: Option<String>,
    /// The redirect URI that belongs to a code which came by polling (OpenAI's style).
    pub redirect_uri: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeviceStyle {
    /// JSON; polling yields an authorisation code together with its verifier.
    OpenAi,
    /// RFC 8628: forms; polling yields the tokens.
    Rfc8628,
}

const OPENAI_USAGE_BASE: &str = "https://chatgpt.com/backend-api";
const OPENAI_USAGE_PATH: &str = "/wham/usage";
const ANTIGRAVITY_URL: &str = "https://cloudcode-pa.googleapis.com";

/// OpenAI's layout below any base URL; a whole address is taken as it is.
pub fn usage_url(base: &str) -> String {
    let base = base.trim().trim_end_matches('/');
    if base.ends_with(OPENAI_USAGE_PATH) { base.to_owned() } else { format!("{base}{OPENAI_USAGE_PATH}") }
}

/// Codex' public client id: OpenAI knows no other kind of client for these scopes.
const OPENAI_CLIENT_ID: &str = "app_EMoamEEZ73f0CkXaXp7hrann";
/// The port OpenAI has on file for that client.
const OPENAI_PORT: u16 = 1455;
const GOOGLE_PORT: u16 = 51121;

impl Issuer {
    /// OpenAI's layout below any base URL.
    pub fn openai(base: &str) -> Self {
        let base = base.trim_end_matches('/');
        Self {
            authorize_url: format!("{base}/oauth/authorize"),
            token_url: format!("{base}/oauth/token"),
            userinfo_url: None,
            device: Some(Device {
                style: DeviceStyle::OpenAi,
                start_url: format!("{base}/api/accounts/deviceauth/usercode"),
                poll_url: format!("{base}/api/accounts/deviceauth/token"),
                verification_url: Some(format!("{base}/codex/device")),
                redirect_uri: format!("{base}/deviceauth/callback"),
            }),
            client_id: OPENAI_CLIENT_ID.into(),
            client_secret: None,
            scope: "openid profile email offline_access".into(),
            redirect: Redirect { host: "localhost".into(), path: "/auth/callback".into(), ports: vec![OPENAI_PORT] },
            extra: pairs(&[("id_token_add_organizations", "true"), ("codex_cli_simplified_flow", "true")]),
        }
    }

    /// Google's layout. There is no client id by default: it belongs to whoever registered it.
    pub fn google(accounts: &str, tokens: &str, apis: &str) -> Self {
        let [accounts, tokens, apis] = [accounts, tokens, apis].map(|base| base.trim_end_matches('/'));
        Self {
            authorize_url: format!("{accounts}/o/oauth2/v2/auth"),
            token_url: format!("{tokens}/token"),
            userinfo_url: Some(format!("{apis}/oauth2/v1/userinfo?alt=json")),
            device: None,
            client_id: String::new(),
            client_secret: None,
            scope: "https://www.googleapis.com/auth/cloud-platform https://www.googleapis.com/auth/userinfo.email \
                    https://www.googleapis.com/auth/userinfo.profile"
                .into(),
            // Google lets an installed client use any loopback port.
            redirect: Redirect {
                host: "localhost".into(),
                path: "/oauth-callback".into(),
                ports: vec![GOOGLE_PORT, 0],
            },
            // Without these there is no refresh token.
            extra: pairs(&[("access_type", "offline"), ("prompt", "consent")]),
        }
    }

    /// Refuses what could never work, and what would send a token in the clear.
    pub(crate) fn check(&self, account: Account) -> Result<(), Fault> {
        let invalid = |what: String| Err(Fault::new(FaultKind::Invalid, format!("{}: {what}", account.name())));
        if self.client_id.trim().is_empty() {
            return invalid("no OAuth client id is configured".into());
        }
        let device = self.device.iter().flat_map(|device| [&device.start_url, &device.poll_url]);
        for url in [&self.authorize_url, &self.token_url].into_iter().chain(&self.userinfo_url).chain(device) {
            if !safe_url(url) {
                return Err(unsafe_url(account, url));
            }
        }
        if self.redirect.ports.is_empty() || !self.redirect.path.starts_with('/') {
            return invalid("the redirect needs a path that begins with / and at least one port".into());
        }
        Ok(())
    }
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

pub(crate) fn unsafe_url(account: Account, url: &str) -> Fault {
    let shown = net::address::shown(url);
    let message = format!("{}: {shown:?} must be an https URL, or http on this machine", account.name());
    Fault::new(FaultKind::Invalid, message)
}

/// https, or http to this very machine; without credentials.
pub fn safe_url(url: &str) -> bool {
    let Some((scheme, rest)) = url.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.is_empty() || authority.contains('@') || url.chars().any(|it| it.is_control() || it == ' ') {
        return false;
    }
    let host = match authority.strip_prefix('[') {
        Some(inner) => inner.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let loopback =
        host.eq_ignore_ascii_case("localhost") || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback());
    match scheme {
        "https" => true,
        "http" => loopback,
        _ => false,
    }
}

/// How long things may take, in real time.
#[derive(Clone, Debug)]
pub struct Limits {
    /// A whole flow; then it fails and its listener is gone.
    pub flow: Duration,
    /// One exchange with an issuer, from connecting to the last byte.
    pub request: Duration,
    /// One connection to the callback listener, until its request is complete; then it is closed.
    pub callback: Duration,
    /// A token is refreshed when it has less than this left.
    pub skew: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            flow: Duration::from_secs(15 * 60),
            request: Duration::from_secs(30),
            callback: Duration::from_secs(10),
            skew: Duration::from_secs(60),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_never_travels_in_the_clear() {
        for good in ["https://a.example/x", "http://127.0.0.1:1/x", "http://localhost:9", "http://[::1]:9/x"] {
            assert!(safe_url(good), "{good}");
        }
        for bad in [
            "http://a.example/x",
            "http://127.0.0.1.evil.example/",
            "http://localhost@evil.example/",
            "https://me:pw@a.example/",
            "ftp://localhost/",
            "https:///x",
            "https://a b/",
            "",
        ] {
            assert!(!safe_url(bad), "{bad}");
        }
    }

    #[test]
    fn a_vendor_without_client_id_is_refused_before_anything_is_told() {
        let config = AccountsConfig::vendors(Environment(Arc::new(|_| None)));
        assert!(config.openai.check(Account::OpenAi).is_ok());
        let fault = config.antigravity.check(Account::Antigravity).unwrap_err();
        assert_eq!(fault.message, "antigravity: no OAuth client id is configured");
    }
}
