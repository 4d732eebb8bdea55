//! The renderer for programs that start `run --json`: one JSON object per line, documented in docs/cli.md. No person is asked
//! anything here; a program that wants to answer questions speaks a dialect such as `serve`.

use serde_json::{Value, json};
use vocab::{
    Answer, Ask, AskKind, Body, BranchEntry, CallEnd, CallEntry, CallInput, CallResult, CompactionEvent, Delta, Event,
    ExtensionEvent, Fault, ModelEntry, NoteEntry, Notice, Opened, Principal, SlashReply, Stop, TurnEnd, TurnEntry,
    Usage,
};
use wire::{FrameBuf, escape_into};

use crate::UnaskedDenial;
use crate::cost::{PriceOf, TurnCost};
use crate::excerpt;
use crate::faults::fault_value;
use crate::renderer::{Renderer, WantedLine};

#[derive(Default)]
pub struct JsonRenderer {
    cost: TurnCost,
    session: String,
    /// The newest message of this turn.
    said: Option<String>,
}

impl JsonRenderer {
    pub fn with_prices(prices: PriceOf) -> Self {
        Self { cost: TurnCost::new(prices), ..Self::default() }
    }
}

/// One object, its keys in the order they are written here.
macro_rules! line {
    ($out:expr, $kind:literal $(, $key:literal: $value:expr)* $(,)?) => {
        $out.line(|bytes| {
            bytes.extend_from_slice(concat!("{\"type\":\"", $kind, "\"").as_bytes());
            $(
                bytes.extend_from_slice(concat!(",\"", $key, "\":").as_bytes());
                bytes.extend_from_slice(json!($value).to_string().as_bytes());
            )*
            bytes.push(b'}');
        })
    };
}

/// Deltas are many: written by hand, without a tree.
fn delta(kind: &str, text: &str, out: &mut FrameBuf) {
    out.line(|bytes| {
        bytes.extend_from_slice(b"{\"type\":\"");
        bytes.extend_from_slice(kind.as_bytes());
        bytes.extend_from_slice(b"\",\"delta\":");
        escape_into(text, bytes);
        bytes.push(b'}');
    });
}

fn usage_value(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_read_tokens": usage.cache_read,
        "cache_write_tokens": usage.cache_write,
        "output_tokens": usage.output,
        "estimated": usage.estimated,
    })
}

fn outcome(end: CallEnd) -> &'static str {
    match end {
        CallEnd::Ran => "ran",
        CallEnd::Denied => "denied",
        CallEnd::Unknown => "unknown_tool",
        CallEnd::Invalid => "invalid_arguments",
        CallEnd::Interrupted => "interrupted",
        CallEnd::Skipped => "skipped",
        CallEnd::Lost => "lost",
    }
}

pub fn stop_name(stop: Stop) -> &'static str {
    match stop {
        Stop::EndTurn => "end_turn",
        Stop::MaxTokens => "max_tokens",
        Stop::MaxIterations => "max_iterations",
        Stop::Refusal => "refusal",
        Stop::Interrupted => "interrupted",
        Stop::Error => "error",
        Stop::Budget => "budget",
    }
}

fn result_line(result: &CallResult, out: &mut FrameBuf) {
    let edits = result.edits.iter().map(|edit| match excerpt::changed(edit) {
        Some(it) => json!({ "path": &*edit.path, "added": it.added, "removed": it.removed, "patch": it.patch }),
        None => json!({ "path": &*edit.path, "added": null, "removed": null, "patch": null }),
    });
    let edits: Vec<Value> = edits.collect();
    line!(
        out, "tool_result",
        "id": result.call.as_str(),
        "name": &*result.tool,
        "outcome": outcome(result.end),
        "is_error": result.is_error,
        "text": result.text(),
        "duration_ms": result.duration_ms,
        "edits": edits,
    );
}

impl Renderer for JsonRenderer {
    fn opened(&mut self, opened: &Opened, out: &mut FrameBuf) {
        let state = &opened.state;
        self.session = opened.session.to_string();
        line!(
            out, "session",
            "session_id": self.session,
            "resumed": opened.resumed,
            "model": &*state.model,
            "mode": state.mode.as_str(),
            "workspace": state.workspace.display().to_string(),
        );
        for notice in &opened.notices {
            self.notice(notice, out);
        }
    }

    fn logged(&mut self, body: &Body, out: &mut FrameBuf) {
        self.cost.logged(body);
        match body {
            Body::Call(CallEntry::Started { call, tool, .. }) => {
                let input = match &call.input {
                    CallInput::Object(input) => serde_json::from_str(input.as_str()).unwrap_or(Value::Null),
                    CallInput::Broken { text, .. } => Value::from(&**text),
                };
                line!(out, "tool_call", "id": call.id.as_str(), "name": &**tool, "input": input);
            }
            Body::Call(CallEntry::Ended { result, .. }) => result_line(result, out),
            Body::Model(ModelEntry::Retrying { attempt, attempts_max, wait_ms, fault, .. }) => line!(
                out, "retry",
                "attempt": attempt, "attempts_max": attempts_max, "wait_ms": wait_ms, "error": fault_value(fault),
            ),
            Body::Model(ModelEntry::FellBack(it)) => line!(
                out, "fallback", "from": &*it.from, "to": &*it.to, "error": fault_value(&it.fault),
            ),
            Body::Branch(BranchEntry::Compacted(it)) => line!(
                out, "compacted",
                "tokens_before": it.tokens_before, "tokens_after": it.tokens_after, "usage": usage_value(&it.usage),
            ),
            Body::Note(NoteEntry::Recovered { text }) => self.notice(text, out),
            Body::Turn(TurnEntry::Started { .. }) => self.said = None,
            Body::Assistant { message, .. } => self.said = Some(message.text().to_string()),
            Body::Opened { .. }
            | Body::User { .. }
            | Body::Turn(TurnEntry::Taken { .. } | TurnEntry::Cut { .. } | TurnEntry::Ended(_))
            | Body::Ask(_)
            | Body::Queue(_)
            | Body::Branch(BranchEntry::Moved { .. })
            | Body::Setting(_)
            | Body::Shell(_)
            | Body::Note(NoteEntry::Imported { .. })
            | Body::Model(ModelEntry::Requested(_))
            | Body::Branch(BranchEntry::Restored { .. })
            | Body::Model(ModelEntry::Spent { .. })
            | Body::Note(NoteEntry::Label { .. } | NoteEntry::Keyed(_) | NoteEntry::Waived { .. })
            | Body::Branch(BranchEntry::Summary { .. }) => {}
        }
    }

    fn event(&mut self, event: &Event, out: &mut FrameBuf) {
        match event {
            Event::Delta(Delta::Text { delta: text, .. }) => delta("text", text, out),
            Event::Delta(Delta::Thinking { delta: text, .. }) => delta("thinking", text, out),
            Event::Compaction(CompactionEvent::Failed { fault, .. }) => {
                line!(out, "notice", "text": format!("summarising failed: {}", fault.message));
            }
            Event::Extension(ExtensionEvent::Notice(Notice::Say { text, .. })) => line!(out, "notice", "text": &**text),
            Event::Extension(ExtensionEvent::Trouble { source, during, text }) => {
                line!(out, "trouble", "source": &**source, "during": &**during, "text": &**text);
            }
            // There is no screen to put the rest on.
            Event::Extension(ExtensionEvent::Notice(_))
            | Event::Delta(Delta::CallInput { .. })
            | Event::Delta(Delta::CallProgress { .. } | Delta::CallBegan { .. })
            | Event::State(_)
            | Event::Compaction(CompactionEvent::Started { .. })
            | Event::Retry(_)
            | Event::Settled
            | Event::Watch(_)
            | Event::ShellProgress { .. }
            | Event::Extension(ExtensionEvent::Hook(_))
            | Event::Delta(Delta::Sealed { .. })
            | Event::Delta(Delta::ModelCalled { .. })
            | Event::SignIn { .. }
            | Event::Editor(_)
            | Event::Queue(_)
            | Event::Live { .. }
            | Event::Logged(_)
            | Event::Reply { .. }
            | Event::TurnLost(_)
            | Event::Gone { .. } => {}
        }
    }

    fn ask(&mut self, _: &Ask, _: &mut FrameBuf) {}

    fn explain(&mut self, _: &Ask, _: Option<&str>, _: &mut FrameBuf) {}

    fn answered_unasked(&mut self, ask: &Ask, answer: &Answer, _denial: Option<&UnaskedDenial>, out: &mut FrameBuf) {
        let AskKind::Permission(permission) = &ask.kind else { return };
        let reason = match answer {
            Answer::Deny(reason) => reason.as_deref(),
            _ => None,
        };
        line!(
            out, "permission",
            "call": permission.call.as_str(),
            "tool": &*permission.tool,
            "summary": &*permission.summary,
            "required": permission.required.as_str(),
            "decision": if matches!(answer, Answer::Allow(_)) { "allow" } else { "deny" },
            "reason": reason,
        );
    }

    fn shows_others(&self) -> bool {
        false
    }

    fn said_elsewhere(&mut self, by: Option<&Principal>, text: &str, out: &mut FrameBuf) {
        line!(out, "said_elsewhere", "by": by.map(Principal::as_str), "text": text);
    }

    fn slash(&mut self, reply: &SlashReply, out: &mut FrameBuf) {
        line!(out, "command", "name": reply.command, "text": wire::slash::text(reply, &vocab::names::CANONICAL));
    }

    fn fault(&mut self, fault: &Fault, out: &mut FrameBuf) {
        line!(out, "error", "error": fault_value(fault));
    }

    fn notice(&mut self, text: &str, out: &mut FrameBuf) {
        line!(out, "notice", "text": text);
    }

    fn turn_ended(&mut self, end: &TurnEnd, exit_code: u8, out: &mut FrameBuf) {
        line!(
            out, "turn_end",
            "stop": stop_name(end.stop),
            "iterations": end.iterations,
            "usage": usage_value(&end.usage),
            "error": end.fault.as_ref().map(fault_value),
            "exit_code": exit_code,
            "result": self.said,
            "session_id": self.session,
            "cost_usd": self.cost.cost(end),
        );
    }

    fn want(&mut self, _: WantedLine, _: &mut FrameBuf) {}

    fn closing(&mut self, _: &mut FrameBuf) {}
}
