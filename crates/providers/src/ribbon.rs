//! A growing row of encoded messages. What is behind a call stays where it is and is shared with that call's body.

use bytes::{Bytes, BytesMut};

/// Every element starts with a comma, so that pieces only need to be put behind one another.
#[derive(Default)]
pub(crate) struct Ribbon {
    pieces: Vec<Bytes>,
    /// Elements since the last call.
    pub(crate) open: BytesMut,
    bytes: usize,
}

impl Ribbon {
    pub(crate) fn bytes(&self) -> usize {
        self.bytes + self.open.len()
    }

    /// Everything so far, as shared pieces. The first byte of all is a comma.
    pub(crate) fn pieces(&mut self) -> &[Bytes] {
        if !self.open.is_empty() {
            self.bytes += self.open.len();
            self.pieces.push(self.open.split().freeze());
        }
        &self.pieces
    }

    /// The same for a list in which nothing stands before the first element.
    pub(crate) fn list(&mut self) -> Vec<Bytes> {
        let mut pieces = self.pieces().to_vec();
        if let Some(first) = pieces.first_mut() {
            *first = first.slice(1..);
        }
        pieces
    }
}
