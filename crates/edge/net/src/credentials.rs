//! What a request proves itself with: a key and headers, known beforehand, fetched before the first request, or looked up
//! for each. Knows nothing of where they come from.

use std::fmt;
use std::sync::{Arc, Mutex};

use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};
use vocab::{Fault, FaultKind, Later, Secret};

/// Shorter values are no secrets (`none`, `ollama`, `1`), and masking them would mask ordinary words.
const MASKED_BYTES_MIN: usize = 8;

/// Headers that belong to the connection, not to the provider.
const OURS: [&str; 6] = ["host", "connection", "content-length", "transfer-encoding", "upgrade", "te"];

/// A header whose name holds one of these proves who we are.
const KEY_HEADERS: [&str; 5] = ["auth", "key", "token", "secret", "cookie"];
/// The value of any other counts as a key from this length on, unless it reads like a sentence or a kind of content
/// (`application/json`); shorter ones are words.
const KEY_LIKE_BYTES_MIN: usize = 16;

/// Whether the value of a header is to be kept from others. Many are ordinary words, which must not be lost.
pub fn is_key(header: &str, value: &Secret) -> bool {
    let name = header.to_ascii_lowercase();
    let value = value.expose();
    let is_content = value.contains('/') && !value.contains(|c: char| c.is_ascii_digit());
    let is_like = value.len() >= KEY_LIKE_BYTES_MIN && !value.contains(' ') && !is_content;
    is_like || KEY_HEADERS.iter().any(|part| name.contains(part))
}

/// A key and headers, ready to be sent.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KnownCredentials {
    pub key: Option<Secret>,
    /// Values may be secrets: they show as `***`.
    pub headers: Vec<(String, Secret)>,
}

/// How a server wants its key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyHeader {
    /// `Authorization: Bearer KEY`
    Bearer,
    /// The bare key under this name.
    Named(&'static str),
}

/// A source of credentials that takes its time: a command, a keychain, an account.
pub trait Credentials: Send + Sync {
    /// Asked again after a failure, and after a success only where the source [is live](Credentials::is_live).
    fn fetch(&self) -> Later<'_, Result<KnownCredentials, Fault>>;

    /// Whether what it says may change: then it is asked for every request. The answer itself must not change.
    fn is_live(&self) -> bool {
        false
    }

    /// Asked of a live source when a server has answered `used` with 401: what to try instead, once. `None`: there is
    /// nothing else.
    fn renewed(&self, _used: &KnownCredentials) -> Later<'_, Result<Option<KnownCredentials>, Fault>> {
        Box::pin(std::future::ready(Ok(None)))
    }
}

/// A shared [`Credentials`] that cannot be printed.
#[derive(Clone)]
pub struct Late(pub Arc<dyn Credentials>);

impl fmt::Debug for Late {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Late(***)")
    }
}

/// The same in the form of a request head.
pub(crate) struct Pass {
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    /// To be masked in whatever a server echoes.
    pub(crate) secrets: Vec<Secret>,
    /// What is a key for certain; another header may be an ordinary word.
    pub(crate) keys: Vec<Secret>,
}

impl Pass {
    /// Fails on what no HTTP head can carry; the error names the header, never its value.
    pub(crate) fn new(known: &KnownCredentials, key_header: KeyHeader) -> Result<Self, Fault> {
        let invalid = |what: String| Fault::new(FaultKind::Invalid, what);
        let mut headers = Vec::with_capacity(known.headers.len() + 1);
        if let Some(key) = &known.key {
            let (name, value) = match key_header {
                KeyHeader::Bearer => (AUTHORIZATION, sensitive(&format!("Bearer {}", key.expose()))),
                KeyHeader::Named(name) => (HeaderName::from_static(name), sensitive(key.expose())),
            };
            let value =
                value.ok_or_else(|| invalid("the API key has characters that no HTTP header can carry".into()))?;
            headers.push((name, value));
        }
        for (name, value) in &known.headers {
            let header: HeaderName =
                name.trim().parse().map_err(|_| invalid(format!("{name:?} is not the name of an HTTP header")))?;
            if OURS.contains(&header.as_str()) {
                return Err(invalid(format!("the header {name:?} cannot be chosen")));
            }
            let value = sensitive(value.expose())
                .ok_or_else(|| invalid(format!("the header {name:?} has characters that no HTTP header can carry")))?;
            headers.push((header, value));
        }
        let secrets = known.key.iter().chain(known.headers.iter().map(|(_, value)| value));
        let secrets = secrets.filter(|secret| secret.expose().len() >= MASKED_BYTES_MIN).cloned().collect();
        let proving = known.headers.iter().filter(|(name, value)| is_key(name, value)).map(|(_, value)| value);
        let keys = known.key.iter().chain(proving).cloned().collect();
        Ok(Self { headers, secrets, keys })
    }
}

/// Passes made for a live source, the newest last. Answers outlive their requests, so what was sent a while ago is still
/// masked; of more than this the oldest are forgotten.
const PASSES_MAX: usize = 8;

#[derive(Default)]
pub(crate) struct Passes(Mutex<Vec<(KnownCredentials, Arc<Pass>)>>);

impl Passes {
    /// The pass for these, made once for as long as they stay the same.
    pub(crate) fn of(&self, known: &KnownCredentials, key_header: KeyHeader) -> Result<Arc<Pass>, Fault> {
        let mut passes = self.0.lock().expect("nothing panics while holding it");
        if let Some((_, pass)) = passes.iter().find(|(have, _)| have == known) {
            return Ok(pass.clone());
        }
        let pass = Arc::new(Pass::new(known, key_header)?);
        if passes.len() == PASSES_MAX {
            passes.remove(0);
        }
        passes.push((known.clone(), pass.clone()));
        Ok(pass)
    }

    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let passes = self.0.lock().expect("nothing panics while holding it");
        passes.iter().flat_map(|(_, pass)| pass.secrets.iter().cloned()).collect()
    }
}

fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::try_from(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(key: &str, headers: &[(&str, &str)]) -> KnownCredentials {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), Secret::new(value).unwrap())).collect();
        KnownCredentials { key: Secret::new(key), headers }
    }

    #[test]
    fn what_no_head_can_carry_is_refused_without_being_shown() {
        for bad in [
            known("sk-canary\r\nx: 1", &[]),
            known("", &[("X-A", "canary\nx")]),
            known("", &[("not a name", "canary")]),
            known("", &[("Host", "canary")]),
            known("", &[("Content-Length", "canary-0")]),
        ] {
            let Err(fault) = Pass::new(&bad, KeyHeader::Bearer) else { panic!("{bad:?} was taken") };
            assert!(!format!("{fault:?}{bad:?}").contains("canary"), "{fault:?}");
        }
    }

    #[test]
    fn short_values_are_sent_but_masked_nowhere() {
        let pass =
            Pass::new(&known("ollama", &[("X-Flag", "1"), ("X-Token", "long-enough")]), KeyHeader::Bearer).unwrap();
        assert_eq!(pass.headers.len(), 3);
        assert_eq!(pass.secrets, [Secret::new("long-enough").unwrap()]);
    }
}
