//! Sessions as a client makes, changes, copies and removes them.

use std::path::PathBuf;

use vocab::{Change, DirectoryVerb, IdKind, SessionId, Target, Verb};

use crate::Gateway;
use crate::auth_state::MayAsk;
use crate::ledger::RequestId;
use crate::own::{GatewayRefusal, Out, Scopes};
use crate::params::{CreateParams, ElevationPart, ForkParams, PatchParams, SessionParams};
use crate::pending::{AfterOpen, CreatePlan, GatewayPending, Wanted};
use crate::shape::Wish;

/// How far ahead an elevation may reach.
const ELEVATION_MS_MAX: i64 = 8 * 60 * 60 * 1000;

pub(crate) fn create(
    gateway: &mut Gateway,
    id: RequestId,
    params: CreateParams,
    out: &mut Out,
) -> Result<(), GatewayRefusal> {
    let cwd = params.cwd.map(|cwd| PathBuf::from(&*cwd.0));
    if cwd.as_ref().is_some_and(|cwd| !cwd.is_absolute()) {
        return Err(GatewayRefusal::wrong_param("cwd", "`cwd` must be an absolute path"));
    }
    let session = params.session_id.map_or_else(|| gateway.fresh_session(), |name| name.0);
    let changes = params.title.map(|title| Change::Title(title.0)).into_iter().collect();
    let model = params.model_tier.map(|tier| tier.0);
    let plan = CreatePlan { id, cwd, model, changes, queue: params.queue };
    gateway.on_session(&session, AfterOpen::Create(Box::new(plan)), out);
    Ok(())
}

pub(crate) fn delete(
    gateway: &mut Gateway,
    id: RequestId,
    params: SessionParams,
    out: &mut Out,
) -> Result<(), GatewayRefusal> {
    let session = params.session_id.0;
    let verb = Verb::Directory(DirectoryVerb::Delete { session: session.clone(), open_too: true });
    let what = GatewayPending::apart(Wanted::Deleted { id, session });
    gateway.pending.submit(Target::Current, verb, what, out);
    Ok(())
}

pub(crate) fn patch(
    gateway: &mut Gateway,
    id: RequestId,
    params: PatchParams,
    out: &mut Out,
) -> Result<(), GatewayRefusal> {
    let mut changes = Vec::new();
    changes.extend(params.title.map(|title| Change::Title(title.0)));
    changes.extend(params.model_tier.map(|tier| Change::Model(tier.0)));
    match params.elevation {
        Wish::Untouched => {}
        wish => {
            gateway.auth.allows(MayAsk::Needs(Scopes::ADMIN))?;
            changes.push(Change::Elevate { until_ms: elevated_until(wish, gateway.options.clock.now_ms())? });
        }
    }
    let queue = match params.queue {
        Wish::Untouched => None,
        Wish::Cleared => {
            changes.push(Change::LaneUsual);
            None
        }
        Wish::Set(queue) => Some(queue),
    };
    let after = AfterOpen::Patch { id, changes, queue, notify: params.notify };
    gateway.on_known_session(params.session_id.0, after, out);
    Ok(())
}

fn elevated_until(wish: Wish<ElevationPart>, now_ms: i64) -> Result<Option<i64>, GatewayRefusal> {
    let Wish::Set(part) = wish else { return Ok(None) };
    if part.active == Some(false) {
        return Ok(None);
    }
    let until = match (part.until_ms, part.minutes) {
        (Some(until), None) => until.0,
        (None, Some(minutes)) => now_ms + minutes.0 * 60_000,
        _ => return Err(GatewayRefusal::wrong_param("elevation", "`elevation` has either `untilMs` or `minutes`")),
    };
    if until > now_ms + ELEVATION_MS_MAX {
        return Err(GatewayRefusal::wrong_param("elevation", "`elevation` reaches at most 8 hours ahead"));
    }
    Ok((until > now_ms).then_some(until))
}

pub(crate) fn fork(
    gateway: &mut Gateway,
    id: RequestId,
    params: ForkParams,
    out: &mut Out,
) -> Result<(), GatewayRefusal> {
    let session = gateway.session_or_attached(params.session_id);
    let at = params.at_seq.map(|at| at.number());
    gateway.on_known_session(session, AfterOpen::Fork { id, at }, out);
    Ok(())
}

impl Gateway {
    /// A session that nobody has yet.
    pub(crate) fn fresh_session(&self) -> SessionId {
        SessionId::from(format!("ws:{}", self.options.ids.mint(IdKind::Session)))
    }
}
