//! What the engine tells unasked. Everything of a turn is written before the answer to its prompt.

use serde_json::{Value, json};
use vocab::{
    AskEntry, Body, BranchEntry, CallEntry, CompactionEvent, Delta, EditorEvent, Entry, Event, ExtensionEvent, ItemEnd,
    ItemId, ModelEntry, NoteEntry, Notice, NoticeLevel, QueueEntry, QueueVerb, SessionVerb, SettingEntry, SignInStep,
    TodoPhase, TodoStatus, TurnEnd, TurnEntry, UserFrom, Verb,
};
use wire::Out;

use crate::asking::Asked;
use crate::config::Chosen;
use crate::frames::{Pen, invalid, text};
use crate::replies::{Why, ended};
use crate::seat::{Turn, call_id};
use crate::{Acp, content};

impl Acp {
    pub(crate) fn event(&mut self, at: usize, event: &Event, out: &mut Out) {
        for lost in self.seats[at].open_calls.lost_by(event) {
            self.event(at, &lost, out);
        }
        let mut pen = Pen { frames: &mut out.frames };
        let seat = &mut self.seats[at];
        match event {
            Event::Delta(Delta::Text { delta, .. }) => seat.said(&mut pen, &*self.options.ids, delta),
            Event::Delta(Delta::Thinking { delta, .. }) => seat.thought(&mut pen, &*self.options.ids, delta),
            Event::Logged(entry) => self.logged(at, entry, out),
            Event::Delta(Delta::CallProgress { turn, call, parts }) => {
                let update = json!({
                    "sessionUpdate": "tool_call_update",
                    "toolCallId": call_id(turn, call),
                    "status": "in_progress",
                    "content": [self.cards(at).output(&vocab::parts_text(parts))],
                });
                pen.update(&self.seats[at].session, update);
            }
            Event::State(state) => {
                self.changed(at, state, out);
                let seat = &mut self.seats[at];
                if let Some(end) = seat.over.take() {
                    let update = seat.usage_update();
                    Pen { frames: &mut out.frames }.update(&seat.session, update);
                    self.turn_over(at, &end, out);
                }
            }
            Event::TurnLost(end) => self.lost(at, end, out),
            Event::Extension(ExtensionEvent::Notice(Notice::Say { text, level })) => self.notice(at, *level, text, out),
            Event::Extension(ExtensionEvent::Trouble { source, during, text }) => {
                out.notes.push(format!("{source}: {during}: {text}"))
            }
            Event::Compaction(CompactionEvent::Started { .. }) => self.compaction(at, "in_progress", None, out),
            Event::Compaction(CompactionEvent::Failed { fault, .. }) => {
                self.compaction(at, "failed", Some(("error", json!(fault.message))), out);
            }
            Event::Editor(EditorEvent::Request(editor_request)) => self.editor_request(at, editor_request, out),
            Event::Editor(EditorEvent::Dropped { editor_request }) => {
                self.editor_request_dropped(at, *editor_request, out)
            }
            Event::Gone { fault } => self.gone(at, fault, out),
            // A client sees these in the answers and updates that follow.
            Event::Extension(ExtensionEvent::Notice(_))
            | Event::Delta(Delta::CallInput { .. })
            | Event::Delta(Delta::Sealed { .. })
            | Event::Delta(Delta::ModelCalled { .. })
            | Event::Retry(_)
            | Event::Settled
            | Event::ShellProgress { .. }
            | Event::Extension(ExtensionEvent::Hook(_))
            | Event::SignIn { .. }
            | Event::Queue(_)
            | Event::Live { .. }
            | Event::Reply { .. } => {}
        }
    }

    fn logged(&mut self, at: usize, entry: &Entry, out: &mut Out) {
        let seat = &mut self.seats[at];
        seat.open_calls.logged(entry);
        let mut pen = Pen { frames: &mut out.frames };
        match &entry.body {
            Body::Turn(TurnEntry::Started { turn }) => seat.turn = Some(Turn::new(turn.clone())),
            Body::Queue(QueueEntry::Settled { item, .. }) if seat.lost.contains(item) => {
                self.found_again(at, item, out)
            }
            Body::Queue(QueueEntry::Settled { item, end }) => {
                let Some(place) = seat.waiting.iter().position(|(waiting, _)| waiting == item) else { return };
                let (_, call) = seat.waiting.remove(place);
                match (end, &seat.turn) {
                    (ItemEnd::Consumed, Some(turn)) => seat.prompts.push((turn.id.clone(), call)),
                    _ => pen.result(&call, json!({ "stopReason": "cancelled" })),
                }
                self.close_if_due(at, out);
            }
            Body::Assistant { .. } => {
                if let Some(turn) = &mut seat.turn {
                    turn.next_message();
                }
            }
            Body::Call(CallEntry::Started { turn, call, .. }) => {
                let update = self.cards(at).announced(turn, call, "pending");
                pen.update(&self.seats[at].session, update);
            }
            // The log of a turn that was lost is completed later; its end was told.
            Body::Call(CallEntry::Ended { turn, .. })
                if seat.turn.as_ref().is_none_or(|running| running.id != *turn) => {}
            Body::Call(CallEntry::Ended { turn, result }) => {
                let update = self.cards(at).finished(turn, result);
                pen.update(&self.seats[at].session, update);
            }
            Body::Ask(AskEntry::Opened(ask)) => self.asked_by_engine(at, ask, out),
            Body::Ask(AskEntry::Closed { ask, .. }) => self.ask_closed(ask, out),
            Body::Setting(SettingEntry::Todos { phases }) => pen.update(&seat.session, plan(phases)),
            Body::Setting(SettingEntry::Title { title }) => seat.named(&mut pen, content::one_line(title), entry.at_ms),
            // The first thing that is said is what it is called until it gets a name.
            Body::User { parts, from: UserFrom::Prompt, .. } if seat.title.is_none() => {
                if let Some(title) = content::title_of_prompt(&vocab::parts_text(parts)) {
                    seat.named(&mut pen, title, entry.at_ms);
                }
            }
            Body::Model(ModelEntry::Retrying { attempt, attempts_max, wait_ms, fault, .. }) => {
                let words = format!("trying again ({attempt} of {attempts_max}) in {wait_ms} ms: {}", text(fault));
                self.notice(at, NoticeLevel::Warning, &words, out);
            }
            Body::Model(ModelEntry::FellBack(it)) => {
                // Its prices are not told to us.
                seat.cost = None;
                let words = format!("{} could not answer, asking {}: {}", it.from, it.to, text(&it.fault));
                self.notice(at, NoticeLevel::Warning, &words, out);
            }
            Body::Model(ModelEntry::Spent { turn, call, model, usage }) if turn.is_none() || call.is_some() => {
                let known = std::iter::once(&seat.chosen.model).chain(&self.models).find(|info| info.slug == *model);
                let prices = known.and_then(|info| info.prices);
                match turn {
                    Some(_) => seat.charge_child(prices, usage),
                    // A compaction that was paid and failed.
                    None => seat.charge_at(prices, usage),
                }
            }
            Body::Branch(BranchEntry::Compacted(done)) => {
                seat.charge(&done.usage);
                seat.state.context_tokens = done.tokens_after;
                let (session, usage) = (seat.session.clone(), seat.usage_update());
                let summary = json!([content::text(&done.summary)]);
                self.compaction(at, "completed", Some(("summary", summary)), out);
                Pen { frames: &mut out.frames }.update(&session, usage);
            }
            // Its answer waits for the state that follows: how full the context is now is told before it. A turn that died
            // with another process ends here, too, just before the new one starts: nobody waits for that.
            Body::Turn(TurnEntry::Ended(end)) if seat.is_running(&end.turn) => {
                seat.charge_turn(&end.usage);
                seat.over = Some(end.clone());
            }
            Body::Turn(TurnEntry::Ended(_)) => {}
            Body::User { .. }
            | Body::Opened { .. }
            | Body::Queue(QueueEntry::Queued(_))
            | Body::Branch(BranchEntry::Moved { .. })
            | Body::Setting(SettingEntry::Model { .. })
            | Body::Setting(SettingEntry::Mode { .. })
            | Body::Setting(SettingEntry::Thinking { .. })
            | Body::Setting(SettingEntry::Gadgets { .. })
            | Body::Shell(_)
            | Body::Note(NoteEntry::Imported { .. })
            | Body::Model(ModelEntry::Requested(_))
            | Body::Branch(BranchEntry::Restored { .. })
            | Body::Model(ModelEntry::Spent { .. })
            | Body::Note(NoteEntry::Label { .. })
            | Body::Branch(BranchEntry::Summary { .. }) => {}
            Body::Note(NoteEntry::Recovered { text }) => self.notice(at, NoticeLevel::Warning, text, out),
        }
    }

    /// The store has failed, and with it the turn: nothing of it is logged any more, so its end is told here. Nobody knows
    /// when what waits will run, so nobody is left waiting for it.
    fn lost(&mut self, at: usize, end: &TurnEnd, out: &mut Out) {
        self.forget_asked(at, |asked| matches!(asked, Asked::Permission { .. }), out);
        let error = ended(end, true).err().unwrap_or_else(|| invalid("the turn was lost"));
        let seat = &mut self.seats[at];
        let mut pen = Pen { frames: &mut out.frames };
        for (item, call) in std::mem::take(&mut seat.waiting) {
            pen.refuse(Some(&call), &error);
            seat.lost.push(item);
        }
        self.turn_over(at, end, out);
    }

    /// What waited when a turn was lost is still in the store. Its prompt was answered, so it must not run behind the
    /// client's back.
    fn found_again(&mut self, at: usize, item: &ItemId, out: &mut Out) {
        let seat = &mut self.seats[at];
        let turn = seat.turn.as_ref().map(|turn| turn.id.clone());
        let others = std::mem::take(&mut seat.lost);
        for other in others.into_iter().filter(|other| other != item) {
            self.tell_seat(at, Verb::Session(SessionVerb::Queue(QueueVerb::TakeBack(other))), Why::Nothing, out);
        }
        self.tell_seat(at, Verb::Session(SessionVerb::Interrupt { turn }), Why::Nothing, out);
    }

    /// All views of what can be chosen are told together.
    fn changed(&mut self, at: usize, state: &vocab::State, out: &mut Out) {
        let seat = &mut self.seats[at];
        let chosen = Chosen::of(state);
        seat.state = state.clone();
        let before = std::mem::replace(&mut seat.chosen, chosen);
        if before.mode != seat.chosen.mode {
            let update = json!({ "sessionUpdate": "current_mode_update", "currentModeId": seat.chosen.mode.as_str() });
            Pen { frames: &mut out.frames }.update(&seat.session, update);
        }
        if before != seat.chosen {
            self.tell_options(at, out);
        }
    }

    /// To clients that know notices; people find the others on stderr.
    fn notice(&mut self, at: usize, level: NoticeLevel, text: &str, out: &mut Out) {
        if !self.client.session.notices {
            return out.notes.push(text.to_owned());
        }
        let severity = match level {
            NoticeLevel::Info => "info",
            NoticeLevel::Warning => "warning",
            NoticeLevel::Error => "error",
        };
        let update = json!({ "sessionUpdate": "notice", "severity": severity, "title": text });
        Pen { frames: &mut out.frames }.update(&self.seats[at].session, update);
    }

    /// To clients that know compactions.
    fn compaction(&mut self, at: usize, status: &str, more: Option<(&str, Value)>, out: &mut Out) {
        if !self.client.session.compaction {
            return;
        }
        let seat = &mut self.seats[at];
        seat.compactions += u64::from(status == "in_progress");
        let id = format!("compaction-{}", seat.compactions);
        let mut update = json!({ "sessionUpdate": "compaction_update", "compactionId": id, "status": status });
        if let Some((name, value)) = more {
            update[name] = value;
        }
        Pen { frames: &mut out.frames }.update(&seat.session, update);
    }

    /// The session is lost. Whoever waits for a turn is told.
    fn gone(&mut self, at: usize, fault: &vocab::Fault, out: &mut Out) {
        self.forget_asked(at, |_| true, out);
        let seat = self.seats.remove(at);
        let error = crate::frames::from_fault(fault, None);
        let calls =
            seat.prompts.into_iter().map(|(_, call)| call).chain(seat.waiting.into_iter().map(|(_, call)| call));
        for call in calls.chain(seat.closing.into_iter().map(|closing| closing.call)) {
            Pen { frames: &mut out.frames }.refuse(Some(&call), &error);
        }
        out.notes.push(text(fault));
    }

    /// Where a person has to go: as an elicitation where the client knows that, else on stderr.
    pub(crate) fn sign_in_step(&mut self, step: &SignInStep, out: &mut Out) {
        match step {
            SignInStep::Url(url) => self.show_url(url, out),
            SignInStep::DeviceCode { verification_url, user_code, .. } => {
                out.notes.push(format!("type the code {user_code} at {verification_url}"));
            }
            SignInStep::Started | SignInStep::Completed(_) | SignInStep::Failed { .. } => {}
        }
    }
}

pub(crate) fn plan(phases: &[TodoPhase]) -> Value {
    let entries = phases.iter().flat_map(|phase| &phase.tasks).filter(|task| task.status != TodoStatus::Abandoned);
    let one = |task: &vocab::TodoTask| json!({ "content": task.content, "priority": "medium", "status": task.status.as_str() });
    json!({ "sessionUpdate": "plan", "entries": entries.map(one).collect::<Vec<_>>() })
}
