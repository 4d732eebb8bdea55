//! A request body made of shared pieces. Nothing is copied: each piece is handed to the socket as it lies in memory.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

/// Pieces in order; their sum is the `Content-Length`.
pub struct Pieces {
    rest: std::vec::IntoIter<Bytes>,
    left: u64,
}

impl Pieces {
    pub fn new(pieces: Vec<Bytes>) -> Self {
        let left = pieces.iter().map(|piece| piece.len() as u64).sum();
        Self { rest: pieces.into_iter(), left }
    }
    pub fn empty() -> Self {
        Self::new(Vec::new())
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.rest.next();
        self.left -= next.as_ref().map_or(0, |piece| piece.len() as u64);
        Poll::Ready(next.map(|piece| Ok(Frame::data(piece))))
    }
    fn is_end_stream(&self) -> bool {
        self.left == 0
    }
    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
