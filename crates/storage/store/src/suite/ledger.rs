//! Who did what and what was used: written with the log, and kept when a session is gone.

use std::sync::Arc;

use vocab::*;

use super::{append, new_session, prompt};

fn by(entry: Arc<Entry>, who: &Principal) -> Arc<Entry> {
    Arc::new(Entry { by: Some(who.clone()), ..(*entry).clone() })
}

fn entry(seq: u64, body: Body, who: Option<&Principal>) -> Arc<Entry> {
    Arc::new(Entry { seq, parent: seq - 1, at_ms: DAY_MS * 3, body, by: who.cloned() })
}

fn answered(model: &str, tokens: u64) -> Body {
    let usage = Usage { input: tokens, output: 1, ..Usage::default() };
    let (blocks, end) = (Vec::new(), MessageEnd::Finished(Finish::Stop));
    Body::Assistant { turn: None, message: AssistantMessage { blocks, model: model.into(), end, usage } }
}

pub(super) async fn the_audit_has_a_line_for_what_somebody_did(store: &impl Store) {
    let (ann, bob) = (Principal::user("ann"), Principal::token("ci"));
    let (first, second) = (store.create(new_session("one")), store.create(new_session("two")));
    append(store, &first, vec![by(prompt(1, "hush"), &ann), prompt(2, "nobody's")]).await;
    append(store, &second, vec![by(prompt(1, "hush"), &bob)]).await;
    let mode = Body::Setting(SettingEntry::Mode { mode: Mode::Plan });
    append(store, &first, vec![entry(3, mode, Some(&bob))]).await;
    store.release(second).await.expect("a release");
    assert!(store.delete(&"two".into(), Some(ann.clone())).await.expect("a delete"));
    let lines = store.audit(AuditQuery::default()).await.expect("the audit");
    let shown: Vec<String> = lines
        .iter()
        .map(|line| {
            let detail = line.detail.as_deref().unwrap_or("-");
            format!("{} {} {} {} {detail} {:?}", line.number, line.by, line.action, line.session, line.seq)
        })
        .collect();
    let expected = [
        "4 user:ann delete two - None",
        "3 token:ci mode one plan Some(3)",
        "2 token:ci prompt two - Some(1)",
        "1 user:ann prompt one - Some(1)",
    ];
    assert_eq!(shown, expected);
    let of_ci = AuditQuery { by: Some(bob.as_str().into()), limit: Some(1), ..AuditQuery::default() };
    let of_ci = store.audit(of_ci).await.expect("the audit");
    assert_eq!(of_ci.iter().map(|line| line.number).collect::<Vec<_>>(), [3]);
    let older = AuditQuery { session: Some("one".into()), before: Some(3), ..AuditQuery::default() };
    let older = store.audit(older).await.expect("the audit");
    assert_eq!(older.iter().map(|line| line.number).collect::<Vec<_>>(), [1]);
    let verdict = store.verify_audit(None).await.expect("a verdict");
    let AuditVerdict::Whole { lines: 4, head, knows: None } = verdict else { panic!("{verdict:?}") };
    append(store, &first, vec![entry(4, answered("m", 1), Some(&ann)), by(prompt(5, "more"), &ann)]).await;
    let verdict = store.verify_audit(Some(head)).await.expect("a verdict");
    assert!(matches!(verdict, AuditVerdict::Whole { lines: 5, knows: Some(true), .. }), "{verdict:?}");
    let deed = Deed { by: bob.clone(), action: "config.set", detail: Some("tools.deny".into()) };
    store.record(deed).await.expect("a line of no session");
    let newest = store.audit(AuditQuery { limit: Some(1), ..AuditQuery::default() }).await.expect("the audit");
    let shown = newest.iter().map(|line| (&*line.by, &*line.action, line.session.as_str(), line.detail.as_deref()));
    assert_eq!(shown.collect::<Vec<_>>(), [("token:ci", "config.set", "", Some("tools.deny"))]);
    let verdict = store.verify_audit(None).await.expect("a verdict");
    assert!(matches!(verdict, AuditVerdict::Whole { lines: 6, .. }), "{verdict:?}");
}

pub(super) async fn a_sub_agents_task_is_no_prompt_and_its_session_goes_with_a_line(store: &impl Store) {
    let ann = Principal::user("ann");
    let opened = |child_of| Body::Opened {
        workspace: "/w".into(),
        model: "m".into(),
        mode: Mode::ReadOnly,
        forked_from: None,
        child_of,
    };
    let (parent, child) = (store.create(new_session("parent")), store.create(new_session("child")));
    append(store, &parent, vec![entry(1, opened(None), Some(&ann)), by(prompt(2, "go"), &ann)]).await;
    let of_parent = Some(("parent".into(), "c1".into()));
    append(store, &child, vec![entry(1, opened(of_parent), Some(&ann))]).await;
    append(store, &child, vec![by(prompt(2, "dig"), &ann), by(prompt(3, "and further"), &ann)]).await;
    append(store, &child, vec![by(prompt(4, "it is me now"), &ann)]).await;
    for lease in [parent, child] {
        store.release(lease).await.expect("released");
    }
    assert!(store.delete(&"parent".into(), Some(ann.clone())).await.expect("a delete"));
    let mut lines = store.audit(AuditQuery::default()).await.expect("the audit");
    lines.reverse();
    let shown = lines.iter().map(|line| {
        let detail = line.detail.as_deref().unwrap_or("-");
        format!("{} {} {} {detail}", line.by, line.action, line.session)
    });
    let expected = [
        "user:ann open parent /w",
        "user:ann prompt parent -",
        "user:ann open child /w",
        "user:ann task child sub-agent of parent",
        "user:ann prompt child -",
        "user:ann prompt child -",
        "user:ann delete parent -",
        "user:ann delete child -",
    ];
    assert_eq!(shown.collect::<Vec<_>>(), expected);
    let verdict = store.verify_audit(None).await.expect("a verdict");
    assert!(matches!(verdict, AuditVerdict::Whole { lines: 8, .. }), "{verdict:?}");
}

pub(super) async fn usage_is_added_up_by_day_model_session_principal_and_tool(store: &impl Store) {
    let (ann, bob) = (Principal::user("ann"), Principal::token("ci"));
    let (first, second) = (store.create(new_session("one")), store.create(new_session("two")));
    let spent = |call: Option<CallId>, tokens: u64| {
        let usage = Usage { input: tokens, ..Usage::default() };
        Body::Model(ModelEntry::Spent { turn: None, call, model: "b".into(), usage })
    };
    let called = |is_error: bool| {
        let result = CallResult {
            call: "c".into(),
            tool: "bash".into(),
            end: CallEnd::Ran,
            parts: Vec::new(),
            is_error,
            duration_ms: 0,
            mutation: None,
            edits: Vec::new(),
            details: None,
        };
        Body::Call(CallEntry::Ended { turn: "t".into(), result })
    };
    let entries = vec![
        entry(1, answered("a", 100), Some(&ann)),
        entry(2, answered("b", 10), Some(&bob)),
        // A copy, and what a session of its own has told.
        entry(3, answered("b", 1000), None),
        entry(4, spent(Some("c".into()), 5000), Some(&ann)),
        entry(5, spent(None, 7), Some(&ann)),
        entry(6, called(false), Some(&ann)),
        entry(7, called(true), Some(&bob)),
    ];
    append(store, &first, entries).await;
    let other_day = Arc::new(Entry { at_ms: 0, ..(*entry(1, answered("a", 1), Some(&ann))).clone() });
    append(store, &second, vec![other_day]).await;
    let sums = async |by: UsageBy, from: i64| {
        let query = UsageQuery { by, from, to: 3, session: None };
        let sums = store.usage(query).await.expect("sums");
        sums.iter()
            .map(|sum| format!("{} {}/{} {}", sum.name, sum.calls, sum.failed, sum.usage.input))
            .collect::<Vec<_>>()
    };
    assert_eq!(sums(UsageBy::Day, 0).await, ["0 1/0 1", "3 3/0 117"]);
    assert_eq!(sums(UsageBy::Model, 0).await, ["a 2/0 101", "b 2/0 17"]);
    assert_eq!(sums(UsageBy::Session, 0).await, ["one 3/0 117", "two 1/0 1"]);
    assert_eq!(sums(UsageBy::Principal, 1).await, ["user:ann 2/0 107", "token:ci 1/0 10"]);
    assert_eq!(sums(UsageBy::Tool, 0).await, ["bash 2/1 0"]);
    let of_two = UsageQuery { by: UsageBy::Model, from: 0, to: 9, session: Some("two".into()) };
    let of_two = store.usage(of_two).await.expect("sums");
    assert_eq!((of_two.len(), of_two[0].usage.input, of_two[0].unpriced), (1, 1, 2), "no price is known");
    store.release(first).await.expect("a release");
    assert!(store.delete(&"one".into(), Some(ann)).await.expect("a delete"));
    assert_eq!(sums(UsageBy::Day, 0).await, ["0 1/0 1", "3 3/0 117"], "what is deleted was paid for");
}

pub(super) async fn messages_of_people_are_counted_by_session(store: &impl Store) {
    let ann = Principal::user("ann");
    let said = |from| Body::User { turn: None, parts: vec![Part::text("x")], from };
    let (one, two) = (store.create(new_session("one")), store.create(new_session("two")));
    let entries = vec![
        entry(1, said(UserFrom::Prompt), Some(&ann)),
        entry(2, said(UserFrom::Steer), Some(&ann)),
        // Our own word, and a copy.
        entry(3, said(UserFrom::Reminder), Some(&ann)),
        entry(4, said(UserFrom::Prompt), None),
    ];
    append(store, &one, entries).await;
    append(store, &two, vec![entry(1, said(UserFrom::FollowUp), Some(&ann))]).await;
    let sums = async |session: Option<&str>| {
        let query = UsageQuery { by: UsageBy::Message, from: 0, to: 9, session: session.map(Into::into) };
        let sums = store.usage(query).await.expect("sums");
        sums.iter().map(|sum| format!("{} {}", sum.name, sum.calls)).collect::<Vec<_>>()
    };
    assert_eq!(sums(None).await, ["one 2", "two 1"]);
    assert_eq!(sums(Some("two")).await, ["two 1"]);
    let bob = Principal::user("bob");
    let later = Arc::new(Entry { at_ms: 4 * DAY_MS, ..(*entry(2, said(UserFrom::Prompt), Some(&bob))).clone() });
    append(store, &two, vec![later]).await;
    let days = UsageQuery { by: UsageBy::MessageDay, from: 0, to: 9, session: None };
    let days = store.usage(days).await.expect("sums");
    let shown: Vec<_> = days.iter().map(|sum| (&*sum.name, sum.calls, sum.sessions)).collect();
    assert_eq!(shown, [("3", 3, 2), ("4", 1, 1)], "each day, its messages and sessions");
    let models = UsageQuery { by: UsageBy::Session, from: 0, to: 9, session: None };
    assert_eq!(store.usage(models).await.expect("sums"), [], "a message costs nothing by itself");
}
