//! Entries go in and come back.

use std::sync::Arc;

use vocab::{Durability, Entry, FaultKind, SessionId, Store};

use super::{append, as_stored, bodies, entry, new_session, note, refused, seqs};

pub(super) async fn entries_come_back_in_order_and_by_page(store: &impl Store) {
    let lease = store.create(new_session("pages"));
    append(store, &lease, vec![note(1), note(2)]).await;
    append(store, &lease, (3..=10).map(note).collect()).await;
    append(store, &lease, vec![]).await;
    let mut got = Vec::new();
    let mut after = 0;
    loop {
        let page = store.read(&lease.session, after, 3).await.expect("a page can be read");
        assert!(page.entries.len() <= 3, "a page keeps its limit");
        let Some(last) = page.entries.last() else { break };
        after = last.seq;
        got.extend(page.entries);
    }
    let wanted: Vec<Arc<Entry>> = (1..=10).map(note).collect();
    assert_eq!(got, wanted, "the pages add up to what was written");
    for after in [10, 11, u64::MAX] {
        let page = store.read(&lease.session, after, 3).await.expect("the end can be read");
        assert_eq!(page.entries, [], "nothing follows {after}");
    }
    let nothing = store.read(&lease.session, 0, 0).await.expect("no entries can be read");
    assert_eq!(nothing.entries, []);
}

pub(super) async fn every_body_comes_back(store: &impl Store) {
    let lease = store.create(new_session("bodies"));
    let written: Vec<Arc<Entry>> = (1..).zip(bodies()).map(|(seq, body)| entry(seq, body)).collect();
    append(store, &lease, written.clone()).await;
    let page = store.read(&lease.session, 0, usize::MAX).await.expect("all bodies can be read");
    assert_eq!(page.entries.len(), written.len());
    for (got, written) in page.entries.iter().zip(&written) {
        assert_eq!(**got, Entry { body: as_stored(&written.body), ..(**written).clone() });
    }
}

pub(super) async fn gaps_and_repeats_are_refused_whole(store: &impl Store) {
    let lease = store.create(new_session("gaps"));
    refused(store.append(&lease, vec![note(2)], Durability::Commit).await, FaultKind::Store, "a log starts at 1");
    append(store, &lease, vec![note(1), note(2)]).await;
    for bad in [vec![note(4)], vec![note(2)], vec![note(3), note(5)], vec![note(3), note(3)], vec![note(1)]] {
        refused(
            store.append(&lease, bad, Durability::Now).await,
            FaultKind::Store,
            "the numbers do not continue the log",
        );
        assert_eq!(seqs(store, &lease.session).await, [1, 2], "nothing of a refused batch is there");
    }
    append(store, &lease, vec![note(3)]).await;
    assert_eq!(seqs(store, &lease.session).await, [1, 2, 3], "the same entry may be offered again");
}

pub(super) async fn the_order_of_calls_is_the_order_of_the_log(store: &impl Store) {
    let lease = store.create(new_session("order"));
    let mut kept = Vec::new();
    for seq in 1..=60 {
        let future =
            store.append(&lease, vec![note(seq)], if seq % 20 == 0 { Durability::Now } else { Durability::Commit });
        // A third is dropped unpolled, the others are polled in reverse.
        if seq % 3 != 0 {
            kept.push(future);
        }
    }
    while let Some(future) = kept.pop() {
        future.await.expect("an append in order works");
    }
    assert_eq!(seqs(store, &lease.session).await, (1..=60).collect::<Vec<_>>());
}

pub(super) async fn many_sessions_do_not_mix(store: &impl Store) {
    let leases: Vec<_> = (0..20).map(|n| store.create(new_session(&format!("mix-{n}")))).collect();
    let mut waiting = Vec::new();
    for seq in 1..=10 {
        waiting.extend(leases.iter().map(|lease| store.append(lease, vec![note(seq)], Durability::Commit)));
        // One that is refused must not disturb its neighbours in the same batch.
        let bad = store.append(&leases[0], vec![note(99)], Durability::Commit);
        refused(bad.await, FaultKind::Store, "99 does not follow");
    }
    for future in waiting {
        future.await.expect("the neighbours of a refused append are written");
    }
    for lease in &leases {
        assert_eq!(seqs(store, &lease.session).await, (1..=10).collect::<Vec<_>>());
    }
}

pub(super) async fn an_unknown_session_is_named(store: &impl Store) {
    let id = SessionId::from("nobody");
    refused(store.read(&id, 0, 1).await, FaultKind::UnknownSession, "nothing to read");
    refused(store.acquire(&id).await, FaultKind::UnknownSession, "nothing to acquire");
    assert_eq!(store.summary(&id).await.expect("a question is no error"), None);
    assert!(!store.delete(&id, None).await.expect("deleting nothing is no error"));
}
