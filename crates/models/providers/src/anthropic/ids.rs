//! Ids of calls as this API takes them: letters, digits, `_` and `-`, each once in a conversation. Ids of other providers
//! are none of that, so they are mapped; a call and its result always to the same.

use std::collections::HashSet;

use vocab::CallId;

/// Longer ids are shortened.
const ID_BYTES_MAX: usize = 64;
/// What is kept of an id that had to be changed, for people who read requests.
const KEPT_BYTES_MAX: usize = 40;

#[derive(Default)]
pub(super) struct AnthropicIds {
    used: HashSet<String>,
    /// The calls of the newest answer.
    batch: Vec<(CallId, String)>,
}

impl AnthropicIds {
    /// Forgets the calls of the answer before.
    pub(super) fn next_batch(&mut self) {
        self.batch.clear();
    }
    /// The id of a call that is announced now.
    pub(super) fn announce(&mut self, call: &CallId) -> &str {
        let base = fit(call.as_str());
        let mut id = base.clone();
        let mut number = 2;
        while !self.used.insert(id.clone()) {
            id = format!("{base}-{number}");
            number += 1;
        }
        self.batch.push((call.clone(), id));
        &self.batch[self.batch.len() - 1].1
    }
    /// The id under which a call of the newest answer was announced.
    pub(super) fn of(&self, call: &CallId) -> String {
        let known = self.batch.iter().find(|(have, _)| have == call);
        known.map_or_else(|| fit(call.as_str()), |(_, id)| id.clone())
    }
}

fn fit(id: &str) -> String {
    let good = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
    if !id.is_empty() && id.len() <= ID_BYTES_MAX && id.chars().all(good) {
        return id.to_owned();
    }
    let kept: String = id.chars().filter(|char| good(*char)).take(KEPT_BYTES_MAX).collect();
    format!("{kept}_{:016x}", fnv1a(id.as_bytes()))
}

/// A hash that is the same in every version and on every machine: requests are written again from logs.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_ids_fit_stay_apart_and_never_change() {
        assert_eq!(fit("toolu_01-A"), "toolu_01-A");
        assert_eq!(fit("call_1|fc_2"), "call_1fc_2_af9de82873fca635");
        let all = ["", "a.b", "a:b", "ab", "\u{e4}", "\u{f6}", &"x".repeat(65), &"x".repeat(66)].map(fit);
        for id in &all {
            assert!((1..=ID_BYTES_MAX).contains(&id.len()), "{id}");
            assert!(id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'), "{id}");
        }
        assert_eq!(HashSet::from(all).len(), 8);
    }

    #[test]
    fn an_id_that_comes_again_in_a_later_answer_is_another_call() {
        let mut ids = AnthropicIds::default();
        let call = CallId::from("call_0");
        assert_eq!(ids.announce(&call), "call_0");
        ids.next_batch();
        assert_eq!(ids.announce(&call), "call_0-2");
        assert_eq!(ids.of(&call), "call_0-2");
    }
}
