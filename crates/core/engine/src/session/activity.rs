//! What a session is doing. One enum, so that what excludes each other cannot be written down together: a turn and what it waits
//! for, a compaction that a peer asked for, an undo, or nothing. Beside it what comes afterwards: the compaction that waits for
//! the running turn, and the session's own end. And the watchdog over all of it.
//!
//! It knows no log, no peer and no port: the session does what is to be done and says here what it waits for.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use tokio::sync::oneshot;
use tokio::time::{Duration, Instant, Sleep};
use vocab::{
    Briefing, CallId, CompactReason, CutBy, Fault, ItemId, Later, ModelStream, Outcome, PeerId, Principal, Tag, TurnId,
};

use super::budget::DayUsed;
use super::calls::AfterWrite;
use super::compaction::{Compacted, NextCompaction, Trace};
use super::hooks::RunningHook;
use super::model_view::BranchMessage;
use super::turn::{Effect, Turn};
use super::undo::Undo;
use crate::outbox::Outbox;
use crate::turn_places::{PlaceInLine, TurnPlace};

/// However late the watchdog is, it sleeps at least this long.
const STALL_LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Why the running turn does not come to its own end, and whose doing that is.
pub(super) struct TurnCut {
    pub(super) why: CutBy,
    pub(super) by: Option<Principal>,
    /// The message that takes its place.
    pub(super) item: Option<ItemId>,
}

pub(super) struct Activity {
    doing: Doing,
    /// What the turn wants done and is not done yet, in order.
    effects: Vec<Effect>,
    /// A compaction that comes after what runs now and before the next turn.
    pub(super) next: Option<NextCompaction>,
    /// The callers that wait for the session's end. Once there is one, nothing new begins.
    ending: Vec<oneshot::Sender<()>>,
    /// The session is to end by itself, as soon as it can.
    is_draining: bool,
    /// The running turn's place among those that run at once, where there is a bound. It has none while it waits for somebody.
    pub(super) place: Option<TurnPlace>,
    /// Or where it stands in the line for one, before it needs it.
    pub(super) line: Option<PlaceInLine>,
    /// What cuts the running turn, and who wants that, once it is known.
    cut: Option<TurnCut>,
    /// A turn was started, and that everything settled was not said since.
    pub(super) unsettled: bool,
    /// It ends because it is to be deleted.
    pub(super) is_removed: bool,
    /// The session cannot go on, and every peer was told.
    pub(super) is_over: bool,
    moved_at: Instant,
    /// Made with the first turn.
    stall_timer: Option<Pin<Box<Sleep>>>,
}

enum Doing {
    Idle,
    Turn(Box<Turn>, TurnWaits),
    Compacting(Box<Summarising>, CompactionAsker),
    Undoing(Box<Undo>),
}

/// What the running turn waits for.
pub(super) enum TurnWaits {
    /// What it wants is being done.
    Nothing,
    Model(ModelStream),
    /// Goes on when the log is written up to here.
    Written {
        upto: u64,
        then: AfterWrite,
    },
    /// Goes on when the log is read for the model.
    View {
        then: Effect,
    },
    Tool {
        future: Later<'static, Outcome>,
        call: CallId,
        since: Instant,
        /// A cell of its own: what the call before it said last, or says too late, is not this one's output.
        progress: Arc<ProgressCell>,
    },
    /// The call was dropped; the subagents that worked for it are still ending.
    Subagents(Later<'static, ()>),
    /// A controller or an extension runs the tool; its answer comes by mail.
    Host {
        since: Instant,
    },
    /// An extension is asked; its verdict comes by mail.
    Hook(Box<RunningHook>),
    Retry(Pin<Box<Sleep>>),
    /// MCP servers are starting; so long this waits for them.
    Servers {
        sleep: Pin<Box<Sleep>>,
        then: Effect,
    },
    /// A look around the workspace comes before the first model call.
    Briefing(Later<'static, Briefing>),
    Compaction(Box<Summarising>, BeforeCall),
    /// As many turns run as may; with a place it goes on.
    Place {
        line: PlaceInLine,
        then: Effect,
    },
    /// What this day has used is being read.
    Day {
        day: i64,
        reading: Later<'static, DayUsed>,
        then: Effect,
    },
    /// A limit is reached; a person is asked whether more may be spent.
    Budget {
        then: Effect,
    },
}

/// A summary that is being made.
pub(super) struct Summarising {
    pub(super) job: Later<'static, Result<Compacted, Fault>>,
    pub(super) reason: CompactReason,
    pub(super) model: Arc<str>,
    pub(super) trace: Arc<Trace>,
    /// What was said beside it; the summary does not know of it.
    pub(super) meanwhile: Vec<BranchMessage>,
}

/// What a turn does when room was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BeforeCall {
    /// The provider had said that the context is full; the turn tries again.
    ResumeTurn,
    /// The threshold was reached before a call; the call goes out now.
    CallModel,
}

/// Who asked for a compaction.
pub(super) struct CompactionAsker {
    pub(super) outbox: Arc<Outbox>,
    pub(super) tag: Tag,
    /// Whose doing it is, also when the peer is gone by the end of it.
    pub(super) by: Option<Principal>,
    pub(super) slash: bool,
}

/// What a compaction leads to.
pub(super) enum AfterCompaction {
    Turn(BeforeCall),
    Answer(CompactionAsker),
}

impl Default for Activity {
    fn default() -> Self {
        Self {
            doing: Doing::Idle,
            effects: Vec::new(),
            next: None,
            ending: Vec::new(),
            is_draining: false,
            unsettled: false,
            is_over: false,
            moved_at: Instant::now(),
            is_removed: false,
            place: None,
            line: None,
            cut: None,
            stall_timer: None,
        }
    }
}

impl Activity {
    /// Neither a turn nor a compaction nor an undo is under way.
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.doing, Doing::Idle)
    }

    // ---- the turn -----------------------------------------------------------------------------------------------

    pub(super) fn turn(&self) -> Option<&Turn> {
        match &self.doing {
            Doing::Turn(turn, _) => Some(turn),
            _ => None,
        }
    }
    pub(super) fn turn_id(&self) -> Option<TurnId> {
        self.turn().map(|turn| turn.id().clone())
    }
    /// Tells the running turn something; what it wants done is kept for [`Activity::take_effects`].
    pub(super) fn with_turn<T>(&mut self, step: impl FnOnce(&mut Turn, &mut Vec<Effect>) -> T) -> Option<T> {
        match &mut self.doing {
            Doing::Turn(turn, _) => Some(step(turn, &mut self.effects)),
            _ => None,
        }
    }

    pub(super) fn begin_turn(&mut self, mut turn: Turn) {
        self.cut = None;
        turn.begin(&mut self.effects);
        self.doing = Doing::Turn(Box::new(turn), TurnWaits::Nothing);
        self.unsettled = true;
        self.moved();
    }

    /// As [`Activity::begin_turn`], of a turn that an earlier process began.
    pub(super) fn resume_turn(&mut self, resume: impl FnOnce(&mut Vec<Effect>) -> Turn) {
        self.cut = None;
        let turn = resume(&mut self.effects);
        self.doing = Doing::Turn(Box::new(turn), TurnWaits::Nothing);
        self.unsettled = true;
        self.moved();
    }

    /// The turn is over. Whether there was one.
    pub(super) fn end_turn(&mut self) -> bool {
        let was_running = self.turn().is_some();
        (self.place, self.line) = (None, None);
        if was_running {
            self.doing = Doing::Idle;
        }
        was_running
    }

    /// Whatever else stops the running turn as well: this came first.
    pub(super) fn cut(&mut self, why: CutBy, by: Option<&Principal>) {
        self.cut.get_or_insert_with(|| TurnCut { why, by: by.cloned(), item: None });
    }
    /// A newer message takes its place.
    pub(super) fn cut_for(&mut self, item: Option<ItemId>, by: Option<&Principal>) {
        self.cut.get_or_insert_with(|| TurnCut { why: CutBy::Newer, by: by.cloned(), item });
    }
    pub(super) fn take_cut(&mut self) -> Option<TurnCut> {
        self.cut.take()
    }

    pub(super) fn push_effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }
    pub(super) fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }
    /// These are carried out. The turn has others soon, and their room is kept for them as long as it runs.
    pub(super) fn effects_done(&mut self, emptied: Vec<Effect>) {
        if self.effects.capacity() == 0 && self.turn().is_some() {
            self.effects = emptied;
        }
    }
    pub(super) fn has_effects(&self) -> bool {
        !self.effects.is_empty()
    }

    /// What the turn waits for; nothing where no turn runs.
    pub(super) fn waiting(&self) -> &TurnWaits {
        match &self.doing {
            Doing::Turn(_, waiting) => waiting,
            _ => &TurnWaits::Nothing,
        }
    }
    pub(super) fn waiting_mut(&mut self) -> Option<&mut TurnWaits> {
        match &mut self.doing {
            Doing::Turn(_, waiting) => Some(waiting),
            _ => None,
        }
    }
    /// The turn waits for this from now on. Without a turn nothing waits.
    pub(super) fn wait(&mut self, next: TurnWaits) {
        if let Some(waiting) = self.waiting_mut() {
            *waiting = next;
        }
    }
    /// The turn waits no more; what it waited for is dropped with what is given back.
    pub(super) fn stop_waiting(&mut self) -> TurnWaits {
        self.waiting_mut().map_or(TurnWaits::Nothing, |waiting| std::mem::replace(waiting, TurnWaits::Nothing))
    }
    /// As [`Activity::stop_waiting`], where it is what is meant.
    pub(super) fn stop_waiting_if(&mut self, is_meant: impl FnOnce(&TurnWaits) -> bool) -> Option<TurnWaits> {
        is_meant(self.waiting()).then(|| self.stop_waiting())
    }

    // ---- compactions --------------------------------------------------------------------------------------------

    pub(super) fn compact(&mut self, summarising: Summarising, then: AfterCompaction) {
        let summarising = Box::new(summarising);
        match then {
            AfterCompaction::Turn(then) => self.wait(TurnWaits::Compaction(summarising, then)),
            AfterCompaction::Answer(asker) => self.doing = Doing::Compacting(summarising, asker),
        }
        self.moved();
    }
    /// The summary that is being made, for the turn or for a peer that asked.
    pub(super) fn summarising(&mut self) -> Option<&mut Summarising> {
        match &mut self.doing {
            Doing::Turn(_, TurnWaits::Compaction(summarising, _)) | Doing::Compacting(summarising, _) => {
                Some(summarising)
            }
            _ => None,
        }
    }
    pub(super) fn is_compacting(&self) -> bool {
        matches!(self.doing, Doing::Turn(_, TurnWaits::Compaction(..)) | Doing::Compacting(..))
    }
    /// The same for this command of a peer.
    pub(super) fn is_compacting_for(&self, peer: PeerId, tag: Tag) -> bool {
        matches!(&self.doing, Doing::Compacting(_, asker) if asker.outbox.peer == peer && asker.tag == tag)
    }
    /// The summary is there, or is not wanted any more.
    pub(super) fn end_compaction(&mut self) -> Option<(Summarising, AfterCompaction)> {
        match std::mem::replace(&mut self.doing, Doing::Idle) {
            Doing::Compacting(summarising, asker) => Some((*summarising, AfterCompaction::Answer(asker))),
            Doing::Turn(turn, TurnWaits::Compaction(summarising, then)) => {
                self.doing = Doing::Turn(turn, TurnWaits::Nothing);
                Some((*summarising, AfterCompaction::Turn(then)))
            }
            other => {
                self.doing = other;
                None
            }
        }
    }
    /// Whether nothing stands before the compaction that waits.
    pub(super) fn is_compaction_next(&self) -> bool {
        self.next.is_some() && self.is_idle()
    }

    // ---- an undo ------------------------------------------------------------------------------------------------

    pub(super) fn undo(&mut self, undo: Undo) {
        self.doing = Doing::Undoing(Box::new(undo));
    }
    pub(super) fn undoing(&mut self) -> Option<&mut Undo> {
        match &mut self.doing {
            Doing::Undoing(undo) => Some(undo),
            _ => None,
        }
    }
    pub(super) fn is_undoing(&self) -> bool {
        matches!(self.doing, Doing::Undoing(_))
    }
    pub(super) fn take_undo(&mut self) -> Option<Undo> {
        match std::mem::replace(&mut self.doing, Doing::Idle) {
            Doing::Undoing(undo) => Some(*undo),
            other => {
                self.doing = other;
                None
            }
        }
    }

    // ---- the end ------------------------------------------------------------------------------------------------

    /// The session is to end; the caller is told when it has.
    pub(super) fn end(&mut self, stopped: oneshot::Sender<()>) {
        self.ending.push(stopped);
    }
    pub(super) fn is_ending(&self) -> bool {
        !self.ending.is_empty() || self.is_draining
    }
    /// The session is to end when what runs has come to a point where it can stop.
    pub(super) fn drain(&mut self) {
        self.is_draining = true;
    }
    pub(super) fn is_draining(&self) -> bool {
        self.is_draining
    }
    pub(super) fn tell_ended(&mut self) {
        for stopped in self.ending.drain(..) {
            let _ = stopped.send(());
        }
    }

    // ---- the watchdog -------------------------------------------------------------------------------------------

    /// Something happened: the time without anything starts over.
    pub(super) fn moved(&mut self) {
        self.moved_at = Instant::now();
    }

    pub(super) fn moved_at(&self) -> Instant {
        self.moved_at
    }

    /// Ready when a turn or a compaction may stand still: [`Activity::is_stalled`] knows.
    pub(super) fn poll_watchdog(&mut self, stall: Duration, context: &mut Context<'_>) -> Poll<()> {
        match self.turn().is_some() || self.is_compacting() {
            true => {
                let timer = self.stall_timer.get_or_insert_with(|| Box::pin(tokio::time::sleep(stall)));
                timer.as_mut().poll(context)
            }
            false => Poll::Pending,
        }
    }

    /// Whether it does. `is_awaited`: what it waits for has a clock of its own, or is a person. Sets the timer anew.
    pub(super) fn is_stalled(&mut self, is_awaited: bool, stall: Duration, context: &mut Context<'_>) -> bool {
        if is_awaited {
            self.moved();
        }
        let deadline = self.moved_at + stall;
        let is_stalled = deadline <= Instant::now();
        if let Some(timer) = &mut self.stall_timer {
            timer.as_mut().reset(deadline.max(Instant::now() + STALL_LOOK_AGAIN));
            if !is_stalled {
                // Register the new deadline.
                let _ = timer.as_mut().poll(context);
            }
        }
        is_stalled
    }
}

/// The newest progress of something that runs, between it and the session. Older ones are overwritten.
#[derive(Default)]
pub(crate) struct ProgressCell(std::sync::Mutex<(Option<String>, Option<Waker>)>);

impl ProgressCell {
    pub(super) fn put(&self, text: &str) {
        let mut cell = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        cell.0 = Some(text.to_owned());
        if let Some(waker) = cell.1.take() {
            waker.wake();
        }
    }
    pub(super) fn poll_take(&self, context: &mut Context<'_>) -> Poll<String> {
        let mut cell = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match cell.0.take() {
            Some(text) => Poll::Ready(text),
            None => {
                cell.1 = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

#[cfg(test)]
mod tests;
