//! How soon whoever watches is told of what another store writes, and that it costs nothing when nobody does.

use std::time::{Duration, Instant};

use store_sqlite::SqliteStore;
use vocab::{Durability, Store};

use crate::kit::{new_session, said};

#[tokio::test]
async fn a_reader_is_told_soon_and_while_much_happens_at_once() {
    let home = tempfile::tempdir().unwrap();
    let (writer, reader) = (SqliteStore::new(home.path().to_owned()), SqliteStore::new(home.path().to_owned()));
    let lease = writer.create(new_session("s"));
    writer.append(&lease, vec![said(1, "x")], Durability::Commit).await.unwrap();
    let mut seq = 1;
    let mut late = |pause: u64, rounds: usize| {
        let (writer, reader, lease) = (&writer, &reader, &lease);
        let first = seq;
        seq += rounds as u64;
        async move {
            let mut took = Vec::new();
            for seq in (first + 1)..=(first + rounds as u64) {
                let watch = reader.watch(&lease.session, seq - 1);
                tokio::time::sleep(Duration::from_millis(pause)).await;
                writer.append(lease, vec![said(seq, "more")], Durability::Commit).await.unwrap();
                let since = Instant::now();
                assert_eq!(watch.await, Ok(Some(seq)));
                took.push(since.elapsed());
            }
            took.sort();
            (took[took.len() / 2], took[took.len() - 1])
        }
    };
    let (busy, idle) = (late(10, 40).await, late(1_500, 3).await);
    println!(
        "told of another process's entries: busy p50 {:?}, max {:?}; idle p50 {:?}, max {:?}",
        busy.0, busy.1, idle.0, idle.1
    );
    assert!(busy.0 < Duration::from_millis(50) && idle.1 < Duration::from_secs(1), "{busy:?} {idle:?}");
}

fn threads_named(name: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).ok());
    names.filter(|it| it.trim() == name).count()
}

/// Alone in its process, so that no other test's threads are counted.
#[tokio::test]
async fn role_unwatched() {
    let Some((store, _)) = crate::kit::role("watching::role_unwatched") else { return };
    let lease = store.create(new_session("s"));
    store.append(&lease, vec![said(1, "x")], Durability::Commit).await.unwrap();
    assert_eq!(threads_named("store-watch"), 0, "nobody has watched yet");
    let watch = store.watch(&lease.session, 1);
    drop(watch);
    // Its thread finds that nobody waits any more, closes the database and sleeps.
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let sleeps = || {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let statuses = tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("status")).ok());
        let watcher = statuses.filter(|it| it.contains("store-watch")).last().unwrap();
        watcher.lines().find(|line| line.starts_with("voluntary")).unwrap().to_owned()
    };
    let before = sleeps();
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(sleeps(), before, "it does not wake while nobody watches");
    crate::kit::tell("done");
}

#[test]
fn watching_costs_nothing_when_nobody_does() {
    let home = tempfile::tempdir().unwrap();
    let child = crate::kit::child("watching::role_unwatched", home.path(), 0).spawn().unwrap();
    assert_eq!(crate::kit::told(child, false), ["done"]);
}

async fn soon<T>(watch: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(10), watch).await.expect("word of it")
}

#[tokio::test]
async fn whoever_watches_notices_that_the_database_is_another_one() {
    let (home, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let made = async |home: &std::path::Path, ids: &[&str]| {
        let store = SqliteStore::new(home.to_owned());
        for id in ids {
            let lease = store.create(new_session(id));
            store.append(&lease, vec![said(1, "x"), said(2, "y")], Durability::Now).await.unwrap();
            store.release(lease).await.unwrap();
        }
    };
    made(home.path(), &["a", "b", "c", "d"]).await;
    made(other.path(), &["d", "e"]).await;
    let reader = SqliteStore::new(home.path().to_owned());
    let moment = reader.watch_all(None).await.unwrap().now;
    let (gone, all) = (reader.watch(&"a".into(), 2), reader.watch_all(Some(moment)));
    tokio::time::sleep(Duration::from_millis(50)).await;
    std::fs::rename(other.path().join("sessions.db"), home.path().join("sessions.db")).unwrap();
    assert_eq!(soon(gone).await, Ok(None), "it is not in this one");
    let change = soon(all).await.unwrap();
    let used: Vec<&str> = change.used.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(used, ["d", "e"], "all that this one has is new");
    let next = reader.watch_all(Some(change.now));
    made(home.path(), &["f"]).await;
    let mut change = soon(next).await.unwrap();
    if change.used.is_empty() {
        // Whoever writes first begins the log, which may be seen as a change of its own.
        change = soon(reader.watch_all(Some(change.now))).await.unwrap();
    }
    let used: Vec<&str> = change.used.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(used, ["f"]);
}

#[tokio::test]
async fn more_sessions_than_one_answer_names_are_told_one_answer_after_the_other() {
    for count in [999, 1000, 1001] {
        let home = tempfile::tempdir().unwrap();
        let store = SqliteStore::new(home.path().to_owned());
        let make = async |id: String| {
            let lease = store.create(new_session(&id));
            store.append(&lease, vec![said(1, "x")], Durability::Commit).await.unwrap();
        };
        make("before".to_owned()).await;
        let mut moment = store.watch_all(None).await.unwrap().now;
        for number in 0..count {
            make(format!("s{number}")).await;
        }
        let mut named = Vec::new();
        while named.len() < count {
            let change = soon(store.watch_all(Some(moment))).await.unwrap();
            assert!(change.used.len() <= 1000);
            named.extend(change.used.into_iter().map(|(id, _)| id));
            moment = change.now;
        }
        let expected: Vec<vocab::SessionId> = (0..count).map(|number| format!("s{number}").into()).collect();
        assert_eq!(named, expected);
    }
}
