//! Reading a log, and what to do with records that are not what was written.
//!
//! Every record carries a checksum over all its columns. What fails it is damage:
//!
//! * At the end of the log the damaged records are left out by whoever reads, and cut off by whoever takes the session
//!   over: their bytes move to the table `damaged`, the totals are counted anew, and the next append follows the last
//!   whole record. Said once, in [`vocab::Acquired::recovered`].
//! * In the middle nothing is moved or deleted. The session opens: a [`Body::Recovered`] entry that names the record
//!   and the reason stands in for it, what comes before and after is given as it is, and each page that has such a
//!   stand-in says so in [`vocab::Page::recovered`].
//!
//! A record whose checksum is right but whose kind or words are unknown was written by a later version. It is no
//! damage, is never cut, and reading it is a fault that names the kind.

use std::sync::Arc;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row, params};
use vocab::{Body, Entry, Fault, FaultKind, SessionId, Summary};

use super::rows::{self, from_int, to_int};
use super::{Attempt, immediate};
use crate::records::{self, Unreadable};
use crate::summary;

const COLUMNS: &str = "seq, parent, at_ms, kind, payload, crc";

/// What a row turned out to be.
enum Judged {
    Whole(Entry),
    /// Written by a later version.
    Foreign(u64, Unreadable),
    Damaged(Damaged),
}

struct Damaged {
    seq: u64,
    parent: u64,
    at_ms: i64,
    why: &'static str,
}

/// Entries in order, and where the damaged end of the log begins if this page reached it.
pub(crate) struct Scan {
    pub(crate) entries: Vec<Arc<Entry>>,
    pub(crate) damaged_from: Option<u64>,
    /// Numbers of the records that an entry in this page stands in for.
    pub(crate) stand_ins: Vec<u64>,
}

/// At most `limit` entries behind `after`. The memory this takes is the caller's choice of `limit`.
pub(crate) fn scan(
    connection: &Connection,
    id: &SessionId,
    key: i64,
    last_seq: u64,
    after: u64,
    limit: usize,
) -> Attempt<Scan> {
    let judged = judge_rows(connection, key, last_seq, after, limit)?;
    let whole = judged.iter().rposition(|it| !matches!(it, Judged::Damaged(_))).map_or(0, |at| at + 1);
    let reached = judged.last().map_or(after, Judged::seq);
    let mut scan = Scan { entries: Vec::with_capacity(judged.len()), damaged_from: None, stand_ins: Vec::new() };
    if whole < judged.len() && first_whole(connection, key, last_seq, reached)?.is_none() {
        scan.damaged_from = judged.get(whole).map(Judged::seq);
    }
    for it in judged {
        if scan.damaged_from == Some(it.seq()) {
            break;
        }
        match it {
            Judged::Whole(entry) => scan.entries.push(Arc::new(entry)),
            Judged::Foreign(seq, why) => return Err(foreign(id, seq, &why).into()),
            Judged::Damaged(damaged) => {
                scan.stand_ins.push(damaged.seq);
                scan.entries.push(Arc::new(damaged.stand_in()));
            }
        }
    }
    Ok(scan)
}

impl Judged {
    fn seq(&self) -> u64 {
        match self {
            Judged::Whole(entry) => entry.seq,
            Judged::Foreign(seq, _) => *seq,
            Judged::Damaged(damaged) => damaged.seq,
        }
    }
}

impl Damaged {
    /// Keeps its place in the tree, so that what hangs on it still has a way to the root.
    fn stand_in(self) -> Entry {
        let parent = if self.parent < self.seq { self.parent } else { self.seq - 1 };
        let text = format!("record {} of this session is damaged ({}); nothing of it was changed", self.seq, self.why);
        Entry { seq: self.seq, parent, at_ms: self.at_ms, body: Body::Recovered { text: text.into() } }
    }
}

fn judge_rows(connection: &Connection, key: i64, last_seq: u64, after: u64, limit: usize) -> Attempt<Vec<Judged>> {
    let sql = format!("SELECT {COLUMNS} FROM entries WHERE session = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3");
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query(params![key, to_int(after), to_int(limit as u64)])?;
    let mut judged: Vec<Judged> = Vec::new();
    let missing = |judged: &mut Vec<Judged>, upto: u64| {
        let mut next = judged.last().map_or(after, Judged::seq).saturating_add(1);
        while next <= upto && judged.len() < limit {
            judged.push(Judged::Damaged(Damaged { seq: next, parent: next - 1, at_ms: 0, why: "it is missing" }));
            next += 1;
        }
    };
    while let Some(row) = rows.next()? {
        let it = judge(row, last_seq)?;
        missing(&mut judged, it.seq().min(last_seq + 1) - 1);
        if judged.len() == limit {
            return Ok(judged);
        }
        judged.push(it);
    }
    missing(&mut judged, last_seq);
    Ok(judged)
}

fn judge(row: &Row<'_>, last_seq: u64) -> Attempt<Judged> {
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
    let damaged = |why| Ok(Judged::Damaged(Damaged { seq, parent, at_ms, why }));
    if seq > last_seq {
        return damaged("it lies behind the end of the log");
    }
    let (Some(kind), Some(payload), Some(crc)) = (bytes(3)?, bytes(4)?, number(5)?) else {
        return damaged("a column has the wrong type");
    };
    if i64::from(records::checksum(seq, parent, at_ms, kind, payload)) != crc {
        return damaged("its checksum is wrong");
    }
    let Ok(kind) = std::str::from_utf8(kind) else {
        return damaged("its kind is no text");
    };
    Ok(match records::from_record(kind, payload) {
        Ok(body) => Judged::Whole(Entry { seq, parent, at_ms, body }),
        Err(why) => Judged::Foreign(seq, why),
    })
}

fn foreign(id: &SessionId, seq: u64, why: &Unreadable) -> Fault {
    Fault::new(FaultKind::Unsupported, format!("entry {seq} of session {id} {why}"))
        .hint("it was written by a newer version: update tillerman")
}

/// The first record behind `after` that is not damaged.
fn first_whole(connection: &Connection, key: i64, last_seq: u64, after: u64) -> Attempt<Option<u64>> {
    let sql = format!("SELECT {COLUMNS} FROM entries WHERE session = ?1 AND seq > ?2 AND seq <= ?3 ORDER BY seq");
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query(params![key, to_int(after), to_int(last_seq)])?;
    while let Some(row) = rows.next()? {
        match judge(row, last_seq)? {
            Judged::Damaged(_) => {}
            whole => return Ok(Some(whole.seq())),
        }
    }
    Ok(None)
}

/// The last record that is not damaged; 0 when there is none.
fn last_whole(connection: &Connection, key: i64, last_seq: u64) -> Attempt<u64> {
    let sql = format!("SELECT {COLUMNS} FROM entries WHERE session = ?1 AND seq <= ?2 ORDER BY seq DESC");
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query(params![key, to_int(last_seq)])?;
    while let Some(row) = rows.next()? {
        match judge(row, last_seq)? {
            Judged::Damaged(_) => {}
            whole => return Ok(whole.seq()),
        }
    }
    Ok(0)
}

/// Where the damaged end of a log begins, if it has one. Costs one row when all is well.
pub(crate) fn damaged_end(connection: &Connection, key: i64, last_seq: u64) -> Attempt<Option<u64>> {
    let newest: Option<i64> = connection
        .prepare("SELECT seq FROM entries WHERE session = ?1 ORDER BY seq DESC LIMIT 1")?
        .query_row([key], |row| row.get(0))
        .optional()?;
    let whole = last_whole(connection, key, last_seq)?;
    let clean = whole == last_seq && newest.map_or(0, from_int) == last_seq;
    Ok((!clean).then_some(whole + 1))
}

/// Moves the damaged end of a log to the side and counts the session anew. Gives the notice.
pub(crate) fn cut(connection: &Connection, id: &SessionId) -> Attempt<Option<String>> {
    immediate(connection, || {
        let Some(found) = rows::find(connection, id)? else { return Ok(None) };
        // Looked at again inside the transaction: another process may have cut it meanwhile.
        let Some(from) = damaged_end(connection, found.key, found.summary.last_seq)? else { return Ok(None) };
        let moved = connection.execute(
            "INSERT INTO damaged (session_id, seq, parent, at_ms, kind, payload, crc)
             SELECT ?1, seq, parent, at_ms, kind, payload, crc FROM entries WHERE session = ?2 AND seq >= ?3",
            params![id.as_str(), found.key, to_int(from)],
        )?;
        connection.execute("DELETE FROM entries WHERE session = ?1 AND seq >= ?2", params![found.key, to_int(from)])?;
        let totals = recount(connection, found.key, found.summary, from - 1)?;
        store_totals(connection, found.key, &totals)?;
        let notice = format!(
            "the end of session {id} was damaged: the log was cut back to entry {}; {moved} damaged records are kept \
             in the table `damaged`",
            from - 1
        );
        Ok(Some(notice))
    })
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
        ..old
    };
    let sql = format!("SELECT {COLUMNS} FROM entries WHERE session = ?1 AND seq <= ?2 ORDER BY seq");
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query(params![key, to_int(last_seq)])?;
    while let Some(row) = rows.next()? {
        if let Judged::Whole(entry) = judge(row, last_seq)? {
            summary::fold(&mut totals, &entry);
        }
    }
    totals.last_seq = last_seq;
    Ok(totals)
}

fn store_totals(connection: &Connection, key: i64, totals: &Summary) -> Attempt<()> {
    let places = rows::places(3, rows::SUMMARY_COLUMNS - 1);
    let sql = format!("UPDATE sessions SET ({}) = ({places}) WHERE key = ?1 AND id = ?2", rows::TOTALS);
    let values = std::iter::once(rusqlite::types::Value::Integer(key)).chain(rows::columns(totals));
    connection.execute(&sql, rusqlite::params_from_iter(values))?;
    Ok(())
}
