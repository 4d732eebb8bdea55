//! What a list of sessions says without reading their logs.

use std::sync::Arc;

use vocab::*;

use super::{append, entry, new_session, note, prompt, refused};

pub(super) async fn a_preview_ends_on_a_character(store: &impl Store) {
    let lease = store.create(new_session("preview"));
    let image = Part::Image(Image { mime: "image/png".into(), base64: "AA==".into() });
    let only_image = Body::User { turn: None, parts: vec![image.clone()], from: UserFrom::Prompt };
    let parts = vec![Part::text("\u{1f600}".repeat(100)), image, Part::text("\u{e9}".repeat(100))];
    let long = Body::User { turn: None, parts, from: UserFrom::Prompt };
    append(store, &lease, vec![entry(1, only_image), entry(2, long)]).await;
    let summary = store.summary(&lease.session).await.expect("a summary").expect("it exists");
    let wanted: Arc<str> = ("\u{1f600}".repeat(100) + &"\u{e9}".repeat(20)).into();
    assert_eq!(summary.preview, Some(wanted), "the first 120 characters of the first text");
}

pub(super) async fn newest_first_filtered_and_paged(store: &impl Store) {
    // Later sessions are newer, except that 0 was used last of all; by a clock that goes where it likes.
    for (n, at_ms) in (1..10u64).chain([0]).zip([5_000, 4_000, 3_000, -1, 0, 9_000, 8_000, 7_000, 7_000, 10]) {
        let id = format!("{}-{n}", if n < 5 { "low" } else { "high" });
        let workspace = if n % 2 == 0 { "/a" } else { "/b" };
        let lease = store.create(NewSession { workspace: workspace.into(), ..new_session(&id) });
        let body = if n == 9 { note(1).body.clone() } else { prompt(1, "x").body.clone() };
        append(store, &lease, vec![Arc::new(Entry { seq: 1, parent: 0, at_ms, body, by: None })]).await;
    }
    let check = async |query: Query, wanted: &[u64]| {
        let listed = store.list(query.clone()).await.expect("a list");
        let numbers: Vec<u64> =
            listed.iter().filter_map(|it| it.id.as_str().split('-').next_back()?.parse().ok()).collect();
        assert_eq!(numbers, wanted, "{query:?}");
    };
    let all = Query::default;
    check(all(), &[0, 9, 8, 7, 6, 5, 4, 3, 2, 1]).await;
    check(Query { non_empty: true, ..all() }, &[0, 8, 7, 6, 5, 4, 3, 2, 1]).await;
    check(Query { workspace: Some("/b".into()), ..all() }, &[9, 7, 5, 3, 1]).await;
    check(Query { workspace: Some("/".into()), ..all() }, &[]).await;
    check(Query { id_part: Some("high".into()), ..all() }, &[9, 8, 7, 6, 5]).await;
    check(Query { id_part: Some("".into()), limit: Some(2), ..all() }, &[0, 9]).await;
    check(Query { id_part: Some("h-6".into()), ..all() }, &[6]).await;
    check(Query { id_part: Some("-2".into()), ..all() }, &[2]).await;
    check(Query { limit: Some(3), offset: 2, ..all() }, &[8, 7, 6]).await;
    check(Query { limit: Some(0), ..all() }, &[]).await;
    check(Query { offset: 8, ..all() }, &[2, 1]).await;
    check(Query { offset: 80, ..all() }, &[]).await;
    let every = Query { workspace: Some("/b".into()), id_part: Some("high-".into()), non_empty: true, ..all() };
    check(Query { limit: Some(1), offset: 1, ..every }, &[5]).await;
}

pub(super) async fn a_name_does_not_make_a_session_the_latest(store: &impl Store) {
    for id in ["old", "new"] {
        let lease = store.create(new_session(id));
        append(store, &lease, vec![prompt(1, id)]).await;
        store.release(lease).await.expect("released");
    }
    let latest = async || {
        let newest = store.list(Query { limit: Some(1), ..Query::default() }).await.expect("a list");
        newest.first().map(|it| it.id.to_string())
    };
    let lease = store.acquire(&"old".into()).await.expect("acquired").lease;
    append(store, &lease, vec![note(2)]).await;
    assert_eq!(latest().await.as_deref(), Some("new"), "its name is not its use");
    append(store, &lease, vec![prompt(3, "on")]).await;
    assert_eq!(latest().await.as_deref(), Some("old"));
}

pub(super) async fn a_child_is_listed_when_asked_for_and_goes_with_its_parent(store: &impl Store) {
    let opened = |child_of| Body::Opened {
        workspace: "/w".into(),
        model: "m".into(),
        mode: Mode::ReadOnly,
        forked_from: None,
        child_of,
    };
    let parent = store.create(new_session("parent"));
    append(store, &parent, vec![entry(1, opened(None))]).await;
    let child = store.create(new_session("child"));
    append(store, &child, vec![entry(1, opened(Some(("parent".into(), "c1".into()))))]).await;
    let ids = async |children| {
        let listed = store.list(Query { children, ..Query::default() }).await.expect("a list");
        listed.into_iter().map(|it| it.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(ids(false).await, ["parent"]);
    assert_eq!(store.count(Query::default()).await.expect("a count"), 1);
    assert_eq!(ids(true).await, ["child", "parent"]);
    for (parent, wanted) in [("parent", &["child"] as &[&str]), ("child", &[])] {
        let query = Query { children: true, child_of: Some(parent.into()), ..Query::default() };
        let listed = store.list(query).await.expect("a list");
        assert_eq!(listed.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), wanted, "of {parent}");
    }
    let summary = store.summary(&child.session).await.expect("a summary").expect("a child is found by its id");
    assert_eq!(summary.child_of, Some("parent".into()));
    store.release(parent.clone()).await.expect("released");
    refused(store.delete(&parent.session, None).await, FaultKind::SessionBusy, "a child of it is open");
    assert_eq!(ids(true).await, ["child", "parent"], "and so nothing was deleted");
    store.release(child).await.expect("released");
    assert!(store.delete(&parent.session, None).await.expect("a delete"));
    assert_eq!(ids(true).await, Vec::<String>::new());
}

pub(super) async fn a_prefix_is_taken_literally(store: &impl Store) {
    let ids = ["a", "a%b", "a_b", "axb", "A", "b", "a\u{10ffff}z", "\u{d7ff}q"];
    for id in ids {
        let lease = store.create(new_session(id));
        append(store, &lease, vec![note(1)]).await;
    }
    for (prefix, wanted) in [("a", 5), ("a%", 1), ("a_", 1), ("A", 1), ("a\u{10ffff}", 1), ("\u{d7ff}", 1), ("c", 0)] {
        let listed = store.list(Query { id_part: Some(prefix.into()), ..Query::default() }).await.expect("a list");
        assert_eq!(listed.len(), wanted, "{prefix:?} finds {listed:?}");
    }
}

/// What opens something, and what closes it.
fn openings() -> Vec<(Body, Body)> {
    let turn = TurnId::from("t1");
    let (stop, usage) = (Stop::EndTurn, Usage::default());
    let end = TurnEnd { turn: turn.clone(), stop, iterations: 1, usage, mutations: vec![], fault: None };
    let mut all = vec![(Body::Turn(TurnEntry::Started { turn }), Body::Turn(TurnEntry::Ended(end)))];
    let examples = super::bodies();
    for body in &examples {
        match body {
            Body::Ask(AskEntry::Opened(ask)) if all.len() < 2 => {
                let closed = AskEntry::Closed { ask: ask.id.clone(), end: AskEnd::Withdrawn };
                all.push((body.clone(), Body::Ask(closed)));
            }
            Body::Queue(QueueEntry::Queued(item)) if all.len() < 3 => {
                let settled = QueueEntry::Settled { item: item.id.clone(), end: ItemEnd::Dropped, why: None };
                all.push((body.clone(), Body::Queue(settled)));
            }
            _ => {}
        }
    }
    assert_eq!(all.len(), 3, "the examples have a question and a message that waits");
    all
}

pub(super) async fn what_is_unfinished_is_found(store: &impl Store) {
    let quiet = store.create(new_session("quiet"));
    append(store, &quiet, vec![prompt(1, "x"), note(2)]).await;
    let found = async || {
        let query = Query { unfinished: true, ..Query::default() };
        assert_eq!(
            store.count(query.clone()).await.expect("a count") as usize,
            store.list(query.clone()).await.expect("a list").len()
        );
        let found = store.list(query).await.expect("a list");
        found.into_iter().map(|it| it.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(found().await, Vec::<String>::new());
    for (number, (opens, closes)) in openings().into_iter().enumerate() {
        let id = format!("s{number}");
        let lease = store.create(new_session(&id));
        append(store, &lease, vec![prompt(1, "x"), entry(2, opens.clone())]).await;
        assert_eq!(found().await, [&*id], "{opens:?}");
        store.release(lease.clone()).await.expect("released");
        assert_eq!(found().await, [&*id], "whoever has it or has it not");
        let lease = store.acquire(&lease.session).await.expect("acquired").lease;
        append(store, &lease, vec![entry(3, closes), prompt(4, "y"), entry(5, opens)]).await;
        assert_eq!(found().await, [&*id], "it is open again");
        let again = openings().remove(number).1;
        append(store, &lease, vec![entry(6, again)]).await;
        assert_eq!(found().await, Vec::<String>::new());
    }
}

pub(super) async fn the_last_message_is_an_order_and_wishes_are_shown(store: &impl Store) {
    let at = |seq: u64, at_ms: i64| Arc::new(Entry { at_ms, ..(*prompt(seq, "hello")).clone() });
    for (id, at_ms) in [("ws:new", 30), ("ws:old", 10), ("tg:mid", 20)] {
        let lease = store.create(new_session(id));
        append(store, &lease, vec![at(1, at_ms)]).await;
    }
    let silent = store.create(new_session("ws:silent"));
    append(store, &silent, vec![note(1)]).await;
    let listed = async |query: Query| -> Vec<String> {
        let list = store.list(query).await.expect("a list");
        list.iter().map(|summary| summary.id.to_string()).collect()
    };
    let by_message = || Query { order: Order::LastMessage, ..Query::default() };
    assert_eq!(listed(by_message()).await, ["ws:new", "tg:mid", "ws:old", "ws:silent"]);
    let of_ws = Query { id_prefix: Some("ws:".into()), limit: Some(2), ..by_message() };
    assert_eq!(listed(of_ws.clone()).await, ["ws:new", "ws:old"]);
    assert_eq!(store.count(Query { limit: None, ..of_ws.clone() }).await, Ok(3));
    let plain = store.create(new_session("plain"));
    append(store, &plain, vec![at(1, 15)]).await;
    let or_plain = Query { or_without: Some(':'), ..of_ws };
    assert_eq!(listed(Query { limit: Some(3), ..or_plain.clone() }).await, ["ws:new", "plain", "ws:old"]);
    assert_eq!(store.count(Query { limit: None, ..or_plain }).await, Ok(4));
    let lane = LaneWish { cap: Some(3), ..LaneWish::default() };
    let settings = [
        SettingEntry::Lane { wish: lane },
        SettingEntry::Elevated { until_ms: Some(99) },
        SettingEntry::Lane { wish: LaneWish::default() },
        SettingEntry::Model { model: "vendor/small".into(), called: Some("fast".into()) },
        SettingEntry::Model { model: "vendor/small".into(), called: None },
    ];
    let mut shown = Vec::new();
    for (setting, seq) in settings.into_iter().zip(2..) {
        append(store, &silent, vec![entry(seq, Body::Setting(setting))]).await;
        let summary = store.summary(&silent.session).await.expect("a summary").expect("it exists");
        shown.push((summary.lane, summary.elevated_until_ms, summary.model_called));
    }
    let (until, fast) = (Some(99), Some("fast".into()));
    assert_eq!(
        shown,
        [
            (lane, None, None),
            (lane, until, None),
            (LaneWish::default(), until, None),
            (LaneWish::default(), until, fast),
            (LaneWish::default(), until, None)
        ]
    );
}
