//! Two owners on the same sessions: who has one, what becomes of it when its owner is not heard of, and how that owner
//! learns of it.

use vocab::{Durability, FaultKind, Lease, Store};

use super::{append, new_session, note, refused, seqs, watching};

/// Two owners on the same sessions, both fresh.
pub struct TwoOwners<S> {
    pub one: S,
    pub other: S,
    /// Makes it so that `one` was not heard of for its time to live, until it next writes.
    pub lapse: Box<dyn Fn(&S)>,
    /// How `other`'s sessions are said to be whose.
    pub other_is_called: String,
}

/// Runs every check, each on two fresh owners.
pub async fn run_owners<S: Store>(make: impl Fn() -> TwoOwners<S>) {
    a_session_is_its_owners_while_it_lives(make()).await;
    who_is_not_heard_of_can_lose_a_session_and_is_told(make()).await;
    who_comes_back_before_anybody_came_has_lost_nothing(make()).await;
    what_is_given_back_is_not_lost(make()).await;
    let owners = make();
    watching::a_reader_is_told_of_new_entries(&owners.one, &owners.other).await;
    let owners = make();
    watching::a_reader_of_all_is_told_who_was_used(&owners.one, &owners.other).await;
}

async fn made(store: &impl Store, id: &str) -> Lease {
    let lease = store.create(new_session(id));
    append(store, &lease, vec![note(1)]).await;
    lease
}

fn is_ours(lease: &Lease) -> bool {
    lease.signal.lost().is_none()
}

async fn a_session_is_its_owners_while_it_lives<S: Store>(owners: TwoOwners<S>) {
    let TwoOwners { one, other, .. } = owners;
    let lease = made(&one, "s").await;
    refused(other.acquire(&lease.session).await, FaultKind::SessionBusy, "one has it");
    refused(other.delete(&lease.session, None).await, FaultKind::SessionBusy, "one has it");
    let twin = other.create(new_session("s"));
    refused(other.append(&twin, vec![note(1)], Durability::Now).await, FaultKind::SessionBusy, "one has made it");
    append(&one, &lease, vec![note(2)]).await;
    assert_eq!(seqs(&other, &lease.session).await, [1, 2], "everybody may read");
    assert!(is_ours(&lease));
}

async fn who_is_not_heard_of_can_lose_a_session_and_is_told<S: Store>(owners: TwoOwners<S>) {
    let TwoOwners { one, other, lapse, other_is_called } = owners;
    let (made_one, kept) = (made(&one, "made").await, made(&one, "kept").await);
    let opened = made(&one, "opened").await;
    one.release(opened.clone()).await.expect("released");
    let opened = one.acquire(&opened.session).await.expect("it is free").lease;
    lapse(&one);
    let mut taken = Vec::new();
    for lost in [&made_one, &opened] {
        let acquired = other.acquire(&lost.session).await.expect("its owner was not heard of");
        assert_eq!(acquired.lease.epoch, lost.epoch + 1);
        append(&other, &acquired.lease, vec![note(2)]).await;
        taken.push(acquired.lease);
    }
    // The next thing that it does, whatever it is, tells it of all it has lost; and nothing else is lost with it.
    append(&one, &kept, vec![note(2)]).await;
    for lost in [&made_one, &opened] {
        let fault = lost.signal.lost().expect("it is somebody else's, and its holder was told");
        assert_eq!(fault.kind, FaultKind::SessionBusy, "{fault}");
        assert!(fault.message.contains(&other_is_called), "who has it now: {fault}");
        refused(one.append(lost, vec![note(2)], Durability::Now).await, FaultKind::SessionBusy, "it was taken over");
        one.release((*lost).clone()).await.expect("what is lost gives nothing back");
        refused(one.acquire(&lost.session).await, FaultKind::SessionBusy, "the other has it");
    }
    assert!(is_ours(&kept));
    refused(other.acquire(&kept.session).await, FaultKind::SessionBusy, "its owner was heard of again");
    for lease in taken {
        assert!(is_ours(&lease));
        append(&other, &lease, vec![note(3)]).await;
        assert_eq!(seqs(&one, &lease.session).await, [1, 2, 3]);
        other.release(lease.clone()).await.expect("released");
        one.acquire(&lease.session).await.expect("it is free again");
    }
}

async fn who_comes_back_before_anybody_came_has_lost_nothing<S: Store>(owners: TwoOwners<S>) {
    let TwoOwners { one, other, lapse, .. } = owners;
    let (lease, second) = (made(&one, "s").await, made(&one, "t").await);
    lapse(&one);
    append(&one, &lease, vec![note(2)]).await;
    append(&one, &second, vec![note(2)]).await;
    assert!(is_ours(&lease) && is_ours(&second));
    for lease in [&lease, &second] {
        refused(other.acquire(&lease.session).await, FaultKind::SessionBusy, "its owner is back");
    }
    assert_eq!(seqs(&one, &lease.session).await, [1, 2]);
}

async fn what_is_given_back_is_not_lost<S: Store>(owners: TwoOwners<S>) {
    let TwoOwners { one, other, lapse, .. } = owners;
    let (lease, kept) = (made(&one, "s").await, made(&one, "kept").await);
    one.release(lease.clone()).await.expect("released");
    lapse(&one);
    let second = other.acquire(&lease.session).await.expect("it is free").lease;
    append(&other, &second, vec![note(2)]).await;
    append(&one, &kept, vec![note(2)]).await;
    assert!(is_ours(&lease), "who gave it back has nothing to lose");
    refused(one.append(&lease, vec![note(3)], Durability::Now).await, FaultKind::SessionBusy, "and nothing to write");
}
