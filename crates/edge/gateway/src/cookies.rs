//! Browser sessions: who has logged in with which token, and until when. They are kept, so that a restart of the server logs
//! nobody out. Pure.

use std::collections::VecDeque;

use vocab::Secret;

use crate::credentials::{Basis, KnownCaller, TokenBook};
use crate::limits::{COOKIE_DAYS, COOKIES_MAX, COOKIES_PER_TOKEN_MAX};
use crate::tokens::{TokenDigest, digest, find, new_token};

const COOKIE_MS: u64 = COOKIE_DAYS * 24 * 60 * 60 * 1000;

/// One as it is kept: digests, with which nobody comes in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeptCookie {
    pub digest: TokenDigest,
    /// Of the token that it was made with.
    pub token: TokenDigest,
    pub until_unix_ms: i64,
}

/// The newest last. Times are since the server began.
#[derive(Default)]
pub(crate) struct Cookies(VecDeque<CookieRow>);

struct CookieRow {
    digest: TokenDigest,
    until_ms: u64,
    /// For whom: the token that it was made with must still hold.
    of: KnownCaller,
}

impl Cookies {
    /// What was kept, as far as its time is not over and its token still holds. No clock that was set makes one last longer.
    pub(crate) fn again(kept: &[KeptCookie], book: &TokenBook, now_ms: u64, unix_ms: i64) -> Self {
        let row = |it: &KeptCookie| {
            let left = u64::try_from(it.until_unix_ms.saturating_sub(unix_ms)).ok().filter(|left| *left > 0)?;
            let of = book.of_digest(&it.token)?;
            Some(CookieRow { digest: it.digest, until_ms: now_ms + left.min(COOKIE_MS), of })
        };
        Self(kept.iter().rev().take(COOKIES_MAX).rev().filter_map(row).collect())
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// As they are kept.
    pub(crate) fn kept(&self, now_ms: u64, unix_ms: i64) -> Vec<KeptCookie> {
        let row = |row: &CookieRow| {
            let Basis::Token(token) = row.of.basis else { return None };
            let left = row.until_ms.checked_sub(now_ms).and_then(|left| i64::try_from(left).ok())?;
            Some(KeptCookie { digest: row.digest, token, until_unix_ms: unix_ms.saturating_add(left) })
        };
        self.0.iter().filter_map(row).collect()
    }

    /// One more, and those that ended for it: the oldest of the same token.
    pub(crate) fn make(&mut self, of: KnownCaller, now_ms: u64) -> std::io::Result<(Secret, Vec<TokenDigest>)> {
        let value = new_token()?;
        let mut over =
            (self.0.iter().filter(|row| row.of.basis == of.basis).count() + 1).saturating_sub(COOKIES_PER_TOKEN_MAX);
        let ended = self.take(|row| {
            let ends = over > 0 && row.of.basis == of.basis;
            over -= usize::from(ends);
            ends
        });
        self.0.push_back(CookieRow { digest: digest(value.expose()), until_ms: now_ms + COOKIE_MS, of });
        Ok((value, ended))
    }

    /// Ends those whose time is over.
    pub(crate) fn expire(&mut self, now_ms: u64) -> Vec<TokenDigest> {
        self.take(|row| row.until_ms <= now_ms)
    }

    /// Ends these, from the oldest on.
    fn take(&mut self, mut ends: impl FnMut(&CookieRow) -> bool) -> Vec<TokenDigest> {
        let mut ended = Vec::new();
        self.0.retain(|row| {
            let ends = ends(row);
            ended.extend(ends.then_some(row.digest));
            !ends
        });
        ended
    }

    pub(crate) fn find(&self, value: &Secret, now_ms: u64) -> Option<(KnownCaller, Basis)> {
        let row = find(value.expose(), self.0.iter().map(|row| (&row.digest, row)))?;
        let basis = row.of.basis;
        let caller = KnownCaller { basis: Basis::Cookie(row.digest), ..row.of.clone() };
        (row.until_ms > now_ms).then_some((caller, basis))
    }

    /// Where there was one, its digest.
    pub(crate) fn end(&mut self, value: &Secret) -> Option<TokenDigest> {
        let digest = digest(value.expose());
        self.take(|row| row.digest == digest).pop()
    }

    /// All of whoever this one is of, by the token that they were made with. One that does not hold ends nothing.
    pub(crate) fn end_all_like(&mut self, value: &Secret, now_ms: u64) -> Vec<TokenDigest> {
        let Some((caller, basis)) = self.find(value, now_ms) else { return Vec::new() };
        self.take(|row| row.of.basis == basis && row.of.principal == caller.principal)
    }

    pub(crate) fn holds(&self, digest: &TokenDigest, now_ms: u64) -> bool {
        self.0.iter().any(|row| row.digest == *digest && row.until_ms > now_ms)
    }

    /// Ends those whose token is gone; whether there were any.
    pub(crate) fn keep(&mut self, good: impl Fn(Basis) -> bool) -> bool {
        let before = self.0.len();
        self.0.retain(|row| good(row.of.basis));
        self.0.len() < before
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
    use dialect_gateway::Scopes;

    use super::*;

    fn somebody() -> KnownCaller {
        let principal = vocab::Principal::token("x");
        KnownCaller { principal, name: "x".into(), scopes: Scopes::ALL, basis: Basis::Token([7; 32]) }
    }

    #[test]
    fn cookies_end_with_time_and_with_their_token() {
        let mut cookies = Cookies::default();
        let (value, _) = cookies.make(somebody(), 1_000).unwrap();
        let (found, basis) = cookies.find(&value, 2_000).unwrap();
        assert_eq!((&*found.name, basis), ("x", Basis::Token([7; 32])));
        assert!(cookies.find(&value, 1_000 + COOKIE_MS).is_none());
        assert!(cookies.find(&Secret::new("other").unwrap(), 2_000).is_none());
        assert!(cookies.keep(|basis| basis != Basis::Token([7; 32])) && !cookies.keep(|_| true));
        assert!(cookies.find(&value, 2_000).is_none());
        let other = KnownCaller { basis: Basis::Token([8; 32]), ..somebody() };
        let (others, _) = cookies.make(other, 0).unwrap();
        let made = (0..=COOKIES_PER_TOKEN_MAX).map(|_| cookies.make(somebody(), 0).unwrap());
        let (values, ended): (Vec<Secret>, Vec<Vec<TokenDigest>>) = made.unzip();
        assert!(cookies.find(&values[0], 1).is_none() && cookies.find(&values[1], 1).is_some());
        assert_eq!(ended.concat(), [digest(values[0].expose())], "the oldest of the same token, and no other");
        assert!(cookies.end(&values[1]).is_some() && cookies.end(&values[1]).is_none());
        assert!(cookies.end_all_like(&values[1], 1).is_empty(), "one that is gone speaks for nobody");
        assert!(cookies.end_all_like(&values[3], COOKIE_MS).is_empty(), "nor one whose time is over");
        assert_eq!(cookies.end_all_like(&values[3], 1).len(), COOKIES_PER_TOKEN_MAX - 1);
        assert!(cookies.find(&values[9], 1).is_none() && cookies.find(&others, 1).is_some());
        assert!(cookies.expire(COOKIE_MS - 1).is_empty());
        assert_eq!((cookies.expire(COOKIE_MS), cookies.len()), (vec![digest(others.expose())], 0));
    }

    #[test]
    fn what_was_kept_holds_as_long_as_it_would_have_and_with_its_token() {
        let token = Secret::new("all").unwrap();
        let book = TokenBook::new(Some(&token), Vec::new());
        let mut cookies = Cookies::default();
        let (value, _) = cookies.make(book.find(&token).unwrap(), 1_000).unwrap();
        let (lost, _) = cookies.make(somebody(), 1_000).unwrap();
        let kept = cookies.kept(61_000, 5_000_000);
        assert_eq!(kept.len(), 2);
        // Another process, whose time begins at zero.
        let again = |unix_ms| Cookies::again(&kept, &book, 10, unix_ms);
        let later = again(5_000_000 + 30_000);
        let left = COOKIE_MS - 90_000;
        let (found, basis) = later.find(&value, 10 + left - 1).unwrap();
        assert_eq!((&*found.name, found.scopes, basis), ("main", Scopes::ALL, Basis::Token(digest("all"))));
        assert!(later.find(&value, 10 + left).is_none() && later.find(&lost, 10).is_none());
        assert!(again(5_000_000 + COOKIE_MS as i64).find(&value, 10).is_none(), "its time was over meanwhile");
        assert!(again(0).find(&value, 10 + COOKIE_MS).is_none(), "a clock that was set back gives it a week at most");
    }

    #[test]
    fn a_cookie_is_for_us_alone() {
        let header = set_cookie("v", true, 7);
        assert_eq!(header, "tm_session=v; Path=/; Max-Age=604800; HttpOnly; SameSite=Strict; Secure");
        assert!(!set_cookie("v", false, 7).contains("Secure"));
    }
}
