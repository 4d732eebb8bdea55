//! What was sent to models, read back from a log. The log has every message once; a request is the messages before it,
//! put to a chat by the same rules as when it was sent, between the head and the tail that were kept.

use std::sync::Arc;

use vocab::{Body, Chat, Entry, ModelEntry, Requested, Sent};

use crate::session::compaction::push_summary_of;
use crate::session::model_view::{Branch, History};

/// A chat that calls no server, and a way to read what a request with everything pushed to it looks like. Both are of one
/// conversation.
pub struct Rewriting {
    pub chat: Box<dyn Chat>,
    pub body: WriteBody,
}

/// The body of the request that was sent like this.
pub type WriteBody = Box<dyn Fn(&Sent) -> Vec<u8>>;

/// One request of a log.
#[derive(Clone, PartialEq, Debug)]
pub struct LoggedRequest {
    pub seq: u64,
    pub at_ms: i64,
    pub requested: Requested,
    /// As it was, also where the entry says that it is the same as before. `None`: the log does not have it any more.
    pub sent: Option<Arc<Sent>>,
    /// The whole body. `None`: no provider here can write it.
    pub body: Option<Vec<u8>>,
}

impl LoggedRequest {
    /// Why this is not, byte for byte, what was sent; in words.
    pub fn problem(&self) -> Option<String> {
        let Some(sent) = &self.sent else {
            return Some("what was sent with it is not in the log".to_owned());
        };
        let Some(body) = &self.body else {
            return Some(format!("the format `{}` cannot be written again by this version", sent.api));
        };
        let (is, was) = (body.len() as u64, self.requested.bytes);
        (is != was).then(|| format!("written again it has {is} bytes, but {was} were sent"))
    }
}

/// The requests of a whole log, oldest first. `make` gives what writes a request's format again.
pub fn replay<'a>(
    entries: &'a [Arc<Entry>],
    make: impl Fn(&Sent) -> Option<Rewriting> + 'a,
) -> impl Iterator<Item = LoggedRequest> + 'a {
    let mut last: Option<Arc<Sent>> = None;
    entries.iter().enumerate().filter_map(move |(at, entry)| {
        let Body::Model(ModelEntry::Requested(requested)) = &entry.body else { return None };
        if requested.sent.is_some() {
            last.clone_from(&requested.sent);
        }
        let body = last.as_deref().and_then(|sent| write(&entries[..at], requested, sent, &make));
        let (seq, at_ms) = (entry.seq, entry.at_ms);
        Some(LoggedRequest { seq, at_ms, requested: requested.clone(), sent: last.clone(), body })
    })
}

/// Reads the branch anew for each request: what comes out is as long as what is read.
fn write(
    before: &[Arc<Entry>],
    requested: &Requested,
    sent: &Sent,
    make: impl Fn(&Sent) -> Option<Rewriting>,
) -> Option<Vec<u8>> {
    let Rewriting { mut chat, body } = make(sent)?;
    match &requested.summary {
        Some(of) => {
            let known = before.partition_point(|entry| entry.seq <= of.upto);
            push_summary_of(&mut *chat, &Branch::read(&before[..known]), of);
        }
        None => History::new(chat).rebuild(&Branch::read(before), requested.turn.as_ref()),
    }
    Some(body(sent))
}
