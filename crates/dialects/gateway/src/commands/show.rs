//! Carrying a slash command out on a session, and what its sender reads.

use std::sync::Arc;

use serde_json::{Value, json};
use vocab::{Change, Inspection, SessionId, SessionVerb, SlashOutcome, SlashReply};

use super::subagents::SubagentsFound;
use super::{CommandPlan, PairWish, QueueChange, help, lane_line};
use crate::Gateway;
use crate::events::{self, ContentData, DoneData};
use crate::ledger::{Awaits, RequestId, Terminal};
use crate::own::{GatewayOwn, GatewayRefusal, Out};
use crate::pending::{WantedOfService, WorkEnd, WorkPart};
use crate::results::{CommandDone, QueuePolicy, SendResult, UsageSum};
use crate::services::ServiceCall;
use crate::services::pairing::{PairingAnswer, PairingCall};
use crate::shape::AnyJson;
use crate::tool_names::TOOL_NAMES;

/// What came of its commands.
pub(crate) struct Done {
    pub(crate) refused: Option<GatewayRefusal>,
    pub(crate) inspected: Option<Box<Inspection>>,
    pub(crate) slash: Option<Box<SlashReply>>,
    pub(crate) used: Option<Box<SlashReply>>,
    pub(crate) paired: Option<PairingAnswer>,
    pub(crate) subagents: Option<SubagentsFound>,
    pub(crate) active: bool,
    pub(crate) queued: u64,
}

/// What is read: whether it was done, the text, and the same for programs.
struct CommandSaid {
    ok: bool,
    text: String,
    data: Value,
}

impl Gateway {
    pub(crate) fn command_on(&mut self, at: usize, id: RequestId, plan: CommandPlan, out: &mut Out) {
        let session = self.views[at].session.clone();
        let work = self.begin_work(id, WorkEnd::Command { session: session.clone(), plan: plan.clone() });
        match plan {
            CommandPlan::Queue(change) => {
                let change = match change {
                    QueueChange::None => None,
                    QueueChange::Set(part) => Some(Change::Lane(part.wish())),
                    QueueChange::Usual => Some(Change::LaneUsual),
                };
                if let Some(change) = change {
                    self.work_part(work, &session, SessionVerb::Set(change), WorkPart::Set, out);
                }
                self.work_part(work, &session, SessionVerb::Inspect, WorkPart::Inspect, out);
            }
            CommandPlan::Status => {
                let slash = |name: &str| SessionVerb::Slash { name: name.to_owned(), args: String::new() };
                self.work_part(work, &session, slash("status"), WorkPart::Slash, out);
                self.work_part(work, &session, slash("cost"), WorkPart::Used, out);
                self.work_part(work, &session, SessionVerb::Inspect, WorkPart::Inspect, out);
            }
            CommandPlan::Stop(_) => self.clear_and_interrupt(&session, work, out),
            CommandPlan::Engine { name, args, .. } => {
                let verb = SessionVerb::Slash { name: name.to_owned(), args };
                let tag = self.work_part(work, &session, verb, WorkPart::Slash, out);
                // The others are done at once, or not worth stopping.
                if name == "compact" {
                    self.ledger.put(id, Awaits::Asked { session: Some(session), aside: Some(tag) });
                }
            }
            CommandPlan::Reset => {
                self.work_part(work, &session, SessionVerb::StartOver, WorkPart::Set, out);
            }
            CommandPlan::Elevate(minutes) => {
                let now_ms = self.options.clock.now_ms();
                let until_ms = minutes.map(|minutes| now_ms + minutes * 60_000);
                let verb = SessionVerb::Set(Change::Elevate { until_ms });
                self.work_part(work, &session, verb, WorkPart::Set, out);
                self.work_part(work, &session, SessionVerb::Inspect, WorkPart::Inspect, out);
            }
            CommandPlan::Pair(wish) => {
                let call = match wish {
                    PairWish::Generate(channel) => PairingCall::Generate { channel },
                    PairWish::List => PairingCall::List,
                    PairWish::Revoke(code) => PairingCall::RevokeCode { code },
                };
                self.work(work, |work| work.left += 1);
                let call = GatewayOwn::Service(Box::new(ServiceCall::Pairing(call)));
                self.call(call, WantedOfService::Paired(work), out);
            }
            CommandPlan::Subagents(wish) => self.ask_for_subagents(session, &wish, work, out),
            CommandPlan::Help | CommandPlan::Refused { .. } => self.work_done(work, out),
        }
    }

    pub(crate) fn command_done(
        &mut self,
        id: RequestId,
        session: &SessionId,
        plan: CommandPlan,
        done: Done,
        out: &mut Out,
    ) {
        let name = plan.shown().to_owned();
        let called = self.view_mut(session).and_then(|view| view.state.model_called.clone());
        let spoken = spoken(plan, done, called);
        let usage = UsageSum::of(&vocab::Usage::default(), None);
        let content: Arc<str> = spoken.text.into();
        let text = ContentData { text: content.to_string(), transient: None, is_final: None };
        self.ledger.event(id, &events::tail("content", &text), out);
        let said = DoneData {
            content: Some(content.clone()),
            usage: usage.clone(),
            run_id: None,
            model: None,
            duration_ms: None,
        };
        self.ledger.event(id, &events::tail("done", &said), out);
        let data = AnyJson(vocab::Json::trusted(spoken.data.to_string()));
        let result = SendResult {
            response: content.clone(),
            content,
            usage,
            session_id: session.to_string(),
            run_id: None,
            stop_reason: None,
            model: None,
            replayed: None,
            steered: None,
            collected: None,
            command: Some(CommandDone { name, ok: spoken.ok, data }),
        };
        self.ledger.settle(id, Terminal::Result(&crate::written(&result)), out);
    }
}

/// `called`: what the model of the session was chosen by, where that is not its own name.
fn spoken(plan: CommandPlan, done: Done, called: Option<Arc<str>>) -> CommandSaid {
    if let Some(refused) = done.refused {
        let data = json!({"code": refused.code.number(), "reason": refused.reason});
        return CommandSaid { ok: false, text: refused.message, data };
    }
    let good = |text: String, data: Value| CommandSaid { ok: true, text, data };
    if let Some(paired) = done.paired {
        return paired_said(&paired);
    }
    if let Some(found) = done.subagents {
        let (ok, text, data) = super::subagents::said(&found);
        return CommandSaid { ok, text, data };
    }
    match (plan, done.inspected, done.slash) {
        (CommandPlan::Queue(_), Some(it), _) => {
            let (text, data) = lane_said(&it);
            good(text, data)
        }
        (CommandPlan::Status, Some(it), Some(reply)) => {
            let (lane, lane_data) = lane_said(&it);
            let mut data = reply.result.as_ref().map_or_else(|_| json!({}), |it| outcome_data(it, called));
            data["lane"] = lane_data;
            let text = |reply: &SlashReply| wire::slash::text(reply, &TOOL_NAMES);
            let mut lines = format!("{}\n{lane}", text(&reply));
            if let Some(used) = &done.used {
                lines = format!("{lines}\nusage: {}", text(used));
                data["usage"] = used.result.as_ref().map_or(Value::Null, |it| outcome_data(it, None));
            }
            good(lines, data)
        }
        (CommandPlan::Stop(_), ..) => {
            let (active, queued) = (done.active, done.queued);
            let text = match (active, queued) {
                (false, 0) => "nothing runs and nothing waits".to_owned(),
                (true, 0) => "stopped what runs".to_owned(),
                (false, queued) => format!("took back {queued} waiting message(s)"),
                (true, queued) => format!("stopped what runs and took back {queued} waiting message(s)"),
            };
            good(text, json!({"cancelled": active || queued > 0, "active": active, "queued": queued}))
        }
        (CommandPlan::Engine { .. }, _, Some(reply)) => {
            let ok = reply.result.is_ok();
            let data = match &reply.result {
                Ok(outcome) => outcome_data(outcome, called),
                Err(fault) => json!({"message": fault.message}),
            };
            CommandSaid { ok, text: wire::slash::text(&reply, &TOOL_NAMES), data }
        }
        (CommandPlan::Reset, ..) => good("the conversation starts over".to_owned(), json!({})),
        (CommandPlan::Elevate(minutes), Some(it), _) => {
            let until = it.state.elevated_until_ms;
            let text = match minutes {
                Some(minutes) => format!("nobody is asked for {minutes} minute(s)"),
                None => "questions are asked again".to_owned(),
            };
            good(text, json!({"active": until.is_some(), "untilMs": until}))
        }
        (CommandPlan::Help, ..) => good(help(), json!({})),
        (CommandPlan::Refused { text, .. }, ..) => CommandSaid { ok: false, text, data: json!({}) },
        (
            CommandPlan::Queue(_)
            | CommandPlan::Status
            | CommandPlan::Engine { .. }
            | CommandPlan::Elevate(_)
            | CommandPlan::Pair(_)
            | CommandPlan::Subagents(_),
            ..,
        ) => CommandSaid { ok: false, text: "no answer came".to_owned(), data: json!({}) },
    }
}

/// The lane's rules, for people and for programs.
fn lane_said(it: &Inspection) -> (String, Value) {
    let mut data = serde_json::to_value(QueuePolicy::from(&it.lane)).unwrap_or_default();
    data["depth"] = json!(it.waiting.len());
    data["own"] = json!(it.state.lane_is_own);
    (lane_line(&it.lane, it.waiting.len(), it.state.lane_is_own), data)
}

fn paired_said(paired: &PairingAnswer) -> CommandSaid {
    let (text, data) = match paired {
        PairingAnswer::Generated(it) => (format!("code: {}", it.code), serde_json::to_value(it)),
        PairingAnswer::Listed(it) => {
            let text = format!("{} code(s), {} sender(s) let in", it.codes.len(), it.approved.len());
            (text, serde_json::to_value(it))
        }
        PairingAnswer::Revoked(it) => {
            let text = if it.revoked { "it is void now" } else { "there is no such code" };
            (text.to_owned(), serde_json::to_value(it))
        }
    };
    CommandSaid { ok: true, text, data: data.unwrap_or_default() }
}

/// For programs: what has numbers or names in it.
fn outcome_data(outcome: &SlashOutcome, called: Option<Arc<str>>) -> Value {
    match outcome {
        SlashOutcome::Context(it) => json!({
            "estimatedTokens": it.used, "contextWindow": it.window, "usagePct": it.percent, "messages": it.messages,
        }),
        SlashOutcome::Status { state, .. } => json!({
            "sessionId": state.session.as_str(), "model": state.model, "mode": state.mode.as_str(),
            "runId": state.turn.as_ref().map(|turn| turn.as_str()), "messages": state.messages,
        }),
        SlashOutcome::Cost { input_tokens, output_tokens, turns, dollars, .. } => {
            json!({"inputTokens": input_tokens, "outputTokens": output_tokens, "runs": turns, "costUsd": dollars})
        }
        SlashOutcome::Model { model, models, .. } => {
            json!({"modelTier": called.as_ref().unwrap_or(model), "model": model, "available": models})
        }
        SlashOutcome::Compacted(it) => json!({
            "compacted": it.nothing.is_none(), "messagesBefore": it.messages_before, "messagesAfter": it.messages_after,
        }),
        SlashOutcome::Tools(rows) => {
            json!({"tools": rows.iter().map(|row| TOOL_NAMES.show(&row.name)).collect::<Vec<_>>()})
        }
        _ => json!({}),
    }
}
