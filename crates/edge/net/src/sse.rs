//! Server-sent events from bytes. Pure and incremental: any split of the same bytes yields the same events. Knows
//! lines, `data` and `id` fields only; event names and retry times mean nothing to our readers.

use std::ops::Range;

/// The longest event kept, all its lines together; a longer one is an error and the stream is over.
pub const EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Capacity kept once all is consumed, so that one large event does not hold its memory for the rest of the stream.
const KEEP_BYTES: usize = 256 * 1024;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// A longer id is none: it goes back to the server in a header.
const ID_BYTES_MAX: usize = 1024;

/// An event larger than the limit; the bytes are gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLong {
    pub limit: usize,
}

/// Feeds on chunks, yields the `data` of each event.
pub struct Sse {
    limit: usize,
    /// Bytes of events not yet handed out.
    buffer: Vec<u8>,
    /// Everything before this belongs to events that are done with.
    consumed: usize,
    /// Start of the line being read.
    line: usize,
    /// The line has no end before this: a long line that comes in small chunks is looked at once.
    scanned: usize,
    /// A line ended with CR; an LF right behind it belongs to it.
    after_cr: bool,
    at_start: bool,
    data: EventData,
    /// Of the event being read.
    next_id: Option<String>,
    last_id: Option<String>,
}

/// The `data` fields of the event being read. One field is the rule and stays where it is.
enum EventData {
    None,
    One(Range<usize>),
    Many(Vec<u8>),
}

impl Default for Sse {
    fn default() -> Self {
        Self::new(EVENT_BYTES_MAX)
    }
}

impl Sse {
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            buffer: Vec::new(),
            consumed: 0,
            line: 0,
            scanned: 0,
            after_cr: false,
            at_start: true,
            data: EventData::None,
            next_id: None,
            last_id: None,
        }
    }

    /// The id of the last whole event that had one, to go on behind it.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// Takes more bytes. Call [`Sse::next`] until it yields nothing, then feed again.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.consumed > 0 {
            self.buffer.drain(..self.consumed);
            self.line -= self.consumed;
            self.scanned -= self.consumed;
            if let EventData::One(range) = &mut self.data {
                *range = range.start - self.consumed..range.end - self.consumed;
            }
            self.consumed = 0;
            if self.buffer.is_empty() && self.buffer.capacity() > KEEP_BYTES {
                self.buffer = Vec::new();
            }
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The data of the next whole event.
    #[expect(clippy::should_implement_trait, reason = "the event borrows from the reader, which `Iterator` cannot say")]
    pub fn next(&mut self) -> Option<Result<&[u8], TooLong>> {
        if !self.skip_bom() {
            return None;
        }
        loop {
            if self.after_cr && self.line < self.buffer.len() {
                self.after_cr = false;
                if self.buffer[self.line] == b'\n' {
                    self.line += 1;
                    self.scanned = self.line;
                }
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', &self.buffer[self.scanned..]) else {
                self.scanned = self.buffer.len();
                return (self.scanned - self.consumed > self.limit).then_some(Err(TooLong { limit: self.limit }));
            };
            let end = self.scanned + end;
            self.after_cr = self.buffer[end] == b'\r';
            let line = self.line..end;
            self.line = end + 1;
            self.scanned = self.line;
            if end - self.consumed > self.limit {
                return Some(Err(TooLong { limit: self.limit }));
            }
            if !line.is_empty() {
                self.field(line);
            } else {
                if let Some(id) = self.next_id.take() {
                    // An empty one takes back what was said before.
                    self.last_id = Some(id).filter(|id| !id.is_empty());
                }
                if !matches!(self.data, EventData::None) {
                    return Some(Ok(self.take()));
                }
            }
            if matches!(self.data, EventData::None) {
                self.consumed = self.line;
            }
        }
    }

    /// The input ended. What was begun counts as an event, even when its last line lacks an end: servers differ, and
    /// whoever reads the data sees whether it is whole.
    pub fn finish(&mut self) -> Option<&[u8]> {
        let rest = self.line..self.buffer.len();
        if !rest.is_empty() {
            self.line = rest.end;
            self.scanned = rest.end;
            self.field(rest);
        }
        (!matches!(self.data, EventData::None)).then(|| self.take())
    }

    fn take(&mut self) -> &[u8] {
        self.consumed = self.line;
        match std::mem::replace(&mut self.data, EventData::None) {
            EventData::None => &[],
            EventData::One(range) => &self.buffer[range],
            EventData::Many(joined) => {
                // Parked in front of the unread bytes, where it can be borrowed from until the next call.
                let length = joined.len();
                self.buffer.splice(..self.consumed, joined);
                (self.consumed, self.line, self.scanned) = (length, length, length);
                &self.buffer[..length]
            }
        }
    }

    /// False while the first bytes may still become a byte order mark.
    fn skip_bom(&mut self) -> bool {
        if self.at_start {
            if self.buffer.len() < BOM.len() && BOM.starts_with(&self.buffer) {
                return false;
            }
            self.at_start = false;
            if self.buffer.starts_with(BOM) {
                (self.consumed, self.line, self.scanned) = (BOM.len(), BOM.len(), BOM.len());
            }
        }
        true
    }

    fn id(&mut self, line: Range<usize>) {
        let Some(rest) = self.buffer[line].strip_prefix(b"id") else { return };
        let value = match rest {
            [] => rest,
            [b':', b' ', value @ ..] | [b':', value @ ..] => value,
            _ => return,
        };
        if value.len() <= ID_BYTES_MAX
            && !value.contains(&0)
            && let Ok(id) = std::str::from_utf8(value)
        {
            self.next_id = Some(id.to_owned());
        }
    }

    fn field(&mut self, line: Range<usize>) {
        let Some(rest) = self.buffer[line.clone()].strip_prefix(b"data") else { return self.id(line) };
        let value = match rest {
            [] => line.end..line.end,
            [b':', b' ', ..] => line.start + 6..line.end,
            [b':', ..] => line.start + 5..line.end,
            _ => return,
        };
        self.data = match std::mem::replace(&mut self.data, EventData::None) {
            EventData::None => EventData::One(value),
            EventData::One(first) => {
                let mut joined = self.buffer[first].to_vec();
                joined.push(b'\n');
                joined.extend_from_slice(&self.buffer[value]);
                EventData::Many(joined)
            }
            EventData::Many(mut joined) => {
                joined.push(b'\n');
                joined.extend_from_slice(&self.buffer[value]);
                EventData::Many(joined)
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(chunks: &[&[u8]]) -> Vec<String> {
        let mut sse = Sse::default();
        let mut events = Vec::new();
        for chunk in chunks {
            sse.feed(chunk);
            while let Some(event) = sse.next() {
                events.push(String::from_utf8(event.unwrap().to_vec()).unwrap());
            }
        }
        events.extend(sse.finish().map(|rest| String::from_utf8(rest.to_vec()).unwrap()));
        events
    }

    #[test]
    fn the_forms_of_the_format() {
        for (bytes, want) in [
            (&b"data: a\n\ndata:b\n\n"[..], vec!["a", "b"]),
            (b"data: a\r\n\r\ndata: b\r\n\r\n", vec!["a", "b"]),
            (b"data: a\r\rdata: b\r\r", vec!["a", "b"]),
            (b"\xEF\xBB\xBFdata: a\n\n", vec!["a"]),
            (b": ping\n\n: pong\n\ndata: a\n: in between\n\n", vec!["a"]),
            (b"event: x\nid: 7\ndata: a\nretry: 9\n\n", vec!["a"]),
            (b"data: a\ndata: b\ndata:\ndata: c\n\ndata: d\n\n", vec!["a\nb\n\nc", "d"]),
            (b"data\n\n", vec![""]),
            (b"data:  two spaces\n\n", vec![" two spaces"]),
            (b"database: no\n\n", vec![]),
            (b"data: last line has no end", vec!["last line has no end"]),
            (b"data: one\ndata: tw", vec!["one\ntw"]),
            (b"\n\n\n", vec![]),
        ] {
            assert_eq!(read(&[bytes]), want, "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn an_id_counts_with_the_end_of_its_event() {
        let mut sse = Sse::default();
        let mut ids = Vec::new();
        for chunk in [
            &b"data: a\n\nid: 7\ndata: b\n\nid:8.2+1\ndata: c\n\n"[..],
            b"data: d\n\nid: 9\ndata: half",
            b"\n\nidle: no\nid: x\0y\ndata: e\n\nid\ndata: f\n\n",
        ] {
            sse.feed(chunk);
            ids.push(format!("{} ..", sse.last_id().unwrap_or("-")));
            while sse.next().is_some() {
                ids.push(sse.last_id().unwrap_or("-").to_owned());
            }
        }
        assert_eq!(ids, ["- ..", "-", "7", "8.2+1", "8.2+1 ..", "8.2+1", "8.2+1 ..", "9", "9", "-"]);
        sse.feed(format!("id: {}\ndata: g\n\n", "9".repeat(ID_BYTES_MAX + 1)).as_bytes());
        assert!(sse.next().is_some() && sse.last_id().is_none());
    }

    #[test]
    fn every_split_yields_the_same_events() {
        let bytes =
            "\u{FEFF}: hi\r\n\r\ndata: gr\u{fc}\u{df}e\r\ndata: \u{1F600}\n\ndata: b\r\rdata: c\n\n: x\n\ndata: d\n\n"
                .as_bytes();
        let whole = read(&[bytes]);
        assert_eq!(whole.len(), 4);
        for first in 0..=bytes.len() {
            for second in first..=bytes.len() {
                assert_eq!(read(&[&bytes[..first], &bytes[first..second], &bytes[second..]]), whole);
            }
        }
        assert_eq!(read(&bytes.chunks(1).collect::<Vec<_>>()), whole);
    }

    #[test]
    fn an_endless_event_is_an_error_and_comments_are_not_kept() {
        let mut sse = Sse::new(64);
        for _ in 0..1000 {
            sse.feed(b": keep-alive\n");
            assert_eq!(sse.next(), None);
        }
        assert!(sse.buffer.len() < 64);
        sse.feed(&[b'x'; 65]);
        assert_eq!(sse.next(), Some(Err(TooLong { limit: 64 })));

        let mut sse = Sse::new(64);
        let mut refused = false;
        for _ in 0..10 {
            sse.feed(b"data: 12345678\n");
            refused |= matches!(sse.next(), Some(Err(_)));
        }
        assert!(refused, "many short lines of one event count together");
    }
}
