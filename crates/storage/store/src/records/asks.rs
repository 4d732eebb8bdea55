//! Records of questions and their answers: an open ask must be shown again after a restart, word for word.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use vocab::{AskEntry, AskId, Body, Json};

use super::content::{PartRecord, into_all, json_text};
use super::enums::{BudgetSpan, BudgetUnit, Mode, Required, Scope};
use super::{Decoded, get, id, put};

#[derive(Serialize, Deserialize)]
struct AskRecord {
    id: Arc<str>,
    turn: Option<Arc<str>>,
    kind: AskKindRecord,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
}

#[derive(Serialize, Deserialize)]
struct AskClosedRecord {
    ask: Arc<str>,
    end: AskEndRecord,
}

pub(super) fn put_ask(entry: &AskEntry, out: &mut Vec<u8>) -> &'static str {
    match entry {
        AskEntry::Opened(ask) => put("ask_opened", &AskRecord::from(ask), out),
        AskEntry::Closed { ask, end } => {
            put("ask_closed", &AskClosedRecord { ask: id(ask.as_str()), end: end.into() }, out)
        }
    }
}

pub(super) fn from_record(kind: &str, payload: &[u8]) -> Option<Decoded> {
    Some(match kind {
        "ask_opened" => get(payload, |it: AskRecord| Body::Ask(AskEntry::Opened(it.into()))),
        "ask_closed" => get(payload, |it: AskClosedRecord| {
            Body::Ask(AskEntry::Closed { ask: AskId::new(it.ask), end: it.end.into() })
        }),
        _ => return None,
    })
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AskKindRecord {
    Permission {
        call: Arc<str>,
        tool: Arc<str>,
        input: Arc<str>,
        active: Mode,
        required: Required,
        reason: Option<Arc<str>>,
        summary: Arc<str>,
        preview: Option<PreviewRecord>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        may_have_run: bool,
    },
    Budget {
        span: BudgetSpan,
        unit: BudgetUnit,
        limit: u64,
        spent: u64,
        more: u64,
    },
    HostCall {
        call: Arc<str>,
        tool: Arc<str>,
        input: Arc<str>,
    },
    Select {
        title: Arc<str>,
        options: Vec<Arc<str>>,
    },
    Confirm {
        title: Arc<str>,
        message: Arc<str>,
    },
    Input {
        title: Arc<str>,
        placeholder: Option<Arc<str>>,
    },
    Editor {
        title: Arc<str>,
        prefill: Option<Arc<str>>,
    },
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum PreviewRecord {
    Facts(Vec<FactRecord>),
    /// As logs had it before there were facts.
    Text(Arc<str>),
}

#[derive(Serialize, Deserialize)]
struct FactRecord {
    label: Arc<str>,
    text: Arc<str>,
    form: FactFormRecord,
    #[serde(default, skip_serializing_if = "is_zero")]
    missing_lines: usize,
    #[serde(default, skip_serializing_if = "is_zero")]
    missing_bytes: usize,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FactFormRecord {
    Line,
    Text,
    Diff,
}

impl From<PreviewRecord> for Arc<[vocab::Fact]> {
    fn from(preview: PreviewRecord) -> Self {
        match preview {
            PreviewRecord::Facts(facts) => facts.into_iter().map(Into::into).collect(),
            PreviewRecord::Text(text) => [vocab::Fact::text("preview", &text)].into(),
        }
    }
}

impl From<&vocab::Fact> for FactRecord {
    fn from(fact: &vocab::Fact) -> Self {
        let form = match fact.form {
            vocab::FactForm::Line => FactFormRecord::Line,
            vocab::FactForm::Text => FactFormRecord::Text,
            vocab::FactForm::Diff => FactFormRecord::Diff,
        };
        let vocab::Missing { lines, bytes } = fact.missing;
        Self { label: fact.label.clone(), text: fact.text.clone(), form, missing_lines: lines, missing_bytes: bytes }
    }
}
impl From<FactRecord> for vocab::Fact {
    fn from(fact: FactRecord) -> Self {
        let form = match fact.form {
            FactFormRecord::Line => vocab::FactForm::Line,
            FactFormRecord::Text => vocab::FactForm::Text,
            FactFormRecord::Diff => vocab::FactForm::Diff,
        };
        let missing = vocab::Missing { lines: fact.missing_lines, bytes: fact.missing_bytes };
        Self { label: fact.label, text: fact.text, form, missing }
    }
}

impl From<&vocab::Ask> for AskRecord {
    fn from(ask: &vocab::Ask) -> Self {
        let turn = ask.turn.as_ref().map(|turn| turn.as_str().into());
        Self { id: ask.id.as_str().into(), turn, kind: (&ask.kind).into(), timeout_ms: ask.timeout_ms }
    }
}
impl From<AskRecord> for vocab::Ask {
    fn from(ask: AskRecord) -> Self {
        let (turn, timeout_ms) = (ask.turn.map(vocab::TurnId::new), ask.timeout_ms);
        Self { id: AskId::new(ask.id), turn, kind: ask.kind.into(), timeout_ms }
    }
}

impl From<&vocab::AskKind> for AskKindRecord {
    fn from(kind: &vocab::AskKind) -> Self {
        match kind.clone() {
            vocab::AskKind::Permission(ask) => AskKindRecord::Permission {
                call: ask.call.as_str().into(),
                tool: ask.tool,
                input: json_text(&ask.input),
                active: ask.active.into(),
                required: ask.required.into(),
                reason: ask.reason,
                summary: ask.summary,
                preview: ask.preview.map(|facts| PreviewRecord::Facts(facts.iter().map(Into::into).collect())),
                may_have_run: ask.may_have_run,
            },
            vocab::AskKind::Budget(ask) => AskKindRecord::Budget {
                span: ask.span.into(),
                unit: ask.unit.into(),
                limit: ask.limit,
                spent: ask.spent,
                more: ask.more,
            },
            vocab::AskKind::HostCall { call, tool, input } => {
                AskKindRecord::HostCall { call: call.as_str().into(), tool, input: json_text(&input) }
            }
            vocab::AskKind::Select { title, options } => AskKindRecord::Select { title, options },
            vocab::AskKind::Confirm { title, message } => AskKindRecord::Confirm { title, message },
            vocab::AskKind::Input { title, placeholder } => AskKindRecord::Input { title, placeholder },
            vocab::AskKind::Editor { title, prefill } => AskKindRecord::Editor { title, prefill },
        }
    }
}
impl From<AskKindRecord> for vocab::AskKind {
    fn from(kind: AskKindRecord) -> Self {
        match kind {
            AskKindRecord::Permission {
                call,
                tool,
                input,
                active,
                required,
                reason,
                summary,
                preview,
                may_have_run,
            } => Self::Permission(vocab::PermissionAsk {
                call: vocab::CallId::new(call),
                tool,
                input: Json::trusted(input),
                active: active.into(),
                required: required.into(),
                reason,
                summary,
                preview: preview.map(Into::into),
                may_have_run,
            }),
            AskKindRecord::Budget { span, unit, limit, spent, more } => {
                Self::Budget(vocab::BudgetAsk { span: span.into(), unit: unit.into(), limit, spent, more })
            }
            AskKindRecord::HostCall { call, tool, input } => {
                Self::HostCall { call: vocab::CallId::new(call), tool, input: Json::trusted(input) }
            }
            AskKindRecord::Select { title, options } => Self::Select { title, options },
            AskKindRecord::Confirm { title, message } => Self::Confirm { title, message },
            AskKindRecord::Input { title, placeholder } => Self::Input { title, placeholder },
            AskKindRecord::Editor { title, prefill } => Self::Editor { title, prefill },
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AskEndRecord {
    Answered { answer: AnswerRecord, by: Option<AnsweredByRecord> },
    Withdrawn,
}

/// Logs of the first version have the number of a connection, which names no client.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum AnsweredByRecord {
    Controller(Arc<str>),
    Number(u64),
}

impl AnsweredByRecord {
    fn name(self) -> Option<Arc<str>> {
        match self {
            AnsweredByRecord::Controller(name) => Some(name),
            AnsweredByRecord::Number(_) => None,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AnswerRecord {
    Allow(Scope),
    Deny(Option<Arc<str>>),
    Text(Arc<str>),
    Confirmed(bool),
    Result { parts: Vec<PartRecord>, is_error: bool, details: Option<Arc<str>> },
    Dismissed,
}

impl From<&vocab::AskEnd> for AskEndRecord {
    fn from(end: &vocab::AskEnd) -> Self {
        match end {
            vocab::AskEnd::Answered { answer, by } => {
                AskEndRecord::Answered { answer: answer.into(), by: by.clone().map(AnsweredByRecord::Controller) }
            }
            vocab::AskEnd::Withdrawn => AskEndRecord::Withdrawn,
        }
    }
}
impl From<AskEndRecord> for vocab::AskEnd {
    fn from(end: AskEndRecord) -> Self {
        match end {
            AskEndRecord::Answered { answer, by } => {
                Self::Answered { answer: answer.into(), by: by.and_then(AnsweredByRecord::name) }
            }
            AskEndRecord::Withdrawn => Self::Withdrawn,
        }
    }
}

impl From<&vocab::Answer> for AnswerRecord {
    fn from(answer: &vocab::Answer) -> Self {
        match answer {
            vocab::Answer::Allow(scope) => AnswerRecord::Allow((*scope).into()),
            vocab::Answer::Deny(reason) => AnswerRecord::Deny(reason.clone()),
            vocab::Answer::Text(text) => AnswerRecord::Text(text.clone()),
            vocab::Answer::Confirmed(yes) => AnswerRecord::Confirmed(*yes),
            vocab::Answer::Result { parts, is_error, details } => AnswerRecord::Result {
                parts: into_all(parts),
                is_error: *is_error,
                details: details.as_ref().map(json_text),
            },
            vocab::Answer::Dismissed => AnswerRecord::Dismissed,
        }
    }
}
impl From<AnswerRecord> for vocab::Answer {
    fn from(answer: AnswerRecord) -> Self {
        match answer {
            AnswerRecord::Allow(scope) => Self::Allow(scope.into()),
            AnswerRecord::Deny(reason) => Self::Deny(reason),
            AnswerRecord::Text(text) => Self::Text(text),
            AnswerRecord::Confirmed(yes) => Self::Confirmed(yes),
            AnswerRecord::Result { parts, is_error, details } => {
                Self::Result { parts: into_all(parts), is_error, details: details.map(Json::trusted) }
            }
            AnswerRecord::Dismissed => Self::Dismissed,
        }
    }
}
