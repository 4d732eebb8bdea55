//! The shelf: small things with a name, in the same file as the sessions and written by the same thread.

use std::sync::Arc;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};
use tokio::sync::oneshot;
use vocab::{Fault, FaultKind, Later, Shelf, ShelfKind, ShelfNames, ShelfPlace, Shelved};

use super::leases::now_ms;
use super::reader::Question;
use super::rows::{from_int, to_int};
use super::writer::{StoreRequest, Trust, Writer, WriterJob};
use super::{Attempt, ReplySender, SqliteStore, immediate};
use store::records;

/// Things that a list has at most.
const LIST_MAX: usize = 10_000;

/// A change of the shelf. What came of it is told when it is committed, and `synced` when it is on the disk.
pub(super) struct ShelfChange {
    pub(super) what: ShelfWrite,
    pub(super) synced: ReplySender<()>,
}

pub(super) enum ShelfWrite {
    Put { place: ShelfPlace, payload: Arc<[u8]>, at_most: Option<u64>, reply: ReplySender<Shelved> },
    Remove { place: ShelfPlace, reply: ReplySender<bool> },
    Clear { kind: ShelfKind, owner: Arc<str>, reply: ReplySender<u64> },
}

impl ShelfChange {
    pub(super) fn refuse(self, fault: Fault) {
        match self.what {
            ShelfWrite::Put { reply, .. } => _ = reply.send(Err(fault)),
            ShelfWrite::Remove { reply, .. } => _ = reply.send(Err(fault)),
            ShelfWrite::Clear { reply, .. } => _ = reply.send(Err(fault)),
        }
    }
}

impl SqliteStore {
    fn change<T: Send + 'static>(
        &self,
        what: impl FnOnce(ReplySender<T>) -> ShelfWrite,
    ) -> Later<'static, Result<T, Fault>> {
        let (synced, on_disk) = oneshot::channel();
        let done = self.submit(|reply| {
            let change = ShelfChange { what: what(reply), synced };
            WriterJob::Request(StoreRequest::Shelf(Box::new(change)))
        });
        Box::pin(async move {
            let value = done.await?;
            on_disk.await.unwrap_or_else(|_| Err(crate::faults::thread_died()))?;
            Ok(value)
        })
    }
}

impl Shelf for SqliteStore {
    fn put(
        &self,
        place: ShelfPlace,
        payload: Arc<[u8]>,
        at_most: Option<u64>,
    ) -> Later<'static, Result<Shelved, Fault>> {
        self.change(|reply| ShelfWrite::Put { place, payload, at_most, reply })
    }

    fn get(&self, place: ShelfPlace) -> Later<'static, Result<Option<Shelved>, Fault>> {
        self.ask(|reply| Question::Shelved { place, reply })
    }

    fn list(
        &self,
        kind: ShelfKind,
        owner: Option<Arc<str>>,
        limit: usize,
    ) -> Later<'static, Result<Vec<Shelved>, Fault>> {
        self.ask(|reply| Question::Shelf { kind, owner, limit, reply })
    }

    fn names(&self, kind: ShelfKind, owner: Arc<str>, limit: usize) -> Later<'static, Result<ShelfNames, Fault>> {
        self.ask(|reply| Question::ShelfNames { kind, owner, limit, reply })
    }

    fn remove(&self, place: ShelfPlace) -> Later<'static, Result<bool, Fault>> {
        self.change(|reply| ShelfWrite::Remove { place, reply })
    }

    fn clear(&self, kind: ShelfKind, owner: Arc<str>) -> Later<'static, Result<u64, Fault>> {
        self.change(|reply| ShelfWrite::Clear { kind, owner, reply })
    }
}

impl Writer {
    pub(super) fn change_shelf(&mut self, connection: &Connection, change: ShelfChange) -> Trust {
        let ShelfChange { what, synced } = change;
        let (is_done, trust) = match what {
            ShelfWrite::Put { place, payload, at_most, reply } => {
                let result = immediate(connection, || put(connection, &place, &payload, at_most));
                (result.is_ok(), self.answer(reply, result))
            }
            ShelfWrite::Remove { place, reply } => {
                let gone = || {
                    let sql = "DELETE FROM shelf WHERE kind = ?1 AND owner = ?2 AND name = ?3";
                    Ok(connection.execute(sql, params![place.kind.name, &*place.owner, &*place.name])? > 0)
                };
                let result = immediate(connection, gone);
                (result.is_ok(), self.answer(reply, result))
            }
            ShelfWrite::Clear { kind, owner, reply } => {
                let gone = || {
                    let sql = "DELETE FROM shelf WHERE kind = ?1 AND owner = ?2";
                    Ok(connection.execute(sql, params![kind.name, &*owner])? as u64)
                };
                let result = immediate(connection, gone);
                (result.is_ok(), self.answer(reply, result))
            }
        };
        // Of what was refused nobody waits for the disk.
        if is_done {
            self.answer_when_synced(synced);
        }
        trust
    }
}

fn put(connection: &Connection, place: &ShelfPlace, payload: &Arc<[u8]>, at_most: Option<u64>) -> Attempt<Shelved> {
    let now = now_ms();
    // Its payload may be damaged: this is how it is mended.
    let sql = "SELECT version, created_ms, updated_ms FROM shelf WHERE kind = ?1 AND owner = ?2 AND name = ?3";
    let numbers = |row: &Row<'_>| Ok((from_int(row.get(0)?), row.get(1)?, row.get(2)?));
    let key = params![place.kind.name, &*place.owner, &*place.name];
    let found: Option<(u64, i64, i64)> = connection.query_row(sql, key, numbers).optional()?;
    if found.is_none()
        && let Some(most) = at_most
    {
        let sql = "SELECT count(*) FROM shelf WHERE kind = ?1 AND owner = ?2";
        let count: i64 = connection.query_row(sql, params![place.kind.name, &*place.owner], |row| row.get(0))?;
        if from_int(count) >= most {
            let text = format!("there are {most} of them already, and no more are kept");
            return Err(Fault::new(FaultKind::QueueFull, text).hint("remove one first").into());
        }
    }
    let shelved = Shelved {
        place: place.clone(),
        version: found.map_or(0, |(version, ..)| version) + 1,
        created_ms: found.map_or(now, |(_, created_ms, _)| created_ms),
        updated_ms: found.map_or(now, |(.., updated_ms)| now.max(updated_ms)),
        payload: payload.clone(),
    };
    connection.execute(
        "INSERT INTO shelf (kind, owner, name, version, created_ms, updated_ms, with_session, payload, crc)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT (kind, owner, name) DO UPDATE SET version = excluded.version, updated_ms = excluded.updated_ms,
            with_session = excluded.with_session, payload = excluded.payload, crc = excluded.crc",
        params![
            place.kind.name,
            &*place.owner,
            &*place.name,
            to_int(shelved.version),
            shelved.created_ms,
            shelved.updated_ms,
            place.kind.goes_with_session,
            &**payload,
            sum(place.kind, payload),
        ],
    )?;
    Ok(shelved)
}

fn sum(kind: ShelfKind, payload: &[u8]) -> u32 {
    records::checksum(0, 0, 0, kind.name.as_bytes(), payload, None)
}

/// In the transaction that deletes the session.
pub(super) fn forget_of(connection: &Connection, session: &str) -> Attempt<()> {
    connection.execute("DELETE FROM shelf WHERE owner = ?1 AND with_session = 1", [session])?;
    Ok(())
}

const COLUMNS: &str = "owner, name, version, created_ms, updated_ms, payload, crc";

fn shelved(kind: ShelfKind, row: &Row<'_>) -> rusqlite::Result<Result<Shelved, Fault>> {
    let (owner, name): (String, String) = (row.get(0)?, row.get(1)?);
    let payload: Vec<u8> = row.get(5)?;
    if i64::from(sum(kind, &payload)) != row.get::<_, i64>(6)? {
        let text = format!("`{name}` of kind {} is damaged on the disk", kind.name);
        return Ok(Err(Fault::new(FaultKind::Store, text).hint("remove it, or put it there anew")));
    }
    Ok(Ok(Shelved {
        place: ShelfPlace { kind, owner: owner.into(), name: name.into() },
        version: from_int(row.get(2)?),
        created_ms: row.get(3)?,
        updated_ms: row.get(4)?,
        payload: payload.into(),
    }))
}

pub(super) fn get(connection: &Connection, place: &ShelfPlace) -> Attempt<Option<Shelved>> {
    let sql = format!("SELECT {COLUMNS} FROM shelf WHERE kind = ?1 AND owner = ?2 AND name = ?3");
    let found = connection
        .prepare(&sql)?
        .query_row(params![place.kind.name, &*place.owner, &*place.name], |row| shelved(place.kind, row))
        .optional()?;
    Ok(found.transpose()?)
}

/// What is damaged is left out: one thing must not hide all others.
pub(super) fn list(
    connection: &Connection,
    kind: ShelfKind,
    owner: Option<&Arc<str>>,
    limit: usize,
) -> Attempt<Vec<Shelved>> {
    let of_owner = if owner.is_some() { "AND owner = ?3" } else { "" };
    let sql = format!(
        "SELECT {COLUMNS} FROM shelf WHERE kind = ?1 {of_owner} ORDER BY updated_ms DESC, number DESC LIMIT ?2"
    );
    let mut values = vec![Value::Text(kind.name.to_owned()), Value::Integer(to_int(limit.min(LIST_MAX) as u64))];
    values.extend(owner.map(|owner| Value::Text(owner.to_string())));
    let mut statement = connection.prepare(&sql)?;
    let rows = statement.query_map(params_from_iter(values), |row| shelved(kind, row))?;
    let all: Vec<Result<Shelved, Fault>> = rows.collect::<rusqlite::Result<_>>()?;
    Ok(all.into_iter().filter_map(Result::ok).collect())
}

pub(super) fn names(connection: &Connection, kind: ShelfKind, owner: &str, limit: usize) -> Attempt<ShelfNames> {
    let _one_state = connection.unchecked_transaction()?;
    let sql = "SELECT count(*) FROM shelf WHERE kind = ?1 AND owner = ?2";
    let total: i64 = connection.query_row(sql, params![kind.name, owner], |row| row.get(0))?;
    let sql = "SELECT name FROM shelf WHERE kind = ?1 AND owner = ?2 ORDER BY updated_ms DESC, number DESC LIMIT ?3";
    let mut statement = connection.prepare(sql)?;
    let name = |row: &Row<'_>| Ok(Arc::from(row.get::<_, String>(0)?));
    let names = statement.query_map(params![kind.name, owner, to_int(limit.min(LIST_MAX) as u64)], name)?;
    Ok(ShelfNames { names: names.collect::<rusqlite::Result<_>>()?, total: from_int(total) })
}
