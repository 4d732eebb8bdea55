//! What reports and searches ask for: sessions by a text, places in a list, what sessions have used, and logs from their ends.

use std::sync::Arc;

use vocab::*;

use super::{append, entry, new_session, note, prompt};

fn titled(seq: u64, title: &str) -> Arc<Entry> {
    entry(seq, Body::Setting(SettingEntry::Title { title: title.into() }))
}

async fn ids(store: &impl Store, query: Query) -> Vec<String> {
    let list = store.list(query.clone()).await.expect("a list");
    let all = Query { limit: None, offset: 0, ..query.clone() };
    let whole = store.list(all.clone()).await.expect("a list").len();
    assert_eq!(store.count(all).await.expect("a count") as usize, whole, "{query:?}");
    list.iter().map(|it| it.id.to_string()).collect()
}

pub(super) async fn a_text_is_found_in_ids_and_titles(store: &impl Store) {
    for (id, title) in [("ws:one", Some("Fix the PARSER")), ("tg:parser", None), ("ws:x", Some("Über 100 %"))] {
        let lease = store.create(new_session(id));
        append(store, &lease, vec![prompt(1, "parser"), title.map_or_else(|| prompt(2, ""), |it| titled(2, it))]).await;
    }
    let by = |text: &str| Query { text: Some(text.into()), ..Query::default() };
    for (text, wanted) in [
        ("Parser", &["tg:parser", "ws:one"] as &[&str]),
        ("WS:", &["ws:x", "ws:one"]),
        ("üBER", &["ws:x"]),
        ("%", &["ws:x"]),
        ("_", &[]),
        ("\\", &[]),
        ("w%x", &[]),
        ("ber 100 %", &["ws:x"]),
        ("' OR 1", &[]),
    ] {
        assert_eq!(ids(store, by(text)).await, wanted, "{text}");
    }
    assert_eq!(ids(store, Query { limit: Some(1), ..by("e") }).await, ["ws:x"]);
    assert_eq!(ids(store, Query { limit: Some(1), offset: 1, ..by("e") }).await, ["tg:parser"]);
    assert_eq!(ids(store, Query { limit: Some(9), offset: 2, ..by("e") }).await, ["ws:one"]);
    let both = Query { id_prefix: Some("ws:".into()), ..by("parser") };
    assert_eq!(ids(store, both).await, ["ws:one"]);
}

pub(super) async fn a_list_goes_on_behind_a_session(store: &impl Store) {
    let at = |at_ms: i64| Arc::new(Entry { at_ms, ..(*prompt(1, "x")).clone() });
    for (id, at_ms) in [("b", 20), ("a", 20), ("c", 30), ("d", 10)] {
        append(store, &store.create(new_session(id)), vec![at(at_ms)]).await;
    }
    append(store, &store.create(new_session("silent")), vec![note(1)]).await;
    let behind =
        |place: Option<(i64, SessionId)>| Query { order: Order::LastMessage, behind: place, ..Query::default() };
    assert_eq!(ids(store, behind(None)).await, ["c", "a", "b", "d", "silent"]);
    for (at_ms, id, wanted) in [
        (30, "c", &["a", "b", "d"] as &[&str]),
        (20, "a", &["b", "d"]),
        (20, "b", &["d"]),
        // One that has moved, or is not there any more.
        (25, "c", &["a", "b", "d"]),
        (0, "gone", &[]),
    ] {
        assert_eq!(ids(store, behind(Some((at_ms, id.into())))).await, wanted, "{at_ms} {id}");
    }
}

pub(super) async fn what_sessions_have_used_is_known_over_all_days(store: &impl Store) {
    let ann = Principal::user("ann");
    let answered = |seq: u64, model: &str, tokens: u64, at_ms: i64| {
        let usage = Usage { input: tokens, ..Usage::default() };
        let end = MessageEnd::Finished(Finish::Stop);
        let message = AssistantMessage { blocks: vec![], model: model.into(), end, usage };
        let body = Body::Assistant { turn: None, message };
        Arc::new(Entry { seq, parent: seq - 1, at_ms, body, by: Some(ann.clone()) })
    };
    assert_eq!(store.used_since().await, Ok(None));
    let (one, two) = (store.create(new_session("one")), store.create(new_session("two")));
    append(store, &one, vec![answered(1, "a", 5, 9 * DAY_MS), answered(2, "b", 7, 3 * DAY_MS)]).await;
    append(store, &two, vec![answered(1, "a", 1, 4 * DAY_MS)]).await;
    append(store, &store.create(new_session("idle")), vec![prompt(1, "x")]).await;
    assert_eq!(store.used_since().await, Ok(Some(3)));
    let used = async |sessions: &[&str]| {
        let mut sums = store.used_by(sessions.iter().map(|it| (*it).into()).collect()).await.expect("sums");
        sums.sort_by(|one, two| one.name.cmp(&two.name));
        sums.iter().map(|sum| format!("{} {} {}", sum.name, sum.calls, sum.usage.input)).collect::<Vec<_>>()
    };
    assert_eq!(used(&["two", "idle", "one", "absent"]).await, ["one 2 12", "two 1 1"]);
    let named = store.summaries(["two", "absent", "idle", "one"].map(Into::into).to_vec()).await.expect("summaries");
    assert_eq!(named.iter().map(|it| it.id.as_str()).collect::<Vec<_>>(), ["two", "idle", "one"], "as asked");
    assert_eq!(used(&["idle"]).await, Vec::<String>::new());
    assert_eq!(used(&[]).await, Vec::<String>::new());
}

pub(super) async fn a_log_is_looked_through_from_its_end(store: &impl Store) {
    let lease = store.create(new_session("long"));
    let turn = TurnId::from("t1");
    let said = |from| Body::User { turn: None, parts: vec![Part::text("x")], from };
    let compacted = || {
        let bodies = super::bodies();
        bodies.into_iter().find(|it| SkimFor::Compactions.is_met_by(it)).expect("an example")
    };
    let few = vec![
        prompt(1, "first"),
        entry(2, Body::Turn(TurnEntry::Started { turn })),
        entry(3, said(UserFrom::Reminder)),
        entry(4, compacted()),
        entry(5, said(UserFrom::Steer)),
    ];
    append(store, &lease, few).await;
    let look = async |what, before, limit| {
        let found = store.skim(&lease.session, Skim { what, before, limit }).await.expect("a look");
        (found.entries.iter().map(|entry| entry.seq).collect::<Vec<_>>(), found.older)
    };
    assert_eq!(look(SkimFor::Messages, None, 9).await, (vec![5, 1], None), "a reminder is nobody's word");
    assert_eq!(look(SkimFor::Messages, Some(5), 9).await, (vec![1], None));
    assert_eq!(look(SkimFor::Messages, Some(99), 1).await, (vec![5], Some(5)));
    assert_eq!(look(SkimFor::Messages, Some(1), 9).await, (vec![], None));
    assert_eq!(look(SkimFor::Runs, None, 9).await, (vec![4, 2], None));
    assert_eq!(look(SkimFor::Compactions, None, 9).await, (vec![4], None));
    // Much that is not looked for: a look gives up, and says where to go on.
    let end = SKIM_ROWS_MAX + 5;
    append(store, &lease, (6..=end).map(note).collect()).await;
    let (found, older) = look(SkimFor::Messages, None, 9).await;
    assert_eq!((found, older), (vec![], Some(end + 1 - SKIM_ROWS_MAX)));
    assert_eq!(look(SkimFor::Messages, older, 9).await, (vec![5, 1], None));
    append(store, &lease, (end + 1..end + 400).map(|seq| prompt(seq, "x")).collect()).await;
    let (found, older) = look(SkimFor::Messages, None, usize::MAX).await;
    assert_eq!((found.len(), older), (SKIM_ENTRIES_MAX, found.last().copied()));
    let absent = store.skim(&"absent".into(), Skim { what: SkimFor::Messages, before: None, limit: 1 }).await;
    super::refused(absent, FaultKind::UnknownSession, "there is no such session");
}

/// Every body is met by what its kind says, so that a store that looks by kinds misses nothing.
pub(super) fn kinds_and_bodies_agree() {
    for body in super::bodies() {
        let kind = crate::records::to_record(&body, &mut Vec::new());
        for what in [SkimFor::Messages, SkimFor::Runs, SkimFor::Compactions] {
            let is_read = crate::records::skimmed_kinds(what).contains(&kind);
            assert!(is_read || !what.is_met_by(&body), "{what:?} passes over {kind}");
        }
    }
}
