//! How fast and how large. The bounds are generous: a debug build on a busy machine must pass; the numbers are printed.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use store_sqlite::SqliteStore;
use vocab::{Durability, NewSession, Order, Query, Store, Summary};

use crate::kit::{new_session, raw, rounds, said};

const LIST_BOUND: Duration = Duration::from_millis(200);
/// Of a page with its costs.
const PAGE_BOUND: Duration = Duration::from_millis(50);
const TRIES: usize = 20;

async fn ten_thousand(home: &Path) -> SqliteStore {
    let store = SqliteStore::new(home.to_owned());
    let mut waiting = Vec::new();
    for n in 0..10_000u64 {
        let workspace = format!("/work/{}", n % 50).into();
        let lease = store.create(NewSession { workspace, ..new_session(&format!("session-{n:05}")) });
        let entry = vocab::Entry { at_ms: 1_000 + n as i64, ..(*said(1, "a prompt of an ordinary length")).clone() };
        waiting.push(store.append(&lease, vec![Arc::new(entry)], Durability::Commit));
        waiting.push(store.release(lease));
        if waiting.len() >= 2_000 {
            for future in waiting.drain(..) {
                future.await.unwrap();
            }
        }
    }
    for future in waiting {
        future.await.unwrap();
    }
    store
}

#[tokio::test]
async fn ten_thousand_sessions_are_listed_at_once() {
    let home = tempfile::tempdir().unwrap();
    let store = ten_thousand(home.path()).await;
    // A list that read logs would stumble here.
    raw(home.path()).execute("UPDATE records SET payload = zeroblob(2000)", []).unwrap();
    let all = Query::default;
    let queries = [
        ("all", all(), 10_000),
        ("newest 20", Query { limit: Some(20), ..all() }, 20),
        ("one workspace", Query { workspace: Some("/work/7".into()), ..all() }, 200),
        ("one prefix", Query { id_part: Some("session-012".into()), ..all() }, 100),
        ("non-empty", Query { non_empty: true, ..all() }, 10_000),
        ("latest here", Query { workspace: Some("/work/7".into()), non_empty: true, limit: Some(1), ..all() }, 1),
    ];
    for (name, query, wanted) in queries {
        let mut took = Duration::MAX;
        let mut listed: Vec<Summary> = Vec::new();
        // A busy machine takes our time away at random; work that is really too much is too much every time.
        for _ in 0..TRIES {
            let start = Instant::now();
            listed = store.list(query.clone()).await.unwrap();
            took = took.min(start.elapsed());
            if took < LIST_BOUND / 2 {
                break;
            }
        }
        println!("list, {name}: {} of 10000 in {took:?}", listed.len());
        assert_eq!(listed.len(), wanted, "{name}");
        assert!(took < LIST_BOUND, "{name} took {took:?}");
    }
}

/// What a gateway asks for a page of sessions: how many fit, the page, and what each of it has cost.
#[tokio::test]
async fn a_page_of_ten_thousand_sessions_comes_with_what_they_cost() {
    let home = tempfile::tempdir().unwrap();
    let store = ten_thousand(home.path()).await;
    let fill = "WITH days (day) AS (VALUES (1), (2), (3))
        INSERT INTO used SELECT day, id, 'user:ann', 'm', 1, 1, 0, 0, 1, 0, 1000, 0 FROM sessions, days;
        UPDATE sessions SET title = 'About the number ' || key";
    raw(home.path()).execute_batch(fill).unwrap();
    let all = || Query { order: Order::LastMessage, limit: Some(500), ..Query::default() };
    let behind = Some((6_000, "session-05000".into()));
    for (name, query, wanted) in [
        ("newest 500", all(), 500),
        ("500 in the middle", Query { offset: 5_000, ..all() }, 500),
        ("500 behind the middle", Query { behind, ..all() }, 500),
        ("a text that all have", Query { text: Some("NUMBER".into()), ..all() }, 500),
        ("a text that one has", Query { text: Some("Session-07777".into()), ..all() }, 1),
        ("a text that none has", Query { text: Some("größe".into()), ..all() }, 0),
    ] {
        let mut took = Duration::MAX;
        for _ in 0..TRIES {
            let start = Instant::now();
            store.count(Query { limit: None, offset: 0, ..query.clone() }).await.unwrap();
            let page = store.list(query.clone()).await.unwrap();
            let used = store.used_by(page.iter().map(|it| it.id.clone()).collect()).await.unwrap();
            took = took.min(start.elapsed());
            assert_eq!((page.len(), used.len()), (wanted, wanted), "{name}");
            assert!(used.iter().all(|sum| (sum.calls, sum.cost_nanos) == (3, 3_000)), "{name}: {used:?}");
            if took < PAGE_BOUND / 2 {
                break;
            }
        }
        println!("a page, {name}: {wanted} of 10000 in {took:?}");
        // What SQLite cannot compare is compared here, which a debug build is slow at.
        let bound = if wanted == 0 { LIST_BOUND } else { PAGE_BOUND };
        assert!(took < bound, "{name} took {took:?}");
    }
}

#[tokio::test]
async fn group_commit_is_faster_than_one_by_one() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let lease = store.create(new_session("s"));
    store.append(&lease, vec![said(1, "open")], Durability::Now).await.unwrap();
    let mut seq = 2;
    let alone = rounds(40, 400) as u64;
    let mut times = Vec::new();
    for synced in [true, false] {
        times.clear();
        for _ in 0..alone {
            let start = Instant::now();
            store
                .append(&lease, vec![said(seq, "an ordinary message of some length")], crate::kit::synced(synced))
                .await
                .unwrap();
            times.push(start.elapsed());
            seq += 1;
        }
        times.sort();
        let (middle, worst) = (times[times.len() / 2], times[times.len() * 99 / 100]);
        println!("append one by one, synced {synced}: p50 {middle:?}, p99 {worst:?}");
    }
    let together = rounds(2_000, 20_000) as u64;
    for synced in [true, false] {
        let start = Instant::now();
        let mut waiting = Vec::new();
        for _ in 0..together {
            waiting.push(store.append(
                &lease,
                vec![said(seq, "an ordinary message of some length")],
                crate::kit::synced(synced),
            ));
            seq += 1;
            if waiting.len() == 1_000 {
                for future in waiting.drain(..) {
                    future.await.unwrap();
                }
            }
        }
        for future in waiting {
            future.await.unwrap();
        }
        let rate = together as f64 / start.elapsed().as_secs_f64();
        println!("append, many waiting, synced {synced}: {rate:.0} per second");
        assert!(rate > 500.0, "{rate:.0} appends per second");
    }
    assert_eq!(store.summary(&lease.session).await.unwrap().unwrap().last_seq, seq - 1);
}

#[tokio::test]
async fn writers_that_are_faster_than_the_disk_wait_and_none_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let lease = store.create(new_session("s"));
    let futures: Vec<_> =
        (1..=20_000).map(|seq| store.append(&lease, vec![said(seq, "x")], Durability::Commit)).collect();
    for future in futures {
        future.await.unwrap();
    }
    let page = store.read(&lease.session, 0, usize::MAX).await.unwrap();
    let seqs: Vec<u64> = page.entries.iter().map(|entry| entry.seq).collect();
    assert_eq!(seqs, (1..=20_000).collect::<Vec<_>>(), "in the order of the calls");
}

#[tokio::test]
async fn role_memory() {
    let Some((store, _)) = crate::kit::role("numbers::role_memory") else { return };
    let before = memory();
    let lease = store.create(new_session("s"));
    store.append(&lease, vec![said(1, "one")], Durability::Now).await.unwrap();
    let opened = memory();
    for seq in 2..=2_000 {
        store.append(&lease, vec![said(seq, &"words ".repeat(100))], Durability::Commit).await.unwrap();
    }
    tokio::time::sleep(Duration::from_millis(700)).await;
    let idle = memory();
    crate::kit::tell(&format!("{} {}", opened - before, idle - before));
}

#[test]
fn an_open_store_is_small() {
    let home = tempfile::tempdir().unwrap();
    let child = crate::kit::child("numbers::role_memory", home.path(), 0).spawn().unwrap();
    let told = crate::kit::told(child, false);
    let numbers: Vec<i64> = told.last().unwrap().split(' ').map(|it| it.parse().unwrap()).collect();
    println!("PSS above a closed store: {} KiB after the first append, {} KiB idle after 2000", numbers[0], numbers[1]);
    assert!(numbers[1] < 6 * 1024, "{numbers:?} KiB");
}

/// PSS in KiB.
fn memory() -> i64 {
    let rollup = std::fs::read_to_string("/proc/self/smaps_rollup").unwrap();
    let line = rollup.lines().find(|line| line.starts_with("Pss:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
