//! Which model all sessions use, from now on and the next time.

use std::sync::Arc;

use vocab::ModelInfo;

use crate::Loaf;
use crate::faults::RpcFault;
use crate::frames::LoafCall;
use crate::models::{self, ANY_ROUTE};
use crate::own::{LoafOwn, Out, prefer};
use crate::pending::{Compacting, Listing, LoafPending, Select};
use crate::replies::compressed::compression;

impl Loaf {
    pub(crate) fn models_known(&mut self, call: &LoafCall, listing: Listing, out: &mut Out) {
        match listing {
            Listing::List { only } => {
                let answer = models::list(&self.models, only, &self.accounts, &self.choice);
                self.pen(out).result(call, answer);
            }
            Listing::Command => {
                let mut answer = self.choice.selected();
                answer["available"] = models::list(&self.models, None, &self.accounts, &self.choice);
                self.pen(out).result(call, answer);
            }
            Listing::Select(select) => self.selected(call, *select, out),
        }
    }

    /// A chat has another model. Where that is not our doing, another controller has chosen it, and it is the selected one from
    /// now on: this wire has one for all chats.
    pub(crate) fn model_changed(&mut self, info: &Arc<ModelInfo>, out: &mut Out) {
        let is_selected = self.choice.model.as_ref().is_some_and(|selected| selected.slug == info.slug);
        if is_selected || self.pending.iter().any(|why| matches!(why, LoafPending::Chosen)) {
            return;
        }
        self.choice.model = Some(info.clone());
        self.state_changed("model_selected", None, out);
    }

    pub(crate) fn selected(&mut self, call: &LoafCall, select: Select, out: &mut Out) {
        let Select { model, provider, thinking, route, compress } = select;
        let fits =
            |info: &&ModelInfo| models::provider(info) == provider && (*info.id == *model || *info.slug == *model);
        let Some(info) = self.models.iter().find(fits).cloned() else {
            let message = format!("unknown model for provider {provider}: {model}");
            return self.pen(out).fail(call, &RpcFault::domain("unknown_model", message));
        };
        self.choice.thinking = models::fitting(&info, Some(&thinking));
        self.choice.route = route.into();
        self.choice.model = Some(Arc::new(info));
        self.keep_choice(out);
        self.apply_choice(out);
        self.state_changed("model_selected", None, out);
        match compress.and_then(|view| self.view_at(view)) {
            Some(at) if !self.views[at].compacting => {
                let switched = self.views[at].provider.is_some_and(|before| before != provider);
                self.compact(at, Compacting::Select { call: call.clone(), switched }, out);
            }
            busy => {
                let mut answer = self.choice.selected();
                if let Some(at) = busy {
                    let view = &self.views[at];
                    answer["compression"] = compression(view, "none", view.anchor, None);
                }
                self.pen(out).result(call, answer);
            }
        }
    }

    /// What was listed last, and what is selected.
    pub(crate) fn known_models(&self) -> Vec<&ModelInfo> {
        self.models.iter().chain(self.choice.model.as_deref()).collect()
    }

    /// For this process and the next ones.
    pub(crate) fn keep_choice(&mut self, out: &mut Out) {
        let slug = self.choice.model.as_ref().map_or_else(|| "".into(), |info| info.slug.clone());
        let (thinking, route) = (self.choice.thinking.as_str(), self.choice.route.clone());
        for (key, value) in [(prefer::MODEL, slug), (prefer::THINKING, thinking.into()), (prefer::ROUTE, route.clone())]
        {
            self.call(LoafOwn::Prefer { key, value }, LoafPending::Nothing, out);
        }
        let to = Some(route).filter(|route| **route != *ANY_ROUTE);
        self.call(LoafOwn::Route { to }, LoafPending::Nothing, out);
    }
}
