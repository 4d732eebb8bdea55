//! Subscriptions and replays.

use std::sync::Arc;

use vocab::{Body, Entry, Json, SessionId};

use crate::Gateway;
use crate::auth_state::MayAsk;
use crate::cursor::EventCursor;
use crate::ledger::{RequestId, SUBSCRIPTIONS_MAX, SubscriptionId};
use crate::log_context::{LOOK_BEHIND, LogContext, ModelPrices};
use crate::own::{Code, GatewayOwn, GatewayRefusal, Out, Scopes, Topic};
use crate::params::{ReplayParams, SubscribeParams, UnsubscribeParams};
use crate::pending::{AfterOpen, AheadPlace, SubscribePlan, WantedOfService};
use crate::projection::{self, ToldBytes};
use crate::results::{ReplayResult, ReplayedEvent, UnsubscribeResult};
use crate::shape::{AnyJson, SessionName};
use crate::written;

/// Bytes of events in one page, unless its only entry has more.
const REPLAY_BYTES_MAX: usize = 8 * 1024 * 1024;

pub(crate) fn subscribe(
    gateway: &mut Gateway,
    id: RequestId,
    params: SubscribeParams,
    out: &mut Out,
) -> Result<(), GatewayRefusal> {
    let (mut sessions, mut topics) = (Vec::new(), Vec::new());
    for (at, topic) in params.topics.0.iter().enumerate() {
        match (topic.0.strip_prefix("session:").map(SessionName::parse), Topic::parse(&topic.0)) {
            (Some(Some(name)), _) if !sessions.contains(&name.0) => sessions.push(name.0),
            (None, Some(topic)) if !topics.contains(&topic) => topics.push(topic),
            (Some(Some(_)), _) | (None, Some(_)) => {}
            (Some(None), _) | (None, None) => {
                let param = format!("topics[{at}]");
                return Err(GatewayRefusal::wrong_param(&param, format!("`{param}` is no topic")));
            }
        }
    }
    // The log names addresses, users and files, as the audit does.
    if topics.contains(&Topic::Logs) {
        gateway.auth.allows(MayAsk::Needs(Scopes::ADMIN))?;
    }
    if sessions.is_empty() && topics.is_empty() {
        return Err(GatewayRefusal::wrong_param("topics", "`topics` must name at least one"));
    }
    if params.after_seq.is_some() && sessions.len() != 1 {
        return Err(GatewayRefusal::wrong_param("afterSeq", "`afterSeq` is a place in one session: name exactly one"));
    }
    if gateway.ledger.subscriptions() + gateway.subscribing.len() >= SUBSCRIPTIONS_MAX {
        let message = format!("a connection has at most {SUBSCRIPTIONS_MAX} subscriptions");
        return Err(GatewayRefusal::new(Code::Busy, message).because("too_many_subscriptions"));
    }
    gateway.subscribes_made += 1;
    let number = gateway.subscribes_made;
    let left = sessions.len();
    let plan = SubscribePlan {
        number,
        id,
        sessions: sessions.clone(),
        left,
        topics,
        after: params.after_seq,
        thinking: params.thinking,
        place: AheadPlace::default(),
    };
    gateway.subscribing.push(plan);
    for session in sessions {
        gateway.on_known_session(session, AfterOpen::Subscribe { id, plan: number }, out);
    }
    gateway.subscribed_if_ready(number, out);
    Ok(())
}

pub(crate) fn unsubscribe(
    gateway: &mut Gateway,
    id: RequestId,
    params: UnsubscribeParams,
    out: &mut Out,
) -> Result<(), GatewayRefusal> {
    let subscription = SubscriptionId(params.subscription_id.number());
    let unsubscribed = gateway.ledger.unsubscribe(subscription);
    for view in &mut gateway.views {
        view.listeners.retain(|listener| listener.subscription != subscription);
    }
    // Whoever does not hear of questions any more does not answer them either.
    if gateway.news.forget(subscription) {
        gateway.ask_news(out);
    }
    gateway.answer(id, &UnsubscribeResult { unsubscribed }, out);
    Ok(())
}

/// What of a session is replayed.
#[derive(Debug)]
pub(crate) struct ReplayWish {
    session: SessionId,
    after: EventCursor,
    thinking: bool,
}

pub(crate) fn replay(
    gateway: &mut Gateway,
    id: RequestId,
    params: ReplayParams,
    out: &mut Out,
) -> Result<(), GatewayRefusal> {
    let (session, limit) = (params.session_id.0, params.limit.size());
    if params.after_seq.is_some() && params.before_seq.is_some() {
        return Err(GatewayRefusal::wrong_param("beforeSeq", "`beforeSeq` and `afterSeq` exclude each other"));
    }
    let after = params.after_seq.unwrap_or_default();
    let wish = ReplayWish { session: session.clone(), after, thinking: params.thinking };
    let call = match params.before_seq {
        Some(before) => GatewayOwn::ReadBefore { session, before: before.number(), limit, behind: LOOK_BEHIND },
        None => {
            let behind = after.whole_seq().min(LOOK_BEHIND);
            let (after, limit) = (after.whole_seq() - behind, limit + behind as usize);
            GatewayOwn::Read { session, after, limit }
        }
    };
    gateway.call(call, WantedOfService::Replay { id, wish }, out);
    Ok(())
}

/// An entry as events, with where one stands who has had them.
struct ReplayedEntry {
    seq: u64,
    events: Vec<ReplayedEvent>,
    bytes: usize,
    then: EventCursor,
}

impl ReplayWish {
    /// A page of the log as events, or why there is none. What was told of a reply in part is not told again.
    pub(crate) fn page(
        &self,
        entries: &[Arc<Entry>],
        more: bool,
        prices: &ModelPrices,
    ) -> Result<ReplayResult, GatewayRefusal> {
        // What was read begins before the place, where there is something before it.
        let end = entries.last().map(|entry| entry.seq);
        if end.unwrap_or(0) < self.after.seq {
            return Err(beyond(self.after, end));
        }
        let all = self.replayed(entries, self.after.whole_seq() + 1, prices);
        let mut bytes = 0;
        let fits = |entry: &&ReplayedEntry| {
            bytes += entry.bytes;
            bytes <= REPLAY_BYTES_MAX || bytes == entry.bytes
        };
        let kept = all.iter().take_while(fits).count();
        let more = more || kept < all.len();
        let next_seq = kept.checked_sub(1).map_or(self.after, |last| all[last].then);
        let events = all.into_iter().take(kept).flat_map(|entry| entry.events).collect();
        Ok(ReplayResult { events, next_seq, prev_seq: None, complete: !more })
    }

    /// The same backwards. `first`: where the page begins in the log.
    pub(crate) fn page_before(&self, entries: &[Arc<Entry>], first: u64, prices: &ModelPrices) -> ReplayResult {
        let all = self.replayed(entries, first, prices);
        let mut bytes = 0;
        let fits = |entry: &&ReplayedEntry| {
            bytes += entry.bytes;
            bytes <= REPLAY_BYTES_MAX || bytes == entry.bytes
        };
        let left = all.len() - all.iter().rev().take_while(fits).count();
        let next_seq = all.last().map_or(EventCursor::at(first.saturating_sub(1)), |last| last.then);
        let prev = if left == 0 { first } else { all[left].seq };
        let events = all.into_iter().skip(left).flat_map(|entry| entry.events).collect();
        ReplayResult { events, next_seq, prev_seq: Some(prev), complete: prev <= 1 }
    }

    /// The entries from `first` on; those before it are looked at alone.
    fn replayed(&self, entries: &[Arc<Entry>], first: u64, prices: &ModelPrices) -> Vec<ReplayedEntry> {
        let (mut told, mut context) = (ToldBytes::at(self.after, self.thinking), LogContext::default());
        let (before, page) = entries.split_at(entries.partition_point(|entry| entry.seq < first));
        before.iter().for_each(|entry| context.pass(entry));
        let mut all = Vec::with_capacity(page.len());
        for entry in page {
            let run = projection::turn_of(&entry.body);
            let mut events = Vec::new();
            if told != told.nothing() && told.is_void_at(&entry.body) {
                let cursor = EventCursor::at(self.after.whole_seq());
                events.push(self.event(("retract", written(&told.retracted(run))), cursor, entry));
                told = told.nothing();
            }
            let list = projection::events_of(entry, told, &mut context, prices);
            let bytes = list.iter().map(|(_, data)| data.len()).sum();
            let placed = projection::placed(entry, list, self.after, told);
            events.extend(placed.map(|(event, cursor)| self.event(event, cursor, entry)));
            if matches!(entry.body, Body::Assistant { .. }) {
                told = told.nothing();
            }
            all.push(ReplayedEntry { seq: entry.seq, events, bytes, then: told.cursor(entry.seq) });
        }
        all
    }

    fn event(&self, (event, data): projection::Projected, cursor: EventCursor, entry: &Entry) -> ReplayedEvent {
        ReplayedEvent {
            event,
            data: AnyJson(Json::trusted(String::from_utf8_lossy(&data).into_owned())),
            seq: cursor.seq,
            cursor,
            session_id: self.session.to_string(),
            run_id: projection::turn_of(&entry.body).map(ToString::to_string),
            at: entry.at_ms,
        }
    }
}

/// A place that the log has not reached: whoever listened from there would hear nothing for long. `end`: where the log ends.
pub(crate) fn beyond(after: EventCursor, end: Option<u64>) -> GatewayRefusal {
    let at = end.map(|end| format!(", which is at {end}")).unwrap_or_default();
    let message = format!("`afterSeq` is {after}: that is behind the end of the log{at}");
    let refusal = GatewayRefusal::wrong_param("afterSeq", message);
    match end {
        Some(end) => refusal.with("seq", end),
        None => refusal,
    }
}
