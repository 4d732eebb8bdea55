//! Guessing is slow: wrong credentials are counted by where they come from, loopback included. Pure.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use crate::entrance::PeerAddress;
use crate::limits::{FAILURES_PER_MIN, FAILURES_TABLE_MAX};

const SPAN_MS: u64 = 60_000;

/// Where a guess comes from: a network that one guesser has whole, and a page that may speak with us. Whoever names another
/// page is no browser, and would have a new count for each name.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Guesser {
    address: Option<IpAddr>,
    origin: Option<Box<str>>,
}

impl Guesser {
    /// `page`: the origin of a page that may speak with us.
    pub(crate) fn new(peer: PeerAddress, page: Option<&str>) -> Self {
        let address = match peer {
            PeerAddress::Tcp(address) => Some(network(address.ip().to_canonical())),
            PeerAddress::Unix { .. } => None,
        };
        Self { address, origin: page.map(Into::into) }
    }
}

impl fmt::Display for Guesser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address {
            Some(address) => write!(f, "{address}")?,
            None => f.write_str("the Unix socket")?,
        }
        match &self.origin {
            Some(origin) => write!(f, ", page {origin}"),
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

#[derive(Default)]
pub(crate) struct Failures {
    counts: HashMap<Guesser, (u64, u32)>,
    /// In the order in which they began.
    order: VecDeque<(u64, Guesser)>,
}

impl Failures {
    /// For how long this one has to wait; `None`: not at all.
    pub(crate) fn wait_ms(&mut self, guesser: &Guesser, now_ms: u64) -> Option<u64> {
        let (since, count) = *self.counts.get(guesser)?;
        let until = since + SPAN_MS;
        (count >= FAILURES_PER_MIN && now_ms < until).then(|| until - now_ms)
    }

    pub(crate) fn failed(&mut self, guesser: Guesser, now_ms: u64) {
        while let Some((since, oldest)) = self.order.front() {
            if now_ms < since + SPAN_MS && self.order.len() < FAILURES_TABLE_MAX {
                break;
            }
            if self.counts.get(oldest).is_some_and(|(began, _)| began == since) {
                self.counts.remove(oldest);
            }
            self.order.pop_front();
        }
        match self.counts.get_mut(&guesser) {
            Some((_, count)) => *count += 1,
            None => {
                self.order.push_back((now_ms, guesser.clone()));
                self.counts.insert(guesser, (now_ms, 1));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(address: &str, origin: Option<&str>) -> Guesser {
        Guesser::new(PeerAddress::Tcp(format!("{address}:1").parse().unwrap()), origin)
    }

    #[test]
    fn the_twenty_first_guess_of_a_minute_is_not_read() {
        let mut failures = Failures::default();
        let guesser = from("127.0.0.1", None);
        for guess in 0..20 {
            assert_eq!(failures.wait_ms(&guesser, guess), None, "guess {guess}");
            failures.failed(guesser.clone(), guess);
        }
        assert_eq!(failures.wait_ms(&guesser, 20), Some(60_000 - 20));
        assert_eq!(failures.wait_ms(&from("127.0.0.2", None), 20), Some(60_000 - 20), "the same machine");
        assert_eq!(failures.wait_ms(&from("[::1]", None), 20), Some(60_000 - 20), "the same machine");
        assert_eq!(failures.wait_ms(&from("10.0.0.2", None), 20), None, "another address");
        assert_eq!(failures.wait_ms(&from("127.0.0.1", Some("http://x")), 20), None, "another page");
        assert_eq!(failures.wait_ms(&guesser, 60_000), None, "a minute later");
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
            failures.failed(from(&address, None), 1);
        }
        assert!(failures.counts.len() <= FAILURES_TABLE_MAX && failures.order.len() <= FAILURES_TABLE_MAX);
    }
}
