//! Who somebody says they are, and whether it is so. The first credential that is there counts: a wrong one next to a good one
//! is wrong. Query strings are never looked at. Pure.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use dialect_gateway::Scopes;
use dialect_gateway::services::access::{AttemptKind, CredentialKind};
use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, COOKIE, SEC_WEBSOCKET_PROTOCOL};
use vocab::{Principal, Secret};

use crate::failures::{GuessKind, WrongGuess};
use crate::limits::COOKIES_SHOWN_MAX;
use crate::tokens::{MAIN_TOKEN, NamedToken, TokenDigest, digest, find};

/// The subprotocol that a browser names beside its token.
pub(crate) const SUBPROTOCOL: &str = "tillerman.v1";
const BEARER_PROTOCOL: &str = "bearer.";
pub(crate) const COOKIE_NAME: &str = "tm_session";

/// What a request brought.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Credential {
    None,
    Token(Secret),
    /// All of our name, in the order in which the browser sent them; never none.
    Cookie(Vec<Secret>),
    /// There is something where a credential belongs, and it is none.
    Unreadable,
}

impl Credential {
    /// How somebody tried, as operators are told it.
    pub(crate) fn attempt(&self) -> AttemptKind {
        match self {
            Credential::Token(_) => AttemptKind::Token,
            Credential::Cookie(_) => AttemptKind::Cookie,
            Credential::None | Credential::Unreadable => AttemptKind::Unreadable,
        }
    }

    /// What it is a guess of. Whoever brings nothing may log in later.
    pub(crate) fn guess(&self) -> GuessKind {
        match self {
            Credential::Cookie(_) => GuessKind::Cookie,
            Credential::None | Credential::Token(_) | Credential::Unreadable => GuessKind::Token,
        }
    }

    /// How it counts where it is wrong.
    pub(crate) fn wrong(&self) -> WrongGuess {
        match self {
            Credential::Cookie(values) => WrongGuess::Cookie(values.iter().map(|it| digest(it.expose())).collect()),
            Credential::None | Credential::Token(_) | Credential::Unreadable => WrongGuess::Token,
        }
    }
}

/// What was known of somebody when they came in: when that ends, their connections do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Basis {
    Token(TokenDigest),
    Cookie(TokenDigest),
    /// Their login in the tailnet, as its digest. `asked`: the local daemon has said the same, so that it is no mere word.
    Login {
        login: TokenDigest,
        asked: bool,
    },
    /// Their user: it ends with the connection.
    Place,
}

/// Somebody who has proved who they are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct KnownCaller {
    pub(crate) principal: Principal,
    pub(crate) name: Arc<str>,
    pub(crate) scopes: Scopes,
    pub(crate) basis: Basis,
}

impl KnownCaller {
    /// By what they are known, as operators are told it.
    pub(crate) fn credential(&self) -> CredentialKind {
        match self.basis {
            Basis::Token(_) => CredentialKind::Token,
            Basis::Cookie(_) => CredentialKind::Cookie,
            Basis::Login { .. } => CredentialKind::Tailscale,
            Basis::Place => CredentialKind::User,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum CallerFound {
    Known(KnownCaller),
    Nobody,
    Wrong,
    /// Too many were wrong lately: what this one brought was not looked at.
    TooMany {
        wait_ms: u64,
    },
}

/// In the order of the headers' rank: bearer, subprotocol, cookie.
pub(crate) fn presented(headers: &HeaderMap) -> Credential {
    let text = |value: &hyper::header::HeaderValue| value.to_str().ok().map(str::to_owned);
    if let Some(value) = headers.get(AUTHORIZATION) {
        let words = text(value).unwrap_or_default();
        let Some((scheme, token)) = words.split_once(' ') else { return Credential::Unreadable };
        let token = match scheme {
            it if it.eq_ignore_ascii_case("bearer") => Some(token.to_owned()),
            // What a browser's own window asks for: the password is the token, the name is anybody's.
            it if it.eq_ignore_ascii_case("basic") => password(token),
            _ => None,
        };
        return token.and_then(|token| Secret::new(&token)).map_or(Credential::Unreadable, Credential::Token);
    }
    let offered = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter().filter_map(text).collect::<Vec<_>>().join(",");
    if let Some(encoded) = offered.split(',').find_map(|it| it.trim().strip_prefix(BEARER_PROTOCOL)) {
        let token = URL_SAFE_NO_PAD.decode(encoded.trim_end_matches('=')).ok();
        let token = token.and_then(|bytes| String::from_utf8(bytes).ok()).and_then(|text| Secret::new(&text));
        return token.map_or(Credential::Unreadable, Credential::Token);
    }
    // An empty one is what a logout leaves.
    match cookies(headers) {
        none if none.is_empty() => Credential::None,
        values => Credential::Cookie(values),
    }
}

fn password(encoded: &str) -> Option<String> {
    let pair = String::from_utf8(STANDARD.decode(encoded.trim()).ok()?).ok()?;
    pair.split_once(':').map(|(_, password)| password.to_owned())
}

/// The first subprotocol of the client's that is one of ours, or of what answers the path: then we say so.
pub(crate) fn subprotocol(headers: &HeaderMap, more: &[&'static str]) -> Option<&'static str> {
    let offered = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter().filter_map(|it| it.to_str().ok());
    let known = |it: &str| more.iter().copied().chain([SUBPROTOCOL]).find(|known| *known == it.trim());
    offered.flat_map(|it| it.split(',')).find_map(known)
}

/// A browser sends those of every path and every domain that our host belongs to, and says of none which it is.
pub(crate) fn cookies(headers: &HeaderMap) -> Vec<Secret> {
    let all = headers.get_all(COOKIE).iter().filter_map(|it| it.to_str().ok());
    let pairs = all.flat_map(|it| it.split(';')).filter_map(|it| it.trim().split_once('='));
    let ours = pairs.filter(|(name, _)| *name == COOKIE_NAME).filter_map(|(_, value)| Secret::new(value));
    ours.take(COOKIES_SHOWN_MAX).collect()
}

/// Every token there is.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct TokenBook {
    pub(crate) main: Option<TokenDigest>,
    pub(crate) named: Vec<NamedToken>,
}

impl TokenBook {
    pub(crate) fn new(main: Option<&Secret>, named: Vec<NamedToken>) -> Self {
        Self { main: main.map(|it| digest(it.expose())), named }
    }

    pub(crate) fn holds(&self, digest: &TokenDigest) -> bool {
        self.main.as_ref() == Some(digest) || self.named.iter().any(|it| it.digest == *digest)
    }

    fn rows(&self) -> impl Iterator<Item = (&TokenDigest, &str, Scopes)> {
        let main = self.main.iter().map(|digest| (digest, MAIN_TOKEN, Scopes::ALL));
        main.chain(self.named.iter().map(|it| (&it.digest, &*it.name, it.scopes)))
    }

    /// Whose token this is.
    pub(crate) fn find(&self, token: &Secret) -> Option<KnownCaller> {
        find(token.expose(), self.rows().map(|row| (row.0, row))).map(caller)
    }

    /// Whose token has this digest: for what was made with it and kept.
    pub(crate) fn of_digest(&self, digest: &TokenDigest) -> Option<KnownCaller> {
        self.rows().find(|row| row.0 == digest).map(caller)
    }
}

fn caller((digest, name, scopes): (&TokenDigest, &str, Scopes)) -> KnownCaller {
    KnownCaller { principal: Principal::token(name), name: name.into(), scopes, basis: Basis::Token(*digest) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            let name: hyper::header::HeaderName = name.parse().unwrap();
            map.append(name, value.parse().unwrap());
        }
        map
    }

    fn token(text: &str) -> Credential {
        Credential::Token(Secret::new(text).unwrap())
    }

    fn cookie(values: &[&str]) -> Credential {
        Credential::Cookie(values.iter().filter_map(|it| Secret::new(it)).collect())
    }

    #[test]
    fn the_first_credential_counts() {
        let many = "tm_session=v;".repeat(COOKIES_SHOWN_MAX * 3);
        let cases: &[(&[(&str, &str)], Credential)] = &[
            (&[], Credential::None),
            (&[("authorization", "Bearer abc")], token("abc")),
            (&[("authorization", "bearer  abc ")], token("abc")),
            (&[("authorization", "Bearer")], Credential::Unreadable),
            (&[("authorization", "Bearer ")], Credential::Unreadable),
            (&[("authorization", "Basic abc")], Credential::Unreadable),
            (&[("sec-websocket-protocol", "tillerman.v1, bearer.YWJj")], token("abc")),
            (&[("sec-websocket-protocol", "tillerman.v1"), ("sec-websocket-protocol", "bearer.YWJj")], token("abc")),
            (&[("sec-websocket-protocol", "bearer.YWJj=")], token("abc")),
            (&[("sec-websocket-protocol", "bearer.!!")], Credential::Unreadable),
            (&[("sec-websocket-protocol", "tillerman.v1")], Credential::None),
            (&[("cookie", "a=b; tm_session=abc")], cookie(&["abc"])),
            (
                &[("cookie", "tm_session=x; tm_session=; tm_session=y"), ("cookie", "tm_session=z")],
                cookie(&["x", "y", "z"]),
            ),
            (&[("cookie", &many)], cookie(&["v"; COOKIES_SHOWN_MAX])),
            (&[("cookie", "xtm_session=abc")], Credential::None),
            (&[("cookie", "tm_session=; a=b")], Credential::None),
            (&[("authorization", "Bearer x"), ("cookie", "tm_session=abc")], token("x")),
            (&[("authorization", "Basic x"), ("cookie", "tm_session=abc")], Credential::Unreadable),
        ];
        for (pairs, expected) in cases {
            assert_eq!(presented(&headers(pairs)), *expected, "{pairs:?}");
        }
    }

    #[test]
    fn a_token_has_a_name_and_scopes() {
        let main = Secret::new("all").unwrap();
        let named = NamedToken { name: "ci".into(), digest: digest("less"), scopes: Scopes::READ };
        let book = TokenBook::new(Some(&main), vec![named]);
        let all = book.find(&main).unwrap();
        assert_eq!((all.principal.as_str(), all.scopes), ("token:main", Scopes::ALL));
        let less = book.find(&Secret::new("less").unwrap()).unwrap();
        assert_eq!((less.principal.as_str(), less.scopes), ("token:ci", Scopes::READ));
        assert_eq!(book.find(&Secret::new("wrong").unwrap()), None);
        assert_eq!(book.of_digest(&digest("less")), Some(less));
        assert_eq!(book.of_digest(&digest("wrong")), None);
        assert!(book.holds(&digest("less")) && !book.holds(&digest("wrong")));
        assert_eq!(TokenBook::default().find(&main), None);
    }
}
