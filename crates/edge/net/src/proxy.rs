//! The proxy between us and an https server, by the usual variables.
//!
//! Only https goes through a proxy, as a tunnel: a plain request would show the key to it.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::Uri;
use hyper::header::HeaderValue;
use vocab::Secret;

/// An HTTP proxy that makes tunnels.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Without credentials.
    pub(crate) uri: Uri,
    /// `user:password`, for the proxy alone.
    credentials: Option<Secret>,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.uri)
    }
}

impl Proxy {
    /// Reads `[http://][user:password@]host[:port]`. Other kinds of proxy are not spoken here.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
        let rest = rest.trim_end_matches('/');
        let (credentials, place) = match rest.rsplit_once('@') {
            Some((credentials, place)) => (Secret::new(&percent_decoded(credentials)), place),
            None => (None, rest),
        };
        let uri: Uri = format!("http://{place}/").parse().ok()?;
        (scheme.eq_ignore_ascii_case("http") && uri.host().is_some_and(|host| !host.is_empty()))
            .then_some(Self { uri, credentials })
    }

    /// The proxy for this base URL, as [`ProxyRules`] of these variables say.
    pub fn from_env(base_url: &str, lookup: impl Fn(&str) -> Option<String>) -> Option<Self> {
        ProxyRules::from_env(lookup).proxy(base_url)
    }

    pub(crate) fn authorization(&self) -> Option<HeaderValue> {
        let encoded = STANDARD.encode(self.credentials.as_ref()?.expose());
        let mut value = HeaderValue::try_from(format!("Basic {encoded}")).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// Which servers are reached through a proxy. None, unless told otherwise.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProxyRules {
    proxy: Option<Proxy>,
    /// As in `NO_PROXY`.
    spared: Vec<String>,
}

impl ProxyRules {
    /// `HTTPS_PROXY` or `ALL_PROXY`, except for what `NO_PROXY` names. Lower-case names come first, as everywhere.
    pub fn from_env(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let either = |name: &str| {
            let value = lookup(&name.to_ascii_lowercase()).or_else(|| lookup(name))?;
            Some(value).filter(|value| !value.trim().is_empty())
        };
        let entries = either("NO_PROXY").unwrap_or_default();
        Self {
            proxy: either("HTTPS_PROXY").or_else(|| either("ALL_PROXY")).and_then(|text| Proxy::new(&text)),
            spared: entries.split(',').map(|entry| entry.trim().to_ascii_lowercase()).collect(),
        }
    }

    /// The proxy for this URL, which is one for https only.
    pub fn proxy(&self, url: &str) -> Option<Proxy> {
        let uri: Uri = url.parse().ok()?;
        let host = uri.host()?.to_ascii_lowercase();
        let spares = |entry: &String| {
            let name = entry.trim_start_matches("*.").trim_start_matches('.');
            entry == "*" || host == name || (!name.is_empty() && host.ends_with(&format!(".{name}")))
        };
        let is_meant = uri.scheme_str() == Some("https") && !self.spared.iter().any(spares);
        self.proxy.clone().filter(|_| is_meant)
    }
}

/// `%41` is `A`; what is no escape stays.
pub(crate) fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escape = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match escape.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_for_https_only() {
        let vars = |name: &str| match name {
            "https_proxy" => Some("proxy.example:3128".to_owned()),
            "NO_PROXY" => Some("internal.example, .corp".to_owned()),
            _ => None,
        };
        for (url, want) in [
            ("https://api.example/v1", Some("http://proxy.example:3128/")),
            ("http://api.example/v1", None),
            ("https://internal.example/v1", None),
            ("https://a.internal.example/v1", None),
            ("https://x.corp/v1", None),
            ("https://notinternal.example2/v1", Some("http://proxy.example:3128/")),
        ] {
            assert_eq!(Proxy::from_env(url, vars).map(|proxy| format!("{proxy:?}")).as_deref(), want, "{url}");
        }
        let everything = |name: &str| (name != "NO_PROXY").then(|| "p".to_owned());
        assert!(Proxy::from_env("https://a/v1", everything).is_some());
        let nothing =
            |name: &str| Some(if name == "NO_PROXY" { "*" } else { "p" }.to_owned()).filter(|_| name != "no_proxy");
        assert!(Proxy::from_env("https://a/v1", nothing).is_none());
    }

    #[test]
    fn credentials_are_for_the_proxy_and_never_shown() {
        let proxy = Proxy::new("http://me:pa%40ss%zz@proxy.example:3128/").unwrap();
        assert_eq!(format!("{proxy:?}"), "http://proxy.example:3128/");
        let auth = proxy.authorization().unwrap();
        assert_eq!(auth.to_str().unwrap(), format!("Basic {}", STANDARD.encode("me:pa@ss%zz")));
        assert!(auth.is_sensitive());
        for bad in ["socks5://p:1", "https://p:1", "", "http://", "me@"] {
            assert_eq!(Proxy::new(bad), None, "{bad}");
        }
    }
}
