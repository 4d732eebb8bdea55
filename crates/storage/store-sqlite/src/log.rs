//! Reading a log, and what to do with records that are not what was written.
//!
//! Every record carries a checksum over all its columns. What fails it is damage:
//!
//! * At the end of the log the damaged records are left out by a read, and cut off when the session is taken
//!   over: their bytes move to the table `damaged`, the totals are counted anew, and the next append follows the last
//!   whole record. Said once, in [`vocab::Acquired::recovered`].
//! * In the middle nothing is moved or deleted. The session opens: a [`Body::Note(NoteEntry::Recovered)`] entry that names the record
//!   and the reason stands in for it, what comes before and after is given as it is, and each page that has such a
//!   stand-in says so in [`vocab::Page::recovered`].
//!
//! A record whose checksum is right but whose kind or words are unknown was written by a later version. It is no
//! damage, is never cut, and reading it is a fault that names the kind.

mod cut;

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use rusqlite::{Connection, params};
use vocab::{Body, Entry, Fault, FaultKind, NoteEntry, Principal, SessionId};

use super::packed::{COLUMNS, ROW_RECORDS_MAX, RowRecords, StoredRecord};
use super::rows::{from_int, to_int};
use super::{Attempt, contents};
use store::records::{self, Unreadable};

pub(crate) use cut::{count_open, cut, cut_behind, damaged_end, store_totals};

/// Rows read in one go. A statement that is not over keeps the write-ahead log from being used anew, and whoever else
/// wants to read waiting, so a long log is read in many short ones; each takes a millisecond or two.
pub(crate) const SLICE_ROWS: usize = 512;

/// What a row turned out to be. Small: a log has many.
enum Judged {
    Whole(Arc<Entry>),
    /// As it was written, and of a kind that is not wanted.
    Passed {
        seq: u64,
        parent: u64,
    },
    /// Written by a later version.
    Foreign(u64, Box<Unreadable>),
    Damaged(Box<Damaged>),
}

/// One record, or several neighbours that are missing.
struct Damaged {
    first: u64,
    seq: u64,
    parent: u64,
    at_ms: i64,
    why: &'static str,
}

/// Entries in order, and where the damaged end of the log begins if this page reached it.
pub(crate) struct LogScan {
    pub(crate) entries: Vec<Arc<Entry>>,
    pub(crate) damaged_from: Option<u64>,
    /// The records that an entry in this page stands in for, in words.
    pub(crate) stand_ins: Vec<String>,
}

impl LogScan {
    pub(crate) fn is_whole(&self) -> bool {
        self.damaged_from.is_none() && self.stand_ins.is_empty()
    }
}

/// A log on its way into memory, slice by slice: between two of them its reader may turn to somebody else. How far it
/// goes is what its rows say: they have checksums, the session's own row has none.
pub(crate) struct LogCursor {
    pub(crate) key: i64,
    last_seq: u64,
    after: u64,
    limit: usize,
    judged: Vec<Judged>,
    is_end: bool,
    /// Whether a record of this kind is read.
    wants: fn(&[u8]) -> bool,
}

impl LogCursor {
    /// At most `limit` entries behind `after`. The memory this takes is the caller's choice of `limit`.
    pub(crate) fn new(key: i64, last_seq: u64, after: u64, limit: usize) -> Self {
        Self { key, last_seq, after, limit, judged: Vec::new(), is_end: false, wants: |_| true }
    }

    /// Reads only what is told again ([`vocab::conversation`]), and of the rest where it stands.
    pub(crate) fn retelling(self) -> Self {
        Self { wants: records::is_retold_kind, ..self }
    }

    /// Number and parent of every record.
    pub(crate) fn places(&self) -> Vec<(u64, u64)> {
        self.judged.iter().map(Judged::place).collect()
    }

    fn reached(&self) -> u64 {
        self.judged.last().map_or(self.after, Judged::seq)
    }

    /// Reads one slice; false when there was none left to read. What is missing between two rows is one record, however
    /// much it is.
    pub(crate) fn read_slice(&mut self, connection: &Connection) -> Attempt<bool> {
        if self.is_end || self.judged.len() >= self.limit {
            return Ok(false);
        }
        let wanted = SLICE_ROWS.min(self.limit - self.judged.len());
        let behind = self.reached().saturating_add(1);
        let key = self.key;
        let found = each_record(connection, key, behind..u64::MAX, Some(wanted), |record| {
            if self.judged.len() >= self.limit {
                return Ok(ControlFlow::Break(()));
            }
            let it = judge(&record, self.wants, Some((connection, key)))?;
            let next = self.reached() + 1;
            if it.seq() > next {
                self.judged.push(Judged::Damaged(Box::new(Damaged::missing(next, it.seq() - 1))));
            }
            if self.judged.len() == self.limit {
                return Ok(ControlFlow::Break(()));
            }
            self.judged.push(it);
            Ok(ControlFlow::Continue(()))
        })?;
        let Some(found) = found else { return Ok(false) };
        self.is_end = found < wanted;
        Ok(!self.is_end && self.judged.len() < self.limit)
    }

    /// When all slices are read.
    pub(crate) fn finish(self, connection: &Connection, id: &SessionId) -> Attempt<LogScan> {
        let reached = self.reached();
        let Self { key, last_seq, judged, is_end, .. } = self;
        let whole = judged.iter().rposition(|it| !matches!(it, Judged::Damaged(_))).map_or(0, |at| at + 1);
        let mut scan = LogScan { entries: Vec::with_capacity(judged.len()), damaged_from: None, stand_ins: Vec::new() };
        if whole < judged.len() && (is_end || first_whole(connection, key, reached)?.is_none()) {
            scan.damaged_from = judged.get(whole).map(Judged::first);
        } else if is_end && reached < last_seq {
            scan.damaged_from = Some(reached + 1);
        }
        for it in judged {
            if scan.damaged_from == Some(it.first()) {
                break;
            }
            match it {
                Judged::Whole(entry) => scan.entries.push(entry),
                Judged::Passed { .. } => {}
                Judged::Foreign(seq, why) => return Err(foreign(id, seq, &why).into()),
                Judged::Damaged(damaged) => {
                    scan.stand_ins.push(damaged.numbers());
                    scan.entries.push(Arc::new(damaged.stand_in()));
                }
            }
        }
        Ok(scan)
    }
}

impl Judged {
    fn place(&self) -> (u64, u64) {
        match self {
            Judged::Whole(entry) => (entry.seq, entry.parent),
            Judged::Passed { seq, parent } => (*seq, *parent),
            Judged::Foreign(seq, _) => (*seq, seq.saturating_sub(1)),
            Judged::Damaged(damaged) => (damaged.seq, damaged.parent),
        }
    }

    fn seq(&self) -> u64 {
        self.place().0
    }

    fn first(&self) -> u64 {
        match self {
            Judged::Damaged(damaged) => damaged.first,
            Judged::Whole(_) | Judged::Passed { .. } | Judged::Foreign(..) => self.seq(),
        }
    }
}

impl Damaged {
    fn missing(first: u64, last: u64) -> Self {
        Self { first, seq: last, parent: first - 1, at_ms: 0, why: "it is missing" }
    }

    fn numbers(&self) -> String {
        if self.first == self.seq { self.seq.to_string() } else { format!("{} to {}", self.first, self.seq) }
    }

    /// Keeps its place in the tree, so that what hangs on it still has a way to the root.
    fn stand_in(self) -> Entry {
        let parent = if self.parent < self.first { self.parent } else { self.first - 1 };
        let text = if self.first == self.seq {
            format!("record {} of this session is damaged ({}); nothing of it was changed", self.seq, self.why)
        } else {
            format!("records {} of this session are missing", self.numbers())
        };
        Entry {
            seq: self.seq,
            parent,
            at_ms: self.at_ms,
            body: Body::Note(NoteEntry::Recovered { text: text.into() }),
            by: None,
        }
    }
}

/// `with`: where contents of files are found, for those who want them.
fn judge(
    record: &StoredRecord<'_>,
    wants: impl Fn(&[u8]) -> bool,
    with: Option<(&Connection, i64)>,
) -> Attempt<Judged> {
    let StoredRecord { seq, by, .. } = *record;
    let parent = record.parent();
    let at_ms = record.at_ms.unwrap_or(0);
    let damaged = |why| Ok(Judged::Damaged(Box::new(Damaged { first: seq, seq, parent, at_ms, why })));
    let (Some(kind), Some(payload), Some(is_as_written)) = (record.kind, record.payload, record.is_as_written()) else {
        return damaged("a column has the wrong type");
    };
    if !is_as_written {
        return damaged("its checksum is wrong");
    }
    if !wants(kind) {
        return Ok(Judged::Passed { seq, parent });
    }
    let Ok(kind) = std::str::from_utf8(kind) else {
        return damaged("its kind is no text");
    };
    let mut trouble = None;
    let body = match with {
        Some((connection, key)) => records::from_record_with(kind, payload, |name| {
            contents::find(connection, key, name).unwrap_or_else(|error| {
                trouble = Some(error);
                None
            })
        }),
        None => records::from_record(kind, payload),
    };
    if let Some(error) = trouble {
        return Err(error.into());
    }
    Ok(match body {
        Ok(body) => {
            let by = by.map(|by| Principal::logged(&String::from_utf8_lossy(by)));
            Judged::Whole(Arc::new(Entry { seq, parent, at_ms, body, by }))
        }
        Err(why) => Judged::Foreign(seq, Box::new(why)),
    })
}

fn all(_kind: &[u8]) -> bool {
    true
}

/// A record for somebody who passes over what cannot be read.
pub(crate) enum LogRow {
    Whole(Arc<Entry>),
    Unread { seq: u64, parent: u64 },
}

impl LogRow {
    pub(crate) fn seq(&self) -> u64 {
        match self {
            LogRow::Whole(entry) => entry.seq,
            LogRow::Unread { seq, .. } => *seq,
        }
    }
}

impl From<Judged> for LogRow {
    fn from(judged: Judged) -> Self {
        match judged {
            Judged::Whole(entry) => LogRow::Whole(entry),
            unread => {
                let (seq, parent) = unread.place();
                LogRow::Unread { seq, parent }
            }
        }
    }
}

/// A record that nobody needs the contents of files for.
pub(crate) fn read_record(record: &StoredRecord<'_>) -> Attempt<LogRow> {
    Ok(judge(record, all, None)?.into())
}

/// Where to begin with the rows, so that none is passed over that has this entry: one that begins with it or has it within. Two
/// of them, since a row may have a number that is another one's.
fn first_row(connection: &Connection, key: i64, seq: u64) -> Attempt<u64> {
    let sql = "SELECT min(seq) FROM (SELECT seq FROM records
         WHERE session = ?1 AND seq <= ?2 AND seq > ?2 - ?3 AND typeof(seq) = 'integer' AND (seq = ?2 OR more IS NOT NULL)
         ORDER BY seq DESC LIMIT 2)";
    let places = params![key, to_int(seq), to_int(ROW_RECORDS_MAX as u64)];
    let row = connection.prepare(sql)?.query_row(places, |row| row.get::<_, Option<i64>>(0))?;
    Ok(row.map_or(seq, from_int))
}

/// Every record between these, of those rows that begin before them and `rows_max` more: fewer only where there are no more. How
/// many; `None` when it was broken off.
pub(crate) fn each_record(
    connection: &Connection,
    key: i64,
    seqs: Range<u64>,
    rows_max: Option<usize>,
    mut each: impl FnMut(StoredRecord<'_>) -> Attempt<ControlFlow<()>>,
) -> Attempt<Option<usize>> {
    let from = first_row(connection, key, seqs.start)?;
    let sql = format!("SELECT {COLUMNS} FROM records WHERE session = ?1 AND seq >= ?2 AND seq < ?3 ORDER BY seq");
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query(params![key, to_int(from), to_int(seqs.end)])?;
    let (mut found, mut next) = (0, seqs.start);
    while rows_max.is_none_or(|max| found < max)
        && let Some(row) = rows.next()?
    {
        let records = RowRecords::of(row)?;
        found += usize::from(records.seq() >= seqs.start);
        for record in records {
            // The row begins before them, or another one had its records already.
            if record.seq < next || record.seq >= seqs.end {
                continue;
            }
            next = record.seq.saturating_add(1);
            if each(record)?.is_break() {
                return Ok(None);
            }
        }
    }
    // Whoever goes on behind the last one has to come further each time.
    Ok(Some(if next > seqs.start { found } else { 0 }))
}

/// Every record before `end` from the last one on, as far back as the row of `start`; of rows of one record only those that
/// `condition` lets through.
pub(crate) fn each_record_back(
    connection: &Connection,
    key: i64,
    seqs: Range<u64>,
    condition: &str,
    mut each: impl FnMut(StoredRecord<'_>) -> Attempt<ControlFlow<()>>,
) -> Attempt<()> {
    let from = first_row(connection, key, seqs.start)?;
    let sql = format!(
        "SELECT {COLUMNS} FROM records WHERE session = ?1 AND seq >= ?2 AND seq < ?3 AND (more IS NOT NULL OR {condition})
         ORDER BY seq DESC"
    );
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query(params![key, to_int(from), to_int(seqs.end)])?;
    while let Some(row) = rows.next()? {
        let records: Vec<_> = RowRecords::of(row)?.filter(|record| seqs.contains(&record.seq)).collect();
        for record in records.into_iter().rev() {
            if each(record)?.is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Every record between these.
pub(crate) fn each(connection: &Connection, key: i64, seqs: Range<u64>, mut each: impl FnMut(LogRow)) -> Attempt<()> {
    each_record(connection, key, seqs, None, |record| {
        each(read_record(&record)?);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(())
}

/// One record, if it is there and whole.
pub(crate) fn one(connection: &Connection, key: i64, seq: u64) -> Attempt<Option<Arc<Entry>>> {
    let mut found = None;
    each(connection, key, seq..seq.saturating_add(1), |row| {
        if let LogRow::Whole(entry) = row {
            found = Some(entry);
        }
    })?;
    Ok(found)
}

fn foreign(id: &SessionId, seq: u64, why: &Unreadable) -> Fault {
    Fault::new(FaultKind::Unsupported, format!("entry {seq} of session {id} {why}"))
        .hint("it was written by a newer version: update tillerman")
}

/// The first record behind `after` that is not damaged.
fn first_whole(connection: &Connection, key: i64, after: u64) -> Attempt<Option<u64>> {
    let mut found = None;
    each_record(connection, key, after.saturating_add(1)..u64::MAX, None, |record| {
        Ok(match judge(&record, all, None)? {
            Judged::Damaged(_) => ControlFlow::Continue(()),
            whole => {
                found = Some(whole.seq());
                ControlFlow::Break(())
            }
        })
    })?;
    Ok(found)
}
