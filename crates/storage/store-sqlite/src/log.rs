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

use std::ops::Range;
use std::sync::Arc;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};
use vocab::{Body, Entry, Fault, FaultKind, NoteEntry, Principal, SessionId, Summary};

use super::audit::AuditStatements;
use super::leases::now_ms;
use super::rows::{self, SessionRow, from_int, to_int};
use super::{Attempt, contents};
use store::audit::AuditRecord;
use store::records::{self, Unreadable};
use store::summary;

pub(crate) const COLUMNS: &str = "seq, parent, at_ms, kind, payload, crc, by";
pub(crate) const COLUMNS_COUNT: usize = 7;

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
        let sql = format!("SELECT {COLUMNS} FROM entries WHERE session = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3");
        let mut statement = connection.prepare(&sql)?;
        let wanted = SLICE_ROWS.min(self.limit - self.judged.len());
        let mut rows = statement.query(params![self.key, to_int(self.reached()), to_int(wanted as u64)])?;
        let mut found = 0;
        while let Some(row) = rows.next()? {
            found += 1;
            let it = judge(row, self.wants, Some((connection, self.key)))?;
            let next = self.reached() + 1;
            if it.seq() > next {
                self.judged.push(Judged::Damaged(Box::new(Damaged::missing(next, it.seq() - 1))));
            }
            if self.judged.len() == self.limit {
                return Ok(false);
            }
            self.judged.push(it);
        }
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
fn judge(row: &Row<'_>, wants: impl Fn(&[u8]) -> bool, with: Option<(&Connection, i64)>) -> Attempt<Judged> {
    let seq = from_int(row.get(0)?);
    // A damaged column may hold a value of any type; only the right types can have the right checksum.
    let number = |at| -> rusqlite::Result<Option<i64>> {
        Ok(match row.get_ref(at)? {
            ValueRef::Integer(number) => Some(number),
            _ => None,
        })
    };
    let bytes = |at| -> rusqlite::Result<Option<&[u8]>> {
        Ok(match row.get_ref(at)? {
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes),
            _ => None,
        })
    };
    let parent = number(1)?.map_or(seq.saturating_sub(1), from_int);
    let at_ms = number(2)?.unwrap_or(0);
    let damaged = |why| Ok(Judged::Damaged(Box::new(Damaged { first: seq, seq, parent, at_ms, why })));
    let (Some(kind), Some(payload), Some(crc)) = (bytes(3)?, bytes(4)?, number(5)?) else {
        return damaged("a column has the wrong type");
    };
    let by = bytes(6)?;
    if i64::from(records::checksum(seq, parent, at_ms, kind, payload, by)) != crc {
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

/// One record of [`COLUMNS`].
pub(crate) fn read_row(row: &Row<'_>) -> Attempt<LogRow> {
    Ok(judge(row, all, None)?.into())
}

/// Every record between these.
pub(crate) fn each(connection: &Connection, key: i64, seqs: Range<u64>, mut each: impl FnMut(LogRow)) -> Attempt<()> {
    let sql = format!("SELECT {COLUMNS} FROM entries WHERE session = ?1 AND seq >= ?2 AND seq < ?3 ORDER BY seq");
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query(params![key, to_int(seqs.start), to_int(seqs.end)])?;
    while let Some(row) = rows.next()? {
        each(read_row(row)?);
    }
    Ok(())
}

/// One record, if it is there and whole.
pub(crate) fn one(connection: &Connection, key: i64, seq: u64) -> Attempt<Option<Arc<Entry>>> {
    let sql = format!("SELECT {COLUMNS} FROM entries WHERE session = ?1 AND seq = ?2");
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query(params![key, to_int(seq)])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    Ok(match judge(row, all, None)? {
        Judged::Whole(entry) => Some(entry),
        Judged::Passed { .. } | Judged::Foreign(..) | Judged::Damaged(_) => None,
    })
}

fn foreign(id: &SessionId, seq: u64, why: &Unreadable) -> Fault {
    Fault::new(FaultKind::Unsupported, format!("entry {seq} of session {id} {why}"))
        .hint("it was written by a newer version: update tillerman")
}

/// The first record behind `after` that is not damaged.
fn first_whole(connection: &Connection, key: i64, after: u64) -> Attempt<Option<u64>> {
    let sql = format!("SELECT {COLUMNS} FROM entries WHERE session = ?1 AND seq > ?2 ORDER BY seq");
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query(params![key, to_int(after)])?;
    while let Some(row) = rows.next()? {
        match judge(row, all, None)? {
            Judged::Damaged(_) => {}
            whole => return Ok(Some(whole.seq())),
        }
    }
    Ok(None)
}

/// The last record that is not damaged; 0 when there is none.
fn last_whole(connection: &Connection, key: i64) -> Attempt<u64> {
    let sql = format!("SELECT {COLUMNS} FROM entries WHERE session = ?1 ORDER BY seq DESC");
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query(params![key])?;
    while let Some(row) = rows.next()? {
        match judge(row, all, None)? {
            Judged::Damaged(_) => {}
            whole => return Ok(whole.seq()),
        }
    }
    Ok(0)
}

/// Where the damaged end of a log begins, if it has one, or if the session's row does not know where it is. Costs one row
/// when all is well.
pub(crate) fn damaged_end(connection: &Connection, key: i64, last_seq: u64) -> Attempt<Option<u64>> {
    let newest: Option<i64> = connection
        .prepare("SELECT seq FROM entries WHERE session = ?1 ORDER BY seq DESC LIMIT 1")?
        .query_row([key], |row| row.get(0))
        .optional()?;
    let whole = last_whole(connection, key)?;
    let clean = whole == last_seq && newest.map_or(0, from_int) == last_seq;
    Ok((!clean).then_some(whole + 1))
}

/// Moves the damaged end of a log to the side and counts the session anew, where there is one. Within a transaction. Gives
/// the totals, and the notice.
pub(crate) fn cut(connection: &Connection, id: &SessionId, found: &SessionRow) -> Attempt<(Summary, Option<String>)> {
    let (key, summary) = (found.key, found.summary.clone());
    let Some(from) = damaged_end(connection, key, summary.last_seq)? else { return Ok((summary, None)) };
    let moved = connection.execute(
        "INSERT INTO damaged (session_id, seq, parent, at_ms, kind, payload, crc, by)
         SELECT ?1, seq, parent, at_ms, kind, payload, crc, by FROM entries WHERE session = ?2 AND seq >= ?3",
        params![id.as_str(), key, to_int(from)],
    )?;
    connection.execute("DELETE FROM entries WHERE session = ?1 AND seq >= ?2", params![key, to_int(from)])?;
    let (whole, was) = (from - 1, summary.last_seq);
    AuditStatements::prepare(connection)?.write(&AuditRecord::cut(id, whole, now_ms()))?;
    let totals = recount(connection, key, summary, whole)?;
    store_totals(connection, key, &totals)?;
    let notice = if moved == 0 && was < whole {
        format!("the totals of session {id} were wrong and were counted anew: its log ends at entry {whole}")
    } else {
        format!(
            "the end of session {id} was damaged: the log was cut back to entry {whole}; {moved} damaged records \
             are kept in the table `damaged`"
        )
    };
    Ok((totals, Some(notice)))
}

/// Folds what is left of a log. Damaged records in the middle count for nothing, but keep their number.
fn recount(connection: &Connection, key: i64, old: Summary, last_seq: u64) -> Attempt<Summary> {
    let mut totals = Summary {
        title: None,
        preview: None,
        updated_ms: old.created_ms,
        messages: 0,
        turns: 0,
        usage: Default::default(),
        last_message_ms: None,
        lane: None,
        elevated_until_ms: None,
        model_called: None,
        ..old
    };
    let sql = format!("SELECT {COLUMNS} FROM entries WHERE session = ?1 AND seq <= ?2 ORDER BY seq");
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query(params![key, to_int(last_seq)])?;
    while let Some(row) = rows.next()? {
        if let Judged::Whole(entry) = judge(row, all, None)? {
            summary::fold(&mut totals, &entry);
        }
    }
    totals.last_seq = last_seq;
    Ok(totals)
}

pub(crate) fn store_totals(connection: &Connection, key: i64, totals: &Summary) -> Attempt<()> {
    let places = rows::places(3, rows::SUMMARY_COLUMNS - 1);
    let sql = format!("UPDATE sessions SET ({}) = ({places}) WHERE key = ?1 AND id = ?2", rows::TOTALS);
    let values = std::iter::once(rusqlite::types::Value::Integer(key)).chain(rows::columns(totals));
    connection.execute(&sql, rusqlite::params_from_iter(values))?;
    count_open(connection, key)
}

/// Counts anew what is left to do, behind a change that is no append.
pub(crate) fn count_open(connection: &Connection, key: i64) -> Attempt<()> {
    connection.execute(
        "UPDATE sessions SET
            open_turn = coalesce((SELECT max(seq) FROM entries WHERE session = key AND kind = 'turn_started'), 0)
                > coalesce((SELECT max(seq) FROM entries WHERE session = key AND kind = 'turn_ended'), 0),
            open_items = (SELECT count(*) FROM entries WHERE session = key AND kind IN ('ask_opened', 'queued'))
                - (SELECT count(*) FROM entries WHERE session = key AND kind IN ('ask_closed', 'settled'))
         WHERE key = ?1",
        [key],
    )?;
    Ok(())
}
