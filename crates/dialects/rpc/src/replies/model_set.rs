//! Another model, by name or the next one.

use vocab::{Change, Fault, FaultKind, MODEL_NAME_CHARS_MAX, ModelInfo, Reply, SessionVerb, Verb, check_model_name};
use wire::Out;

use crate::faults::said;
use crate::frames::Writer;
use crate::inbound::RpcCall;
use crate::pending::{NamedModel, RpcPending};
use crate::{Rpc, models};

impl Rpc {
    pub(crate) fn model_set(
        &mut self,
        call: &RpcCall,
        name: &str,
        scoped: Option<bool>,
        result: &Result<Reply, Fault>,
        out: &mut Out,
    ) {
        let fault = match result {
            Err(fault) => fault,
            Ok(_) => return self.model_now(call, scoped, out),
        };
        let error = match fault.kind {
            // What is wrong with the name says more than that nobody has it.
            FaultKind::UnknownModel if check_model_name(name, MODEL_NAME_CHARS_MAX).is_err() => said(fault),
            FaultKind::UnknownModel | FaultKind::NotFound => format!("Model not found: {name}"),
            FaultKind::Auth => format!("No API key for {name}"),
            _ => said(fault),
        };
        self.refuse(call, &error, out);
    }

    /// Only what is listed is there; where a provider gives no list, those who serve it decide.
    pub(crate) fn model_found(
        &mut self,
        call: RpcCall,
        named: &NamedModel,
        result: &Result<Reply, Fault>,
        out: &mut Out,
    ) {
        let listed: &[ModelInfo] = match result {
            Ok(Reply::Models(models)) => models,
            _ => &[],
        };
        listed.iter().for_each(|model| self.view.known.meet(model));
        let of_provider = |model: &ModelInfo| *models::provider(model) == *named.provider;
        let unlisted =
            !listed.iter().any(of_provider) && self.view.known.model().is_some_and(|model| of_provider(model));
        let slug = self.view.known.slug_of(&named.provider, &named.id);
        match slug.or_else(|| unlisted.then(|| named.shown().into())) {
            Some(slug) => {
                let why = RpcPending::SetModel { call, name: named.shown(), scoped: None };
                self.send(Verb::Session(SessionVerb::Set(Change::Model(slug))), why, out);
            }
            None => self.refuse(&call, &format!("Model not found: {}", named.shown()), out),
        }
        self.moving = false;
        self.release(out);
    }

    pub(crate) fn model_now(&mut self, call: &RpcCall, scoped: Option<bool>, out: &mut Out) {
        let Some(state) = self.view.known.state.clone() else { return self.respond(call, None, out) };
        let model = |out: &mut Vec<u8>| models::write(&state.model_info, out);
        match scoped {
            None => self.respond(call, Some(&model), out),
            Some(scoped) => self.respond(
                call,
                Some(&|out| {
                    Writer::object(out, |w| {
                        w.key("model");
                        model(w.out);
                        w.text("thinkingLevel", models::level(&state)).flag("isScoped", scoped);
                    });
                }),
                out,
            ),
        }
    }

    pub(crate) fn cycle_model(&mut self, call: RpcCall, all: &[ModelInfo], out: &mut Out) {
        let scope = &self.options.scope;
        let wanted =
            |model: &&ModelInfo| scope.iter().any(|name| **name == *model.slug || **name == *models::full_name(model));
        let scoped: Vec<&ModelInfo> = all.iter().filter(wanted).collect();
        let is_scoped = !scope.is_empty();
        let choice = if is_scoped { scoped } else { all.iter().collect() };
        self.moving = false;
        if choice.len() < 2 {
            self.respond(&call, Some(&|out| out.extend(b"null")), out);
            return self.release(out);
        }
        let current = self.view.known.model().map(|model| model.slug.clone());
        let at = choice.iter().position(|model| Some(&model.slug) == current.as_ref());
        let next = choice[at.map_or(0, |at| (at + 1) % choice.len())].slug.clone();
        let why = RpcPending::SetModel { call, name: next.to_string(), scoped: Some(is_scoped) };
        self.send(Verb::Session(SessionVerb::Set(Change::Model(next))), why, out);
        self.release(out);
    }
}
