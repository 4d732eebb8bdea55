//! The pump without its pipes: bytes, messages, events and time go in; bytes, commands and what to wait for next come out. No
//! runtime, no clock: the time is a number that is handed in.

#[cfg(test)]
mod tests;

use vocab::{Command, Event, Tag, Told};
use wire::{Close, CloseCode, Dialect, Frame, Lines, Out, OwnCall, OwnRequest, Parting};

use super::OnLost;
use super::own::OWN_CALLS_MAX;
use super::unsent::{Framing, Unsent};
use crate::transport::Arrived;

/// Unwritten bytes at which no more events are fetched.
const UNSENT_BYTES_HIGH: usize = 128 * 1024;
/// Unwritten bytes that the input itself led to, without the engine (refusals of frames), at which no more of it is read: a
/// peer that sends without ever reading waits. What events make does not count, however much it is: an abort is heard
/// whatever is just being said.
const REFUSED_BYTES_MAX: usize = 4 * 1024 * 1024;
/// After the grace period and an interrupt, the conversation may take this long to settle.
const HARD_END_MS: u64 = 5_000;

/// How long answers may take that a peer waits for which has nothing more to say; then it goes without.
const ANSWERS_MS: u64 = 2_000;

/// Sees every frame on its way.
pub(crate) trait Tap: Send {
    fn inbound(&mut self, frame: &[u8]);
    fn outbound(&mut self, frame: &[u8]);
}

/// What a conversation is allowed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Allowance {
    pub(crate) framing: Framing,
    pub(crate) frame_bytes_max: usize,
    pub(crate) grace_ms: u64,
    pub(crate) on_lost: OnLost,
}

/// What may happen next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Awaited {
    pub(crate) read: bool,
    pub(crate) write: bool,
    pub(crate) events: bool,
    pub(crate) deaf: bool,
    pub(crate) until_ms: Option<u64>,
}

pub(crate) struct Core<D: Dialect> {
    dialect: D,
    allowance: Allowance,
    tap: Option<Box<dyn Tap>>,
    lines: Lines,
    out: Out<D::Own>,
    unsent: Unsent,
    /// Bytes since nothing was unwritten that frames were answered with at once.
    refused: usize,
    /// Own calls without an answer.
    own_open: usize,
    /// Commands without an answer.
    unanswered: usize,
    /// The peer has said its last word; it goes when it has the answers to what it said.
    goes_when_answered: bool,
    /// What it is told then, where it does not go by itself.
    shown_out: Option<Close>,
    /// No more input will come.
    eof: bool,
    /// The peer does not read what we write.
    deaf: bool,
    ended: bool,
    deadline_ms: Option<u64>,
    grace_over: bool,
    /// The grace ends with a word of ours, not of the dialect's.
    leaving: bool,
    /// When the dialect was last told the time: it is not told the same time twice.
    ticked_ms: Option<u64>,
}

impl<D: Dialect> Core<D> {
    pub(crate) fn new(dialect: D, allowance: Allowance, tap: Option<Box<dyn Tap>>) -> Self {
        Self {
            dialect,
            allowance,
            tap,
            lines: Lines::new(allowance.frame_bytes_max),
            out: Out::new(),
            unsent: Unsent::new(allowance.framing),
            refused: 0,
            own_open: 0,
            unanswered: 0,
            goes_when_answered: false,
            shown_out: None,
            eof: false,
            deaf: false,
            ended: false,
            deadline_ms: None,
            grace_over: false,
            leaving: false,
            ticked_ms: None,
        }
    }

    // ---- in -----------------------------------------------------------------------------------------------------

    pub(crate) fn greet(&mut self, now_ms: u64) {
        self.out.now_ms = now_ms;
        self.dialect.greet(&mut self.out);
        self.carry_out();
    }

    pub(crate) fn arrived(&mut self, arrived: Arrived<'_>, now_ms: u64) {
        self.out.now_ms = now_ms;
        match arrived {
            Arrived::Bytes(bytes) => self.cut(|lines, each| lines.feed(bytes, each)),
            Arrived::Message(message) => {
                let limit = self.allowance.frame_bytes_max;
                self.hear(if message.len() > limit { Frame::TooLong { limit } } else { Frame::Whole(message) });
            }
            Arrived::End => {
                self.eof = true;
                self.cut(|lines, each| lines.finish(each));
                self.lost(Parting::Eof);
                self.both_ends_closed();
            }
            Arrived::TooMuch(close) => self.show_out(close),
        }
        self.carry_out();
    }

    fn cut(&mut self, feed: impl FnOnce(&mut Lines, &mut dyn FnMut(Frame<'_>))) {
        let mut lines = std::mem::take(&mut self.lines);
        feed(&mut lines, &mut |frame| self.hear(frame));
        self.lines = lines;
    }

    fn hear(&mut self, frame: Frame<'_>) {
        if let (Some(tap), Frame::Whole(bytes)) = (&mut self.tap, frame) {
            tap.inbound(bytes);
        }
        let before = self.out.frames.len();
        self.dialect.hear(frame, &mut self.out);
        self.refused += self.out.frames.len().saturating_sub(before);
    }

    /// Events of the engine; without `more` there will be no others.
    pub(crate) fn told(&mut self, events: impl Iterator<Item = Told>, more: bool, now_ms: u64) {
        self.out.now_ms = now_ms;
        for told in events {
            self.unanswered -= usize::from(matches!(told.event, Event::Reply { .. }) && self.unanswered > 0);
            self.dialect.tell(&told, &mut self.out);
        }
        self.dialect.pause(&mut self.out);
        self.ended |= !more;
        self.carry_out();
    }

    pub(crate) fn own_answered(&mut self, tag: Tag, answer: <D::Own as OwnCall>::Answer, now_ms: u64) {
        self.out.now_ms = now_ms;
        self.own_open = self.own_open.saturating_sub(1);
        self.dialect.own_answered(tag, answer, &mut self.out);
        self.dialect.pause(&mut self.out);
        self.carry_out();
    }

    /// The process was asked to end.
    pub(crate) fn asked_to_end(&mut self, by: &'static str, now_ms: u64) {
        self.out.now_ms = now_ms;
        self.part(Parting::Asked { by });
        self.carry_out();
    }

    /// The process that serves this and others ends. Who leaves its work hears what is still said while the engine comes to
    /// rest, and no more after the grace; any other dialect parts.
    pub(crate) fn daemon_ends(&mut self, by: &'static str, leaves_work: bool, now_ms: u64) {
        if !leaves_work {
            return self.asked_to_end(by, now_ms);
        }
        self.out.now_ms = now_ms;
        self.leaving = true;
        self.start_grace();
    }

    /// The engine has told everything. Who leaves its work has nothing more to wait for but answers to what it said; without
    /// this, a dialect that outlives its sessions would sit out the whole grace.
    pub(crate) fn engine_rests(&mut self, now_ms: u64) {
        if !self.leaving {
            return;
        }
        self.out.now_ms = now_ms;
        self.goes_when_answered = true;
        let soon = now_ms.saturating_add(ANSWERS_MS);
        self.deadline_ms = Some(self.deadline_ms.map_or(soon, |deadline| deadline.min(soon)));
        self.carry_out();
    }

    /// Everything is left as it stands. The dialect has nothing to stop, and what it says of the end is that it ends.
    pub(crate) fn leave(&mut self, now_ms: u64) {
        self.out.now_ms = now_ms;
        self.out.close_with(Close::normal());
        self.carry_out();
    }

    pub(crate) fn wrote(&mut self, bytes: usize) {
        if self.unsent.wrote(bytes) {
            self.refused = 0;
        }
    }

    /// What we write is not read any more.
    pub(crate) fn gone_deaf(&mut self, now_ms: u64) {
        self.out.now_ms = now_ms;
        self.stop_writing();
        self.carry_out();
    }

    /// [`Awaited::until_ms`] has come.
    pub(crate) fn time(&mut self, now_ms: u64) {
        self.out.now_ms = now_ms;
        if self.deadline_ms.is_some_and(|deadline| deadline <= now_ms) {
            self.time_is_up();
        }
        if !self.ended && self.due().is_some_and(|due| due <= now_ms) {
            self.ticked_ms = Some(now_ms);
            self.dialect.tick(now_ms, &mut self.out);
        }
        self.carry_out();
    }

    // ---- out ----------------------------------------------------------------------------------------------------

    /// What to wait for; `None` when it is over.
    pub(crate) fn awaited(&self) -> Option<Awaited> {
        let backlog = self.unsent.len();
        if self.ended && backlog == 0 {
            return None;
        }
        let has_room = self.refused < REFUSED_BYTES_MAX && self.own_open < OWN_CALLS_MAX;
        Some(Awaited {
            read: !self.eof && !self.ended && has_room && self.dialect.listening(),
            write: backlog > 0,
            events: backlog < UNSENT_BYTES_HIGH && !self.ended,
            deaf: !self.deaf,
            until_ms: self.deadline_ms.into_iter().chain(self.due().filter(|_| !self.ended)).min(),
        })
    }

    pub(crate) fn unsent(&self) -> &Unsent {
        &self.unsent
    }
    /// Commands reach the engine in the order in which they were heard.
    pub(crate) fn commands(&mut self) -> impl Iterator<Item = Command> {
        self.unanswered += self.out.commands.len();
        self.out.commands.drain(..)
    }
    pub(crate) fn own_calls(&mut self) -> impl Iterator<Item = OwnRequest<D::Own>> {
        self.own_open += self.out.own.len();
        self.out.own.drain(..)
    }
    pub(crate) fn notes(&mut self) -> impl Iterator<Item = String> {
        self.out.notes.drain(..)
    }
    /// The dialect's last word, or that there was none.
    pub(crate) fn close(&self) -> Close {
        self.out.close.clone().unwrap_or_else(|| Close::new(CloseCode::GoingAway, ""))
    }

    // ---- inside -------------------------------------------------------------------------------------------------

    /// Takes over what the dialect wants of the pump itself.
    fn carry_out(&mut self) {
        if let Some(close) = self.out.close_when_answered.take() {
            self.show_out(close);
        }
        let owes = self.unanswered + self.own_open + self.out.commands.len() + self.out.own.len() > 0;
        if self.goes_when_answered && !owes && self.out.close.is_none() {
            self.go();
        }
        if let Some(tap) = &mut self.tap {
            self.out.frames.frames().for_each(|frame| tap.outbound(frame));
        }
        if self.deaf {
            self.out.frames.clear();
        } else {
            self.unsent.take(&mut self.out.frames);
        }
        if std::mem::take(&mut self.out.ending) {
            self.start_grace();
        }
        if self.out.close.is_some() && !self.ended {
            // Sessions that end with the process are no fault of theirs.
            if self.leaving {
                self.out.close = Some(Close::new(CloseCode::GoingAway, ""));
            }
            self.ended = true;
            // What is left is written, but not for ever.
            self.deadline_ms = Some(self.out.now_ms + self.allowance.grace_ms.max(HARD_END_MS));
            self.grace_over = true;
        }
    }

    fn due(&self) -> Option<u64> {
        let due = self.dialect.due()?;
        Some(self.ticked_ms.map_or(due, |ticked| due.max(ticked + 1)))
    }

    fn part(&mut self, why: Parting) {
        self.dialect.part(why, &mut self.out);
        self.start_grace();
    }

    /// The other side is gone, at least by half.
    fn lost(&mut self, how: Parting) {
        match self.allowance.on_lost {
            OnLost::Part => self.part(how),
            OnLost::Leave if how == Parting::Eof => {
                self.goes_when_answered = true;
                self.deadline_ms.get_or_insert(self.out.now_ms + ANSWERS_MS);
            }
            OnLost::Leave => self.out.close_with(Close::normal()),
        }
    }

    /// Nothing more is heard of the peer. It has its answers, as far as they come in time, and then this.
    fn show_out(&mut self, close: Close) {
        (self.eof, self.goes_when_answered) = (true, true);
        self.shown_out.get_or_insert(close);
        let soon = self.out.now_ms.saturating_add(ANSWERS_MS);
        self.deadline_ms = Some(self.deadline_ms.map_or(soon, |deadline| deadline.min(soon)));
    }

    /// The peer has its answers, or has waited long enough for them.
    fn go(&mut self) {
        match self.shown_out.take() {
            None => self.out.close_with(Close::normal()),
            Some(close) => {
                self.out.close_with(close);
                // For the dialect it is gone like any other.
                self.lost(Parting::Eof);
            }
        }
    }

    fn start_grace(&mut self) {
        let deadline = self.out.now_ms.saturating_add(self.allowance.grace_ms);
        self.deadline_ms.get_or_insert(deadline);
    }

    fn time_is_up(&mut self) {
        if std::mem::replace(&mut self.grace_over, true) {
            self.ended = true;
            self.stop_writing();
            return;
        }
        self.deadline_ms = Some(self.out.now_ms + HARD_END_MS);
        if self.goes_when_answered {
            return self.go();
        }
        if self.leaving {
            return self.out.close_with(Close::new(CloseCode::GoingAway, ""));
        }
        self.dialect.part(Parting::GraceOver, &mut self.out);
    }

    fn stop_writing(&mut self) {
        self.unsent.forget();
        self.refused = 0;
        if !std::mem::replace(&mut self.deaf, true) && !self.ended {
            self.lost(Parting::Deaf);
            self.both_ends_closed();
        }
    }

    /// With both ends closed the controller is dead: the rest of the turn reaches no reader, so it gets no grace.
    fn both_ends_closed(&mut self) {
        if self.eof && self.deaf && !self.grace_over {
            self.deadline_ms = Some(self.out.now_ms);
        }
    }
}
