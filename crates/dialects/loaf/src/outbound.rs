//! What the engine tells unasked, in the order this wire promises.

use vocab::{
    Body, BranchEntry, CallEntry, CompactReason, CompactionEvent, Delta, Entry, Event, ExtensionEvent, IdKind, ItemEnd,
    ModelEntry, NoteEntry, Notice, QueueEntry, QueueEvent, SessionVerb, TurnEntry, Verb, parts_text,
};

use crate::Loaf;
use crate::faults::{self, RpcFault};
use crate::frames::LoafCall;
use crate::images::{self, LoadedImage};
use crate::messages::is_shown;
use crate::own::Out;
use crate::pending::LoafPending;

impl Loaf {
    pub(crate) fn event(&mut self, at: usize, event: &Event, out: &mut Out) {
        for lost in self.views[at].calls.lost_by(event) {
            self.event(at, &lost, out);
        }
        let mut pen = self.pen(out);
        let (view, mut scene) = self.scene(at);
        match event {
            Event::Delta(Delta::Text { delta, .. }) => view.answering(&mut pen, delta),
            Event::Delta(Delta::Thinking { delta, .. }) => view.thinking(&mut pen, delta),
            Event::Logged(entry) => self.logged(at, entry, out),
            Event::State(state) => {
                let is_other = view.state.model != state.model;
                view.state = state.clone();
                if is_other {
                    self.model_changed(&state.model_info, out);
                }
            }
            Event::Delta(Delta::ModelCalled { .. }) => view.called(&mut pen, &mut scene),
            Event::Compaction(CompactionEvent::Started { reason }) => {
                if *reason == CompactReason::Overflow {
                    self.begin_anew(at, out);
                }
                let mut pen = self.pen(out);
                self.views[at].compaction_started(&mut pen, *reason);
                if self.end.ending {
                    // It waited for a turn that was stopped; now it is stopped itself.
                    self.tell_view(at, Verb::Session(SessionVerb::Interrupt { turn: None }), LoafPending::Nothing, out);
                }
            }
            Event::Compaction(CompactionEvent::Failed { reason, fault }) => {
                view.compaction_failed(&mut pen, *reason, fault)
            }
            Event::TurnLost(end) => {
                view.finish(&mut pen, &mut scene, 0, end);
                self.swap_if_due(at, out);
            }
            Event::Queue(QueueEvent::Ended { item, end, .. }) => {
                // What was dropped came too late, and the end of the turn says so.
                if *end != ItemEnd::Dropped {
                    view.steers.retain(|steer| steer != item);
                }
            }
            Event::Extension(ExtensionEvent::Notice(Notice::Say { text, .. })) => {
                view.remark(&mut pen, scene.numbers, text)
            }
            Event::Extension(ExtensionEvent::Trouble { source, during, text }) => {
                out.notes.push(format!("{source}: {during}: {text}"))
            }
            Event::Gone { fault } => {
                let message = faults::text(fault);
                view.vanish(&mut pen, &mut scene, &message);
                out.notes.push(message);
                self.gone(at, out);
            }
            // Arguments and output of a call are told when they are whole.
            Event::Delta(
                Delta::Sealed { .. } | Delta::CallInput { .. } | Delta::CallProgress { .. } | Delta::CallBegan { .. },
            ) => {}
            // The log says the same: a retry as its entry, a prompt that waits as the reply to it.
            Event::Retry(_)
            | Event::Settled
            | Event::Queue(QueueEvent::Waiting(_) | QueueEvent::Refused { .. })
            | Event::Live { .. } => {}
            // This wire has no dialogs, no hooks, no editor and no commands of the user's own.
            Event::Extension(ExtensionEvent::Notice(_) | ExtensionEvent::Hook(_))
            | Event::Editor(_)
            | Event::Watch(_)
            | Event::ShellProgress { .. } => {}
            // Not of a session: `tell` has taken them.
            Event::SignIn { .. } | Event::Reply { .. } => {}
        }
    }

    /// The model could not take the conversation any more. On this wire that is the end of a turn; what the engine goes on
    /// with, when there is room again, is another one.
    fn begin_anew(&mut self, at: usize, out: &mut Out) {
        let id = self.mint(IdKind::Turn);
        let mut pen = self.pen(out);
        let (view, mut scene) = self.scene(at);
        view.overflowed(&mut pen, &mut scene, id);
    }

    pub(crate) fn logged(&mut self, at: usize, entry: &Entry, out: &mut Out) {
        let mut pen = self.pen(out);
        let (view, mut scene) = self.scene(at);
        view.calls.logged(entry);
        match &entry.body {
            Body::Turn(TurnEntry::Started { turn }) => view.coming = Some(turn.clone()),
            Body::Queue(QueueEntry::Settled { item, .. }) => {
                // A prompt that waited is a turn now, or was taken back.
                let Some(place) = view.queued.iter().position(|queued| queued.item == *item) else { return };
                let queued = view.queued.remove(place);
                if let Some(turn) = view.coming.take() {
                    view.prepare(&mut pen, &scene, turn, queued.turn);
                    view.give_images(queued.images);
                }
            }
            Body::User { turn: Some(turn), parts, from } if is_shown(*from) => {
                let fresh = view.turn.as_ref().is_none_or(|known| known.engine != *turn);
                if fresh {
                    // Not started by a request of this conversation: a chat that another process left waiting.
                    let id = self.mint(IdKind::Turn);
                    let (view, scene) = self.scene(at);
                    view.prepare(&mut pen, &scene, turn.clone(), id);
                }
                let (view, mut scene) = self.scene(at);
                view.coming = None;
                let of_log = images::of_parts(parts, entry.at_ms);
                let images: Vec<LoadedImage> = view.take_images(of_log.len()).unwrap_or(of_log);
                let steers = *from != vocab::UserFrom::Prompt;
                view.heard(&mut pen, &mut scene, (entry.seq, steers), parts_text(parts), images);
            }
            Body::Assistant { message, .. } => view.replied(message),
            Body::Call(CallEntry::Started { call, .. }) => view.call_started(&mut pen, &call.id),
            Body::Call(CallEntry::Ended { result, .. }) => view.call_ended(&mut pen, result),
            Body::Model(ModelEntry::Retrying { attempt, attempts_max, fault, .. }) => {
                view.retrying(&mut pen, *attempt, *attempts_max, fault);
            }
            Body::Branch(BranchEntry::Compacted(done)) => view.compaction_done(&mut pen, &mut scene, done),
            Body::Turn(TurnEntry::Ended(end)) => {
                view.finish(&mut pen, &mut scene, entry.seq, end);
                self.swap_if_due(at, out);
            }
            // What a turn was made of, and what cut it, is in how it ends.
            Body::Turn(TurnEntry::Taken { .. } | TurnEntry::Cut { .. }) => {}
            // Told as the reply to what led to them, or not of a prompt that people wrote.
            Body::User { .. } | Body::Opened { .. } | Body::Queue(QueueEntry::Queued(_)) | Body::Setting(_) => {}
            // For another peer's eyes: this wire has no questions and no commands of the user's own.
            Body::Ask(_) | Body::Shell(_) => {}
            // What the context is made of changes; the controller is told of chats, not of branches.
            Body::Branch(BranchEntry::Moved { .. } | BranchEntry::Restored { .. } | BranchEntry::Summary { .. }) => {}
            // Kept for bills and for other readers of the log.
            Body::Model(ModelEntry::Requested(_) | ModelEntry::FellBack(_) | ModelEntry::Spent { .. })
            | Body::Note(
                NoteEntry::Imported { .. } | NoteEntry::Label { .. } | NoteEntry::Keyed(_) | NoteEntry::Waived { .. },
            ) => {}
            Body::Note(NoteEntry::Recovered { text }) => out.notes.push(text.to_string()),
        }
    }

    /// A session that is not there any more; whoever waits for it is told so.
    fn gone(&mut self, at: usize, out: &mut Out) {
        let view = self.views.remove(at);
        let about_it = |pending: &LoafPending| pending.view() == Some(view.number);
        let asked = self.pending.withdraw(about_it, || LoafPending::Nothing);
        let asked = asked.iter().filter_map(|pending| pending.call().cloned());
        let held = view.held.into_iter().map(|(call, _)| call);
        let waiting: Vec<LoafCall> = asked.chain(view.after.map(|after| after.call)).chain(held).collect();
        for call in waiting {
            self.pen(out).fail(&call, &RpcFault::unknown_session(&view.id));
        }
    }
}
