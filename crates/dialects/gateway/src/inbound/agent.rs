//! Messages for the model, and what a person says to its calls.

use vocab::{Answer, AskId, RunRef, Scope, SessionId, SessionVerb};

use crate::Gateway;
use crate::commands;
use crate::inbound::message;
use crate::ledger::{Awaits, RequestId};
use crate::own::{GatewayRefusal, Out};
use crate::params::{CallbackParams, ConfirmParams, DecisionWord, SendParams, WaitParams};
use crate::pending::{AfterOpen, SendPlan, Wanted};
use crate::results::ConfirmResult;

pub(crate) fn send(
    gateway: &mut Gateway,
    id: RequestId,
    params: SendParams,
    out: &mut Out,
) -> Result<(), GatewayRefusal> {
    let session = gateway.session_or_attached(params.session_id.or(params.session));
    if params.attachments.0.is_empty()
        && let Some(plan) = commands::plan(&params.message.0)
    {
        gateway.auth.allows(plan.scope(), false)?;
        gateway.on_session(&session, AfterOpen::Command { id, plan }, out);
        return Ok(());
    }
    let parts = message::parts(&params.message.0, &params.attachments.0)?;
    gateway.ledger.set_deadline(id, params.timeout_ms.map(|ms| out.now_ms + ms.number()));
    let plan = SendPlan {
        id,
        session: session.clone(),
        parts,
        key: params.idempotency_key.map(|key| key.0),
        model: params.model_tier.map(|tier| tier.0),
        trace: params.traceparent.map(|trace| trace.0).or_else(|| gateway.trace.clone()),
    };
    gateway.on_session(&session, AfterOpen::Send(Box::new(plan)), out);
    Ok(())
}

pub(crate) fn set_callback(
    gateway: &mut Gateway,
    id: RequestId,
    params: CallbackParams,
    out: &mut Out,
) -> Result<(), GatewayRefusal> {
    let (session, enabled) = (params.session_id.0, params.enabled);
    gateway.on_known_session(session, AfterOpen::Callback { id, enabled }, out);
    Ok(())
}

pub(crate) fn confirm_tool(
    gateway: &mut Gateway,
    id: RequestId,
    params: ConfirmParams,
    out: &mut Out,
) -> Result<(), GatewayRefusal> {
    let is_meant = |session: &SessionId| params.session_id.as_ref().is_none_or(|named| named.0 == *session);
    // A late answer to one question must not answer the next, which may be about a call of the same name.
    let is_asked = |ask: &AskId| params.ask_id.as_ref().is_none_or(|named| *named.0 == *ask.as_str());
    let mut found = gateway.views.iter().filter(|view| is_meant(&view.session)).filter_map(|view| {
        let ask = view.asks.iter().find(|ask| *ask.call.as_str() == *params.call_id.0 && is_asked(&ask.ask))?;
        Some((view.session.clone(), ask.ask.clone()))
    });
    let (Some((session, ask)), other) = (found.next(), found.next()) else {
        gateway.answer(id, &ConfirmResult { accepted: false }, out);
        return Ok(());
    };
    // A yes for one session must not become a yes for another.
    if other.is_some() {
        let message = "calls of this id are asked about in several sessions: say which with `sessionId`";
        return Err(GatewayRefusal::invalid("ambiguous_call", message).with("param", "sessionId"));
    }
    let answer = match params.decision {
        DecisionWord::Allow => Answer::Allow(Scope::Once),
        DecisionWord::AllowSession => Answer::Allow(Scope::Session),
        DecisionWord::Deny => Answer::Deny(params.reason.map(|reason| reason.0).filter(|reason| !reason.is_empty())),
    };
    gateway.ledger.put(id, Awaits::Asked { session: Some(session.clone()), aside: None });
    gateway.want(&session, SessionVerb::Answer { ask, answer }, Wanted::Confirmed(id), out);
    Ok(())
}

pub(crate) fn wait(
    gateway: &mut Gateway,
    id: RequestId,
    params: WaitParams,
    out: &mut Out,
) -> Result<(), GatewayRefusal> {
    let of = match (params.run_id, params.idempotency_key) {
        (Some(run), None) => RunRef::Turn((&*run.0).into()),
        (None, Some(key)) => RunRef::Key(key.0),
        _ => {
            return Err(GatewayRefusal::wrong_param(
                "runId",
                "exactly one of `runId` and `idempotencyKey` must be there",
            ));
        }
    };
    gateway.ledger.set_deadline(id, Some(out.now_ms + params.timeout_ms.number()));
    let session = gateway.session_or_attached(params.session_id);
    gateway.on_known_session(session, AfterOpen::Wait { id, of }, out);
    Ok(())
}
