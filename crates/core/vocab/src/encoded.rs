//! What several peers are told is encoded once for all who speak alike.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::Told;

/// Who encodes alike: a dialect, and whatever of its state is in the bytes. Whoever uses one number gets the same bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EncodingId(pub u64);

/// The bytes of one event, by encoding. The engine gives one to all whom it tells an event, where that is more than one peer.
#[derive(Clone, Default)]
pub struct EncodedOnce(Arc<Mutex<Vec<Encoding>>>);

type Encoding = (EncodingId, Arc<[u8]>);

impl EncodedOnce {
    fn get(&self, by: EncodingId, encode: impl FnOnce() -> Arc<[u8]>) -> Arc<[u8]> {
        // Whoever comes while it is encoded waits for the bytes instead of making them, too. A panic in there leaves the list
        // as it was.
        let mut done = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, bytes)) = done.iter().find(|(id, _)| *id == by) {
            return bytes.clone();
        }
        let bytes = encode();
        done.push((by, bytes.clone()));
        bytes
    }
}

/// It says nothing that the event does not.
impl PartialEq for EncodedOnce {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for EncodedOnce {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("EncodedOnce")
    }
}

impl Told {
    /// The event's bytes. `encode` writes them, once for all peers that are told the same event and encode alike.
    pub fn encoded(&self, by: EncodingId, encode: impl FnOnce(&Told, &mut Vec<u8>)) -> Arc<[u8]> {
        let encode = || {
            let mut bytes = Vec::new();
            encode(self, &mut bytes);
            bytes.into()
        };
        match &self.shared {
            Some(shared) => shared.get(by, encode),
            None => encode(),
        }
    }
}
