//! What several tests need.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use rusqlite::Connection;
use store_sqlite::SqliteStore;
use vocab::{Body, Durability, Entry, Lease, Mode, NewSession, NoteEntry, Part, SessionId, Store, UserFrom};

pub(crate) fn new_session(id: &str) -> NewSession {
    NewSession {
        id: SessionId::from(id),
        workspace: "/work/space".into(),
        model: "tour".into(),
        mode: Mode::Prompt,
        at_ms: 1_000,
        parent: None,
    }
}

/// A user message, so that it counts.
pub(crate) fn said(seq: u64, text: &str) -> Arc<Entry> {
    let body = Body::User { turn: None, parts: vec![Part::text(text)], from: UserFrom::Prompt };
    Arc::new(Entry { seq, parent: seq - 1, at_ms: 1_000 + seq as i64, body, by: None })
}

pub(crate) fn text(entry: &Entry) -> String {
    match &entry.body {
        Body::User { parts, .. } => vocab::parts_text(parts),
        Body::Note(NoteEntry::Recovered { text }) => format!("recovered: {text}"),
        other => format!("{other:?}"),
    }
}

pub(crate) fn synced(is_synced: bool) -> Durability {
    if is_synced { Durability::Now } else { Durability::Commit }
}

/// A closed session `s` with `count` messages.
pub(crate) async fn written(home: &Path, count: u64) -> SessionId {
    let store = SqliteStore::new(home.to_owned());
    let lease = store.create(new_session("s"));
    for seq in 1..=count {
        store.append(&lease, vec![said(seq, &format!("message {seq}"))], Durability::Commit).await.unwrap();
    }
    lease.session
}

/// One by one, so that each has a row of its own.
pub(crate) async fn append_each(store: &SqliteStore, lease: &Lease, entries: impl IntoIterator<Item = Arc<Entry>>) {
    for entry in entries {
        store.append(lease, vec![entry], Durability::Now).await.unwrap();
    }
}

pub(crate) fn raw(home: &Path) -> Connection {
    Connection::open(home.join("sessions.db")).unwrap()
}

/// Gives every record a row of its own again, as before schema 13. Those behind the first of a row are lost: write them one by one.
const TO_SCHEMA_12: &str =
    "CREATE TABLE entries (session INTEGER NOT NULL, seq INTEGER NOT NULL, parent INTEGER NOT NULL,
        at_ms INTEGER NOT NULL, kind TEXT NOT NULL, payload BLOB NOT NULL, crc INTEGER NOT NULL, by TEXT,
        PRIMARY KEY (session, seq)) WITHOUT ROWID;
    INSERT INTO entries SELECT session, seq, parent, at_ms, kind, payload, crc, by FROM records;
    DROP TABLE records; ALTER TABLE damaged DROP COLUMN more;";

/// Takes back what came after schema 10.
const TO_SCHEMA_10: &str = "DROP INDEX used_by_session;
    DROP TABLE shelf; DROP TABLE said; DROP INDEX sessions_by_message;
    ALTER TABLE sessions DROP COLUMN last_message_ms; ALTER TABLE sessions DROP COLUMN wishes;
    PRAGMA user_version = 10;";

/// Takes back what came after schema 5.
const TO_SCHEMA_5: &str = "DROP TABLE owners; ALTER TABLE sessions DROP COLUMN owned_by;
    ALTER TABLE sessions ADD COLUMN owner TEXT NOT NULL DEFAULT '';
    ALTER TABLE sessions DROP COLUMN open_turn; ALTER TABLE sessions DROP COLUMN open_items;
    ALTER TABLE entries DROP COLUMN by; ALTER TABLE damaged DROP COLUMN by;
    DROP TABLE audit; DROP TABLE used; DROP TABLE used_tools; DROP TABLE deleted; DROP TABLE windows; DROP TABLE contents;
    DROP TABLE shelf; DROP TABLE said; DROP INDEX sessions_by_message;
    ALTER TABLE sessions DROP COLUMN last_message_ms; ALTER TABLE sessions DROP COLUMN wishes;
    PRAGMA user_version = 5;";

/// Makes the database one of an older version.
pub(crate) fn age(home: &Path, schema: u32) {
    let older = match schema {
        5 => TO_SCHEMA_5,
        10 => TO_SCHEMA_10,
        12 => "PRAGMA user_version = 12;",
        other => panic!("nobody asks for schema {other}"),
    };
    raw(home).execute_batch(&format!("{TO_SCHEMA_12}{older}")).unwrap();
}

pub(crate) async fn texts(store: &SqliteStore, id: &SessionId) -> Vec<String> {
    store.read(id, 0, usize::MAX).await.unwrap().entries.iter().map(|entry| text(entry)).collect()
}

pub(crate) async fn next(store: &SqliteStore, lease: &Lease) -> u64 {
    store.summary(&lease.session).await.unwrap().map_or(1, |summary| summary.last_seq + 1)
}

/// Rare faults need many tries; a quick run makes a few of them.
pub(crate) fn rounds(quick: usize, full: usize) -> usize {
    if std::env::var_os("TILLERMAN_FULL").is_some_and(|it| it == "1") { full } else { quick }
}

const ROLE: &str = "STORE_TEST_ROLE";
const HOME: &str = "STORE_TEST_HOME";
const NUMBER: &str = "STORE_TEST_NUMBER";

/// Starts this test binary again as another process that runs only `test`, in the given role.
pub(crate) fn child(test: &str, home: &Path, number: usize) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]);
    as_child(&mut command, test, home, number);
    command
}

pub(crate) fn as_child(command: &mut Command, test: &str, home: &Path, number: usize) {
    command.env(ROLE, test).env(HOME, home).env(NUMBER, number.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
}

/// In a child: its home and number. `None` in an ordinary run, where the role's test has nothing to do.
pub(crate) fn role(test: &str) -> Option<(SqliteStore, usize)> {
    if std::env::var(ROLE).ok()? != test {
        return None;
    }
    let home = std::env::var_os(HOME).unwrap();
    let number = std::env::var(NUMBER).unwrap().parse().unwrap();
    Some((SqliteStore::new(home.into()), number))
}

/// A line that its parent can find between the words of the test harness.
pub(crate) fn tell(line: &str) {
    println!("\n@@{line}");
}

/// What a child told; it must have ended well unless it was killed.
pub(crate) fn told(child: Child, killed: bool) -> Vec<String> {
    let output = child.wait_with_output().unwrap();
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(killed || output.status.success(), "{out}{}", String::from_utf8_lossy(&output.stderr));
    // A line without an end was cut by the kill and was not told.
    let whole = out.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().filter_map(|line| line.strip_prefix("@@")).map(str::to_owned).collect()
}
