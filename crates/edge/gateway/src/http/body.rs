//! Bodies: what is answered, and what is read, up to a bound and within a time.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::EXPECT;
use hyper::{Request, Version};
use tokio::time::timeout;

use crate::acp::AcpEvents;
use crate::limits::{BODY, BODY_PIECE_BYTES_MIN, BODY_PIECES_FREE, DISCARD, DISCARDED_BYTES_MAX};
use crate::places::ConnectionCounts;
use crate::sse::SseBody;

/// What an answer carries.
pub enum ReplyBody {
    Empty,
    Whole(Bytes),
    Events(SseBody),
    Acp(Box<AcpEvents>),
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            ReplyBody::Empty => Poll::Ready(None),
            ReplyBody::Whole(bytes) => {
                let bytes = std::mem::take(bytes);
                *self = ReplyBody::Empty;
                Poll::Ready((!bytes.is_empty()).then(|| Ok(Frame::data(bytes))))
            }
            ReplyBody::Events(events) => events.poll_piece(context).map(|piece| piece.map(|it| Ok(Frame::data(it)))),
            ReplyBody::Acp(events) => events.poll_piece(context).map(|piece| piece.map(|it| Ok(Frame::data(it)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            ReplyBody::Empty => true,
            ReplyBody::Whole(bytes) => bytes.is_empty(),
            ReplyBody::Events(_) | ReplyBody::Acp(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ReplyBody::Empty => SizeHint::with_exact(0),
            ReplyBody::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            ReplyBody::Events(_) | ReplyBody::Acp(_) => SizeHint::default(),
        }
    }
}

/// Why a body was not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BodyFault {
    TooLong,
    /// In more pieces than there is anything in them.
    InCrumbs,
    TooSlow,
    Broken,
}

/// The body of a request. Whoever answers before all of it is read drops it, and the rest is thrown away meanwhile: Python's
/// `http.client`, for one, writes all of a body before it reads, and were the connection closed with bytes in it that nobody
/// has read, the answer would be lost to it. The answer does not wait for this, so who reads it earlier may stop.
pub(crate) struct RequestBody {
    /// `None`: nothing is left of it, or it was waited for long enough.
    unread: Option<Incoming>,
    places: Arc<ConnectionCounts>,
    /// Over HTTP/2 an answer has a stream of its own, whatever becomes of the body.
    is_http1: bool,
    /// Who sends it asks first, and sends nothing when the answer is a refusal.
    asks_first: bool,
}

impl RequestBody {
    pub(crate) fn of(request: Request<Incoming>, places: &Arc<ConnectionCounts>) -> Request<Self> {
        let is_http1 = request.version() < Version::HTTP_2;
        let asks_first = request.headers().contains_key(EXPECT);
        request.map(|incoming| Self { unread: Some(incoming), places: places.clone(), is_http1, asks_first })
    }

    /// What is too long is refused at once.
    pub(crate) async fn read(mut self, bytes_max: usize) -> Result<Bytes, BodyFault> {
        let Some(body) = &mut self.unread else { return Ok(Bytes::new()) };
        if body.size_hint().lower() > bytes_max as u64 {
            return Err(BodyFault::TooLong);
        }
        // Whoever asked is told to send.
        self.asks_first = false;
        let read = timeout(BODY, whole(body, bytes_max)).await.unwrap_or(Err(BodyFault::TooSlow));
        if !matches!(read, Err(BodyFault::TooLong | BodyFault::InCrumbs)) {
            // All of it is there; or it was waited for long enough.
            self.unread = None;
        }
        read
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        let Some(body) = self.unread.take() else { return };
        if !self.is_http1 || self.asks_first || body.is_end_stream() {
            return;
        }
        let reading = tokio::spawn(timeout(DISCARD, discard(body)));
        self.places.discards(reading.abort_handle());
    }
}

async fn whole(body: &mut Incoming, bytes_max: usize) -> Result<Bytes, BodyFault> {
    let (mut whole, mut read) = (BytesMut::new(), PiecesRead::default());
    while let Some(piece) = next(body).await {
        let piece = piece?;
        if whole.len() + piece.len() > bytes_max {
            return Err(BodyFault::TooLong);
        }
        if read.are_crumbs_with(&piece) {
            return Err(BodyFault::InCrumbs);
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole.freeze())
}

async fn discard(mut body: Incoming) {
    let mut read = PiecesRead::default();
    while let Some(Ok(piece)) = next(&mut body).await {
        if read.are_crumbs_with(&piece) || read.bytes > DISCARDED_BYTES_MAX {
            return;
        }
    }
}

/// How much has come of a body, and in how many pieces.
#[derive(Default)]
struct PiecesRead {
    pieces: usize,
    bytes: usize,
}

impl PiecesRead {
    /// Whether the next one makes them more work than they are worth.
    fn are_crumbs_with(&mut self, piece: &Bytes) -> bool {
        self.pieces += 1;
        self.bytes += piece.len();
        self.pieces.saturating_sub(BODY_PIECES_FREE) > self.bytes / BODY_PIECE_BYTES_MIN
    }
}

/// The next piece; what stands behind the last one (trailers) is an empty one.
async fn next(body: &mut Incoming) -> Option<Result<Bytes, BodyFault>> {
    let frame = poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await?;
    Some(frame.map(|frame| frame.into_data().unwrap_or_default()).map_err(|_| BodyFault::Broken))
}
