//! Several processes on one database: one writer per session, and nothing lost with a process that dies.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use store_sqlite::SqliteStore;
use testkit::odd::Dice;
use vocab::{Durability, FaultKind, Lease, Query, SessionId, Store};

use crate::kit::{self, new_session, rounds, said, tell, text, texts};

const APPENDS: usize = 5;

/// Fights for the session until it has appended its share, under several leases.
#[tokio::test]
async fn role_fighter() {
    let Some((store, number)) = kit::role("processes::role_fighter") else { return };
    let id = SessionId::from("s");
    let mut done = 0;
    let mut busy = 0;
    while done < APPENDS {
        let lease = match store.acquire(&id).await {
            Ok(acquired) => acquired.lease,
            Err(fault) => {
                assert_eq!(fault.kind, FaultKind::SessionBusy, "{fault}");
                assert!(fault.message.contains("process "), "who holds it is not named: {fault}");
                busy += 1;
                assert!(busy < 20_000, "never got the session");
                std::thread::sleep(Duration::from_micros(500));
                continue;
            }
        };
        // Two appends under one lease, so that a second writer in between would be seen.
        for _ in 0..2.min(APPENDS - done) {
            let seq = kit::next(&store, &lease).await;
            store.append(&lease, vec![said(seq, &format!("{number}.{done}"))], Durability::Commit).await.unwrap();
            tell(&format!("{seq} {number}.{done}"));
            done += 1;
        }
        store.release(lease).await.unwrap();
        std::thread::sleep(Duration::from_micros(300));
    }
}

#[tokio::test]
async fn many_processes_have_one_writer_and_lose_nothing() {
    for round in 0..rounds(3, 50) {
        let count = 2 + (round * 3) % 7;
        let home = tempfile::tempdir().unwrap();
        let store = SqliteStore::new(home.path().to_owned());
        let lease = store.create(new_session("s"));
        store.append(&lease, vec![said(1, "first")], Durability::Commit).await.unwrap();
        store.release(lease.clone()).await.unwrap();
        let start = |number| kit::child("processes::role_fighter", home.path(), number).spawn().unwrap();
        let children: Vec<_> = (0..count).map(start).collect();
        let mut log = BTreeMap::from([(1, "first".to_owned())]);
        for child in children {
            for line in kit::told(child, false) {
                let (seq, text) = line.split_once(' ').unwrap();
                let earlier = log.insert(seq.parse().unwrap(), text.to_owned());
                assert_eq!(earlier, None, "entry {seq} was acknowledged twice");
            }
        }
        assert_eq!(log.len(), 1 + count * APPENDS);
        assert_eq!(texts(&store, &lease.session).await, log.into_values().collect::<Vec<_>>(), "round {round}");
    }
}

/// Appends to a session of its own, each time onto the disk, and tells how long each took in microseconds.
#[tokio::test]
async fn role_of_many() {
    let Some((store, number)) = kit::role("processes::role_of_many") else { return };
    let lease = store.create(new_session(&format!("s{number}")));
    store.append(&lease, vec![said(1, "first")], Durability::Now).await.unwrap();
    let mut took = Vec::new();
    for seq in 2..=MANY_APPENDS {
        let since = Instant::now();
        store.append(&lease, vec![said(seq, "an ordinary message of some length")], Durability::Now).await.unwrap();
        took.push(since.elapsed().as_micros().to_string());
    }
    tell(&took.join(" "));
}

const MANY_APPENDS: u64 = 60;

/// Nobody is kept waiting out of proportion by how many there are. The bound is wide: all of them share two cores or so
/// with whatever else is tested, and what it is to notice are waits of seconds.
#[test]
fn many_processes_that_sync_do_not_starve_each_other() {
    let home = tempfile::tempdir().unwrap();
    let count = rounds(8, 32);
    let children: Vec<_> =
        (0..count).map(|number| kit::child("processes::role_of_many", home.path(), number).spawn().unwrap()).collect();
    let mut took: Vec<u64> = Vec::new();
    for child in children {
        let told = kit::told(child, false);
        took.extend(told.last().unwrap().split(' ').map(|it| it.parse::<u64>().unwrap()));
    }
    took.sort_unstable();
    let at = |percent: usize| Duration::from_micros(took[(took.len() - 1) * percent / 100]);
    println!("{count} processes, synced appends: p50 {:?}, p99 {:?}, longest {:?}", at(50), at(99), at(100));
    assert!(at(99) < Duration::from_secs(1), "p99 is {:?}", at(99));
}

/// Makes a session of its own in a home that may not exist yet.
#[tokio::test]
async fn role_first() {
    let Some((store, number)) = kit::role("processes::role_first") else { return };
    let lease = store.create(new_session(&format!("s{number}")));
    store.append(&lease, vec![said(1, "first")], Durability::Now).await.unwrap();
}

#[tokio::test]
async fn processes_that_come_first_together_all_get_in() {
    for _ in 0..rounds(5, 100) {
        let home = tempfile::tempdir().unwrap();
        let children: Vec<_> =
            (0..6).map(|number| kit::child("processes::role_first", home.path(), number).spawn().unwrap()).collect();
        for child in children {
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        let store = SqliteStore::new(home.path().to_owned());
        assert_eq!(store.list(Query::default()).await.unwrap().len(), 6);
    }
}

/// Holds a new session and waits to be killed.
#[tokio::test]
async fn role_holder() {
    let Some((store, _)) = kit::role("processes::role_holder") else { return };
    let lease = store.create(new_session("held"));
    store.append(&lease, vec![said(1, "mine")], Durability::Now).await.unwrap();
    tell("holding");
    std::thread::sleep(Duration::from_secs(60));
}

#[tokio::test]
async fn a_session_is_busy_until_its_process_is_dead() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let id = SessionId::from("held");
    let mut child = kit::child("processes::role_holder", home.path(), 0).spawn().unwrap();
    wait_for_session(&store, &id).await;
    let fault = store.acquire(&id).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::SessionBusy);
    assert!(fault.message.contains(&format!("process {} on ", child.id())), "{fault}");
    assert_eq!(store.delete(&id, None).await.unwrap_err().kind, FaultKind::SessionBusy);
    assert_eq!(texts(&store, &id).await, ["mine"], "reading stays possible");
    child.kill().unwrap();
    child.wait().unwrap();
    let lease = store.acquire(&id).await.expect("the lock ended with the process").lease;
    assert_eq!(lease.epoch, 2);
    store.append(&lease, vec![said(2, "ours")], Durability::Commit).await.unwrap();
    assert_eq!(texts(&store, &id).await, ["mine", "ours"]);
}

async fn wait_for_session(store: &SqliteStore, id: &SessionId) {
    for _ in 0..2_000 {
        if store.summary(id).await.unwrap().is_some() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("the other process made no session");
}

/// Appends until it is killed, and tells what was acknowledged.
#[tokio::test]
async fn role_writer() {
    let Some((store, number)) = kit::role("processes::role_writer") else { return };
    let id = SessionId::from("s");
    let lease = match store.acquire(&id).await {
        Ok(acquired) => acquired.lease,
        Err(fault) if fault.kind == FaultKind::UnknownSession => store.create(new_session("s")),
        Err(fault) => panic!("{fault}"),
    };
    let mut seq = kit::next(&store, &lease).await;
    loop {
        // Alone, several at once without waiting in between, and several in one call.
        let batch = vec![said(seq, &format!("{number}:{seq}")), said(seq + 1, &format!("{number}:{}", seq + 1))];
        let one = store.append(&lease, batch, kit::synced(seq % 3 == 0));
        let two = store.append(&lease, vec![said(seq + 2, &format!("{number}:{}", seq + 2))], Durability::Commit);
        one.await.unwrap();
        tell(&format!("{}", seq + 1));
        two.await.unwrap();
        tell(&format!("{}", seq + 2));
        seq += 3;
    }
}

#[tokio::test]
async fn what_was_acknowledged_survives_kill_9() {
    let home = tempfile::tempdir().unwrap();
    let id = SessionId::from("s");
    let mut dice = Dice(7);
    let mut known: Vec<String> = Vec::new();
    let mut kills_with_news = 0;
    for round in 0..rounds(10, 200) {
        let mut child = kit::child("processes::role_writer", home.path(), round).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(15 + dice.below(60) as u64));
        child.kill().unwrap();
        let acknowledged: u64 = kit::told(child, true).last().map_or(known.len() as u64, |line| line.parse().unwrap());
        kills_with_news += usize::from(acknowledged > known.len() as u64);
        let store = SqliteStore::new(home.path().to_owned());
        if store.summary(&id).await.unwrap().is_none() {
            assert_eq!(acknowledged, 0, "an acknowledged session is gone");
            continue;
        }
        let page = store.read(&id, 0, usize::MAX).await.unwrap();
        assert_eq!(page.recovered, None, "a kill damages nothing");
        let seqs: Vec<u64> = page.entries.iter().map(|entry| entry.seq).collect();
        assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>(), "each once and in order");
        assert!(seqs.len() as u64 >= acknowledged, "round {round}: {acknowledged} told, {} there", seqs.len());
        let now: Vec<String> = page.entries.iter().map(|entry| text(entry)).collect();
        assert_eq!(now[..known.len()], known[..], "what was there stays as it was");
        for (at, text) in now.iter().enumerate().skip(known.len()) {
            assert_eq!(*text, format!("{round}:{}", at + 1));
        }
        // The next process goes on from here.
        known = now;
        let lease: Lease = store.acquire(&id).await.expect("the dead hold nothing").lease;
        store.release(lease).await.unwrap();
    }
    println!("{} entries, {kills_with_news} kills in the middle of writing", known.len());
    assert!(kills_with_news > 0, "no process lived long enough to write");
}

#[tokio::test]
async fn an_append_that_waits_for_another_program_gives_up_when_the_process_ends() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let lease = store.create(new_session("s"));
    store.append(&lease, vec![said(1, "one")], Durability::Now).await.unwrap();
    let other = kit::raw(home.path());
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let since = Instant::now();
    let waiting = store.append(&lease, vec![said(2, "two")], Durability::Now);
    store.hurry();
    let fault = waiting.await.unwrap_err();
    assert!(fault.message.contains("locked for too long"), "{fault}");
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
    other.execute_batch("COMMIT").unwrap();
    // Whoever is not in the way is still heard.
    store.append(&lease, vec![said(2, "two")], Durability::Now).await.unwrap();
}

#[tokio::test]
async fn an_append_that_somebody_waits_for_gives_up_soon_and_the_next_one_waits_as_ever() {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    let lease = store.create(new_session("s"));
    store.append(&lease, vec![said(1, "one")], Durability::Now).await.unwrap();
    let other = kit::raw(home.path());
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let since = Instant::now();
    store.hasten();
    let fault = store.append(&lease, vec![said(2, "two")], Durability::Now).await.unwrap_err();
    assert!(fault.message.contains("locked for too long"), "{fault}");
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
    let waiting = store.append(&lease, vec![said(2, "two")], Durability::Now);
    tokio::time::sleep(Duration::from_millis(1500)).await;
    other.execute_batch("COMMIT").unwrap();
    waiting.await.expect("it has waited");
}
