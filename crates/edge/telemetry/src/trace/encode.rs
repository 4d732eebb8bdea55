//! A batch of spans as `ExportTraceServiceRequest` of OTLP 1.x, in both of its forms. Pure.

mod json;
mod protobuf;

use super::settings::TraceFormat;
use super::span::Span;

/// The conventions that the names of attributes are from.
const SCHEMA_URL: &str = "https://opentelemetry.io/schemas/1.41.0";
const SCOPE: &str = "tillerman";

/// What all spans of the process have in common.
pub(super) struct SharedFields {
    pub(super) resource: Vec<(String, String)>,
    pub(super) version: String,
}

pub(super) fn batch(format: TraceFormat, shared: &SharedFields, spans: &[Span]) -> Vec<u8> {
    match format {
        TraceFormat::Protobuf => protobuf::batch(shared, spans),
        TraceFormat::Json => json::batch(shared, spans),
    }
}

/// The trace's own flags, whether it is known where the parent is, and where.
fn flags(span: &Span) -> u32 {
    const IS_KNOWN: u32 = 0x100;
    const IS_REMOTE: u32 = 0x200;
    let remote = span.parent.is_some_and(|parent| parent.is_remote);
    u32::from(span.place.sampled) | IS_KNOWN | if remote { IS_REMOTE } else { 0 }
}

/// Failed; what went well is said by nothing.
const STATUS_ERROR: u64 = 2;
