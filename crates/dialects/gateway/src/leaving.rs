//! Leaving sessions: a connection is on those that something needs, and for a moment on those that nothing does any more.

use vocab::{SessionId, Target, Verb};

use crate::Gateway;
use crate::own::{GatewayOwn, Out};
use crate::pending::{GatewayPending, Wanted, WantedOfService};
use crate::session_view::{LEAVE_AFTER_MS, SessionView, UNUSED_VIEWS_MAX};

/// After this a service is asked again that could not say whether the attached session is there.
const WATCH_AGAIN_MS: u64 = 5_000;

impl Gateway {
    /// Something needs the connection to be on the session of this view: what the view has, what opens the session once more,
    /// or a subscription that has no listener yet because it is not on all of its sessions.
    fn is_needed(&self, view: &SessionView) -> bool {
        view.is_used()
            || self.is_opening(&view.session)
            || self.subscribing.iter().any(|plan| plan.sessions.contains(&view.session))
    }
    fn unneeded(&self) -> impl Iterator<Item = (usize, &SessionView)> {
        self.views.iter().enumerate().filter(|(_, view)| !self.is_needed(view))
    }

    /// Leaves what nothing needs any more.
    pub(crate) fn leave_unused(&mut self, out: &mut Out) {
        let now_ms = out.now_ms;
        let is_due = |view: &SessionView| view.unused_since_ms + LEAVE_AFTER_MS <= now_ms;
        let due = |gateway: &Gateway| gateway.unneeded().find(|(_, view)| is_due(view)).map(|(at, _)| at);
        while let Some(at) = due(self) {
            self.leave(at, out);
        }
    }
    /// Who speaks to one session after the other is not on all of them.
    pub(crate) fn leave_too_many(&mut self, out: &mut Out) {
        while self.views.len() > UNUSED_VIEWS_MAX {
            let (count, longest) = self.unneeded().fold((0, None), |(count, longest), (at, view)| {
                let this = (view.unused_since_ms, at);
                (count + 1, longest.map_or(Some(this), |longest| Some(this.min(longest))))
            });
            match longest {
                Some((_, at)) if count > UNUSED_VIEWS_MAX => self.leave(at, out),
                _ => return,
            }
        }
    }
    fn leave(&mut self, at: usize, out: &mut Out) {
        let view = self.views.remove(at);
        // With a view, deletion is heard as `Gone`; without one a service must watch the attached session.
        if view.session == self.attached && view.at.seq > 0 {
            self.watch_attached(out);
        }
        let what = GatewayPending::apart(Wanted::Nothing);
        self.pending.submit(Target::Session(view.session), Verb::Leave, what, out);
    }
    fn watch_attached(&mut self, out: &mut Out) {
        let session = self.attached.clone();
        self.call(GatewayOwn::WhenDeleted { session: session.clone() }, WantedOfService::AttachedDeleted(session), out);
    }
    /// A service could not say whether the attached session is there: it is asked again in a moment.
    pub(crate) fn watch_failed(&mut self, session: &SessionId, out: &mut Out) {
        if self.is_attached_and_left(session) {
            self.watch_again_ms = Some(out.now_ms + WATCH_AGAIN_MS);
        }
    }
    pub(crate) fn watch_again(&mut self, out: &mut Out) {
        if self.watch_again_ms.is_some_and(|at| at <= out.now_ms) {
            self.watch_again_ms = None;
            if self.is_attached_and_left(&self.attached.clone()) {
                self.watch_attached(out);
            }
        }
    }
    fn is_attached_and_left(&self, session: &SessionId) -> bool {
        *session == self.attached && self.view_at(session).is_none() && !self.is_opening(session)
    }
    /// The attached session was deleted while the connection was not on it.
    pub(crate) fn attached_deleted(&mut self, session: &SessionId) {
        // Where it is on it again, somebody has made it anew.
        if self.is_attached_and_left(session) {
            self.attached = self.fresh_session();
        }
    }
    /// When the next may be left.
    pub(crate) fn leave_due(&self) -> Option<u64> {
        self.unneeded().map(|(_, view)| view.unused_since_ms + LEAVE_AFTER_MS).min()
    }
    /// Views that are needed now are not unused since earlier.
    pub(crate) fn note_use(&mut self, now_ms: u64) {
        // Drops plans of subscriptions whose request was answered already.
        let Gateway { subscribing, ledger, .. } = self;
        subscribing.retain(|plan| ledger.is_open(plan.id));
        for at in 0..self.views.len() {
            if self.is_needed(&self.views[at]) {
                self.views[at].unused_since_ms = now_ms;
            }
        }
    }
}
