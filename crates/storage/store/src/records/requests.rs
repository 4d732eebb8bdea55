//! Records of model calls: what was sent, who was asked instead, what it cost.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use vocab::{Body, CallId, ModelEntry, TurnId};

use super::content::{FaultRecord, UsageRecord};
use super::{Decoded, get, id, put};

#[derive(Serialize, Deserialize)]
struct RequestedRecord {
    turn: Option<Arc<str>>,
    model: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summary: Option<SummaryOfRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sent: Option<SentRecord>,
    bytes: u64,
}
#[derive(Serialize, Deserialize)]
struct SummaryOfRecord {
    upto: u64,
    from: u64,
    first_kept: u64,
    request: Arc<str>,
}
#[derive(Serialize, Deserialize)]
struct SentRecord {
    api: Arc<str>,
    url: Arc<str>,
    headers: Vec<(Arc<str>, Arc<str>)>,
    manner: Arc<str>,
    head: Arc<str>,
    tail: Arc<str>,
}
#[derive(Serialize, Deserialize)]
struct FellBackRecord {
    turn: Arc<str>,
    from: Arc<str>,
    to: Arc<str>,
    fault: FaultRecord,
    #[serde(default)]
    skipped: Vec<(Arc<str>, Arc<str>)>,
}
#[derive(Serialize, Deserialize)]
struct SpentRecord {
    turn: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call: Option<Arc<str>>,
    model: Arc<str>,
    usage: UsageRecord,
}
#[derive(Serialize, Deserialize)]
struct RetryingRecord {
    turn: Arc<str>,
    attempt: u32,
    attempts_max: u32,
    wait_ms: u64,
    fault: FaultRecord,
}

impl From<&vocab::Requested> for RequestedRecord {
    fn from(it: &vocab::Requested) -> Self {
        let summary = it.summary.as_ref().map(|of| SummaryOfRecord {
            upto: of.upto,
            from: of.from,
            first_kept: of.first_kept,
            request: of.request.clone(),
        });
        let sent = it.sent.as_deref().map(|sent| SentRecord {
            api: sent.api.clone(),
            url: sent.url.clone(),
            headers: sent.headers.clone(),
            manner: sent.manner.clone(),
            head: sent.head.clone(),
            tail: sent.tail.clone(),
        });
        let turn = it.turn.as_ref().map(|turn| turn.as_str().into());
        Self { turn, model: it.model.clone(), summary, sent, bytes: it.bytes }
    }
}
impl From<RequestedRecord> for vocab::Requested {
    fn from(it: RequestedRecord) -> Self {
        let summary = it.summary.map(|of| vocab::SummaryOf {
            upto: of.upto,
            from: of.from,
            first_kept: of.first_kept,
            request: of.request,
        });
        let sent = it.sent.map(|sent| {
            let SentRecord { api, url, headers, manner, head, tail } = sent;
            Arc::new(vocab::Sent { api, url, headers, manner, head, tail })
        });
        Self { turn: it.turn.map(TurnId::new), model: it.model, summary, sent, bytes: it.bytes }
    }
}

impl From<&vocab::FellBack> for FellBackRecord {
    fn from(it: &vocab::FellBack) -> Self {
        Self {
            turn: it.turn.as_str().into(),
            from: it.from.clone(),
            to: it.to.clone(),
            fault: (&it.fault).into(),
            skipped: it.skipped.clone(),
        }
    }
}
impl From<FellBackRecord> for vocab::FellBack {
    fn from(it: FellBackRecord) -> Self {
        let FellBackRecord { turn, from, to, fault, skipped } = it;
        Self { turn: TurnId::new(turn), from, to, fault: fault.into(), skipped }
    }
}

pub(super) fn put_model(entry: &ModelEntry, out: &mut Vec<u8>) -> &'static str {
    match entry {
        ModelEntry::Requested(it) => put("requested", &RequestedRecord::from(it), out),
        ModelEntry::Retrying { turn, attempt, attempts_max, wait_ms, fault } => {
            let (turn, fault) = (id(turn.as_str()), fault.into());
            let (attempt, attempts_max, wait_ms) = (*attempt, *attempts_max, *wait_ms);
            put("retrying", &RetryingRecord { turn, attempt, attempts_max, wait_ms, fault }, out)
        }
        ModelEntry::FellBack(it) => put("fell_back", &FellBackRecord::from(it), out),
        ModelEntry::Spent { turn, call, model, usage } => {
            let turn = turn.as_ref().map(|turn| id(turn.as_str()));
            let call = call.as_ref().map(|call| id(call.as_str()));
            put("spent", &SpentRecord { turn, call, model: model.clone(), usage: usage.into() }, out)
        }
    }
}

pub(super) fn from_record(kind: &str, payload: &[u8]) -> Option<Decoded> {
    Some(match kind {
        "requested" => get(payload, |it: RequestedRecord| Body::Model(ModelEntry::Requested(it.into()))),
        "retrying" => get(payload, |it: RetryingRecord| {
            Body::Model(ModelEntry::Retrying {
                turn: TurnId::new(it.turn),
                attempt: it.attempt,
                attempts_max: it.attempts_max,
                wait_ms: it.wait_ms,
                fault: it.fault.into(),
            })
        }),
        "fell_back" => get(payload, |it: FellBackRecord| Body::Model(ModelEntry::FellBack(it.into()))),
        "spent" => get(payload, |it: SpentRecord| {
            Body::Model(ModelEntry::Spent {
                turn: it.turn.map(TurnId::new),
                call: it.call.map(CallId::new),
                model: it.model,
                usage: it.usage.into(),
            })
        }),
        _ => return None,
    })
}
