//! Looking through a log from its end. One look is one short statement over a bounded piece of the log; records of other kinds
//! are passed without being read.

use rusqlite::{Connection, params};
use store::records::skimmed_kinds;
use vocab::{SKIM_ENTRIES_MAX, SKIM_ROWS_MAX, SessionId, Skim, Skimmed};

use super::Attempt;
use super::log::{self, LogRow};
use super::rows::{self, to_int};
use crate::faults;

/// Bytes of records that one look reads, about: one more may be longer.
const SKIM_BYTES_MAX: u64 = 1 << 20;

pub(super) fn look(connection: &Connection, id: &SessionId, skim: Skim) -> Attempt<Skimmed> {
    let Some(found) = rows::find(connection, id)? else { return Err(faults::unknown_session(id).into()) };
    let behind = found.summary.last_seq.saturating_add(1);
    let end = skim.before.map_or(behind, |before| before.min(behind)).max(1);
    let start = end.saturating_sub(SKIM_ROWS_MAX).max(1);
    let kinds = skimmed_kinds(skim.what).iter().map(|kind| format!("'{kind}'")).collect::<Vec<_>>().join(", ");
    let sql = format!(
        "SELECT {}, length(payload) FROM entries WHERE session = ?1 AND seq >= ?2 AND seq < ?3 AND kind IN ({kinds})
         ORDER BY seq DESC",
        log::COLUMNS
    );
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query(params![found.key, to_int(start), to_int(end)])?;
    let (limit, mut bytes) = (skim.limit.clamp(1, SKIM_ENTRIES_MAX), 0);
    let mut skimmed = Skimmed { entries: Vec::new(), older: (start > 1).then_some(start) };
    let mut reached = end;
    while let Some(row) = rows.next()? {
        if skimmed.entries.len() >= limit || bytes > SKIM_BYTES_MAX {
            skimmed.older = Some(reached);
            break;
        }
        let length = row.get::<_, i64>(log::COLUMNS_COUNT).map_or(0, rows::from_int);
        bytes = bytes.saturating_add(length);
        let read = log::read_row(row)?;
        reached = read.seq();
        if let LogRow::Whole(entry) = read
            && skim.what.is_met_by(&entry.body)
        {
            skimmed.entries.push(entry);
        }
    }
    Ok(skimmed)
}
