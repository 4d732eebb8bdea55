//! How far the client of a session has been told it, and how much more it may be told now. What it has not been told waits in
//! the log: a client that does not read is told nothing, and goes on from its place later.

use std::collections::VecDeque;
use std::fmt;

use vocab::{Ask, Body, Entry, ModelEntry, NoteEntry, Tag, TurnEnd, TurnEntry, TurnId};

/// Turns that are remembered as the client's own.
const OWN_TURNS_MAX: usize = 256;
/// Bytes of one session that are on their way to a client at once; what comes then waits in the log, and neighbouring pieces of
/// text come as one.
pub const WINDOW_BYTES: usize = 256 * 1024;

/// A place in what a session tells: behind an entry, and within what comes next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(crate) struct Place {
    /// The last entry that was told whole.
    pub(crate) seq: u64,
    /// Text and thinking that was told of the reply that is being made, or of the next one in the log.
    pub(crate) bytes: u64,
    /// Updates that were told of the next entry.
    pub(crate) updates: u64,
}

impl Place {
    pub(crate) fn at(seq: u64) -> Self {
        Self { seq, ..Self::default() }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (text, updates) = match text.split_once('~') {
            Some((text, updates)) => (text, number(updates)?),
            None => (text, 0),
        };
        let (seq, bytes) = match text.split_once('.') {
            Some((seq, bytes)) => (number(seq)?, number(bytes)?),
            None => (number(text)?, 0),
        };
        Some(Self { seq, bytes, updates })
    }
}

fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.seq)?;
        if self.bytes > 0 {
            write!(f, ".{}", self.bytes)?;
        }
        if self.updates > 0 {
            write!(f, "~{}", self.updates)?;
        }
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FlowState {
    /// It is told what happens as it happens.
    Live,
    /// It is told what the log has, and is live then.
    CatchingUp,
    /// The engine is asked to tell it on from its place.
    Rejoining(Tag),
    /// It is told nothing for now.
    Paused,
}

pub(crate) struct Flow {
    pub(crate) at: Place,
    pub(crate) state: FlowState,
    /// Bytes that may still be said; `None`: any number.
    window: Option<usize>,
    /// Bytes of the running reply that went by, told now or before.
    passed: u64,
    /// The reply that runs may be the one of which something was told.
    goes_on: bool,
    /// Which of the running turn the next reply is.
    pub(crate) reply: u32,
    /// Questions that are asked when the client knows everything before them.
    pub(crate) asks: Vec<Ask>,
    /// Turns that began with a prompt of this client's: it has drawn that already.
    own: VecDeque<TurnId>,
    /// The turn that ended last.
    pub(crate) ended: Option<TurnEnd>,
}

impl Flow {
    /// `window`: see [`Flow::window`].
    pub(crate) fn new(seq: u64, window: Option<usize>) -> Self {
        Self {
            at: Place::at(seq),
            state: if window == Some(0) { FlowState::Paused } else { FlowState::Live },
            window,
            passed: 0,
            goes_on: false,
            reply: 0,
            asks: Vec::new(),
            own: VecDeque::new(),
            ended: None,
        }
    }

    pub(crate) fn is_told(&self) -> bool {
        matches!(self.state, FlowState::Live | FlowState::CatchingUp)
    }

    pub(crate) fn has_room(&self) -> bool {
        self.window != Some(0)
    }

    /// So much was said.
    pub(crate) fn spend(&mut self, bytes: usize) {
        if let Some(window) = &mut self.window {
            *window = window.saturating_sub(bytes);
        }
    }

    /// So much more may be said.
    pub(crate) fn earn(&mut self, bytes: usize) {
        if let Some(window) = &mut self.window {
            *window = window.saturating_add(bytes).min(WINDOW_BYTES);
        }
    }

    /// Nobody hears it.
    pub(crate) fn close(&mut self) {
        self.window = self.window.map(|_| 0);
        self.state = FlowState::Paused;
    }

    /// It is asked when the client has caught up.
    pub(crate) fn keep_ask(&mut self, ask: &Ask) {
        if self.asks.iter().all(|kept| kept.id != ask.id) {
            self.asks.push(ask.clone());
        }
    }

    pub(crate) fn is_own(&self, turn: &TurnId) -> bool {
        self.own.contains(turn)
    }

    pub(crate) fn owns(&mut self, turn: &TurnId) {
        if self.own.len() >= OWN_TURNS_MAX {
            self.own.pop_front();
        }
        self.own.push_back(turn.clone());
    }

    // ---- the running reply --------------------------------------------------------------------------------------

    /// The engine tells it on from its place: the running reply comes from its beginning.
    pub(crate) fn rejoins(&mut self) {
        (self.passed, self.goes_on) = (0, self.at.bytes > 0);
    }

    /// The model is called. What was told of a try that failed stays told, and does not count for this one; nor does what was
    /// told of another reply.
    pub(crate) fn reply_begins(&mut self, reply: u32) {
        let is_same = std::mem::replace(&mut self.reply, reply) == reply;
        self.passed = 0;
        if !(std::mem::take(&mut self.goes_on) && is_same) {
            self.at.bytes = 0;
        }
    }

    /// No reply goes on from here.
    fn reply_is_over(&mut self) {
        (self.passed, self.at.bytes, self.goes_on) = (0, 0, false);
    }

    /// An entry was told whole.
    pub(crate) fn take(&mut self, entry: &Entry) {
        self.reply = vocab::next_reply(self.reply, &entry.body);
        match &entry.body {
            Body::Assistant { .. } | Body::Turn(TurnEntry::Started { .. } | TurnEntry::Ended(_)) => {
                self.reply_is_over()
            }
            Body::Model(ModelEntry::Retrying { .. } | ModelEntry::FellBack(_)) => self.reply_is_over(),
            // What was told of the reply that ran died with its process; the one that comes instead is told whole.
            Body::Note(NoteEntry::Recovered { .. }) => self.reply_is_over(),
            _ => {}
        }
        (self.at.seq, self.at.updates) = (entry.seq, 0);
    }

    /// Of a piece of the running reply, what was not told yet.
    pub(crate) fn news<'t>(&mut self, piece: &'t str) -> &'t str {
        let begins = self.passed;
        self.passed += piece.len() as u64;
        let told = usize::try_from(self.at.bytes.saturating_sub(begins)).unwrap_or(usize::MAX).min(piece.len());
        &piece[piece.floor_char_boundary(told)..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_is_written() {
        for (place, text) in [
            (Place::at(0), "0"),
            (Place::at(17), "17"),
            (Place { seq: 4, bytes: 30, updates: 0 }, "4.30"),
            (Place { seq: 4, bytes: 0, updates: 2 }, "4~2"),
            (Place { seq: 4, bytes: 30, updates: 2 }, "4.30~2"),
        ] {
            assert_eq!(place.to_string(), text);
            assert_eq!(Place::parse(text), Some(place));
        }
        for wrong in ["", "-1", "+1", "1.", ".1", "1.2.3", "1~", "x", "99999999999999999999", "1 "] {
            assert_eq!(Place::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_reply_that_is_told_again_is_passed_over_as_far_as_it_was_told() {
        let mut flow = Flow::new(3, Some(10));
        flow.reply_begins(0);
        assert_eq!(flow.news("hé"), "hé");
        flow.at.bytes += 3;
        flow.rejoins();
        flow.reply_begins(0);
        assert_eq!(flow.news("h"), "");
        assert_eq!(flow.news("é you"), " you");
        flow.at.bytes += 4;
        flow.reply_begins(0);
        assert_eq!(flow.news("another try"), "another try");
    }

    #[test]
    fn a_window_is_spent_and_earned() {
        let mut flow = Flow::new(3, Some(10));
        flow.spend(11);
        assert!(!flow.has_room());
        flow.earn(usize::MAX);
        flow.spend(WINDOW_BYTES - 1);
        assert!(flow.has_room());
        let mut all = Flow::new(3, None);
        all.spend(usize::MAX);
        assert!(all.has_room() && all.state == FlowState::Live);
    }
}
