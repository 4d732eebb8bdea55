//! Sockets and their messages, by the dialect that is spoken on them.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use host::{DaemonEnding, Ended, MessageSink, MessageStream, NoteLevel};
use telemetry::metrics::{Counter, Labelled, MetricsPage, SampleKind};
use vocab::Later;
use wire::{Close, CloseCode};

use crate::entrance::{Caller, Entrance, EntranceRules, MessagePipe};

/// How sockets end, for the label.
const ENDS: [&str; 5] = ["normal", "going_away", "slow_reader", "policy", "error"];

pub(crate) struct WireNumbers(Labelled<WireRow>);

impl Default for WireNumbers {
    fn default() -> Self {
        Self(Labelled::new(WireRow::default))
    }
}

#[derive(Default)]
struct WireRow {
    open: AtomicU64,
    opened: Counter,
    ended: [Counter; ENDS.len()],
    frames_in: Counter,
    bytes_in: Counter,
    frames_out: Counter,
    bytes_out: Counter,
}

/// An entrance whose sockets are counted.
pub(crate) struct CountedEntrance {
    wire: &'static str,
    below: Arc<dyn Entrance>,
    row: Arc<WireRow>,
}

impl CountedEntrance {
    /// `wire`: the name of the dialect.
    pub(crate) fn new(numbers: &WireNumbers, wire: &'static str, below: Arc<dyn Entrance>) -> Self {
        Self { wire, below, row: numbers.0.of(wire) }
    }
}

/// Counts one socket as open, however its task ends.
struct OpenSocket(Arc<WireRow>);

impl Drop for OpenSocket {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Entrance for CountedEntrance {
    fn serve(&self, caller: Caller, (stream, sink): MessagePipe, ending: DaemonEnding) -> Later<'static, Ended> {
        let row = self.row.clone();
        row.opened.one();
        let shown = host::is_noted(NoteLevel::Debug).then(|| format!("{} of {}", self.wire, caller.peer));
        if let Some(shown) = &shown {
            host::note_at(NoteLevel::Debug, &format!("socket opened: {shown}"));
        }
        row.open.fetch_add(1, Ordering::Relaxed);
        let open = OpenSocket(row.clone());
        let pipe: MessagePipe = (
            Box::new(CountedStream { below: stream, row: row.clone() }),
            Box::new(CountedSink { below: sink, row, lengths: Vec::new() }),
        );
        let serving = self.below.serve(caller, pipe, ending);
        Box::pin(async move {
            let ended = serving.await;
            open.0.ended[end_of(ended.close.code)].one();
            if let Some(shown) = shown {
                let how = format!("{} {}", ended.close.code.number(), ended.close.reason);
                host::note_at(NoteLevel::Debug, &format!("socket closed: {shown}, {}", how.trim_end()));
            }
            ended
        })
    }
    fn refuses(&self, caller: &Caller) -> Option<String> {
        self.below.refuses(caller)
    }
    fn rules(&self) -> EntranceRules {
        self.below.rules()
    }
}

/// An index of [`ENDS`].
fn end_of(code: CloseCode) -> usize {
    match code {
        CloseCode::Normal => 0,
        CloseCode::GoingAway => 1,
        CloseCode::TryAgainLater => 2,
        CloseCode::PolicyViolation => 3,
        CloseCode::ProtocolError
        | CloseCode::BadData
        | CloseCode::TooBig
        | CloseCode::Internal
        | CloseCode::Private(_) => 4,
    }
}

struct CountedStream {
    below: Box<dyn MessageStream>,
    row: Arc<WireRow>,
}

impl MessageStream for CountedStream {
    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        let received = self.below.poll_receive(context);
        if let Poll::Ready(Some(message)) = &received {
            self.row.frames_in.one();
            self.row.bytes_in.add(message.len() as u64);
        }
        received
    }
    fn refuses_more(&self) -> Option<Close> {
        self.below.refuses_more()
    }
}

struct CountedSink {
    below: Box<dyn MessageSink>,
    row: Arc<WireRow>,
    /// Of messages that were handed over together; kept, so that it is made once.
    lengths: Vec<usize>,
}

impl MessageSink for CountedSink {
    fn poll_send(&mut self, context: &mut Context<'_>, message: &[u8]) -> Poll<io::Result<()>> {
        let sent = self.below.poll_send(context, message);
        if let Poll::Ready(Ok(())) = sent {
            self.row.frames_out.one();
            self.row.bytes_out.add(message.len() as u64);
        }
        sent
    }
    fn poll_send_some(
        &mut self,
        context: &mut Context<'_>,
        messages: &mut dyn Iterator<Item = &[u8]>,
    ) -> Poll<io::Result<usize>> {
        let Self { below, row, lengths } = self;
        lengths.clear();
        let sent = below.poll_send_some(context, &mut messages.inspect(|message| lengths.push(message.len())));
        if let Poll::Ready(Ok(count)) = &sent {
            row.frames_out.add(*count as u64);
            row.bytes_out.add(lengths.iter().take(*count).sum::<usize>() as u64);
        }
        sent
    }
    fn poll_close(&mut self, context: &mut Context<'_>, close: &Close) -> Poll<()> {
        self.below.poll_close(context, close)
    }
}

impl WireNumbers {
    pub(super) fn page(&self, page: &mut MetricsPage) {
        let rows = self.0.all();
        const OPEN: &str = "tillerman_sockets";
        page.family(OPEN, SampleKind::Gauge, "Sockets that are open, by the dialect spoken on them.");
        for (wire, row) in &rows {
            page.row(OPEN, &[("wire", wire)], row.open.load(Ordering::Relaxed) as f64);
        }
        const OPENED: &str = "tillerman_sockets_opened_total";
        page.family(OPENED, SampleKind::Counter, "Sockets that were opened.");
        rows.iter().for_each(|(wire, row)| page.row(OPENED, &[("wire", wire)], row.opened.get() as f64));
        const ENDED: &str = "tillerman_sockets_closed_total";
        page.family(ENDED, SampleKind::Counter, "Sockets that ended; a slow reader is one that was let go with 1013.");
        for (wire, row) in &rows {
            for (end, count) in ENDS.iter().zip(&row.ended) {
                page.row(ENDED, &[("wire", wire), ("end", end)], count.get() as f64);
            }
        }
        let both = |page: &mut MetricsPage, name: &str, about: &str, of: fn(&WireRow) -> (&Counter, &Counter)| {
            page.family(name, SampleKind::Counter, about);
            for (wire, row) in &rows {
                let (received, sent) = of(row);
                page.row(name, &[("wire", wire), ("direction", "in")], received.get() as f64);
                page.row(name, &[("wire", wire), ("direction", "out")], sent.get() as f64);
            }
        };
        both(page, "tillerman_frames_total", "Messages on sockets.", |row| (&row.frames_in, &row.frames_out));
        both(page, "tillerman_frame_bytes_total", "Bytes of those messages.", |row| (&row.bytes_in, &row.bytes_out));
    }
}
