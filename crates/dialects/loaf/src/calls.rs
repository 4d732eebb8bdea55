//! Tool calls as this wire tells them: each is started and completed, and a round ends with all of its records.

use crate::tool_names::TOOL_NAMES;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use vocab::names;
use vocab::{Call, CallEnd, CallId, CallInput, CallResult};

/// The calls of one model reply.
#[derive(Default)]
pub(crate) struct Round {
    /// From 1, within the turn.
    pub(crate) number: u64,
    calls: Vec<(Call, bool)>,
    executed: Vec<Box<RawValue>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Started<'a> {
    tool_round: u64,
    call: StartedCall<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StartedCall<'a> {
    name: &'a str,
    input: Box<RawValue>,
    provider_tool_name: &'a str,
    call_id: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Completed<'a> {
    tool_round: u64,
    executed: &'a RawValue,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Results<'a> {
    tool_round: u64,
    executed: &'a [Box<RawValue>],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Executed<'a> {
    name: &'a str,
    ok: bool,
    input: Box<RawValue>,
    result: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    call_id: &'a str,
}

impl Round {
    /// The model asks for these; a reply without any is no round.
    pub(crate) fn begin(&mut self, calls: impl Iterator<Item = Call>) {
        self.calls = calls.map(|call| (call, false)).collect();
        self.executed.clear();
        self.number += u64::from(!self.calls.is_empty());
    }

    /// The record of a call that begins now; `None` when it is none of this round's, or has begun.
    pub(crate) fn start(&mut self, id: &CallId) -> Option<Started<'_>> {
        let tool_round = self.number;
        let (call, started) = self.calls.iter_mut().find(|(call, _)| call.id == *id)?;
        if std::mem::replace(started, true) {
            return None;
        }
        let call = StartedCall {
            name: shown(&call.name),
            input: input(&call.input),
            provider_tool_name: &call.name,
            call_id: call.id.as_str(),
        };
        Some(Started { tool_round, call })
    }

    pub(crate) fn complete(&mut self, result: &CallResult) -> Option<Completed<'_>> {
        let (call, _) = self.calls.iter().find(|(call, _)| call.id == result.call)?;
        let (answer, error) = outcome(call, result);
        let record = Executed {
            name: shown(&call.name),
            ok: error.is_none(),
            input: input(&call.input),
            result: answer,
            error,
            call_id: call.id.as_str(),
        };
        self.executed.push(serde_json::value::to_raw_value(&record).expect("a record has text keys"));
        Some(Completed { tool_round: self.number, executed: self.executed.last()? })
    }

    /// All records, when the last one has come. Told once.
    pub(crate) fn finish(&mut self) -> Option<Results<'_>> {
        let over = !self.calls.is_empty() && self.executed.len() == self.calls.len();
        if !over {
            return None;
        }
        self.calls.clear();
        Some(Results { tool_round: self.number, executed: &self.executed })
    }
}

/// Our spelling of a tool that we have; the model's of one that we have not.
fn shown(name: &str) -> &str {
    names::canonical(name).map_or(name, |canonical| TOOL_NAMES.show(canonical))
}

fn input(input: &CallInput) -> Box<RawValue> {
    let json = input.json();
    RawValue::from_string(json.as_str().to_owned()).expect("arguments were read as JSON")
}

/// What came of a call, and what was wrong with it.
fn outcome(call: &Call, result: &CallResult) -> (Value, Option<String>) {
    let text = result.text();
    let status = |status: &str| json!({ "callId": call.id.as_str(), "tool": &*call.name, "status": status });
    match (result.end, &call.input) {
        (CallEnd::Unknown, _) => (status("not_found"), Some(format!("unknown tool: {}", call.name))),
        (CallEnd::Invalid, CallInput::Broken { detail, .. }) => {
            (status("invalid_arguments"), Some(format!("invalid tool arguments: {detail}")))
        }
        (CallEnd::Invalid, CallInput::Object(_)) => (text.as_str().into(), Some(text)),
        _ if result.is_error => (text.as_str().into(), Some(text)),
        _ if &*result.tool == "read_file" => (numbered(&text, first_line(&call.input)).into(), None),
        _ => (text.into(), None),
    }
}

/// Where a window of a file begins.
fn first_line(input: &CallInput) -> u64 {
    let input: Value = serde_json::from_str(input.json().as_str()).unwrap_or_default();
    input["offset"].as_u64().unwrap_or(1).max(1)
}

/// A file as this wire shows it: each line with its number. Our own remarks behind it, in brackets, have none.
fn numbered(text: &str, first: u64) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let is_note = |line: &&&str| line.starts_with('[') && line.ends_with(']');
    let notes = lines.iter().rev().take_while(is_note).count();
    let own = lines.len() - notes;
    let one = |(at, line): (usize, &&str)| match at < own {
        true => format!("L{}: {line}", first + at as u64),
        false => (*line).to_owned(),
    };
    lines.iter().enumerate().map(one).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_a_file_have_numbers_and_our_notes_have_none() {
        assert_eq!(numbered("AAA\n", 1), "L1: AAA");
        assert_eq!(numbered("a\n\nb", 9), "L9: a\nL10: \nL11: b");
        assert_eq!(
            numbered("a\n[lines 1-1 of 2; read on with offset 2]", 1),
            "L1: a\n[lines 1-1 of 2; read on with offset 2]"
        );
        assert_eq!(numbered("", 1), "");
    }
}
