//! Bodies: what is answered, and what is read, up to a bound and within a time.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::sync::mpsc;

use crate::acp::AcpEvents;
use crate::limits::BODY;
use crate::sse::SseBody;

/// What an answer carries.
pub enum ReplyBody {
    Empty,
    Whole(Bytes),
    /// Pieces as they come, until there are no more.
    Pieces(mpsc::Receiver<Bytes>),
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
            ReplyBody::Pieces(pieces) => pieces.poll_recv(context).map(|piece| piece.map(|it| Ok(Frame::data(it)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            ReplyBody::Empty => true,
            ReplyBody::Whole(bytes) => bytes.is_empty(),
            ReplyBody::Pieces(_) | ReplyBody::Events(_) | ReplyBody::Acp(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            ReplyBody::Empty => SizeHint::with_exact(0),
            ReplyBody::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            ReplyBody::Pieces(_) | ReplyBody::Events(_) | ReplyBody::Acp(_) => SizeHint::default(),
        }
    }
}

/// Why a body was not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BodyFault {
    TooLong,
    TooSlow,
    Broken,
}

pub(crate) async fn read(mut body: Incoming, bytes_max: usize) -> Result<Bytes, BodyFault> {
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(BodyFault::TooLong);
    }
    let reading = async {
        let mut whole = BytesMut::new();
        while let Some(frame) = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            let Ok(piece) = frame.map_err(|_| BodyFault::Broken)?.into_data() else { continue };
            if whole.len() + piece.len() > bytes_max {
                return Err(BodyFault::TooLong);
            }
            whole.extend_from_slice(&piece);
        }
        Ok(whole.freeze())
    };
    tokio::time::timeout(BODY, reading).await.unwrap_or(Err(BodyFault::TooSlow))
}
