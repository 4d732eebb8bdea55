//! The audit's table: one line for each thing that somebody did, written with the entry that says it.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, Statement, params, params_from_iter};
use vocab::{AUDIT_LINES_MAX, AuditLine, AuditQuery, AuditVerdict, Deed};

use super::leases::now_ms;
use super::rows::{from_int, to_int};
use super::{Attempt, immediate, log};
use store::audit::{AuditRecord, ChainCheck, Digest, NO_LINE, StoredRow, chained};

/// The statements that write it.
pub(super) struct AuditStatements<'c> {
    newest: Statement<'c>,
    insert: Statement<'c>,
    /// The newest line of this transaction.
    written: Option<(i64, Digest)>,
}

impl<'c> AuditStatements<'c> {
    pub(super) fn prepare(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            newest: connection.prepare("SELECT number, digest FROM audit ORDER BY number DESC LIMIT 1")?,
            insert: connection.prepare("INSERT INTO audit VALUES (?1, ?2, ?3)")?,
            written: None,
        })
    }

    /// A transaction has begun: other processes may have written lines since the one before.
    pub(super) fn begin(&mut self) {
        self.written = None;
    }

    /// Within the transaction that does what the line says.
    pub(super) fn write(&mut self, record: &AuditRecord) -> rusqlite::Result<()> {
        // What somebody has made of a digest is for the check to name; nobody's work stops for it.
        let digest_of = |row: &Row<'_>| row.get::<_, Digest>(1).unwrap_or(NO_LINE);
        let newest = match self.written {
            Some(written) => Some(written),
            None => self.newest.query_row([], |row| Ok((row.get::<_, i64>(0)?, digest_of(row)))).optional()?,
        };
        let (number, before) = newest.unwrap_or((0, NO_LINE));
        let line = record.to_text();
        let digest = chained(&before, &line);
        self.insert.execute(params![number + 1, line, digest])?;
        self.written = Some((number + 1, digest));
        Ok(())
    }
}

/// One line alone.
pub(super) fn record(connection: &Connection, deed: &Deed) -> Attempt<()> {
    immediate(connection, || {
        AuditStatements::prepare(connection)?.write(&AuditRecord::deed(deed, now_ms()))?;
        Ok(())
    })
}

pub(super) fn list(connection: &Connection, query: &AuditQuery) -> Attempt<Vec<AuditLine>> {
    let mut wanted = vec!["number < ?"];
    let mut values = vec![Value::Integer(query.before.map_or(i64::MAX, to_int))];
    if let Some(session) = &query.session {
        wanted.push("json_extract(line, '$.session') = ?");
        values.push(Value::Text(session.to_string()));
    }
    if let Some(by) = &query.by {
        wanted.push("json_extract(line, '$.by') = ?");
        values.push(Value::Text(by.to_string()));
    }
    let limit = query.limit.unwrap_or(AUDIT_LINES_MAX).min(AUDIT_LINES_MAX);
    values.push(Value::Integer(to_int(limit as u64)));
    // A line that somebody has broken is for the check to name.
    let sql = format!(
        "SELECT number, line FROM audit WHERE json_valid(line) AND {} ORDER BY number DESC LIMIT ?",
        wanted.join(" AND ")
    );
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut lines = Vec::new();
    while let Some(row) = rows.next()? {
        let (number, line): (i64, String) = (row.get(0)?, row.get(1)?);
        if let Some(record) = AuditRecord::parse(&line) {
            lines.push(record.into_line(from_int(number)));
        }
    }
    Ok(lines)
}

/// Follows the chain in one state of the database, and looks at every entry that a line stands for, and for gaps in the logs
/// of their sessions.
/// Takes as much memory as there are lines of sessions that are not deleted.
pub(super) fn verify(connection: &Connection, head: Option<String>) -> Attempt<AuditVerdict> {
    let _one_state = connection.unchecked_transaction()?;
    let mut check = ChainCheck::new(head);
    let mut stood_for = StoodFor::default();
    let mut lines = connection.prepare("SELECT number, line, digest FROM audit ORDER BY number")?;
    let mut rows = lines.query([])?;
    while let Some(row) = rows.next()? {
        let number = from_int(row.get(0)?);
        let line = row.get_ref(1)?.as_str().unwrap_or_default();
        let digest = row.get_ref(2)?.as_blob().unwrap_or_default();
        match check.follow(number, line, digest) {
            Ok(record) => stood_for.take(number, record),
            Err(why) => return Ok(AuditVerdict::Broken { line: number, why }),
        }
    }
    Ok(stood_for.changed_entry(connection)?.unwrap_or_else(|| check.whole()))
}

/// The entries that lines stand for: number of the line and sum of the entry, by session and seq.
#[derive(Default)]
struct StoodFor(HashMap<Arc<str>, BTreeMap<u64, (u64, String)>>);

impl StoodFor {
    fn take(&mut self, number: u64, record: AuditRecord) {
        match (&*record.action, record.seq, record.sum) {
            ("delete", ..) => _ = self.0.remove(&record.session),
            ("cut", Some(seq), _) => {
                if let Some(entries) = self.0.get_mut(&record.session) {
                    entries.split_off(&(seq + 1));
                }
            }
            (_, Some(seq), Some(sum)) => _ = self.0.entry(record.session).or_default().insert(seq, (number, sum)),
            _ => {}
        }
    }

    fn changed_entry(&self, connection: &Connection) -> Attempt<Option<AuditVerdict>> {
        let mut find = connection.prepare("SELECT key FROM sessions WHERE id = ?1")?;
        for (session, entries) in &self.0 {
            let Some(key) = find.query_row([&**session], |row| row.get(0)).optional()? else { continue };
            for (seq, (line, kept)) in entries {
                if is_kept(connection, session, key, *seq, kept)? == Some(false) {
                    let why = format!("entry {seq}, which it stands for, is not what was written");
                    return Ok(Some(AuditVerdict::Broken { line: *line, why }));
                }
            }
            if let Some(missing) = missing_entry(connection, session)? {
                // The line that stands for it, or the first one behind it, or the last one before.
                let behind = entries.range(missing..).next().or(entries.iter().next_back());
                let line = behind.map_or(0, |(_, (line, _))| *line);
                let why = format!("entry {missing} of session {session} is missing from its log");
                return Ok(Some(AuditVerdict::Broken { line, why }));
            }
        }
        Ok(None)
    }
}

/// Whether an entry is as it was when a line got this sum; `None`: it is not there.
fn is_kept(connection: &Connection, session: &str, key: i64, seq: u64, kept: &str) -> Attempt<Option<bool>> {
    let text = |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
    let mut found = None;
    log::each_record(connection, key, seq..seq.saturating_add(1), None, |record| {
        let stored = StoredRow {
            session,
            seq,
            parent: from_int(record.parent.unwrap_or_default()),
            at_ms: record.at_ms.unwrap_or_default(),
            kind: &text(record.kind),
            by: &text(record.by),
            payload: record.payload.unwrap_or_default(),
        };
        found = Some(stored.is_of(kept));
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

/// A log has no gaps: all that it has passed is there. The first entry that is not.
fn missing_entry(connection: &Connection, session: &str) -> Attempt<Option<u64>> {
    let mut log = connection.prepare("SELECT key, last_seq FROM sessions WHERE id = ?1")?;
    let log = log.query_row([session], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)));
    let Some((key, last)) = log.optional()? else { return Ok(None) };
    let mut expected = 1;
    log::each_record(connection, key, 1..u64::MAX, None, |record| {
        if record.seq != expected {
            return Ok(ControlFlow::Break(()));
        }
        expected += 1;
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((expected <= from_int(last)).then_some(expected))
}
