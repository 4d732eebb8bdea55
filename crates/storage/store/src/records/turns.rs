//! Records of turns and of the calls within them.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use vocab::{Body, CallEntry, CallResult, ItemId, TurnEnd, TurnEntry, TurnId};

use super::apart::NamedContent;
use super::content::{CallRecord, CallResultRecord, FaultRecord, UsageRecord};
use super::enums::{CutBy, Stop};
use super::{Decoded, get, id, put};

#[derive(Serialize, Deserialize)]
struct TurnStartedRecord {
    turn: Arc<str>,
}
#[derive(Serialize, Deserialize)]
struct TurnTakenRecord {
    turn: Arc<str>,
    items: Vec<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    trace: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until_ms: Option<i64>,
}
#[derive(Serialize, Deserialize)]
struct TurnCutRecord {
    turn: Arc<str>,
    why: CutBy,
    /// Older logs have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    item: Option<Arc<str>>,
}
#[derive(Serialize, Deserialize)]
struct TurnEndedRecord {
    turn: Arc<str>,
    stop: Stop,
    iterations: u32,
    usage: UsageRecord,
    mutations: Vec<(Arc<str>, Arc<str>)>,
    fault: Option<FaultRecord>,
}
#[derive(Serialize, Deserialize)]
struct CallStartedRecord {
    turn: Arc<str>,
    call: CallRecord,
    tool: Arc<str>,
}
#[derive(Serialize, Deserialize)]
struct CallEndedRecord {
    turn: Arc<str>,
    result: CallResultRecord,
}

pub(super) fn put_turn(entry: &TurnEntry, out: &mut Vec<u8>) -> &'static str {
    match entry {
        TurnEntry::Started { turn } => put("turn_started", &TurnStartedRecord { turn: id(turn.as_str()) }, out),
        TurnEntry::Taken { turn, items, trace, until_ms } => {
            let items = items.iter().map(|item| id(item.as_str())).collect();
            let (trace, until_ms) = (trace.clone(), *until_ms);
            put("turn_taken", &TurnTakenRecord { turn: id(turn.as_str()), items, trace, until_ms }, out)
        }
        TurnEntry::Cut { turn, why, item } => {
            let item = item.as_ref().map(|item| id(item.as_str()));
            put("turn_cut", &TurnCutRecord { turn: id(turn.as_str()), why: (*why).into(), item }, out)
        }
        TurnEntry::Ended(end) => {
            let record = TurnEndedRecord {
                turn: id(end.turn.as_str()),
                stop: end.stop.into(),
                iterations: end.iterations,
                usage: (&end.usage).into(),
                mutations: end.mutations.clone(),
                fault: end.fault.as_ref().map(Into::into),
            };
            put("turn_ended", &record, out)
        }
    }
}

pub(super) fn put_call(entry: &CallEntry, out: &mut Vec<u8>) -> &'static str {
    match entry {
        CallEntry::Started { turn, call, tool } => {
            let record = CallStartedRecord { turn: id(turn.as_str()), call: call.into(), tool: tool.clone() };
            put("call_started", &record, out)
        }
        CallEntry::Ended { turn, result } => {
            put("call_ended", &CallEndedRecord { turn: id(turn.as_str()), result: result.into() }, out)
        }
    }
}

/// A call that changed files; large ones are put into `apart`.
pub(super) fn put_ended_apart(
    turn: &TurnId,
    result: &CallResult,
    out: &mut Vec<u8>,
    apart: &mut Vec<NamedContent>,
) -> &'static str {
    let mut record = CallEndedRecord { turn: id(turn.as_str()), result: result.into() };
    record.result.put_apart(apart);
    put("call_ended", &record, out)
}

/// The same read back, with what `find` knows.
pub(super) fn ended_with(payload: &[u8], find: impl FnMut(&str) -> Option<Arc<str>>) -> Decoded {
    let mut record: CallEndedRecord = serde_json::from_slice(payload)?;
    record.result.bring_back(find);
    Ok(Body::Call(CallEntry::Ended { turn: TurnId::new(record.turn), result: record.result.into() }))
}

pub(super) fn from_record(kind: &str, payload: &[u8]) -> Option<Decoded> {
    Some(match kind {
        "turn_started" => {
            get(payload, |it: TurnStartedRecord| Body::Turn(TurnEntry::Started { turn: TurnId::new(it.turn) }))
        }
        "turn_taken" => get(payload, |it: TurnTakenRecord| {
            let items = it.items.into_iter().map(ItemId::new).collect();
            Body::Turn(TurnEntry::Taken { turn: TurnId::new(it.turn), items, trace: it.trace, until_ms: it.until_ms })
        }),
        "turn_cut" => get(payload, |it: TurnCutRecord| {
            let item = it.item.map(ItemId::new);
            Body::Turn(TurnEntry::Cut { turn: TurnId::new(it.turn), why: it.why.into(), item })
        }),
        "turn_ended" => get(payload, |it: TurnEndedRecord| {
            Body::Turn(TurnEntry::Ended(TurnEnd {
                turn: TurnId::new(it.turn),
                stop: it.stop.into(),
                iterations: it.iterations,
                usage: it.usage.into(),
                mutations: it.mutations,
                fault: it.fault.map(Into::into),
            }))
        }),
        "call_started" => get(payload, |it: CallStartedRecord| {
            Body::Call(CallEntry::Started { turn: TurnId::new(it.turn), call: it.call.into(), tool: it.tool })
        }),
        "call_ended" => get(payload, |it: CallEndedRecord| {
            Body::Call(CallEntry::Ended { turn: TurnId::new(it.turn), result: it.result.into() })
        }),
        _ => return None,
    })
}
