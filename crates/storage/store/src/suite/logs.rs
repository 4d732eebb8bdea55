//! Entries go in and come back.

use std::sync::Arc;

use vocab::{
    Body, BranchEntry, CompactReason, Compaction, Durability, Entry, FaultKind, LogWindow, SessionId, SettingEntry,
    Store, Usage,
};

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

pub(super) async fn a_window_has_the_end_and_what_counts_of_the_rest(store: &impl Store) {
    let lease = store.create(new_session("window"));
    let setting = |seq, level: &str| entry(seq, Body::Setting(SettingEntry::Thinking { level: Some(level.into()) }));
    append(store, &lease, vec![setting(1, "low"), setting(2, "high")]).await;
    append(store, &lease, (3..=20).map(note).collect()).await;
    let whole = store.window(&lease.session, 20).await.expect("a window can be read");
    assert_eq!((whole.carried.len(), whole.page.entries.len()), (0, 20), "nothing was let go of yet");
    append(store, &lease, vec![entry(21, compacted(15)), note(22)]).await;
    let of = |window: &LogWindow| {
        let numbers = |entries: &[Arc<Entry>]| entries.iter().map(|entry| entry.seq).collect::<Vec<_>>();
        (numbers(&window.carried), numbers(&window.page.entries))
    };
    let window = store.window(&lease.session, 22).await.expect("a window can be read");
    assert_eq!(of(&window), (vec![2], (15..=22).collect()), "the newest setting, and what is kept");
    assert_eq!(window.carried, [setting(2, "high")]);
    let earlier = store.window(&lease.session, 20).await.expect("a window can be read");
    assert_eq!(of(&earlier), (vec![], (1..=20).collect()), "as it was before that");
    // The branch goes on from before the compaction.
    let moved = Entry { parent: 12, ..(*entry(23, Body::Branch(BranchEntry::Moved { to: 12 }))).clone() };
    append(store, &lease, vec![Arc::new(moved), note(24)]).await;
    let left = store.window(&lease.session, 24).await.expect("a window can be read");
    assert_eq!(of(&left), (vec![], (1..=24).collect()), "what was let go of is needed again");
    append(store, &lease, vec![entry(25, compacted(24))]).await;
    let next = store.window(&lease.session, 25).await.expect("a window can be read");
    assert_eq!(of(&next), (vec![2], vec![24, 25]));
    refused(store.window(&"nobody".into(), 1).await, FaultKind::UnknownSession, "there is no such session");
}

fn compacted(first_kept: u64) -> Body {
    Body::Branch(BranchEntry::Compacted(Compaction {
        reason: CompactReason::Manual,
        summary: "so far".into(),
        first_kept,
        tokens_before: 9,
        tokens_after: 3,
        messages_before: 9,
        messages_after: 3,
        usage: Usage::default(),
        model: "m".into(),
    }))
}
