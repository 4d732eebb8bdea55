//! How long a connection is idle: one that has no request under way for a while gives its place to others.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::sleep;

use crate::http::ReplyBody;

#[derive(Default)]
pub(super) struct ConnectionIdleness {
    under_way: AtomicUsize,
    /// Beginnings and ends.
    changes: AtomicU64,
}

impl ConnectionIdleness {
    pub(super) fn begin(self: &Arc<Self>) -> RequestUnderWay {
        self.under_way.fetch_add(1, Ordering::Relaxed);
        self.changes.fetch_add(1, Ordering::Relaxed);
        RequestUnderWay(self.clone())
    }

    pub(super) fn were_any(&self) -> bool {
        self.changes.load(Ordering::Relaxed) > 0
    }

    /// Comes when none was under way for so long, and at the latest after twice that.
    pub(super) async fn none_for(&self, time: Duration) {
        loop {
            let changes = self.changes.load(Ordering::Relaxed);
            sleep(time).await;
            if self.under_way.load(Ordering::Relaxed) == 0 && self.changes.load(Ordering::Relaxed) == changes {
                return;
            }
        }
    }
}

/// Under way until its answer is told whole, or nobody is left to hear it.
pub(super) struct RequestUnderWay(Arc<ConnectionIdleness>);

impl RequestUnderWay {
    pub(super) fn told_in(self, body: ReplyBody) -> CountedBody {
        CountedBody { body, _request: self }
    }
}

impl Drop for RequestUnderWay {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
        self.0.changes.fetch_add(1, Ordering::Relaxed);
    }
}

pub(super) struct CountedBody {
    body: ReplyBody,
    _request: RequestUnderWay,
}

impl Body for CountedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }
    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn g6_who_asks_for_nothing_more_gives_its_place_back() {
        const TIME: Duration = Duration::from_secs(60);
        let idleness = Arc::<ConnectionIdleness>::default();
        let has_come = async |wait: Duration| tokio::time::timeout(wait, idleness.none_for(TIME)).await.is_ok();
        assert!(!idleness.were_any());
        let stream = idleness.begin().told_in(ReplyBody::Empty);
        assert!(idleness.were_any() && !has_come(TIME * 10).await, "its answer is still told");
        let asking = async {
            for _ in 0..10 {
                sleep(TIME / 2).await;
                drop(idleness.begin());
            }
        };
        drop(stream);
        tokio::select! {
            () = asking => {}
            () = idleness.none_for(TIME) => panic!("it asks again and again"),
        }
        assert!(!has_come(TIME - Duration::from_secs(1)).await && has_come(TIME * 2).await);
    }
}
