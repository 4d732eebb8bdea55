//! What is taken away from the end of a log: what is damaged, and what was never promised to anybody. Within transactions of
//! their callers; what is left is counted anew.

use std::ops::ControlFlow;

use rusqlite::types::Value;
use rusqlite::{Connection, params};
use vocab::{SessionId, Summary};

use super::{Judged, LogRow, all, each, each_record, each_record_back, judge};
use crate::Attempt;
use crate::audit::AuditStatements;
use crate::leases::now_ms;
use crate::packed::{COLUMNS, RowRecords};
use crate::rows::{self, SessionRow, to_int};
use store::audit::AuditRecord;
use store::summary;

/// Where the damaged end of a log begins, if it has one, or if the session's row does not know where it is. Costs one row
/// when all is well.
pub(crate) fn damaged_end(connection: &Connection, key: i64, last_seq: u64) -> Attempt<Option<u64>> {
    let (mut newest, mut whole) = (None, 0);
    each_record_back(connection, key, 0..u64::MAX, "TRUE", |record| {
        newest.get_or_insert(record.seq);
        Ok(match judge(&record, all, None)? {
            Judged::Damaged(_) => ControlFlow::Continue(()),
            it => {
                whole = it.seq();
                ControlFlow::Break(())
            }
        })
    })?;
    let clean = whole == last_seq && newest.unwrap_or(0) == last_seq;
    Ok((!clean).then_some(whole + 1))
}

/// Takes away all records behind `last`; within a transaction. `aside`: their bytes are kept under this name. How many
/// there were.
pub(crate) fn cut_behind(connection: &Connection, key: i64, last: u64, aside: Option<&SessionId>) -> Attempt<usize> {
    let mut cut = 0;
    each_record(connection, key, last.saturating_add(1)..u64::MAX, None, |_| {
        cut += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    if let Some(id) = aside {
        connection.execute(
            "INSERT INTO damaged (session_id, seq, parent, at_ms, kind, payload, crc, by, more)
             SELECT ?1, seq, parent, at_ms, kind, payload, crc, by, more FROM records WHERE session = ?2 AND seq > ?3",
            params![id.as_str(), key, to_int(last)],
        )?;
    }
    connection.execute("DELETE FROM records WHERE session = ?1 AND seq > ?2", params![key, to_int(last)])?;
    // Now that none of them bounds it.
    cut_within(connection, key, last, aside)?;
    Ok(cut)
}

/// The row that has the last record that stays may have others behind it.
fn cut_within(connection: &Connection, key: i64, last: u64, aside: Option<&SessionId>) -> Attempt<()> {
    let sql = format!(
        "SELECT {COLUMNS} FROM records WHERE session = ?1 AND more IS NOT NULL
         AND seq = (SELECT max(seq) FROM records WHERE session = ?1 AND seq <= ?2)"
    );
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query(params![key, to_int(last)])?;
    let Some(found) = rows.next()? else { return Ok(()) };
    let mut records = RowRecords::of(found)?;
    let (row, all) = (records.seq(), records.rest());
    while records.clone().next().is_some_and(|record| record.seq <= last) {
        records.next();
    }
    if records.clone().next().is_none() {
        return Ok(());
    }
    let (stays, goes) = all.split_at(all.len() - records.rest().len());
    // Where nothing of it stays it goes as it is, of whatever type that may be.
    let goes = if stays.is_empty() { found.get::<_, Value>(7)? } else { Value::Blob(goes.to_vec()) };
    if let Some(id) = aside {
        let sql = "INSERT INTO damaged (session_id, seq, more) VALUES (?1, ?2, ?3)";
        connection.execute(sql, params![id.as_str(), to_int(last.saturating_add(1)), goes])?;
    }
    let stays = (!stays.is_empty()).then_some(stays);
    connection
        .execute("UPDATE records SET more = ?3 WHERE session = ?1 AND seq = ?2", params![key, to_int(row), stays])?;
    Ok(())
}

/// Moves the damaged end of a log to the side and counts the session anew, where there is one. Within a transaction. Gives
/// the totals, and the notice.
pub(crate) fn cut(connection: &Connection, id: &SessionId, found: &SessionRow) -> Attempt<(Summary, Option<String>)> {
    let (key, summary) = (found.key, found.summary.clone());
    let Some(from) = damaged_end(connection, key, summary.last_seq)? else { return Ok((summary, None)) };
    let moved = cut_behind(connection, key, from - 1, Some(id))?;
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
        lane: vocab::LaneWish::default(),
        elevated_until_ms: None,
        model_called: None,
        ..old
    };
    each(connection, key, 0..last_seq.saturating_add(1), |row| {
        if let LogRow::Whole(entry) = row {
            summary::fold(&mut totals, &entry);
        }
    })?;
    totals.last_seq = last_seq;
    Ok(totals)
}

pub(crate) fn store_totals(connection: &Connection, key: i64, totals: &Summary) -> Attempt<()> {
    let places = rows::places(3, rows::SUMMARY_COLUMNS - 1);
    let sql = format!("UPDATE sessions SET ({}) = ({places}) WHERE key = ?1 AND id = ?2", rows::TOTALS);
    let values = std::iter::once(Value::Integer(key)).chain(rows::columns(totals));
    connection.execute(&sql, rusqlite::params_from_iter(values))?;
    count_open(connection, key)
}

/// Counts anew what is left to do, behind a change that is no append. By the kinds of records, also of those that are damaged.
pub(crate) fn count_open(connection: &Connection, key: i64) -> Attempt<()> {
    let (mut started, mut ended, mut items) = (0, 0, 0_i64);
    each_record(connection, key, 0..u64::MAX, None, |record| {
        match record.kind.unwrap_or_default() {
            b"turn_started" => started = record.seq,
            b"turn_ended" => ended = record.seq,
            b"ask_opened" | b"queued" => items += 1,
            b"ask_closed" | b"settled" => items -= 1,
            _ => {}
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let is_open = started > ended;
    let sql = "UPDATE sessions SET open_turn = ?2, open_items = ?3 WHERE key = ?1";
    connection.execute(sql, params![key, is_open, items])?;
    Ok(())
}
