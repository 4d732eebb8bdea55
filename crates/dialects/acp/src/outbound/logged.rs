//! What is written into the log of a session, as far as its client sees it.

use acp_types::{
    CompactionStatus, ContentBlock, Other, PlanEntry, PromptResponse, SessionUpdate, StopReason, ToolCallStatus,
};
use vocab::{
    AskEntry, Body, BranchEntry, Call, CallEntry, Entry, ItemEnd, ItemId, ModelEntry, NoteEntry, NoticeLevel, Part,
    QueueEntry, QueueVerb, SessionVerb, SettingEntry, Stop, TodoPhase, TodoStatus, TurnEntry, TurnId, UserFrom, Verb,
};
use wire::Out;

use crate::faults::text;
use crate::frames::pen;
use crate::pending::Pending;
use crate::session_view::RunningTurn;
use crate::{Acp, content, replay};

impl Acp {
    pub(crate) fn logged(&mut self, at: usize, entry: &Entry, out: &mut Out) {
        let view = &mut self.views[at];
        view.open_calls.logged(entry);
        let untold = view.untold_calls.take(&entry.body);
        if view.counts(&entry.body) {
            view.cost.add(&entry.body);
        }
        match &entry.body {
            Body::Turn(turn) => self.turn_logged(at, turn, out),
            Body::Queue(queue) => self.queue_logged(at, queue, out),
            Body::Assistant { .. } => {
                if let Some(turn) = &mut view.turn {
                    turn.next_message();
                }
            }
            Body::Call(call) => self.call_logged(at, call, untold.as_ref(), out),
            Body::Ask(AskEntry::Opened(ask)) => self.asked_by_engine(at, ask, out),
            Body::Ask(AskEntry::Closed { ask, .. }) => self.ask_closed(ask, out),
            Body::Setting(setting) => self.setting_logged(at, setting, entry.at_ms, out),
            Body::User { turn, parts, from } => self.user_logged(at, entry, (turn.as_ref(), parts, *from), out),
            Body::Model(model) => self.model_logged(at, model, out),
            Body::Branch(branch) => self.branch_logged(at, branch, out),
            Body::Note(NoteEntry::Recovered { text }) => self.notice(at, NoticeLevel::Warning, text, out),
            Body::Opened { .. }
            | Body::Shell(_)
            | Body::Note(
                NoteEntry::Imported { .. } | NoteEntry::Label { .. } | NoteEntry::Keyed(_) | NoteEntry::Waived { .. },
            ) => {}
        }
    }

    fn user_logged(
        &mut self,
        at: usize,
        entry: &Entry,
        (turn, parts, from): (Option<&TurnId>, &[Part], UserFrom),
        out: &mut Out,
    ) {
        let is_remote = self.is_remote();
        let view = &mut self.views[at];
        // Who has sent it has drawn it already; who shares the session has not.
        let is_own = turn.is_some_and(|turn| view.flow.is_own(turn)) && from == UserFrom::Prompt;
        if is_remote && !is_own && !matches!(from, UserFrom::Reminder | UserFrom::Extension) {
            replay::tell_user(&mut pen(out), &view.session, entry.seq, parts);
        }
        // The first thing that is said is what it is called until it gets a name.
        if from == UserFrom::Prompt
            && view.title.is_none()
            && let Some(title) = content::title_of_prompt(&vocab::parts_text(parts))
        {
            view.named(&mut pen(out), title, entry.at_ms);
        }
    }

    fn turn_logged(&mut self, at: usize, turn: &TurnEntry, out: &mut Out) {
        let view = &mut self.views[at];
        match turn {
            TurnEntry::Started { turn } => view.turn = Some(RunningTurn::new(turn.clone())),
            // Its answer waits for the state that follows: how full the context is now is told before it. A turn that died
            // with another process ends here, too, just before the new one starts: no prompt waits for that.
            TurnEntry::Ended(end) if view.is_running(&end.turn) => {
                view.over = Some(end.clone());
                // The word that the answer has for it says that something is used up, and not what.
                if let (Stop::Budget, Some(fault)) = (end.stop, &end.fault) {
                    self.notice(at, NoticeLevel::Warning, &text(fault), out);
                }
            }
            // What a prompt was joined with and what cut it has no word here; the end that follows has.
            TurnEntry::Taken { .. } | TurnEntry::Cut { .. } | TurnEntry::Ended(_) => {}
        }
    }

    fn queue_logged(&mut self, at: usize, queue: &QueueEntry, out: &mut Out) {
        let view = &mut self.views[at];
        let (item, end) = match queue {
            QueueEntry::Queued(_) => return,
            QueueEntry::Settled { item, .. } if view.lost.contains(item) => return self.found_again(at, item, out),
            QueueEntry::Settled { item, end, .. } => (item, end),
        };
        let Some(place) = view.waiting.iter().position(|(waiting, _)| waiting == item) else { return };
        let (_, call) = view.waiting.remove(place);
        match (end, &view.turn) {
            (ItemEnd::Consumed, Some(turn)) => {
                let turn = turn.id.clone();
                view.flow.owns(&turn);
                view.prompts.push((turn, call));
            }
            _ => pen(out).result(&call, PromptResponse { stop_reason: StopReason::Cancelled, usage: None }),
        }
        self.close_if_due(at, out);
    }

    /// What waited when a turn was lost is still in the store. Its prompt was answered, so it must not run behind the
    /// client's back.
    fn found_again(&mut self, at: usize, item: &ItemId, out: &mut Out) {
        let view = &mut self.views[at];
        let turn = view.turn.as_ref().map(|turn| turn.id.clone());
        let others = std::mem::take(&mut view.lost);
        for other in others.into_iter().filter(|other| other != item) {
            self.tell_session(at, Verb::Session(SessionVerb::Queue(QueueVerb::TakeBack(other))), Pending::Nothing, out);
        }
        self.tell_session(at, Verb::Session(SessionVerb::Interrupt { turn }), Pending::Nothing, out);
    }

    /// `untold`: the call that ends here has not started.
    fn call_logged(&mut self, at: usize, call: &CallEntry, untold: Option<&Call>, out: &mut Out) {
        let view = &self.views[at];
        let update = match call {
            CallEntry::Started { turn, call, .. } => self.cards(at).announced(turn, call, ToolCallStatus::Pending),
            // The log of a turn that was lost is completed later; its end was told.
            CallEntry::Ended { turn, .. } if view.turn.as_ref().is_none_or(|running| running.id != *turn) => return,
            CallEntry::Ended { turn, result } => {
                if let Some(call) = untold {
                    let update = self.cards(at).announced(turn, call, ToolCallStatus::Pending);
                    pen(out).update(&view.session, update);
                }
                self.cards(at).finished(turn, result)
            }
        };
        pen(out).update(&view.session, update);
    }

    fn setting_logged(&mut self, at: usize, setting: &SettingEntry, at_ms: i64, out: &mut Out) {
        let view = &mut self.views[at];
        match setting {
            SettingEntry::Todos { phases } => pen(out).update(&view.session, plan(phases)),
            SettingEntry::Title { title } => view.named(&mut pen(out), content::one_line(title), at_ms),
            SettingEntry::Model { .. }
            | SettingEntry::Mode { .. }
            | SettingEntry::Thinking { .. }
            | SettingEntry::Gadgets { .. }
            | SettingEntry::Lane { .. }
            | SettingEntry::Elevated { .. } => {}
        }
    }

    fn model_logged(&mut self, at: usize, model: &ModelEntry, out: &mut Out) {
        match model {
            ModelEntry::Retrying { attempt, attempts_max, wait_ms, fault, .. } => {
                let words = format!("trying again ({attempt} of {attempts_max}) in {wait_ms} ms: {}", text(fault));
                self.notice(at, NoticeLevel::Warning, &words, out);
            }
            ModelEntry::FellBack(it) => {
                let words = format!("{} could not answer, asking {}: {}", it.from, it.to, text(&it.fault));
                self.notice(at, NoticeLevel::Warning, &words, out);
            }
            ModelEntry::Spent { .. } | ModelEntry::Requested(_) => {}
        }
    }

    fn branch_logged(&mut self, at: usize, branch: &BranchEntry, out: &mut Out) {
        match branch {
            BranchEntry::Compacted(done) => {
                let view = &mut self.views[at];
                view.state.context_tokens = done.tokens_after;
                let (session, usage) = (view.session.clone(), view.usage_update(&self.models));
                let summary = Some(ContentBlock::text(&*done.summary));
                self.compaction(at, CompactionStatus::Completed, summary, None, out);
                pen(out).update(&session, usage);
            }
            BranchEntry::Moved { .. } | BranchEntry::Restored { .. } | BranchEntry::Summary { .. } => {}
        }
    }
}

pub(crate) fn plan(phases: &[TodoPhase]) -> SessionUpdate {
    let entries = phases.iter().flat_map(|phase| &phase.tasks).filter(|task| task.status != TodoStatus::Abandoned);
    let one = |task: &vocab::TodoTask| PlanEntry {
        content: task.content.to_string(),
        priority: Some("medium".into()),
        status: Some(task.status.as_str().into()),
        other: Other::new(),
    };
    SessionUpdate::Plan { entries: entries.map(one).collect(), other: Other::new() }
}
