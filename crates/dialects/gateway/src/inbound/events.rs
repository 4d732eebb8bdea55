//! Subscriptions and replays.

use std::sync::Arc;

use vocab::{Body, Entry, Json, SessionId};

use crate::Gateway;
use crate::cursor::EventCursor;
use crate::ledger::{RequestId, SUBSCRIPTIONS_MAX, SubscriptionId};
use crate::own::{Code, GatewayOwn, GatewayRefusal, Out, Scopes, Topic};
use crate::params::{ReplayParams, SubscribeParams, UnsubscribeParams};
use crate::pending::{AfterOpen, SubscribePlan, Wanted};
use crate::projection;
use crate::results::{ReplayResult, ReplayedEvent, UnsubscribeResult};
use crate::shape::{AnyJson, SessionName};

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
        gateway.auth.allows(Scopes::ADMIN, false)?;
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
    let plan = SubscribePlan { number, id, sessions: sessions.clone(), left, topics, after: params.after_seq };
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
    gateway.news.forget(subscription);
    gateway.answer(id, &UnsubscribeResult { unsubscribed }, out);
    Ok(())
}

pub(crate) fn replay(
    gateway: &mut Gateway,
    id: RequestId,
    params: ReplayParams,
    out: &mut Out,
) -> Result<(), GatewayRefusal> {
    let session = params.session_id.0;
    let after = params.after_seq.unwrap_or_default();
    let limit = params.limit.size();
    let call = GatewayOwn::Read { session: session.clone(), after: after.whole_seq(), limit, branch: false };
    gateway.call(call, Wanted::Replay { id, session, after }, out);
    Ok(())
}

/// A page of the log as events. The text of a reply that was told in part is told whole: only whole entries are replayed.
pub(crate) fn page(session: &SessionId, after: EventCursor, entries: &[Arc<Entry>], more: bool) -> ReplayResult {
    let mut owed = after.owed_bytes();
    let (mut events, mut asked) = (Vec::new(), Vec::new());
    let mut next_seq = after;
    for entry in entries {
        let list = projection::events_of(entry, owed, &mut asked);
        if matches!(entry.body, Body::Assistant { .. }) {
            owed = 0;
        }
        let run_id = projection::turn_of(&entry.body).map(ToString::to_string);
        for ((event, data), cursor) in projection::placed(entry, list, after.told_of(entry.seq)) {
            let data = AnyJson(Json::trusted(String::from_utf8_lossy(&data).into_owned()));
            let session_id = session.to_string();
            events.push(ReplayedEvent { event, data, seq: entry.seq, cursor, session_id, run_id: run_id.clone() });
        }
        next_seq = EventCursor::bytes(entry.seq, owed);
    }
    ReplayResult { events, next_seq, complete: !more }
}
