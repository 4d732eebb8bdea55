//! The database file: made for its owner only, opened with small caches, brought to the newest schema.
//!
//! Knows nothing of sessions beyond the text of their tables.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, FileControl, OpenFlags};
use vocab::{Fault, FaultKind};

use super::patience::Patience;
use super::{Attempt, Failure};
use safefile::private_dir;

use crate::faults;

pub(crate) const FILE_NAME: &str = "sessions.db";

/// "till"; tells our file from another program's.
const APPLICATION_ID: i32 = 0x7469_6c6c;

/// How long a commit waits for other processes that write to the same database; then it fails and says so.
pub(super) const BUSY_WAIT: Duration = Duration::from_secs(10);

/// Opening competes with other processes that open or create the same file; at the bound it fails as locked.
const OPEN_TRIES_MAX: u32 = 100;
const OPEN_RETRY_WAIT: Duration = Duration::from_millis(20);

/// Pages kept in memory while there is work. A log is written once and read once, but its last page is written to with every
/// turn, and so are the rows and sums of its session: this is enough for those of some hundred sessions that are at work.
const CACHE_KIB: u32 = 4 * 1024;
/// A commit that leaves the write-ahead log with this many pages (32 MiB) folds it into the database. Few do: it is folded in
/// while there is nothing else to do, and beside the work where there always is ([`super::fold`]).
pub(super) const WAL_PAGES_MAX: u32 = 8192;
/// A larger write-ahead log, left by one large batch, is cut back to this when it is next reset. What is written over is
/// synced faster than what is written anew, so it is not less than what an ordinary one grows to.
const WAL_BYTES_KEPT: u32 = 36 * 1024 * 1024;
/// Steps from an empty file to today's schema; `user_version` counts the steps taken. Append only.
const MIGRATIONS: &[&str] = &[
    // 1: sessions with their totals, logs, and what was cut off.
    "CREATE TABLE sessions (
        key INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        workspace NOT NULL,
        model TEXT NOT NULL,
        mode TEXT NOT NULL,
        title TEXT,
        preview TEXT,
        created_ms INTEGER NOT NULL,
        updated_ms INTEGER NOT NULL,
        messages INTEGER NOT NULL,
        turns INTEGER NOT NULL,
        last_seq INTEGER NOT NULL,
        tokens_input INTEGER NOT NULL,
        tokens_cache_read INTEGER NOT NULL,
        tokens_cache_write INTEGER NOT NULL,
        tokens_output INTEGER NOT NULL,
        tokens_estimated INTEGER NOT NULL,
        epoch INTEGER NOT NULL,
        owner TEXT NOT NULL
    );
    CREATE TABLE entries (
        session INTEGER NOT NULL,
        seq INTEGER NOT NULL,
        parent INTEGER NOT NULL,
        at_ms INTEGER NOT NULL,
        kind TEXT NOT NULL,
        payload BLOB NOT NULL,
        crc INTEGER NOT NULL,
        PRIMARY KEY (session, seq)
    ) WITHOUT ROWID;
    CREATE TABLE damaged (
        number INTEGER PRIMARY KEY,
        session_id TEXT NOT NULL,
        found_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
        seq, parent, at_ms, kind, payload, crc
    );",
    // 2: lists say how hard a session thinks.
    "ALTER TABLE sessions ADD COLUMN thinking TEXT;",
    // 3: sessions that work for a call of another one.
    "ALTER TABLE sessions ADD COLUMN child_of TEXT;",
    // 4: the order in which sessions were used, which no clock can turn around. It changes only where another session
    // was used in between, so an append seldom writes the index.
    "ALTER TABLE sessions ADD COLUMN used INTEGER NOT NULL DEFAULT 0;
    UPDATE sessions SET used = ranked.place
        FROM (SELECT key, row_number() OVER (ORDER BY updated_ms, key) AS place FROM sessions) AS ranked
        WHERE ranked.key = sessions.key;
    CREATE INDEX sessions_by_use ON sessions (used);",
    // 5: a list of one directory's sessions, and of those that worked for a call of one, reads no others. Both columns
    // are written once in a session's life.
    "CREATE INDEX sessions_by_workspace ON sessions (workspace, used);
    CREATE INDEX sessions_by_parent ON sessions (child_of) WHERE child_of IS NOT NULL;",
    // 6: whose doing an entry is; what was done, in a chain that shows a change; what was used, by day.
    "ALTER TABLE entries ADD COLUMN by TEXT;
    ALTER TABLE damaged ADD COLUMN by;
    CREATE TABLE audit (
        number INTEGER PRIMARY KEY,
        line TEXT NOT NULL,
        digest BLOB NOT NULL
    );
    CREATE TABLE used (
        day INTEGER NOT NULL,
        session TEXT NOT NULL,
        principal TEXT NOT NULL,
        model TEXT NOT NULL,
        calls INTEGER NOT NULL,
        tokens_input INTEGER NOT NULL,
        tokens_cache_read INTEGER NOT NULL,
        tokens_cache_write INTEGER NOT NULL,
        tokens_output INTEGER NOT NULL,
        tokens_estimated INTEGER NOT NULL,
        cost_nanos INTEGER NOT NULL,
        unpriced INTEGER NOT NULL,
        PRIMARY KEY (day, session, principal, model)
    ) WITHOUT ROWID;
    CREATE TABLE used_tools (
        day INTEGER NOT NULL,
        session TEXT NOT NULL,
        principal TEXT NOT NULL,
        tool TEXT NOT NULL,
        calls INTEGER NOT NULL,
        failed INTEGER NOT NULL,
        PRIMARY KEY (day, session, principal, tool)
    ) WITHOUT ROWID;",
    // 7
    OWNERS,
    // 8
    UNFINISHED,
    // 9
    DELETED,
    // 10
    WINDOWS,
    // 11
    SHELF,
    // 12: what a session has cost is known without the days that it was used on.
    "CREATE INDEX used_by_session ON used (session);",
    // 13
    RECORDS,
];

/// The log in the order in which it was written, several records to a row ([`super::packed`]): what many sessions append lies side
/// by side, and a commit writes a few pages instead of one for each of them. Those that are there keep a row each. A process of
/// an older version that has the database open finds no table where it looks for one, and says so.
///
/// Nobody opens a database that one damaged row cannot leave: a column may lack its value, and of two rows that damage has given
/// one number the second is kept aside. The index is there before the rows, which come in its order: to sort those of a large
/// database all of them would have to be in memory.
const RECORDS: &str = "CREATE TABLE records (
        number INTEGER PRIMARY KEY,
        session INTEGER,
        seq INTEGER,
        parent INTEGER,
        at_ms INTEGER,
        kind TEXT,
        payload BLOB,
        crc INTEGER,
        by TEXT,
        more BLOB
    );
    CREATE UNIQUE INDEX records_by_session ON records (session, seq);
    INSERT OR IGNORE INTO records (session, seq, parent, at_ms, kind, payload, crc, by)
        SELECT session, seq, parent, at_ms, kind, payload, crc, by FROM entries ORDER BY session, seq;
    INSERT INTO damaged (session_id, seq, parent, at_ms, kind, payload, crc, by)
        SELECT coalesce((SELECT id FROM sessions WHERE key = session), ''), seq, parent, at_ms, kind, payload, crc, by
        FROM entries WHERE (SELECT count(*) FROM entries) > (SELECT count(*) FROM records) AND NOT EXISTS (
            SELECT 1 FROM records WHERE records.session IS entries.session AND records.seq IS entries.seq
            AND records.crc IS entries.crc AND records.payload IS entries.payload);
    DROP TABLE entries;
    ALTER TABLE damaged ADD COLUMN more;";

/// Small things with a name; what people said, by day; when the last message of a session was, and what it wants to be
/// otherwise than usual (`records::Wishes`).
const SHELF: &str = "CREATE TABLE shelf (
        number INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        owner TEXT NOT NULL,
        name TEXT NOT NULL,
        version INTEGER NOT NULL,
        created_ms INTEGER NOT NULL,
        updated_ms INTEGER NOT NULL,
        with_session INTEGER NOT NULL,
        payload BLOB NOT NULL,
        crc INTEGER NOT NULL,
        UNIQUE (kind, owner, name)
    );
    CREATE INDEX shelf_newest ON shelf (kind, owner, updated_ms DESC);
    CREATE TABLE said (
        day INTEGER NOT NULL,
        session TEXT NOT NULL,
        principal TEXT NOT NULL,
        messages INTEGER NOT NULL,
        PRIMARY KEY (day, session, principal)
    ) WITHOUT ROWID;
    ALTER TABLE sessions ADD COLUMN last_message_ms INTEGER;
    ALTER TABLE sessions ADD COLUMN wishes TEXT;
    UPDATE sessions SET
        last_message_ms = (SELECT max(at_ms) FROM entries WHERE session = key AND kind IN ('user', 'assistant')),
        wishes = (SELECT '{\"lane\":' || CAST(payload AS TEXT) || '}' FROM entries
            WHERE session = key AND kind = 'lane' ORDER BY seq DESC LIMIT 1);
    CREATE INDEX sessions_by_message ON sessions (last_message_ms DESC, id);";

/// A session's row says which owner has it, and no longer by name. A process of an older version that has the database open
/// finds no column where it looks for one, and says so, instead of taking what another has.
const OWNERS: &str = "CREATE TABLE owners (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        machine TEXT NOT NULL,
        address TEXT,
        renewed_ms INTEGER NOT NULL,
        ttl_ms INTEGER NOT NULL,
        taken INTEGER NOT NULL
    );
    ALTER TABLE sessions DROP COLUMN owner;
    ALTER TABLE sessions ADD COLUMN owned_by INTEGER;";

/// What a session has to go on with ([`store::unfinished`]); counted by the kinds of its records for those that are there.
const UNFINISHED: &str = "ALTER TABLE sessions ADD COLUMN open_turn INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE sessions ADD COLUMN open_items INTEGER NOT NULL DEFAULT 0;
    UPDATE sessions SET
        open_turn = coalesce((SELECT max(seq) FROM entries WHERE session = key AND kind = 'turn_started'), 0)
            > coalesce((SELECT max(seq) FROM entries WHERE session = key AND kind = 'turn_ended'), 0),
        open_items = (SELECT count(*) FROM entries WHERE session = key AND kind IN ('ask_opened', 'queued'))
            - (SELECT count(*) FROM entries WHERE session = key AND kind IN ('ask_closed', 'settled'));";

/// Deletes of which pieces are still there, written with the delete itself. A number is never used again: whoever has wiped
/// strikes out what was there when it began.
const DELETED: &str = "CREATE TABLE deleted (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL,
        rebuilt INTEGER NOT NULL DEFAULT 0
    );";

/// Where the window of a session's log begins, and which older entries count ([`super::window`]); for those that are there,
/// with their next compaction. Contents of files that calls have changed ([`super::contents`]); those of older records stay in
/// them.
const WINDOWS: &str = "CREATE TABLE windows (
        session INTEGER PRIMARY KEY,
        compacted INTEGER NOT NULL,
        start INTEGER NOT NULL,
        carried TEXT NOT NULL,
        crc INTEGER NOT NULL
    );
    CREATE TABLE contents (
        session INTEGER NOT NULL,
        name TEXT NOT NULL,
        content BLOB NOT NULL,
        PRIMARY KEY (session, name)
    );";

/// The write-ahead log of the database in `home`: beside the file itself, also where its name is a link.
pub(crate) fn wal_path(home: &Path) -> PathBuf {
    wal_of(&home.join(FILE_NAME))
}

/// The index of that log.
pub(crate) fn index_path(home: &Path) -> PathBuf {
    beside(&home.join(FILE_NAME), "-shm")
}

fn wal_of(database: &Path) -> PathBuf {
    beside(database, "-wal")
}

fn beside(database: &Path, ending: &str) -> PathBuf {
    let mut name = database.canonicalize().unwrap_or_else(|_| database.to_owned()).into_os_string();
    name.push(ending);
    name.into()
}

/// Opens the database, creating it and its directory when needed.
pub(crate) fn open(home: &Path, patience: &Patience) -> Result<Connection, Fault> {
    let path = home.join(FILE_NAME);
    create(home, &path).map_err(|error| faults::from_io("create", &path, &error))?;
    open_file(&path, patience)
}

/// As [`open`], and makes nothing where there is none.
pub(crate) fn open_again(home: &Path) -> Result<Connection, Fault> {
    open_file(&home.join(FILE_NAME), &Patience::new(BUSY_WAIT))
}

fn open_file(path: &Path, patience: &Patience) -> Result<Connection, Fault> {
    let mut tries = 0;
    loop {
        tries += 1;
        match open_once(path, patience) {
            Ok(connection) => return Ok(connection),
            Err(Failure::Fault(fault)) => return Err(fault),
            Err(Failure::Sql(error)) => {
                let busy = error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy);
                if !busy || tries >= OPEN_TRIES_MAX {
                    return Err(faults::from_sqlite(path, "open", &error));
                }
                std::thread::sleep(OPEN_RETRY_WAIT);
            }
        }
    }
}

/// As [`open`], for somebody who only looks.
pub(crate) fn open_to_read(home: &Path) -> Result<Connection, Fault> {
    let connection = open(home, &Patience::new(BUSY_WAIT))?;
    let only_look = connection.execute_batch("PRAGMA query_only = ON");
    only_look.map_err(|error| faults::from_sqlite(&home.join(FILE_NAME), "open", &error))?;
    Ok(connection)
}

/// Before a connection that can be trusted is closed: whoever is the last to close the database folds the write-ahead log in
/// and cuts it to nothing, so that a copy of the one file is whole and an older copy can be put in its place. The empty log
/// keeps its name, which the next process then need not make. Without this, nothing happens to the log: behind an error
/// what is in it is not to be believed, and with an index that only we can find we do not know where it ends.
pub(crate) fn prepare_to_close(connection: &Connection) {
    let is_ours = |path: &str| super::sync::is_held(&beside(Path::new(path), "-shm"));
    if !connection.path().is_some_and(is_ours) {
        return;
    }
    // The next process folds it in; where the name cannot be kept, it makes one.
    let _ = connection.file_control(Some(rusqlite::MAIN_DB), FileControl::PersistWal(&mut 1));
    let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false);
}

/// Begins an empty write-ahead log without a sync. SQLite syncs the header of every log that it begins, since one that is
/// begun anew has frames behind it which an old header would bring back to life. Behind an empty one there are none:
/// whatever of it is on the disk after a power cut is a beginning of what was written, and who wants more waits for a sync
/// of the whole file (`sync`). A process that only takes up a session thus waits for no disk.
pub(crate) fn begin_log(connection: &Connection, log: &Path) -> Attempt<()> {
    let is_empty = || std::fs::metadata(log).is_ok_and(|found| found.len() == 0);
    if !is_empty() {
        return Ok(());
    }
    connection.execute_batch("PRAGMA synchronous = OFF")?;
    let begun = super::immediate(connection, || {
        // Looked at again under the write lock: another process may have been quicker, and its log may be folded in.
        if is_empty() {
            let version = version(connection)?;
            connection.execute_batch(&format!("PRAGMA user_version = {version}"))?;
        }
        Ok(())
    });
    connection.execute_batch("PRAGMA synchronous = NORMAL")?;
    begun
}

/// The number of sessions of a database that is whole.
pub(crate) fn check(path: &Path) -> Result<u64, Fault> {
    // Whoever only reads cannot remove the files that it made to read, so where there is no log it opens as a writer, who
    // does. Where there is one, a writer would fold it in.
    let flags = match wal_of(path).exists() {
        true => OpenFlags::SQLITE_OPEN_READ_ONLY,
        false => OpenFlags::SQLITE_OPEN_READ_WRITE,
    };
    let look = || {
        let connection = Connection::open_with_flags(path, flags)?;
        connection.execute_batch("PRAGMA query_only = ON")?;
        connection.busy_timeout(BUSY_WAIT)?;
        let verdict: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        let sessions: i64 = connection.query_row("SELECT count(*) FROM sessions", [], |row| row.get(0))?;
        Ok((verdict, sessions))
    };
    let (verdict, sessions) = look().map_err(|error| faults::from_sqlite(path, "read", &error))?;
    match verdict.as_str() {
        "ok" => Ok(u64::try_from(sessions).unwrap_or_default()),
        what => Err(faults::damaged(path, what)),
    }
}

/// SQLite would create the file as the umask says, so it is made here; its side files take over its mode.
fn create(home: &Path, path: &Path) -> io::Result<()> {
    // Closing any handle of a file drops all of this process's POSIX locks on it, SQLite's among them. So an existing
    // file is never opened here, and a new one is closed before another store of this process can have opened it.
    static CREATING: Mutex<()> = Mutex::new(());
    let _alone = CREATING.lock().unwrap_or_else(PoisonError::into_inner);
    private_dir(home)?;
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => {
            // A database that is synced but has no name after a power cut would be no use.
            File::open(home)?.sync_all()?;
            match home.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => File::open(parent)?.sync_all(),
                _ => Ok(()),
            }
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

fn open_once(path: &Path, patience: &Patience) -> Attempt<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    patience.install(&mut connection)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // One look: another process may be making the database between two of its questions.
    let look = connection.unchecked_transaction()?;
    check_is_ours(&look, path)?;
    drop(look);
    // NORMAL never means "without any sync": it syncs before the write-ahead log is folded in.
    connection.execute_batch(&format!(
        "PRAGMA cache_size = -{CACHE_KIB};
         PRAGMA mmap_size = 0;
         PRAGMA temp_store = MEMORY;
         PRAGMA synchronous = NORMAL;
         PRAGMA wal_autocheckpoint = {WAL_PAGES_MAX};
         PRAGMA journal_size_limit = {WAL_BYTES_KEPT};"
    ))?;
    switch_on_wal(&connection, path)?;
    migrate(&connection)?;
    Ok(connection)
}

/// The switch is committed only after its answer, so its statement is run to the end: a write that fails there would
/// leave another mode behind, in which a commit is not what the rest of this crate takes it for.
fn switch_on_wal(connection: &Connection, path: &Path) -> Attempt<()> {
    let mut statement = connection.prepare("PRAGMA journal_mode = WAL")?;
    let mut rows = statement.query([])?;
    let mut mode = String::new();
    while let Some(row) = rows.next()? {
        mode = row.get(0)?;
    }
    if mode == "wal" {
        return Ok(());
    }
    let message = format!("{}: the write-ahead log cannot be switched on (it stays `{mode}`)", path.display());
    Err(Fault::new(FaultKind::Store, message).hint("check the disk; the next write is tried again").into())
}

/// Looks, without changing anything, whether we can read what is there.
fn check_is_ours(connection: &Connection, path: &Path) -> Attempt<()> {
    let application: i32 = connection.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let version = version(connection)?;
    let known = MIGRATIONS.len();
    if application == APPLICATION_ID && version > known {
        let message = format!(
            "{} was written by a newer version (schema {version}; this one knows up to {known})",
            path.display()
        );
        return Err(Fault::new(FaultKind::Store, message).hint("update tillerman, or set TILLERMAN_HOME").into());
    }
    if application != APPLICATION_ID {
        let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
        if tables > 0 || application != 0 || version != 0 {
            let message = format!("{} belongs to another program", path.display());
            return Err(Fault::new(FaultKind::Store, message).hint("move it away, or set TILLERMAN_HOME").into());
        }
    }
    Ok(())
}

fn version(connection: &Connection) -> Attempt<usize> {
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    // Negative numbers are nothing we ever wrote: as new as can be.
    Ok(usize::try_from(version).unwrap_or(usize::MAX))
}

fn migrate(connection: &Connection) -> Attempt<()> {
    if version(connection)? == MIGRATIONS.len() {
        return Ok(());
    }
    super::immediate(connection, || {
        // Asked again inside the transaction: another process may have been quicker.
        for (step, sql) in MIGRATIONS.iter().enumerate().skip(version(connection)?) {
            connection.execute_batch(sql)?;
            connection.execute_batch(&format!(
                "PRAGMA user_version = {}; PRAGMA application_id = {APPLICATION_ID};",
                step + 1
            ))?;
        }
        Ok(())
    })
}
