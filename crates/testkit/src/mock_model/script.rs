//! The prompt as a script.
//!
//! ```text
//! say 3 words                     w1 w2 w3, one delta per word
//! say "any text" | say any text   one delta per word, each with the space behind it
//! think "..."                     reasoning, one delta, and its seal
//! call TOOL {"json": "object"}    a tool call; the object may be left out
//! stall 2 say 5 words             two of the five words, then silence
//! hang                            silence at once
//! slow 60 say 6 words             60 ms before each word
//! redact "..."                    a thought that is sealed as a whole
//! count 100 30 20 7               tokens: prompt, of these cached and written, said
//! finish length                   how the reply ends, in the words of [`Step::Finish`]
//! break 529                       an error in the middle of the stream
//! fail 503                        an HTTP error instead of an answer
//! ```
//!
//! `and` joins what belongs to one reply, `then` joins replies: the first reply that has calls is over when all its
//! results are in the request. The last user message with text is the script; the tool messages behind it say how far
//! it has come. A `fail` with something behind it fails once per request body, so that a retry gets further. Anything
//! that is no script is answered with `ok`. A path in front of a script (`/etc/hosts say 2 words`) is passed over.

use std::collections::HashMap;

use serde_json::Value;

use super::Format;
use super::steps::{Reply, Step, words};

/// How many scripted failures each request body has had.
#[derive(Default)]
pub(super) struct Fails(HashMap<Vec<u8>, usize>);

/// One thing the server does within a reply.
#[derive(Clone, PartialEq, Debug)]
pub enum Action {
    SayWords(usize),
    SayText(String),
    Think(String),
    Call { tool: String, arguments: String },
    Stall { after: usize, of: usize },
    Slow { ms: u64, of: usize },
    Redact(String),
    Count([u64; 4]),
    Finish(String),
    Break(u16),
    Fail(u16),
}

/// Replies, each a list of actions. An empty list means that the text is no script.
pub fn parse(prompt: &str) -> Vec<Vec<Action>> {
    let mut rest = prompt.trim();
    if let Some((_, behind)) = word(rest).filter(|(first, _)| first.starts_with('/')) {
        rest = behind.trim_start();
    }
    let mut replies = vec![Vec::new()];
    loop {
        let Some((action, after)) = action(rest) else { return Vec::new() };
        replies.last_mut().expect("never empty").push(action);
        rest = after.trim_start();
        if rest.is_empty() {
            return replies;
        } else if let Some(after) = keyword(rest, "then") {
            replies.push(Vec::new());
            rest = after;
        } else if let Some(after) = keyword(rest, "and") {
            rest = after;
        } else {
            return Vec::new();
        }
    }
}

/// What to answer to this chat request.
pub(super) fn reply(format: Format, body: &[u8], request: &Value, fails: &mut Fails) -> Reply {
    let (prompt, results) = format.position(request);
    let script = parse(&prompt);
    let (mut at, mut round, mut left) = (0, 0, results);
    while let Some(actions) = script.get(at) {
        let calls = actions.iter().filter(|action| matches!(action, Action::Call { .. })).count();
        if calls == 0 || left < calls {
            break;
        }
        (at, round, left) = (at + 1, round + 1, left - calls);
    }
    while let Some([Action::Fail(status)]) = script.get(at).map(Vec::as_slice) {
        let failed = fails.0.entry(body.to_vec()).or_default();
        if at + 1 < script.len() && *failed > at {
            at += 1;
            continue;
        }
        *failed = at + 1;
        return Reply::error(*status, &format!("scripted failure {status}"));
    }
    match script.get(at) {
        Some(actions) => play(actions, round, body.len()),
        None => play(&[Action::SayText(if script.is_empty() { "ok" } else { "done" }.into())], round, body.len()),
    }
}

fn play(actions: &[Action], round: usize, body_bytes: usize) -> Reply {
    let mut steps = Vec::new();
    let (mut calls, mut sealed) = (0, false);
    let (mut finish, mut count) = (None, None);
    let numbered = |count: usize, of: usize| {
        (1..=count).map(move |n| Step::Text(if n == of { format!("w{n}") } else { format!("w{n} ") }))
    };
    for action in actions {
        match action {
            Action::SayWords(count) => steps.extend(numbered(*count, *count)),
            Action::SayText(text) => steps.extend(words(text).map(Step::text)),
            Action::Think(text) => {
                steps.extend([Step::Thinking(text.clone()), Step::Seal(seal(text, round))]);
                sealed = true;
            }
            Action::Call { tool, arguments } => {
                steps.push(Step::call(calls, &format!("call_{round}_{calls}"), tool, arguments));
                // Where calls have signatures, the first has one, whether or not a thought was shown.
                if !std::mem::replace(&mut sealed, true) {
                    steps.push(Step::Seal(seal(tool, round)));
                }
                calls += 1;
            }
            Action::Stall { after, of } => {
                steps.extend(numbered(*after, *of));
                steps.push(Step::Hold);
            }
            Action::Slow { ms, of } => {
                steps.extend(numbered(*of, *of).flat_map(|word| [Step::Pause { ms: *ms }, word]));
            }
            Action::Redact(text) => {
                steps.push(Step::Redacted(seal(text, round)));
                sealed = true;
            }
            Action::Count(counts) => count = Some(*counts),
            Action::Finish(reason) => finish = Some(reason.as_str()),
            Action::Break(status) => {
                steps.push(Step::Error { status: *status, message: format!("scripted break {status}") });
                return Reply::stream(steps);
            }
            Action::Fail(status) => return Reply::error(*status, &format!("scripted failure {status}")),
        }
    }
    let said = steps.iter().filter(|step| !matches!(step, Step::Seal(_))).count() as u64;
    steps.push(Step::finish(finish.unwrap_or(if calls > 0 { "tool_calls" } else { "stop" })));
    // A token for every four bytes asked and every delta said: enough to make sums that can be checked.
    let [prompt, cached, written, completion] = count.unwrap_or([body_bytes as u64 / 4, 0, 0, said]);
    steps.extend([Step::Usage { prompt, cached, written, completion }, Step::Done]);
    Reply::stream(steps)
}

/// A signature that depends on nothing but what it seals: base64, as some vendors insist on, with all of its letters.
fn seal(what: &str, round: usize) -> String {
    // FNV-1a, 128 bits.
    let mix = |hash: u128, byte| (hash ^ u128::from(byte)).wrapping_mul(0x1_0000_0000_0000_0000_013b);
    let hash = what.bytes().chain(round.to_le_bytes()).fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, mix);
    format!("Ep+/{hash:032x}AA==")
}

// ---- the grammar ----------------------------------------------------------------------------------------------

fn action(text: &str) -> Option<(Action, &str)> {
    if let Some(rest) = keyword(text, "say") {
        if let Some((count, rest)) = count_words(rest) {
            return Some((Action::SayWords(count), rest));
        }
        let (text, rest) = phrase(rest)?;
        return Some((Action::SayText(text), rest));
    }
    if let Some(rest) = keyword(text, "think") {
        let (text, rest) = phrase(rest)?;
        return Some((Action::Think(text), rest));
    }
    if let Some(rest) = keyword(text, "call") {
        let (tool, rest) = word(rest)?;
        let (arguments, rest) = match json(rest.trim_start(), '{') {
            Some((raw, rest)) => (raw, rest),
            None => ("{}", rest),
        };
        return Some((Action::Call { tool: tool.into(), arguments: arguments.into() }, rest));
    }
    if let Some(rest) = keyword(text, "stall") {
        let (after, rest) = word(rest)?;
        let (of, rest) = count_words(keyword(rest.trim_start(), "say")?)?;
        return Some((Action::Stall { after: after.parse().ok()?, of }, rest));
    }
    if let Some(rest) = keyword(text, "hang") {
        return Some((Action::Stall { after: 0, of: 0 }, rest));
    }
    if let Some(rest) = keyword(text, "slow") {
        let (ms, rest) = word(rest)?;
        let (of, rest) = count_words(keyword(rest.trim_start(), "say")?)?;
        return Some((Action::Slow { ms: ms.parse().ok()?, of }, rest));
    }
    if let Some(rest) = keyword(text, "redact") {
        let (text, rest) = phrase(rest)?;
        return Some((Action::Redact(text), rest));
    }
    if let Some(mut rest) = keyword(text, "count") {
        let mut counts = [0; 4];
        for count in &mut counts {
            let (number, behind) = word(rest.trim_start())?;
            (*count, rest) = (number.parse().ok()?, behind);
        }
        return Some((Action::Count(counts), rest));
    }
    if let Some(rest) = keyword(text, "finish") {
        let (reason, rest) = word(rest)?;
        return Some((Action::Finish(reason.into()), rest));
    }
    if let Some(rest) = keyword(text, "break") {
        let (status, rest) = status(rest)?;
        return Some((Action::Break(status), rest));
    }
    let (status, rest) = status(keyword(text, "fail")?)?;
    Some((Action::Fail(status), rest))
}

fn status(text: &str) -> Option<(u16, &str)> {
    let (status, rest) = word(text)?;
    Some((status.parse().ok().filter(|status| (400..600).contains(status))?, rest))
}

/// `text` behind this word and the space after it.
fn keyword<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let rest = text.strip_prefix(word)?;
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| rest.trim_start())
}

fn word(text: &str) -> Option<(&str, &str)> {
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// `N words`
fn count_words(text: &str) -> Option<(usize, &str)> {
    let (count, rest) = word(text)?;
    let rest = rest.trim_start();
    let rest = keyword(rest, "words").or_else(|| keyword(rest, "word"))?;
    Some((count.parse().ok()?, rest))
}

/// A JSON string, or bare words up to `then` or `and`.
fn phrase(text: &str) -> Option<(String, &str)> {
    if let Some((raw, rest)) = json(text, '"') {
        return Some((serde_json::from_str(raw).ok()?, rest));
    }
    let mut end = 0;
    for piece in text.split_inclusive(char::is_whitespace) {
        if matches!(piece.trim(), "then" | "and") {
            break;
        }
        end += piece.len();
    }
    let bare = text[..end].trim();
    (!bare.is_empty()).then(|| (bare.to_owned(), &text[end..]))
}

/// The JSON value at the start of `text`, which must open with `open`, and what comes behind it.
fn json(text: &str, open: char) -> Option<(&str, &str)> {
    if !text.starts_with(open) {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
    values.next()?.ok()?;
    Some(text.split_at(values.byte_offset()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(tool: &str, arguments: &str) -> Action {
        Action::Call { tool: tool.into(), arguments: arguments.into() }
    }

    #[test]
    fn the_grammar_reads_every_form() {
        for (prompt, want) in [
            ("say 3 words", vec![vec![Action::SayWords(3)]]),
            ("say \"a then b\"", vec![vec![Action::SayText("a then b".into())]]),
            (
                "say hello there then say x",
                vec![vec![Action::SayText("hello there".into())], vec![Action::SayText("x".into())]],
            ),
            (
                r#"call a {"x":"} and then"} and call b {} then say 1 word"#,
                vec![vec![call("a", r#"{"x":"} and then"}"#), call("b", "{}")], vec![Action::SayWords(1)]],
            ),
            ("call a then say ok", vec![vec![call("a", "{}")], vec![Action::SayText("ok".into())]]),
            ("hang", vec![vec![Action::Stall { after: 0, of: 0 }]]),
            ("/etc/hosts slow 60 say 6 words", vec![vec![Action::Slow { ms: 60, of: 6 }]]),
            ("stall 2 say 5 words", vec![vec![Action::Stall { after: 2, of: 5 }]]),
            ("think \"hm\" and say y", vec![vec![Action::Think("hm".into()), Action::SayText("y".into())]]),
            ("fail 503 then say hi", vec![vec![Action::Fail(503)], vec![Action::SayText("hi".into())]]),
            ("redact \"hm\"", vec![vec![Action::Redact("hm".into())]]),
            (
                "say x and count 10 3 2 5 and finish length",
                vec![vec![Action::SayText("x".into()), Action::Count([10, 3, 2, 5]), Action::Finish("length".into())]],
            ),
            ("say 2 words and break 529", vec![vec![Action::SayWords(2), Action::Break(529)]]),
            ("count 1 2 3", vec![]),
            ("hello", vec![]),
            ("fail 42", vec![]),
            ("say", vec![]),
        ] {
            assert_eq!(parse(prompt), want, "{prompt}");
        }
    }

    fn answer(body: &[u8], fails: &mut Fails) -> Reply {
        reply(Format::Completions, body, &serde_json::from_slice(body).unwrap(), fails)
    }

    fn texts(reply: Reply) -> String {
        match reply {
            Reply::Stream { steps, .. } => steps
                .iter()
                .map(|step| match step {
                    Step::Text(text) => text.clone(),
                    Step::Call { id, name, .. } => format!("<{} {}>", id.clone().unwrap(), name.clone().unwrap()),
                    _ => String::new(),
                })
                .collect(),
            Reply::Plain { status, .. } => format!("{status}"),
            Reply::Drop => "drop".into(),
        }
    }

    #[test]
    fn tool_messages_after_the_last_user_message_choose_the_reply() {
        let prompt = "call a and call b then call c then say end";
        for (results, want) in [
            (0, "<call_0_0 a><call_0_1 b>"),
            (1, "<call_0_0 a><call_0_1 b>"),
            (2, "<call_1_0 c>"),
            (3, "end"),
            (4, "end"),
        ] {
            let mut messages = vec![
                serde_json::json!({"role":"user","content":"old"}),
                serde_json::json!({"role":"tool","content":"old"}),
                serde_json::json!({"role":"user","content":prompt}),
            ];
            messages.extend((0..results).map(|_| serde_json::json!({"role":"tool","content":"x"})));
            let body = serde_json::json!({ "messages": messages }).to_string();
            assert_eq!(texts(answer(body.as_bytes(), &mut Fails::default())), want, "{results} results");
        }
    }

    #[test]
    fn a_failure_with_something_behind_it_happens_once_per_body() {
        let mut fails = Fails::default();
        let body = br#"{"messages":[{"role":"user","content":"fail 503 then fail 429 then say hi"}]}"#;
        let got: Vec<String> = (0..4).map(|_| texts(answer(body, &mut fails))).collect();
        assert_eq!(got, ["503", "429", "hi", "hi"]);
        let body = br#"{"messages":[{"role":"user","content":"fail 500"}]}"#;
        let got: Vec<String> = (0..3).map(|_| texts(answer(body, &mut fails))).collect();
        assert_eq!(got, ["500", "500", "500"]);
    }
}
