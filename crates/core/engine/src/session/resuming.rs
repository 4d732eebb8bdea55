//! A turn that the end of a process cut off goes on here, where the rule of the session says so ([`OnRestart::Continue`]).
//!
//! The rule is that of whoever loads the session (flag, configuration, [`vocab::Open`]); the log does not have it. A session is
//! loaded by another program than the one that left it often enough, and a conversation must not begin to run tools in a program
//! whose user asked for nothing, nor because a file says so that came from elsewhere.
//!
//! What is rebuilt is what the log knows ([`OpenTurn`]): the reply's calls and their results, rounds, cost, changes, tries, the
//! model that stood in, what waits, what was allowed for good, the open question under its own id. What it does not know:
//!
//! * A reply that was not finished is asked for again. The log has no parts of replies; what was shown of it is gone, of what
//!   it cost the input is estimated, and a note marks the place.
//! * A call that only reads is run again. One that can change something and was begun may have run: a person is asked
//!   ([`PermissionAsk::may_have_run`]). Allowed, it runs again; denied, the model is told that it may have run.
//! * A call of subagents is such a call. Its children are not taken up: they worked for a call that is gone, and their logs end
//!   where they were. What they cost stands there, and is read from there ([`super::budget::LostSpending`]).
//! * A call that a controller was to run stays open under its id until a controller offers a tool of that name, as a
//!   controller that comes back does; numbers of peers mean nothing after a restart. Other tools of a controller are there
//!   again when it offers them. One that an extension was to run is as any call of ours.
//! * The time that it has ends when it would have ended: a turn whose time is over by then is closed, and does not go on.
//! * What an extension had asked is withdrawn, and what it had added to the system prompt of this turn is gone.
//! * A compaction that was under way is made again when the next call needs it.
//!
//! A write that fails in a living process ends the turn as ever: its peers were told so.

use tokio::time::Instant;
use vocab::{
    Answer, AskEnd, AskEntry, AskKind, Body, Call, CutBy, Fault, FaultKind, NoteEntry, OnRestart, PeerId,
    PermissionAsk, Required,
};

use super::Session;
use super::activity::TurnWaits;
use super::approvals::{OpenAsk, host_outcome};
use super::model_view::{BegunCall, Branch, OpenTurn, PastAsk, Standing};
use super::turn::{Turn, Verdict};
use crate::permission::Decision;

/// Why a question is asked about a call that was begun. Every dialect shows it with the question.
const DOUBT: &str = "it was begun before a restart and may have run: allow to run it again, deny to leave it at that";

impl Session {
    /// What people have allowed for good, how often we went on by ourselves, and the rules of the queue.
    pub(super) fn remember(&mut self, branch: &Branch) {
        self.reminders.given = branch.reminders;
        // The rules of the queue are those that its people chose; the totals beside the log may be an older version's.
        if !branch.lane.is_empty() && branch.lane != self.settings.own().lane {
            self.settings.set_lane(branch.lane);
            self.set_queue_policy();
        }
        for (seq, asked) in &branch.allowed {
            self.approvals.remember(*seq, asked);
        }
    }

    /// Takes the turn up where its log ends. Everything else that was open is closed, and the log is in memory.
    pub(super) fn continue_turn(&mut self, mut open: OpenTurn) {
        if self.prompts.queue.run_unasked().is_err() {
            return;
        }
        self.extensions.met = true;
        self.hear_of_extensions();
        self.start_own_servers();
        self.mcp.first_call = true;
        self.log_settings();
        // Behind the mark no note comes that would number the reply anew which its peers are told by then.
        self.log_repair();
        self.log(Body::Note(NoteEntry::Recovered { text: mark(open.stands).into() }));
        if open.stands == Standing::Start && self.tools.has_extensions() {
            self.keep_opening(&open.opening);
        }
        self.log.peers.was_told(&open.round);
        self.log.goes_on(open.id.clone());
        if let Some(asked) = open.budget_ask.take() {
            self.ask_again(*asked);
        }
        if let Some(until_ms) = open.until_ms {
            self.limits().go_on(&open.id, until_ms);
        }
        let (model, rules) = (self.settings.asked().slug.clone(), self.turn_rules());
        self.prompts.turn_started = Instant::now();
        self.activity.resume_turn(|fx| Turn::resume(open, model, rules, fx));
        self.queue_up_again();
    }

    /// What becomes of a call that was begun before the restart and has no result.
    pub(super) fn take_up(&mut self, call: Call, begun: BegunCall) {
        let Some(PastAsk { entry, ask, end }) = begun.ask.map(|asked| *asked) else {
            let verdict = self.verdict_again(&call, false);
            return self.with_turn(|turn, fx| turn.judged(verdict, None, fx));
        };
        let verdict = match (ask.kind, end) {
            // The rules of the process that goes on are others: whatever somebody answers, it would not run.
            (AskKind::Permission(asked), None) if self.denied_by_rules(&asked.tool).is_some() => {
                self.log(Body::Ask(AskEntry::Closed { ask: ask.id, end: AskEnd::Withdrawn }));
                if asked.may_have_run { Verdict::Lost } else { self.verdict_on(&call) }
            }
            (AskKind::Permission(asked), None) => {
                // A tool that is not there yet, because its server is not, was asked about as one that changes something.
                let mutation = match self.planned(&call.name, &asked.input) {
                    Ok((_, plan)) => plan.mutation,
                    Err(_) => (asked.required > Required::ReadOnly).then(|| asked.tool.clone()),
                };
                let kind = AskKind::Permission(asked.clone());
                self.approvals.insert(ask.id, OpenAsk { kind, entry, owner: None, dialog: None });
                Verdict::Asked { ask: asked, mutation }
            }
            (AskKind::Permission(_), Some(AskEnd::Answered { answer, .. })) if is_allow(&answer) => {
                self.verdict_again(&call, true)
            }
            (AskKind::Permission(asked), Some(AskEnd::Answered { answer, .. })) if !asked.may_have_run => {
                let reason = match answer {
                    Answer::Deny(Some(reason)) => reason.to_string(),
                    _ => super::turn::DENIED.to_owned(),
                };
                Verdict::Deny { tool: asked.tool, reason }
            }
            (AskKind::HostCall { tool, .. }, None) if self.tools.owner_of(&self.settings, &tool).is_some() => {
                self.log(Body::Ask(AskEntry::Closed { ask: ask.id, end: AskEnd::Withdrawn }));
                self.verdict_again(&call, false)
            }
            (kind @ AskKind::HostCall { .. }, None) => {
                self.activity.wait(TurnWaits::Host { since: Instant::now() });
                self.approvals.insert(ask.id, OpenAsk { kind, entry, owner: None, dialog: None });
                Verdict::Delegated { tool: call.name.clone() }
            }
            // It has run, and only its record is missing.
            (AskKind::HostCall { tool, .. }, Some(AskEnd::Answered { answer, .. })) => {
                let (outcome, verdict) = (host_outcome(&tool, answer), Verdict::Delegated { tool });
                self.with_turn(|turn, fx| turn.judged(verdict, None, fx));
                return self.call_ran(outcome, 0);
            }
            _ => Verdict::Lost,
        };
        self.with_turn(|turn, fx| turn.judged(verdict, None, fx));
    }

    /// A call that was begun: run again where it only reads, and asked about where it does not. `is_allowed`: a person had
    /// allowed it.
    fn verdict_again(&self, call: &Call, is_allowed: bool) -> Verdict {
        let input = call.input.json();
        let Ok((name, plan)) = self.planned(&call.name, &input) else { return Verdict::Lost };
        if self.is_read_only(&name, plan.required) {
            return match is_allowed && self.denied_by_rules(&name).is_none() {
                true => Verdict::Allow { tool: name, granted: plan.required, mutation: plan.mutation },
                false => self.verdict_on(call),
            };
        }
        let denied = self.decide(&name, plan.required);
        let nobody = self.is_unanswerable() && !self.settings.keeps_asks();
        if nobody || matches!(denied, Decision::Deny(_)) {
            return Verdict::Lost;
        }
        let mutation = plan.mutation.clone();
        let asked = self.permission_ask(call.id.clone(), name, input, plan);
        Verdict::Ask { ask: PermissionAsk { reason: Some(DOUBT.into()), may_have_run: true, ..asked }, mutation }
    }

    /// Whether a call of it changes nothing, as far as we know ourselves.
    fn is_read_only(&self, name: &str, required: Required) -> bool {
        match self.tools.find(&self.settings, name) {
            Some(tool) => self.only_reads(&tool, required),
            None => required == Required::ReadOnly,
        }
    }

    /// A controller has brought tools: calls that waited for one of that name are its.
    pub(super) fn hand_over_calls(&mut self, peer: PeerId) {
        let Some(outbox) = self.log.peers.outbox_of(peer).cloned() else { return };
        let (tools, settings) = (&self.tools, &self.settings);
        let given = self.approvals.give(peer, |tool| tools.owner_of(settings, tool) == Some(peer));
        // Whoever still reads the past is told in its place, or when it has read all of it.
        if self.log.peers.is_reading(peer) {
            return self.approvals.tell_later(peer, &given);
        }
        for entry in given {
            if self.log.told(entry.seq) {
                self.log.peers.tell_one(&outbox, vocab::Event::Logged(entry));
            }
        }
    }

    /// The session is to end as soon as it can, and its turn waits for a person: that can go on in the next process.
    pub(super) fn leave_question(&mut self) {
        let is_kept = self.settings.on_restart == OnRestart::Continue;
        if is_kept && self.activity.turn().is_some_and(Turn::is_asking) {
            self.suspend_turn();
        }
    }

    /// The session ends, and its turn is to go on in the next process: what runs is dropped, and the log is left as it is.
    pub(super) fn suspend_turn(&mut self) {
        // What somebody has stopped is over in the next process, too.
        let is_stopped = self.prompts.queue.is_stopping();
        if self.settings.on_restart == OnRestart::Close || is_stopped || self.activity.turn().is_none() {
            self.activity.cut(CutBy::Ending, None);
            return self.interrupt_turn();
        }
        self.cancel_compaction(Fault::new(FaultKind::ShuttingDown, "the session is being closed"));
        if self.subagents.is_lent && self.close_subagents() {
            return;
        }
        if let TurnWaits::Hook(running_hook) = self.activity.stop_waiting() {
            self.stop_hook(*running_hook);
            self.settle();
        }
        self.activity.take_effects();
        self.drop_asks();
        self.activity.end_turn();
    }
}

fn is_allow(answer: &Answer) -> bool {
    matches!(answer, Answer::Allow(_) | Answer::Confirmed(true))
}

fn mark(stands: Standing) -> String {
    let next = match stands {
        Standing::Start | Standing::Asking | Standing::AfterCalls => "the model is asked again",
        Standing::Calls(_) => "its calls go on",
        Standing::Replied(_) | Standing::Cut => "it was about to end",
    };
    format!("the process ended during this turn, which goes on now: {next}")
}
