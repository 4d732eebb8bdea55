//! What must be left after the power went: everything that somebody was told and that a controller relies on. And what a
//! session may say of itself: what its log says.

use std::sync::Arc;

use vocab::{
    AskEntry, Body, BranchEntry, CallEntry, Entry, Event, QueueEntry, Reply, SettingEntry, State, Told, TurnEntry,
};

use super::eye::Seen;
use super::stored;

/// Whether a controller that was told this counts on it from then on: a prompt was accepted, a question answered, a tool
/// has run, a turn is over, a message waits or does not any more, and whatever a user did to the session. This is said here once more, and not
/// asked of the engine: it is what the engine is held to.
fn is_promised(body: &Body) -> bool {
    match body {
        Body::User { .. }
        | Body::Ask(AskEntry::Closed { .. })
        | Body::Call(CallEntry::Ended { .. })
        | Body::Turn(TurnEntry::Ended(_))
        | Body::Queue(_)
        | Body::Branch(BranchEntry::Compacted(_))
        | Body::Branch(BranchEntry::Moved { .. })
        | Body::Setting(_)
        | Body::Shell(_) => true,
        Body::Opened { .. }
        | Body::Turn(TurnEntry::Started { .. } | TurnEntry::Taken { .. } | TurnEntry::Cut { .. })
        | Body::Assistant { .. }
        | Body::Call(CallEntry::Started { .. })
        | Body::Ask(AskEntry::Opened(_))
        | Body::Model(_)
        | Body::Branch(BranchEntry::Restored { .. })
        | Body::Note(_)
        | Body::Branch(BranchEntry::Summary { .. }) => false,
    }
}

/// Holds what one peer was told against what is left.
pub(super) fn check(seen: &[Seen], left: &[Arc<Entry>]) -> Result<(), String> {
    for seen in seen {
        let Seen::Told(Told { event, .. }) = seen else { continue };
        match event {
            Event::Logged(entry) if is_promised(&entry.body) => {
                let there = left.get(entry.seq as usize - 1);
                if there.is_none_or(|there| stored(there) != stored(entry)) {
                    return Err(format!("the power took entry {}, which was told: {:?}", entry.seq, entry.body));
                }
            }
            Event::Reply { result: Ok(Reply::Started { turn }), .. } => {
                let is_it = |entry: &Arc<Entry>| matches!(&entry.body, Body::Turn(TurnEntry::Started { turn: it }) if it == turn);
                if !left.iter().any(is_it) {
                    return Err(format!("the power took turn {turn}, whose prompt was accepted"));
                }
            }
            Event::Reply { result: Ok(Reply::Waiting { item, .. }), .. } => {
                let is_it =
                    |entry: &Arc<Entry>| matches!(&entry.body, Body::Queue(QueueEntry::Queued(it)) if it.id == *item);
                if !left.iter().any(is_it) {
                    return Err(format!("the power took item {item}, which was said to wait"));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Holds what a session that has come to rest says of itself against its log.
pub(super) fn compare(state: &State, entries: &[Arc<Entry>]) -> Result<(), String> {
    let differ = |what: &str, said: &dyn std::fmt::Debug, written: &dyn std::fmt::Debug| {
        Err(format!("the session's {what} is {said:?}, in its log it is {written:?}"))
    };
    let mut written = Written::default();
    entries.iter().for_each(|entry| written.take(&entry.body));
    let Written { model, mode, title, thinking, gadgets_off } = written;
    if let Some(model) = model.filter(|model| *model != state.model) {
        return differ("model", &state.model, &model);
    }
    if let Some(mode) = mode.filter(|mode| *mode != state.mode) {
        return differ("mode", &state.mode, &mode);
    }
    if state.title != title {
        return differ("title", &state.title, &title);
    }
    if let Some(level) = thinking.filter(|level| *level != state.thinking) {
        return differ("thinking", &state.thinking, &level);
    }
    if let Some(off) = gadgets_off.filter(|off| state.gadgets.iter().any(|on| off.contains(on))) {
        return differ("gadgets", &state.gadgets, &off);
    }
    Ok(())
}

/// The newest word of a log on each setting.
#[derive(Default)]
struct Written {
    model: Option<Arc<str>>,
    mode: Option<vocab::Mode>,
    title: Option<Arc<str>>,
    thinking: Option<Option<Arc<str>>>,
    gadgets_off: Option<Vec<Arc<str>>>,
}

impl Written {
    fn take(&mut self, body: &Body) {
        match body {
            Body::Opened { model, mode, .. } => (self.model, self.mode) = (Some(model.clone()), Some(*mode)),
            Body::Setting(SettingEntry::Model { model, .. }) => self.model = Some(model.clone()),
            Body::Setting(SettingEntry::Mode { mode }) => self.mode = Some(*mode),
            Body::Setting(SettingEntry::Title { title }) => self.title = Some(title.clone()),
            Body::Setting(SettingEntry::Thinking { level }) => self.thinking = Some(level.clone()),
            Body::Setting(SettingEntry::Gadgets { off }) => self.gadgets_off = Some(off.clone()),
            // These two belong to a branch: read back, they are what the one that goes on says.
            Body::Branch(BranchEntry::Moved { .. }) => (self.thinking, self.gadgets_off) = (None, None),
            _ => {}
        }
    }
}
