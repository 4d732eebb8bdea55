//! What is done about a context that is nearly full before a run's last frames go: a service writes down what the session is
//! about, and people are told so when it is on the disk.

use vocab::{SessionId, TurnId};

use crate::Gateway;
use crate::context;
use crate::faults::RunEnd;
use crate::own::{GatewayAnswer, GatewayOwn, GatewayRefusal, Out};
use crate::pending::WantedOfService;
use crate::results::Budget;
use crate::session_view::{AboutContext, EndedRun};

impl Gateway {
    /// The run with what is to be said of its context; `None`: that is known later, and it ends then.
    pub(crate) fn with_checkpoint(
        &mut self,
        at: usize,
        mut ended: EndedRun,
        outcome: &RunEnd,
        out: &mut Out,
    ) -> Option<EndedRun> {
        let Some(rules) = self.options.context else { return Some(ended) };
        if *outcome != RunEnd::Complete || !matches!(ended.context, AboutContext::Unknown) {
            return Some(ended);
        }
        let view = &mut self.views[at];
        let (used, window) = (view.state.context_tokens, view.state.context_window);
        let budget = Budget::of(used, window, self.options.compact_pct);
        let saves = rules.wants_checkpoint(budget.usage_pct) && !ended.ids.is_empty();
        let warning = context::warning(&rules, budget, ended.run.compacted, &mut view.warned);
        ended.context = warning.map_or(AboutContext::Nothing, |it| AboutContext::Warning(Box::new(it)));
        if !saves || matches!(ended.context, AboutContext::Nothing) {
            return Some(ended);
        }
        let (session, turn) = (view.session.clone(), ended.run.turn.clone());
        view.ended.push(ended);
        let call = GatewayOwn::Checkpoint { session: session.clone(), turn: turn.clone() };
        self.call(call, WantedOfService::Checkpointed { session, turn }, out);
        None
    }

    /// The session is gone: nobody waits for its checkpoints. The runs were complete all the same.
    pub(crate) fn end_without_checkpoints(&mut self, at: usize, out: &mut Out) {
        let is_known = |ended: &mut EndedRun| !matches!(ended.context, AboutContext::Unknown);
        let ended: Vec<EndedRun> = self.views[at].ended.extract_if(.., is_known).collect();
        for ended in ended {
            self.run_over(at, ended, out);
        }
    }

    /// It is saved, or not; the run ends either way.
    pub(crate) fn checkpointed(
        &mut self,
        session: &SessionId,
        turn: &TurnId,
        answer: Result<GatewayAnswer, GatewayRefusal>,
        out: &mut Out,
    ) {
        let Some(at) = self.view_at(session) else { return };
        let Some(place) = self.views[at].ended.iter().position(|ended| ended.run.turn == *turn) else { return };
        let mut ended = self.views[at].ended.remove(place);
        if let (AboutContext::Warning(warning), Ok(GatewayAnswer::Checkpointed { namespace: Some(namespace) })) =
            (&mut ended.context, answer)
        {
            context::saved_as(warning, namespace);
        }
        self.run_over(at, ended, out);
    }
}
