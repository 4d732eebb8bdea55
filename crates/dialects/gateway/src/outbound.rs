//! What the engine tells unasked, on its way to the requests in a run, to who waits, and to subscriptions.

use std::sync::Arc;

use vocab::{
    AskEntry, Body, BranchEntry, Delta, EncodingId, Entry, Event, ItemEnd, ItemId, LaneNote, QueueEntry, QueueEvent,
    SessionId, SettleReason, Told, TurnEntry, TurnId,
};

use crate::Gateway;
use crate::cursor::EventCursor;
use crate::events;
use crate::faults::{self, ItemRefused};
use crate::ledger::{RequestId, SubscriptionId};
use crate::listeners::{self, Listener, PAGE_ENTRIES};
use crate::log_context::LOOK_BEHIND;
use crate::own::{GatewayOwn, GatewayRefusal, Out};
use crate::pending::WantedOfService;
use crate::projection;
use crate::results::QueueCode;
use crate::run::Tails;
use crate::session_view::{OpenConfirm, SessionView, WaitsFor};

/// Text for subscribers, which is the same for all of them.
const GATEWAY_TEXT: EncodingId = EncodingId(0x6761_7465);

impl Gateway {
    /// An event of a session that the connection is on.
    pub(crate) fn event(&mut self, at: usize, told: &Told, out: &mut Out) {
        match &told.event {
            Event::Logged(entry) => self.logged(at, entry, out),
            Event::Delta(delta) => self.delta(at, told, delta, out),
            Event::State(state) => {
                self.views[at].state = state.clone();
                self.flush(at, out);
            }
            Event::Queue(QueueEvent::Waiting(items)) => self.views[at].queue_is(items),
            Event::Queue(QueueEvent::Refused { tag, lane }) => self.views[at].refused.push((*tag, lane.clone())),
            Event::Queue(QueueEvent::Ended { item, end, why, turn, lane, .. }) => {
                self.item_ended(at, item, (*end, *why), turn.as_ref(), lane.as_deref(), true, out);
            }
            // Whoever read a run's end while catching up gets no `State` after it, so it is flushed here.
            Event::Settled | Event::Live { .. } => self.flush(at, out),
            Event::TurnLost(end) => {
                let (view, mut tails) = (&mut self.views[at], Tails::new());
                let run = view.run_of(&end.turn);
                run.is_lost = true;
                run.ended(end, &mut tails);
                self.tell_ids(at, &tails, out);
                self.flush(at, out);
            }
            Event::Gone { fault } => self.gone(at, fault, out),
            // Nothing that this wire tells: the log says it, or it is for other peers.
            Event::Compaction(_)
            | Event::Retry(_)
            | Event::ShellProgress { .. }
            | Event::Extension(_)
            | Event::Editor(_)
            | Event::SignIn { .. }
            | Event::Watch(_) => {}
            // Taken by `tell`.
            Event::Reply { .. } => {}
        }
        // `gone` may have removed the view.
        if let Some(view) = self.views.get_mut(at).filter(|view| view.session == told.session) {
            let is_entry = view.at.seq != told.at.seq;
            view.at = told.at;
            if is_entry {
                self.subscribe_waiting(out);
            }
        }
    }

    /// To every request in the run.
    pub(crate) fn tell_ids(&self, at: usize, tails: &[Vec<u8>], out: &mut Out) {
        for tail in tails {
            self.views[at].ids.iter().for_each(|it| self.ledger.event(it.id, tail, out));
        }
    }

    fn delta(&mut self, at: usize, told: &Told, delta: &Delta, out: &mut Out) {
        let view = &mut self.views[at];
        match delta {
            Delta::Text { turn, delta } => {
                let SessionView { session, run, ids, listeners, reply_bytes, heard, .. } = view;
                heard.text(turn, *reply_bytes, delta);
                if let Some(run) = run.as_mut().filter(|run| run.turn == *turn) {
                    run.text(delta, &mut self.scratch);
                    if !self.scratch.is_empty() {
                        ids.iter().for_each(|it| self.ledger.event(it.id, &self.scratch, out));
                    }
                }
                let (before, after) = (*reply_bytes, *reply_bytes + delta.len() as u64);
                let mut shared = None;
                for listener in listeners {
                    if delta.is_empty() || !listener.is_in_step(told.at.seq, before) {
                        listener.text((session, turn), before, delta, &self.ledger, out);
                        continue;
                    }
                    // One frame for all who are told this, on every connection.
                    let tail = shared.get_or_insert_with(|| {
                        let cursor = EventCursor::bytes(told.at.seq, after);
                        told.encoded(GATEWAY_TEXT, |_, into| listeners::text_tail((session, turn), cursor, delta, into))
                    });
                    listener.shared_text(after, tail, &self.ledger, out);
                }
                *reply_bytes = after;
            }
            Delta::ModelCalled { turn, .. } => {
                let SessionView { session, listeners, .. } = view;
                for listener in listeners {
                    listener.reply_begins((session, turn), &self.ledger, out);
                }
                view.no_reply();
            }
            Delta::CallBegan { turn, call } => {
                let mut tails = Tails::new();
                if let Some(run) = view.run.as_mut().filter(|run| run.turn == *turn) {
                    run.call_began(call, &mut tails);
                }
                self.tell_ids(at, &tails, out);
            }
            Delta::Thinking { turn, delta } => {
                let SessionView { session, listeners, thought_bytes, heard, .. } = view;
                heard.thought(turn, *thought_bytes, delta);
                for listener in listeners {
                    listener.thought((session, turn), *thought_bytes, delta, &self.ledger, out);
                }
                *thought_bytes += delta.len() as u64;
            }
            // Calls are told whole.
            Delta::Sealed { .. } | Delta::CallInput { .. } | Delta::CallProgress { .. } => {}
        }
    }

    fn logged(&mut self, at: usize, entry: &Arc<Entry>, out: &mut Out) {
        if let Body::Turn(TurnEntry::Started { turn }) = &entry.body {
            self.flush(at, out);
            self.views[at].begin(turn);
        }
        let turn = projection::turn_of(&entry.body);
        let mut tails = Tails::new();
        let view = &mut self.views[at];
        let is_run = |of: &TurnId| turn == Some(of) || matches!(entry.body, Body::Branch(BranchEntry::Compacted(_)));
        if let Some(run) = view.run.as_mut().filter(|run| is_run(&run.turn)) {
            run.logged(entry, &mut tails);
        }
        self.tell_ids(at, &tails, out);
        match &entry.body {
            Body::Ask(_) => self.question(at, entry, out),
            // Of a message that another connection sent; the end of our own is told apart.
            Body::Queue(QueueEntry::Settled { item, end, why }) => {
                let turn = self.views[at].run.as_ref().filter(|run| !run.is_over()).map(|run| run.turn.clone());
                let why = why.unwrap_or(SettleReason::TakenBack);
                self.item_ended(at, item, (*end, why), turn.as_ref(), None, false, out);
            }
            _ => {}
        }
        let Gateway { views, ledger, options, .. } = self;
        let SessionView { session, listeners, context, .. } = &mut views[at];
        context.pass(entry);
        for listener in listeners.iter_mut().filter(|listener| !listener.catching_up) {
            listener.entry(session, entry, &options.prices, ledger, out);
        }
        if matches!(entry.body, Body::Assistant { .. }) {
            views[at].no_reply();
        }
    }

    /// A message waits no more. `own`: its sender is told, which is this connection; else the log says it.
    #[allow(clippy::too_many_arguments)] // One event of the engine, taken apart.
    fn item_ended(
        &mut self,
        at: usize,
        item: &ItemId,
        (end, why): (ItemEnd, SettleReason),
        turn: Option<&TurnId>,
        lane: Option<&LaneNote>,
        own: bool,
        out: &mut Out,
    ) {
        let view = &mut self.views[at];
        let session = view.session.clone();
        let (ended, left): (Vec<_>, Vec<_>) =
            std::mem::take(&mut view.waiting).into_iter().partition(|it| it.item == *item && it.is_own == own);
        view.waiting = left;
        // Who waits for its run waits for that run now.
        let is_of = |of: &WaitsFor| matches!(of, WaitsFor::Item(waits) if waits == item);
        let consumed = (end == ItemEnd::Consumed).then_some(turn).flatten();
        if let Some(turn) = consumed {
            view.held.iter_mut().filter(|it| is_of(&it.of)).for_each(|it| it.of = WaitsFor::Turn(turn.clone()));
        } else {
            let held = std::mem::take(&mut view.held);
            let (over, held): (Vec<_>, Vec<_>) = held.into_iter().partition(|it| is_of(&it.of));
            view.held = held;
            let refusal = faults::never_began(Some(why), &session, lane.unwrap_or(&view.usual_note()));
            for it in over {
                self.refuse(it.id, &refusal, out);
            }
        }
        for waited in ended {
            if let Some(turn) = consumed {
                let how = self.views[at].how(turn, item);
                self.starts(at, waited.id, turn, (how, waited.is_repeat), out);
                continue;
            }
            match faults::item_refused(why) {
                Some(ItemRefused::Dropped { superseded }) => {
                    let code = if superseded { QueueCode::Superseded } else { QueueCode::Overflow };
                    let usual = self.views[at].usual_note();
                    self.dropped(waited.id, code, &session, lane.unwrap_or(&usual), out);
                }
                Some(ItemRefused::Cancelled(reason)) => self.fail(waited.id, &faults::cancelled(reason), out),
                None => self.fail(waited.id, &GatewayRefusal::mixed_up(), out),
            }
        }
    }

    /// A question, or its end.
    fn question(&mut self, at: usize, entry: &Entry, out: &mut Out) {
        let Body::Ask(ask) = &entry.body else { return };
        match ask {
            AskEntry::Opened(ask) => {
                let view = &mut self.views[at];
                // A peer that comes in is shown it once more.
                if view.asks.iter().any(|open| open.ask == ask.id) {
                    return;
                }
                let Some(open) = OpenConfirm::of(entry) else { return };
                if view.callback {
                    view.ids.iter().for_each(|it| self.ledger.event(it.id, &open.tail, out));
                }
                view.asks.push(open);
            }
            AskEntry::Closed { ask, end } => {
                let view = &mut self.views[at];
                let Some(place) = view.asks.iter().position(|open| open.ask == *ask) else { return };
                let open = view.asks.remove(place);
                let (decision, by) = projection::decision(end, entry.by.as_ref());
                let (ask_id, call_id) = (open.ask.to_string(), open.call.to_string());
                let data = events::ToolConfirmDoneData { call_id, decision, by, ask_id };
                if view.callback {
                    let tail = events::tail("tool_confirm_done", &data);
                    view.ids.iter().for_each(|it| self.ledger.event(it.id, &tail, out));
                }
            }
        }
    }

    /// Open questions, for requests whose connection is asked from now on.
    pub(crate) fn show_asks(&self, at: usize, out: &mut Out) {
        self.views[at].ids.iter().for_each(|it| self.show_asks_to(at, it.id, out));
    }
    /// The same for one request: it came into the run when the question was open already.
    pub(crate) fn show_asks_to(&self, at: usize, id: RequestId, out: &mut Out) {
        let view = &self.views[at];
        let of_run = |open: &&OpenConfirm| view.run.as_ref().is_some_and(|run| open.turn.as_ref() == Some(&run.turn));
        if view.callback {
            view.asks.iter().filter(of_run).for_each(|open| self.ledger.event(id, &open.tail, out));
        }
    }

    /// Somebody wants the run to end, and it will.
    pub(crate) fn cancel_requested(&mut self, at: usize, out: &mut Out) {
        let now_ms = self.options.clock.now_ms();
        let mut tails = Tails::new();
        if let Some(run) = self.views[at].run.as_mut().filter(|run| !run.is_over()) {
            run.cancel_requested(now_ms, &mut tails);
        }
        self.tell_ids(at, &tails, out);
    }

    /// A subscription is on a session. Where the connection was not before, the engine tells it what it missed; else it reads.
    pub(crate) fn listens(
        &mut self,
        session: &SessionId,
        subscription: SubscriptionId,
        (after, thinking): (Option<EventCursor>, bool),
        out: &mut Out,
    ) {
        let Some(at) = self.view_at(session) else { return };
        let view = &mut self.views[at];
        let stands = EventCursor::at(view.at.seq);
        let cursor = after.unwrap_or(stands);
        // What a cursor lies behind, a run or a question, may be over by now, and is told like in a replay all the same.
        let is_known = after.is_none() || view.has_looked_behind(cursor.whole_seq());
        let behind = cursor.whole_seq() < view.at.seq || view.came_late() || !is_known;
        let context = (!behind).then(|| view.context.clone());
        let mut listener = Listener::new(subscription, cursor, thinking, context);
        if !behind {
            view.heard.tell(session, &mut listener, &self.ledger, out);
        }
        view.listeners.push(listener);
        if behind {
            self.read_on(session, subscription, cursor.whole_seq().saturating_sub(LOOK_BEHIND), out);
        }
    }

    fn read_on(&mut self, session: &SessionId, subscription: SubscriptionId, after: u64, out: &mut Out) {
        let call = GatewayOwn::Read { session: session.clone(), after, limit: PAGE_ENTRIES };
        self.call(call, WantedOfService::CatchUp { session: session.clone(), subscription }, out);
    }

    /// A page for a subscription that catches up. What the connection was told live already it is told from the page, so that
    /// it goes on exactly behind it. What cannot be read is announced, and ends the session for this subscription.
    pub(crate) fn caught_up(
        &mut self,
        session: &SessionId,
        subscription: SubscriptionId,
        page: Result<Vec<Arc<Entry>>, GatewayRefusal>,
        out: &mut Out,
    ) {
        let Some(at) = self.view_at(session) else { return };
        let Gateway { views, ledger, options, .. } = self;
        let SessionView { listeners, heard, at: told, .. } = &mut views[at];
        let stands = told.seq;
        let Some(place) = listeners.iter().position(|it| it.subscription == subscription) else { return };
        let listener = &mut listeners[place];
        let page = page.map(|mut entries| {
            entries.retain(|entry| entry.seq <= stands);
            entries
        });
        for entry in page.iter().flatten() {
            listener.entry(session, entry, &options.prices, ledger, out);
        }
        let reached = listener.cursor.whole_seq();
        let come_back = match page {
            _ if reached >= stands => {
                listener.catching_up = false;
                return heard.tell(session, listener, ledger, out);
            }
            Ok(entries) if !entries.is_empty() => return self.read_on(session, subscription, reached, out),
            // The store has lost them: whoever came back to the same place would be told the same.
            Ok(_) => EventCursor::at(stands),
            // Another time it may be read.
            Err(_) => listener.cursor,
        };
        listener.lag(session, stands, come_back, ledger, out);
        listeners.remove(place);
    }
}
