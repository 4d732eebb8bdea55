//! Rows of the log. What a session appends at once, the prompt, the reply and the end of a short turn, stands in one row as
//! long as that is small: the first record in columns, the others behind each other in `more`. Each keeps its own checksum, so
//! damage to one is damage to that one; only where the frame of one is broken, nobody can say where the next begins, and those
//! behind it in the same row are missing. A row ends where the next one begins: what it says beyond that is believed only where
//! its checksum is right, so that a row with a wrong number, or with bytes that nobody wrote, hides none of its neighbours.
//! Pure but for reading columns.

use rusqlite::Row;
use rusqlite::types::ValueRef;

use store::records;

use super::rows::from_int;

/// The columns of a row, in the order in which [`RowRecords`] reads them; at last, where the next row of its session begins.
/// The session is the first parameter.
pub(crate) const COLUMNS: &str =
    "seq, parent, at_ms, kind, payload, crc, by, more, CASE WHEN more IS NULL THEN NULL ELSE
     (SELECT min(next.seq) FROM records AS next WHERE next.session = ?1 AND next.seq > records.seq) END";

/// A row with more than this takes no further record: it is still within a page of the database.
const ROW_BYTES_MAX: usize = 3 * 1024;
/// Nor does one with so many, so that whoever wants one of them reads few others.
pub(crate) const ROW_RECORDS_MAX: usize = 16;

/// Length of payload, checksum, parent, time, length of kind, length of `by`; and a checksum of these, because whoever goes on
/// behind a damaged record has to know where that ends.
const HEAD_BYTES: usize = LENGTHS_BYTES + 4;
const LENGTHS_BYTES: usize = 4 + 4 + 8 + 8 + 1 + 2;
/// Stands for the length of a `by` that is not there.
const NOBODY: u16 = u16::MAX;

/// A record as it is kept, believed in nothing: a damaged column may hold a value of any type, and is none here then.
#[derive(Clone, Copy)]
pub(crate) struct StoredRecord<'a> {
    pub(crate) seq: u64,
    pub(crate) parent: Option<i64>,
    pub(crate) at_ms: Option<i64>,
    pub(crate) kind: Option<&'a [u8]>,
    pub(crate) payload: Option<&'a [u8]>,
    pub(crate) crc: Option<i64>,
    pub(crate) by: Option<&'a [u8]>,
}

impl StoredRecord<'_> {
    /// A record that has none names the one before it.
    pub(crate) fn parent(&self) -> u64 {
        self.parent.map_or(self.seq.saturating_sub(1), from_int)
    }

    /// Whether its checksum is right; `None` when it has not the columns that one is made of, which only the right types are.
    pub(crate) fn is_as_written(&self) -> Option<bool> {
        let (kind, payload, crc) = (self.kind?, self.payload?, self.crc?);
        let sum = records::checksum(self.seq, self.parent(), self.at_ms.unwrap_or(0), kind, payload, self.by);
        Some(i64::from(sum) == crc)
    }
}

/// A record on its way into a row.
#[derive(Clone, Copy)]
pub(crate) struct NewRecord<'a> {
    pub(crate) parent: u64,
    pub(crate) at_ms: i64,
    pub(crate) kind: &'static str,
    pub(crate) payload: &'a [u8],
    pub(crate) crc: u32,
    pub(crate) by: Option<&'a str>,
}

impl NewRecord<'_> {
    fn bytes(&self) -> usize {
        HEAD_BYTES + self.kind.len() + self.by.map_or(0, str::len) + self.payload.len()
    }

    /// Appends it to `more`.
    fn put(&self, more: &mut Vec<u8>) {
        let by = self.by.unwrap_or_default().as_bytes();
        let by_length = if self.by.is_some() { by.len() as u16 } else { NOBODY };
        let at = more.len();
        more.reserve(self.bytes());
        more.extend_from_slice(&(self.payload.len() as u32).to_le_bytes());
        more.extend_from_slice(&self.crc.to_le_bytes());
        more.extend_from_slice(&self.parent.to_le_bytes());
        more.extend_from_slice(&self.at_ms.to_le_bytes());
        more.push(self.kind.len() as u8);
        more.extend_from_slice(&by_length.to_le_bytes());
        let sum = crc32fast::hash(&more[at..]);
        more.extend_from_slice(&sum.to_le_bytes());
        more.extend_from_slice(self.kind.as_bytes());
        more.extend_from_slice(by);
        more.extend_from_slice(self.payload);
    }
}

/// What a row that is being made holds besides its first record.
#[derive(Default)]
pub(crate) struct RowTail {
    pub(crate) more: Vec<u8>,
    records: usize,
    bytes: usize,
}

impl RowTail {
    /// A row begins with this record.
    pub(crate) fn begin(&mut self, first: &NewRecord<'_>) {
        self.more.clear();
        (self.records, self.bytes) = (1, first.bytes());
    }

    /// Whether the row took it in.
    pub(crate) fn take(&mut self, next: &NewRecord<'_>) -> bool {
        let bytes = self.bytes + next.bytes();
        if self.records >= ROW_RECORDS_MAX || bytes > ROW_BYTES_MAX {
            return false;
        }
        next.put(&mut self.more);
        (self.records, self.bytes) = (self.records + 1, bytes);
        true
    }
}

/// The records of a row, in their order. One whose frame is broken has no columns, and none comes behind it.
#[derive(Clone)]
pub(crate) struct RowRecords<'a> {
    first: Option<StoredRecord<'a>>,
    last: u64,
    more: Option<&'a [u8]>,
    /// The number with which the next row begins.
    end: u64,
}

impl<'a> RowRecords<'a> {
    /// Of a row of [`COLUMNS`].
    pub(crate) fn of(row: &'a Row<'_>) -> rusqlite::Result<Self> {
        let number = |at| -> rusqlite::Result<Option<i64>> {
            Ok(match row.get_ref(at)? {
                ValueRef::Integer(number) => Some(number),
                _ => None,
            })
        };
        let bytes = |at| -> rusqlite::Result<Option<&'a [u8]>> {
            Ok(match row.get_ref(at)? {
                ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes),
                _ => None,
            })
        };
        let more = match row.get_ref(7)? {
            ValueRef::Null => Some(&[][..]),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes),
            _ => None,
        };
        // A number that is none is nobody's: what was there is missing.
        let Some(seq) = number(0)?.map(from_int) else {
            return Ok(Self { first: None, last: 0, more: Some(&[]), end: 0 });
        };
        let end = number(8)?.map_or(u64::MAX, from_int);
        let first = StoredRecord {
            seq,
            parent: number(1)?,
            at_ms: number(2)?,
            kind: bytes(3)?,
            payload: bytes(4)?,
            crc: number(5)?,
            by: bytes(6)?,
        };
        Ok(Self { first: Some(first), last: seq, more, end })
    }

    /// The number of the row, or of the record that was taken last.
    pub(crate) fn seq(&self) -> u64 {
        self.last
    }

    /// What stands in `more` behind the records that were taken so far.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.more.unwrap_or_default()
    }
}

impl<'a> Iterator for RowRecords<'a> {
    type Item = StoredRecord<'a>;

    fn next(&mut self) -> Option<StoredRecord<'a>> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        if self.more.is_some_and(<[u8]>::is_empty) {
            return None;
        }
        self.last = self.last.saturating_add(1);
        let taken = self.more.take().and_then(|more| take_one(more, self.last));
        if self.last >= self.end && taken.is_none_or(|(record, _)| record.is_as_written() != Some(true)) {
            self.more = Some(&[]);
            return None;
        }
        self.more = Some(taken.map_or(&[][..], |(_, rest)| rest));
        let (seq, parent, at_ms, kind, payload, crc, by) = (self.last, None, None, None, None, None, None);
        let broken = StoredRecord { seq, parent, at_ms, kind, payload, crc, by };
        Some(taken.map_or(broken, |(record, _)| record))
    }
}

/// The first of them, and what is behind it.
fn take_one(more: &[u8], seq: u64) -> Option<(StoredRecord<'_>, &[u8])> {
    let (head, rest) = more.split_at_checked(HEAD_BYTES)?;
    let word = |at: usize| -> Option<[u8; 8]> { head.get(at..at + 8)?.try_into().ok() };
    let half = |at: usize| -> Option<u32> { Some(u32::from_le_bytes(head.get(at..at + 4)?.try_into().ok()?)) };
    if half(LENGTHS_BYTES)? != crc32fast::hash(&head[..LENGTHS_BYTES]) {
        return None;
    }
    let by_length = u16::from_le_bytes([head[25], head[26]]);
    let (kind, rest) = rest.split_at_checked(head[24].into())?;
    let (by, rest) = rest.split_at_checked(if by_length == NOBODY { 0 } else { by_length.into() })?;
    let (payload, rest) = rest.split_at_checked(usize::try_from(half(0)?).ok()?)?;
    let record = StoredRecord {
        seq,
        parent: Some(i64::from_le_bytes(word(8)?)),
        at_ms: Some(i64::from_le_bytes(word(16)?)),
        kind: Some(kind),
        payload: Some(payload),
        crc: Some(half(4)?.into()),
        by: (by_length != NOBODY).then_some(by),
    };
    Some((record, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record<'a>(payload: &'a [u8], by: Option<&'a str>) -> NewRecord<'a> {
        NewRecord { parent: 7, at_ms: -5, kind: "user", payload, crc: 9, by }
    }

    fn records(more: &[u8]) -> Vec<StoredRecord<'_>> {
        RowRecords { first: None, last: 7, more: Some(more), end: u64::MAX }.collect()
    }

    #[test]
    fn what_a_row_took_in_comes_out_of_it() {
        let mut tail = RowTail::default();
        tail.begin(&record(b"first", None));
        let payloads: [(&[u8], Option<&str>); 4] =
            [(b"{}", None), (b"", Some("")), (b"\x00\xff", Some("user:ann")), (b"x", None)];
        for (payload, by) in payloads {
            assert!(tail.take(&record(payload, by)));
        }
        let found = records(&tail.more);
        assert_eq!(found.iter().map(|it| it.seq).collect::<Vec<_>>(), [8, 9, 10, 11]);
        for (it, (payload, by)) in found.iter().zip(payloads) {
            assert_eq!((it.payload, it.by), (Some(payload), by.map(str::as_bytes)));
            assert_eq!((it.parent, it.at_ms, it.kind, it.crc), (Some(7), Some(-5), Some(&b"user"[..]), Some(9)));
        }
    }

    #[test]
    fn a_row_stays_small() {
        let (mut tail, large) = (RowTail::default(), vec![b'x'; ROW_BYTES_MAX]);
        tail.begin(&record(&large, None));
        assert!(!tail.take(&record(b"", None)), "one that is large stays alone");
        tail.begin(&record(b"", None));
        assert!(!tail.take(&record(&large, None)));
        let taken = (0..100).filter(|_| tail.take(&record(b"", None))).count();
        assert_eq!(taken, ROW_RECORDS_MAX - 1);
    }

    #[test]
    fn a_broken_frame_is_one_record_without_columns_and_the_last() {
        let mut tail = RowTail::default();
        tail.begin(&record(b"first", None));
        (0..3).for_each(|_| assert!(tail.take(&record(b"payload", Some("user:ann")))));
        let one = tail.more.len() / 3;
        for cut in 0..tail.more.len() {
            let found = records(&tail.more[..cut]);
            assert_eq!(found.len(), cut.div_ceil(one), "cut at {cut}");
            assert_eq!(found.iter().filter(|it| it.kind.is_none()).count(), usize::from(cut % one > 0), "cut at {cut}");
        }
        for at in 0..tail.more.len() {
            let mut broken = tail.more.clone();
            broken[at] ^= 0x80;
            let found = records(&broken);
            let whole = found.iter().filter(|it| it.payload == Some(b"payload") && it.kind == Some(b"user")).count();
            let expected = if at % one < HEAD_BYTES { (at / one + 1, at / one) } else { (3, 3) };
            let is_in_text = at % one >= HEAD_BYTES && !(HEAD_BYTES + 4..HEAD_BYTES + 12).contains(&(at % one));
            assert_eq!((found.len(), whole + usize::from(is_in_text)), expected, "broken at {at}");
        }
    }
}
