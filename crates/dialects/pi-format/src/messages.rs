//! The family's messages as JSON: user, assistant, toolResult, bashExecution, compactionSummary, branchSummary. The same
//! bytes go into events, into answers and into session files. Knows no frame and no file.
//!
//! Every function appends one line of compact JSON to a buffer, in the key order of the originals. A partial assistant
//! message is [`assistant_head`], blocks with commas between them, and [`assistant_tail`].

use std::sync::Arc;

use crate::tool_names::TOOL_NAMES;
use serde_json::value::RawValue;
use vocab::names;
use vocab::{
    AssistantMessage, Block, CallEnd, CallResult, Fault, Finish, Json, MessageEnd, ModelFault, Part, Prices, Shell,
    Usage,
};
use wire::escape_into;

use crate::diff::EditDiff;

/// What an assistant message says that was cut short by an abort.
pub const ABORTED: &str = "Request was aborted";
/// What an assistant message says that the model refused to go on with.
pub const REFUSED: &str = "The model refused to answer";
/// What stands where only the provider can read what was thought, as the originals show it.
pub const REDACTED: &str = "[Reasoning redacted]";
/// What stands where a failure left no words.
const FAILED: &str = "The request failed";

/// Who a model is in this family's words.
#[derive(Clone, PartialEq, Debug)]
pub struct Face {
    pub provider: Arc<str>,
    pub id: Arc<str>,
    pub api: Arc<str>,
    /// Unknown prices are written as 0: the wire has numbers only.
    pub prices: Option<Prices>,
}

/// Looks a slug of the log up. A slug that is not known any more is split at its first `/`.
pub trait Faces {
    fn face(&self, slug: &str) -> Face;
}

impl Face {
    /// For a slug of which nothing is known.
    pub fn guess(slug: &str) -> Face {
        let (provider, id) = slug.split_once('/').unwrap_or(("unknown", slug));
        Face { provider: provider.into(), id: id.into(), api: "openai-completions".into(), prices: None }
    }
}

/// Dollars by kind of token.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Cost {
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
}

impl Cost {
    /// The price of one token first, as the originals multiply: hosts compare the digits.
    pub fn of(usage: &Usage, prices: Option<&Prices>) -> Cost {
        let Some(prices) = prices else { return Cost::default() };
        let cost = |price: f64, tokens: u64| (price / 1e6) * tokens as f64;
        Cost {
            input: cost(prices.input, usage.input),
            output: cost(prices.output, usage.output),
            cache_read: cost(prices.cache_read, usage.cache_read),
            cache_write: cost(prices.cache_write, usage.cache_write),
        }
    }
    pub fn total(&self) -> f64 {
        self.input + self.output + self.cache_read + self.cache_write
    }
}

/// How this family spells a tool, whoever spelled it before.
pub fn tool_name(name: &str) -> &str {
    TOOL_NAMES.show(names::canonical(name).unwrap_or(name))
}

// ---- whole messages -------------------------------------------------------------------------------------------

pub fn user(out: &mut Vec<u8>, parts: &[Part], at_ms: i64) {
    out.extend_from_slice(b"{\"role\":\"user\",\"content\":");
    content(out, parts);
    out.extend_from_slice(b",\"attribution\":\"user\"");
    end(out, at_ms);
}

/// A message to the model that no user wrote.
pub fn developer(out: &mut Vec<u8>, parts: &[Part], at_ms: i64) {
    out.extend_from_slice(b"{\"role\":\"developer\",\"content\":");
    content(out, parts);
    out.extend_from_slice(b",\"synthetic\":true");
    end(out, at_ms);
}

pub fn assistant(out: &mut Vec<u8>, message: &AssistantMessage, face: &Face, at_ms: i64) {
    assistant_head(out);
    for (at, (it, signature)) in shown(&message.blocks).enumerate() {
        if at > 0 {
            out.push(b',');
        }
        block(out, it, signature);
    }
    let (stop, error) = stop_reason(&message.end);
    assistant_tail(out, face, &message.usage, stop, error.as_deref(), at_ms);
}

/// Up to and including the bracket that opens the content.
pub fn assistant_head(out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"role\":\"assistant\",\"content\":[");
}

/// From the bracket that closes the content to the end.
pub fn assistant_tail(out: &mut Vec<u8>, face: &Face, usage: &Usage, stop: &str, error: Option<&str>, at_ms: i64) {
    out.push(b']');
    member(out, "api", &face.api);
    member(out, "provider", &face.provider);
    member(out, "model", &face.id);
    out.extend_from_slice(b",\"usage\":");
    self::usage(out, usage, face.prices.as_ref());
    member(out, "stopReason", stop);
    out.extend_from_slice(b",\"timestamp\":");
    integer(out, at_ms);
    if let Some(error) = error {
        member(out, "errorMessage", error);
    }
    out.push(b'}');
}

pub fn tool_result(out: &mut Vec<u8>, result: &CallResult, at_ms: i64) {
    out.extend_from_slice(b"{\"role\":\"toolResult\"");
    member(out, "toolCallId", result.call.as_str());
    member(out, "toolName", tool_name(&result.tool));
    out.extend_from_slice(b",\"content\":");
    result_content(out, result);
    result_details(out, result);
    out.extend_from_slice(b",\"isError\":");
    boolean(out, result.is_error);
    end(out, at_ms);
}

/// The content of a result. An unknown tool is named in the originals' fixed words.
pub fn result_content(out: &mut Vec<u8>, result: &CallResult) {
    if result.end == CallEnd::Unknown {
        let text = format!("Tool {} not found", tool_name(&result.tool));
        content(out, &[Part::text(text)]);
    } else {
        content(out, &result.parts);
    }
}

/// `,"details":{...}` where there are any; an error always has them. Those of a changed file are pi's.
pub fn result_details(out: &mut Vec<u8>, result: &CallResult) {
    if let Some(details) = &result.details {
        out.extend_from_slice(b",\"details\":");
        value(out, details);
    } else if let Some(changed) = EditDiff::of(&result.edits) {
        out.extend_from_slice(b",\"details\":{\"diff\":");
        escape_into(&changed.diff, out);
        if let Some(line) = changed.first_changed_line {
            out.extend_from_slice(b",\"firstChangedLine\":");
            natural(out, line as u64);
        }
        out.push(b'}');
    } else if result.is_error {
        out.extend_from_slice(b",\"details\":{}");
    }
}

pub fn bash_execution(out: &mut Vec<u8>, shell: &Shell, at_ms: i64) {
    out.extend_from_slice(b"{\"role\":\"bashExecution\"");
    member(out, "command", &shell.command);
    member(out, "output", &shell.output);
    if let Some(code) = shell.exit_code.filter(|_| !shell.cancelled) {
        out.extend_from_slice(b",\"exitCode\":");
        integer(out, code.into());
    }
    out.extend_from_slice(b",\"cancelled\":");
    boolean(out, shell.cancelled);
    out.extend_from_slice(b",\"truncated\":");
    boolean(out, shell.truncated);
    if let Some(place) = &shell.spilled {
        member(out, "fullOutputPath", place);
    }
    out.extend_from_slice(b",\"timestamp\":");
    integer(out, at_ms);
    if shell.aside {
        out.extend_from_slice(b",\"excludeFromContext\":true");
    }
    out.push(b'}');
}

pub fn compaction_summary(out: &mut Vec<u8>, summary: &str, tokens_before: u64, at_ms: i64) {
    out.extend_from_slice(b"{\"role\":\"compactionSummary\"");
    member(out, "summary", summary);
    out.extend_from_slice(b",\"tokensBefore\":");
    natural(out, tokens_before);
    end(out, at_ms);
}

pub fn branch_summary(out: &mut Vec<u8>, summary: &str, from: &str, at_ms: i64) {
    out.extend_from_slice(b"{\"role\":\"branchSummary\"");
    member(out, "summary", summary);
    member(out, "fromId", from);
    end(out, at_ms);
}

// ---- pieces -----------------------------------------------------------------------------------------------------

/// The blocks of an assistant message as this family counts them, and what each text is signed with. The log keeps a
/// text's signature as a thought without words directly behind it; here it is a member of the text.
pub fn shown(blocks: &[Block]) -> impl Iterator<Item = (&Block, Option<&str>)> {
    let mut left = blocks.iter().peekable();
    std::iter::from_fn(move || {
        let block = left.next()?;
        let signature = match block {
            Block::Text(_) => left.next_if(|next| lone_seal(next).is_some()).and_then(lone_seal),
            _ => None,
        };
        Some((block, signature))
    })
}

fn lone_seal(block: &Block) -> Option<&str> {
    match block {
        Block::Thinking { text, opaque } if text.is_empty() => opaque.as_deref(),
        _ => None,
    }
}

/// One block of an assistant message; a text with its signature.
pub fn block(out: &mut Vec<u8>, block: &Block, signature: Option<&str>) {
    match block {
        Block::Text(text) => text_block(out, text, signature),
        Block::Redacted(sealed) => {
            out.extend_from_slice(b"{\"type\":\"thinking\"");
            member(out, "thinking", REDACTED);
            member(out, "thinkingSignature", sealed);
            out.extend_from_slice(b",\"redacted\":true}");
        }
        Block::Thinking { text, opaque } => {
            out.extend_from_slice(b"{\"type\":\"thinking\"");
            member(out, "thinking", text);
            if let Some(opaque) = opaque {
                member(out, "thinkingSignature", opaque);
            }
            out.push(b'}');
        }
        Block::Call(call) => {
            out.extend_from_slice(b"{\"type\":\"toolCall\"");
            member(out, "id", call.id.as_str());
            member(out, "name", tool_name(&call.name));
            out.extend_from_slice(b",\"arguments\":");
            object(out, &call.input.json());
            if let Some(seal) = &call.seal {
                member(out, "thoughtSignature", seal);
            }
            out.push(b'}');
        }
    }
}

/// The content array of a user message or a result.
pub fn content(out: &mut Vec<u8>, parts: &[Part]) {
    out.push(b'[');
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        match part {
            Part::Text(text) => text_block(out, text, None),
            Part::Image(image) => {
                out.extend_from_slice(b"{\"type\":\"image\"");
                member(out, "data", &image.base64);
                member(out, "mimeType", &image.mime);
                out.push(b'}');
            }
        }
    }
    out.push(b']');
}

fn text_block(out: &mut Vec<u8>, text: &str, signature: Option<&str>) {
    out.extend_from_slice(b"{\"type\":\"text\"");
    member(out, "text", text);
    if let Some(signature) = signature {
        member(out, "textSignature", signature);
    }
    out.push(b'}');
}

pub fn usage(out: &mut Vec<u8>, usage: &Usage, prices: Option<&Prices>) {
    let cost = Cost::of(usage, prices);
    for (name, tokens) in [
        ("{\"input\":", usage.input),
        (",\"output\":", usage.output),
        (",\"cacheRead\":", usage.cache_read),
        (",\"cacheWrite\":", usage.cache_write),
        (",\"totalTokens\":", usage.context()),
    ] {
        out.extend_from_slice(name.as_bytes());
        natural(out, tokens);
    }
    for (name, dollars) in [
        (",\"cost\":{\"input\":", cost.input),
        (",\"output\":", cost.output),
        (",\"cacheRead\":", cost.cache_read),
        (",\"cacheWrite\":", cost.cache_write),
        (",\"total\":", cost.total()),
    ] {
        out.extend_from_slice(name.as_bytes());
        number(out, dollars);
    }
    out.extend_from_slice(b"}}");
}

/// `stopReason` and, where one belongs to it, `errorMessage`.
pub fn stop_reason(end: &MessageEnd) -> (&'static str, Option<String>) {
    match end {
        MessageEnd::Finished(Finish::Stop) => ("stop", None),
        MessageEnd::Finished(Finish::Length) => ("length", None),
        MessageEnd::Finished(Finish::ToolUse) => ("toolUse", None),
        MessageEnd::Finished(Finish::Refusal) => ("error", Some(REFUSED.into())),
        MessageEnd::Interrupted => ("aborted", Some(ABORTED.into())),
        MessageEnd::Failed(failed) => ("error", Some(failure(failed))),
    }
}

/// `<status> <message>`; a message that begins with the status keeps its form.
fn failure(failed: &ModelFault) -> String {
    let message = fault_text(&failed.fault);
    match failed.fault.status.map(|status| status.to_string()) {
        Some(status) if !message.starts_with(&status) => format!("{status} {message}"),
        _ => message.to_owned(),
    }
}

/// A fault as `errorMessage`.
pub fn fault_text(fault: &Fault) -> &str {
    if fault.message.trim().is_empty() { FAILED } else { &fault.message }
}

/// Tool arguments as one line; what is no object after all is `{}`, because hosts index into it.
pub fn object(out: &mut Vec<u8>, json: &Json) {
    if json.as_str().trim_start().starts_with('{') && serde_json::from_str::<&RawValue>(json.as_str()).is_ok() {
        one_line(out, json.as_str());
    } else {
        out.extend_from_slice(b"{}");
    }
}

/// Any JSON value as one line; text that is none is carried as a string.
pub fn value(out: &mut Vec<u8>, json: &Json) {
    match serde_json::from_str::<&RawValue>(json.as_str()) {
        Ok(_) => one_line(out, json.as_str()),
        Err(_) => escape_into(json.as_str(), out),
    }
}

fn one_line(out: &mut Vec<u8>, json: &str) {
    let text = wire::replace_lone_surrogates(json.trim());
    // A raw line end in well-formed JSON is space between tokens; inside strings it is always escaped.
    if text.contains(['\n', '\r']) {
        out.extend(text.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')));
    } else {
        out.extend_from_slice(text.as_bytes());
    }
}

fn end(out: &mut Vec<u8>, at_ms: i64) {
    out.extend_from_slice(b",\"timestamp\":");
    integer(out, at_ms);
    out.push(b'}');
}

/// `,"name":"text"`; the name needs no escapes.
pub fn member(out: &mut Vec<u8>, name: &str, text: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
    escape_into(text, out);
}

fn boolean(out: &mut Vec<u8>, it: bool) {
    out.extend_from_slice(if it { b"true" } else { b"false" });
}

fn integer(out: &mut Vec<u8>, it: i64) {
    serde_json::to_writer(out, &it).expect("a buffer takes every number");
}

pub fn natural(out: &mut Vec<u8>, it: u64) {
    serde_json::to_writer(out, &it).expect("a buffer takes every number");
}

/// Whole numbers without a fraction, as JavaScript prints them.
pub fn number(out: &mut Vec<u8>, it: f64) {
    /// Above it not every whole number is a double.
    const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;
    if !it.is_finite() {
        out.push(b'0');
    } else if it.fract() == 0.0 && it.abs() < WHOLE_MAX {
        integer(out, it as i64);
    } else {
        serde_json::to_writer(out, &it).expect("a buffer takes every number");
    }
}
