//! What spans say, in the names of the conventions for generative AI. No word of a conversation stands in them unless the
//! user has asked for it, and no key in any case.

use serde_json::json;
use vocab::{
    Answer, AskEnd, AskEntry, AskKind, CallEnd, CallInput, CallResult, CutBy, Fault, FaultKind, Finish, Keyring,
    ModelInfo, SessionId, Stop, TurnEnd, Usage, masking, visible,
};

use super::TurnPlace;
use crate::trace::span::{AttributeValue, Span};

/// The most of a text that is not part of a conversation.
const TEXT_BYTES_MAX: usize = 1_024;
/// The most of one that is.
const CONTENT_BYTES_MAX: usize = 32 * 1024;

/// What stands for the name of a tool that nobody has looked up, or found. Numbers are counted under the same.
const UNKNOWN_TOOL: &str = "unknown";

/// How texts get into spans.
pub(crate) struct SpanText {
    pub(crate) keyring: Keyring,
    /// The user wants what was said in them.
    pub(crate) content: bool,
}

impl SpanText {
    /// Why something failed. A server may repeat in its answer what it was sent, key and prompt included: its words are told
    /// only to those who want the conversation, too.
    pub(crate) fn fault(&self, fault: &Fault) -> String {
        let kind = fault_kind(fault.kind);
        match fault.status {
            _ if self.content => self.cut(&fault.message, TEXT_BYTES_MAX),
            Some(status) => format!("{kind} ({status})"),
            None => kind.to_owned(),
        }
    }
    pub(crate) fn content_of(&self, text: &str) -> String {
        self.cut(text, CONTENT_BYTES_MAX)
    }
    /// Keys that are known go by their value, others by their look. Lines stay lines.
    fn cut(&self, text: &str, bytes_max: usize) -> String {
        let clean = self.keyring.scrub(text);
        let clean = visible::name(&masking::mask(&clean));
        clean[..clean.floor_char_boundary(bytes_max)].to_owned()
    }
}

/// As the conventions write messages.
pub(crate) fn message_json(role: &str, text: &str) -> String {
    json!([{ "role": role, "parts": [{ "type": "text", "content": text }] }]).to_string()
}

pub(super) fn begin_turn(span: &mut Span, place: &TurnPlace<'_>) {
    span.set("gen_ai.operation.name", "invoke_agent");
    span.set("gen_ai.agent.name", "tillerman");
    span.set("gen_ai.conversation.id", place.session.as_str());
    span.set("tillerman.turn.id", place.turn.as_str());
    if let Some((parent, call)) = place.child_of {
        span.set("tillerman.parent.session", parent.as_str());
        span.set("tillerman.parent.call", call.as_str());
    }
}

pub(super) fn end_turn(span: &mut Span, end: &TurnEnd, model: Option<&str>, text: &SpanText) {
    if let Some(model) = model {
        span.set("gen_ai.request.model", model);
    }
    usage(span, &end.usage);
    span.set("gen_ai.response.finish_reasons", AttributeValue::Texts(vec![stop(end.stop).to_owned()]));
    span.set("tillerman.turn.iterations", u64::from(end.iterations));
    match &end.fault {
        Some(fault) => span.fail(fault_kind(fault.kind), text.fault(fault)),
        None if end.stop == Stop::Error => span.fail("_OTHER", String::new()),
        None if end.stop == Stop::Interrupted => span.set("error.type", "interrupted"),
        None => {}
    }
}

pub(super) fn begin_call(span: &mut Span, session: &SessionId, (call, tool): (&vocab::Call, &str), text: &SpanText) {
    span.set("gen_ai.operation.name", "execute_tool");
    span.set("gen_ai.tool.name", tool);
    span.set("gen_ai.tool.call.id", call.id.as_str());
    span.set("gen_ai.tool.type", if tool.starts_with("mcp__") { "extension" } else { "function" });
    span.set("gen_ai.conversation.id", session.as_str());
    // Nobody looks whether there is such a tool when its arguments cannot be read.
    if matches!(call.input, CallInput::Broken { .. }) {
        name_made_up(span);
    }
    if text.content {
        span.set("gen_ai.tool.call.arguments", text.content_of(call.input.json().as_str()));
    }
}

/// A name that no tool is known to have is the model's invention, and may be anything.
fn name_made_up(span: &mut Span) {
    span.name = format!("execute_tool {UNKNOWN_TOOL}");
    span.attributes.retain(|(key, _)| *key != "gen_ai.tool.name");
    span.set("gen_ai.tool.name", UNKNOWN_TOOL);
}

pub(super) fn end_call(span: &mut Span, result: &CallResult, text: &SpanText) {
    if matches!(result.end, CallEnd::Unknown | CallEnd::Skipped) {
        name_made_up(span);
    }
    span.set("tillerman.tool.run_ms", result.duration_ms);
    if text.content {
        span.set("gen_ai.tool.call.result", text.content_of(&result.text()));
    }
    // What the model did wrong, or nobody allowed, is no failure of the tool; it is told all the same.
    let why = match result.end {
        CallEnd::Ran if !result.is_error => return,
        CallEnd::Ran => "tool_error",
        CallEnd::Denied => "denied",
        CallEnd::Unknown => "unknown_tool",
        CallEnd::Invalid => "invalid_arguments",
        CallEnd::Interrupted => "interrupted",
        CallEnd::Skipped => "skipped",
        CallEnd::Lost => "lost",
    };
    span.fail(why, why.to_owned());
}

pub(super) fn ask_event(span: &mut Span, ask: &AskEntry, now: u64) {
    match ask {
        AskEntry::Opened(ask) => {
            let kind = match &ask.kind {
                AskKind::Permission(_) => "permission",
                AskKind::Budget(_) => "budget",
                AskKind::HostCall { .. } => "host_call",
                AskKind::Select { .. } | AskKind::Confirm { .. } | AskKind::Input { .. } | AskKind::Editor { .. } => {
                    "dialog"
                }
            };
            span.event(now, "ask.opened", vec![("tillerman.ask.kind", kind.into())]);
        }
        AskEntry::Closed { end, .. } => {
            span.event(now, "ask.closed", vec![("tillerman.ask.end", ask_end(end).into())]);
        }
    }
}

fn ask_end(end: &AskEnd) -> &'static str {
    match end {
        AskEnd::Withdrawn => "withdrawn",
        AskEnd::Answered { answer, .. } => match answer {
            Answer::Allow(_) => "allowed",
            Answer::Deny(_) => "denied",
            Answer::Dismissed => "dismissed",
            Answer::Text(_) | Answer::Confirmed(_) | Answer::Result { .. } => "answered",
        },
    }
}

/// What is known of a model call beforehand.
pub(crate) fn model_fields(span: &mut Span, model: &ModelInfo) {
    span.set("gen_ai.provider.name", provider_name(model));
    span.set("gen_ai.request.model", &*model.id);
    let rest = model.base_url.split_once("://");
    let Some((scheme, rest)) = rest else { return };
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().ok()),
        _ => (authority, None),
    };
    let port: u64 = port.unwrap_or(if scheme == "https" { 443 } else { 80 });
    span.set("server.address", host.trim_matches(['[', ']']));
    span.set("server.port", port);
}

/// By the conventions' list where they have one for it, else by our own name.
pub(crate) fn provider_name(model: &ModelInfo) -> &str {
    let host = model.base_url.split_once("://").map_or("", |(_, rest)| rest);
    let host = host.split(['/', ':', '?']).next().unwrap_or_default();
    const HOSTS: [(&str, &str); 9] = [
        ("api.openai.com", "openai"),
        ("api.anthropic.com", "anthropic"),
        ("generativelanguage.googleapis.com", "gcp.gemini"),
        ("aiplatform.googleapis.com", "gcp.vertex_ai"),
        ("api.mistral.ai", "mistral_ai"),
        ("api.deepseek.com", "deepseek"),
        ("api.groq.com", "groq"),
        ("api.perplexity.ai", "perplexity"),
        ("api.x.ai", "x_ai"),
    ];
    if let Some((_, name)) = HOSTS.iter().find(|(known, _)| host == *known || host.ends_with(&format!("-{known}"))) {
        return name;
    }
    if model.provider.is_empty() { "_OTHER" } else { &model.provider }
}

/// The prompt's tokens are all of them, those of a cache included: so the conventions say.
pub(crate) fn usage(span: &mut Span, usage: &Usage) {
    span.set("gen_ai.usage.input_tokens", usage.prompt());
    span.set("gen_ai.usage.output_tokens", usage.output);
    span.set("gen_ai.usage.cache_read.input_tokens", usage.cache_read);
    span.set("gen_ai.usage.cache_creation.input_tokens", usage.cache_write);
    if usage.estimated {
        span.set("tillerman.usage.estimated", AttributeValue::Bool(true));
    }
}

pub(crate) fn finish_reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::Length => "length",
        Finish::ToolUse => "tool_call",
        Finish::Refusal => "content_filter",
    }
}

fn stop(stop: Stop) -> &'static str {
    match stop {
        Stop::EndTurn => "stop",
        Stop::MaxTokens => "length",
        Stop::MaxIterations => "max_iterations",
        Stop::Refusal => "content_filter",
        Stop::Interrupted => "interrupted",
        Stop::Error => "error",
        Stop::Budget => "budget",
    }
}

pub(super) fn cut_by(why: CutBy) -> &'static str {
    match why {
        CutBy::Asked => "asked",
        CutBy::Newer => "newer_message",
        CutBy::Ending => "shutdown",
        CutBy::Deleted => "deleted",
        CutBy::Stalled => "stalled",
        CutBy::TimedOut => "timeout",
    }
}

pub(crate) fn fault_kind(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::Auth => "auth",
        FaultKind::RateLimited => "rate_limited",
        FaultKind::ContextOverflow => "context_overflow",
        FaultKind::BadRequest => "bad_request",
        FaultKind::Provider => "provider",
        FaultKind::StreamCut => "stream_cut",
        FaultKind::Network => "network",
        FaultKind::Budget => "budget",
        FaultKind::Store => "store",
        FaultKind::Cancelled | FaultKind::ShuttingDown => "cancelled",
        FaultKind::Internal => "internal",
        FaultKind::Invalid
        | FaultKind::EmptyPrompt
        | FaultKind::TurnInProgress
        | FaultKind::WorksForCall
        | FaultKind::QueueFull
        | FaultKind::NotFound
        | FaultKind::UnknownSession
        | FaultKind::UnknownAsk
        | FaultKind::UnknownModel
        | FaultKind::UnknownCommand
        | FaultKind::SessionBusy
        | FaultKind::NothingToDo
        | FaultKind::KeyTaken
        | FaultKind::Unsupported => "invalid",
    }
}
