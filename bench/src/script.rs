//! The prompt is the script: what the mock model does is written in the last user message, one step per model call.
//!
//! ```text
//! script = step { " then " step }
//! step   = "say" N ("words"|"word") [ "every" N "us" ]     words w1 .. wN, one delta each
//!        | [ "rounds" N ] "call" TOOL JSON                 one tool call, or the same one N times
//! ```
//!
//! With `every` the words are stamps (`@NANOS`, see [`crate::mock::now_ns`]), so that a reader can tell how old each one
//! is. A script that has run out says one word. Knows nothing of HTTP.

use serde_json::value::RawValue;

/// What one model call does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Step<'a> {
    Say { words: usize, every_us: Option<u64> },
    Call { tool: &'a str, input: &'a str },
}

/// The longest answer: 1,000,000 words are some 150 MB of chunks. More is a mistake in the script, and refused.
const WORDS_MAX: usize = 1_000_000;

/// What the `at`-th model call of this script does, counted from 0.
pub(crate) fn step(script: &str, at: usize) -> Result<Step<'_>, String> {
    let mut rest = script.trim();
    let mut left = at;
    loop {
        let (step, times, after) = parse(rest)?;
        if left < times {
            return Ok(step);
        }
        left -= times;
        match after.strip_prefix("then ") {
            Some(next) => rest = next.trim_start(),
            None if after.is_empty() => return Ok(Step::Say { words: 1, every_us: None }),
            None => return Err(format!("expected `then` before `{after}`")),
        }
    }
}

/// One step, how often it runs, and the text behind it.
fn parse(text: &str) -> Result<(Step<'_>, usize, &str), String> {
    let (verb, rest) = word(text);
    match verb {
        "say" => say(rest),
        "call" => call(rest).map(|(step, after)| (step, 1, after)),
        "rounds" => {
            let (times, rest) = number(rest)?;
            let (verb, rest) = word(rest);
            if verb != "call" {
                return Err(format!("`rounds {times}` wants `call TOOL JSON`, not `{verb}`"));
            }
            call(rest).map(|(step, after)| (step, times, after))
        }
        _ => Err(format!("not a script: `{}`; it begins with say, call or rounds", clip(text))),
    }
}

fn say(rest: &str) -> Result<(Step<'_>, usize, &str), String> {
    let (words, rest) = number(rest)?;
    if words > WORDS_MAX {
        return Err(format!("{words} words are too many; at most {WORDS_MAX}"));
    }
    let (unit, mut after) = word(rest);
    if unit != "words" && unit != "word" {
        return Err(format!("`say {words}` wants `words`, not `{unit}`"));
    }
    let mut every_us = None;
    if let ("every", rest) = word(after) {
        let (us, rest) = number(rest)?;
        let ("us", rest) = word(rest) else { return Err("`every N` wants `us`".into()) };
        every_us = Some(us as u64);
        after = rest;
    }
    Ok((Step::Say { words, every_us }, 1, after))
}

fn call(rest: &str) -> Result<(Step<'_>, &str), String> {
    let (tool, rest) = word(rest);
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
    let input = match values.next() {
        Some(Ok(input)) => input.get(),
        _ => return Err(format!("`call {tool}` wants JSON, not `{}`", clip(rest))),
    };
    let after = rest[values.byte_offset()..].trim_start();
    Ok((Step::Call { tool, input }, after))
}

fn word(text: &str) -> (&str, &str) {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim_start())
}

fn number(text: &str) -> Result<(usize, &str), String> {
    let (digits, rest) = word(text);
    digits.parse().map(|number| (number, rest)).map_err(|_| format!("`{}` is not a number", clip(digits)))
}

fn clip(text: &str) -> String {
    text.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn say(words: usize) -> Step<'static> {
        Step::Say { words, every_us: None }
    }

    #[test]
    fn each_model_call_takes_the_next_step() {
        let script = r#"rounds 2 call bash {"command":"a then b"} then call read_file {"path":"x"} then say 3 words"#;
        let bash = Step::Call { tool: "bash", input: r#"{"command":"a then b"}"# };
        assert_eq!(step(script, 0), Ok(bash.clone()));
        assert_eq!(step(script, 1), Ok(bash));
        assert_eq!(step(script, 2), Ok(Step::Call { tool: "read_file", input: r#"{"path":"x"}"# }));
        assert_eq!(step(script, 3), Ok(say(3)));
        assert_eq!(step(script, 4), Ok(say(1)), "a script that ran out ends the turn");
    }

    #[test]
    fn words_can_be_paced() {
        assert_eq!(step("say 5 words every 1000 us", 0), Ok(Step::Say { words: 5, every_us: Some(1000) }));
        assert_eq!(step(" say 1 word ", 0), Ok(say(1)));
    }

    #[test]
    fn nonsense_is_named() {
        for (script, names) in [
            ("hello", "not a script: `hello`"),
            ("", "not a script"),
            ("say many words", "`many` is not a number"),
            ("say 3 apples", "wants `words`"),
            ("say 9999999 words", "too many"),
            ("call bash now", "wants JSON"),
            ("rounds 3 say 1 word", "wants `call TOOL JSON`"),
        ] {
            let error = step(script, 0).expect_err(script);
            assert!(error.contains(names), "{script}: {error}");
        }
        assert!(step("say 1 word and more", 1).expect_err("trailing text").contains("expected `then`"));
    }
}
