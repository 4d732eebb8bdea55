//! The [`Dialect`] trait, and what passes between a dialect and its host.

use vocab::{Command, Tag, Told};

use crate::{Close, CloseCode, Frame, FrameBuf, NoOwn, OwnCall, OwnRequest};

/// One peer speaking one dialect. Frames, events and time go in; commands and frames come out.
pub trait Dialect: Send {
    /// Calls that no other dialect has; [`NoOwn`] for most.
    type Own: OwnCall;

    /// The connection is up. What is said or wanted unasked (`ready`, opening a session).
    fn greet(&mut self, out: &mut Out<Self::Own>);
    /// One whole inbound frame.
    fn hear(&mut self, frame: Frame<'_>, out: &mut Out<Self::Own>);
    /// One event of the engine.
    fn tell(&mut self, told: &Told, out: &mut Out<Self::Own>);
    /// What came of an own call.
    fn own_answered(&mut self, _tag: Tag, _answer: <Self::Own as OwnCall>::Answer, _out: &mut Out<Self::Own>) {}
    /// Everything that was there to tell has been told. What was held back to be merged with more goes out now.
    fn pause(&mut self, _out: &mut Out<Self::Own>) {}
    /// The other side ended, or we are asked to. Settle what is pending.
    fn part(&mut self, why: Parting, out: &mut Out<Self::Own>);
    /// Whether inbound frames may be handed over yet; until then the host leaves them in the pipe.
    fn listening(&self) -> bool {
        true
    }
    /// When [`Dialect::tick`] is wanted next, on the clock of [`Out::now_ms`]; `None`: this dialect waits for no time.
    fn due(&self) -> Option<u64> {
        None
    }
    /// The time that [`Dialect::due`] named has come; `due` must name a later one, or none, from now on.
    fn tick(&mut self, _now_ms: u64, _out: &mut Out<Self::Own>) {}
}

impl<D: Dialect + ?Sized> Dialect for Box<D> {
    type Own = D::Own;

    fn greet(&mut self, out: &mut Out<Self::Own>) {
        (**self).greet(out);
    }
    fn hear(&mut self, frame: Frame<'_>, out: &mut Out<Self::Own>) {
        (**self).hear(frame, out);
    }
    fn tell(&mut self, told: &Told, out: &mut Out<Self::Own>) {
        (**self).tell(told, out);
    }
    fn own_answered(&mut self, tag: Tag, answer: <Self::Own as OwnCall>::Answer, out: &mut Out<Self::Own>) {
        (**self).own_answered(tag, answer, out);
    }
    fn pause(&mut self, out: &mut Out<Self::Own>) {
        (**self).pause(out);
    }
    fn part(&mut self, why: Parting, out: &mut Out<Self::Own>) {
        (**self).part(why, out);
    }
    fn listening(&self) -> bool {
        (**self).listening()
    }
    fn due(&self) -> Option<u64> {
        (**self).due()
    }
    fn tick(&mut self, now_ms: u64, out: &mut Out<Self::Own>) {
        (**self).tick(now_ms, out);
    }
}

/// Why a conversation ends. The host may give more than one reason in turn: first `Eof`, later `GraceOver`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parting {
    /// No more input will come.
    Eof,
    /// The peer does not read our output any more.
    Deaf,
    /// The host was asked to end it, and by what, in the host's own word (`sigterm`).
    Asked { by: &'static str },
    /// The time allowed for an orderly end is over.
    GraceOver,
}

/// What a dialect wants done. Reused between calls.
#[derive(Debug)]
pub struct Out<Own = NoOwn> {
    pub frames: FrameBuf,
    pub commands: Vec<Command>,
    pub own: Vec<OwnRequest<Own>>,
    /// Write what is left and end; the host stops reading at once. Set by [`Out::close_with`].
    pub close: Option<Close>,
    /// As `close`, behind the answers to what was asked, for which the host waits a while.
    pub close_when_answered: Option<Close>,
    /// The controller asked us to end (an exit command); the host starts its grace period as for EOF.
    pub ending: bool,
    /// For people, one line each; the host knows where they are read.
    pub notes: Vec<String>,
    /// What the host's clock says: milliseconds since the conversation began. The host sets it before each call.
    pub now_ms: u64,
}

impl<Own> Default for Out<Own> {
    fn default() -> Self {
        Self {
            frames: FrameBuf::default(),
            commands: Vec::new(),
            own: Vec::new(),
            close: None,
            close_when_answered: None,
            ending: false,
            notes: Vec::new(),
            now_ms: 0,
        }
    }
}

impl<Own> Out<Own> {
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the conversation. Of several words the last that is not `Normal` counts: what went wrong is not taken back by an
    /// orderly end behind it.
    pub fn close_with(&mut self, close: Close) {
        if self.close.is_none() || close.code != CloseCode::Normal {
            self.close = Some(close);
        }
    }
}
