//! A log as a chat: what people said and what was answered. Tool calls and results are left out, and the replies of one turn
//! are one message.

use std::sync::Arc;

use serde::Serialize;
use vocab::{Body, BranchEntry, Entry, Part, Stop, TurnEntry, UserFrom, parts_text};

use crate::images::{self, LoadedImage, Shown};

/// What stands for an answer without a word.
pub(crate) const NO_TEXT: &str = "(No response text returned)";

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    User,
    Assistant,
    System,
}

/// One message of the log.
#[derive(Debug)]
pub(crate) struct SaidMessage {
    /// The entry that made it: of a prompt its own, of an answer the end of its turn.
    pub(crate) seq: u64,
    pub(crate) kind: Kind,
    pub(crate) text: String,
    pub(crate) images: Vec<LoadedImage>,
    /// Its turn failed without an answer: it is shown, and not part of the conversation.
    pub(crate) lost: bool,
}

/// Everything that was said on a branch, oldest first.
pub(crate) fn said(entries: &[Arc<Entry>]) -> Vec<SaidMessage> {
    let mut fold = Fold::default();
    entries.iter().for_each(|entry| fold.take(entry));
    fold.finish()
}

#[derive(Default)]
struct Fold {
    list: Vec<SaidMessage>,
    /// The answer of the turn that is being read, so far.
    answer: String,
    answered: bool,
    /// Where this turn begins in the list.
    turn_from: usize,
}

impl Fold {
    fn take(&mut self, entry: &Arc<Entry>) {
        let (seq, at_ms) = (entry.seq, entry.at_ms);
        match &entry.body {
            Body::Turn(TurnEntry::Started { .. }) => {
                self.close(seq);
                self.turn_from = self.list.len();
            }
            Body::User { parts, from, .. } if is_shown(*from) => self.list.push(SaidMessage {
                seq,
                kind: Kind::User,
                text: parts_text(parts),
                images: images::of_parts(parts, at_ms),
                lost: false,
            }),
            Body::Assistant { turn, message } => {
                self.answer.push_str(&message.text());
                self.answered = true;
                if turn.is_none() {
                    self.close(seq);
                }
            }
            Body::Turn(TurnEntry::Ended(end)) => {
                let failed = end.stop == Stop::Error && self.answer.trim().is_empty();
                if self.answer.trim().is_empty() && completed(end.stop) {
                    self.answer = NO_TEXT.to_owned();
                    self.answered = true;
                }
                self.close(seq);
                if failed {
                    self.list[self.turn_from..].iter_mut().for_each(|said| said.lost = true);
                }
                self.turn_from = self.list.len();
            }
            _ => {}
        }
    }

    fn close(&mut self, seq: u64) {
        let text = std::mem::take(&mut self.answer).trim().to_owned();
        if std::mem::take(&mut self.answered) && !text.is_empty() {
            self.list.push(SaidMessage { seq, kind: Kind::Assistant, text, images: Vec::new(), lost: false });
        }
    }

    fn finish(mut self) -> Vec<SaidMessage> {
        // Of a turn that still runs the answer is not there yet.
        self.answer.clear();
        self.list
    }
}

/// Whether a turn that ended so has an answer, be it an empty one.
pub(crate) fn completed(stop: Stop) -> bool {
    match stop {
        Stop::EndTurn | Stop::MaxTokens | Stop::MaxIterations | Stop::Refusal | Stop::Budget => true,
        Stop::Interrupted | Stop::Error => false,
    }
}

/// What people wrote; not what stands beside it for the model alone.
pub(crate) fn is_shown(from: UserFrom) -> bool {
    match from {
        UserFrom::Prompt | UserFrom::Steer | UserFrom::FollowUp => true,
        UserFrom::Reminder | UserFrom::Extension => false,
    }
}

/// A message as controllers show it.
#[derive(Serialize)]
pub(crate) struct UiMessage<'a> {
    pub(crate) id: u64,
    pub(crate) kind: Kind,
    pub(crate) text: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) images: Vec<Shown>,
}

/// A message as the conversation has it.
#[derive(Serialize)]
pub(crate) struct ChatMessage<'a> {
    role: Kind,
    text: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<Shown>,
}

pub(crate) fn chat(said: &[SaidMessage]) -> Vec<ChatMessage<'_>> {
    said.iter().filter(|said| !said.lost).map(SaidMessage::in_chat).collect()
}

impl SaidMessage {
    fn in_chat(&self) -> ChatMessage<'_> {
        ChatMessage { role: self.kind, text: &self.text, images: self.images.iter().map(LoadedImage::shown).collect() }
    }
}

/// What stands for everything before it since the context was made smaller.
#[derive(Debug)]
pub(crate) struct Gist {
    text: Arc<str>,
    /// The first entry that is still told word for word.
    first_kept: u64,
}

pub(crate) fn gist(entries: &[Arc<Entry>]) -> Option<Gist> {
    entries.iter().rev().find_map(|entry| match &entry.body {
        Body::Branch(BranchEntry::Compacted(done)) => {
            Some(Gist { text: done.summary.clone(), first_kept: done.first_kept })
        }
        _ => None,
    })
}

/// The conversation as the model is told it.
pub(crate) fn told<'a>(said: &'a [SaidMessage], gist: Option<&'a Gist>) -> Vec<ChatMessage<'a>> {
    let Some(Gist { text, first_kept }) = gist else { return chat(said) };
    let kept = said.iter().filter(|said| !said.lost && said.seq >= *first_kept).map(SaidMessage::in_chat);
    std::iter::once(ChatMessage { role: Kind::User, text, images: Vec::new() }).chain(kept).collect()
}

/// A message's text with the images behind it.
pub(crate) fn parts(text: String, images: &[LoadedImage]) -> Vec<Part> {
    let parts = images.iter().map(|loaded| Part::Image(loaded.image.clone()));
    std::iter::once(Part::text(text)).chain(parts).collect()
}
