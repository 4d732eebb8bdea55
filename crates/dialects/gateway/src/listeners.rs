//! Who listens to a session: subscriptions, each at its own place. What they are told comes from the log ([`crate::projection`])
//! and, while a reply is made, from its text.

use vocab::{Entry, SessionId, TurnId};

use crate::cursor::EventCursor;
use crate::events::{self, EventPlace, LagData};
use crate::ledger::{IdLedger, SubscriptionId};
use crate::log_context::{LogContext, ModelPrices};
use crate::own::Out;
use crate::projection::{self, ToldBytes};
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
    /// What it has of the running reply.
    told: ToldBytes,
    /// Bytes the subscriber's cursor claimed; retracted if that reply is not in the log.
    owed: ToldBytes,
    context: LogContext,
}

impl Listener {
    /// `thinking`: it is told what the model thinks. `context`: what was before; `None`: it reads that first.
    pub(crate) fn new(
        subscription: SubscriptionId,
        cursor: EventCursor,
        thinking: bool,
        context: Option<LogContext>,
    ) -> Self {
        let owed = ToldBytes::at(cursor, thinking);
        let catching_up = context.is_none();
        Self { subscription, catching_up, cursor, told: owed, owed, context: context.unwrap_or_default() }
    }

    /// An entry: its events, but those that it has.
    pub(crate) fn entry(
        &mut self,
        session: &SessionId,
        entry: &Entry,
        prices: &ModelPrices,
        ledger: &IdLedger,
        out: &mut Out,
    ) {
        if entry.seq <= self.cursor.whole_seq() {
            return self.context.pass(entry);
        }
        let run = projection::turn_of(&entry.body);
        if self.is_owed() && self.told.is_void_at(&entry.body) {
            self.retract(session, run, ledger, out);
        }
        let list = projection::events_of(entry, self.told, &mut self.context, prices);
        for ((event, data), cursor) in projection::placed(entry, list, self.cursor, self.told) {
            let place = EventPlace { session, run, cursor, at: Some(entry.at_ms) };
            ledger.news(self.subscription, &events::placed(event, &data, &place), out);
        }
        if matches!(entry.body, vocab::Body::Assistant { .. }) {
            self.forget_reply();
        }
        self.cursor = self.told.cursor(entry.seq);
    }

    fn is_owed(&self) -> bool {
        self.owed != self.owed.nothing()
    }
    fn forget_reply(&mut self) {
        self.told = self.told.nothing();
        self.owed = self.told;
    }

    fn retract(&mut self, session: &SessionId, run: Option<&TurnId>, ledger: &IdLedger, out: &mut Out) {
        let data = written(&self.owed.retracted(run));
        let place = EventPlace { session, run, cursor: EventCursor::at(self.cursor.whole_seq()), at: None };
        ledger.news(self.subscription, &events::placed("retract", &data, &place), out);
        self.forget_reply();
    }

    /// The running reply has so many bytes, and of its thinking. Whoever says that they have more has them of another one.
    pub(crate) fn has_at_most(
        &mut self,
        view: (&SessionId, &TurnId),
        (text, thinking): (usize, usize),
        ledger: &IdLedger,
        out: &mut Out,
    ) {
        if self.is_owed() && self.told.is_beyond(text, thinking) {
            self.retract(view.0, Some(view.1), ledger, out);
        }
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
        let Some(news) = self.fresh(self.told.text, before, text) else { return };
        self.told.text = before + text.len() as u64;
        self.say(view, "content", news, ledger, out);
    }
    /// The same of its thinking.
    pub(crate) fn thought(
        &mut self,
        view: (&SessionId, &TurnId),
        before: u64,
        text: &str,
        ledger: &IdLedger,
        out: &mut Out,
    ) {
        let Some(news) = self.told.thinking.and_then(|told| self.fresh(told, before, text)) else { return };
        self.told.thinking = Some(before + text.len() as u64);
        self.say(view, "thinking", news, ledger, out);
    }
    /// What of a delta is new to one that has so much; `None`: nothing, or what is before it is missing.
    fn fresh<'t>(&self, told: u64, before: u64, text: &'t str) -> Option<&'t str> {
        let after = before + text.len() as u64;
        let follows = !self.catching_up && told >= before && after > told;
        follows.then(|| projection::rest_of(text, told - before))
    }
    fn say(&mut self, view: (&SessionId, &TurnId), event: &str, news: &str, ledger: &IdLedger, out: &mut Out) {
        self.cursor = self.told.cursor(self.cursor.seq);
        if !news.is_empty() {
            let mut tail = Vec::new();
            words_tail(view, event, self.cursor, news, &mut tail);
            ledger.news(self.subscription, &tail, out);
        }
    }

    /// Whether it is exactly where everybody is who hears everything: at this entry, with so much of the reply, and with nothing
    /// in its cursors that others have not.
    pub(crate) fn is_in_step(&self, seq: u64, before: u64) -> bool {
        let is_plain = self.told.thinking.unwrap_or(0) == 0;
        !self.catching_up && is_plain && self.told.text == before && self.cursor.seq == seq
    }
    /// The same text as [`Listener::text`], for one that is in step; its frame was made for all of them.
    pub(crate) fn shared_text(&mut self, after: u64, tail: &[u8], ledger: &IdLedger, out: &mut Out) {
        self.told.text = after;
        self.cursor = self.told.cursor(self.cursor.seq);
        ledger.news(self.subscription, tail, out);
    }

    /// The last event of a session here: entries up to `to` are not told. `cursor`: what to come back with.
    pub(crate) fn lag(&self, session: &SessionId, to: u64, cursor: EventCursor, ledger: &IdLedger, out: &mut Out) {
        let told = self.cursor.whole_seq();
        let data = LagData { from: told + 1, to: to.max(told), cursor: cursor.to_string() };
        let place = EventPlace { session, run: None, cursor, at: None };
        ledger.news(self.subscription, &events::placed("lag", &written(&data), &place), out);
    }

    /// A model call begins. Text streamed for an unlogged reply is retracted; bytes claimed by the cursor may belong to this one.
    pub(crate) fn reply_begins(&mut self, view: (&SessionId, &TurnId), ledger: &IdLedger, out: &mut Out) {
        if !self.is_owed() && self.told != self.told.nothing() {
            self.owed = self.told;
            self.retract(view.0, Some(view.1), ledger, out);
        }
    }
}

/// The frame of text for a subscriber, behind its id.
pub(crate) fn text_tail(view: (&SessionId, &TurnId), cursor: EventCursor, text: &str, into: &mut Vec<u8>) {
    words_tail(view, "content", cursor, text, into);
}

fn words_tail(view: (&SessionId, &TurnId), event: &str, cursor: EventCursor, text: &str, into: &mut Vec<u8>) {
    events::words_tail(event, false, text, into);
    // Without its last brace, which closes the frame.
    into.pop();
    events::place_into(&EventPlace { session: view.0, run: Some(view.1), cursor, at: None }, into);
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
        Thought(u64, &'static str),
        Logged(u64, Body),
    }
    use Heard::{Begins, Logged, Text, Thought};

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
        told_to(false, cursor, heard)
    }
    fn told_to(thinking: bool, cursor: &str, heard: Vec<Heard>) -> Vec<String> {
        let (mut ledger, mut out) = (IdLedger::default(), Out::new());
        let id = ledger.open(WireId::new(1).unwrap(), false, 0).unwrap();
        let number = ledger.next_subscription();
        ledger.settle_subscribed(id, Terminal::Result(b"0"), &mut out);
        out.frames.clear();
        let mut listener =
            Listener::new(number, EventCursor::parse(cursor).unwrap(), thinking, Some(LogContext::default()));
        let prices: ModelPrices = Arc::new(|_| None);
        let (session, turn) = ("s".into(), TurnId::from("t"));
        for it in heard {
            match it {
                Begins => listener.reply_begins((&session, &turn), &ledger, &mut out),
                Text(before, text) => listener.text((&session, &turn), before, text, &ledger, &mut out),
                Thought(before, text) => listener.thought((&session, &turn), before, text, &ledger, &mut out),
                Logged(seq, body) => {
                    let entry = Arc::new(Entry { seq, parent: seq - 1, at_ms: 0, body, by: None });
                    listener.entry(&session, &entry, &prices, &ledger, &mut out);
                }
            }
        }
        let shown = |frame: &[u8]| {
            let frame: serde_json::Value = serde_json::from_slice(frame).unwrap();
            let (event, cursor) = (frame["event"].as_str().unwrap(), frame["cursor"].as_str().unwrap());
            let data = &frame["data"];
            match event {
                "content" => format!("+{} {cursor}", data["text"].as_str().unwrap()),
                "thinking" => format!("?{} {cursor}", data["text"].as_str().unwrap()),
                "retract" if data.get("thinkingBytes").is_some() => {
                    format!("-{}?{} {cursor}", data["bytes"], data["thinkingBytes"])
                }
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
            ("more than there is", "4+9", vec![Logged(5, reply("abcd"))], &["-9 4", "+abcd 5"]),
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

    fn thoughtful(thinking: &str, text: &str) -> Body {
        let mut body = reply(text);
        if let Body::Assistant { message, .. } = &mut body {
            message.blocks.insert(0, Block::Thinking { text: thinking.into(), opaque: None });
        }
        body
    }

    #[test]
    fn thinking_is_told_by_the_same_law_to_who_wants_it() {
        let live =
            || vec![Begins, Thought(0, "hm"), Thought(2, "m"), Text(0, "ab"), Logged(5, thoughtful("hmm", "abc"))];
        type Case = (&'static str, bool, &'static str, Vec<Heard>, &'static [&'static str]);
        let cases: Vec<Case> = vec![
            ("who does not want it", false, "4", live(), &["+ab 4+2", "+c 5"]),
            ("who does", true, "4", live(), &["?hm 4+0+2", "?m 4+0+3", "+ab 4+2+3", "? 5.0+2", "+c 5"]),
            ("the entry alone", true, "4", vec![Logged(5, thoughtful("hmm", "abc"))], &["?hmm 5.0", "+abc 5"]),
            ("a reply without any", true, "4", vec![Text(0, "a"), Logged(5, reply("ab"))], &["+a 4+1", "+b 5"]),
            ("a part", true, "4+0+2", vec![Logged(5, thoughtful("hmm", "abc"))], &["?m 5.0", "+abc 5"]),
            ("parts of both", true, "4+2+3", vec![Logged(5, thoughtful("hmm", "abc"))], &["? 5.0+2", "+c 5"]),
            ("all of it, and a part of the text", true, "5.0+2", vec![Logged(5, thoughtful("hmm", "abc"))], &["+c 5"]),
            ("the same, and it is not wanted", false, "5.0+2", vec![Logged(5, thoughtful("hmm", "abc"))], &["+c 5"]),
            (
                "more than there is",
                true,
                "4+1+9",
                vec![Logged(5, thoughtful("hmm", "abc"))],
                &["-1?9 4", "?hmm 5.0", "+abc 5"],
            ),
            (
                "more of the text than anybody has",
                true,
                "4+18446744073709551615",
                vec![Thought(0, "hm")],
                &["?hm 4+18446744073709551615+2"],
            ),
            (
                "more of the text than there is",
                true,
                "5.0+9",
                vec![Logged(5, thoughtful("hmm", "abc"))],
                &["-9 4", "+abc 5"],
            ),
            ("a whole part, not wanted", false, "5.0", vec![Logged(5, thoughtful("hmm", "abc"))], &["+abc 5"]),
            (
                "a try that came to nothing",
                true,
                "4",
                vec![Begins, Thought(0, "hm"), Text(0, "a"), Begins, Thought(0, "x")],
                &["?hm 4+0+2", "+a 4+1+2", "-1?2 4", "?x 4+0+1"],
            ),
            (
                "a restart",
                true,
                "4+0+2",
                vec![Logged(5, requested()), Begins, Thought(0, "x")],
                &["-0?2 4", "session_changed 5", "?x 5+0+1"],
            ),
            (
                "it came late",
                true,
                "4",
                vec![Thought(2, "m"), Logged(5, thoughtful("hmm", "a"))],
                &["?hmm 5.0", "+a 5"],
            ),
        ];
        for (name, thinking, cursor, heard, want) in cases {
            assert_eq!(told_to(thinking, cursor, heard), want, "{name}");
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
            until_ms: None,
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
