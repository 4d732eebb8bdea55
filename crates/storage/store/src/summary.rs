//! The running totals of a session, kept beside its log so that a list of sessions reads no log.

use std::sync::Arc;

use vocab::{
    Body, Entry, LaneWish, Needle, NewSession, NoteEntry, Part, SettingEntry, Summary, TurnEntry, Usage, settled_usage,
};

/// Characters of the first prompt that a list shows; the rest is in the log.
const PREVIEW_CHARS_MAX: usize = 120;

/// The totals of a session that has no entry yet.
pub fn blank(new: &NewSession) -> Summary {
    Summary {
        id: new.id.clone(),
        workspace: new.workspace.clone(),
        model: new.model.clone(),
        mode: new.mode,
        title: None,
        thinking: None,
        preview: None,
        created_ms: new.at_ms,
        updated_ms: new.at_ms,
        messages: 0,
        turns: 0,
        last_seq: 0,
        usage: Usage::default(),
        child_of: None,
        last_message_ms: None,
        lane: LaneWish::default(),
        elevated_until_ms: None,
        model_called: None,
    }
}

/// Adds one entry. Folding a whole log over [`blank`] gives what folding it entry by entry gave.
pub fn fold(summary: &mut Summary, entry: &Entry) {
    summary.last_seq = entry.seq;
    if is_use(&entry.body) {
        // A clock may jump back; what was later stays later.
        summary.updated_ms = summary.updated_ms.max(entry.at_ms);
    }
    if let Some(usage) = settled_usage(&entry.body) {
        summary.usage.add(usage);
    }
    match &entry.body {
        Body::Opened { workspace, model, mode, child_of, .. } => {
            summary.child_of = child_of.as_ref().map(|(session, _)| session.clone());
            summary.workspace = workspace.clone();
            (summary.model, summary.model_called) = (model.clone(), None);
            summary.mode = *mode;
        }
        Body::User { parts, .. } => {
            said(summary, entry.at_ms);
            if summary.preview.is_none() {
                summary.preview = preview(parts);
            }
        }
        Body::Assistant { .. } => said(summary, entry.at_ms),
        Body::Turn(TurnEntry::Ended(_)) => summary.turns += 1,
        Body::Setting(SettingEntry::Model { model, called }) => {
            (summary.model, summary.model_called) = (model.clone(), called.clone());
        }
        Body::Setting(SettingEntry::Mode { mode }) => summary.mode = *mode,
        Body::Setting(SettingEntry::Thinking { level }) => summary.thinking = level.clone(),
        Body::Setting(SettingEntry::Lane { wish }) => summary.lane = *wish,
        Body::Setting(SettingEntry::Elevated { until_ms }) => summary.elevated_until_ms = *until_ms,
        Body::Setting(SettingEntry::Title { title }) => summary.title = Some(title.clone()),
        Body::Turn(TurnEntry::Started { .. } | TurnEntry::Taken { .. } | TurnEntry::Cut { .. })
        | Body::Call(_)
        | Body::Ask(_)
        | Body::Queue(_)
        | Body::Model(_)
        | Body::Shell(_)
        | Body::Branch(_)
        | Body::Setting(SettingEntry::Gadgets { .. })
        | Body::Setting(SettingEntry::Todos { .. })
        | Body::Note(_) => {}
    }
}

/// Whether its id or its title has this.
pub fn mentions(summary: &Summary, text: &Needle) -> bool {
    named(summary.id.as_str(), summary.title.as_deref(), text)
}

/// The same, of what a list shows.
pub fn named(id: &str, title: Option<&str>, text: &Needle) -> bool {
    text.is_in(id) || title.is_some_and(|title| text.is_in(title))
}

fn said(summary: &mut Summary, at_ms: i64) {
    summary.messages += 1;
    summary.last_message_ms = summary.last_message_ms.max(Some(at_ms));
}

/// Whether the conversation went on. What is only said about a session does not make it the latest one.
pub fn is_use(body: &Body) -> bool {
    !matches!(
        body,
        Body::Setting(SettingEntry::Title { .. })
            | Body::Note(NoteEntry::Label { .. })
            | Body::Note(NoteEntry::Recovered { .. })
    )
}

/// The first characters of the text, or nothing when the message is all images.
fn preview(parts: &[Part]) -> Option<Arc<str>> {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(&**text),
        Part::Image(_) => None,
    });
    let start: String = texts.flat_map(str::chars).take(PREVIEW_CHARS_MAX).collect();
    (!start.is_empty()).then(|| start.into())
}
