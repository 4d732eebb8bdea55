//! People of the tailnet, as the local proxy names them. Any process on this machine can send such a header, so it counts
//! only where the local daemon says the same.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::HeaderMap;
use process::{CaptureLimits, Program};
use serde::Deserialize;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use vocab::Keyring;

use crate::entrance::PeerAddress;
use crate::limits::WHOIS_AT_ONCE;
use crate::options::TailscaleOptions;
use crate::tokens::{TokenDigest, digest};

const WHOIS_TIME: Duration = Duration::from_secs(3);
const WHOIS_BYTES_MAX: usize = 64 * 1024;
/// How long an answer holds.
const KEPT: Duration = Duration::from_secs(60);
/// Answers that are kept.
const KEPT_MAX: usize = 256;

/// What the proxy says: who, and from where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TailnetClaim {
    pub(crate) login: String,
    pub(crate) address: IpAddr,
}

impl TailscaleOptions {
    /// Whether somebody who came in by this login could come in now. `asked`: the local daemon has confirmed it.
    pub(crate) fn still_admits(&self, login: &TokenDigest, asked: bool) -> bool {
        let is_allowed = self.allowed_logins.is_empty() || self.allowed_logins.iter().any(|it| digest(it) == *login);
        self.identity && is_allowed && (asked || self.trust_header)
    }
}

/// `None`: there is no claim, or not one that could be true.
pub(crate) fn claimed(headers: &HeaderMap, peer: PeerAddress, options: &TailscaleOptions) -> Option<TailnetClaim> {
    let one = |name: &str| {
        let mut all = headers.get_all(name).iter();
        let value = all.next()?.to_str().ok()?;
        all.next().is_none().then(|| value.trim().to_owned())
    };
    let is_proxy = matches!(peer, PeerAddress::Tcp(_)) && peer.is_loopback();
    if !options.identity || !is_proxy || headers.contains_key("tailscale-funnel-request") {
        return None;
    }
    let login = one("tailscale-user-login").filter(|login| !login.is_empty())?;
    let address: IpAddr = one("x-forwarded-for")?.parse().ok()?;
    let is_allowed = options.allowed_logins.is_empty() || options.allowed_logins.contains(&login);
    (is_allowed && is_of_tailnet(address)).then_some(TailnetClaim { login, address })
}

fn is_of_tailnet(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => {
            let [first, second, ..] = four.octets();
            first == 100 && (64..128).contains(&second)
        }
        IpAddr::V6(six) => six.segments()[..3] == [0xfd7a, 0x115c, 0xa1e0],
    }
}

pub(crate) struct Tailnet {
    answers: Mutex<HashMap<IpAddr, (Instant, Option<String>)>>,
    asking: Semaphore,
}

impl Default for Tailnet {
    fn default() -> Self {
        Self { answers: Mutex::default(), asking: Semaphore::new(WHOIS_AT_ONCE) }
    }
}

#[derive(Deserialize)]
struct Whois {
    #[serde(rename = "UserProfile")]
    user: WhoisUser,
}

#[derive(Deserialize)]
struct WhoisUser {
    #[serde(rename = "LoginName")]
    login: String,
}

impl Tailnet {
    /// Whether the local daemon says the same.
    pub(crate) async fn confirms(&self, claim: &TailnetClaim, options: &TailscaleOptions) -> bool {
        options.trust_header || self.login_of(claim.address).await.as_deref() == Some(&*claim.login)
    }

    async fn login_of(&self, address: IpAddr) -> Option<String> {
        if let Some(login) = self.kept(address) {
            return login;
        }
        let _place = self.asking.acquire().await.ok()?;
        // Somebody may have asked the same while we waited.
        if let Some(login) = self.kept(address) {
            return login;
        }
        let login = whois(address).await;
        let mut answers = self.answers();
        if answers.len() >= KEPT_MAX {
            answers.retain(|_, (at, _)| at.elapsed() < KEPT);
        }
        if answers.len() >= KEPT_MAX {
            answers.clear();
        }
        answers.insert(address, (Instant::now(), login.clone()));
        login
    }

    fn answers(&self) -> MutexGuard<'_, HashMap<IpAddr, (Instant, Option<String>)>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the daemon has said lately, which may be that it is nobody; `None`: nothing.
    fn kept(&self, address: IpAddr) -> Option<Option<String>> {
        self.answers().get(&address).filter(|(at, _)| at.elapsed() < KEPT).map(|(_, login)| login.clone())
    }
}

async fn whois(address: IpAddr) -> Option<String> {
    let argv = ["tailscale".into(), "whois".into(), "--json".into(), address.to_string().into()].to_vec();
    let env = process::clean_environment(&Keyring::default());
    let program = Program { argv, cwd: "/".into(), env, joined: false };
    let limits = CaptureLimits { output_bytes_max: WHOIS_BYTES_MAX, errors_bytes_max: 1024, time_max: WHOIS_TIME };
    let answer = process::capture(&program, limits).await.ok()?;
    if answer.exit.is_none_or(|exit| exit.code != Some(0)) {
        return None;
    }
    Some(serde_json::from_slice::<Whois>(&answer.output).ok()?.user.login)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, value.parse().unwrap());
        }
        map
    }

    #[test]
    fn g4_a_header_alone_is_no_claim() {
        let on = TailscaleOptions { identity: true, ..TailscaleOptions::default() };
        let only_bob = TailscaleOptions { allowed_logins: vec!["bob@x".to_owned()], ..on.clone() };
        let proxy = PeerAddress::Tcp("127.0.0.1:9".parse().unwrap());
        let far = PeerAddress::Tcp("100.64.0.9:9".parse().unwrap());
        let unix = PeerAddress::Unix { uid: 0, pid: None };
        let (login, from) = (("tailscale-user-login", "ann@x"), ("x-forwarded-for", "100.64.0.9"));
        let good = headers(&[login, from]);
        let claim = TailnetClaim { login: "ann@x".to_owned(), address: "100.64.0.9".parse().unwrap() };
        assert_eq!(claimed(&good, proxy, &on), Some(claim));
        let six = headers(&[login, ("x-forwarded-for", "fd7a:115c:a1e0::5")]);
        assert!(claimed(&six, proxy, &on).is_some());
        let refused: &[(HeaderMap, PeerAddress, &TailscaleOptions)] = &[
            (good.clone(), proxy, &TailscaleOptions::default()),
            (good.clone(), far, &on),
            (good.clone(), unix, &on),
            (good.clone(), proxy, &only_bob),
            (headers(&[login]), proxy, &on),
            (headers(&[from]), proxy, &on),
            (headers(&[("tailscale-user-login", ""), from]), proxy, &on),
            (headers(&[login, login, from]), proxy, &on),
            (headers(&[login, from, from]), proxy, &on),
            (headers(&[login, ("x-forwarded-for", "100.64.0.9, 10.0.0.1")]), proxy, &on),
            (headers(&[login, ("x-forwarded-for", "10.0.0.1")]), proxy, &on),
            (headers(&[login, ("x-forwarded-for", "100.128.0.1")]), proxy, &on),
            (headers(&[login, from, ("tailscale-funnel-request", "?1")]), proxy, &on),
        ];
        for (headers, peer, options) in refused {
            assert_eq!(claimed(headers, *peer, options), None, "{headers:?} from {peer}");
        }
    }
}
