//! Contents of files that calls have changed, each once for its session ([`store::records::to_record_apart`]). They are written
//! in the transaction of the entry that names them and go with their session, so that nothing has to be counted and nothing is
//! left of a session that was deleted.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, params};
use store::records::{NamedContent, content_name};

pub(crate) fn keep(connection: &Connection, key: i64, contents: &[NamedContent]) -> rusqlite::Result<()> {
    let mut insert = connection.prepare("INSERT OR IGNORE INTO contents VALUES (?1, ?2, ?3)")?;
    for (name, content) in contents {
        insert.execute(params![key, &**name, content.as_bytes()])?;
    }
    Ok(())
}

/// `None`: it is not there, or not what was written.
pub(crate) fn find(connection: &Connection, key: i64, name: &str) -> rusqlite::Result<Option<Arc<str>>> {
    let mut statement = connection.prepare("SELECT content FROM contents WHERE session = ?1 AND name = ?2")?;
    let found = statement.query_row(params![key, name], |row| {
        let bytes = row.get_ref(0)?.as_bytes().unwrap_or_default();
        Ok(std::str::from_utf8(bytes).ok().map(Arc::from))
    });
    Ok(found.optional()?.flatten().filter(|content: &Arc<str>| *content_name(content) == *name))
}

pub(crate) fn forget(connection: &Connection, key: i64) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM contents WHERE session = ?1", [key])?;
    Ok(())
}
