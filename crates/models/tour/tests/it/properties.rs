//! Whatever is written, the tour answers and ends once.

use crate::support::names;
use proptest::prelude::*;
use vocab::CallEnd;

use crate::support::{Heard, Talk};

/// Ends exactly once, last, unless it was told to fall silent.
fn ends_once(heard: &Heard, prompt: &str) {
    if heard.silent {
        assert!(["stall", "hold", "hang"].iter().any(|word| prompt.contains(word)), "silent unasked: {prompt:?}");
        assert_eq!(heard.ends(), 0);
    } else {
        assert_eq!(heard.ends(), 1, "{prompt:?}");
        assert!(heard.finish().is_some() || heard.fault().is_some(), "{prompt:?}");
    }
}

/// Sentences made of the words that mean something, so that the rules are really entered.
fn wordy() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "say",
        "think",
        "call",
        "id",
        "stall",
        "hold",
        "slow",
        "0",
        "2",
        "words",
        "fail",
        "429",
        "500",
        "overflow",
        "retry-after",
        "cut",
        "badjson",
        "{}",
        "{\"a\":\"then\"}",
        "{",
        "\"a b\"",
        "\"",
        "then",
        "and",
        "length",
        "refuse",
        "usage",
        "finish",
        "stop",
        "list",
        "the",
        "rust",
        "files",
        "find",
        "*.toml",
        "read",
        "README.md",
        "search",
        "for",
        "in",
        "write",
        "a",
        "hello",
        "world",
        "with",
        "replace",
        "run",
        "$",
        "tour",
        "help",
        "ä",
        "please",
        ".",
        "grep",
    ]);
    prop::collection::vec(word, 0..10).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_text_is_answered_once(prompt in any::<String>(), family in 0..5usize) {
        let family = [names::CANONICAL, names::SERVE, names::RPC, names::LOAF, names::DOTTED][family];
        ends_once(&Talk::spelling(family).prompt(&prompt), &prompt);
    }

    #[test]
    fn a_whole_turn_ends_whatever_tools_say(prompt in wordy(), output in any::<String>(), end in 0..7usize, is_error: bool) {
        let ends = [
            CallEnd::Ran, CallEnd::Denied, CallEnd::Unknown, CallEnd::Invalid, CallEnd::Interrupted, CallEnd::Skipped,
            CallEnd::Lost,
        ];
        let mut talk = Talk::new();
        let mut heard = talk.prompt(&prompt);
        ends_once(&heard, &prompt);
        // No script of ten words has more steps, and the longest tour has four stops.
        for _ in 0..12 {
            if heard.calls().is_empty() || heard.finish().is_none() {
                return Ok(());
            }
            heard = talk.outcome(&output, ends[end], is_error);
            ends_once(&heard, &prompt);
        }
        prop_assert!(false, "the turn does not end: {prompt:?}");
    }

    #[test]
    fn arbitrary_scripts_parse_or_name_a_line(text in "(say|call|fail|id|reply|turn|hold|[a-z{}\"0-9 \n]){0,20}") {
        if let Err(fault) = tour::Script::parse(&text) {
            prop_assert!(fault.message.starts_with("(text):"), "{}", fault.message);
        }
    }
}
