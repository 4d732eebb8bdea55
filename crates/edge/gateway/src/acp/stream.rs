//! One stream of events to a client: what waits for it, and what it may ask for again. Pure but for the waker.

use std::collections::VecDeque;
use std::task::Waker;
use std::time::Instant;

use bytes::Bytes;

use crate::acp::message::ascii_into;
use crate::limits::{ACP_KEPT_BYTES_MAX, ACP_KEPT_MAX};

/// Where a client is in a session's stream: a place in the log, and how many answers and questions it has got.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub(crate) struct StreamPlace {
    log: [u64; 3],
    said: u64,
}

impl StreamPlace {
    /// `<seq>[.<bytes>][~<updates>][+<n>]`, or `c<n>` on the connection's own stream.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| -> Option<u64> {
            text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
        };
        if let Some(said) = text.strip_prefix('c') {
            return Some(Self { log: [0; 3], said: number(said)? });
        }
        let part = |text: &'_ str, mark: char| -> Option<(String, u64)> {
            match text.split_once(mark) {
                Some((before, after)) => Some((before.to_owned(), number(after)?)),
                None => Some((text.to_owned(), 0)),
            }
        };
        let (text, said) = part(text, '+')?;
        let (text, updates) = part(&text, '~')?;
        let (text, bytes) = part(&text, '.')?;
        Some(Self { log: [number(&text)?, bytes, updates], said })
    }

    /// The part of it that the log knows.
    pub(crate) fn in_log(&self) -> String {
        let [seq, bytes, updates] = self.log;
        let bytes = if bytes > 0 { format!(".{bytes}") } else { String::new() };
        let updates = if updates > 0 { format!("~{updates}") } else { String::new() };
        format!("{seq}{bytes}{updates}")
    }

    fn written(&self, is_session: bool) -> String {
        match (is_session, self.said) {
            (false, said) => format!("c{said}"),
            (true, 0) => self.in_log(),
            (true, said) => format!("{}+{said}", self.in_log()),
        }
    }
}

/// What waits to be written.
pub(crate) struct Waiting {
    pub(crate) bytes: Bytes,
    /// The session that it is about, and how much of its window it takes.
    pub(crate) of: Option<(String, usize)>,
}

/// What cannot be made again from the log.
struct KeptEvent {
    at: StreamPlace,
    /// A request of ours: worth nothing once it was answered.
    ask: Option<u64>,
    bytes: Bytes,
}

pub(crate) struct StreamState {
    is_session: bool,
    queue: VecDeque<Waiting>,
    kept: VecDeque<KeptEvent>,
    kept_bytes: usize,
    at: StreamPlace,
    /// Answers and questions so far, and how many there were when the place in the log last changed.
    said: u64,
    said_before: u64,
    /// Who reads it now; each reader has another number.
    pub(crate) reader: Option<u64>,
    readers: u64,
    pub(crate) waker: Option<Waker>,
    /// Updates that were on their way when the client named its place are of no use.
    stale: bool,
    /// The place is what a client said of a stream on which nothing was told yet: the first update knows better.
    is_hearsay: bool,
    again: VecDeque<KeptEvent>,
    /// The session is one that the dialect has spoken of.
    pub(crate) is_known: bool,
    /// Written since the dialect was last given room, by session.
    pub(crate) owed: usize,
    /// When something was last taken, or began to wait.
    pub(crate) moved: Instant,
}

impl StreamState {
    pub(crate) fn new(is_session: bool) -> Self {
        Self {
            is_session,
            queue: VecDeque::new(),
            kept: VecDeque::new(),
            kept_bytes: 0,
            at: StreamPlace::default(),
            said: 0,
            said_before: 0,
            reader: None,
            readers: 0,
            waker: None,
            stale: false,
            is_hearsay: false,
            again: VecDeque::new(),
            is_known: false,
            owed: 0,
            moved: Instant::now(),
        }
    }

    /// A new reader: the one before reads no more.
    pub(crate) fn open(&mut self) -> u64 {
        self.readers += 1;
        self.reader = Some(self.readers);
        self.moved = Instant::now();
        self.wake();
        self.readers
    }

    pub(crate) fn wake(&mut self) {
        self.waker.take().into_iter().for_each(Waker::wake);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(crate) fn pop(&mut self) -> Option<Waiting> {
        self.moved = Instant::now();
        self.queue.pop_front()
    }

    /// An update: the log has it.
    pub(crate) fn update(&mut self, place: Option<&str>, session: String, frame: &[u8]) {
        if self.stale {
            return;
        }
        let is_news = |place: &StreamPlace| place.log > self.at.log || self.is_hearsay;
        if let Some(place) = place.and_then(StreamPlace::parse).filter(is_news) {
            self.is_hearsay = false;
            self.send_again(|kept| kept.log < place.log);
            self.at.log = place.log;
            self.said_before = self.said;
        }
        let said = if self.said > self.said_before { self.said } else { 0 };
        let at = StreamPlace { log: self.at.log, said };
        let bytes = event(&at.written(self.is_session), frame);
        self.push(Waiting { bytes, of: Some((session, frame.len())) });
    }

    /// An answer or a question: it is kept for a client that did not get it. On the connection's own stream everything is.
    pub(crate) fn say(&mut self, ask: Option<u64>, of: Option<(String, usize)>, frame: &[u8]) {
        self.said += 1;
        let at = StreamPlace { log: self.at.log, said: self.said };
        let bytes = event(&at.written(self.is_session), frame);
        self.kept_bytes += bytes.len();
        self.kept.push_back(KeptEvent { at, ask, bytes: bytes.clone() });
        while self.kept.len() > ACP_KEPT_MAX || (self.kept_bytes > ACP_KEPT_BYTES_MAX && self.kept.len() > 1) {
            let Some(oldest) = self.kept.pop_front() else { break };
            self.kept_bytes -= oldest.bytes.len();
        }
        match self.stale {
            true => self.again.push_back(KeptEvent { at, ask, bytes }),
            false => self.push(Waiting { bytes, of }),
        }
    }

    /// As it is, without a place: for a transport that has none.
    pub(crate) fn plain(&mut self, of: Option<(String, usize)>, frame: &[u8]) {
        self.push(Waiting { bytes: Bytes::copy_from_slice(frame), of });
    }

    fn push(&mut self, waiting: Waiting) {
        if self.queue.is_empty() {
            self.moved = Instant::now();
        }
        self.queue.push_back(waiting);
        self.wake();
    }

    /// Whether nobody can have been told so much here.
    pub(crate) fn is_ahead(&self, place: StreamPlace) -> bool {
        let is_fresh = self.is_session && self.at == StreamPlace::default() && self.said == 0;
        !is_fresh && !self.is_hearsay && (place.log > self.at.log || place.said > self.said)
    }

    /// The client has everything up to this place. `open`: whether a question of ours still is.
    pub(crate) fn go_back(&mut self, place: StreamPlace, open: impl Fn(u64) -> bool) {
        self.queue.clear();
        let kept = self.kept.iter().filter(|kept| kept.at > place && kept.ask.is_none_or(&open));
        self.again = kept.map(|kept| KeptEvent { at: kept.at, ask: kept.ask, bytes: kept.bytes.clone() }).collect();
        match self.is_session {
            true => {
                self.is_hearsay |= place.log > self.at.log;
                (self.stale, self.at.log) = (true, place.log);
                self.said_before = if place.said > 0 { self.said.min(place.said).saturating_sub(1) } else { self.said };
            }
            false => self.send_again(|_| true),
        }
    }

    /// From here on updates are behind the client's place.
    pub(crate) fn rejoined(&mut self) {
        self.stale = false;
    }

    /// The log has no more.
    pub(crate) fn caught_up(&mut self) {
        self.send_again(|_| true);
    }

    fn send_again(&mut self, is_due: impl Fn(&StreamPlace) -> bool) {
        while let Some(kept) = self.again.pop_front_if(|kept| is_due(&kept.at)) {
            self.push(Waiting { bytes: kept.bytes, of: None });
        }
    }
}

/// One event of a stream.
fn event(id: &str, frame: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(frame.len() + 48);
    out.extend_from_slice(b"id: ");
    out.extend_from_slice(id.as_bytes());
    out.extend_from_slice(b"\ndata: ");
    ascii_into(frame, &mut out);
    out.extend_from_slice(b"\n\n");
    out.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(stream: &mut StreamState) -> Vec<String> {
        let mut ids = Vec::new();
        while let Some(waiting) = stream.pop() {
            let text = String::from_utf8(waiting.bytes.to_vec()).unwrap();
            let (id, data) = text.trim_end().split_once('\n').unwrap();
            ids.push(format!("{} {}", id.trim_start_matches("id: "), data.trim_start_matches("data: ")));
        }
        ids
    }

    fn update(stream: &mut StreamState, place: &str, data: &str) {
        stream.update(Some(place), "s".into(), data.as_bytes());
    }

    #[test]
    fn a_place_is_read_as_it_is_written() {
        for text in ["7", "7.3", "7~2", "7.3~2", "7+1", "7.3+12", "7.3~2+1"] {
            assert_eq!(StreamPlace::parse(text).unwrap().written(true), text);
        }
        assert_eq!(StreamPlace::parse("c9").unwrap().written(false), "c9");
        for wrong in ["", "x", "7+", "+1", "c", "7\n", "-7", "7 "] {
            assert_eq!(StreamPlace::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_a_client_missed_comes_once_and_in_its_order() {
        let mut stream = StreamState::new(true);
        update(&mut stream, "5", "a");
        stream.say(None, None, b"answer1");
        update(&mut stream, "5", "config");
        update(&mut stream, "6", "b");
        stream.say(Some(4), None, b"ask");
        stream.say(Some(5), None, b"answered ask");
        update(&mut stream, "7", "c");
        let all = ids(&mut stream);
        assert_eq!(all, ["5 a", "5+1 answer1", "5+1 config", "6 b", "6+2 ask", "6+3 answered ask", "7 c"]);
        for (last, want) in [
            ("5", vec!["5+1 answer1", "6 b", "6+2 ask", "7 c"]),
            ("5+1", vec!["6 b", "6+2 ask", "7 c"]),
            ("6", vec!["6+2 ask", "7 c"]),
            ("7", vec![]),
        ] {
            let place = StreamPlace::parse(last).unwrap();
            stream.go_back(place, |ask| ask == 4);
            update(&mut stream, "7", "on its way");
            stream.rejoined();
            for (seq, data) in [("6", "b"), ("7", "c")] {
                if StreamPlace::parse(seq).unwrap().log > place.log {
                    update(&mut stream, seq, data);
                }
            }
            stream.caught_up();
            assert_eq!(ids(&mut stream), want, "{last}");
        }
    }

    #[test]
    fn a_place_that_was_never_told_is_none() {
        let ahead = |stream: &StreamState, place| stream.is_ahead(StreamPlace::parse(place).unwrap());
        let mut stream = StreamState::new(true);
        assert!(!ahead(&stream, "4000+7"), "it may be one of an earlier connection");
        update(&mut stream, "5", "a");
        stream.say(None, None, b"answer");
        for (place, is_ahead) in
            [("5", false), ("5+1", false), ("4+1", false), ("6", true), ("5.1", true), ("5+2", true)]
        {
            assert_eq!(ahead(&stream, place), is_ahead, "{place}");
        }
        let mut own = StreamState::new(false);
        assert!(ahead(&own, "c1"), "its connection began with it");
        own.say(None, None, b"one");
        assert!(!ahead(&own, "c1") && ahead(&own, "c2"));
    }

    #[test]
    fn what_a_client_says_of_a_stream_is_forgotten_when_something_is_told_on_it() {
        let mut stream = StreamState::new(true);
        stream.go_back(StreamPlace::parse("4000").unwrap(), |_| true);
        stream.rejoined();
        update(&mut stream, "5", "a");
        update(&mut stream, "6", "b");
        assert_eq!(ids(&mut stream), ["5 a", "6 b"]);
        stream.go_back(StreamPlace::parse("5").unwrap(), |_| true);
        stream.rejoined();
        update(&mut stream, "5", "config");
        update(&mut stream, "6", "b");
        assert_eq!(ids(&mut stream), ["5 config", "6 b"]);
    }

    #[test]
    fn on_the_connections_own_stream_everything_is_kept_within_bounds() {
        let mut stream = StreamState::new(false);
        for number in 0..ACP_KEPT_MAX + 10 {
            stream.say(None, None, number.to_string().as_bytes());
        }
        ids(&mut stream);
        stream.go_back(StreamPlace::parse("c260").unwrap(), |_| true);
        assert_eq!(ids(&mut stream).first().unwrap(), "c261 260");
        stream.go_back(StreamPlace::parse("c1").unwrap(), |_| true);
        assert_eq!(ids(&mut stream).len(), ACP_KEPT_MAX);
    }
}
