//! Who showed a credential lately: those that were wrong, and browsers that logged in. Never the credential. Pure.

use std::collections::VecDeque;
use std::sync::Arc;

use dialect_gateway::services::access::AttemptKind;

use crate::entrance::PeerAddress;
use crate::limits::{ATTEMPT_TEXT_CHARS_MAX, ATTEMPTS_MAX};

/// Where a request comes from, as far as it says so itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct CameFrom {
    pub(crate) peer: PeerAddress,
    pub(crate) origin: Option<Arc<str>>,
    pub(crate) path: Arc<str>,
}

impl CameFrom {
    /// Strangers choose these words: they are cut, and show as what they are.
    pub(crate) fn new(peer: PeerAddress, origin: Option<&str>, path: &str) -> Self {
        let shown = |text: &str| {
            let cut: String = text.chars().take(ATTEMPT_TEXT_CHARS_MAX).collect();
            Arc::from(vocab::visible::visible_line(&cut))
        };
        Self { peer, origin: origin.map(shown), path: shown(path) }
    }
}

/// One of them.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    /// Since the server began.
    pub(crate) at_ms: u64,
    pub(crate) from: CameFrom,
    pub(crate) kind: AttemptKind,
    pub(crate) ok: bool,
}

#[derive(Default)]
pub(crate) struct Attempts(VecDeque<Attempt>);

impl Attempts {
    pub(crate) fn add(&mut self, attempt: Attempt) {
        if self.0.len() >= ATTEMPTS_MAX {
            self.0.pop_front();
        }
        self.0.push_back(attempt);
    }

    /// The newest first.
    pub(crate) fn newest(&self, limit: usize) -> Vec<Attempt> {
        self.0.iter().rev().take(limit).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_never_more_than_fit_and_none_is_longer_than_it_may_be() {
        let mut attempts = Attempts::default();
        let peer = PeerAddress::Tcp("127.0.0.1:1".parse().unwrap());
        let long = format!("/\u{1b}[2J{}", "x".repeat(100_000));
        for at_ms in 0..ATTEMPTS_MAX as u64 + 7 {
            let from = CameFrom::new(peer, Some(&long), &long);
            attempts.add(Attempt { at_ms, from, kind: AttemptKind::Token, ok: false });
        }
        let newest = attempts.newest(usize::MAX);
        assert_eq!((newest.len(), newest[0].at_ms), (ATTEMPTS_MAX, ATTEMPTS_MAX as u64 + 6));
        assert_eq!(attempts.newest(3).len(), 3);
        let path = &newest[0].from.path;
        assert!(path.chars().count() < ATTEMPT_TEXT_CHARS_MAX + 20 && !path.contains('\u{1b}'), "{path}");
    }
}
