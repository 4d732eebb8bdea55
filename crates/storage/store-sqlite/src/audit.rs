//! The audit's table: one line for each thing that somebody did, written with the entry that says it.

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Statement, params, params_from_iter};
use vocab::{AuditLine, AuditQuery, AuditVerdict};

use super::Attempt;
use super::rows::{from_int, to_int};
use store::audit::{AuditRecord, ChainCheck, Digest, NO_LINE, chained, sum};

/// Lines given at once, unless fewer are asked for.
const LINES_MAX: usize = 10_000;

/// The statements that write it.
pub(super) struct AuditStatements<'c> {
    newest: Statement<'c>,
    insert: Statement<'c>,
}

impl<'c> AuditStatements<'c> {
    pub(super) fn prepare(connection: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            newest: connection.prepare("SELECT number, digest FROM audit ORDER BY number DESC LIMIT 1")?,
            insert: connection.prepare("INSERT INTO audit VALUES (?1, ?2, ?3)")?,
        })
    }

    /// Within the transaction that does what the line says. Other processes write lines, too, so the newest is looked up.
    pub(super) fn write(&mut self, record: &AuditRecord) -> rusqlite::Result<()> {
        let newest =
            self.newest.query_row([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Digest>(1)?))).optional()?;
        let (number, before) = newest.unwrap_or((0, NO_LINE));
        let line = record.to_text();
        let digest = chained(&before, &line);
        self.insert.execute(params![number + 1, line, digest])?;
        Ok(())
    }
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
    let limit = query.limit.unwrap_or(LINES_MAX).min(LINES_MAX);
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

/// Follows the chain in one state of the database, and looks at every entry that a line stands for and that is still there.
pub(super) fn verify(connection: &Connection, head: Option<String>) -> Attempt<AuditVerdict> {
    let _one_state = connection.unchecked_transaction()?;
    let mut check = ChainCheck::new(head);
    let mut lines = connection.prepare("SELECT number, line, digest FROM audit ORDER BY number")?;
    let mut rows = lines.query([])?;
    while let Some(row) = rows.next()? {
        let number = from_int(row.get(0)?);
        let line = row.get_ref(1)?.as_str().unwrap_or_default();
        let digest = row.get_ref(2)?.as_blob().unwrap_or_default();
        if let Err(why) = check.follow(number, line, digest) {
            return Ok(AuditVerdict::Broken { line: number, why });
        }
    }
    Ok(changed_entry(connection)?.unwrap_or_else(|| check.whole()))
}

/// Of several lines for one entry only the last counts: what a failed commit had left was written over.
fn changed_entry(connection: &Connection) -> Attempt<Option<AuditVerdict>> {
    let sql = "SELECT max(number), json_extract(line, '$.sum'), session, entries.seq, payload
               FROM audit
               JOIN sessions ON sessions.id = json_extract(line, '$.session')
               JOIN entries ON entries.session = sessions.key AND entries.seq = json_extract(line, '$.seq')
               GROUP BY session, entries.seq";
    let mut entries = connection.prepare(sql)?;
    let mut rows = entries.query([])?;
    while let Some(row) = rows.next()? {
        let (number, kept) = (from_int(row.get(0)?), row.get::<_, Option<String>>(1)?);
        let payload = row.get_ref(4)?.as_bytes().unwrap_or_default();
        if kept.is_some_and(|kept| kept != sum(payload)) {
            let seq: i64 = row.get(3)?;
            let why = format!("entry {seq}, which it stands for, is not what was written");
            return Ok(Some(AuditVerdict::Broken { line: number, why }));
        }
    }
    Ok(None)
}
