//! The audit's table: one line for each thing that somebody did, written with the entry that says it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, Statement, params, params_from_iter};
use vocab::{AUDIT_LINES_MAX, AuditLine, AuditQuery, AuditVerdict, Deed};

use super::leases::now_ms;
use super::packed::{COLUMNS, ROW_RECORDS_MAX, RowRecords, StoredRecord};
use super::rows::{from_int, to_int};
use super::writer::{Trust, Writer};
use super::{Attempt, ReplySender, immediate};
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

impl Writer {
    /// One line alone. Whoever asked for it does what it says once it stands there, power cut or not.
    pub(super) fn record(&mut self, connection: &Connection, deed: &Deed, reply: ReplySender<()>) -> Trust {
        let written = immediate(connection, || {
            AuditStatements::prepare(connection)?.write(&AuditRecord::deed(deed, now_ms()))?;
            Ok(())
        });
        if written.is_err() {
            return self.answer(reply, written);
        }
        self.answer_when_synced(reply);
        Trust::Keep
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
        let mut logs = LogStatements::prepare(connection)?;
        for (session, entries) in &self.0 {
            let Some(compared) = logs.compare(session, entries)? else { continue };
            if let Some(seq) = compared.changed {
                let line = entries.get(&seq).map_or(0, |(line, _)| *line);
                let why = format!("entry {seq}, which it stands for, is not what was written");
                return Ok(Some(AuditVerdict::Broken { line, why }));
            }
            if let Some(missing) = compared.missing {
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

/// What is wrong with a log: the first entry of each kind.
struct Compared {
    /// It is not what it was when a line got its sum.
    changed: Option<u64>,
    /// A log has no gaps: all that it has passed is there.
    missing: Option<u64>,
}

/// The statements that read the logs, for all of them: preparing these anew for each line took most of the time.
struct LogStatements<'c> {
    find: Statement<'c>,
    rows: Statement<'c>,
}

impl<'c> LogStatements<'c> {
    fn prepare(connection: &'c Connection) -> rusqlite::Result<Self> {
        // A row that begins before the first entry may have it within.
        let rows = format!(
            "SELECT {COLUMNS} FROM records WHERE session = ?1 AND seq > 1 - {ROW_RECORDS_MAX} AND seq < {}
             ORDER BY seq",
            i64::MAX
        );
        let find = connection.prepare("SELECT key, last_seq FROM sessions WHERE id = ?1")?;
        Ok(Self { find, rows: connection.prepare(&rows)? })
    }

    /// Reads a log once, as those do who read it. `None`: the session is not there.
    fn compare(&mut self, session: &str, entries: &BTreeMap<u64, (u64, String)>) -> Attempt<Option<Compared>> {
        let found = self.find.query_row([session], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)));
        let Some((key, last)) = found.optional()? else { return Ok(None) };
        let mut rows = self.rows.query([key])?;
        // Behind the last one that was seen, and the first that was not.
        let (mut next, mut expected) = (1, 1);
        let mut changed = None;
        while let Some(row) = rows.next()? {
            // One that has more than we write is not ours: whoever reads looks back no further either.
            for record in RowRecords::of(row)?.take(ROW_RECORDS_MAX) {
                // The row begins before them, or another one had its records already.
                if record.seq < next {
                    continue;
                }
                next = record.seq.saturating_add(1);
                expected += u64::from(record.seq == expected);
                let kept = entries.get(&record.seq);
                if changed.is_none() && kept.is_some_and(|(_, kept)| !is_of(session, &record, kept)) {
                    changed = Some(record.seq);
                }
            }
        }
        Ok(Some(Compared { changed, missing: (expected <= from_int(last)).then_some(expected) }))
    }
}

/// Whether a record is as it was when a line got this sum.
fn is_of(session: &str, record: &StoredRecord<'_>, kept: &str) -> bool {
    let text = |bytes: Option<&[u8]>| String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned();
    let stored = StoredRow {
        session,
        seq: record.seq,
        parent: from_int(record.parent.unwrap_or_default()),
        at_ms: record.at_ms.unwrap_or_default(),
        kind: &text(record.kind),
        by: &text(record.by),
        payload: record.payload.unwrap_or_default(),
    };
    stored.is_of(kept)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
    use vocab::{Body, Durability, Entry, Mode, NewSession, Part, Principal, SessionId, Store, UserFrom};

    use super::*;

    /// A database with so many sessions, each written by appends of so many entries.
    async fn written(home: &std::path::Path, sessions: u64, appends: &[u64]) -> Connection {
        let store = crate::SqliteStore::new(home.to_owned());
        for number in 0..sessions {
            let lease = store.create(NewSession {
                id: SessionId::from(format!("s{number}")),
                workspace: "/work/space".into(),
                model: "tour".into(),
                mode: Mode::Prompt,
                at_ms: 1,
                parent: None,
            });
            let mut last = 0;
            for count in appends {
                let entry = |seq| {
                    let body = Body::User { turn: None, parts: vec![Part::text("hello")], from: UserFrom::Prompt };
                    Arc::new(Entry { seq, parent: seq - 1, at_ms: 5, body, by: Some(Principal::user("ann")) })
                };
                let entries = (last + 1..=last + count).map(entry).collect();
                store.append(&lease, entries, Durability::Commit).await.unwrap();
                last += count;
            }
        }
        drop(store);
        Connection::open(home.join("sessions.db")).unwrap()
    }

    /// How many statements are prepared to check so many lines of so many sessions.
    async fn prepared(sessions: u64, lines: u64) -> usize {
        let home = tempfile::tempdir().unwrap();
        let mut connection = written(home.path(), sessions, &vec![1; lines as usize]).await;
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        // It is asked when a statement is prepared, once for each SELECT in it.
        let look = move |asked: AuthContext<'_>| {
            counted.fetch_add(usize::from(matches!(asked.action, AuthAction::Select)), Ordering::Relaxed);
            Authorization::Allow
        };
        connection.authorizer(Some(look)).unwrap();
        let verdict = verify(&connection, None).unwrap_or_else(|_| panic!("it cannot be read"));
        assert!(
            matches!(verdict, AuditVerdict::Whole { lines: found, .. } if found == sessions * lines),
            "{verdict:?}"
        );
        count.load(Ordering::Relaxed)
    }

    #[tokio::test]
    async fn a_long_chain_is_checked_with_as_many_statements_as_a_short_one() {
        let short = prepared(1, 1).await;
        // SQLite may prepare a statement once more by itself, when it sees what it is bound to.
        for (sessions, lines) in [(1, 40), (20, 2)] {
            let long = prepared(sessions, lines).await;
            assert!(long < 2 * short, "{sessions} sessions of {lines} lines: {long}, and not {short}");
        }
    }

    /// Somebody moves an entry to where no reader looks for it, behind the last that a row of ours has: it is gone from the
    /// log, and the row must not be a witness that it is there.
    #[tokio::test]
    async fn a_row_with_more_records_than_we_write_is_no_witness() {
        let (home, twin) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let full = ROW_RECORDS_MAX as u64;
        let place = full as i64;
        let connection = written(home.path(), 1, &[full, 1]).await;
        // The same log with other rows: here the entry stands behind another one, in the form that it has there.
        let twin = written(twin.path(), 1, &[full - 1, 2]).await;
        let more = |connection: &Connection, seq: i64| -> Vec<u8> {
            connection.query_row("SELECT more FROM records WHERE seq = ?1", [seq], |row| row.get(0)).unwrap()
        };
        let moved = [more(&connection, 1), more(&twin, place)].concat();
        let verdict =
            |connection: &Connection| verify(connection, None).unwrap_or_else(|_| panic!("it cannot be read"));
        assert!(matches!(verdict(&connection), AuditVerdict::Whole { .. }));
        connection.execute("UPDATE records SET more = ?1 WHERE seq = 1", [moved]).unwrap();
        assert_eq!(connection.execute("DELETE FROM records WHERE seq = ?1", [place + 1]).unwrap(), 1);
        let missing = format!("entry {} of session s0 is missing from its log", full + 1);
        let verdict = verdict(&connection);
        assert!(matches!(&verdict, AuditVerdict::Broken { why, .. } if *why == missing), "{verdict:?}");
    }
}
