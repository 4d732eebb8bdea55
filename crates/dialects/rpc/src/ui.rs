//! Dialogs and notices: what an extension shows or asks, and our own permission questions, as `extension_ui_request`.

use crate::TOOL_NAMES;
use vocab::visible::headline;
use vocab::{Answer, AskKind, Notice, NoticeLevel, PermissionAsk, Scope};
use wire::{FrameBuf, question};

use crate::frames::Writer;
use crate::inbound::UiAnswer;

/// How much of a call a confirmation shows; of more it says how much is missing. `tool_execution_start` had it all.
const FACTS_BYTES_MAX: usize = 64 * 1024;

/// What kind of answer a dialog takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dialog {
    Permission,
    Confirm,
    Text,
}

/// Asks the host. `None` when this is no dialog.
pub(crate) fn ask(frames: &mut FrameBuf, id: &str, kind: &AskKind, timeout_ms: Option<u64>) -> Option<Dialog> {
    let dialog = match kind {
        AskKind::Permission(permission) => {
            let tool = TOOL_NAMES.show(&permission.tool);
            request(frames, id, "confirm", |w| {
                w.text("title", &format!("Allow {tool}?")).text("message", &asked(permission));
            });
            return Some(Dialog::Permission);
        }
        AskKind::Budget(budget) => {
            request(frames, id, "confirm", |w| {
                w.text("title", "Go on?").text("message", &budget.summary());
            });
            return Some(Dialog::Permission);
        }
        AskKind::HostCall { .. } => return None,
        AskKind::Confirm { title, message } => {
            request(frames, id, "confirm", |w| {
                w.text("title", title).text("message", message);
                timeout(w, timeout_ms);
            });
            Dialog::Confirm
        }
        AskKind::Select { title, options } => {
            request(frames, id, "select", |w| {
                w.text("title", title);
                w.list("options", options.iter(), |option, out| wire::escape_into(option, out));
                timeout(w, timeout_ms);
            });
            Dialog::Text
        }
        AskKind::Input { title, placeholder } => {
            request(frames, id, "input", |w| {
                w.text("title", title).maybe("placeholder", placeholder.as_deref());
                timeout(w, timeout_ms);
            });
            Dialog::Text
        }
        AskKind::Editor { title, prefill } => {
            request(frames, id, "editor", |w| {
                w.text("title", title).maybe("prefill", prefill.as_deref());
            });
            Dialog::Text
        }
    };
    Some(dialog)
}

fn timeout(w: &mut Writer<'_>, ms: Option<u64>) {
    if let Some(ms) = ms {
        w.number("timeout", ms);
    }
}

fn asked(permission: &PermissionAsk) -> String {
    let mut text = headline(&permission.summary);
    if let Some(reason) = &permission.reason {
        text.push_str(&format!("\n({reason})"));
    }
    let facts = question::text(&question::facts(permission), FACTS_BYTES_MAX);
    if !facts.is_empty() {
        text.push_str(&format!("\n\n{facts}"));
    }
    text
}

/// A dialog that needs no answer any more.
pub(crate) fn cancel(frames: &mut FrameBuf, id: &str, target: &str) {
    request(frames, id, "cancel", |w| {
        w.text("targetId", target);
    });
}

pub(crate) fn notice(frames: &mut FrameBuf, id: &str, notice: &Notice) {
    match notice {
        Notice::Say { text, level } => request(frames, id, "notify", |w| {
            let level = match level {
                NoticeLevel::Info => "info",
                NoticeLevel::Warning => "warning",
                NoticeLevel::Error => "error",
            };
            w.text("message", text).text("notifyType", level);
        }),
        Notice::Status { key, text } => request(frames, id, "setStatus", |w| {
            w.text("statusKey", key).maybe("statusText", text.as_deref());
        }),
        Notice::Widget { key, lines, below } => request(frames, id, "setWidget", |w| {
            w.text("widgetKey", key);
            if let Some(lines) = lines {
                w.list("widgetLines", lines.iter(), |line, out| wire::escape_into(line, out));
            }
            if *below {
                w.text("widgetPlacement", "belowEditor");
            }
        }),
        Notice::Title { text } => request(frames, id, "setTitle", |w| {
            w.text("title", text);
        }),
        // The dialect ends instead.
        Notice::Exit => {}
        Notice::EditorText { text } => request(frames, id, "set_editor_text", |w| {
            w.text("text", text);
        }),
    }
}

fn request(frames: &mut FrameBuf, id: &str, method: &str, write: impl FnOnce(&mut Writer<'_>)) {
    Writer::event(frames, "extension_ui_request", |w| {
        w.text("id", id).text("method", method);
        write(w);
    });
}

/// What the host's answer means; whatever does not fit is a dialog that was closed.
pub(crate) fn answer(dialog: Dialog, answer: UiAnswer) -> Answer {
    match (dialog, answer) {
        (Dialog::Permission, UiAnswer::Confirmed(true)) => Answer::Allow(Scope::Once),
        (Dialog::Permission, _) => Answer::Deny(None),
        (Dialog::Confirm, UiAnswer::Confirmed(confirmed)) => Answer::Confirmed(confirmed),
        (Dialog::Text, UiAnswer::Value(value)) => Answer::Text(value.into()),
        (Dialog::Confirm | Dialog::Text, _) => Answer::Dismissed,
    }
}
