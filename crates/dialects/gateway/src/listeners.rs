//! Who listens to a session: subscriptions, each at its own place. What they are told comes from the log ([`crate::projection`])
//! and, while a reply is made, from its text.

use vocab::{Entry, SessionId, TurnId};

use crate::cursor::EventCursor;
use crate::events::{self, Place, RetractData};
use crate::ledger::{Ledger, SubscriptionId};
use crate::own::Out;
use crate::projection;
use crate::written;

/// Entries of a page that a subscription catches up with.
pub(crate) const PAGE_ENTRIES: usize = 256;

/// One subscription on one session.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) subscription: SubscriptionId,
    /// It reads stored entries; what is live comes when it is through.
    pub(crate) catching_up: bool,
    /// How far it was told.
    pub(crate) cursor: EventCursor,
    /// Bytes of the running reply's text that it has.
    told: u64,
    /// Some of these it had before it came: where the reply came to nothing, they are taken back.
    owed: u64,
}

impl Listener {
    pub(crate) fn new(subscription: SubscriptionId, cursor: EventCursor, catching_up: bool) -> Self {
        let owed = cursor.owed_bytes();
        Self { subscription, catching_up, cursor, told: owed, owed }
    }

    /// An entry: its events, but those that it has.
    pub(crate) fn entry(&mut self, session: &SessionId, entry: &Entry, ledger: &Ledger, out: &mut Out) {
        if entry.seq <= self.cursor.whole_seq() {
            return;
        }
        let run = projection::turn_of(&entry.body);
        if self.owed > 0 && projection::ends_reply_unsaid(&entry.body) {
            self.retract(session, run, ledger, out);
        }
        let list = projection::events_of(entry, self.told);
        for ((event, data), cursor) in projection::placed(entry, list, self.cursor.told_of(entry.seq)) {
            let place = Place { session, run, cursor };
            ledger.news(self.subscription, &events::placed(event, &data, &place), out);
        }
        let ends_reply = matches!(entry.body, vocab::Body::Assistant { .. });
        if ends_reply {
            (self.told, self.owed) = (0, 0);
        }
        self.cursor = EventCursor::bytes(entry.seq, self.told);
    }

    fn retract(&mut self, session: &SessionId, run: Option<&TurnId>, ledger: &Ledger, out: &mut Out) {
        let data = RetractData { run_id: run.map(ToString::to_string), bytes: self.owed };
        let place = Place { session, run, cursor: EventCursor::at(self.cursor.seq) };
        ledger.news(self.subscription, &events::placed("retract", &written(&data), &place), out);
        (self.told, self.owed) = (0, 0);
    }

    /// More text of the running reply, of which there were `before` bytes. Who has less waits for the entry, which says the rest.
    pub(crate) fn text(
        &mut self,
        view: (&SessionId, &TurnId),
        before: u64,
        text: &str,
        ledger: &Ledger,
        out: &mut Out,
    ) {
        let after = before + text.len() as u64;
        if self.catching_up || self.told < before || after <= self.told {
            return;
        }
        let news = projection::rest_of(text, self.told - before);
        self.told = after;
        self.cursor = EventCursor::bytes(self.cursor.seq, self.told);
        if news.is_empty() {
            return;
        }
        let mut tail = Vec::with_capacity(news.len() + 128);
        events::content_tail(false, news, &mut tail);
        // Without its last brace, which closes the frame.
        tail.pop();
        events::place_into(&Place { session: view.0, run: Some(view.1), cursor: self.cursor }, &mut tail);
        tail.push(b'}');
        ledger.news(self.subscription, &tail, out);
    }

    /// A reply begins. What was told of another one before it came to nothing; what is owed from before may be of this one.
    pub(crate) fn reply_begins(&mut self, view: (&SessionId, &TurnId), ledger: &Ledger, out: &mut Out) {
        if self.owed == 0 && self.told > 0 {
            self.owed = self.told;
            self.retract(view.0, Some(view.1), ledger, out);
        }
    }
}
