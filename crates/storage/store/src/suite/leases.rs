//! One writer per session.

use std::collections::BTreeSet;

use vocab::{Durability, FaultKind, Query, SessionId, Store};

use super::{append, new_session, note, prompt, refused, seqs};

pub(super) async fn a_session_appears_with_its_first_append(store: &impl Store) {
    let lease = store.create(new_session("late"));
    assert_eq!((lease.epoch, lease.new.is_some()), (1, true));
    assert_eq!(store.list(Query::default()).await.expect("an empty list"), []);
    refused(store.acquire(&lease.session).await, FaultKind::UnknownSession, "it does not exist yet");
    append(store, &lease, vec![note(1)]).await;
    assert_eq!(store.list(Query::default()).await.expect("a list").len(), 1);
    append(store, &lease, vec![note(2)]).await;
    let known = vocab::Lease { new: None, ..lease.clone() };
    append(store, &known, vec![note(3)]).await;
    assert_eq!(seqs(store, &lease.session).await, [1, 2, 3], "the lease works with and without its birth note");
    store.release(store.create(new_session("never"))).await.expect("a lease that was never used can be given back");
}

pub(super) async fn one_writer_at_a_time(store: &impl Store) {
    let lease = store.create(new_session("one"));
    append(store, &lease, vec![note(1)]).await;
    refused(store.acquire(&lease.session).await, FaultKind::SessionBusy, "its maker holds it");
    store.release(lease.clone()).await.expect("released");
    let acquired = store.acquire(&lease.session).await.expect("free again");
    let known = store.summary(&lease.session).await.expect("a question");
    assert_eq!((Some(acquired.summary), acquired.recovered), (known, None), "a lease says where the log is");
    let second = acquired.lease;
    assert_eq!((second.epoch, second.new.is_none()), (2, true));
    refused(store.acquire(&lease.session).await, FaultKind::SessionBusy, "the second holds it");
    append(store, &second, vec![note(2)]).await;
    store.release(second.clone()).await.expect("released");
    store.release(second).await.expect("releasing twice is no error");
    let third = store.acquire(&lease.session).await.expect("free again").lease;
    assert_eq!(third.epoch, 3);
    append(store, &third, vec![note(3)]).await;
    assert_eq!(seqs(store, &lease.session).await, [1, 2, 3]);
}

pub(super) async fn an_old_lease_is_refused(store: &impl Store) {
    let first = store.create(new_session("stale"));
    append(store, &first, vec![note(1)]).await;
    store.release(first.clone()).await.expect("released");
    refused(store.append(&first, vec![note(2)], Durability::Now).await, FaultKind::SessionBusy, "it was released");
    let second = store.acquire(&first.session).await.expect("free").lease;
    refused(store.append(&first, vec![note(2)], Durability::Now).await, FaultKind::SessionBusy, "it was taken over");
    let cleared = vocab::Lease { new: None, ..first.clone() };
    refused(store.append(&cleared, vec![note(2)], Durability::Now).await, FaultKind::SessionBusy, "it was taken over");
    store.release(first).await.expect("an old lease gives nothing back");
    refused(store.acquire(&second.session).await, FaultKind::SessionBusy, "the newest lease still holds");
    append(store, &second, vec![note(2)]).await;
    assert_eq!(seqs(store, &second.session).await, [1, 2]);
}

pub(super) async fn a_new_id_is_given_once(store: &impl Store) {
    let (one, two) = (store.create(new_session("twin")), store.create(new_session("twin")));
    append(store, &one, vec![note(1)]).await;
    refused(store.append(&two, vec![note(1)], Durability::Commit).await, FaultKind::SessionBusy, "the twin was first");
    refused(store.append(&two, vec![note(2)], Durability::Commit).await, FaultKind::SessionBusy, "the twin was first");
    store.release(two).await.expect("nothing to give back");
    append(store, &one, vec![note(2)]).await;
    store.release(one.clone()).await.expect("released");
    let three = store.create(new_session("twin"));
    refused(
        store.append(&three, vec![note(1)], Durability::Commit).await,
        FaultKind::SessionBusy,
        "the id is taken for good",
    );
    assert_eq!(seqs(store, &one.session).await, [1, 2]);
}

pub(super) async fn any_text_is_an_id(store: &impl Store) {
    let long = "x".repeat(5_000);
    let ids = ["", ".", "..", "../../escape", "a/b", "A", "a", "nul\0byte", "\u{fc}\u{2028}\n", "%", "'; --", &long];
    for id in ids {
        let lease = store.create(new_session(id));
        append(store, &lease, vec![prompt(1, id)]).await;
        store.release(lease.clone()).await.expect("released");
        let lease = store.acquire(&lease.session).await.expect("acquired").lease;
        append(store, &lease, vec![note(2)]).await;
    }
    for id in ids {
        assert_eq!(seqs(store, &SessionId::from(id)).await, [1, 2], "{id:?}");
    }
    let listed = store.list(Query::default()).await.expect("a list");
    let listed: BTreeSet<String> = listed.iter().map(|summary| summary.id.to_string()).collect();
    assert_eq!(listed, ids.iter().map(|id| (*id).to_owned()).collect());
}

pub(super) async fn delete_removes_all_of_it(store: &impl Store) {
    let lease = store.create(new_session("gone"));
    let other = store.create(new_session("stays"));
    append(store, &lease, vec![prompt(1, "secret"), note(2)]).await;
    append(store, &other, vec![note(1)]).await;
    refused(store.delete(&lease.session, None).await, FaultKind::SessionBusy, "it is in use");
    store.release(lease.clone()).await.expect("released");
    assert!(store.delete(&lease.session, None).await.expect("deleted"));
    assert!(!store.delete(&lease.session, None).await.expect("nothing left to delete"));
    refused(store.read(&lease.session, 0, 9).await, FaultKind::UnknownSession, "it is gone");
    assert_eq!(store.summary(&lease.session).await.expect("a question"), None);
    let again = store.create(new_session("gone"));
    append(store, &again, vec![note(1)]).await;
    assert_eq!(seqs(store, &again.session).await, [1], "a new session under an old id starts anew");
    assert_eq!(seqs(store, &other.session).await, [1], "others are left alone");
}
