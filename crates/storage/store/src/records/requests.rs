//! Records of model calls: what was sent, who was asked instead, what it cost.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use vocab::TurnId;

use super::content::{Fault, Usage};

#[derive(Serialize, Deserialize)]
pub(super) struct Requested {
    turn: Option<Arc<str>>,
    model: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summary: Option<SummaryOf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sent: Option<Sent>,
    bytes: u64,
}
#[derive(Serialize, Deserialize)]
struct SummaryOf {
    upto: u64,
    from: u64,
    first_kept: u64,
    request: Arc<str>,
}
#[derive(Serialize, Deserialize)]
struct Sent {
    api: Arc<str>,
    url: Arc<str>,
    headers: Vec<(Arc<str>, Arc<str>)>,
    manner: Arc<str>,
    head: Arc<str>,
    tail: Arc<str>,
}
#[derive(Serialize, Deserialize)]
pub(super) struct FellBack {
    turn: Arc<str>,
    from: Arc<str>,
    to: Arc<str>,
    fault: Fault,
    #[serde(default)]
    skipped: Vec<(Arc<str>, Arc<str>)>,
}
#[derive(Serialize, Deserialize)]
pub(super) struct Spent {
    pub(super) turn: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) call: Option<Arc<str>>,
    pub(super) model: Arc<str>,
    pub(super) usage: Usage,
}

impl From<&vocab::Requested> for Requested {
    fn from(it: &vocab::Requested) -> Self {
        let summary = it.summary.as_ref().map(|of| SummaryOf {
            upto: of.upto,
            from: of.from,
            first_kept: of.first_kept,
            request: of.request.clone(),
        });
        let sent = it.sent.as_deref().map(|sent| Sent {
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
impl From<Requested> for vocab::Requested {
    fn from(it: Requested) -> Self {
        let summary = it.summary.map(|of| vocab::SummaryOf {
            upto: of.upto,
            from: of.from,
            first_kept: of.first_kept,
            request: of.request,
        });
        let sent = it.sent.map(|sent| {
            let Sent { api, url, headers, manner, head, tail } = sent;
            Arc::new(vocab::Sent { api, url, headers, manner, head, tail })
        });
        Self { turn: it.turn.map(TurnId::new), model: it.model, summary, sent, bytes: it.bytes }
    }
}

impl From<&vocab::FellBack> for FellBack {
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
impl From<FellBack> for vocab::FellBack {
    fn from(it: FellBack) -> Self {
        let FellBack { turn, from, to, fault, skipped } = it;
        Self { turn: TurnId::new(turn), from, to, fault: fault.into(), skipped }
    }
}
