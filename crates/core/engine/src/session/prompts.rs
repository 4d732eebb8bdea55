//! Messages on their way into a turn: what waits, what of it is in the log, and who sent it. The rules are the queue's
//! ([`Queue`]); what it decides is carried out here.

use std::collections::{HashMap, HashSet};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::time::{Duration, Instant, Sleep};
use vocab::{
    Body, Change, Delivery, Event, Fault, FaultKind, IdKind, Item, ItemEnd, ItemId, LanePolicy, Part, PeerId,
    Principal, QueueEntry, QueueEvent, QueueVerb, Reply, SettleReason, Tag, TurnEntry, TurnId, UserFrom,
};

use super::queue::{Queue, QueueAct, TurnOver, opening};
use super::turn::{Turn, TurnRules};
use super::{Session, later};
use crate::images;
use crate::outbox::Outbox;
use crate::turn_places::{PlaceInLine, TurnPlace, TurnPlaces, WaitsSince};

/// The queue of one session and what is known of its items.
pub(super) struct Prompts {
    pub(super) queue: Queue,
    in_log: HashSet<ItemId>,
    /// Who wanted the turn that runs, or ran last.
    pub(super) turn_by: Option<Principal>,
    /// The peers that sent its messages and have not said that they want it no more; none after a restart.
    pub(super) turn_from: Vec<PeerId>,
    /// Who sent the items that a failed store made the session forget; the log does not say.
    senders: HashMap<ItemId, (PeerId, Tag)>,
    /// Of items that came with one, until a turn takes them.
    traces: HashMap<ItemId, Arc<str>>,
    /// That of the turn that runs, or ran last.
    pub(super) turn_trace: Option<Arc<str>>,
    /// When that one began, or was taken up.
    pub(super) turn_started: Instant,
    /// The end of a debounce.
    timer: Option<Pin<Box<Sleep>>>,
    /// The next message is in line for it.
    place: Option<PlaceInLine>,
    /// Drawn when the last turn was over. Who waited meanwhile is in line since then.
    pub(super) drawn_since: Option<WaitsSince>,
    born: Instant,
}

impl Prompts {
    pub(super) fn new(policy: LanePolicy) -> Self {
        Self {
            queue: Queue::new(policy),
            in_log: HashSet::new(),
            turn_by: None,
            turn_from: Vec::new(),
            senders: HashMap::new(),
            traces: HashMap::new(),
            turn_trace: None,
            turn_started: Instant::now(),
            timer: None,
            place: None,
            drawn_since: None,
            born: Instant::now(),
        }
    }

    /// The queue's clock.
    pub(super) fn now_ms(&self) -> i64 {
        self.born.elapsed().as_millis() as i64
    }

    /// Sets the timer for the queue's next deadline, or gets in line for a place among `turns`.
    pub(super) fn arm(&mut self, turns: Option<Arc<TurnPlaces>>) {
        let awaits_place = self.queue.awaits_place(self.now_ms());
        match turns.filter(|_| awaits_place) {
            Some(turns) => {
                let since = self.queue.next_waits_since().max(self.drawn_since);
                // Who is in line stays there, unless it is for a message that is gone.
                self.place.take_if(|place| Some(place.since()) != since);
                if let (None, Some(since)) = (&self.place, since) {
                    self.place = Some(turns.queue_up(since));
                }
            }
            None => self.place = None,
        }
        self.timer = self.queue.due().filter(|_| !awaits_place).map(|at_ms| {
            let at = self.born + Duration::from_millis(at_ms.max(0) as u64);
            Box::pin(tokio::time::sleep_until(at))
        });
    }
    pub(super) fn poll_due(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(timer) = &mut self.timer else { return Poll::Pending };
        if timer.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        self.timer = None;
        Poll::Ready(())
    }

    pub(super) fn poll_place(&mut self, context: &mut Context<'_>) -> Poll<TurnPlace> {
        let Some(place) = &mut self.place else { return Poll::Pending };
        let polled = Pin::new(place).poll(context);
        if polled.is_ready() {
            self.place = None;
        }
        polled
    }
    /// Whether messages wait in line for a place.
    pub(super) fn is_in_line(&self) -> bool {
        self.place.is_some()
    }
    /// A turn takes over the place in line.
    pub(super) fn leave_line(&mut self) -> Option<PlaceInLine> {
        self.place.take()
    }

    /// The log says that it waits.
    fn is_in_log(&self, id: &ItemId) -> bool {
        self.in_log.contains(id)
    }
    /// It waits no more. Whether the log has to say so.
    fn settle(&mut self, id: &ItemId) -> bool {
        self.in_log.remove(id)
    }

    /// The log ends earlier. What waits is what the log says: an item whose record is lost was refused, one whose end is lost
    /// waits on. Whether anything waited, by the log.
    pub(super) fn roll_back(&mut self) -> bool {
        let waited = !self.in_log.is_empty();
        let cleared = self.queue.clear().into_iter();
        self.senders.extend(cleared.filter_map(|item| Some((item.id, item.sender?))));
        self.in_log.clear();
        waited
    }
    pub(super) fn remember_senders(&mut self, senders: Vec<(ItemId, (PeerId, Tag))>) {
        self.senders.extend(senders);
    }
    /// The log says that it waits, and is to say that it does not.
    pub(super) fn found_waiting(&mut self, id: &ItemId) {
        self.in_log.insert(id.clone());
    }
    /// Whether it waited in this process, and only the view of it was lost.
    pub(super) fn is_ours(&self, id: &ItemId) -> bool {
        self.senders.contains_key(id)
    }
    /// What the log says to wait. Gives back what is too late or too much. `goes_on`: see [`Queue::restore`].
    pub(super) fn restore(&mut self, mut waiting: Vec<Item>, goes_on: bool) -> Vec<Item> {
        for item in &mut waiting {
            item.sender = self.senders.remove(&item.id);
        }
        self.senders.clear();
        self.in_log.extend(waiting.iter().map(|item| item.id.clone()));
        self.queue.restore(waiting, goes_on)
    }
}

impl Session {
    /// Images are made small enough beside everything else. Accepted, refused or waiting: the queue's acts carry the reply.
    pub(super) fn prompt(
        &mut self,
        outbox: &Arc<Outbox>,
        tag: Tag,
        parts: Vec<Part>,
        delivery: Delivery,
    ) -> Result<(), Fault> {
        if parts.iter().any(|part| matches!(part, Part::Image(_))) {
            images::check(&parts)?;
            let fit = self.shared.ports.fit_image;
            self.prompt_job(outbox, tag, delivery, later::fitted_prompt(parts, delivery, fit));
            return Ok(());
        }
        self.view_at_rest()?;
        self.offer(outbox, tag, parts, delivery);
        Ok(())
    }

    /// The queue decides whether the message is taken; only then the model is chosen that came with it.
    pub(super) fn offer(&mut self, outbox: &Arc<Outbox>, tag: Tag, parts: Vec<Part>, delivery: Delivery) {
        let named = self.log.commands.model().cloned();
        let model = match named.map(|name| self.ready(Change::Model(name))).transpose() {
            Ok(model) => model,
            Err(fault) => return self.log.reply(outbox.clone(), Event::Reply { tag, result: Err(fault) }),
        };
        let item = Item {
            id: ItemId::from(self.shared.ports.ids.mint(IdKind::Item)),
            parts,
            delivery,
            at_ms: self.shared.ports.clock.now_ms(),
            sender: Some((outbox.peer, tag)),
            by: self.log.commands.acting().cloned(),
            until_ms: self.log.commands.until_ms(),
        };
        if item.until_ms.is_some() {
            self.limits();
        }
        if let Some(trace) = self.log.commands.trace() {
            self.prompts.traces.insert(item.id.clone(), trace.clone());
        }
        let id = item.id.clone();
        let acts = self.ask_queue(|queue, now_ms| queue.offer(item, now_ms));
        let is_refused = acts.iter().any(|act| matches!(act, QueueAct::Refuse { item, .. } if item.id == id));
        if let Some(model) = model.filter(|_| !is_refused) {
            self.put_in_force(vec![model]);
        }
        self.act(acts);
    }

    /// Whether what came from `sender` came from somebody else than this peer who is here.
    fn is_another_here(&self, sender: Option<PeerId>, peer: PeerId) -> bool {
        sender.is_some_and(|sender| sender != peer && self.log.peers.is_here(sender))
    }

    pub(super) fn queue_verb(&mut self, peer: PeerId, verb: QueueVerb) -> Result<Reply, Fault> {
        // What waits is what the log says.
        self.check_queue()?;
        if let QueueVerb::TakeBackUnlessWanted(id) = &verb {
            let waits = self.prompts.queue.list().find(|item| item.id == *id);
            let sender = waits.and_then(|item| Some(item.sender?.0));
            if self.is_another_here(sender, peer) {
                return Ok(Reply::Queue(Vec::new()));
            }
        }
        let queue = &mut self.prompts.queue;
        let taken = match verb {
            QueueVerb::List => return Ok(Reply::Queue(queue.list().cloned().collect())),
            QueueVerb::TakeBack(id) | QueueVerb::TakeBackUnlessWanted(id) => vec![queue.take_back(&id)?],
            QueueVerb::Clear => queue.clear(),
            QueueVerb::ClearTurns => queue.clear_turns(),
        };
        for item in &taken {
            self.settle_item(item, ItemEnd::Cancelled, SettleReason::TakenBack, None);
        }
        if !taken.is_empty() {
            self.tell_queue();
        }
        Ok(Reply::Queue(taken))
    }

    /// What the queue decided. The model's view is loaded whenever a turn can start.
    pub(super) fn act(&mut self, acts: Vec<QueueAct>) {
        for act in acts {
            match act {
                QueueAct::Start { items, note } => self.start_turn(items, note),
                QueueAct::Waiting { id, position } => self.keep_waiting(&id, position),
                QueueAct::Refuse { item, fault } => {
                    self.prompts.traces.remove(&item.id);
                    if let Some((outbox, tag)) = self.sender(&item) {
                        if fault.kind == FaultKind::QueueFull {
                            let lane = Box::new(self.prompts.queue.note());
                            self.log.reply(outbox.clone(), Event::Queue(QueueEvent::Refused { tag, lane }));
                        }
                        self.log.reply(outbox, Event::Reply { tag, result: Err(fault) });
                    }
                }
                QueueAct::Settle { item, end, why } => self.settle_item(&item, end, why, None),
                QueueAct::InterruptTurn { item } => {
                    self.activity.cut_for(item, self.log.commands.acting());
                    self.interrupt_turn();
                }
                QueueAct::Changed => self.tell_queue(),
            }
        }
    }

    fn start_turn(&mut self, items: Vec<Item>, note: Option<String>) {
        let turn = TurnId::from(self.shared.ports.ids.mint(IdKind::Turn));
        self.prompts.turn_by = items.first().and_then(|item| item.by.clone());
        self.prompts.turn_from = items.iter().filter_map(|item| Some(item.sender?.0)).collect();
        self.log_settings();
        self.log(Body::Turn(TurnEntry::Started { turn: turn.clone() }));
        let until_ms = self.limits.as_mut().and_then(|limits| limits.begin(&turn, &items));
        self.log_taken(&turn, &items, until_ms);
        for item in &items {
            // The peer that was told that it waits has had the reply; now it learns that the waiting is over.
            if self.prompts.is_in_log(&item.id) {
                self.settle_item(item, ItemEnd::Consumed, SettleReason::Ran, Some(&turn));
            } else if let Some((outbox, tag)) = self.sender(item) {
                let result = Ok(Reply::Started { turn: turn.clone() });
                self.log.reply(outbox, Event::Reply { tag, result });
            }
        }
        let parts = opening(&items, note.as_deref());
        self.reminders.given = 0;
        self.hear_of_extensions();
        if self.tools.has_extensions() {
            self.keep_opening(&parts);
        }
        self.begin_turn(turn, parts, UserFrom::Prompt);
    }

    /// Of which messages a turn is made, where that is not plain, the trace that it belongs to and the time that it has.
    fn log_taken(&mut self, turn: &TurnId, items: &[Item], until_ms: Option<i64>) {
        let traces = &mut self.prompts.traces;
        let mut came: Vec<Arc<str>> = items.iter().filter_map(|item| traces.remove(&item.id)).collect();
        self.prompts.turn_trace = if came.is_empty() { None } else { Some(came.swap_remove(0)) };
        if items.len() > 1 || self.prompts.turn_trace.is_some() || until_ms.is_some() {
            let items = items.iter().map(|item| item.id.clone()).collect();
            let trace = self.prompts.turn_trace.clone();
            self.log(Body::Turn(TurnEntry::Taken { turn: turn.clone(), items, trace, until_ms }));
        }
    }

    /// The turn's own message, and then the model. Its start is logged already.
    pub(super) fn begin_turn(&mut self, turn: TurnId, parts: Vec<Part>, from: UserFrom) {
        let by = self.prompts.turn_by.clone().filter(|_| from == UserFrom::Prompt);
        self.log_by(by, Body::User { turn: Some(turn.clone()), parts, from });
        self.prompts.turn_started = Instant::now();
        self.activity.begin_turn(Turn::new(turn, self.settings.model.clone(), self.turn_rules()));
        self.mcp.first_call = true;
        self.reminders.is_due = false;
    }

    pub(super) fn turn_rules(&self) -> TurnRules {
        TurnRules {
            max_iterations: self.settings.max_iterations,
            retry: self.settings.retry,
            compact_on_overflow: self.settings.compaction.auto,
            read: self.shared.ports.read_object,
        }
    }

    fn keep_waiting(&mut self, id: &ItemId, position: usize) {
        let Some(item) = self.prompts.queue.list().find(|item| item.id == *id).cloned() else { return };
        self.prompts.in_log.insert(id.clone());
        self.log_by(item.by.clone(), Body::Queue(QueueEntry::Queued(item.clone())));
        if let Some((outbox, tag)) = self.sender(&item) {
            let result = Ok(Reply::Waiting { item: id.clone(), position });
            self.log.reply(outbox, Event::Reply { tag, result });
        }
    }

    /// Each item's end is told to the peer that sent it, once. `turn`: the one that takes it.
    pub(super) fn settle_item(&mut self, item: &Item, end: ItemEnd, why: SettleReason, turn: Option<&TurnId>) {
        self.prompts.traces.remove(&item.id);
        if self.prompts.settle(&item.id) {
            self.log(Body::Queue(QueueEntry::Settled { item: item.id.clone(), end, why: Some(why) }));
        }
        if let Some((outbox, tag)) = self.sender(item) {
            let is_lost = matches!(end, ItemEnd::Dropped | ItemEnd::Superseded);
            let lane = is_lost.then(|| Box::new(self.prompts.queue.note()));
            let (item, turn) = (item.id.clone(), turn.cloned());
            self.log.reply(outbox, Event::Queue(QueueEvent::Ended { tag, item, end, why, turn, lane }));
        }
    }

    fn sender(&self, item: &Item) -> Option<(Arc<Outbox>, Tag)> {
        let (peer, tag) = item.sender?;
        self.log.peers.outbox_of(peer).map(|outbox| (outbox.clone(), tag))
    }

    pub(super) fn tell_queue(&mut self) {
        let items = self.prompts.queue.list().cloned().collect();
        self.log.emit(Event::Queue(QueueEvent::Waiting(items)));
    }

    /// The queue's next item starts, unless a compaction was asked for first, or the session is ending: then it waits in
    /// the log for the next process.
    pub(super) fn queue_goes_on(&mut self, over: TurnOver) {
        if self.activity.is_ending() {
            let acts = self.prompts.queue.close();
            self.act(acts);
        } else if self.activity.next.is_some() {
            let acts = self.prompts.queue.hand_over(over);
            self.act(acts);
        } else {
            self.step_queue(|queue, now_ms| queue.turn_ended(over, now_ms));
        }
        if !self.prompts.queue.is_busy()
            && std::mem::take(&mut self.reminders.is_due)
            && !self.log.logged().todos.is_empty()
        {
            self.remind();
        }
    }

    /// Once, when a turn has ended and nothing follows by itself: no waiting message, no end of a debounce, no reminder.
    pub(super) fn tell_settled(&mut self) {
        let idle = !self.prompts.queue.is_busy() && self.prompts.queue.due().is_none();
        let rests = self.activity.turn().is_none() && (idle || self.activity.is_ending());
        if rests && std::mem::take(&mut self.activity.unsettled) {
            self.log.emit(Event::Settled);
        }
    }

    pub(super) fn interrupt_turn(&mut self) {
        let meant = self.activity.turn_id();
        let cancelled = || Fault::new(FaultKind::Cancelled, "Compaction cancelled");
        if self.activity.is_compaction_next() {
            self.give_up_next_compaction(cancelled());
        }
        if self.activity.is_compacting() {
            self.cancel_compaction(cancelled());
        }
        // A message that waited for the compaction runs by now, and nobody wants to stop that.
        if self.activity.turn_id() != meant {
            return;
        }
        if self.subagents.is_lent && self.close_subagents() {
            return;
        }
        self.stop_work();
        self.with_turn(|turn, fx| {
            turn.interrupt(fx);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(id: &str, sender: u64) -> Item {
        Item {
            id: id.into(),
            parts: vec![Part::text(id)],
            delivery: Delivery::Enqueue,
            at_ms: 0,
            sender: Some((PeerId(sender), Tag(sender))),
            by: None,
            until_ms: None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_failed_write_made_it_forget_comes_back_with_its_sender() {
        let mut prompts = Prompts::new(LanePolicy::default());
        prompts.queue.offer(item("runs", 1), 0);
        prompts.queue.offer(item("waits", 2), 0);
        prompts.in_log.insert("waits".into());
        assert!(prompts.is_in_log(&"waits".into()) && !prompts.is_in_log(&"runs".into()));
        assert!(prompts.roll_back());
        assert_eq!(prompts.queue.list().count(), 0);
        // The log does not say who sent it.
        let logged = Item { sender: None, ..item("waits", 0) };
        assert!(prompts.restore(vec![logged], false).is_empty());
        assert_eq!(prompts.queue.list().next().and_then(|item| item.sender), Some((PeerId(2), Tag(2))));
        assert!(prompts.settle(&"waits".into()) && !prompts.settle(&"waits".into()), "its end is logged once");
    }

    #[tokio::test(start_paused = true)]
    async fn the_timer_is_the_end_of_a_debounce() {
        let mut prompts = Prompts::new(LanePolicy { debounce_ms: 50, ..LanePolicy::default() });
        let due = |prompts: &mut Prompts| {
            prompts.arm(None);
            prompts.poll_due(&mut Context::from_waker(std::task::Waker::noop())).is_ready()
        };
        assert!(!due(&mut prompts), "nothing waits");
        prompts.queue.offer(item("runs", 1), prompts.now_ms());
        prompts.queue.offer(Item { delivery: Delivery::Policy, ..item("waits", 1) }, prompts.now_ms());
        prompts.queue.turn_ended(TurnOver::Completed, prompts.now_ms());
        assert!(!due(&mut prompts));
        tokio::time::advance(Duration::from_millis(60)).await;
        assert!(due(&mut prompts));
    }
}
