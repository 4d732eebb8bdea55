//! How words are spoken: the [`Dialect`] trait, line framing, strict JSON. Pure: no I/O, no clock, no runtime, and no
//! knowledge of any one dialect.

mod calls;
mod frames;
mod json;
pub mod jsonrpc;
mod lines;
pub mod question;
pub mod slash;

pub use calls::{OpenCalls, UNTOLD};
pub use frames::{FrameBuf, escape_into, escape_plain_into};
pub use json::{DEPTH_MAX, JsonError, check, replace_lone_surrogates};
pub use lines::{LINE_BYTES_MAX, Line, Lines};

use vocab::{Command, Json, Told};

/// One peer speaking one dialect. Bytes and events go in; commands and bytes come out.
pub trait Dialect: Send {
    /// The connection is up. What is said or wanted unasked (`ready`, opening a session).
    fn greet(&mut self, out: &mut Out);
    /// One whole inbound frame.
    fn hear(&mut self, frame: Line<'_>, out: &mut Out);
    /// One event of the engine.
    fn tell(&mut self, told: &Told, out: &mut Out);
    /// Everything that was there to tell has been told. What was held back to be merged with more goes out now.
    fn pause(&mut self, _out: &mut Out) {}
    /// The other side ended, or we are asked to. Settle what is pending.
    fn part(&mut self, why: Parting, out: &mut Out);
    /// Whether inbound frames may be handed over yet; until then the host leaves them in the pipe.
    fn listening(&self) -> bool {
        true
    }
}

impl Dialect for Box<dyn Dialect> {
    fn greet(&mut self, out: &mut Out) {
        (**self).greet(out);
    }
    fn hear(&mut self, frame: Line<'_>, out: &mut Out) {
        (**self).hear(frame, out);
    }
    fn tell(&mut self, told: &Told, out: &mut Out) {
        (**self).tell(told, out);
    }
    fn pause(&mut self, out: &mut Out) {
        (**self).pause(out);
    }
    fn part(&mut self, why: Parting, out: &mut Out) {
        (**self).part(why, out);
    }
    fn listening(&self) -> bool {
        (**self).listening()
    }
}

/// Why a conversation ends. The host may give more than one reason in turn: first `Eof`, later `GraceOver`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Parting {
    /// No more input will come.
    Eof,
    /// Nobody reads our output any more.
    Deaf,
    Signal(Signal),
    /// The time allowed for an orderly end is over.
    GraceOver,
}

/// Which signal asked us to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    Interrupt,
    Terminate,
    Hangup,
}

/// What a dialect wants done. Reused between calls.
#[derive(Default, Debug)]
pub struct Out {
    pub frames: FrameBuf,
    pub commands: Vec<Command>,
    /// Write what is left and end; the host stops reading at once.
    pub close: bool,
    /// The controller asked us to end (an exit command); the host starts its grace period as for EOF.
    pub ending: bool,
    /// For people, one line each; the host writes them to stderr.
    pub notes: Vec<String>,
    /// Exit code to end with.
    pub exit_code: u8,
}

impl Out {
    pub fn new() -> Self {
        Self::default()
    }
}

/// Reads tool arguments as a model wrote them: one JSON object, in the form that every log and wire can carry. The
/// error is written for the model.
pub fn read_object(text: &str) -> Result<Json, String> {
    let text = replace_lone_surrogates(check(text.as_bytes()).map_err(|error| error.to_string())?);
    if !text.starts_with('{') {
        return Err("expected a JSON object".into());
    }
    Ok(Json::trusted(&*text))
}
