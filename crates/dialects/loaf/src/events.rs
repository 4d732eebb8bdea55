//! What the engine tells unasked, in the order this wire promises.

use vocab::{
    Body, BranchEntry, CallEntry, CompactReason, CompactionEvent, Delta, Entry, Event, ExtensionEvent, IdKind, ItemEnd,
    ModelEntry, NoteEntry, Notice, QueueEntry, QueueEvent, Tag, TurnEntry, Verb, parts_text,
};
use wire::Out;

use crate::Loaf;
use crate::frames::Call;
use crate::images::{self, Loaded};
use crate::messages::is_shown;
use crate::problem::{self, Problem};
use crate::why::Why;

impl Loaf {
    pub(crate) fn event(&mut self, at: usize, event: &Event, out: &mut Out) {
        for lost in self.seats[at].calls.lost_by(event) {
            self.event(at, &lost, out);
        }
        let mut pen = self.pen(out);
        let (seat, mut scene) = self.scene(at);
        match event {
            Event::Delta(Delta::Text { delta, .. }) => seat.answering(&mut pen, delta),
            Event::Delta(Delta::Thinking { delta, .. }) => seat.thinking(&mut pen, delta),
            Event::Logged(entry) => self.logged(at, entry, out),
            Event::State(state) => seat.state = state.clone(),
            Event::Delta(Delta::ModelCalled { .. }) => seat.called(&mut pen, &mut scene),
            Event::Compaction(CompactionEvent::Started { reason }) => {
                if *reason == CompactReason::Overflow {
                    self.begin_anew(at, out);
                }
                let mut pen = self.pen(out);
                self.seats[at].compaction_started(&mut pen, *reason);
                if self.end.ending {
                    // It waited for a turn that was stopped; now it is stopped itself.
                    self.tell_seat(at, Verb::Interrupt { turn: None }, Why::Nothing, out);
                }
            }
            Event::Compaction(CompactionEvent::Failed { reason, fault }) => {
                seat.compaction_failed(&mut pen, *reason, fault)
            }
            Event::TurnLost(end) => {
                seat.finish(&mut pen, &mut scene, 0, end);
                self.swap_if_due(at, out);
            }
            Event::Queue(QueueEvent::Ended { item, end, .. }) => {
                // What was dropped came too late, and the end of the turn says so.
                if *end != ItemEnd::Dropped {
                    seat.steers.retain(|steer| steer != item);
                }
            }
            Event::Extension(ExtensionEvent::Notice(Notice::Say { text, .. })) => {
                seat.remark(&mut pen, scene.numbers, text)
            }
            Event::Extension(ExtensionEvent::Trouble { source, during, text }) => {
                out.notes.push(format!("{source}: {during}: {text}"))
            }
            Event::Gone { fault } => {
                let message = problem::text(fault);
                seat.vanish(&mut pen, &mut scene, &message);
                out.notes.push(message);
                self.gone(at, out);
            }
            // Nobody is there to be shown these.
            Event::Extension(ExtensionEvent::Notice(_))
            | Event::Delta(Delta::Sealed { .. })
            | Event::Delta(Delta::CallInput { .. })
            | Event::Delta(Delta::CallProgress { .. })
            | Event::Retry(_)
            | Event::Settled
            | Event::ShellProgress { .. }
            | Event::Extension(ExtensionEvent::Hook(_))
            | Event::SignIn { .. }
            | Event::Editor(_)
            | Event::Queue(QueueEvent::Waiting(_))
            | Event::Live { .. }
            | Event::Reply { .. } => {}
        }
    }

    /// The model could not take the conversation any more. On this wire that is the end of a turn; what the engine goes on
    /// with, when there is room again, is another one.
    fn begin_anew(&mut self, at: usize, out: &mut Out) {
        let id = self.mint(IdKind::Turn);
        let mut pen = self.pen(out);
        let (seat, mut scene) = self.scene(at);
        seat.overflowed(&mut pen, &mut scene, id);
    }

    fn logged(&mut self, at: usize, entry: &Entry, out: &mut Out) {
        let mut pen = self.pen(out);
        let (seat, mut scene) = self.scene(at);
        seat.calls.logged(entry);
        match &entry.body {
            Body::Turn(TurnEntry::Started { turn }) => seat.coming = Some(turn.clone()),
            Body::Queue(QueueEntry::Settled { item, .. }) => {
                // A prompt that waited is a turn now, or was taken back.
                let Some(place) = seat.queued.iter().position(|queued| queued.item == *item) else { return };
                let queued = seat.queued.remove(place);
                if let Some(turn) = seat.coming.take() {
                    seat.prepare(&mut pen, &scene, turn, queued.turn);
                    seat.give_images(queued.images);
                }
            }
            Body::User { turn: Some(turn), parts, from } if is_shown(*from) => {
                let fresh = seat.turn.as_ref().is_none_or(|known| known.engine != *turn);
                if fresh {
                    // Not started by a request of this conversation: a chat that another process left waiting.
                    let id = self.mint(IdKind::Turn);
                    let (seat, scene) = self.scene(at);
                    seat.prepare(&mut pen, &scene, turn.clone(), id);
                }
                let (seat, mut scene) = self.scene(at);
                seat.coming = None;
                let of_log = images::of_parts(parts, entry.at_ms);
                let images: Vec<Loaded> = seat.take_images(of_log.len()).unwrap_or(of_log);
                let steers = *from != vocab::UserFrom::Prompt;
                seat.heard(&mut pen, &mut scene, (entry.seq, steers), parts_text(parts), images);
            }
            Body::Assistant { message, .. } => seat.replied(message),
            Body::Call(CallEntry::Started { call, .. }) => seat.call_started(&mut pen, &call.id),
            Body::Call(CallEntry::Ended { result, .. }) => seat.call_ended(&mut pen, result),
            Body::Model(ModelEntry::Retrying { attempt, attempts_max, fault, .. }) => {
                seat.retrying(&mut pen, *attempt, *attempts_max, fault);
            }
            Body::Branch(BranchEntry::Compacted(done)) => seat.compaction_done(&mut pen, &mut scene, done),
            Body::Turn(TurnEntry::Ended(end)) => {
                seat.finish(&mut pen, &mut scene, entry.seq, end);
                self.swap_if_due(at, out);
            }
            Body::User { .. }
            | Body::Opened { .. }
            // For somebody else's eyes: this wire has no questions.
            | Body::Ask(_)
            | Body::Queue(QueueEntry::Queued(_))
            | Body::Branch(BranchEntry::Moved { .. })
            | Body::Setting(_)
            | Body::Shell(_)
            | Body::Note(NoteEntry::Imported { .. })
            | Body::Model(ModelEntry::Requested(_))
            | Body::Branch(BranchEntry::Restored { .. })
            | Body::Model(ModelEntry::FellBack(_))
            | Body::Model(ModelEntry::Spent { .. })
            | Body::Note(NoteEntry::Label { .. })
            | Body::Branch(BranchEntry::Summary { .. }) => {}
            Body::Note(NoteEntry::Recovered { text }) => out.notes.push(text.to_string()),
        }
    }

    /// A session that is not there any more; whoever waits for it is told so.
    fn gone(&mut self, at: usize, out: &mut Out) {
        let seat = self.seats.remove(at);
        let mut tags: Vec<Tag> = self.pending.keys().copied().collect();
        tags.retain(|tag| self.pending[tag].seat() == Some(seat.number));
        tags.sort_by_key(|tag| tag.0);
        let asked = tags.into_iter().filter_map(|tag| self.pending.insert(tag, Why::Nothing)?.call().cloned());
        let held = seat.held.into_iter().map(|(call, _)| call);
        let waiting: Vec<Call> = asked.chain(seat.after.map(|after| after.call)).chain(held).collect();
        for call in waiting {
            self.pen(out).fail(&call, &Problem::unknown_session(&seat.id));
        }
    }
}
