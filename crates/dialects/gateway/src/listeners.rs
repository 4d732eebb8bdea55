//! Who listens to a session: subscriptions, each at its own place. What they are told comes from the log ([`crate::projection`])
//! and, while a reply is made, from its text.

use vocab::{Entry, SessionId, TurnId};

use crate::cursor::EventCursor;
use crate::events::{self, EventPlace, RetractData};
use crate::ledger::{IdLedger, SubscriptionId};
use crate::own::Out;
use crate::projection::{self, AskedCalls};
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
    asked: AskedCalls,
}

impl Listener {
    pub(crate) fn new(subscription: SubscriptionId, cursor: EventCursor, catching_up: bool) -> Self {
        let owed = cursor.owed_bytes();
        Self { subscription, catching_up, cursor, told: owed, owed, asked: AskedCalls::new() }
    }

    /// An entry: its events, but those that it has.
    pub(crate) fn entry(&mut self, session: &SessionId, entry: &Entry, ledger: &IdLedger, out: &mut Out) {
        if entry.seq <= self.cursor.whole_seq() {
            return;
        }
        let run = projection::turn_of(&entry.body);
        if self.owed > 0 && projection::ends_reply_unsaid(&entry.body) {
            self.retract(session, run, ledger, out);
        }
        let list = projection::events_of(entry, self.told, &mut self.asked);
        for ((event, data), cursor) in projection::placed(entry, list, self.cursor.told_of(entry.seq)) {
            let place = EventPlace { session, run, cursor };
            ledger.news(self.subscription, &events::placed(event, &data, &place), out);
        }
        let ends_reply = matches!(entry.body, vocab::Body::Assistant { .. });
        if ends_reply {
            (self.told, self.owed) = (0, 0);
        }
        self.cursor = EventCursor::bytes(entry.seq, self.told);
    }

    fn retract(&mut self, session: &SessionId, run: Option<&TurnId>, ledger: &IdLedger, out: &mut Out) {
        let data = RetractData { run_id: run.map(ToString::to_string), bytes: self.owed };
        let place = EventPlace { session, run, cursor: EventCursor::at(self.cursor.seq) };
        ledger.news(self.subscription, &events::placed("retract", &written(&data), &place), out);
        (self.told, self.owed) = (0, 0);
    }

    /// More text of the running reply, of which there were `before` bytes. Who has less waits for the entry, which says the rest.
    pub(crate) fn text(
        &mut self,
        view: (&SessionId, &TurnId),
        before: u64,
        text: &str,
        ledger: &IdLedger,
        out: &mut Out,
    ) {
        let after = before + text.len() as u64;
        if self.catching_up || self.told < before || after <= self.told {
            return;
        }
        let news = projection::rest_of(text, self.told - before);
        self.told = after;
        self.cursor = EventCursor::bytes(self.cursor.seq, self.told);
        if !news.is_empty() {
            let mut tail = Vec::new();
            text_tail(view, self.cursor, news, &mut tail);
            ledger.news(self.subscription, &tail, out);
        }
    }

    /// Whether it is exactly where everybody is who hears everything: at this entry, with so much of the reply.
    pub(crate) fn is_in_step(&self, seq: u64, before: u64) -> bool {
        !self.catching_up && self.told == before && self.cursor.seq == seq
    }
    /// The same text as [`Listener::text`], for one that is in step; its frame was made for all of them.
    pub(crate) fn shared_text(&mut self, after: u64, tail: &[u8], ledger: &IdLedger, out: &mut Out) {
        self.told = after;
        self.cursor = EventCursor::bytes(self.cursor.seq, after);
        ledger.news(self.subscription, tail, out);
    }

    /// A reply begins. What was told of another one before it came to nothing; what is owed from before may be of this one.
    pub(crate) fn reply_begins(&mut self, view: (&SessionId, &TurnId), ledger: &IdLedger, out: &mut Out) {
        if self.owed == 0 && self.told > 0 {
            self.owed = self.told;
            self.retract(view.0, Some(view.1), ledger, out);
        }
    }
}

/// The frame of text for a subscriber, behind its id.
pub(crate) fn text_tail(view: (&SessionId, &TurnId), cursor: EventCursor, text: &str, into: &mut Vec<u8>) {
    events::content_tail(false, text, into);
    // Without its last brace, which closes the frame.
    into.pop();
    events::place_into(&EventPlace { session: view.0, run: Some(view.1), cursor }, into);
    into.push(b'}');
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use vocab::{AssistantMessage, Block, Body, Finish, MessageEnd, ModelEntry, Requested, TurnEntry, Usage};

    use super::*;
    use crate::ledger::{Terminal, WireId};

    enum Heard {
        Begins,
        Text(u64, &'static str),
        Logged(u64, Body),
    }
    use Heard::{Begins, Logged, Text};

    fn reply(text: &str) -> Body {
        let (blocks, end) = (vec![Block::Text(text.into())], MessageEnd::Finished(Finish::Stop));
        let message = AssistantMessage { blocks, model: "m".into(), end, usage: Usage::default() };
        Body::Assistant { turn: Some("t".into()), message }
    }
    fn requested() -> Body {
        let (turn, model) = (Some("t".into()), "m".into());
        Body::Model(ModelEntry::Requested(Requested { turn, model, summary: None, sent: None, bytes: 0 }))
    }

    /// What a subscriber with this cursor is told: the event, its text or bytes, and its cursor.
    fn told(cursor: &str, heard: Vec<Heard>) -> Vec<String> {
        let (mut ledger, mut out) = (IdLedger::default(), Out::new());
        let id = ledger.open(WireId::new(1).unwrap(), false, 0).unwrap();
        let number = ledger.next_subscription();
        ledger.settle_subscribed(id, Terminal::Result(b"0"), &mut out);
        out.frames.clear();
        let mut listener = Listener::new(number, EventCursor::parse(cursor).unwrap(), false);
        let (session, turn) = ("s".into(), TurnId::from("t"));
        for it in heard {
            match it {
                Begins => listener.reply_begins((&session, &turn), &ledger, &mut out),
                Text(before, text) => listener.text((&session, &turn), before, text, &ledger, &mut out),
                Logged(seq, body) => {
                    let entry = Arc::new(Entry { seq, parent: seq - 1, at_ms: 0, body, by: None });
                    listener.entry(&session, &entry, &ledger, &mut out);
                }
            }
        }
        let shown = |frame: &[u8]| {
            let frame: serde_json::Value = serde_json::from_slice(frame).unwrap();
            let (event, cursor) = (frame["event"].as_str().unwrap(), frame["cursor"].as_str().unwrap());
            let data = &frame["data"];
            match event {
                "content" => format!("+{} {cursor}", data["text"].as_str().unwrap()),
                "retract" => format!("-{} {cursor}", data["bytes"]),
                _ => format!("{event} {cursor}"),
            }
        };
        out.frames.frames().map(shown).collect()
    }

    #[test]
    fn what_a_subscriber_has_of_a_reply_is_not_told_again() {
        let cases: Vec<(&str, &str, Vec<Heard>, &[&str])> = vec![
            (
                "all of it",
                "4",
                vec![Begins, Text(0, "ab"), Text(2, "cd"), Logged(5, reply("abcd"))],
                &["+ab 4+2", "+cd 4+4", "+ 5"],
            ),
            ("the entry alone", "4", vec![Logged(5, reply("abcd"))], &["+abcd 5"]),
            ("a part, and the entry", "4+3", vec![Logged(5, reply("abcd"))], &["+d 5"]),
            ("a part, and the reply anew", "4+3", vec![Begins, Text(0, "ab"), Text(2, "cd")], &["+d 4+4"]),
            ("all, and the reply anew", "4+4", vec![Begins, Text(0, "abcd"), Logged(5, reply("abcd"))], &["+ 5"]),
            ("in the middle of a letter", "4+1", vec![Logged(5, reply("äb"))], &["+b 5"]),
            (
                "something stands between",
                "4+2",
                vec![Logged(5, Body::Queue(queued())), Text(2, "cd")],
                &["queued 5", "+cd 5+4"],
            ),
            ("it came late", "4", vec![Text(2, "cd"), Text(4, "ef"), Logged(5, reply("abcdef"))], &["+abcdef 5"]),
            (
                "a restart: the reply is asked for again",
                "4+2",
                vec![Logged(5, requested()), Begins, Text(0, "xy")],
                &["-2 4", "session_changed 5", "+xy 5+2"],
            ),
            (
                "a try that came to nothing",
                "4",
                vec![Begins, Text(0, "ab"), Begins, Text(0, "xy")],
                &["+ab 4+2", "-2 4", "+xy 4+2"],
            ),
            (
                "entries that it has",
                "5",
                vec![Logged(4, reply("a")), Logged(5, reply("b")), Logged(6, reply("c"))],
                &["+c 6"],
            ),
            (
                "the first event of an entry",
                "5.0",
                vec![Logged(5, ended()), Logged(6, reply("c"))],
                &["done 5", "+c 6"],
            ),
        ];
        for (name, cursor, heard, want) in cases {
            assert_eq!(told(cursor, heard), want, "{name}");
        }
    }

    fn queued() -> vocab::QueueEntry {
        vocab::QueueEntry::Queued(vocab::Item {
            id: "i".into(),
            parts: Vec::new(),
            delivery: vocab::Delivery::Policy,
            at_ms: 0,
            sender: None,
            by: None,
        })
    }
    fn ended() -> Body {
        let (mutations, usage, stop) = (Vec::new(), Usage::default(), vocab::Stop::EndTurn);
        Body::Turn(TurnEntry::Ended(vocab::TurnEnd {
            turn: "t".into(),
            stop,
            iterations: 0,
            usage,
            mutations,
            fault: None,
        }))
    }
}
