//! What a foreign message says, in our words. A piece of an unknown kind is left out; the rest of the message stays.

use std::sync::Arc;

use vocab::{
    AssistantMessage, Block, Call, CallEnd, CallInput, CallResult, Fault, FaultKind, Finish, Image, Json, MessageEnd,
    ModelFault, Part, Shell, TurnId, Usage, UserFrom, names,
};

use crate::ModelNames;
use crate::fields::Fields;

/// A foreign message as far as we have words for it.
pub(crate) enum ForeignMessage {
    User(Vec<Part>, UserFrom),
    Assistant(AssistantMessage),
    Result(CallResult),
    Shell(Shell),
}

/// A message of an entry, and when it was said.
pub(crate) fn message(fields: &Fields<'_>, models: &dyn ModelNames) -> Option<(ForeignMessage, Option<i64>)> {
    let said = match fields.text("role")?.as_str() {
        "user" => ForeignMessage::User(parts(fields), UserFrom::Prompt),
        "developer" => ForeignMessage::User(parts(fields), UserFrom::Reminder),
        "custom" | "hookMessage" => ForeignMessage::User(parts(fields), UserFrom::Extension),
        "assistant" => ForeignMessage::Assistant(assistant(fields, models)),
        "toolResult" => ForeignMessage::Result(result(fields)?),
        "bashExecution" => ForeignMessage::Shell(shell(fields, "command")?),
        "pythonExecution" => ForeignMessage::Shell(shell(fields, "code")?),
        // Summaries have entries of their own; what else there may be was never for a model.
        _ => return None,
    };
    Some((said, fields.integer("timestamp")))
}

/// A message as it stands, except that an old role has its new name. `None` for one that lacks what hosts rely on: that
/// is told in our words, which have it.
pub(crate) fn raw(fields: &Fields<'_>) -> Option<Json> {
    const NEEDED: [&str; 7] = ["content", "api", "provider", "model", "usage", "stopReason", "timestamp"];
    if fields.text("role")? == "assistant" && NEEDED.iter().any(|key| fields.raw(key).is_none()) {
        return None;
    }
    let renamed = fields.text("role").filter(|role| role == "hookMessage").map(|_| "\"custom\"");
    Some(fields.write(|key| renamed.filter(|_| key == "role")))
}

/// A message that its program put beside the conversation, as that program would show it.
pub(crate) fn custom(fields: &Fields<'_>, at_ms: i64) -> Json {
    let mut text = String::from("{\"role\":\"custom\"");
    for key in ["customType", "content", "display", "details", "attribution"] {
        if let Some(raw) = fields.raw(key) {
            text.push_str(&format!(",\"{key}\":{raw}"));
        }
    }
    text.push_str(&format!(",\"timestamp\":{at_ms}}}"));
    Json::trusted(text)
}

/// Content is a plain text or a list of blocks.
pub(crate) fn parts(fields: &Fields<'_>) -> Vec<Part> {
    if let Some(text) = fields.text("content") {
        return vec![Part::text(text)];
    }
    let part = |block: &Fields<'_>| match block.text("type")?.as_str() {
        "text" => block.text("text").map(Part::text),
        "image" => {
            let (base64, mime) = (block.text("data")?, block.text("mimeType")?);
            Some(Part::Image(Image { mime: mime.into(), base64: base64.into() }))
        }
        _ => None,
    };
    fields.objects("content").unwrap_or_default().iter().filter_map(part).collect()
}

fn assistant(fields: &Fields<'_>, models: &dyn ModelNames) -> AssistantMessage {
    let blocks: Vec<Block> = match fields.text("content") {
        Some(text) if !text.is_empty() => vec![Block::Text(text.into())],
        _ => fields.objects("content").unwrap_or_default().iter().flat_map(blocks).collect(),
    };
    let calls = blocks.iter().any(|block| matches!(block, Block::Call(_)));
    let word = |key| fields.text(key).unwrap_or_else(|| "unknown".into());
    AssistantMessage {
        blocks,
        model: models.slug(&word("provider"), &word("model")),
        end: message_end(fields, calls),
        usage: fields.object("usage").map_or_else(Usage::default, |usage| self::usage(&usage)),
    }
}

/// One block of theirs; what a text is signed with is a block of ours, a thought without words behind the text.
fn blocks(fields: &Fields<'_>) -> impl Iterator<Item = Block> {
    let block = block(fields);
    let signature = block.as_ref().filter(|block| matches!(block, Block::Text(_))).and(seal(fields, "textSignature"));
    // An empty text says nothing, and some model APIs refuse it.
    let said = block.filter(|block| !matches!(block, Block::Text(text) if text.is_empty()));
    said.into_iter().chain(signature.map(|seal| Block::Thinking { text: "".into(), opaque: Some(seal) }))
}

fn block(fields: &Fields<'_>) -> Option<Block> {
    let text = |key| fields.text(key).map(Arc::<str>::from);
    Some(match fields.text("type")?.as_str() {
        "text" => Block::Text(text("text")?),
        // As newer versions write what older ones called `redactedThinking`.
        "thinking" if fields.flag("redacted") => Block::Redacted(seal(fields, "thinkingSignature")?),
        "thinking" => Block::Thinking { text: text("thinking")?, opaque: seal(fields, "thinkingSignature") },
        "redactedThinking" => Block::Redacted(seal(fields, "data")?),
        "toolCall" => Block::Call(Call {
            id: fields.text("id")?.into(),
            name: text("name")?,
            input: input(fields),
            seal: seal(fields, "thoughtSignature"),
        }),
        _ => return None,
    })
}

/// An empty one is what a reply that was cut short leaves; sent back, it would be refused.
fn seal(fields: &Fields<'_>, key: &str) -> Option<Arc<str>> {
    fields.text(key).filter(|seal| !seal.is_empty()).map(Arc::from)
}

fn input(fields: &Fields<'_>) -> CallInput {
    match fields.raw("arguments") {
        None => CallInput::Object(Json::empty_object()),
        Some(raw) => match wire::read_object(raw) {
            Ok(json) => CallInput::Object(json),
            Err(detail) => CallInput::Broken { text: raw.into(), detail: detail.into() },
        },
    }
}

fn message_end(fields: &Fields<'_>, calls: bool) -> MessageEnd {
    match fields.text("stopReason").as_deref() {
        Some("aborted") => MessageEnd::Interrupted,
        Some("error") => {
            let text = fields.text("errorMessage").unwrap_or_default();
            let mut failed = ModelFault::new(FaultKind::Provider, "");
            failed.fault = Fault::new(FaultKind::Provider, text);
            MessageEnd::Failed(failed)
        }
        Some("length") => MessageEnd::Finished(Finish::Length),
        Some("toolUse") => MessageEnd::Finished(Finish::ToolUse),
        Some("stop") => MessageEnd::Finished(Finish::Stop),
        _ => MessageEnd::Finished(if calls { Finish::ToolUse } else { Finish::Stop }),
    }
}

fn usage(fields: &Fields<'_>) -> Usage {
    let tokens = |key| fields.natural(key).unwrap_or(0);
    Usage {
        input: tokens("input"),
        output: tokens("output"),
        cache_read: tokens("cacheRead"),
        cache_write: tokens("cacheWrite"),
        estimated: false,
    }
}

fn result(fields: &Fields<'_>) -> Option<CallResult> {
    let name = fields.text("toolName").unwrap_or_else(|| "unknown".into());
    Some(CallResult {
        call: fields.text("toolCallId")?.into(),
        tool: names::canonical(&name).map_or_else(|| name.as_str().into(), Arc::from),
        end: CallEnd::Ran,
        parts: parts(fields),
        is_error: fields.flag("isError"),
        duration_ms: 0,
        mutation: None,
        edits: Vec::new(),
        details: fields.json("details"),
    })
}

fn shell(fields: &Fields<'_>, command: &str) -> Option<Shell> {
    let output: Arc<str> = fields.text("output").unwrap_or_default().into();
    Some(Shell {
        command: fields.text(command)?.into(),
        exit_code: fields.integer("exitCode").and_then(|code| i32::try_from(code).ok()),
        cancelled: fields.flag("cancelled"),
        truncated: fields.flag("truncated"),
        // Of what is there; the file does not say more.
        total_lines: output.split('\n').count() as u64,
        total_bytes: output.len() as u64,
        spilled: fields.text("fullOutputPath").map(Arc::from),
        aside: fields.flag("excludeFromContext"),
        output,
    })
}

/// Joins calls and results: made of the name of the line that made the call, so that no two replies share one.
pub(crate) fn turn_of(name: &str) -> TurnId {
    TurnId::from(format!("file-{name}"))
}
