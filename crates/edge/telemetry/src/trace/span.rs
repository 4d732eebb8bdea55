//! A span, before it is written in somebody's bytes.

use std::sync::Arc;

use vocab::TracePlace;
use vocab::visible::visible_line;

/// Events that one span keeps; of more only the number is told.
const EVENTS_MAX: usize = 128;

/// What has lines, and was made visible when it was taken.
const CONTENT: [&str; 6] = [
    "gen_ai.system_instructions",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "process.command_line",
];

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum AttributeValue {
    Text(String),
    Texts(Vec<String>),
    Int(i64),
    Float(f64),
    Bool(bool),
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}
impl From<String> for AttributeValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}
impl From<u64> for AttributeValue {
    fn from(number: u64) -> Self {
        Self::Int(i64::try_from(number).unwrap_or(i64::MAX))
    }
}
impl From<i32> for AttributeValue {
    fn from(number: i32) -> Self {
        Self::Int(number.into())
    }
}

pub(crate) type Attributes = Vec<(&'static str, AttributeValue)>;

/// As numbered on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SpanKind {
    Internal = 1,
    Client = 3,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct SpanEvent {
    pub(crate) at_ns: u64,
    pub(crate) name: &'static str,
    pub(crate) attributes: Attributes,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Span {
    pub(crate) place: TracePlace,
    pub(crate) parent: Option<ParentSpan>,
    /// What the sender of the trace wants carried along.
    pub(crate) state: Option<Arc<str>>,
    pub(crate) name: String,
    pub(crate) kind: SpanKind,
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) attributes: Attributes,
    pub(crate) events: Vec<SpanEvent>,
    pub(crate) events_dropped: u32,
    /// What led to it without being above it.
    pub(crate) link: Option<TracePlace>,
    /// Why it failed.
    pub(crate) error: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ParentSpan {
    pub(crate) id: u64,
    /// It is another process's.
    pub(crate) is_remote: bool,
}

impl Span {
    pub(crate) fn set(&mut self, name: &'static str, value: impl Into<AttributeValue>) {
        self.attributes.push((name, value.into()));
    }

    pub(crate) fn event(&mut self, at_ns: u64, name: &'static str, attributes: Attributes) {
        match self.events.len() < EVENTS_MAX {
            true => self.events.push(SpanEvent { at_ns, name, attributes }),
            false => self.events_dropped += 1,
        }
    }

    /// As it leaves the process: models, servers and clients chose many of its words, and none of them may move a cursor or
    /// turn the writing around where somebody looks at it. Texts of conversations keep their lines.
    pub(crate) fn shown(mut self) -> Self {
        self.name = visible_line(&self.name);
        self.error = self.error.map(|error| visible_line(&error));
        let of_events = self.events.iter_mut().flat_map(|event| &mut event.attributes);
        for (key, value) in self.attributes.iter_mut().chain(of_events) {
            match value {
                AttributeValue::Text(text) if !CONTENT.contains(key) => *text = visible_line(text),
                AttributeValue::Texts(texts) => texts.iter_mut().for_each(|text| *text = visible_line(text)),
                _ => {}
            }
        }
        self
    }

    /// `kind` is one of few words; the text is for people.
    pub(crate) fn fail(&mut self, kind: &str, text: String) {
        self.set("error.type", kind);
        self.error = Some(text);
    }
}
