//! When a line of ours means what a recorded one says.
//!
//! | rule | |
//! |---|---|
//! | placeholders | `<name>` stands for one value, the same wherever it stands again; inside a text it stands for a piece of it |
//! | clocks | `timestamp` is some whole number |
//! | live objects | the `partial` and `message` of an update are the peer's living object and show what came later; ours are the deltas so far, to the letter (checked here), and the whole message is compared at its end |
//! | deltas | neighbours may be one; their concatenation per block is what counts |
//! | [`OPTIONAL`] | members that a peer has and we may leave out |
//! | [`OURS`], [`OURS_BESIDE_PI`] | members that we have and a peer may lack |
//! | [`BY_SHAPE`] | members whose values belong to a product, not to the protocol |
//! | empty details | `"details":{}` says nothing and may be left out |
//! | numbers | equal, to the last digit of a cost |
//!
//! Everything else is equal, in the same order.

use serde_json::{Map, Value};

use crate::recordings::Bindings;

/// Members of a peer that the reference calls optional.
const OPTIONAL: &[&str] = &["responseId", "duration", "ttft", "compat", "shortSummary", "preserveData", "meta"];
/// Members that no peer need have; hosts ignore what they do not know.
const OURS: &[&str] = &[
    "version",
    "willRetry",
    "pendingMessageCount",
    "contextUsage",
    "details",
    "fullOutputPath",
    "thinkingLevel",
    "hasPendingAsyncWork",
    "isSettled",
    "fastModeEnabled",
    "fastModeActive",
    "tokensPerSecond",
    "estimatedTokensAfter",
];
/// What the seed's lineage says and pi does not.
const OURS_BESIDE_PI: &[&str] = &[
    "attribution",
    "interruptMode",
    "queuedMessageCount",
    "todoPhases",
    "systemPrompt",
    "dumpTools",
    "premiumRequests",
    "totalLines",
    "totalBytes",
    "outputLines",
    "outputBytes",
];
const BY_SHAPE: &[&str] = &["systemPrompt", "dumpTools", "contextUsage", "baseUrl"];

pub(crate) struct Rules {
    pub(crate) bound: Bindings,
    pub(crate) beside_pi: bool,
}

impl Rules {
    pub(crate) fn new(beside_pi: bool) -> Self {
        Self { bound: Bindings::default(), beside_pi }
    }

    pub(crate) fn fits(&mut self, expected: &Value, got: &Value) -> Result<(), String> {
        match (expected, got) {
            (Value::String(expected), Value::String(text)) => self.text(expected, text, got),
            (Value::String(name), Value::Object(_)) if matches!(placeholder(name), Some(("", _, ""))) => {
                match self.bound.get(name) {
                    Some(bound) if bound != got => Err(format!(": {got} instead of {bound}")),
                    _ => {
                        self.bound.set(name, got.clone());
                        Ok(())
                    }
                }
            }
            (Value::Object(expected), Value::Object(got)) => self.members(expected, got),
            (Value::Array(expected), Value::Array(got)) if expected.len() == got.len() => {
                let pairs = expected.iter().zip(got).enumerate();
                pairs
                    .map(|(at, (one, other))| (at, self.fits(one, other)))
                    .try_for_each(|(at, fits)| fits.map_err(|why| format!("[{at}]{why}")))
            }
            (Value::Number(one), Value::Number(other)) if one.as_f64() == other.as_f64() => Ok(()),
            _ if expected == got => Ok(()),
            _ => Err(format!(": {got} instead of {expected}")),
        }
    }

    fn members(&mut self, expected: &Map<String, Value>, got: &Map<String, Value>) -> Result<(), String> {
        for (name, value) in expected {
            let fits = match got.get(name) {
                Some(got) if name == "timestamp" => got.is_i64().then_some(()).ok_or_else(|| format!(": {got}")),
                Some(got) if BY_SHAPE.contains(&name.as_str()) => shape(name, got),
                Some(got) => self.fits(value, got),
                None if OPTIONAL.contains(&name.as_str()) => Ok(()),
                None if name == "details" && value.as_object().is_some_and(Map::is_empty) => Ok(()),
                None => Err(" is missing".to_owned()),
            };
            fits.map_err(|why| format!(".{name}{why}"))?;
        }
        let known = |name: &str| {
            OURS.contains(&name) || OPTIONAL.contains(&name) || (self.beside_pi && OURS_BESIDE_PI.contains(&name))
        };
        // What became of a message is newer than the recordings.
        let disposition = got.get("data").is_some_and(|data| data["disposition"].is_string());
        let unknown =
            got.keys().find(|name| !(expected.contains_key(*name) || known(name) || disposition && *name == "data"));
        unknown.map_or(Ok(()), |name| Err(format!(".{name}: nobody knows this member")))
    }

    /// A text that may be, or have in it, placeholders.
    fn text(&mut self, expected: &str, text: &str, got: &Value) -> Result<(), String> {
        let differs = || format!(": {text:?} instead of {expected:?}");
        let Some((before, name, after)) = placeholder(expected) else {
            return (expected == text).then_some(()).ok_or_else(differs);
        };
        if before.is_empty() && after.is_empty() {
            return self.bound.is(name, got).then_some(()).ok_or_else(differs);
        }
        let rest = text.strip_prefix(before).ok_or_else(differs)?;
        let piece = match self.bound.get(name).and_then(Value::as_str) {
            Some(bound) => bound.to_owned(),
            // It reaches to the next literal text.
            None => {
                let next = placeholder(after).map_or(after, |(literal, _, _)| literal);
                let at = if next.is_empty() { rest.len() } else { rest.find(next).ok_or_else(differs)? };
                rest[..at].to_owned()
            }
        };
        let rest = rest.strip_prefix(piece.as_str()).ok_or_else(differs)?;
        if self.bound.get(name).is_none() {
            self.bound.set(name, piece.into());
        }
        self.text(after, rest, &Value::from(rest))
    }

    /// A message to send: what is bound is filled in; what is not is chosen by `choose`.
    pub(crate) fn fill(&mut self, message: &Value, choose: impl Fn(&str) -> String) -> Value {
        let text = message.to_string();
        let mut rest = text.as_str();
        while let Some((_, name, after)) = placeholder(rest) {
            if self.bound.get(name).is_none() {
                self.bound.set(name, choose(name).into());
            }
            rest = after;
        }
        self.bound.fill(message, &|bound, word| {
            let mut filled = String::new();
            let mut rest = word;
            while let Some((before, name, after)) = placeholder(rest) {
                filled.push_str(before);
                filled.push_str(bound.get(name).and_then(Value::as_str).unwrap_or_default());
                rest = after;
            }
            (filled + rest).into()
        })
    }
}

/// The first `<name>` in a text, and what stands around it.
fn placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let from = text.find('<')?;
    let to = from + text[from..].find('>')?;
    Some((&text[..from], &text[from..=to], &text[to + 1..]))
}

fn shape(name: &str, got: &Value) -> Result<(), String> {
    let is_tool = |tool: &Value| {
        tool["name"].is_string() && tool["description"].is_string() && tool["parameters"]["type"] == "object"
    };
    let fits = match name {
        "systemPrompt" | "baseUrl" => got.as_str().is_some_and(|text| !text.is_empty()),
        "dumpTools" => got.as_array().is_some_and(|tools| !tools.is_empty() && tools.iter().all(is_tool)),
        _ => got["tokens"].is_number() && got["contextWindow"].is_number() && got["percent"].is_number(),
    };
    fits.then_some(()).ok_or_else(|| format!(": {got} has not its shape"))
}

/// Checks an update of ours against the deltas of its block so far.
pub(crate) fn check_update(update: &Value, so_far: &str) -> Result<(), String> {
    let event = &update["assistantMessageEvent"];
    if event["partial"] != update["message"] {
        return Err(format!("the partial and the message differ: {update}"));
    }
    let index = event["contentIndex"].as_u64().ok_or("no contentIndex")? as usize;
    let content = event["partial"]["content"].as_array().ok_or("no content")?;
    if content.len() != index + 1 {
        return Err(format!("block {index} is not the last of {content:?}"));
    }
    let block = &content[index];
    let said = match block["type"].as_str() {
        Some("text") => &block["text"],
        Some("thinking") => &block["thinking"],
        _ => &block["partialArgs"],
    };
    (said == so_far).then_some(()).ok_or_else(|| format!("{said} instead of {so_far:?}"))
}

#[test]
fn the_rules_let_nothing_else_through() {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let fits = |expected: &str, got: &str| Rules::new(false).fits(&read(expected), &read(got));
    assert_eq!(fits(r#"{"a":"<x>","b":"<x>"}"#, r#"{"a":"1","b":"1"}"#), Ok(()));
    assert!(fits(r#"{"a":"<x>","b":"<x>"}"#, r#"{"a":"1","b":"2"}"#).is_err());
    assert!(fits(r#"{"a":"<x>","b":"<y>"}"#, r#"{"a":"1","b":"1"}"#).is_err());
    assert_eq!(fits(r#"{"f":"<dir>/<t>_<id>.jsonl","id":"<id>"}"#, r#"{"f":"/a/b_c.jsonl","id":"c"}"#), Ok(()));
    assert!(fits(r#"{"f":"<dir>/<t>_<id>.jsonl","id":"<id>"}"#, r#"{"f":"/a/b_c.jsonl","id":"d"}"#).is_err());
    assert!(fits(r#"{"n":1}"#, r#"{"n":2}"#).is_err());
    assert_eq!(fits(r#"{"n":0}"#, r#"{"n":0.0}"#), Ok(()));
    assert!(fits(r#"{"n":0.00014}"#, r#"{"n":0.000140001}"#).is_err());
    assert!(fits(r#"{}"#, r#"{"attribution":"user"}"#).is_err(), "only pi has none");
    assert!(fits(r#"{"attribution":"user"}"#, "{}").is_err());
    assert!(fits(r#"{"l":[1,2]}"#, r#"{"l":[1]}"#).is_err());
    assert_eq!(fits(r#"{"details":{}}"#, "{}"), Ok(()));
    assert!(fits(r#"{"details":{"k":1}}"#, "{}").is_err());
}
