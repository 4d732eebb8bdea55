//! What the engine's answers mean: each belongs to one thing that was wanted, and each request ends in one response.

use crate::tool_names::TOOL_NAMES;
use serde_json::json;
use vocab::{Fault, FaultKind, Limits, Reply, Tag, Target, ToolSpec, Verb, Which};
use wire::Out;

use crate::Loaf;
use crate::accounts::{self, Then};
use crate::frames::Call;
use crate::history::{self};
use crate::messages::said;
use crate::methods::Method;
use crate::problem::Problem;
use crate::why::{Resume, Swap, Why};

impl Loaf {
    pub(crate) fn replied(&mut self, tag: Tag, result: &Result<Reply, Fault>, out: &mut Out) {
        let Some(why) = self.pending.remove(&tag) else { return };
        match (why, result) {
            (Why::Nothing, _) => {}
            (Why::Accounts(then), Ok(Reply::Accounts(accounts))) => self.accounts_known(then, Ok(accounts), out),
            (Why::Accounts(then), Err(fault)) => self.accounts_known(then, Err(fault), out),
            (Why::Accounts(then), Ok(_)) => self.accounts_known(then, Err(&something_else()), out),
            (Why::Skills(call), Ok(Reply::Skills(skills))) => {
                self.skills = vocab::Skills::clone(skills);
                self.skills_known(call, out);
            }
            // Skills that cannot be looked for are none.
            (Why::Skills(call), _) => self.skills_known(call, out),
            (Why::Create { call, id, title }, Ok(Reply::Opened(opened))) => self.created(&call, id, title, opened, out),
            (Why::Inspect { call, seat, created }, Ok(Reply::Inspected(inspection))) => {
                self.inspected(&call, seat, created, inspection, out);
            }
            (Why::Log { call, seat, waiting, again }, Ok(Reply::Recalled(recalled))) => {
                let told = self.seat_at(seat).map_or(0, |at| self.seats[at].newest());
                if !again && recalled.entries.last().is_none_or(|entry| entry.seq < told) {
                    // Read before the controller was told more; it would miss what it has seen already.
                    return self.read_log_again(call, seat, waiting, out);
                }
                self.show(&call, seat, &recalled.entries, &waiting, out);
            }
            (Why::Log { call, seat, waiting, .. }, Err(fault)) if fault.kind == FaultKind::NotFound => {
                self.show(&call, seat, &[], &waiting, out);
            }
            (Why::Picture(sending), Ok(Reply::Picture(picture))) => self.picture(*sending, Ok(picture), out),
            (Why::Picture(sending), Err(fault)) => self.picture(*sending, Err(fault), out),
            (Why::Picture(sending), Ok(_)) => self.picture(*sending, Err(&something_else()), out),
            (Why::Send(sending), result) => self.sent(*sending, result, out),
            (Why::Steer { call, seat }, result) => {
                let Some(at) = self.seat_at(seat) else { return };
                if let Ok(Reply::Waiting { item, .. }) = result {
                    self.seats[at].steers.push(item.clone());
                }
                self.steered(&call, at, result.is_ok(), out);
            }
            (Why::QueueList { call, seat }, Ok(Reply::Queue(items))) => {
                let Some(at) = self.seat_at(seat) else { return };
                let seat = &self.seats[at];
                let answer = json!({ "session_id": seat.id, "queue": seat.queue(items) });
                self.pen(out).result(&call, answer);
            }
            (Why::QueueClear { call, seat }, Ok(Reply::Queue(items))) => {
                let Some(at) = self.seat_at(seat) else { return };
                let answer = json!({ "session_id": self.seats[at].id, "cleared_count": items.len() });
                self.pen(out).result(&call, answer);
            }
            (Why::Sessions(call, page), Ok(Reply::Sessions(found))) => {
                let answer = page.show(found, &self.known_models());
                self.pen(out).result(&call, answer);
            }
            (Why::Recall { call, .. }, Ok(Reply::Recalled(recalled))) => {
                let answer = history::whole(recalled, &self.known_models());
                self.pen(out).result(&call, answer);
            }
            (Why::Recall { call, selector }, Err(fault)) => {
                self.pen(out).fail(&call, &selector.problem(fault));
            }
            (Why::Resume { call, seat, .. }, Ok(Reply::Recalled(recalled))) => {
                let said = said(&recalled.entries);
                let chat = recalled.saved.summary.id.clone();
                let resume = Resume { opens: chat.clone(), chat, said, other_model: false };
                self.resume_found(call, seat, resume, out);
            }
            (Why::Resume { call, seat, selector }, Err(fault)) => {
                self.pen(out).fail(&call, &selector.problem(fault));
                self.unlock(seat, out);
            }
            (Why::Copied { call, seat, resume }, Ok(Reply::Forked { session, .. })) => {
                let which = Which::Id(session.as_str().to_owned());
                let resume = Resume { opens: session.clone(), ..resume };
                self.want(Verb::Recall(which), Why::Reread { call, seat, resume }, out);
            }
            (Why::Reread { call, seat, resume }, Ok(Reply::Recalled(recalled))) => {
                self.open_chat(call, seat, Resume { said: said(&recalled.entries), ..resume }, out);
            }
            (Why::Swap { call, seat, swap }, Ok(Reply::Opened(opened))) => self.swapped(call, seat, swap, opened, out),
            (Why::Swap { call, seat, swap: Swap::Resume(resume) }, Err(fault))
                if fault.kind == FaultKind::UnknownModel && !resume.other_model && self.choice.model.is_some() =>
            {
                self.open_chat(call, seat, Resume { other_model: true, ..resume }, out);
            }
            (Why::Emptied { seat }, _) => self.emptied(seat, out),
            (Why::Models(call, listing), Ok(Reply::Models(list))) => {
                self.models.clone_from(list);
                self.models_known(&call, listing, out);
            }
            (Why::Models(call, _), Err(fault)) => {
                self.pen(out).fail(&call, &Problem::because("upstream_error", fault));
            }
            (Why::Tools(call), Ok(Reply::Tools(tools))) => {
                let answer = shown_tools(tools);
                self.pen(out).result(&call, answer);
            }
            (Why::Limits(call), Ok(Reply::Limits(limits))) if **limits == Limits::default() => {
                let problem = Problem::domain("no_oauth_provider", "limits requires at least one oauth provider");
                self.pen(out).fail(&call, &problem);
            }
            (Why::Limits(call), Ok(Reply::Limits(limits))) => {
                self.pen(out).result(&call, accounts::limits(limits));
            }
            (Why::Limits(call), Err(fault)) if fault.kind == FaultKind::Auth => {
                self.pen(out).fail(&call, &Problem::because("no_oauth_provider", fault));
            }
            (Why::Routes(call, model), Ok(Reply::Routes(providers))) => {
                self.pen(out).result(&call, json!({ "model_id": model, "providers": providers }));
            }
            (Why::Routes(call, _), Err(fault)) if fault.kind == FaultKind::Auth => {
                self.pen(out).fail(&call, &Problem::because("missing_credentials", fault));
            }
            (Why::SignIn(call, account), Ok(Reply::SignedIn(signed_in))) => {
                self.look_again(Then::SignedIn { call, account, signed_in: signed_in.clone() }, out);
            }
            (Why::SignIn(call, _), Err(fault)) => {
                self.pen(out).fail(&call, &Problem::because("auth_failed", fault));
            }
            (Why::OpenRouterKey(call), Ok(Reply::KeySet(set))) => {
                self.look_again(Then::OpenRouterKey { call, set: *set }, out);
            }
            (Why::ExaKey { call, skipped }, Ok(_)) => self.look_again(Then::ExaKey { call, skipped }, out),
            (Why::Forget { call, seat }, Ok(_)) => self.forgotten(call, seat, out),
            (Why::Compact { seat, before, how }, result) => self.compacted(seat, before, *how, result, out),
            (why, Err(fault)) => self.refused(&why, &fault.into(), out),
            (why, Ok(_)) => self.refused(&why, &(&something_else()).into(), out),
        }
    }

    /// A request that came to nothing.
    pub(crate) fn refused(&mut self, why: &Why, problem: &Problem, out: &mut Out) {
        match why.call() {
            Some(call) => self.pen(out).fail(call, problem),
            None => out.notes.push(problem.message.clone()),
        }
        match why {
            Why::Inspect { seat, created: true, .. } => self.uncreate(*seat, out),
            Why::Resume { seat, .. } | Why::Copied { seat, .. } | Why::Reread { seat, .. } | Why::Swap { seat, .. } => {
                self.unlock(*seat, out)
            }
            _ => {}
        }
    }

    /// A session whose controller never learned its id.
    pub(crate) fn uncreate(&mut self, seat: u64, out: &mut Out) {
        if let Some(at) = self.seat_at(seat) {
            let seat = self.seats.remove(at);
            self.submit(Target::Session(seat.session), Verb::Leave, Why::Nothing, out);
        }
    }

    pub(crate) fn unlock(&mut self, seat: u64, out: &mut Out) {
        if let Some(at) = self.seat_at(seat) {
            self.release(at, out);
        }
    }

    pub(crate) fn skills_known(&mut self, call: Option<Call>, out: &mut Out) {
        let Some(call) = call else {
            self.to_learn = self.to_learn.saturating_sub(1);
            return;
        };
        let answer = match call.method {
            Method::StateGet => self.snapshot(),
            _ => {
                let one = |skill: &vocab::SkillInfo| {
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
        };
        self.pen(out).result(&call, answer);
    }
}

fn something_else() -> Fault {
    Fault::new(FaultKind::Internal, "the engine answered something else")
}

/// Sorted by the names that models of this family know.
fn shown_tools(tools: &[ToolSpec]) -> serde_json::Value {
    let name = |tool: &ToolSpec| TOOL_NAMES.show(&tool.name).to_owned();
    let mut tools: Vec<(String, &ToolSpec)> = tools.iter().map(|tool| (name(tool), tool)).collect();
    tools.sort_by(|one, other| one.0.cmp(&other.0));
    let one = |(name, tool): &(String, &ToolSpec)| {
        let schema: serde_json::Value = serde_json::from_str(tool.schema.as_str()).unwrap_or_default();
        json!({ "name": name, "description": tool.description, "input_schema": schema })
    };
    json!({ "tools": tools.iter().map(one).collect::<Vec<_>>() })
}
