//! What the engine's answers mean: each belongs to one thing that was wanted, and each request ends in one response.

pub(crate) mod chats;
pub(crate) mod compressed;
pub(crate) mod model_chosen;
mod own_answers;

use crate::tool_names::TOOL_NAMES;
use serde_json::json;
use vocab::{DirectoryVerb, Fault, FaultKind, Reply, Tag, Target, ToolSpec, Verb, Which};

use crate::Loaf;
use crate::accounts::Then;
use crate::faults::RpcFault;
use crate::history::{self};
use crate::messages::said;
use crate::own::Out;
use crate::pending::{LoafPending, Resume, Swap};

impl Loaf {
    pub(crate) fn replied(&mut self, tag: Tag, result: &Result<Reply, Fault>, out: &mut Out) {
        let Some(pending) = self.pending.answered(tag) else { return };
        match pending {
            LoafPending::Nothing | LoafPending::Chosen => {}
            pending @ (LoafPending::Accounts(_) | LoafPending::SignIn(..)) => {
                self.account_replied(pending, result, out);
            }
            pending @ (LoafPending::Create { .. }
            | LoafPending::Inspect { .. }
            | LoafPending::Log { .. }
            | LoafPending::Sessions(..)
            | LoafPending::Recall { .. }
            | LoafPending::Resume { .. }
            | LoafPending::Copied { .. }
            | LoafPending::Reread { .. }
            | LoafPending::Swap { .. }
            | LoafPending::Emptied { .. }
            | LoafPending::Forget { .. }) => self.chat_replied(pending, result, out),
            pending @ (LoafPending::Send(_)
            | LoafPending::Steer { .. }
            | LoafPending::QueueList { .. }
            | LoafPending::QueueClear { .. }) => self.turn_replied(pending, result, out),
            pending @ (LoafPending::Models(..) | LoafPending::Tools(_) | LoafPending::Compact { .. }) => {
                self.model_replied(pending, result, out)
            }
            // The service's to answer.
            pending @ (LoafPending::Skills(_)
            | LoafPending::Image(_)
            | LoafPending::OpenRouterKey(_)
            | LoafPending::ExaKey { .. }
            | LoafPending::Limits(_)
            | LoafPending::Routes(..)) => self.answered_otherwise(&pending, result, out),
        }
    }

    /// Accounts and sign-ins.
    fn account_replied(&mut self, pending: LoafPending, result: &Result<Reply, Fault>, out: &mut Out) {
        match (pending, result) {
            (LoafPending::Accounts(then), Ok(Reply::Accounts(accounts))) => {
                self.accounts_known(then, Ok(accounts), out)
            }
            (LoafPending::Accounts(then), Err(fault)) => self.accounts_known(then, Err(fault), out),
            (LoafPending::Accounts(then), Ok(_)) => self.accounts_known(then, Err(&something_else()), out),
            (LoafPending::SignIn(call, account), Ok(Reply::SignedIn(signed_in))) => {
                self.look_again(Then::SignedIn { call, account, signed_in: signed_in.clone() }, out);
            }
            (LoafPending::SignIn(call, _), Err(fault)) => {
                self.pen(out).fail(&call, &RpcFault::because("auth_failed", fault));
            }
            (pending, result) => self.answered_otherwise(&pending, result, out),
        }
    }

    /// Sessions and the chats behind them.
    fn chat_replied(&mut self, pending: LoafPending, result: &Result<Reply, Fault>, out: &mut Out) {
        match (pending, result) {
            (LoafPending::Create { call, id, title }, Ok(Reply::Opened(opened))) => {
                self.created(&call, id, title, opened, out)
            }
            (LoafPending::Inspect { call, view, created }, Ok(Reply::Inspected(inspection))) => {
                self.inspected(&call, view, created, inspection, out);
            }
            (LoafPending::Log { call, view, waiting, again }, Ok(Reply::Recalled(recalled))) => {
                let told = self.view_at(view).map_or(0, |at| self.views[at].newest());
                if !again && recalled.entries.last().is_none_or(|entry| entry.seq < told) {
                    // Read before the controller was told more; it would miss what it has seen already.
                    return self.read_log_again(call, view, waiting, out);
                }
                self.show(&call, view, &recalled.entries, &waiting, out);
            }
            (LoafPending::Log { call, view, waiting, .. }, Err(fault)) if fault.kind == FaultKind::NotFound => {
                self.show(&call, view, &[], &waiting, out);
            }
            (LoafPending::Sessions(call, page), Ok(Reply::Sessions(found))) => {
                let answer = page.show(found, &self.known_models());
                self.pen(out).result(&call, answer);
            }
            (LoafPending::Recall { call, .. }, Ok(Reply::Recalled(recalled))) => {
                let answer = history::whole(recalled, &self.known_models());
                self.pen(out).result(&call, answer);
            }
            (LoafPending::Recall { call, selector }, Err(fault)) => {
                self.pen(out).fail(&call, &selector.problem(fault));
            }
            (LoafPending::Resume { call, view, .. }, Ok(Reply::Recalled(recalled))) => {
                let said = said(&recalled.entries);
                let chat = recalled.saved.summary.id.clone();
                let resume = Resume { opens: chat.clone(), chat, said, other_model: false };
                self.resume_found(call, view, resume, out);
            }
            (LoafPending::Resume { call, view, selector }, Err(fault)) => {
                self.pen(out).fail(&call, &selector.problem(fault));
                self.unlock(view, out);
            }
            (LoafPending::Copied { call, view, resume }, Ok(Reply::Forked { session, .. })) => {
                let which = Which::Id(session.as_str().to_owned());
                let resume = Resume { opens: session.clone(), ..resume };
                self.want(
                    Verb::Directory(DirectoryVerb::Recall(which)),
                    LoafPending::Reread { call, view, resume },
                    out,
                );
            }
            (LoafPending::Reread { call, view, resume }, Ok(Reply::Recalled(recalled))) => {
                self.open_chat(call, view, Resume { said: said(&recalled.entries), ..resume }, out);
            }
            (LoafPending::Swap { call, view, swap }, Ok(Reply::Opened(opened))) => {
                self.swapped(call, view, swap, opened, out)
            }
            (LoafPending::Swap { call, view, swap: Swap::Resume(resume) }, Err(fault))
                if fault.kind == FaultKind::UnknownModel && !resume.other_model && self.choice.model.is_some() =>
            {
                self.open_chat(call, view, Resume { other_model: true, ..resume }, out);
            }
            (LoafPending::Emptied { view }, _) => self.emptied(view, out),
            (LoafPending::Forget { call, view }, Ok(_)) => self.forgotten(call, view, out),
            (pending, result) => self.answered_otherwise(&pending, result, out),
        }
    }

    /// Prompts, steering and the queue.
    fn turn_replied(&mut self, pending: LoafPending, result: &Result<Reply, Fault>, out: &mut Out) {
        match (pending, result) {
            (LoafPending::Send(sending), result) => self.sent(*sending, result, out),
            (LoafPending::Steer { call, view }, result) => {
                let Some(at) = self.view_at(view) else { return };
                if let Ok(Reply::Waiting { item, .. }) = result {
                    self.views[at].steers.push(item.clone());
                }
                match result {
                    Err(fault) if fault.kind == FaultKind::WorksForCall => self.pen(out).fail(&call, &fault.into()),
                    result => self.steered(&call, at, result.is_ok(), out),
                }
            }
            (LoafPending::QueueList { call, view }, Ok(Reply::Queue(items))) => {
                let Some(at) = self.view_at(view) else { return };
                let view = &self.views[at];
                let answer = json!({ "session_id": view.id, "queue": view.queue(items) });
                self.pen(out).result(&call, answer);
            }
            (LoafPending::QueueClear { call, view }, Ok(Reply::Queue(items))) => {
                let Some(at) = self.view_at(view) else { return };
                let answer = json!({ "session_id": self.views[at].id, "cleared_count": items.len() });
                self.pen(out).result(&call, answer);
            }
            (pending, result) => self.answered_otherwise(&pending, result, out),
        }
    }

    /// Models, their tools, and a context that was compressed.
    fn model_replied(&mut self, pending: LoafPending, result: &Result<Reply, Fault>, out: &mut Out) {
        match (pending, result) {
            (LoafPending::Models(call, listing), Ok(Reply::Models(list))) => {
                self.models.clone_from(list);
                self.models_known(&call, listing, out);
            }
            (LoafPending::Models(call, _), Err(fault)) => {
                self.pen(out).fail(&call, &RpcFault::because("upstream_error", fault));
            }
            (LoafPending::Tools(call), Ok(Reply::Tools(tools))) => {
                let answer = shown_tools(tools);
                self.pen(out).result(&call, answer);
            }
            (LoafPending::Compact { view, before, how }, result) => self.compacted(view, before, *how, result, out),
            (pending, result) => self.answered_otherwise(&pending, result, out),
        }
    }

    /// A refusal of the engine's, or an answer that does not fit.
    fn answered_otherwise(&mut self, pending: &LoafPending, result: &Result<Reply, Fault>, out: &mut Out) {
        match result {
            Err(fault) => self.refused(pending, &fault.into(), out),
            Ok(_) => self.refused(pending, &(&something_else()).into(), out),
        }
    }

    /// A request that came to nothing.
    pub(crate) fn refused(&mut self, pending: &LoafPending, problem: &RpcFault, out: &mut Out) {
        match pending.call() {
            Some(call) => self.pen(out).fail(call, problem),
            None => out.notes.push(problem.message.clone()),
        }
        match pending {
            LoafPending::Inspect { view, created: true, .. } => self.uncreate(*view, out),
            LoafPending::Resume { view, .. }
            | LoafPending::Copied { view, .. }
            | LoafPending::Reread { view, .. }
            | LoafPending::Swap { view, .. } => self.unlock(*view, out),
            _ => {}
        }
    }

    /// A session whose controller never learned its id.
    pub(crate) fn uncreate(&mut self, view: u64, out: &mut Out) {
        if let Some(at) = self.view_at(view) {
            let view = self.views.remove(at);
            self.submit(Target::Session(view.session), Verb::Leave, LoafPending::Nothing, out);
        }
    }

    pub(crate) fn unlock(&mut self, view: u64, out: &mut Out) {
        if let Some(at) = self.view_at(view) {
            self.release(at, out);
        }
    }
}

pub(crate) fn something_else() -> Fault {
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
