//! Messages for the model, and what a person says to its calls.

use vocab::{Answer, AskId, CallId, RunRef, Scope, SessionVerb};

use crate::Gateway;
use crate::auth_state::MayAsk;
use crate::commands;
use crate::inbound::message;
use crate::ledger::{Awaits, RequestId};
use crate::own::{GatewayOwn, GatewayRefusal, Out};
use crate::params::{CallbackParams, ConfirmParams, DecisionWord, SendParams, WaitParams};
use crate::pending::{AfterOpen, AskedAbout, SendPlan, WaitPlan, Wanted, WantedOfService};
use crate::results::ConfirmResult;
use crate::session_view::SessionView;

/// Sessions beside the attached one in which a key is looked for. To look for one that is not there is to read a whole log.
const WAIT_LOOKS_MAX: usize = 16;

pub(crate) fn send(
    gateway: &mut Gateway,
    id: RequestId,
    params: SendParams,
    out: &mut Out,
) -> Result<(), GatewayRefusal> {
    if let (Some(one), Some(other)) = (&params.session_id, &params.session)
        && one.0 != other.0
    {
        return Err(GatewayRefusal::wrong_param("session", "`session` and `sessionId` name two sessions"));
    }
    let session = gateway.session_or_attached(params.session_id.or(params.session));
    if params.attachments.0.is_empty()
        && let Some(plan) = commands::plan(&params.message.0)
    {
        gateway.auth.allows(MayAsk::Needs(plan.scope()))?;
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
    let (named, call) = (params.session_id.map(|name| name.0), CallId::from(&*params.call_id.0));
    let answer = match params.decision {
        DecisionWord::Allow => Answer::Allow(Scope::Once),
        DecisionWord::AllowSession => Answer::Allow(Scope::Session),
        DecisionWord::Deny => Answer::Deny(params.reason.map(|reason| reason.0).filter(|reason| !reason.is_empty())),
    };
    // A late answer to one question must not answer the next, which may be about a call of the same name.
    let of = AskedAbout { call, ask: params.ask_id.map(|ask| AskId::from(&*ask.0)) };
    if let Some(session) = named {
        match gateway.view_at(&session) {
            Some(at) => gateway.confirm_on(at, id, &of, answer, out),
            None => gateway.on_known_session(session, AfterOpen::Confirm { id, of, answer }, out),
        }
        return Ok(());
    }
    let is_asked = |view: &SessionView| view.asks.iter().any(|open| of.is(&open.ask, &open.call));
    let mut found = (0..gateway.views.len()).filter(|at| is_asked(&gateway.views[*at]));
    match (found.next(), found.next()) {
        (Some(at), None) => gateway.confirm_on(at, id, &of, answer, out),
        (None, _) => gateway.answer(id, &ConfirmResult { accepted: false }, out),
        // A yes for one session must not become a yes for another.
        (Some(_), Some(_)) => {
            let message = "calls of this id are asked about in several sessions: say which with `sessionId`";
            return Err(GatewayRefusal::invalid("ambiguous_call", message).with("param", "sessionId"));
        }
    }
    Ok(())
}

impl Gateway {
    /// An answer to a question of a session that the connection is on; one that is not open any more is not answered.
    pub(crate) fn confirm_on(&mut self, at: usize, id: RequestId, of: &AskedAbout, answer: Answer, out: &mut Out) {
        let view = &self.views[at];
        let open = view.asks.iter().find(|open| of.is(&open.ask, &open.call));
        let Some((session, ask)) = open.map(|open| (view.session.clone(), open.ask.clone())) else {
            return self.answer(id, &ConfirmResult { accepted: false }, out);
        };
        self.ledger.put(id, Awaits::Asked { session: Some(session.clone()), aside: None });
        self.want(&session, SessionVerb::Answer { ask, answer }, Wanted::Confirmed(id), out);
    }
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
    let mut plan = WaitPlan { id, of, elsewhere: Vec::new() };
    if let Some(session) = params.session_id {
        gateway.on_known_session(session.0, AfterOpen::Wait(plan), out);
        return Ok(());
    }
    match &plan.of {
        RunRef::Turn(turn) => {
            let turn = turn.clone();
            gateway.call(GatewayOwn::FindRun { turn }, WantedOfService::FindsRun(plan), out);
        }
        // A key is a session's own: it is looked for where this connection is.
        RunRef::Key(_) => {
            let attached = gateway.attached.clone();
            let others = gateway.views.iter().map(|view| &view.session).filter(|session| **session != attached);
            plan.elsewhere = others.take(WAIT_LOOKS_MAX).cloned().collect();
            gateway.on_known_session(attached, AfterOpen::Wait(plan), out);
        }
    }
    Ok(())
}
