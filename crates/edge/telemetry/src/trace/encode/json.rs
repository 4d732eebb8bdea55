//! OTLP as JSON: ids in hex, numbers of 64 bits as text, enums as numbers.

use serde_json::{Value, json};

use super::{SCHEMA_URL, SCOPE, STATUS_ERROR, SharedFields, flags};
use crate::trace::span::{AttributeValue, Attributes, Span};

pub(super) fn batch(shared: &SharedFields, spans: &[Span]) -> Vec<u8> {
    let resource: Vec<Value> =
        shared.resource.iter().map(|(key, value)| json!({ "key": key, "value": { "stringValue": value } })).collect();
    let request = json!({ "resourceSpans": [{
        "resource": { "attributes": resource },
        "scopeSpans": [{
            "scope": { "name": SCOPE, "version": shared.version },
            "spans": spans.iter().map(span).collect::<Vec<_>>(),
            "schemaUrl": SCHEMA_URL,
        }],
        "schemaUrl": SCHEMA_URL,
    }] });
    request.to_string().into_bytes()
}

fn span(span: &Span) -> Value {
    let mut json = json!({
        "traceId": format!("{:032x}", span.place.trace),
        "spanId": format!("{:016x}", span.place.span),
        "name": span.name,
        "kind": span.kind as u8,
        "startTimeUnixNano": span.start_ns.to_string(),
        "endTimeUnixNano": span.end_ns.to_string(),
        "attributes": attributes(&span.attributes),
        "flags": flags(span),
    });
    let events = span.events.iter().map(|event| {
        let at = event.at_ns.to_string();
        json!({ "timeUnixNano": at, "name": event.name, "attributes": attributes(&event.attributes) })
    });
    let mut put = |name: &str, value: Value| json[name] = value;
    if let Some(parent) = span.parent {
        put("parentSpanId", format!("{:016x}", parent.id).into());
    }
    if let Some(state) = &span.state {
        put("traceState", (**state).into());
    }
    if !span.events.is_empty() {
        put("events", events.collect());
    }
    if span.events_dropped > 0 {
        put("droppedEventsCount", span.events_dropped.into());
    }
    if let Some(link) = span.link {
        let (trace, span) = (format!("{:032x}", link.trace), format!("{:016x}", link.span));
        put("links", json!([{ "traceId": trace, "spanId": span }]));
    }
    if let Some(error) = &span.error {
        put("status", json!({ "message": error, "code": STATUS_ERROR }));
    }
    json
}

fn attributes(attributes: &Attributes) -> Vec<Value> {
    attributes.iter().map(|(key, value)| json!({ "key": key, "value": any(value) })).collect()
}

fn any(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::Text(text) => json!({ "stringValue": text }),
        AttributeValue::Int(number) => json!({ "intValue": number.to_string() }),
        AttributeValue::Float(number) => json!({ "doubleValue": number }),
        AttributeValue::Bool(is) => json!({ "boolValue": is }),
        AttributeValue::Texts(texts) => {
            let values: Vec<Value> = texts.iter().map(|text| json!({ "stringValue": text })).collect();
            json!({ "arrayValue": { "values": values } })
        }
    }
}
