//! What must outlive the store object, and what several of them on one place must not do to each other.

use vocab::{Durability, FaultKind, Query, Store};

use super::{append, new_session, note, prompt, refused, seqs};

/// `open(n)` opens place number `n`: the same number, the same sessions; a new number, an empty place.
pub async fn run_durable<S: Store>(open: impl Fn(usize) -> S) {
    what_was_answered_is_there_after_a_restart(|| open(0)).await;
    what_was_queued_is_written_before_the_end(|| open(1)).await;
    two_stores_share_a_place_but_not_a_session(|| open(2)).await;
}

async fn what_was_answered_is_there_after_a_restart<S: Store>(open: impl Fn() -> S) {
    let store = open();
    let lease = store.create(new_session("s"));
    append(&store, &lease, vec![prompt(1, "one"), note(2)]).await;
    store.append(&lease, vec![note(3)], Durability::Now).await.expect("a synced append");
    let before = store.summary(&lease.session).await.expect("a summary");
    drop(store);
    let store = open();
    assert_eq!(seqs(&store, &lease.session).await, [1, 2, 3]);
    assert_eq!(store.summary(&lease.session).await.expect("a summary"), before);
    refused(
        store.append(&lease, vec![note(4)], Durability::Commit).await,
        FaultKind::SessionBusy,
        "the lease died with its store",
    );
    let lease = store.acquire(&lease.session).await.expect("the owner is gone").lease;
    assert_eq!(lease.epoch, 2);
    append(&store, &lease, vec![note(4)]).await;
    drop(store);
    assert_eq!(seqs(&open(), &lease.session).await, [1, 2, 3, 4]);
}

async fn what_was_queued_is_written_before_the_end<S: Store>(open: impl Fn() -> S) {
    let store = open();
    let lease = store.create(new_session("s"));
    for seq in 1..=50 {
        drop(store.append(&lease, vec![note(seq)], Durability::Commit));
    }
    drop(store);
    assert_eq!(seqs(&open(), &lease.session).await, (1..=50).collect::<Vec<_>>());
}

async fn two_stores_share_a_place_but_not_a_session<S: Store>(open: impl Fn() -> S) {
    let (one, two) = (open(), open());
    let mine = one.create(new_session("mine"));
    let yours = two.create(new_session("yours"));
    append(&one, &mine, vec![note(1)]).await;
    append(&two, &yours, vec![note(1)]).await;
    refused(two.acquire(&mine.session).await, FaultKind::SessionBusy, "the other store holds it");
    refused(two.delete(&mine.session, None).await, FaultKind::SessionBusy, "the other store holds it");
    let clash = two.create(new_session("mine"));
    refused(two.append(&clash, vec![note(1)], Durability::Commit).await, FaultKind::SessionBusy, "the id is taken");
    assert_eq!(seqs(&two, &mine.session).await, [1], "reading stays possible");
    assert_eq!(two.list(Query::default()).await.expect("a list").len(), 2);
    one.release(mine.clone()).await.expect("released");
    let taken = two.acquire(&mine.session).await.expect("free now").lease;
    append(&two, &taken, vec![note(2)]).await;
    refused(one.append(&mine, vec![note(2)], Durability::Now).await, FaultKind::SessionBusy, "the epoch has moved on");
    assert_eq!(seqs(&one, &mine.session).await, [1, 2]);
    drop(two);
    let back = one.acquire(&mine.session).await.expect("a lease ends with its store").lease;
    append(&one, &back, vec![note(3)]).await;
    assert_eq!((back.epoch, seqs(&one, &mine.session).await), (3, vec![1, 2, 3]));
}
