//! A long session is taken up by the end of its log.

use std::sync::Arc;

use store_sqlite::SqliteStore;
use vocab::{
    Body, BranchEntry, CompactReason, Compaction, Durability, Entry, LogWindow, SettingEntry, Store, Usage, WindowFold,
    WindowMark,
};

use crate::kit::{self, append_each, new_session, raw, rounds, said};

fn compacted(seq: u64, first_kept: u64) -> Arc<Entry> {
    let compaction = Compaction {
        reason: CompactReason::Manual,
        summary: "so far".into(),
        first_kept,
        tokens_before: 9,
        tokens_after: 3,
        messages_before: 9,
        messages_after: 3,
        usage: Usage::default(),
        model: "m".into(),
    };
    with(seq, Body::Branch(BranchEntry::Compacted(compaction)))
}

fn with(seq: u64, body: Body) -> Arc<Entry> {
    Arc::new(Entry { body, ..(*said(seq, "")).clone() })
}

fn thinking(seq: u64) -> Arc<Entry> {
    with(seq, Body::Setting(SettingEntry::Thinking { level: Some("high".into()) }))
}

fn size(window: &LogWindow) -> (usize, usize) {
    (window.carried.len(), window.page.entries.len())
}

/// What a window says of the next one.
fn mark(window: &LogWindow) -> Option<WindowMark> {
    let mut fold = WindowFold::default();
    window.carried.iter().for_each(|entry| fold.carry(entry));
    window.page.entries.iter().for_each(|entry| fold.take(entry));
    let mut carrying = fold.begins()?;
    window.all().for_each(|entry| carrying.take(entry));
    Some(carrying.mark())
}

#[tokio::test]
async fn a_session_of_many_entries_is_taken_up_by_a_few_hundred_rows() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let lease = store.create(new_session("s"));
    let last = rounds(20_000, 200_000) as u64;
    store.append(&lease, vec![said(1, "hi"), thinking(2)], Durability::Commit).await.unwrap();
    for from in (3..last).step_by(1_000) {
        let mut entries: Vec<_> = (from..(from + 1_000).min(last)).map(|seq| said(seq, "on and on")).collect();
        // Now and then room is made, as in life.
        if let Some(end) = entries.last_mut() {
            *end = compacted(end.seq, end.seq - 100);
        }
        store.append(&lease, entries, Durability::Commit).await.unwrap();
    }
    store.append(&lease, vec![said(last, "the end")], Durability::Now).await.unwrap();
    let window = store.window(&lease.session, last).await.unwrap();
    // The setting, what was said last before it, and what is kept; 101 rows and the end.
    assert_eq!(size(&window), (2, 102));
    // Nothing else is read: with the older rows gone, it is found all the same.
    store.release(lease).await.unwrap();
    drop(store);
    let first = window.page.entries[0].seq;
    let row = |seq: u64| format!("(SELECT max(seq) FROM records WHERE seq <= {seq})");
    let kept: Vec<_> = window.carried.iter().map(|entry| entry.seq).chain([first]).map(row).collect();
    let sql = format!("DELETE FROM records WHERE seq < {first} AND seq NOT IN ({})", kept.join(", "));
    raw(home.path()).execute(&sql, []).unwrap();
    let left: i64 = raw(home.path()).query_row("SELECT count(*) FROM records", [], |row| row.get(0)).unwrap();
    assert!(left < 50, "{left} rows");
    let store = SqliteStore::new(home.path().to_owned());
    assert_eq!(store.window(&"s".into(), last).await.unwrap(), window);
}

#[tokio::test]
async fn whatever_is_wrong_with_what_is_kept_the_log_is_read_instead() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let lease = store.create(new_session("s"));
    let entries = (1..=40).map(|seq| if seq == 5 { thinking(5) } else { said(seq, "x") });
    append_each(&store, &lease, entries.chain([compacted(41, 30)])).await;
    let window = store.window(&lease.session, 41).await.unwrap();
    assert_eq!(size(&window), (2, 12));
    for wrong in [
        "DELETE FROM windows",
        "UPDATE windows SET crc = crc + 1",
        "UPDATE windows SET start = 35",
        "UPDATE windows SET compacted = 40",
        "UPDATE windows SET carried = ''",
        "UPDATE windows SET carried = 'some'",
        "UPDATE windows SET carried = x'ff'",
        "UPDATE windows SET start = 'some'",
    ] {
        let before = raw(home.path()).query_row("SELECT * FROM windows", [], kept_row).unwrap();
        raw(home.path()).execute(wrong, []).unwrap();
        assert_eq!(store.window(&"s".into(), 41).await.unwrap(), window, "{wrong}");
        raw(home.path()).execute("DELETE FROM windows", []).unwrap();
        raw(home.path()).execute("INSERT INTO windows VALUES (?1, ?2, ?3, ?4, ?5)", before).unwrap();
    }
    // An entry that it leads to.
    for (at, sizes) in [(5, (0, 41)), (33, (0, 41))] {
        raw(home.path()).execute(&format!("UPDATE records SET crc = crc + 1 WHERE seq = {at}"), []).unwrap();
        let window = store.window(&"s".into(), 41).await.unwrap();
        assert_eq!(size(&window), sizes, "{at}");
        assert!(window.page.recovered.unwrap().contains(&at.to_string()));
        raw(home.path()).execute(&format!("UPDATE records SET crc = crc - 1 WHERE seq = {at}"), []).unwrap();
    }
    // The next compaction puts it right.
    raw(home.path()).execute("UPDATE windows SET crc = crc + 1", []).unwrap();
    store.append(&lease, vec![compacted(42, 41)], Durability::Now).await.unwrap();
    assert_eq!(raw(home.path()).query_row("SELECT start FROM windows", [], |row| row.get(0)), Ok(41));
    assert_eq!(size(&store.window(&"s".into(), 42).await.unwrap()), (2, 2));
    store.release(lease).await.unwrap();
    store.delete(&"s".into(), None).await.unwrap();
    assert_eq!(raw(home.path()).query_row("SELECT count(*) FROM windows", [], |row| row.get(0)), Ok(0));
}

type KeptRow = (i64, i64, i64, String, i64);

fn kept_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<KeptRow> {
    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
}

#[tokio::test]
async fn what_is_kept_leads_where_the_whole_log_leads() {
    for round in 0..rounds(20, 400) as u64 {
        let home = tempfile::tempdir().unwrap();
        let store = SqliteStore::new(home.path().to_owned());
        let lease = store.create(new_session("s"));
        let mut dice = round;
        let mut roll = |sides: u64| {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (dice >> 33) % sides
        };
        let (mut seq, mut log) = (0, Vec::new());
        for _ in 0..12 {
            let mut batch = Vec::new();
            for _ in 0..=roll(8) {
                seq += 1;
                let mut entry = match roll(8) {
                    0 => compacted(seq, 1 + roll(seq)),
                    1 => thinking(seq),
                    2 => with(seq, Body::Branch(BranchEntry::Moved { to: roll(seq) })),
                    _ => said(seq, "x"),
                };
                if let Body::Branch(BranchEntry::Moved { to }) = entry.body {
                    entry = Arc::new(Entry { parent: to, ..(*entry).clone() });
                }
                batch.push(entry);
            }
            log.extend(batch.clone());
            store.append(&lease, batch, Durability::Commit).await.unwrap();
            let window = store.window(&lease.session, seq).await.unwrap();
            let page = vocab::Page { entries: log.clone(), recovered: None };
            let whole = LogWindow { carried: Vec::new(), page: page.clone() };
            assert_eq!(mark(&window), mark(&whole), "round {round}, {seq} entries");
            assert!(window.page.entries.len() >= LogWindow::of(page, seq).page.entries.len());
        }
        assert_eq!(kit::texts(&store, &lease.session).await.len() as u64, seq);
    }
}
