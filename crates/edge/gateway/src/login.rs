//! Logging in: in the middle of a conversation, or from a browser, which gets a cookie for it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use dialect_gateway::Scopes;
use dialect_gateway::services::access::AttemptKind;
use host::PrincipalCell;
use vocab::Secret;

use crate::attempts::CameFrom;
use crate::credentials::{Basis, KnownCaller};
use crate::failures::Guesser;
use crate::limits::{COOKIE_DAYS, COOKIES_MAX};
use crate::places::StrangerPlace;
use crate::sockets::SocketEntry;
use crate::state::ServerState;
use crate::tokens::{TokenDigest, digest, find, new_token};

const COOKIE_MS: u64 = COOKIE_DAYS * 24 * 60 * 60 * 1000;

/// Why a login came to nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoginRefused {
    Wrong,
    /// Too many were wrong lately.
    TooMany {
        retry_after_ms: u64,
    },
}

/// Where one connection logs in.
#[derive(Clone)]
pub struct LoginDesk {
    pub(crate) state: Arc<ServerState>,
    pub(crate) guesser: Guesser,
    pub(crate) came: Arc<CameFrom>,
    pub(crate) principal: PrincipalCell,
    pub(crate) socket: Option<Arc<SocketEntry>>,
    /// Given back when somebody is known.
    pub(crate) place: Arc<Mutex<Option<StrangerPlace>>>,
}

impl LoginDesk {
    /// Whose token this is: a name, and what they may do. From then on the connection is theirs, and the engine is told so.
    pub fn login(&self, token: &Secret) -> Result<(Arc<str>, Scopes), LoginRefused> {
        let known = self.state.token_of(token, &self.guesser, &self.came, AttemptKind::Message)?;
        if let Some(socket) = &self.socket {
            socket.belongs_to(&known);
        }
        self.principal.set(known.principal);
        self.place.lock().unwrap_or_else(PoisonError::into_inner).take();
        Ok((known.name, known.scopes))
    }
}

/// Browser sessions, in memory: a restart ends them.
#[derive(Default)]
pub(crate) struct Cookies(VecDeque<CookieRow>);

struct CookieRow {
    digest: TokenDigest,
    until_ms: u64,
    /// For whom: the token that it was made with must still hold.
    of: KnownCaller,
}

impl Cookies {
    pub(crate) fn make(&mut self, of: KnownCaller, now_ms: u64) -> std::io::Result<Secret> {
        let value = new_token()?;
        self.0.retain(|row| row.until_ms > now_ms);
        if self.0.len() >= COOKIES_MAX {
            self.0.pop_front();
        }
        self.0.push_back(CookieRow { digest: digest(value.expose()), until_ms: now_ms + COOKIE_MS, of });
        Ok(value)
    }

    pub(crate) fn find(&self, value: &Secret, now_ms: u64) -> Option<(KnownCaller, Basis)> {
        let row = find(value.expose(), self.0.iter().map(|row| (&row.digest, row)))?;
        let basis = row.of.basis;
        let caller = KnownCaller { basis: Basis::Cookie(row.digest), ..row.of.clone() };
        (row.until_ms > now_ms).then_some((caller, basis))
    }

    /// Whether there was one.
    pub(crate) fn end(&mut self, value: &Secret) -> Option<TokenDigest> {
        let digest = digest(value.expose());
        let before = self.0.len();
        self.0.retain(|row| row.digest != digest);
        (self.0.len() < before).then_some(digest)
    }

    /// All of whoever this one is of, by the token that they were made with. One that does not hold ends nothing.
    pub(crate) fn end_all_like(&mut self, value: &Secret, now_ms: u64) -> Vec<TokenDigest> {
        let Some((caller, basis)) = self.find(value, now_ms) else { return Vec::new() };
        let is_theirs = |row: &CookieRow| row.of.basis == basis && row.of.principal == caller.principal;
        let (ended, kept): (VecDeque<_>, VecDeque<_>) = std::mem::take(&mut self.0).into_iter().partition(is_theirs);
        self.0 = kept;
        ended.into_iter().map(|row| row.digest).collect()
    }

    pub(crate) fn holds(&self, digest: &TokenDigest, now_ms: u64) -> bool {
        self.0.iter().any(|row| row.digest == *digest && row.until_ms > now_ms)
    }

    /// Ends those whose token is gone.
    pub(crate) fn keep(&mut self, good: impl Fn(Basis) -> bool) {
        self.0.retain(|row| good(row.of.basis));
    }
}

/// The header that gives a browser its cookie, or takes it.
pub(crate) fn set_cookie(value: &str, secure: bool, days: u64) -> String {
    let secure = if secure { "; Secure" } else { "" };
    let age = days * 24 * 60 * 60;
    let name = crate::credentials::COOKIE_NAME;
    format!("{name}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Strict{secure}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn somebody() -> KnownCaller {
        let principal = vocab::Principal::token("x");
        KnownCaller { principal, name: "x".into(), scopes: Scopes::ALL, basis: Basis::Token([7; 32]) }
    }

    #[test]
    fn cookies_end_with_time_and_with_their_token() {
        let mut cookies = Cookies::default();
        let value = cookies.make(somebody(), 1_000).unwrap();
        let (found, basis) = cookies.find(&value, 2_000).unwrap();
        assert_eq!((&*found.name, basis), ("x", Basis::Token([7; 32])));
        assert!(cookies.find(&value, 1_000 + COOKIE_MS).is_none());
        assert!(cookies.find(&Secret::new("other").unwrap(), 2_000).is_none());
        cookies.keep(|basis| basis != Basis::Token([7; 32]));
        assert!(cookies.find(&value, 2_000).is_none());
        let values: Vec<Secret> = (0..=COOKIES_MAX).map(|_| cookies.make(somebody(), 0).unwrap()).collect();
        assert!(cookies.find(&values[0], 1).is_none() && cookies.find(&values[1], 1).is_some());
        assert!(cookies.end(&values[1]).is_some() && cookies.end(&values[1]).is_none());
        let other = KnownCaller { basis: Basis::Token([8; 32]), ..somebody() };
        let others = cookies.make(other, 0).unwrap();
        assert!(cookies.end_all_like(&values[1], 1).is_empty(), "one that is gone speaks for nobody");
        assert!(cookies.end_all_like(&values[3], COOKIE_MS).is_empty(), "nor one whose time is over");
        assert_eq!(cookies.end_all_like(&values[3], 1).len(), COOKIES_MAX - 1);
        assert!(cookies.find(&values[9], 1).is_none() && cookies.find(&others, 1).is_some());
    }

    #[test]
    fn a_cookie_is_for_us_alone() {
        let header = set_cookie("v", true, 7);
        assert_eq!(header, "tm_session=v; Path=/; Max-Age=604800; HttpOnly; SameSite=Strict; Secure");
        assert!(!set_cookie("v", false, 7).contains("Secure"));
    }
}
