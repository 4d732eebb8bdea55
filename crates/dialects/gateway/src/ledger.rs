//! The ids of one connection: which requests are owed an answer, and what will bring it. This module alone writes frames, so
//! that two mistakes cannot be written down: an id answered twice, and a frame of an id behind its answer. The third, an id
//! that is never answered, cannot be either as long as what each stage names does come; a property test looks.

use std::collections::HashMap;
use std::fmt;

use vocab::{ItemId, Json, SessionId, TurnId};

use crate::own::{GatewayRefusal, Out};

/// Requests of one connection without an answer; the next is refused.
pub const IN_FLIGHT_MAX: usize = 1024;
/// Subscriptions of one connection.
pub const SUBSCRIPTIONS_MAX: usize = 64;
/// The largest id: what every JSON reader keeps exactly.
pub const ID_MAX: u64 = (1 << 53) - 1;
/// A request that is owed an answer for longer, and has no time of its own, is a fault of ours.
pub(crate) const OWED_MS_MAX: u64 = 24 * 60 * 60 * 1000;

/// A request, as its sender numbers it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct RequestId(u64);

impl RequestId {
    pub(crate) fn new(number: u64) -> Option<Self> {
        (number <= ID_MAX).then_some(Self(number))
    }
    pub(crate) fn number(self) -> u64 {
        self.0
    }
}
impl fmt::Debug for RequestId {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "#{}", self.0)
    }
}

/// A subscription. Its events follow its answer, so it is not an open id and has a number of its own type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct SubscriptionId(pub(crate) u64);

/// What ends a request. Each names one thing that will certainly come, or be settled by whoever takes it away.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Awaits {
    /// The answer to its Open; then it is carried out. `cancelled`: not any more.
    Opening { session: SessionId, cancelled: bool },
    /// The answer to its prompt. `cancelled`: as soon as it is known what to cancel.
    Offered { session: SessionId, cancelled: bool },
    /// The end of what waits.
    Waiting { session: SessionId, item: ItemId },
    /// The end of the turn.
    Running { session: SessionId, turn: TurnId },
    /// The answer to one command or own call. `aside`: a call of a tool, by the tag of its command.
    Asked { aside: Option<(SessionId, vocab::Tag)> },
    /// `agent.wait`: the end of the turn, or its time.
    Held { session: SessionId },
}

/// Why an id ends other than by its own doing.
#[derive(Debug)]
struct OwedAnswer {
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
pub(crate) struct Ledger {
    open: HashMap<RequestId, OwedAnswer>,
    subscribed: Vec<(SubscriptionId, RequestId)>,
    subscriptions_made: u64,
}

impl Ledger {
    /// Whether frames with this id may still come.
    pub(crate) fn is_taken(&self, id: RequestId) -> bool {
        self.open.contains_key(&id) || self.subscribed.iter().any(|(_, of)| *of == id)
    }
    pub(crate) fn is_open(&self, id: RequestId) -> bool {
        self.open.contains_key(&id)
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// From now on this id is owed an answer.
    pub(crate) fn open(&mut self, id: RequestId, jsonrpc: bool, now_ms: u64) -> Result<(), NotOpened> {
        if self.is_taken(id) {
            return Err(NotOpened::Duplicate);
        }
        if self.open.len() >= IN_FLIGHT_MAX {
            return Err(NotOpened::Full);
        }
        let owed = OwedAnswer { stage: Awaits::Asked { aside: None }, jsonrpc, since_ms: now_ms, deadline_ms: None };
        self.open.insert(id, owed);
        Ok(())
    }
    pub(crate) fn stage(&self, id: RequestId) -> Option<&Awaits> {
        self.open.get(&id).map(|owed| &owed.stage)
    }
    /// What it waits for from now on. Nothing for an id that is not open.
    pub(crate) fn put(&mut self, id: RequestId, stage: Awaits) {
        if let Some(owed) = self.open.get_mut(&id) {
            owed.stage = stage;
        }
    }
    pub(crate) fn stage_mut(&mut self, id: RequestId) -> Option<&mut Awaits> {
        self.open.get_mut(&id).map(|owed| &mut owed.stage)
    }
    /// Its own time.
    pub(crate) fn set_deadline(&mut self, id: RequestId, deadline_ms: Option<u64>) {
        if let Some(owed) = self.open.get_mut(&id) {
            owed.deadline_ms = deadline_ms;
        }
    }
    /// The earliest time that something is due at.
    pub(crate) fn due(&self) -> Option<u64> {
        self.open.values().map(OwedAnswer::due).min()
    }
    /// Those whose own time has come, in the order of their ids; it does not come again.
    pub(crate) fn expired(&mut self, now_ms: u64) -> Vec<RequestId> {
        let due = |owed: &OwedAnswer| owed.deadline_ms.is_some_and(|at| at <= now_ms);
        let mut ids: Vec<RequestId> = self.open.iter().filter(|(_, owed)| due(owed)).map(|(id, _)| *id).collect();
        ids.iter().for_each(|id| self.set_deadline(*id, None));
        ids.sort();
        ids
    }
    /// Those that nothing has ended for so long that nothing will.
    pub(crate) fn forgotten(&self, now_ms: u64) -> Vec<RequestId> {
        self.ids(|_, owed| owed.deadline_ms.is_none() && owed.since_ms + OWED_MS_MAX <= now_ms)
    }
    /// Ids at a stage, in order.
    pub(crate) fn ids_where(&self, fits: impl Fn(&Awaits) -> bool) -> Vec<RequestId> {
        self.ids(|_, owed| fits(&owed.stage))
    }
    fn ids(&self, fits: impl Fn(&RequestId, &OwedAnswer) -> bool) -> Vec<RequestId> {
        let mut ids: Vec<RequestId> = self.open.iter().filter(|(id, owed)| fits(id, owed)).map(|(id, _)| *id).collect();
        ids.sort();
        ids
    }

    /// An event of an id. `tail` is the frame behind the id: `"event":…}`. Nothing is written for an id that is not open.
    pub(crate) fn event(&self, id: RequestId, tail: &[u8], out: &mut Out) {
        if self.open.contains_key(&id) {
            event_frame(id, tail, out);
        }
    }

    /// The last frame of an id: it is taken out first. Whether it was open.
    pub(crate) fn settle(&mut self, id: RequestId, end: Terminal<'_>, out: &mut Out) -> bool {
        let Some(owed) = self.open.remove(&id) else { return false };
        let jsonrpc = if owed.jsonrpc { "\"jsonrpc\":\"2.0\"," } else { "" };
        out.frames.line(|into| {
            into.extend_from_slice(format!("{{{jsonrpc}\"id\":{},", id.0).as_bytes());
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
            self.subscribed.push((subscription, id));
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
    fn due(&self) -> u64 {
        self.deadline_ms.unwrap_or(self.since_ms + OWED_MS_MAX)
    }
}

/// A refusal of what has no id that could be used.
pub(crate) fn refuse_nobody(refusal: &GatewayRefusal, jsonrpc: bool, out: &mut Out) {
    out.frames.line(|into| {
        into.extend_from_slice(if jsonrpc { b"{\"jsonrpc\":\"2.0\",\"id\":null," } else { b"{\"id\":null," });
        write_error(refusal, into);
    });
}

fn event_frame(id: RequestId, tail: &[u8], out: &mut Out) {
    out.frames.line(|into| {
        into.extend_from_slice(b"{\"id\":");
        into.extend_from_slice(id.0.to_string().as_bytes());
        into.push(b',');
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

    fn id(number: u64) -> RequestId {
        RequestId::new(number).unwrap()
    }
    fn frames(out: &mut Out) -> String {
        let text = String::from_utf8(out.frames.as_bytes().to_vec()).unwrap();
        out.frames.clear();
        text
    }

    #[test]
    fn an_id_is_answered_once_and_nothing_follows() {
        let (mut ledger, mut out) = (Ledger::default(), Out::new());
        ledger.open(id(7), false, 0).unwrap();
        assert_eq!(ledger.open(id(7), false, 0), Err(NotOpened::Duplicate));
        ledger.event(id(7), b"\"event\":\"a\",\"data\":{}}", &mut out);
        ledger.event(id(8), b"\"event\":\"a\",\"data\":{}}", &mut out);
        assert!(ledger.settle(id(7), Terminal::Result(b"{\"x\":1}"), &mut out));
        assert!(!ledger.settle(id(7), Terminal::Result(b"{}"), &mut out));
        ledger.event(id(7), b"\"event\":\"b\",\"data\":{}}", &mut out);
        assert_eq!(frames(&mut out), "{\"id\":7,\"event\":\"a\",\"data\":{}}\n{\"id\":7,\"result\":{\"x\":1}}\n");
        assert!(ledger.is_empty());
        assert!(ledger.open(id(7), true, 0).is_ok(), "an id that was answered is free again");
    }

    #[test]
    fn an_error_says_its_reason_first_and_jsonrpc_is_echoed_where_it_came() {
        let (mut ledger, mut out) = (Ledger::default(), Out::new());
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
            ledger.open(id(1), true, 0).unwrap();
            ledger.settle(id(1), Terminal::Refused(&refusal), &mut out);
            assert_eq!(frames(&mut out).trim_end().replace("n\\\"o", "n\"o"), want.replace("n\\\"o", "n\"o"));
        }
    }

    #[test]
    fn no_more_than_the_bound_are_in_flight() {
        let mut ledger = Ledger::default();
        for number in 0..IN_FLIGHT_MAX as u64 {
            ledger.open(id(number), false, 0).unwrap();
        }
        assert_eq!(ledger.open(id(ID_MAX), false, 0), Err(NotOpened::Full));
        assert_eq!(RequestId::new(ID_MAX + 1), None);
    }

    #[test]
    fn events_of_a_subscription_follow_its_answer_until_it_ends() {
        let (mut ledger, mut out) = (Ledger::default(), Out::new());
        ledger.open(id(3), false, 0).unwrap();
        let number = ledger.next_subscription();
        assert_eq!(ledger.settle_subscribed(id(3), Terminal::Result(b"1"), &mut out), Some(number));
        assert!(ledger.is_taken(id(3)) && ledger.open(id(3), false, 0) == Err(NotOpened::Duplicate));
        ledger.news(number, b"\"event\":\"a\",\"data\":{}}", &mut out);
        assert!(ledger.unsubscribe(number) && !ledger.unsubscribe(number));
        ledger.news(number, b"\"event\":\"b\",\"data\":{}}", &mut out);
        assert_eq!(frames(&mut out), "{\"id\":3,\"result\":1}\n{\"id\":3,\"event\":\"a\",\"data\":{}}\n");
        assert!(!ledger.is_taken(id(3)));
    }

    #[test]
    fn times_come_once_and_what_is_owed_for_a_day_is_found() {
        let mut ledger = Ledger::default();
        assert_eq!(ledger.due(), None);
        ledger.open(id(1), false, 10).unwrap();
        ledger.open(id(2), false, 10).unwrap();
        ledger.set_deadline(id(1), Some(50));
        assert_eq!((ledger.due(), ledger.expired(49), ledger.expired(50)), (Some(50), vec![], vec![id(1)]));
        assert_eq!((ledger.expired(60), ledger.due()), (vec![], Some(10 + OWED_MS_MAX)));
        assert_eq!(ledger.forgotten(9 + OWED_MS_MAX), vec![]);
        assert_eq!(ledger.forgotten(10 + OWED_MS_MAX), vec![id(1), id(2)]);
    }
}
