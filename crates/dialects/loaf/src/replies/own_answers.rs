//! What the answers of the service beside the engine mean.

use serde_json::{Value, json};
use vocab::{Fault, FaultKind, Tag};

use crate::Loaf;
use crate::accounts::{self, Then};
use crate::faults::RpcFault;
use crate::frames::LoafCall;
use crate::methods::Method;
use crate::own::{LoafAnswer, LoafLimits, Out, SkillRow};
use crate::pending::LoafPending;
use crate::replies::something_else;

impl Loaf {
    pub(crate) fn answered(&mut self, tag: Tag, answer: Result<LoafAnswer, Fault>, out: &mut Out) {
        let Some(pending) = self.pending.answered(tag) else { return };
        match (pending, answer) {
            (LoafPending::Nothing | LoafPending::Chosen, _) => {}
            (LoafPending::Skills(call), answer) => {
                // Skills that cannot be looked for are none.
                if let Ok(LoafAnswer::Skills(skills)) = answer {
                    self.skills = *skills;
                }
                self.skills_known(call, out);
            }
            (LoafPending::Image(sending), Ok(LoafAnswer::Image(image))) => self.image(*sending, Ok(*image), out),
            (LoafPending::Image(sending), Err(fault)) => self.image(*sending, Err(&fault), out),
            (LoafPending::Image(sending), Ok(_)) => self.image(*sending, Err(&something_else()), out),
            (LoafPending::Limits(call), Ok(LoafAnswer::Limits(limits))) if *limits == LoafLimits::default() => {
                let problem = RpcFault::domain("no_oauth_provider", "limits requires at least one oauth provider");
                self.pen(out).fail(&call, &problem);
            }
            (LoafPending::Limits(call), Ok(LoafAnswer::Limits(limits))) => {
                self.pen(out).result(&call, accounts::limits(&limits));
            }
            (LoafPending::Limits(call), Err(fault)) if fault.kind == FaultKind::Auth => {
                self.pen(out).fail(&call, &RpcFault::because("no_oauth_provider", &fault));
            }
            (LoafPending::Routes(call, model), Ok(LoafAnswer::Routes(providers))) => {
                self.pen(out).result(&call, json!({ "model_id": model, "providers": providers }));
            }
            (LoafPending::Routes(call, _), Err(fault)) if fault.kind == FaultKind::Auth => {
                self.pen(out).fail(&call, &RpcFault::because("missing_credentials", &fault));
            }
            (LoafPending::OpenRouterKey(call), Ok(LoafAnswer::KeySet(tried))) => {
                self.look_again(Then::OpenRouterKey { call, tried }, out);
            }
            (LoafPending::ExaKey { call, skipped }, Ok(_)) => self.look_again(Then::ExaKey { call, skipped }, out),
            (pending, Err(fault)) => self.refused(&pending, &(&fault).into(), out),
            (pending, Ok(_)) => self.refused(&pending, &(&something_else()).into(), out),
        }
    }

    fn skills_known(&mut self, call: Option<LoafCall>, out: &mut Out) {
        let Some(call) = call else {
            self.to_learn = self.to_learn.saturating_sub(1);
            return;
        };
        let answer = match call.method {
            Method::StateGet => self.snapshot(),
            _ => self.skill_rows(),
        };
        self.pen(out).result(&call, answer);
    }

    fn skill_rows(&self) -> Value {
        let one = |skill: &SkillRow| {
            json!({
                "name": skill.name,
                "description": skill.description,
                "description_preview": skill.preview,
                "source_path": skill.source,
            })
        };
        let found = &self.skills;
        let rows: Vec<_> = found.skills.iter().map(one).collect();
        json!({ "directories": found.directories, "errors": found.errors, "skills": rows })
    }
}
