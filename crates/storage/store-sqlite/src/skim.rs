//! Looking through a log from its end. One look is one short statement over a bounded piece of the log; records of other kinds
//! are passed without being read.

use std::ops::ControlFlow;

use rusqlite::Connection;
use store::records::skimmed_kinds;
use vocab::{SKIM_ENTRIES_MAX, SKIM_ROWS_MAX, SessionId, Skim, Skimmed};

use super::Attempt;
use super::log::{self, LogRow};
use super::rows;
use crate::faults;

/// Bytes of records that one look reads, about: one more may be longer.
const SKIM_BYTES_MAX: usize = 1 << 20;

pub(super) fn look(connection: &Connection, id: &SessionId, skim: Skim) -> Attempt<Skimmed> {
    let Some(found) = rows::find(connection, id)? else { return Err(faults::unknown_session(id).into()) };
    let behind = found.summary.last_seq.saturating_add(1);
    let end = skim.before.map_or(behind, |before| before.min(behind)).max(1);
    let start = end.saturating_sub(SKIM_ROWS_MAX).max(1);
    let kinds = skimmed_kinds(skim.what);
    let names = kinds.iter().map(|kind| format!("'{kind}'")).collect::<Vec<_>>().join(", ");
    let (limit, mut bytes) = (skim.limit.clamp(1, SKIM_ENTRIES_MAX), 0);
    let mut skimmed = Skimmed { entries: Vec::new(), older: (start > 1).then_some(start) };
    let mut reached = end;
    let is_wanted = |kind: &[u8]| kinds.iter().any(|wanted| wanted.as_bytes() == kind);
    log::each_record_back(connection, found.key, start..end, &format!("kind IN ({names})"), |record| {
        if !record.kind.is_some_and(is_wanted) {
            return Ok(ControlFlow::Continue(()));
        }
        if skimmed.entries.len() >= limit || bytes > SKIM_BYTES_MAX {
            skimmed.older = Some(reached);
            return Ok(ControlFlow::Break(()));
        }
        bytes += record.payload.map_or(0, <[u8]>::len);
        let read = log::read_record(&record)?;
        reached = read.seq();
        if let LogRow::Whole(entry) = read
            && skim.what.is_met_by(&entry.body)
        {
            skimmed.entries.push(entry);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(skimmed)
}
