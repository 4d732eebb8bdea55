//! What the model sees of a session's log: in memory ([`History`]), on its way there, or only counted. Resuming a session costs
//! nothing until a peer speaks.

mod branch;
mod history;
mod open_turn;

use std::sync::Arc;
use std::task::{Context, Poll};

use super::budget::{LostSpending, Spending};
use vocab::{Body, CallEntry, Chat, Entry, Fault, Later, LogWindow, Message, ModelEntry, Part, Sent, ShellEntry};

pub(crate) use branch::{Branch, BranchMessage, LOST, active_path, edits_after, lost_result, lost_shell};
pub(crate) use history::{History, Mark, MarkKind, summary_message};
pub(crate) use open_turn::{BegunCall, OpenTurn, PastAsk, Standing};

use history::shell_message;

/// The part of a session that keeps the model's view in step with the log.
#[derive(Default)]
pub(super) struct ModelView {
    history: Option<History>,
    /// What is told while it is not in memory.
    counted: ViewCounts,
    /// See [`vocab::Chat::keeps_time`].
    keeps_time: bool,
    /// What the newest request in the log was sent with; the next one is logged by what differs.
    last_sent: Option<Arc<Sent>>,
    reading: Option<Reading>,
}

/// The numbers that are told about a history.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct ViewCounts {
    pub(super) messages: u64,
    pub(super) results: u64,
    pub(super) context_tokens: u64,
}

/// The log on its way into memory.
struct Reading {
    /// Its newest entry when the reading began.
    upto: u64,
    window: Later<'static, Result<ReadLog, Fault>>,
}

/// A log that was read to go on from, what it does not say was spent, and what it says was, where that is wanted.
pub(super) struct ReadLog {
    pub(super) window: LogWindow,
    pub(super) lost: LostSpending,
    pub(super) spending: Spending,
}

impl ModelView {
    /// Of a session that has so many messages behind it.
    pub(super) fn unread(messages: u64) -> Self {
        Self { counted: ViewCounts { messages, ..ViewCounts::default() }, ..Self::default() }
    }

    pub(super) fn is_loaded(&self) -> bool {
        self.history.is_some()
    }
    pub(super) fn history(&self) -> Option<&History> {
        self.history.as_ref()
    }
    pub(super) fn history_mut(&mut self) -> Option<&mut History> {
        self.history.as_mut()
    }
    /// Whether the model's client ends by itself what takes too long.
    pub(super) fn keeps_time(&self) -> bool {
        self.keeps_time
    }
    pub(super) fn counted(&self) -> ViewCounts {
        self.history.as_ref().map_or(self.counted, |history| ViewCounts {
            messages: history.messages(),
            results: history.results(),
            context_tokens: history.reported_tokens(),
        })
    }
    pub(super) fn bytes(&self) -> usize {
        self.history.as_ref().map_or(0, History::bytes)
    }

    pub(super) fn load(&mut self, history: History) {
        self.keeps_time = history.chat.keeps_time();
        self.history = Some(history);
    }
    /// Lets go of the encoded history; the numbers that are told about it stay.
    pub(super) fn unload(&mut self) {
        self.counted = self.counted();
        self.history = None;
    }
    pub(super) fn chat(&mut self) -> Option<&mut Box<dyn Chat>> {
        self.history.as_mut().map(|history| &mut history.chat)
    }

    // ---- reading ------------------------------------------------------------------------------------------------

    pub(super) fn is_reading(&self) -> bool {
        self.reading.is_some()
    }
    pub(super) fn read(&mut self, upto: u64, window: Later<'static, Result<ReadLog, Fault>>) {
        self.reading = Some(Reading { upto, window });
    }
    /// Nothing waits for it any more.
    pub(super) fn stop_reading(&mut self) {
        self.reading = None;
    }
    pub(super) fn poll_reading(&mut self, context: &mut Context<'_>) -> Poll<Result<ReadLog, Fault>> {
        match &mut self.reading {
            Some(reading) => reading.window.as_mut().poll(context),
            None => Poll::Pending,
        }
    }
    /// The reading is over: the newest entry it can know of.
    pub(super) fn end_reading(&mut self) -> Option<u64> {
        self.reading.take().map(|reading| reading.upto)
    }

    // ---- following the log --------------------------------------------------------------------------------------

    /// A request is logged with what it was sent with only where that differs from the one before.
    pub(super) fn shorten(&mut self, body: &mut Body) {
        if let Body::Model(ModelEntry::Requested(requested)) = body {
            if requested.sent == self.last_sent {
                requested.sent = None;
            } else {
                self.last_sent = requested.sent.clone();
            }
        }
    }
    /// The log ends earlier: what the newest request stands for may be gone.
    pub(super) fn forget_sent(&mut self) {
        self.last_sent = None;
    }

    /// The log was read: what its newest request was sent with.
    pub(super) fn find_sent<'a>(&mut self, entries: impl DoubleEndedIterator<Item = &'a Arc<Entry>>) {
        self.last_sent = entries.rev().find_map(|entry| match &entry.body {
            Body::Model(ModelEntry::Requested(requested)) => requested.sent.clone(),
            _ => None,
        });
    }

    /// Takes in what was just logged. What the user did beside the conversation is given back, too: a compaction that runs has
    /// to be told of it.
    pub(super) fn follow(&mut self, entry: &Entry) -> Option<BranchMessage> {
        let message = match &entry.body {
            Body::User { parts, .. } => Message::User(parts.clone()),
            Body::Assistant { message, .. } => Message::Assistant(message.clone()),
            Body::Call(CallEntry::Ended { result, .. }) => Message::Result(result.clone()),
            // The model reads it at the next place where that is possible.
            Body::Shell(ShellEntry::Ended(shell)) if !shell.aside => {
                let text = shell_message(shell);
                if let Some(history) = &mut self.history {
                    history.push_beside(entry.seq, Message::User(vec![Part::text(text.as_str())]));
                }
                return Some(BranchMessage::beside(entry.seq, text));
            }
            _ => return None,
        };
        if let Some(history) = &mut self.history {
            history.push(entry.seq, &message);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use vocab::{CallSpec, ModelStream, Requested, UserFrom};

    use super::*;

    /// Counts bytes and calls no server.
    #[derive(Default)]
    struct CountingChat(usize);

    impl Chat for CountingChat {
        fn push(&mut self, message: &Message) {
            self.0 += match message {
                Message::User(parts) => vocab::parts_text(parts).len(),
                Message::Assistant(_) | Message::Result(_) => 1,
            };
        }
        fn clear(&mut self) {
            self.0 = 0;
        }
        fn bytes(&self) -> usize {
            self.0
        }
        fn call(&mut self, _: &CallSpec) -> ModelStream {
            unreachable!("nobody is called")
        }
        fn keeps_time(&self) -> bool {
            true
        }
    }

    fn user(seq: u64, text: &str) -> Entry {
        let body = Body::User { turn: None, parts: vec![Part::text(text)], from: UserFrom::Prompt };
        Entry { seq, parent: seq - 1, at_ms: 0, body, by: None }
    }

    #[test]
    fn numbers_stay_when_the_history_goes() {
        let mut view = ModelView::unread(7);
        assert_eq!((view.is_loaded(), view.counted().messages, view.keeps_time()), (false, 7, false));
        view.load(History::new(Box::<CountingChat>::default()));
        assert!(view.follow(&user(1, "four")).is_none());
        assert_eq!((view.counted().messages, view.bytes(), view.keeps_time()), (1, 4, true));
        view.unload();
        assert_eq!((view.is_loaded(), view.counted().messages, view.bytes(), view.keeps_time()), (false, 1, 0, true));
    }

    #[test]
    fn what_was_sent_is_logged_where_it_differs() {
        let sent = |api: &str| {
            let (url, manner, head, tail) = ("".into(), "".into(), "".into(), "".into());
            Some(Arc::new(Sent { api: api.into(), url, headers: Vec::new(), manner, head, tail }))
        };
        let requested = |sent: Option<Arc<Sent>>| {
            let (turn, model, summary, bytes) = (None, "m".into(), None, 1);
            Body::Model(ModelEntry::Requested(Requested { turn, model, summary, sent, bytes }))
        };
        let mut view = ModelView::default();
        let logged = |view: &mut ModelView, api: &str| {
            let mut body = requested(sent(api));
            view.shorten(&mut body);
            matches!(body, Body::Model(ModelEntry::Requested(Requested { sent: Some(_), .. })))
        };
        assert_eq!(["a", "a", "b", "a"].map(|api| logged(&mut view, api)), [true, false, true, true]);
        view.forget_sent();
        assert!(logged(&mut view, "a"), "the entry that had it may be gone");
        let entry = |seq, body| Arc::new(Entry { seq, parent: seq - 1, at_ms: 0, by: None, body });
        let log = [entry(1, requested(sent("a"))), entry(2, requested(sent("b"))), entry(3, requested(None))];
        view.find_sent(log.iter());
        assert_eq!(["b", "a"].map(|api| logged(&mut view, api)), [false, true], "as the log has it");
    }

    #[test]
    fn only_the_newest_entry_at_the_beginning_of_a_reading_counts() {
        let mut view = ModelView::default();
        assert!(!view.is_reading() && view.end_reading().is_none());
        view.read(4, Box::pin(std::future::pending()));
        assert!(view.is_reading());
        assert_eq!(view.end_reading(), Some(4));
        view.read(5, Box::pin(std::future::pending()));
        view.stop_reading();
        assert!(!view.is_reading());
    }
}
