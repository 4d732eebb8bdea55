//! What a wire format is made of: a half that writes and a half that reads. Both are pure; sockets, clocks and retries
//! are in [`crate::model_call`]. A new format is a folder with these two halves and a line in [`crate::api`].

use std::borrow::Cow;
use std::collections::VecDeque;

use bytes::Bytes;
use net::Pieces;
use vocab::{CallSpec, Finish, Message, ModelEvent, ModelFault, Usage};

use crate::faults;

/// Writes: messages in, requests out. Each message is encoded once and its bytes are shared from then on.
pub(crate) trait Encoder: Send {
    fn push(&mut self, message: &Message);
    /// Forgets all messages.
    fn clear(&mut self);
    /// Encoded size of the messages so far.
    fn bytes(&self) -> usize;
    /// Everything pushed so far as it stands in a body, between [`WrittenBody::head`] and [`WrittenBody::tail`].
    fn messages(&mut self) -> Vec<Bytes>;
    /// One request with everything pushed so far.
    fn draft(&mut self, spec: &CallSpec) -> Box<dyn Draft>;
    /// How messages are written, so that [`crate::Replay`] can write them again: a JSON object that
    /// [`crate::Api`] makes the same encoder of. What only shapes the head has no place in it.
    fn manner(&self) -> String;
    /// Goes on in another manner of the same messages, where [`Draft::manner`] told of one.
    fn adopt(&mut self, _manner: &str) {}
}

/// One request, ready to be written as often as it must be sent.
pub(crate) trait Draft: Send + Sync {
    /// Behind the base URL; may have a query.
    fn path(&self) -> Cow<'static, str>;
    /// Beyond those that every request has.
    fn headers(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
    fn write(&self) -> WrittenBody;
    /// The manner of the messages, where a refusal has changed it.
    fn manner(&self) -> Option<String> {
        None
    }
    /// Whether a refusal taught something new, so that writing and asking again makes sense.
    fn learn(&self, _status: u16, _body: &[u8]) -> bool {
        false
    }
}

/// A body in shared pieces.
pub(crate) struct WrittenBody {
    pub(crate) head: Vec<Bytes>,
    pub(crate) messages: Vec<Bytes>,
    pub(crate) tail: Bytes,
}

impl WrittenBody {
    pub(crate) fn bytes(&self) -> u64 {
        let pieces = self.head.iter().chain(&self.messages).chain([&self.tail]);
        pieces.map(|piece| piece.len() as u64).sum()
    }
    pub(crate) fn body(&self) -> Pieces {
        Pieces::new(self.head.iter().chain(&self.messages).chain([&self.tail]).cloned().collect())
    }
}

/// Reads: the events of one answer in, model events out.
pub(crate) trait Decoder: Send {
    /// One event of the stream. One model event per delta, never merged, never split.
    fn read(&mut self, data: &[u8], out: &mut VecDeque<ModelEvent>) -> Result<Flow, DecodeTrouble>;
    /// The whole answer of a server that did not stream.
    fn whole(&mut self, body: &[u8], out: &mut VecDeque<ModelEvent>) -> Result<(), DecodeTrouble>;
    /// Whether the reason to stop has come. From then on the answer is whole: what breaks later changes nothing.
    fn is_finished(&self) -> bool;
    /// The answer is over: tells what was held back, and why it stopped. `None`: nobody said why.
    fn finish(&mut self, out: &mut VecDeque<ModelEvent>) -> Option<Finish>;
    /// The newest count. It is told once, at the end.
    fn usage(&self) -> Option<Usage>;
}

/// Whether more is to come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flow {
    On,
    /// The format's own mark: nothing follows.
    Done,
}

/// Why an event was not taken.
#[derive(Debug)]
pub(crate) enum DecodeTrouble {
    /// It is not what this format says. At the very end of the bytes it is half an event, and the stream was cut there.
    Unreadable(serde_json::Error),
    /// It says that something went wrong, or goes beyond a limit.
    Fault(ModelFault),
}

impl From<serde_json::Error> for DecodeTrouble {
    fn from(error: serde_json::Error) -> Self {
        DecodeTrouble::Unreadable(error)
    }
}
impl From<ModelFault> for DecodeTrouble {
    fn from(fault: ModelFault) -> Self {
        DecodeTrouble::Fault(fault)
    }
}
impl DecodeTrouble {
    pub(crate) fn fault(self) -> ModelFault {
        match self {
            DecodeTrouble::Unreadable(error) => {
                faults::provider(format!("the server sent something that cannot be read: {error}"))
            }
            DecodeTrouble::Fault(fault) => fault,
        }
    }
}
