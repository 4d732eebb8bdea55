//! Where the end of a log begins that a session goes on from, kept beside it: whoever takes a long session up reads some
//! hundred rows instead of all.
//!
//! It is written in the transaction of the compaction that it stands for, from what was kept for the one before, so that no
//! append reads a whole log but that of the first compaction. It is a cache: whatever about it is not as it should be
//! (missing, damaged, of a branch that was left) the whole log is read instead, and the next compaction writes it anew.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, params};
use vocab::{Body, BranchEntry, Entry, LogWindow, Page, WindowFold, WindowMark};

use super::Attempt;
use super::log::{self, LogRow};
use super::rows::{from_int, to_int};

/// Whether an entry moves the window.
pub(crate) fn is_moved_by(entry: &Entry) -> bool {
    matches!(entry.body, Body::Branch(BranchEntry::Compacted(_)))
}

/// Finds the window of a log anew. Within the transaction that changed it.
pub(crate) fn keep(connection: &Connection, key: i64) -> Attempt<()> {
    let (mut known, mut first) = (Vec::new(), 1);
    let mut fold = WindowFold::default();
    let mut is_found = false;
    if let Some(old) = find(connection, key)?
        && let Some(carried) = carried(connection, key, &old)?
    {
        carried.iter().for_each(|entry| fold.carry(entry));
        is_found = follow(connection, key, old.from, &mut fold)? && fold.follows(&old);
        (known, first) = (carried, old.from);
    }
    if !is_found {
        (known, first, fold) = (Vec::new(), 1, WindowFold::default());
        follow(connection, key, first, &mut fold)?;
    }
    let Some(mut carrying) = fold.begins() else { return forget(connection, key) };
    known.iter().for_each(|entry| carrying.take(entry));
    log::each(connection, key, first..carrying.from, |row| {
        if let LogRow::Whole(entry) = row {
            carrying.take(&entry);
        }
    })?;
    store(connection, key, &carrying.mark())
}

/// Whether the log begins where it should.
fn follow(connection: &Connection, key: i64, from: u64, fold: &mut WindowFold) -> Attempt<bool> {
    let mut first = None;
    log::each(connection, key, from..u64::MAX, |row| {
        first.get_or_insert(row.seq());
        match row {
            LogRow::Whole(entry) => fold.take(&entry),
            LogRow::Unread { seq, parent } => fold.pass(seq, parent),
        }
    })?;
    Ok(first == Some(from))
}

fn store(connection: &Connection, key: i64, mark: &WindowMark) -> Attempt<()> {
    let carried = mark.carried.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
    let (compacted, from, sum) = (to_int(mark.compacted), to_int(mark.from), checksum(mark, &carried));
    let sql = "INSERT OR REPLACE INTO windows VALUES (?1, ?2, ?3, ?4, ?5)";
    connection.prepare(sql)?.execute(params![key, compacted, from, carried, sum])?;
    Ok(())
}

pub(crate) fn forget(connection: &Connection, key: i64) -> Attempt<()> {
    connection.execute("DELETE FROM windows WHERE session = ?1", [key])?;
    Ok(())
}

fn checksum(mark: &WindowMark, carried: &str) -> i64 {
    i64::from(store::records::checksum(mark.compacted, mark.from, 0, b"window", carried.as_bytes(), None))
}

/// What is kept, if it is what was written.
fn find(connection: &Connection, key: i64) -> Attempt<Option<WindowMark>> {
    let sql = "SELECT compacted, start, carried, crc FROM windows WHERE session = ?1";
    let row = connection.prepare(sql)?.query_row([key], |row| {
        Ok((row.get::<_, i64>(0), row.get::<_, i64>(1), row.get::<_, String>(2), row.get::<_, i64>(3)))
    });
    let Some((Ok(compacted), Ok(from), Ok(text), Ok(sum))) = row.optional()? else { return Ok(None) };
    let carried = text.split_whitespace().map(|seq| seq.parse().ok()).collect::<Option<Vec<u64>>>();
    let mark = carried.map(|carried| WindowMark { compacted: from_int(compacted), from: from_int(from), carried });
    Ok(mark.filter(|mark| checksum(mark, &text) == sum))
}

/// The older entries that count; `None` when one of them cannot be read.
fn carried(connection: &Connection, key: i64, mark: &WindowMark) -> Attempt<Option<Vec<Arc<Entry>>>> {
    mark.carried.iter().map(|seq| log::one(connection, key, *seq)).collect()
}

/// The window up to an entry. `None`: the whole log has to be read.
pub(crate) fn read(connection: &Connection, key: i64, upto: u64) -> Attempt<Option<LogWindow>> {
    let Some(mark) = find(connection, key)?.filter(|mark| mark.compacted <= upto) else { return Ok(None) };
    let (mut entries, mut is_whole) = (Vec::new(), true);
    log::each(connection, key, mark.from..u64::MAX, |row| match row {
        LogRow::Whole(entry) => entries.push(entry),
        LogRow::Unread { .. } => is_whole = false,
    })?;
    entries.retain(|entry| entry.seq <= upto);
    let is_gapless = (mark.from..).zip(&entries).all(|(seq, entry)| entry.seq == seq);
    let reaches = entries.last().is_some_and(|last| last.seq == upto);
    if !is_whole || !is_gapless || !reaches || !mark.holds(&entries) {
        return Ok(None);
    }
    let carried = carried(connection, key, &mark)?;
    Ok(carried.map(|carried| LogWindow { carried, page: Page { entries, recovered: None } }))
}
