//! The ids of one connection: which requests are owed an answer, and what will bring it. This module alone writes frames, so
//! that two mistakes cannot be written down: an id answered twice, and a frame of an id behind its answer. The third, an id
//! that is never answered, cannot be either as long as what each stage names does come; a property test looks.

use std::fmt;
use std::io::Write;

use vocab::{ItemId, Json, NumberedMap, SessionId, Tag, TurnId};

use crate::own::{GatewayRefusal, Out};

/// Requests of one connection without an answer; the next is refused.
pub(crate) const IN_FLIGHT_MAX: usize = 1024;
/// Subscriptions of one connection.
pub(crate) const SUBSCRIPTIONS_MAX: usize = 64;
/// The largest id: what every JSON reader keeps exactly.
pub(crate) const ID_MAX: u64 = (1 << 53) - 1;
/// A request that is owed an answer for longer is a fault of ours, unless it has a time of its own or a run that takes its time.
pub(crate) const OWED_MS_MAX: u64 = 24 * 60 * 60 * 1000;

/// A request's id, as its sender numbers it. A number is free again once it was answered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct WireId(u64);

impl WireId {
    pub(crate) fn new(number: u64) -> Option<Self> {
        (number <= ID_MAX).then_some(Self(number))
    }
    pub(crate) fn number(self) -> u64 {
        self.0
    }
}

/// One request. Of two with the same number this is one: what comes late for the first does not reach the second.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RequestId {
    number: WireId,
    serial: u64,
}

impl RequestId {
    pub(crate) fn number(self) -> u64 {
        self.number.0
    }
}
impl fmt::Debug for RequestId {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "#{}", self.number.0)
    }
}

/// A subscription. Its events follow its answer, so it is not an open id and has a number of its own type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct SubscriptionId(pub(crate) u64);

/// What ends a request. Each names one thing that will certainly come, or be settled by whoever takes it away.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Awaits {
    /// The answer to its Open; then it is carried out.
    Opening { session: SessionId },
    /// The answer to its prompt, or what became of the one that it repeats.
    Offered { session: SessionId },
    /// The end of what waits.
    Waiting { session: SessionId, item: ItemId },
    /// The end of the turn.
    Running { session: SessionId, turn: TurnId },
    /// The answer to commands or an own call. `aside`: a call of a tool, by the tag of its command.
    Asked { session: Option<SessionId>, aside: Option<Tag> },
    /// `agent.wait`: the end of the turn, or its time.
    Held { session: SessionId },
}

/// What wants a request to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StopBy {
    Sender,
    /// Its own time is over.
    Time,
}

impl StopBy {
    /// The reason that is told where nothing of it has begun.
    pub(crate) fn before_start(self) -> &'static str {
        match self {
            StopBy::Sender => "cancelled_before_start",
            StopBy::Time => "timeout",
        }
    }
}

impl Awaits {
    /// What ends it is in nobody's hands: a run goes on for days, or waits as long for somebody.
    fn takes_its_time(&self) -> bool {
        match self {
            Awaits::Waiting { .. } | Awaits::Running { .. } | Awaits::Held { .. } => true,
            Awaits::Opening { .. } | Awaits::Offered { .. } | Awaits::Asked { .. } => false,
        }
    }

    /// The session this request depends on; when it ends, no answer comes from it.
    pub(crate) fn session(&self) -> Option<&SessionId> {
        match self {
            Awaits::Opening { session }
            | Awaits::Offered { session }
            | Awaits::Waiting { session, .. }
            | Awaits::Running { session, .. }
            | Awaits::Held { session } => Some(session),
            Awaits::Asked { session, .. } => session.as_ref(),
        }
    }
}

#[derive(Debug)]
struct OwedAnswer {
    serial: u64,
    stage: Awaits,
    jsonrpc: bool,
    since_ms: u64,
    deadline_ms: Option<u64>,
}

/// The last frame of an id.
pub(crate) enum Terminal<'a> {
    /// JSON, as it is.
    Result(&'a [u8]),
    Refused(&'a GatewayRefusal),
}

/// Why a request is not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NotOpened {
    /// This id is in flight.
    Duplicate,
    /// Too many are.
    Full,
}

#[derive(Default, Debug)]
pub(crate) struct IdLedger {
    /// Few enough that it does not matter how their sender chooses them.
    open: NumberedMap<WireId, OwedAnswer>,
    made: u64,
    subscribed: Vec<(SubscriptionId, WireId)>,
    subscriptions_made: u64,
}

impl IdLedger {
    /// Whether frames with this number may still come.
    pub(crate) fn is_taken(&self, number: WireId) -> bool {
        self.open.contains_key(&number) || self.subscribed.iter().any(|(_, of)| *of == number)
    }
    pub(crate) fn is_open(&self, id: RequestId) -> bool {
        self.get(id).is_some()
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
    fn get(&self, id: RequestId) -> Option<&OwedAnswer> {
        self.open.get(&id.number).filter(|owed| owed.serial == id.serial)
    }
    fn get_mut(&mut self, id: RequestId) -> Option<&mut OwedAnswer> {
        self.open.get_mut(&id.number).filter(|owed| owed.serial == id.serial)
    }

    /// From now on this number is owed an answer.
    pub(crate) fn open(&mut self, number: WireId, jsonrpc: bool, now_ms: u64) -> Result<RequestId, NotOpened> {
        if self.is_taken(number) {
            return Err(NotOpened::Duplicate);
        }
        if self.open.len() >= IN_FLIGHT_MAX {
            return Err(NotOpened::Full);
        }
        self.made += 1;
        let stage = Awaits::Asked { session: None, aside: None };
        let owed = OwedAnswer { serial: self.made, stage, jsonrpc, since_ms: now_ms, deadline_ms: None };
        self.open.insert(number, owed);
        Ok(RequestId { number, serial: self.made })
    }
    /// The request that has this number now.
    pub(crate) fn find(&self, number: WireId) -> Option<RequestId> {
        self.open.get(&number).map(|owed| RequestId { number, serial: owed.serial })
    }
    pub(crate) fn stage(&self, id: RequestId) -> Option<&Awaits> {
        self.get(id).map(|owed| &owed.stage)
    }
    /// What it waits for from now on. Nothing for an id that is not open.
    pub(crate) fn put(&mut self, id: RequestId, stage: Awaits) {
        if let Some(owed) = self.get_mut(id) {
            owed.stage = stage;
        }
    }
    pub(crate) fn stage_mut(&mut self, id: RequestId) -> Option<&mut Awaits> {
        self.get_mut(id).map(|owed| &mut owed.stage)
    }
    /// Its own time.
    pub(crate) fn set_deadline(&mut self, id: RequestId, deadline_ms: Option<u64>) {
        if let Some(owed) = self.get_mut(id) {
            owed.deadline_ms = deadline_ms;
        }
    }
    pub(crate) fn deadline(&self, id: RequestId) -> Option<u64> {
        self.get(id).and_then(|owed| owed.deadline_ms)
    }
    /// The earliest time that something is due at.
    pub(crate) fn due(&self) -> Option<u64> {
        self.open.values().filter_map(OwedAnswer::due).min()
    }
    /// Those whose own time has come, in the order of their ids; it does not come again.
    pub(crate) fn expired(&mut self, now_ms: u64) -> Vec<RequestId> {
        let due = |owed: &OwedAnswer| owed.deadline_ms.is_some_and(|at| at <= now_ms);
        let ids = self.ids(due);
        ids.iter().for_each(|id| self.set_deadline(*id, None));
        ids
    }
    /// Those that nothing has ended for so long that nothing will.
    pub(crate) fn forgotten(&self, now_ms: u64) -> Vec<RequestId> {
        self.ids(|owed| owed.deadline_ms.is_none() && owed.due().is_some_and(|at| at <= now_ms))
    }
    /// Ids at a stage, in order.
    pub(crate) fn ids_where(&self, fits: impl Fn(&Awaits) -> bool) -> Vec<RequestId> {
        self.ids(|owed| fits(&owed.stage))
    }
    fn ids(&self, fits: impl Fn(&OwedAnswer) -> bool) -> Vec<RequestId> {
        let of = |(number, owed): (&WireId, &OwedAnswer)| RequestId { number: *number, serial: owed.serial };
        let mut ids: Vec<RequestId> = self.open.iter().filter(|(_, owed)| fits(owed)).map(of).collect();
        ids.sort_by_key(|id| id.serial);
        ids
    }

    /// An event of an id. `tail` is the frame behind the id: `"event":…}`. Nothing is written for an id that is not open.
    pub(crate) fn event(&self, id: RequestId, tail: &[u8], out: &mut Out) {
        if self.is_open(id) {
            event_frame(id.number, tail, out);
        }
    }

    /// The last frame of an id: it is taken out first. Whether it was open.
    pub(crate) fn settle(&mut self, id: RequestId, end: Terminal<'_>, out: &mut Out) -> bool {
        if !self.is_open(id) {
            return false;
        }
        let Some(owed) = self.open.remove(&id.number) else { return false };
        let jsonrpc = if owed.jsonrpc { "\"jsonrpc\":\"2.0\"," } else { "" };
        out.frames.line(|into| {
            // Into a buffer that grows: it cannot fail.
            let _ = write!(into, "{{{jsonrpc}\"id\":{},", id.number());
            match end {
                Terminal::Result(json) => {
                    into.extend_from_slice(b"\"result\":");
                    into.extend_from_slice(json);
                    into.push(b'}');
                }
                Terminal::Refused(refusal) => write_error(refusal, into),
            }
        });
        true
    }

    /// The answer of a subscription, whose events follow it.
    pub(crate) fn settle_subscribed(
        &mut self,
        id: RequestId,
        end: Terminal<'_>,
        out: &mut Out,
    ) -> Option<SubscriptionId> {
        let is_open = self.settle(id, end, out);
        is_open.then(|| {
            let subscription = SubscriptionId(self.subscriptions_made);
            self.subscribed.push((subscription, id.number));
            subscription
        })
    }
    /// The number that the next subscription has.
    pub(crate) fn next_subscription(&mut self) -> SubscriptionId {
        self.subscriptions_made += 1;
        SubscriptionId(self.subscriptions_made)
    }
    pub(crate) fn subscriptions(&self) -> usize {
        self.subscribed.len()
    }
    pub(crate) fn unsubscribe(&mut self, subscription: SubscriptionId) -> bool {
        let before = self.subscribed.len();
        self.subscribed.retain(|(it, _)| *it != subscription);
        self.subscribed.len() < before
    }
    /// An event of a subscription.
    pub(crate) fn news(&self, subscription: SubscriptionId, tail: &[u8], out: &mut Out) {
        if let Some((_, id)) = self.subscribed.iter().find(|(it, _)| *it == subscription) {
            event_frame(*id, tail, out);
        }
    }
}

impl OwedAnswer {
    fn due(&self) -> Option<u64> {
        let forgotten_ms = || (!self.stage.takes_its_time()).then_some(self.since_ms + OWED_MS_MAX);
        self.deadline_ms.or_else(forgotten_ms)
    }
}

/// A refusal of what has no id that could be used.
pub(crate) fn refuse_nobody(refusal: &GatewayRefusal, jsonrpc: bool, out: &mut Out) {
    out.frames.line(|into| {
        into.extend_from_slice(if jsonrpc { b"{\"jsonrpc\":\"2.0\",\"id\":null," } else { b"{\"id\":null," });
        write_error(refusal, into);
    });
}

fn event_frame(id: WireId, tail: &[u8], out: &mut Out) {
    out.frames.line(|into| {
        // Into a buffer that grows: it cannot fail.
        let _ = write!(into, "{{\"id\":{},", id.0);
        into.extend_from_slice(tail);
    });
}

/// `"error":{…}}`
fn write_error(refusal: &GatewayRefusal, into: &mut Vec<u8>) {
    into.extend_from_slice(format!("\"error\":{{\"code\":{},\"message\":", refusal.code.number()).as_bytes());
    wire::escape_into(&refusal.message, into);
    if let Some(data) = refusal_data(refusal) {
        into.extend_from_slice(b",\"data\":");
        into.extend_from_slice(data.as_str().as_bytes());
    }
    into.extend_from_slice(b"}}");
}

/// `data` of an error: the reason first, then what else there is.
pub(crate) fn refusal_data(refusal: &GatewayRefusal) -> Option<Json> {
    let more = refusal.data.as_ref().map(|data| data.as_str().trim_start_matches('{').trim_end_matches(' '));
    let more = more.map(|more| more.strip_suffix('}').unwrap_or(more)).filter(|more| !more.trim().is_empty());
    Some(Json::trusted(match (refusal.reason, more) {
        (None, None) => return None,
        (Some(reason), None) => format!("{{\"reason\":\"{reason}\"}}"),
        (None, Some(more)) => format!("{{{more}}}"),
        (Some(reason), Some(more)) => format!("{{\"reason\":\"{reason}\",{more}}}"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own::Code;

    fn id(number: u64) -> WireId {
        WireId::new(number).unwrap()
    }
    fn frames(out: &mut Out) -> String {
        let text = String::from_utf8(out.frames.as_bytes().to_vec()).unwrap();
        out.frames.clear();
        text
    }

    #[test]
    fn an_id_is_answered_once_and_nothing_follows() {
        let (mut ledger, mut out) = (IdLedger::default(), Out::new());
        let seven = ledger.open(id(7), false, 0).unwrap();
        assert_eq!(ledger.open(id(7), false, 0), Err(NotOpened::Duplicate));
        ledger.event(seven, b"\"event\":\"a\",\"data\":{}}", &mut out);
        assert!(ledger.settle(seven, Terminal::Result(b"{\"x\":1}"), &mut out));
        assert!(!ledger.settle(seven, Terminal::Result(b"{}"), &mut out));
        ledger.event(seven, b"\"event\":\"b\",\"data\":{}}", &mut out);
        assert_eq!(frames(&mut out), "{\"id\":7,\"event\":\"a\",\"data\":{}}\n{\"id\":7,\"result\":{\"x\":1}}\n");
        assert!(ledger.is_empty());
        let again = ledger.open(id(7), true, 0).expect("a number that was answered is free again");
        assert!(!ledger.settle(seven, Terminal::Result(b"{}"), &mut out), "what comes late does not reach the second");
        ledger.event(seven, b"\"event\":\"b\",\"data\":{}}", &mut out);
        assert_eq!((frames(&mut out), ledger.find(id(7))), (String::new(), Some(again)));
    }

    #[test]
    fn an_error_says_its_reason_first_and_jsonrpc_is_echoed_where_it_came() {
        let (mut ledger, mut out) = (IdLedger::default(), Out::new());
        let cases = [
            (GatewayRefusal::new(Code::Busy, "no"), r#"{"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"no"}}"#),
            (
                GatewayRefusal::new(Code::Busy, "n\"o").because("queue"),
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"n\"o","data":{"reason":"queue"}}}"#,
            ),
            (
                GatewayRefusal::new(Code::Busy, "no").because("queue").with("a", 1).with("b", "}"),
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"no","data":{"reason":"queue","a":1,"b":"}"}}}"#,
            ),
            (
                GatewayRefusal::new(Code::Busy, "no").with("a", serde_json::json!({"b": {}})),
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"no","data":{"a":{"b":{}}}}}"#,
            ),
        ];
        for (refusal, want) in cases {
            let one = ledger.open(id(1), true, 0).unwrap();
            ledger.settle(one, Terminal::Refused(&refusal), &mut out);
            assert_eq!(frames(&mut out).trim_end().replace("n\\\"o", "n\"o"), want.replace("n\\\"o", "n\"o"));
        }
    }

    #[test]
    fn no_more_than_the_bound_are_in_flight() {
        let mut ledger = IdLedger::default();
        for number in 0..IN_FLIGHT_MAX as u64 {
            ledger.open(id(number), false, 0).unwrap();
        }
        assert_eq!(ledger.open(id(ID_MAX), false, 0), Err(NotOpened::Full));
        assert_eq!(WireId::new(ID_MAX + 1), None);
    }

    #[test]
    fn events_of_a_subscription_follow_its_answer_until_it_ends() {
        let (mut ledger, mut out) = (IdLedger::default(), Out::new());
        let three = ledger.open(id(3), false, 0).unwrap();
        let number = ledger.next_subscription();
        assert_eq!(ledger.settle_subscribed(three, Terminal::Result(b"1"), &mut out), Some(number));
        assert!(ledger.is_taken(id(3)) && ledger.open(id(3), false, 0) == Err(NotOpened::Duplicate));
        ledger.news(number, b"\"event\":\"a\",\"data\":{}}", &mut out);
        assert!(ledger.unsubscribe(number) && !ledger.unsubscribe(number));
        ledger.news(number, b"\"event\":\"b\",\"data\":{}}", &mut out);
        assert_eq!(frames(&mut out), "{\"id\":3,\"result\":1}\n{\"id\":3,\"event\":\"a\",\"data\":{}}\n");
        assert!(!ledger.is_taken(id(3)));
    }

    #[test]
    fn times_come_once_and_what_is_owed_for_a_day_is_found() {
        let mut ledger = IdLedger::default();
        assert_eq!(ledger.due(), None);
        let one = ledger.open(id(1), false, 10).unwrap();
        let two = ledger.open(id(2), false, 10).unwrap();
        ledger.set_deadline(one, Some(50));
        assert_eq!((ledger.due(), ledger.expired(49), ledger.expired(50)), (Some(50), vec![], vec![one]));
        assert_eq!((ledger.expired(60), ledger.due()), (vec![], Some(10 + OWED_MS_MAX)));
        assert_eq!(ledger.forgotten(9 + OWED_MS_MAX), vec![]);
        assert_eq!(ledger.forgotten(10 + OWED_MS_MAX), vec![one, two]);
    }

    #[test]
    fn what_runs_or_waits_for_days_is_not_forgotten() {
        let session = || SessionId::from("s");
        let stages = [
            Awaits::Running { session: session(), turn: "t".into() },
            Awaits::Waiting { session: session(), item: "i".into() },
            Awaits::Held { session: session() },
        ];
        for stage in stages {
            let mut ledger = IdLedger::default();
            let one = ledger.open(id(1), false, 10).unwrap();
            ledger.put(one, stage.clone());
            assert_eq!((ledger.forgotten(20 + OWED_MS_MAX), ledger.due()), (vec![], None), "{stage:?}");
            ledger.set_deadline(one, Some(50 + OWED_MS_MAX));
            assert_eq!(ledger.due(), Some(50 + OWED_MS_MAX), "{stage:?}: its own time counts");
        }
    }
}
