//! The summary of a session: what its entries add up to.

use vocab::*;

use super::{append, entry, new_session, prompt};

fn usage(n: u64) -> Usage {
    Usage { input: n, cache_read: 2 * n, cache_write: 3 * n, output: 4 * n, estimated: n == 10 }
}

fn said(from: UserFrom) -> Body {
    Body::User { turn: None, parts: vec![Part::text("more")], from }
}

/// Its tokens are counted when its turn ends, not here.
fn answer() -> Body {
    let (blocks, end) = (vec![], MessageEnd::Finished(Finish::Stop));
    let message = AssistantMessage { blocks, model: "m".into(), end, usage: usage(1_000_000) };
    Body::Assistant { turn: None, message }
}

fn turn_ended(n: u64, stop: Stop) -> Body {
    let turn = TurnId::from("t1");
    let (usage, mutations, fault) = (usage(n), vec![], None);
    Body::Turn(TurnEntry::Ended(TurnEnd { turn, stop, iterations: 1, usage, mutations, fault }))
}

fn compacted(n: u64) -> Body {
    Body::Branch(BranchEntry::Compacted(Compaction {
        reason: CompactReason::Manual,
        summary: "s".into(),
        first_kept: 1,
        tokens_before: 1,
        tokens_after: 1,
        messages_before: 1,
        messages_after: 1,
        usage: usage(n),
        model: "".into(),
    }))
}

/// A compaction that was paid and failed.
fn spent(n: u64) -> Body {
    Body::Model(ModelEntry::Spent { turn: None, call: None, model: "m".into(), usage: usage(n) })
}

pub(super) async fn a_summary_adds_up(store: &impl Store) {
    let lease = store.create(new_session("sums"));
    let opened = Body::Opened {
        workspace: "/elsewhere".into(),
        model: "n".into(),
        mode: Mode::Plan,
        forked_from: None,
        child_of: None,
    };
    append(store, &lease, vec![entry(1, opened)]).await;
    let summary = store.summary(&lease.session).await.expect("a summary").expect("it exists");
    assert_eq!((&*summary.model, summary.mode, summary.messages), ("n", Mode::Plan, 0));
    let mode = |mode| Body::Setting(SettingEntry::Mode { mode });
    let started = Body::Turn(TurnEntry::Started { turn: TurnId::from("t1") });
    append(store, &lease, vec![entry(2, mode(Mode::Plan)), prompt(3, "hello"), entry(4, started)]).await;
    let ended = entry(6, turn_ended(1, Stop::EndTurn));
    append(store, &lease, vec![entry(5, answer()), ended, entry(7, said(UserFrom::Steer))]).await;
    append(store, &lease, vec![entry(8, said(UserFrom::FollowUp)), entry(9, turn_ended(10, Stop::Error))]).await;
    let model = Body::Setting(SettingEntry::Model { model: "big".into(), called: None });
    append(store, &lease, vec![entry(10, compacted(100)), entry(11, spent(1000)), entry(12, model)]).await;
    let title = Body::Setting(SettingEntry::Title { title: "T".into() });
    append(store, &lease, vec![entry(13, mode(Mode::ReadOnly)), entry(14, title)]).await;
    let wanted = Summary {
        id: lease.session.clone(),
        workspace: "/elsewhere".into(),
        model: "big".into(),
        mode: Mode::ReadOnly,
        title: Some("T".into()),
        thinking: None,
        preview: Some("hello".into()),
        created_ms: 1_000,
        updated_ms: 1_013,
        messages: 4,
        turns: 2,
        last_seq: 14,
        usage: Usage { input: 1111, cache_read: 2222, cache_write: 3333, output: 4444, estimated: true },
        child_of: None,
        last_message_ms: Some(1_008),
        lane: LaneWish::default(),
        elevated_until_ms: None,
        model_called: None,
    };
    assert_eq!(store.summary(&lease.session).await.expect("a summary"), Some(wanted.clone()));
    assert_eq!(store.list(Query::default()).await.expect("a list"), std::slice::from_ref(&wanted));
    assert_eq!(store.count(Query::default()).await.expect("a count"), 1);
}

pub(super) async fn a_new_lease_goes_on_counting(store: &impl Store) {
    let lease = store.create(new_session("sums"));
    append(store, &lease, vec![prompt(1, "hello"), entry(2, turn_ended(1, Stop::EndTurn))]).await;
    store.release(lease.clone()).await.expect("released");
    let lease = store.acquire(&lease.session).await.expect("acquired").lease;
    let level = Some("high".into());
    let thinking = Body::Setting(SettingEntry::Thinking { level: level.clone() });
    append(store, &lease, vec![prompt(3, "later"), entry(4, thinking), entry(5, turn_ended(2, Stop::EndTurn))]).await;
    let summary = store.summary(&lease.session).await.expect("a summary").expect("it exists");
    assert_eq!((summary.messages, summary.turns, summary.usage), (2, 2, usage(3)));
    assert_eq!((summary.thinking, summary.preview.as_deref()), (level, Some("hello")));
}
