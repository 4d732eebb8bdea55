//! Reading the log back, and going on after something broke: a process that died, a write that failed.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::time::{Duration, Sleep};
use vocab::{
    AskEntry, Body, CallEntry, CompactionEvent, CutBy, Delivery, Event, ExtensionEvent, Fault, FaultKind, Item,
    ItemEnd, ModelEntry, NoteEntry, Notice, NoticeLevel, SettleReason, Shell, ShellEntry, Stop, TurnEnd, TurnEntry,
    TurnId, Usage, WaitingOnRestart,
};

use super::budget::LostSpending;
use super::fallback::Fallback;
use super::mail::TakenUp;
use super::model_gone::WithoutModel;
use super::{Session, TurnWaits, later};
use crate::session::log::logged::{KnownKeys, Logged};
use crate::session::model_view::{Branch, History, OpenTurn, ReadLog, lost_result};
use crate::session::queue::{Queue, TurnOver};
use crate::session::turn::Effect;

/// After a write that failed, messages that wait are taken up again after this long, twice as long after the next
/// failure, and so on up to the other.
const MEND_WAIT: Duration = Duration::from_secs(1);
const MEND_WAIT_MAX: Duration = Duration::from_secs(60);

/// What a session has to make good: a log that was repaired when it was taken over, messages that a failed write left waiting.
#[derive(Default)]
pub(super) struct Recovery {
    /// What had to be repaired before the session was ours, until it is logged.
    repaired: Option<String>,
    /// When to take up what waits in the log, and how long that wait was.
    timer: Option<Pin<Box<Sleep>>>,
    waited: Option<Duration>,
    /// It is taken up when the log is read.
    waits_for_view: bool,
    /// A turn that the log ends in goes on when that is read.
    continues: bool,
    /// A turn that somebody has stopped, whose end could not be written.
    stopped: Option<TurnId>,
    /// A turn whose time was over before it could go on.
    timed_out: Option<TurnId>,
    /// Its end is all that is to be made good: nothing begins by itself.
    only_closes: bool,
    pub(super) without_model: WithoutModel,
    /// Who takes the session up wants to know whether it can be read. Nobody's turn begins before it is known what waits here.
    taken_up: Option<TakenUp>,
    /// Why the log could not be read the last time.
    unread: Option<Fault>,
}

impl Recovery {
    /// `continues`: see [`vocab::OnRestart::Continue`].
    pub(super) fn new(repaired: Option<String>, continues: bool) -> Self {
        Self { repaired, continues, ..Self::default() }
    }
    /// Whether the log is still to be read for the turn that may go on.
    pub(super) fn is_to_continue(&self) -> bool {
        self.continues
    }
    pub(super) fn take_up(&mut self, taken_up: TakenUp) {
        self.taken_up = Some(taken_up);
    }
    /// Whoever waits here is in line. A log that cannot be read now keeps nobody waiting.
    pub(super) fn let_go(&mut self) {
        if (!self.continues || self.timer.is_some())
            && let Some(TakenUp { told, .. }) = self.taken_up.take()
        {
            let unread = self.unread.clone().filter(|_| self.continues);
            let _ = told.send(unread.map_or(Ok(()), Err));
        }
    }
    /// The turn that the log ends in does not go on: somebody has stopped it.
    pub(super) fn stop_unread(&mut self, turn: TurnId) {
        (self.continues, self.stopped) = (false, Some(turn));
    }
    /// A write has succeeded: the next failure is a first one.
    pub(super) fn written(&mut self) {
        self.waited = None;
    }
    /// Something is to be taken up by and by.
    pub(super) fn is_pending(&self) -> bool {
        self.timer.is_some() || self.waits_for_view || self.continues
    }
    pub(super) fn poll_due(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.timer.as_mut().map_or(Poll::Pending, |timer| timer.as_mut().poll(context))
    }
}

/// What a write that failed leaves behind.
pub(super) struct RollBackOutcome {
    was_running: bool,
    /// Messages wait in the log that would have gone on by themselves.
    waits: bool,
    /// The end of a turn that somebody has stopped is not in the log.
    is_stopped: bool,
}

impl Session {
    /// Whether the model's view is in memory, or need not be: while something runs the log is in order, and what runs reads
    /// it when it needs it. `false`: the verb that needs it has to wait ([`Need::View`]).
    pub(super) fn view_at_rest(&mut self) -> Result<bool, Fault> {
        if self.prompts.queue.is_busy() { Ok(true) } else { self.view_ready() }
    }

    /// Whether the model's view is in memory. An empty log is read at once.
    pub(super) fn view_ready(&mut self) -> Result<bool, Fault> {
        if self.view.is_loaded() {
            return Ok(true);
        }
        self.jobs.failure()?;
        if self.log.last_seq() == 0 {
            self.take_log(None)?;
        }
        Ok(self.view.is_loaded())
    }

    /// The turn goes on with this once the log is read.
    pub(super) fn load_then(&mut self, then: Effect) {
        self.activity.wait(TurnWaits::View { then });
    }

    /// Begins to read the log when something waits for it and everything is written, and stops when nothing does.
    pub(super) fn read_if_wanted(&mut self) {
        let wanted = matches!(self.activity.waiting(), TurnWaits::View { .. })
            || self.activity.is_compaction_next()
            || self.jobs.want_view()
            || self.activity.undoing().is_some_and(|undo| undo.wants_view())
            || self.recovery.waits_for_view
            || (self.recovery.continues && self.recovery.timer.is_none());
        if !wanted || self.view.is_loaded() {
            self.view.stop_reading();
        } else if !self.view.is_reading() && self.log.is_settled() {
            // A commit that was said to have failed may be there all the same; the next append takes it away.
            let (upto, store) = (self.log.last_seq(), self.shared.ports.store.clone());
            self.view.read(upto, later::with_lost(store, self.id.clone(), upto, self.purse.is_some()));
        }
    }

    /// Reads the branch back, and closes what a dead process or a failed write left open: each open call gets a recorded
    /// result before the next model request can be made.
    pub(super) fn log_read(&mut self, read: Result<ReadLog, Fault>) {
        let Some(upto) = self.view.end_reading() else { return };
        let taken = match read {
            Ok(read) if self.log.last_seq() == upto => self.take_log(Some(read)),
            // What came in meanwhile is not in what was read: it is read again.
            Ok(_) => return,
            Err(fault) => Err(fault),
        };
        let is_reading = |waiting: &TurnWaits| matches!(waiting, TurnWaits::View { .. });
        if let Some(TurnWaits::View { then }) = self.activity.stop_waiting_if(is_reading) {
            match &taken {
                Ok(()) => self.activity.push_effect(then),
                Err(fault) => self.reading_failed(then, fault.clone()),
            }
        }
        self.jobs.view_read(&taken);
        if let Err(fault) = &taken {
            self.give_up_next_compaction(fault.clone());
            self.fail_undo(fault);
        }
        if std::mem::take(&mut self.recovery.waits_for_view) || self.recovery.continues {
            self.recovery.unread = taken.err();
            match &self.recovery.unread {
                None => self.mend(),
                Some(_) => self.mend_later(),
            }
        }
    }

    fn reading_failed(&mut self, then: Effect, fault: Fault) {
        self.with_turn(|turn, fx| match then {
            Effect::Compact(_) => turn.compacted(Err(fault), fx),
            _ => {
                turn.abort(fault, fx);
            }
        });
    }

    fn take_log(&mut self, read: Option<ReadLog>) -> Result<(), Fault> {
        // Without one nothing is touched by itself: a turn that was cut off goes on when there is a model again.
        if let Err(fault) = self.find_model() {
            if let Some(read) = read {
                self.take_without_model(read);
            }
            return Err(fault);
        }
        self.recovery.without_model = WithoutModel::default();
        if let (Some(read), Some(purse)) = (&read, &mut self.purse) {
            purse.spending = read.spending.clone();
        }
        let (window, spending) = read.map(|read| (read.window, read.lost)).unzip();
        let (mut news, mut lost) = (false, Vec::new());
        let mut open = None;
        if let Some(window) = &window
            && self.recovery.continues
        {
            open = OpenTurn::read(&window.page.entries);
            self.recovery.timed_out = open.take_if(|open| self.is_late(open.until_ms)).map(|late| late.id);
            open.iter().for_each(|open| self.restore_fallback(&open.fell_back));
        }
        let mut history = History::new(self.shared.ports.provider.chat(self.settings.asked())?);
        let continues = std::mem::take(&mut self.recovery.continues);
        if let Some(window) = window {
            if window.page.recovered.is_none() {
                self.view.find_sent(window.all());
            }
            let mut branch = Branch::of(&window);
            history.rebuild(&branch, self.current_turn().as_ref().or(open.as_ref().map(|open| &open.id)));
            news = self.settings.found(branch.gadgets_off.as_ref(), branch.thinking.as_ref());
            news |= *self.log.logged().todos != *branch.todos;
            let numbered = open.as_ref().map(|_| window.page.entries.iter());
            let next_reply =
                numbered.map(|entries| entries.fold(0, |next, entry| vocab::next_reply(next, &entry.body)));
            self.log.found(Logged {
                next_reply: next_reply.unwrap_or(self.log.logged().next_reply),
                thinking: branch.thinking.clone().flatten(),
                todos: branch.todos.as_slice().into(),
                keys: KnownKeys::of(window.all()),
                ..self.log.logged().clone()
            });
            if let Some(text) = window.page.recovered {
                self.log(Body::Note(NoteEntry::Recovered { text: text.into() }));
            }
            if continues {
                self.remember(&branch);
            }
            if self.activity.turn().is_none() {
                self.prompts.turn_by = branch.turn_by.take();
                let spent = self.settle_lost(&spending.unwrap_or_default());
                branch.open_usage.add(&spent);
                open.iter_mut().for_each(|open| open.usage.add(&spent));
                lost = self.repair(branch, open.as_ref());
            }
        }
        self.view.load(history);
        for shell in lost {
            self.log(Body::Shell(ShellEntry::Ended(shell)));
        }
        if let Some(open) = open {
            // Who is here already, because there was no model at first, has not heard that it runs.
            news = true;
            self.continue_turn(open);
        }
        if continues {
            // What waits goes on as well: behind the turn, or now.
            self.step_queue(Queue::go_on);
        }
        if news {
            self.tell_state();
        }
        Ok(())
    }

    /// What was repaired before a peer came is the first thing said, to the first peer.
    pub(super) fn log_repair(&mut self) {
        if let Some(text) = self.recovery.repaired.take() {
            self.log(Body::Note(NoteEntry::Recovered { text: text.into() }));
        }
    }

    /// What was spent when the process died is the turn's, as if it had been written down.
    pub(super) fn settle_lost(&mut self, lost: &LostSpending) -> Usage {
        let mut sum = Usage::default();
        let spent = lost.entries();
        if !spent.is_empty() {
            let text = "what sub-agents and a model call under way had used when the process ended is counted here";
            self.log(Body::Note(NoteEntry::Recovered { text: text.into() }));
        }
        for entry in spent {
            if let ModelEntry::Spent { usage, .. } = &entry {
                sum.add(usage);
            }
            self.log(Body::Model(entry));
        }
        sum
    }

    /// Closes what is open, but for the turn that goes on, and returns what is to be said of commands that did not end.
    pub(super) fn repair(&mut self, mut branch: Branch, goes_on: Option<&OpenTurn>) -> Vec<Shell> {
        if let Some(open) = goes_on {
            branch.open_turn = None;
            branch.open_calls.retain(|(turn, _)| *turn != open.id);
        }
        for ask in branch.open_asks {
            if self.approvals.get(&ask.id).is_none() && !goes_on.is_some_and(|open| open.is_asking(&ask.id)) {
                self.log(Body::Ask(AskEntry::Closed { ask: ask.id, end: vocab::AskEnd::Withdrawn }));
            }
        }
        let lost = branch.open_calls.len();
        for (turn, call) in branch.open_calls {
            self.log(Body::Call(CallEntry::Ended { turn, result: lost_result(&call) }));
        }
        let stopped = self.recovery.stopped.take();
        if let Some(turn) = branch.open_turn {
            let fault =
                || Fault::new(FaultKind::Internal, "the process ended during this turn, or could not write its end");
            let is_late = self.recovery.timed_out.take().as_ref() == Some(&turn);
            if is_late {
                let why = CutBy::TimedOut;
                self.log(Body::Turn(TurnEntry::Cut { turn: turn.clone(), why, item: None }));
            }
            let is_stopped = is_late || stopped.as_ref() == Some(&turn);
            self.log(Body::Turn(TurnEntry::Ended(TurnEnd {
                turn,
                stop: if is_stopped { Stop::Interrupted } else { Stop::Error },
                iterations: 0,
                usage: branch.open_usage,
                mutations: Vec::new(),
                fault: (!is_stopped).then(fault),
            })));
        }
        if lost > 0 {
            let text = format!("{lost} tool call(s) had no result and were closed with an error");
            self.log(Body::Note(NoteEntry::Recovered { text: text.into() }));
        }
        if !branch.unrestored.is_empty() {
            let files = branch.unrestored.join(", ");
            let text = format!("an undo was cut short; these files may still be as they were before it: {files}");
            self.log(Body::Note(NoteEntry::Recovered { text: text.into() }));
        }
        self.restore_waiting(branch.waiting, &branch.dropped, goes_on.is_some());
        self.close_lost_asides(branch.open_asides);
        self.lost_shells(branch.open_shells)
    }

    /// What the log says to wait, and to have been dropped, is the queue's, unless that has it already.
    pub(super) fn restore_waiting(&mut self, waiting: Vec<Item>, dropped: &[Item], goes_on: bool) {
        if self.prompts.queue.list().len() > 0 {
            return;
        }
        self.prompts.queue.restore_dropped(dropped);
        let is_dropped = self.settings.conduct.waiting_on_restart == WaitingOnRestart::Dropped;
        let (over, waiting): (Vec<Item>, Vec<Item>) =
            waiting.into_iter().partition(|item| is_dropped && !self.prompts.is_ours(&item.id));
        self.log.peers.is_news |= !waiting.is_empty();
        let (late, waiting): (Vec<Item>, Vec<Item>) = waiting.into_iter().partition(|item| self.is_late(item.until_ms));
        if waiting.iter().any(|item| item.until_ms.is_some()) {
            self.limits();
        }
        for item in late {
            self.prompts.found_waiting(&item.id);
            self.settle_item(&item, ItemEnd::Cancelled, SettleReason::TimedOut, None);
        }
        let late = self.prompts.restore(waiting, goes_on);
        for item in over {
            self.prompts.found_waiting(&item.id);
            self.settle_item(&item, ItemEnd::Dropped, SettleReason::Restarted, None);
        }
        for item in late {
            let is_late = item.delivery == Delivery::Steer;
            let why = if is_late { SettleReason::TooLate } else { SettleReason::NoRoom };
            self.settle_item(&item, ItemEnd::Dropped, why, None);
        }
    }

    /// The log could not be written: the turn ends, nothing after the failure is told, and what goes on goes on from what
    /// the store really has.
    pub(super) fn store_failed(&mut self, fault: Fault) {
        if fault.kind == FaultKind::SessionBusy {
            return self.lease_lost(fault);
        }
        let RollBackOutcome { was_running, waits, is_stopped } = self.roll_back(&fault);
        if waits || std::mem::take(&mut self.recovery.waits_for_view) {
            self.recovery.only_closes = false;
            self.mend_later();
        } else if is_stopped {
            // What somebody has stopped must not go on in the next process because the log does not say so.
            self.recovery.only_closes = true;
            self.mend_later();
        }
        if was_running || self.prompts.queue.is_busy() {
            self.queue_goes_on(TurnOver::Failed);
        }
    }

    /// Somebody else has the session: nothing more is done for it here, neither a call nor an acknowledgement.
    pub(super) fn lease_lost(&mut self, fault: Fault) {
        self.roll_back(&fault);
        self.cast_off(fault);
    }

    /// Back to what the store has.
    pub(super) fn roll_back(&mut self, fault: &Fault) -> RollBackOutcome {
        let rested = self.prompts.queue.rests();
        let waited = self.prompts.roll_back();
        self.recovery.without_model = WithoutModel::default();
        self.reminders.is_due = false;
        self.refuse_next_compaction(fault.clone());
        self.cancel_compaction(fault.clone());
        self.activity.stop_waiting();
        self.activity.take_effects();
        let rolled_back = self.log.roll_back(fault);
        self.view.forget_sent();
        self.drop_asks();
        self.extensions.opening.clear();
        self.tools.drop_added();
        self.prompts.remember_senders(rolled_back.senders);
        self.activity.unsettled = rolled_back.unsettled;
        let was_running = self.activity.end_turn();
        if let Some(home) = self.settings.fallback.take().map(Fallback::into_home) {
            self.speak_to(home);
        }
        self.take_back_changes();
        self.fail_jobs(fault);
        self.fail_undo(fault);
        self.fail_shells(fault);
        self.fail_asides(fault);
        self.view.unload();
        if let Some(reason) = rolled_back.told_compaction {
            self.log.emit(Event::Compaction(CompactionEvent::Failed { reason, fault: fault.clone() }));
        }
        let is_stopped = rolled_back.stopped.is_some();
        if let Some(turn) = rolled_back.told_turn {
            if is_stopped {
                let text =
                    format!("the turn is interrupted, and that could not be written yet: {}", fault.message).into();
                let notice = Notice::Say { text, level: NoticeLevel::Warning };
                self.log.emit(Event::Extension(ExtensionEvent::Notice(notice)));
            }
            self.log.emit(Event::TurnLost(TurnEnd {
                turn,
                stop: if is_stopped { Stop::Interrupted } else { Stop::Error },
                iterations: 0,
                usage: Usage::default(),
                mutations: Vec::new(),
                fault: (!is_stopped).then(|| fault.clone()),
            }));
        }
        self.recovery.stopped = rolled_back.stopped.or_else(|| self.recovery.stopped.take());
        RollBackOutcome { was_running, waits: (waited || rolled_back.reopened) && !rested, is_stopped }
    }

    /// Messages wait in the log, and no peer may ever speak again: the session takes them up by itself, after a while that
    /// grows with every failure.
    fn mend_later(&mut self) {
        let wait = self.recovery.waited.map_or(MEND_WAIT, |last| (last * 2).min(MEND_WAIT_MAX));
        self.recovery.waited = Some(wait);
        self.recovery.timer = Some(Box::pin(tokio::time::sleep(wait)));
    }

    pub(super) fn mend(&mut self) {
        self.recovery.timer = None;
        if self.prompts.queue.is_busy() || self.activity.is_ending() {
            self.recovery.only_closes = false;
            return;
        }
        match self.view_ready() {
            Ok(true) if std::mem::take(&mut self.recovery.only_closes) => {}
            Ok(true) => {
                self.step_queue(Queue::release);
                self.tell_queue();
            }
            Ok(false) => self.recovery.waits_for_view = true,
            Err(_) => self.mend_later(),
        }
    }
}
