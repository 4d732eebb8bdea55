//! Records of questions and their answers: an open ask must be shown again after a restart, word for word.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use vocab::Json;

use super::content::{Part, into_all, json_text};
use super::words::{Mode, Required, Scope};

#[derive(Serialize, Deserialize)]
pub(super) struct Ask {
    id: Arc<str>,
    turn: Option<Arc<str>>,
    kind: AskKind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum AskKind {
    Permission {
        call: Arc<str>,
        tool: Arc<str>,
        input: Arc<str>,
        active: Mode,
        required: Required,
        reason: Option<Arc<str>>,
        summary: Arc<str>,
        preview: Option<Preview>,
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
enum Preview {
    Facts(Vec<Fact>),
    /// As logs had it before there were facts.
    Text(Arc<str>),
}

#[derive(Serialize, Deserialize)]
struct Fact {
    label: Arc<str>,
    text: Arc<str>,
    form: FactForm,
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
enum FactForm {
    Line,
    Text,
    Diff,
}

impl From<Preview> for Arc<[vocab::Fact]> {
    fn from(preview: Preview) -> Self {
        match preview {
            Preview::Facts(facts) => facts.into_iter().map(Into::into).collect(),
            Preview::Text(text) => [vocab::Fact::text("preview", &text)].into(),
        }
    }
}

impl From<&vocab::Fact> for Fact {
    fn from(fact: &vocab::Fact) -> Self {
        let form = match fact.form {
            vocab::FactForm::Line => FactForm::Line,
            vocab::FactForm::Text => FactForm::Text,
            vocab::FactForm::Diff => FactForm::Diff,
        };
        let vocab::Missing { lines, bytes } = fact.missing;
        Self { label: fact.label.clone(), text: fact.text.clone(), form, missing_lines: lines, missing_bytes: bytes }
    }
}
impl From<Fact> for vocab::Fact {
    fn from(fact: Fact) -> Self {
        let form = match fact.form {
            FactForm::Line => vocab::FactForm::Line,
            FactForm::Text => vocab::FactForm::Text,
            FactForm::Diff => vocab::FactForm::Diff,
        };
        let missing = vocab::Missing { lines: fact.missing_lines, bytes: fact.missing_bytes };
        Self { label: fact.label, text: fact.text, form, missing }
    }
}

impl From<&vocab::Ask> for Ask {
    fn from(ask: &vocab::Ask) -> Self {
        let turn = ask.turn.as_ref().map(|turn| turn.as_str().into());
        Self { id: ask.id.as_str().into(), turn, kind: (&ask.kind).into(), timeout_ms: ask.timeout_ms }
    }
}
impl From<Ask> for vocab::Ask {
    fn from(ask: Ask) -> Self {
        let (turn, timeout_ms) = (ask.turn.map(vocab::TurnId::new), ask.timeout_ms);
        Self { id: vocab::AskId::new(ask.id), turn, kind: ask.kind.into(), timeout_ms }
    }
}

impl From<&vocab::AskKind> for AskKind {
    fn from(kind: &vocab::AskKind) -> Self {
        match kind.clone() {
            vocab::AskKind::Permission(ask) => AskKind::Permission {
                call: ask.call.as_str().into(),
                tool: ask.tool,
                input: json_text(&ask.input),
                active: ask.active.into(),
                required: ask.required.into(),
                reason: ask.reason,
                summary: ask.summary,
                preview: ask.preview.map(|facts| Preview::Facts(facts.iter().map(Into::into).collect())),
            },
            vocab::AskKind::HostCall { call, tool, input } => {
                AskKind::HostCall { call: call.as_str().into(), tool, input: json_text(&input) }
            }
            vocab::AskKind::Select { title, options } => AskKind::Select { title, options },
            vocab::AskKind::Confirm { title, message } => AskKind::Confirm { title, message },
            vocab::AskKind::Input { title, placeholder } => AskKind::Input { title, placeholder },
            vocab::AskKind::Editor { title, prefill } => AskKind::Editor { title, prefill },
        }
    }
}
impl From<AskKind> for vocab::AskKind {
    fn from(kind: AskKind) -> Self {
        match kind {
            AskKind::Permission { call, tool, input, active, required, reason, summary, preview } => {
                Self::Permission(vocab::PermissionAsk {
                    call: vocab::CallId::new(call),
                    tool,
                    input: Json::trusted(input),
                    active: active.into(),
                    required: required.into(),
                    reason,
                    summary,
                    preview: preview.map(Into::into),
                })
            }
            AskKind::HostCall { call, tool, input } => {
                Self::HostCall { call: vocab::CallId::new(call), tool, input: Json::trusted(input) }
            }
            AskKind::Select { title, options } => Self::Select { title, options },
            AskKind::Confirm { title, message } => Self::Confirm { title, message },
            AskKind::Input { title, placeholder } => Self::Input { title, placeholder },
            AskKind::Editor { title, prefill } => Self::Editor { title, prefill },
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AskEnd {
    Answered { answer: Answer, by: Option<By> },
    Withdrawn,
}

/// Logs of the first version have the number of a connection, which names nobody.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum By {
    Controller(Arc<str>),
    Number(u64),
}

impl By {
    fn name(self) -> Option<Arc<str>> {
        match self {
            By::Controller(name) => Some(name),
            By::Number(_) => None,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    Allow(Scope),
    Deny(Option<Arc<str>>),
    Text(Arc<str>),
    Confirmed(bool),
    Result { parts: Vec<Part>, is_error: bool, details: Option<Arc<str>> },
    Dismissed,
}

impl From<&vocab::AskEnd> for AskEnd {
    fn from(end: &vocab::AskEnd) -> Self {
        match end {
            vocab::AskEnd::Answered { answer, by } => {
                AskEnd::Answered { answer: answer.into(), by: by.clone().map(By::Controller) }
            }
            vocab::AskEnd::Withdrawn => AskEnd::Withdrawn,
        }
    }
}
impl From<AskEnd> for vocab::AskEnd {
    fn from(end: AskEnd) -> Self {
        match end {
            AskEnd::Answered { answer, by } => Self::Answered { answer: answer.into(), by: by.and_then(By::name) },
            AskEnd::Withdrawn => Self::Withdrawn,
        }
    }
}

impl From<&vocab::Answer> for Answer {
    fn from(answer: &vocab::Answer) -> Self {
        match answer {
            vocab::Answer::Allow(scope) => Answer::Allow((*scope).into()),
            vocab::Answer::Deny(reason) => Answer::Deny(reason.clone()),
            vocab::Answer::Text(text) => Answer::Text(text.clone()),
            vocab::Answer::Confirmed(yes) => Answer::Confirmed(*yes),
            vocab::Answer::Result { parts, is_error, details } => {
                Answer::Result { parts: into_all(parts), is_error: *is_error, details: details.as_ref().map(json_text) }
            }
            vocab::Answer::Dismissed => Answer::Dismissed,
        }
    }
}
impl From<Answer> for vocab::Answer {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Allow(scope) => Self::Allow(scope.into()),
            Answer::Deny(reason) => Self::Deny(reason),
            Answer::Text(text) => Self::Text(text),
            Answer::Confirmed(yes) => Self::Confirmed(yes),
            Answer::Result { parts, is_error, details } => {
                Self::Result { parts: into_all(parts), is_error, details: details.map(Json::trusted) }
            }
            Answer::Dismissed => Self::Dismissed,
        }
    }
}
