//! OTLP as protobuf. A message is a list of fields; each is a number with its kind, and a value. The numbers are those of
//! `opentelemetry/proto/trace/v1/trace.proto` and its neighbours, and never change.

use super::{SCHEMA_URL, SCOPE, STATUS_ERROR, SharedFields, flags};
use crate::trace::span::{AttributeValue, Attributes, Span, SpanEvent};

/// Fields of a message, written one behind the other. What is empty or 0 is left out, as the format has it.
#[derive(Default)]
struct Fields(Vec<u8>);

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const LENGTH: u64 = 2;
const FIXED32: u64 = 5;

impl Fields {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
    fn key(&mut self, field: u64, kind: u64) {
        self.varint(field << 3 | kind);
    }
    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.key(field, LENGTH);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }
    fn text(&mut self, field: u64, text: &str) {
        if !text.is_empty() {
            self.bytes(field, text.as_bytes());
        }
    }
    fn number(&mut self, field: u64, number: u64) {
        if number != 0 {
            self.key(field, VARINT);
            self.varint(number);
        }
    }
    fn fixed64(&mut self, field: u64, number: u64) {
        self.key(field, FIXED64);
        self.0.extend_from_slice(&number.to_le_bytes());
    }
    fn fixed32(&mut self, field: u64, number: u32) {
        self.key(field, FIXED32);
        self.0.extend_from_slice(&number.to_le_bytes());
    }
    fn message(&mut self, field: u64, write: impl FnOnce(&mut Fields)) {
        let mut inner = Fields::default();
        write(&mut inner);
        self.bytes(field, &inner.0);
    }
}

pub(super) fn batch(shared: &SharedFields, spans: &[Span]) -> Vec<u8> {
    let mut request = Fields::default();
    request.message(1, |resource_spans| {
        resource_spans.message(1, |resource| {
            for (key, value) in &shared.resource {
                resource.message(1, |pair| {
                    pair.text(1, key);
                    pair.message(2, |any| any.bytes(1, value.as_bytes()));
                });
            }
        });
        resource_spans.message(2, |scope_spans| {
            scope_spans.message(1, |scope| {
                scope.text(1, SCOPE);
                scope.text(2, &shared.version);
            });
            for it in spans {
                scope_spans.message(2, |fields| span(it, fields));
            }
            scope_spans.text(3, SCHEMA_URL);
        });
        resource_spans.text(3, SCHEMA_URL);
    });
    request.0
}

fn span(span: &Span, fields: &mut Fields) {
    fields.bytes(1, &span.place.trace.to_be_bytes());
    fields.bytes(2, &span.place.span.to_be_bytes());
    fields.text(3, span.state.as_deref().unwrap_or_default());
    if let Some(parent) = span.parent {
        fields.bytes(4, &parent.id.to_be_bytes());
    }
    fields.text(5, &span.name);
    fields.number(6, span.kind as u64);
    fields.fixed64(7, span.start_ns);
    fields.fixed64(8, span.end_ns);
    attributes(9, &span.attributes, fields);
    for it in &span.events {
        fields.message(11, |fields| event(it, fields));
    }
    fields.number(12, span.events_dropped.into());
    if let Some(link) = span.link {
        fields.message(13, |fields| {
            fields.bytes(1, &link.trace.to_be_bytes());
            fields.bytes(2, &link.span.to_be_bytes());
        });
    }
    if let Some(error) = &span.error {
        fields.message(15, |status| {
            status.text(2, error);
            status.number(3, STATUS_ERROR);
        });
    }
    fields.fixed32(16, flags(span));
}

fn event(event: &SpanEvent, fields: &mut Fields) {
    fields.fixed64(1, event.at_ns);
    fields.text(2, event.name);
    attributes(3, &event.attributes, fields);
}

fn attributes(field: u64, attributes: &Attributes, fields: &mut Fields) {
    for (key, value) in attributes {
        fields.message(field, |pair| {
            pair.text(1, key);
            pair.message(2, |fields| any(value, fields));
        });
    }
}

/// One of several kinds: what is said stands there even where it is empty.
fn any(value: &AttributeValue, fields: &mut Fields) {
    match value {
        AttributeValue::Text(text) => fields.bytes(1, text.as_bytes()),
        AttributeValue::Bool(is) => {
            fields.key(2, VARINT);
            fields.varint((*is).into());
        }
        AttributeValue::Int(number) => {
            fields.key(3, VARINT);
            fields.varint(*number as u64);
        }
        AttributeValue::Float(number) => fields.fixed64(4, number.to_bits()),
        AttributeValue::Texts(texts) => fields.message(5, |array| {
            for text in texts {
                array.message(1, |any| any.bytes(1, text.as_bytes()));
            }
        }),
    }
}
