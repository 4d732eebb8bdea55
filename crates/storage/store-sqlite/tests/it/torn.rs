//! A write-ahead log that was cut, blanked or scribbled over: what is left is a prefix of what was committed.

use std::fs;
use std::path::Path;

use store_sqlite::SqliteStore;
use vocab::{Durability, SessionId, Store};

use crate::kit::{new_session, said, texts};

const WAL_HEADER: usize = 32;
const FRAME: usize = 24 + 4096;
/// Each batch has this many entries, so that half a batch would be seen.
const BATCH: u64 = 3;

/// A database as a crash leaves it: copied with its write-ahead log while its owner was at work.
async fn crashed(origin: &Path) -> (Vec<u8>, Vec<u8>, u64) {
    let store = SqliteStore::new(origin.to_owned());
    let lease = store.create(new_session("s"));
    let batches = 12;
    for batch in 0..batches {
        let entries = (1..=BATCH).map(|n| said(batch * BATCH + n, &format!("message {}", batch * BATCH + n)));
        store.append(&lease, entries.collect(), crate::kit::synced(batch % 4 == 0)).await.unwrap();
    }
    let database = fs::read(origin.join("sessions.db")).unwrap();
    let wal = fs::read(origin.join("sessions.db-wal")).unwrap();
    (database, wal, batches * BATCH)
}

/// Resume, append, resume again; gives how many entries were left.
async fn resume(database: &[u8], wal: &[u8], what: &str) -> u64 {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("sessions.db"), database).unwrap();
    fs::write(home.path().join("sessions.db-wal"), wal).unwrap();
    let id = SessionId::from("s");
    let store = SqliteStore::new(home.path().to_owned());
    let left = match store.summary(&id).await.unwrap_or_else(|fault| panic!("{what}: {fault}")) {
        None => 0,
        Some(_) => {
            let seen = texts(&store, &id).await;
            let wanted: Vec<String> = (1..=seen.len()).map(|n| format!("message {n}")).collect();
            assert_eq!(seen, wanted, "{what}: a prefix, in order");
            seen.len() as u64
        }
    };
    assert_eq!(left % BATCH, 0, "{what}: a batch is whole or not there");
    let lease = if left == 0 { store.create(new_session("s")) } else { store.acquire(&id).await.unwrap().lease };
    let more = said(left + 1, "after the crash");
    store.append(&lease, vec![more], Durability::Now).await.unwrap_or_else(|fault| panic!("{what}: {fault}"));
    drop(store);
    let store = SqliteStore::new(home.path().to_owned());
    let seen = texts(&store, &id).await;
    assert_eq!((seen.len() as u64, seen.last().unwrap().as_str()), (left + 1, "after the crash"), "{what}");
    left
}

#[tokio::test]
async fn a_torn_write_ahead_log_is_a_prefix_of_the_batches() {
    let origin = tempfile::tempdir().unwrap();
    let (database, mut wal, all) = crashed(origin.path()).await;
    assert_eq!(resume(&database, &wal, "as it was left").await, all);
    let salt = wal[16..24].to_vec();
    let frames = wal[WAL_HEADER..].chunks_exact(FRAME).take_while(|frame| frame[8..16] == salt).count();
    wal.truncate(WAL_HEADER + frames * FRAME);
    assert!(frames > 20, "{frames} frames are too few to tear");
    assert_eq!(resume(&database, &wal, "untouched").await, all);

    let mut lefts = Vec::new();
    // Cut at the borders of frames, inside their headers and inside their pages.
    for step in 0..40 {
        let within = [0, 1, 12, 24, 500, 4095][step % 6];
        let at = (WAL_HEADER + step * frames / 40 * FRAME + within).min(wal.len());
        lefts.push(resume(&database, &wal[..at], &format!("cut at {at}")).await);
    }
    let sorted = lefts.is_sorted();
    assert!(sorted, "a longer piece never holds less: {lefts:?}");
    assert!(lefts.iter().any(|left| *left > 0 && *left < all), "the cuts hit the middle: {lefts:?}");

    for step in 0..20 {
        let at = WAL_HEADER + step * frames / 20 * FRAME;
        let mut blanked = wal.clone();
        let end = (at + 512 + step * 700).min(blanked.len());
        blanked[at..end].fill(0);
        let left = resume(&database, &blanked, &format!("NUL bytes from {at}")).await;
        assert!(left < all, "bytes from {at} are gone, yet all is there");
        let mut garbage = wal.clone();
        for (n, byte) in garbage[at..end].iter_mut().enumerate() {
            *byte ^= (n * 31 + 7) as u8 | 1;
        }
        let left = resume(&database, &garbage, &format!("garbage from {at}")).await;
        assert!(left < all);
    }
    for at in [0, 8, 16, 24] {
        let mut headless = wal.clone();
        headless[at] ^= 0xff;
        resume(&database, &headless, &format!("the header is broken at {at}")).await;
    }
    let mut longer = wal.clone();
    longer.extend((0..10_000).map(|n| (n % 251) as u8));
    assert_eq!(resume(&database, &longer, "garbage behind the end").await, all);
}

/// The next process takes up a session and begins the log that the last one left empty; nothing of that was synced.
#[tokio::test]
async fn a_log_that_was_begun_without_a_sync_takes_nothing_along_that_was_there_before() {
    let origin = tempfile::tempdir().unwrap();
    let batch = |first: u64| (first..first + BATCH).map(|n| said(n, &format!("message {n}"))).collect();
    let store = SqliteStore::new(origin.path().to_owned());
    let lease = store.create(new_session("s"));
    store.append(&lease, batch(1), Durability::Now).await.unwrap();
    drop(store);
    let log = origin.path().join("sessions.db-wal");
    assert_eq!(fs::metadata(&log).unwrap().len(), 0, "whoever closes it leaves it empty");

    let store = SqliteStore::new(origin.path().to_owned());
    let lease = store.acquire(&SessionId::from("s")).await.unwrap().lease;
    for first in [1 + BATCH, 1 + 2 * BATCH] {
        store.append(&lease, batch(first), Durability::Commit).await.unwrap();
    }
    let (database, wal) = (fs::read(origin.path().join("sessions.db")).unwrap(), fs::read(&log).unwrap());
    let salt = wal[16..24].to_vec();
    let frames = wal[WAL_HEADER..].chunks_exact(FRAME).take_while(|frame| frame[8..16] == salt).count();
    assert!(frames > 3, "{frames} frames are too few to tear");
    assert_eq!(resume(&database, &wal, "all of it").await, 3 * BATCH);

    // The length of the file, its first page and what is behind it reach the disk in any order, or not at all.
    for at in (0..=frames).map(|frame| WAL_HEADER + frame * FRAME).chain([0, 1, 16, 31]) {
        let left = resume(&database, &wal[..at], &format!("cut at {at}")).await;
        assert!(left >= BATCH, "{left} entries are left where the log was cut at {at}");
        let mut blank = wal.clone();
        blank[..at].fill(0);
        let left = resume(&database, &blank, &format!("nothing before {at}")).await;
        assert_eq!(left, if at == 0 { 3 * BATCH } else { BATCH }, "with nothing before {at}");
    }
    // What somebody waited for is there with all that was before it.
    store.append(&lease, batch(1 + 3 * BATCH), Durability::Now).await.unwrap();
    let wal = fs::read(&log).unwrap();
    assert_eq!(resume(&database, &wal, "synced").await, 4 * BATCH);
}
