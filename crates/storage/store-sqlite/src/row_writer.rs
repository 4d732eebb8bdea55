//! Makes rows of the records of an append ([`super::packed`]), and writes them.

use rusqlite::{Connection, Statement, params};
use vocab::{Entry, Principal};

use super::packed::{NewRecord, RowTail};
use super::rows::to_int;

/// A buffer larger than this is given back after the batch.
const BUFFER_BYTES_KEPT: usize = 64 * 1024;

pub(super) struct RowWriter<'c> {
    insert: Statement<'c>,
    /// The first record of the row that is being made, and what it is about.
    first: Option<FirstRecord>,
    payload: Vec<u8>,
    tail: RowTail,
}

struct FirstRecord {
    key: i64,
    seq: u64,
    parent: u64,
    at_ms: i64,
    kind: &'static str,
    crc: u32,
    by: Option<Principal>,
}

impl<'c> RowWriter<'c> {
    pub(super) fn prepare(connection: &'c Connection) -> rusqlite::Result<Self> {
        let insert = connection.prepare("INSERT INTO records VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?;
        Ok(Self { insert, first: None, payload: Vec::new(), tail: RowTail::default() })
    }

    /// An append begins. What a failed one has left is nobody's.
    pub(super) fn begin(&mut self) {
        self.first = None;
    }

    /// Its next entry. It is written with its neighbours, at the latest by [`Self::end`].
    pub(super) fn add(
        &mut self,
        key: i64,
        entry: &Entry,
        kind: &'static str,
        payload: &[u8],
        crc: u32,
    ) -> rusqlite::Result<()> {
        let by = entry.by.as_ref().map(Principal::as_str);
        let (seq, parent, at_ms) = (entry.seq, entry.parent, entry.at_ms);
        let record = NewRecord { parent, at_ms, kind, payload, crc, by };
        if self.first.is_some() && self.tail.take(&record) {
            return Ok(());
        }
        self.end()?;
        self.tail.begin(&record);
        self.payload.clear();
        self.payload.extend_from_slice(payload);
        self.first = Some(FirstRecord { key, seq, parent, at_ms, kind, crc, by: entry.by.clone() });
        Ok(())
    }

    /// Writes the row.
    pub(super) fn end(&mut self) -> rusqlite::Result<()> {
        let Some(FirstRecord { key, seq, parent, at_ms, kind, crc, by }) = self.first.take() else { return Ok(()) };
        let more = (!self.tail.more.is_empty()).then_some(self.tail.more.as_slice());
        let (seq, parent, by) = (to_int(seq), to_int(parent), by.as_ref().map(Principal::as_str));
        self.insert.execute(params![key, seq, parent, at_ms, kind, self.payload.as_slice(), crc, by, more])?;
        Ok(())
    }

    pub(super) fn shrink(&mut self) {
        self.payload.shrink_to(BUFFER_BYTES_KEPT);
        self.tail.more.shrink_to(BUFFER_BYTES_KEPT);
    }
}
