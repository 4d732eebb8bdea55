//! The messages of entries, in this family's words.

use std::borrow::Cow;

use vocab::{
    AssistantMessage, Body, CallEnd, CallEntry, CallInput, CallResult, Entry, Fault, Json, MessageEnd, Part,
    ShellEntry, Stop, TurnEnd, Usage, UserFrom, parts_text,
};

use super::projector::{Newest, Projector};
use super::{MessageRole, TranscriptMessage};
use crate::messages::{self, Cost, Faces};

/// Characters of arguments that do not fit which are shown again.
const ARGS_CHARS_MAX: usize = 4000;

impl Projector {
    /// The message of an entry that is one.
    pub(super) fn message(&self, entry: &Entry, faces: &dyn Faces) -> Option<TranscriptMessage> {
        let at_ms = entry.at_ms;
        let mut out = Vec::new();
        Some(match &entry.body {
            Body::User { parts, from, .. } => {
                let role = match from {
                    UserFrom::Prompt | UserFrom::Steer | UserFrom::FollowUp => MessageRole::User,
                    UserFrom::Reminder | UserFrom::Extension => MessageRole::Developer,
                };
                match role {
                    MessageRole::User => messages::user(&mut out, parts, at_ms),
                    _ => messages::developer(&mut out, parts, at_ms),
                }
                TranscriptMessage { text: parts_text(parts).into(), ..TranscriptMessage::new(role, out) }
            }
            Body::Assistant { message, .. } => self.assistant(message, faces),
            Body::Call(CallEntry::Ended { result, .. }) => {
                let result = self.worded(result);
                messages::tool_result(&mut out, &result, at_ms);
                let (text, usage) = (result.text().into(), self.by_children);
                TranscriptMessage { text, usage, ..TranscriptMessage::new(MessageRole::ToolResult, out) }
            }
            Body::Shell(ShellEntry::Ended(shell)) => {
                messages::bash_execution(&mut out, shell, at_ms);
                TranscriptMessage::new(MessageRole::BashExecution, out)
            }
            _ => return None,
        })
    }

    /// The result in this family's words: a host's tool that was aborted is said to be one, and arguments that do not
    /// fit are shown with what is wrong with them.
    pub fn worded<'a>(&self, result: &'a CallResult) -> Cow<'a, CallResult> {
        let tool = messages::tool_name(&result.tool);
        let text = match result.end {
            CallEnd::Interrupted if self.hosted.contains(&result.call) => format!("Host tool \"{tool}\" was aborted"),
            CallEnd::Invalid => {
                let said = result.text();
                let detail = said.strip_prefix("invalid tool arguments: ").unwrap_or(&said);
                let call = self.called.iter().find(|call| call.id == result.call);
                let args = call.map(|call| match &call.input {
                    CallInput::Object(json) => json.as_str().to_owned(),
                    CallInput::Broken { text, .. } => text.to_string(),
                });
                let args: String = args.unwrap_or_default().chars().take(ARGS_CHARS_MAX).collect();
                format!("Validation failed for tool \"{tool}\":\n  - {detail}\n\nReceived arguments:\n{args}")
            }
            _ => return Cow::Borrowed(result),
        };
        Cow::Owned(CallResult { parts: vec![Part::text(text)], ..result.clone() })
    }

    fn assistant(&self, message: &AssistantMessage, faces: &dyn Faces) -> TranscriptMessage {
        let face = faces.face(&message.model);
        let mut out = Vec::new();
        messages::assistant(&mut out, message, &face, self.now_ms);
        let cost = Cost::of(&message.usage, face.prices.as_ref()).total();
        TranscriptMessage {
            text: message.text().into(),
            calls: message.calls().count() as u64,
            usage: Some((message.usage, cost)),
            empty: message.blocks.is_empty() && message.end == MessageEnd::Interrupted,
            ..TranscriptMessage::new(MessageRole::Assistant, out)
        }
    }

    /// An assistant message that never came to be.
    fn hollow(&self, stop: &str, error: &str, faces: &dyn Faces) -> TranscriptMessage {
        let mut out = Vec::new();
        messages::assistant_head(&mut out);
        let face = faces.face(&self.model);
        messages::assistant_tail(&mut out, &face, &Usage::default(), stop, Some(error), self.now_ms);
        TranscriptMessage {
            usage: Some((Usage::default(), 0.0)),
            ..TranscriptMessage::new(MessageRole::Assistant, out)
        }
    }

    pub(super) fn error(&self, fault: &Fault, faces: &dyn Faces, only_in_file: bool) -> TranscriptMessage {
        TranscriptMessage { only_in_file, ..self.hollow("error", messages::fault_text(fault), faces) }
    }

    /// A turn that did not end with an assistant message saying so gets one that does.
    pub(super) fn ending(&self, end: &TurnEnd, faces: &dyn Faces) -> Option<TranscriptMessage> {
        match (end.stop, &end.fault) {
            (Stop::Interrupted, _) if self.newest != Newest::Interrupted => {
                Some(TranscriptMessage { empty: true, ..self.hollow("aborted", messages::ABORTED, faces) })
            }
            // The wait was cut short: this failure has its message already.
            (Stop::Error, Some(fault)) if self.newest == Newest::Waiting(fault.message.clone()) => None,
            (Stop::Error | Stop::Budget, fault) if self.newest != Newest::Failed => {
                let none = Fault::new(vocab::FaultKind::Internal, "");
                Some(self.error(fault.as_ref().unwrap_or(&none), faces, false))
            }
            _ => None,
        }
    }
}

impl TranscriptMessage {
    /// In the words of the file it came from.
    pub(super) fn standing(self, raw: &Json) -> Self {
        let mut json = Vec::new();
        messages::object(&mut json, raw);
        TranscriptMessage { json: TranscriptMessage::new(self.role, json).json, ..self }
    }

    pub(super) fn new(role: MessageRole, json: Vec<u8>) -> Self {
        TranscriptMessage {
            role,
            json: String::from_utf8(json).expect("escaping text yields text").into(),
            text: "".into(),
            calls: 0,
            usage: None,
            only_in_file: false,
            empty: false,
        }
    }
}
