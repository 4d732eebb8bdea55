//! Guessing is slow: wrong credentials are counted by where they come from, loopback included. Cookies have a count of their
//! own: a browser sends them to every port of a host and comes back with old ones, which must lock out nobody who has a token. Pure.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use crate::entrance::PeerAddress;
use crate::guards::KnownPage;
use crate::limits::{FAILURES_PER_MIN, FAILURES_TABLE_MAX};
use crate::tokens::TokenDigest;

const SPAN_MS: u64 = 60_000;

/// What is guessed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum GuessKind {
    Token,
    Cookie,
}

/// A guess that was wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum WrongGuess {
    Token,
    /// All that were shown. What a tab shows again and again is one guess.
    Cookie(Vec<TokenDigest>),
}

impl WrongGuess {
    fn kind(&self) -> GuessKind {
        match self {
            WrongGuess::Token => GuessKind::Token,
            WrongGuess::Cookie(_) => GuessKind::Cookie,
        }
    }
}

/// Where a guess comes from: a network that one guesser has whole, and a page that may speak with us, in words of ours.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Guesser {
    address: Option<IpAddr>,
    page: Option<KnownPage>,
}

impl Guesser {
    /// `page`: one that may speak with us.
    pub(crate) fn new(peer: PeerAddress, page: Option<KnownPage>) -> Self {
        let address = match peer {
            PeerAddress::Tcp(address) => Some(network(address.ip().to_canonical())),
            PeerAddress::Unix { .. } => None,
        };
        Self { address, page }
    }
}

impl fmt::Display for Guesser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            Some(address) => write!(f, "{address}")?,
            None => f.write_str("the Unix socket")?,
        }
        match &self.page {
            Some(KnownPage::Own) => f.write_str(", our own page"),
            Some(KnownPage::Listed(origin)) => write!(f, ", page {origin}"),
            None => Ok(()),
        }
    }
}

/// What one guesser has whole: of this machine all addresses, of IPv6 the network.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address {
        address if address.is_loopback() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V4(_) => address,
        IpAddr::V6(six) => {
            let mut octets = six.octets();
            octets[8..].fill(0);
            IpAddr::from(octets)
        }
    }
}

/// The guesses of one minute.
struct GuessCount {
    since_ms: u64,
    count: u32,
    /// Cookies among them, of which there are no more than are counted.
    cookies: Vec<TokenDigest>,
}

#[derive(Default)]
pub(crate) struct Failures {
    counts: HashMap<(Guesser, GuessKind), GuessCount>,
    /// In the order in which they began.
    order: VecDeque<(u64, (Guesser, GuessKind))>,
}

impl Failures {
    /// For how long this one has to wait before it may try that; `None`: not at all.
    pub(crate) fn wait_ms(&self, guesser: &Guesser, kind: GuessKind, now_ms: u64) -> Option<u64> {
        let row = self.counts.get(&(guesser.clone(), kind))?;
        let until = row.since_ms + SPAN_MS;
        (row.count >= FAILURES_PER_MIN && now_ms < until).then(|| until - now_ms)
    }

    pub(crate) fn failed(&mut self, guesser: Guesser, guess: WrongGuess, now_ms: u64) {
        while let Some((since, oldest)) = self.order.front() {
            if now_ms < since + SPAN_MS && self.order.len() < FAILURES_TABLE_MAX {
                break;
            }
            if self.counts.get(oldest).is_some_and(|row| row.since_ms == *since) {
                self.counts.remove(oldest);
            }
            self.order.pop_front();
        }
        let of = (guesser, guess.kind());
        let row = self.counts.entry(of).or_insert_with_key(|of| {
            self.order.push_back((now_ms, of.clone()));
            GuessCount { since_ms: now_ms, count: 0, cookies: Vec::new() }
        });
        let WrongGuess::Cookie(shown) = guess else {
            row.count += 1;
            return;
        };
        for digest in shown {
            if !row.cookies.contains(&digest) && row.count < FAILURES_PER_MIN {
                row.cookies.push(digest);
                row.count += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(address: &str, page: Option<KnownPage>) -> Guesser {
        Guesser::new(PeerAddress::Tcp(format!("{address}:1").parse().unwrap()), page)
    }

    #[test]
    fn the_twenty_first_guess_of_a_minute_is_not_read() {
        let mut failures = Failures::default();
        let guesser = from("127.0.0.1", None);
        let wait = |failures: &Failures, of: &Guesser, now_ms| failures.wait_ms(of, GuessKind::Token, now_ms);
        for guess in 0..20 {
            assert_eq!(wait(&failures, &guesser, guess), None, "guess {guess}");
            failures.failed(guesser.clone(), WrongGuess::Token, guess);
        }
        assert_eq!(wait(&failures, &guesser, 20), Some(60_000 - 20));
        assert_eq!(wait(&failures, &from("127.0.0.2", None), 20), Some(60_000 - 20), "the same machine");
        assert_eq!(wait(&failures, &from("[::1]", None), 20), Some(60_000 - 20), "the same machine");
        assert_eq!(wait(&failures, &from("10.0.0.2", None), 20), None, "another address");
        assert_eq!(wait(&failures, &from("127.0.0.1", Some(KnownPage::Own)), 20), None, "another page");
        assert_eq!(failures.wait_ms(&guesser, GuessKind::Cookie, 20), None, "another credential");
        assert_eq!(wait(&failures, &guesser, 60_000), None, "a minute later");
    }

    #[test]
    fn cookies_count_for_cookies_and_each_once() {
        let mut failures = Failures::default();
        let guesser = from("127.0.0.1", None);
        for _ in 0..100 {
            failures.failed(guesser.clone(), WrongGuess::Cookie(vec![[0; 32]]), 0);
        }
        for guess in 1..20 {
            assert_eq!(failures.wait_ms(&guesser, GuessKind::Cookie, 1), None, "guess {guess}");
            failures.failed(guesser.clone(), WrongGuess::Cookie(vec![[guess; 32]]), 0);
        }
        assert_eq!(failures.wait_ms(&guesser, GuessKind::Cookie, 1), Some(60_000 - 1));
        assert_eq!(failures.wait_ms(&guesser, GuessKind::Token, 1), None);
        (100..250).for_each(|guess| failures.failed(guesser.clone(), WrongGuess::Cookie(vec![[guess; 32]]), 1));
        let kept = &failures.counts[&(guesser.clone(), GuessKind::Cookie)].cookies;
        assert_eq!(kept.len(), 20, "no more are remembered than are counted");
        failures.failed(guesser.clone(), WrongGuess::Cookie(vec![[0; 32]]), 60_000);
        assert_eq!(failures.wait_ms(&guesser, GuessKind::Cookie, 60_000), None, "a minute later");
    }

    #[test]
    fn one_network_of_ipv6_is_one_guesser() {
        assert_eq!(from("[2001:db8::1]", None), from("[2001:db8::ffff:1:2]", None));
        assert_ne!(from("[2001:db8::1]", None), from("[2001:db8:0:1::1]", None));
        assert_eq!(from("[::ffff:10.0.0.1]", None), from("10.0.0.1", None));
    }

    #[test]
    fn the_table_has_a_bound() {
        let mut failures = Failures::default();
        for guesser in 0..30_000u32 {
            let address = Ipv4Addr::from(guesser).to_string();
            failures.failed(from(&address, None), WrongGuess::Token, 1);
        }
        assert!(failures.counts.len() <= FAILURES_TABLE_MAX && failures.order.len() <= FAILURES_TABLE_MAX);
    }
}
