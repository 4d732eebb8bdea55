//! Reads beside writes: neither waits for the other longer than it must, and a read sees what was asked for before it.

use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use store_sqlite::SqliteStore;
use vocab::{Durability, FaultKind, Lease, Query, Store};

use crate::kit::{new_session, raw, said, texts};

/// Reading them takes a second or so in a debug build; an append takes a millisecond.
const LONG: u64 = 40_000;

async fn long_log(store: &SqliteStore) -> Lease {
    let lease = store.create(new_session("long"));
    for from in (1..=LONG).step_by(1_000) {
        let entries = (from..from + 1_000).map(|seq| said(seq, "a message of some length")).collect();
        store.append(&lease, entries, Durability::Commit).await.unwrap();
    }
    lease
}

#[tokio::test]
async fn whoever_wants_little_does_not_wait_for_whoever_wants_much() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let long = long_log(&store).await;
    let lease = store.create(new_session("short"));
    store.append(&lease, vec![said(1, "first")], Durability::Commit).await.unwrap();
    let start = Instant::now();
    let mut much = store.read(&long.session, 0, usize::MAX);
    let is_done =
        |much: &mut vocab::Later<'static, _>| much.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
    let mut slowest = Duration::ZERO;
    for seq in 2..=20 {
        let since = Instant::now();
        store.append(&lease, vec![said(seq, "more")], Durability::Commit).await.unwrap();
        assert_eq!(store.summary(&lease.session).await.unwrap().unwrap().last_seq, seq);
        assert_eq!(store.read(&lease.session, seq - 1, 10).await.unwrap().entries.len(), 1);
        let newest = store.list(Query { limit: Some(1), ..Query::default() }).await.unwrap();
        assert_eq!(newest[0].id, lease.session);
        slowest = slowest.max(since.elapsed());
    }
    // Another one who wants much gets a slice in turn, and is done long before the first.
    let other = store.read(&lease.session, 0, usize::MAX).await.unwrap();
    assert_eq!(other.entries.len(), 20);
    assert!(!is_done(&mut much), "the long read was too short to tell anything");
    println!("rounds of append, summary, read and list beside a long read: slowest {slowest:?}");
    assert_eq!(much.await.unwrap().entries.len() as u64, LONG);
    println!("the long read: {:?}", start.elapsed());
}

#[tokio::test]
async fn a_read_sees_what_was_asked_for_before_it() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let lease = store.create(new_session("s"));
    for seq in 1..=300 {
        // Nobody waits for the append.
        drop(store.append(&lease, vec![said(seq, "x")], crate::kit::synced(seq % 10 == 0)));
        let seen = match seq % 3 {
            0 => store.summary(&lease.session).await.unwrap().unwrap().last_seq,
            1 => store.read(&lease.session, 0, usize::MAX).await.unwrap().entries.len() as u64,
            _ => store.list(Query::default()).await.unwrap()[0].last_seq,
        };
        assert_eq!(seen, seq);
    }
    store.release(lease.clone()).await.unwrap();
    drop(store.delete(&lease.session, None));
    assert_eq!(store.read(&lease.session, 0, 9).await.unwrap_err().kind, FaultKind::UnknownSession);
}

/// Its sessions come and go while it is read, and others take over their numbers.
#[tokio::test]
async fn what_is_deleted_while_it_is_read_is_gone_and_not_damaged() {
    let home = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::new(home.path().to_owned()));
    let lease = long_log(&store).await;
    store.release(lease.clone()).await.unwrap();
    let other = SqliteStore::new(home.path().to_owned());
    let reading = store.read(&lease.session, 0, usize::MAX);
    other.delete(&lease.session, None).await.unwrap();
    let heir = other.create(new_session("heir"));
    let entries = (1..=LONG).map(|seq| said(seq, "of somebody else")).collect();
    other.append(&heir, entries, Durability::Commit).await.unwrap();
    match reading.await {
        Err(fault) => assert_eq!(fault.kind, FaultKind::UnknownSession, "{fault}"),
        Ok(page) => {
            assert_eq!((page.entries.len() as u64, page.recovered), (LONG, None), "it was read before it went")
        }
    }
}

#[tokio::test]
async fn a_database_of_an_earlier_version_gets_its_indexes() {
    let home = tempfile::tempdir().unwrap();
    let id = crate::kit::written(home.path(), 3).await;
    let earlier = "DROP INDEX sessions_by_workspace; DROP INDEX sessions_by_parent; PRAGMA user_version = 4";
    crate::kit::age(home.path(), 5);
    raw(home.path()).execute_batch(earlier).unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    assert_eq!(texts(&store, &id).await.len(), 3);
    let plan = |database: &Connection, sql: &str| {
        let sql = format!("EXPLAIN QUERY PLAN {sql}");
        let mut statement = database.prepare(&sql).unwrap();
        let lines: Vec<String> = statement.query_map([], |row| row.get(3)).unwrap().map(Result::unwrap).collect();
        lines.join("; ")
    };
    let database = raw(home.path());
    let lists = [
        ("WHERE child_of IS NULL", "sessions_by_use"),
        ("WHERE workspace = '/work' AND child_of IS NULL", "sessions_by_workspace"),
    ];
    for (filter, index) in lists {
        let plan =
            plan(&database, &format!("SELECT id, title FROM sessions {filter} ORDER BY used DESC, key DESC LIMIT 1"));
        assert!(plan.contains(index) && !plan.contains("TEMP B-TREE"), "{filter}: {plan}");
    }
    let children = plan(&database, "SELECT id FROM sessions WHERE child_of = 'x'");
    assert!(children.contains("sessions_by_parent"), "{children}");
}

#[tokio::test]
async fn what_has_time_is_there_for_whoever_reads_and_when_the_store_ends() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let lease = store.create(new_session("s"));
    store.append(&lease, vec![said(1, "one")], Durability::Now).await.unwrap();
    // Nobody waits for these; the writer holds them back for company.
    drop(store.append(&lease, vec![said(2, "two")], Durability::Soon));
    drop(store.append(&lease, vec![said(3, "three")], Durability::Commit));
    assert_eq!(texts(&store, &"s".into()).await, ["one", "two", "three"]);
    drop(store.append(&lease, vec![said(4, "four")], Durability::Soon));
    drop(store);
    let store = SqliteStore::new(home.path().to_owned());
    assert_eq!(texts(&store, &"s".into()).await, ["one", "two", "three", "four"]);
}

/// A prompt that rests is written for whoever reads, whatever else is written before it.
#[tokio::test]
async fn nobody_who_reads_waits_until_a_prompt_has_rested() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let (talk, other) = (store.create(new_session("talk")), store.create(new_session("other")));
    let mut seq = 0;
    // Turns that are short, and long enough that a prompt rests for all of its time.
    for _ in 0..30 {
        let prompt = store.append(&talk, vec![said(seq + 1, "prompt")], Durability::Soon);
        tokio::time::sleep(Duration::from_millis(12)).await;
        store.append(&talk, vec![said(seq + 2, "end")], Durability::Now).await.unwrap();
        prompt.await.unwrap();
        seq += 2;
    }
    let mut took = Vec::new();
    for round in 1..=40 {
        seq += 1;
        let before = store.append(&other, vec![said(round, "more")], Durability::Commit);
        let between = store.acquire(&"nobody".into());
        let prompt = store.append(&talk, vec![said(seq, "prompt")], Durability::Soon);
        let since = Instant::now();
        assert_eq!(store.read(&talk.session, seq - 1, 10).await.unwrap().entries.len(), 1);
        took.push(since.elapsed());
        before.await.unwrap();
        between.await.unwrap_err();
        prompt.await.unwrap();
    }
    took.sort();
    // A busy machine may make a few of them wait.
    let most = took[took.len() * 8 / 10];
    println!("reads behind a prompt: most of them in {most:?}, all of them in {:?}", took[took.len() - 1]);
    assert!(most < Duration::from_millis(10), "they wait for its rest: {took:?}");
}

/// Somebody presses what is written already: nothing is to be done, and that is done at once.
#[tokio::test]
async fn a_press_that_finds_nothing_holds_up_no_reader() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let lease = store.create(new_session("pressed"));
    store.append(&lease, vec![said(1, "first")], Durability::Now).await.unwrap();
    store.press(&lease);
    let read = tokio::time::timeout(Duration::from_secs(5), store.summary(&lease.session)).await;
    assert_eq!(read.expect("the reader waits for a job that is done").unwrap().unwrap().last_seq, 1);
}
