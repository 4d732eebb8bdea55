//! What a session says about itself.

use std::sync::Arc;

use tokio::time::{Duration, Instant};
use vocab::{Event, Glance, State, TurnId, WatchEvent};

use super::log::logged::Logged;
use super::settings::ShownStance;
use super::{Session, TurnWaits, toolset};

/// Where nothing else is new of a session, those who watch learn that it moves after so long at the earliest.
const MOVES_AFTER: Duration = Duration::from_secs(5);

/// What those who watch were told last, of what no log says.
pub(super) struct LastGlance {
    /// Whether it waits for a place, and whether it can stall.
    waits: (bool, bool),
    moved_at: Instant,
}

impl Default for LastGlance {
    fn default() -> Self {
        Self { waits: (false, false), moved_at: Instant::now() }
    }
}

impl LastGlance {
    /// `stall`: after so long without anything a turn is ended; who counts that has to hear of what moves well before.
    fn is_news(&self, waits: (bool, bool), moved_at: Instant, stall: Duration) -> bool {
        let moves_after = MOVES_AFTER.min(stall / 4);
        self.waits != waits || moved_at.saturating_duration_since(self.moved_at) >= moves_after
    }
}

impl Session {
    pub(super) fn state(&self) -> State {
        self.state_of(self.settings.shown(), self.log.logged(), self.current_turn(), self.log.last_seq())
    }

    /// As [`Session::state`], without what is still on its way to the store: that comes live.
    pub(super) fn told_state(&self) -> State {
        let turn = self.log.told_turn().cloned();
        self.state_of(self.settings.settled(self.log.committed()), self.log.logged_told(), turn, self.log.committed())
    }

    fn state_of(&self, shown: ShownStance<'_>, logged: &Logged, turn: Option<TurnId>, last_seq: u64) -> State {
        let counted = self.view.counted();
        let ShownStance { settings, model, own } = shown;
        State {
            session: self.id.clone(),
            workspace: settings.workspace.clone(),
            model: settings.model.clone(),
            mode: settings.mode,
            thinking: settings.thinking.clone(),
            context_window: model.context_window,
            max_tokens: toolset::max_tokens(&self.settings, model),
            context_tokens: counted.context_tokens,
            gadgets: self.tools.gadgets_on(settings).map(|gadget| gadget.name.clone()).collect(),
            title: logged.title.clone(),
            turn,
            messages: counted.messages,
            results: counted.results,
            last_seq,
            model_info: model.clone(),
            todos: logged.todos.clone(),
            file: self.log.file().cloned(),
            lane: settings.lane,
            lane_is_own: !own.lane.is_empty(),
            elevated_until_ms: own.elevated_until_ms,
            model_called: own.model_called.clone(),
            works_for: self.subagents.child_of.as_ref().map(|(parent, _)| parent.clone()),
        }
    }

    /// Those who watch are told how the session stands, where that may have changed.
    pub(super) fn tell_watchers(&mut self) {
        let was_news = std::mem::take(&mut self.log.peers.is_news);
        if !self.log.peers.is_watched() {
            return;
        }
        let awaits_place = matches!(self.activity.waiting(), TurnWaits::Place { .. });
        let can_stall = self.activity.turn().is_some() && !self.is_awaited();
        let stall = Duration::from_millis(self.settings.conduct.stall_ms);
        // What is on its way to the log is told in a moment, and this with it.
        let is_news = self.log.is_settled()
            && self.log.peers.glanced.is_news((awaits_place, can_stall), self.activity.moved_at(), stall);
        if !was_news && !is_news {
            return;
        }
        self.log.peers.glanced = LastGlance { waits: (awaits_place, can_stall), moved_at: self.activity.moved_at() };
        let ShownStance { settings, model, .. } = self.settings.settled(self.log.committed());
        let now_ms = self.shared.ports.clock.now_ms();
        let ago = |since: Instant| now_ms - i64::try_from(since.elapsed().as_millis()).unwrap_or(i64::MAX);
        let glance = Glance {
            title: self.log.logged_told().title.clone(),
            model: settings.model.clone(),
            mode: settings.mode,
            turn: self.log.told_turn().cloned(),
            awaits_place,
            can_stall,
            asks: self.approvals.open().filter(|ask| self.log.told(ask.entry.seq)).count(),
            waiting: self.prompts.queue.list().count(),
            peers: self.log.peers.all().count(),
            context_tokens: self.view.counted().context_tokens,
            usage: self.log.peers.usage(),
            last_seq: self.log.committed(),
            lane: settings.lane,
            started_ms: self.activity.turn().map(|_| ago(self.prompts.turn_started)),
            moved_ms: ago(self.activity.moved_at()),
            oldest_wait_ms: self.prompts.queue.list().map(|item| item.at_ms).min(),
            context_window: model.context_window,
            workspace: settings.workspace.clone(),
            tool: self.log.peers.tool_in_hand(),
            child_of: self.subagents.child_of.clone(),
        };
        self.log.peers.tell_watchers(WatchEvent::Stands(Arc::new(glance)));
    }

    pub(super) fn tell_state(&mut self) {
        let state = Arc::new(self.state());
        self.log.emit(Event::State(state));
    }
}
