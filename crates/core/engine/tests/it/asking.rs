//! What can be asked about a session, and the small changes that go with it.

use std::sync::Arc;

use testkit::faulty::FaultyStore;
use testkit::stage::Actor;
use vocab::*;

use crate::support::*;

async fn read(actor: &mut Actor, after: u64) -> Vec<Arc<Entry>> {
    match ask_for(actor, Verb::Session(SessionVerb::Read { after })).await {
        Ok(Reply::Entries(entries)) => entries,
        other => panic!("no entries: {other:?}"),
    }
}

async fn inspect(actor: &mut Actor) -> Inspection {
    match ask_for(actor, Verb::Session(SessionVerb::Inspect)).await {
        Ok(Reply::Inspected(seen)) => *seen,
        other => panic!("not seen: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_session_can_be_looked_at_and_stays_unwritten() {
    let stage = stage(&Player::new([]));
    let mut actor = stage.open().await;
    assert!(read(&mut actor, 0).await.is_empty());
    let seen = inspect(&mut actor).await;
    assert_eq!((seen.state.messages, seen.state.last_seq, seen.compacting), (0, 0, false));
    assert_eq!(seen.spec.tools.len(), 3);
    assert!(seen.spec.system.contains("Workspace: "), "{}", seen.spec.system);
    let fault = ask_for(&mut actor, Verb::Session(SessionVerb::Export { file: None })).await.unwrap_err();
    assert_eq!(
        (fault.kind, &*fault.message),
        (FaultKind::NothingToDo, "nothing to export yet: start a conversation first")
    );
    assert!(stage.store.summary(&"s1".into()).await.unwrap().is_none(), "looking writes nothing");
}

#[tokio::test(start_paused = true)]
async fn reading_waits_for_what_is_on_its_way_and_answers_in_order() {
    let store = Arc::new(FaultyStore::new(Arc::new(store::MemoryStore::new())));
    let kept = store.clone();
    let stage = stage_with(&Player::new([say("ok")]), |options| options.store = kept);
    let mut actor = stage.open().await;
    store.slow(vec![500]);
    let title = actor.send(Verb::Session(SessionVerb::Set(Change::Title("slow".into())))).await;
    let entries = actor.send(Verb::Session(SessionVerb::Read { after: 1 })).await;
    let look = actor.send(Verb::Session(SessionVerb::Inspect)).await;
    let Ok(Reply::Entries(read)) = actor.reply(entries).await else { panic!("no entries") };
    assert_eq!(read.iter().map(|entry| line(&entry.body)).collect::<Vec<_>>(), ["title slow"], "after the first entry");
    actor.reply(look).await.unwrap();
    let order: Vec<Tag> = actor
        .told
        .iter()
        .filter_map(|told| match &told.event {
            Event::Reply { tag, .. } if *tag >= title => Some(*tag),
            _ => None,
        })
        .collect();
    assert_eq!(order, [title, entries, look]);
}

#[tokio::test(start_paused = true)]
async fn reading_has_exactly_what_was_told() {
    let stage = stage(&Player::new([calls(&[("look", "{}")]), say("ok")]));
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.turn_end().await;
    let told: Vec<Arc<Entry>> = actor
        .told
        .iter()
        .filter_map(|told| match &told.event {
            Event::Logged(entry) => Some(entry.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(read(&mut actor, 0).await, told);
    assert_eq!(read(&mut actor, 4).await, told[4..]);
    assert!(read(&mut actor, 1000).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_look_while_a_turn_runs_sees_it_and_what_waits() {
    let stage = stage(&Player::new([held("x")]));
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    text_of(&mut actor, "x").await;
    let tag = actor.deliver("later", Delivery::Enqueue).await;
    actor.reply(tag).await.unwrap();
    let seen = inspect(&mut actor).await;
    assert_eq!((seen.state.turn.is_some(), seen.waiting.len()), (true, 1));
    let policy = LanePolicy { cap: 7, ..LanePolicy::default() };
    ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Lane(policy.into())))).await.unwrap();
    let retry = RetryPolicy { retries_max: 9, ..RetryPolicy::default() };
    ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Retry(retry)))).await.unwrap();
    let compaction = CompactionPolicy { auto: false, ..CompactionPolicy::default() };
    ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Compaction(compaction)))).await.unwrap();
    let seen = inspect(&mut actor).await;
    assert_eq!((seen.lane, seen.retry, seen.compaction), (policy, retry, compaction));
}

#[tokio::test(start_paused = true)]
async fn a_look_during_a_compaction_says_so() {
    let plays = [say(&"a".repeat(900)), say("b"), vec![Step::Wait(3000), text("sum"), done(Finish::Stop)]];
    let stage = stage_with(&Player::new(plays), |options| options.tune = Box::new(|it| it.compaction.auto = false));
    let mut actor = stage.open().await;
    for text in ["one", "two"] {
        actor.prompt(text).await;
        actor.turn_end().await;
        actor.forget();
    }
    let tag = actor.send(Verb::Session(SessionVerb::Compact { instructions: None, wait: false })).await;
    assert!(inspect(&mut actor).await.compacting);
    actor.reply(tag).await.unwrap();
    assert!(!inspect(&mut actor).await.compacting);
}

#[tokio::test(start_paused = true)]
async fn the_locale_is_part_of_what_the_model_is_told_from_the_next_call_on() {
    let stage = stage(&Player::new([]));
    let mut actor = stage.open().await;
    assert!(!inspect(&mut actor).await.spec.system.contains("locale"));
    ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Locale(Some("de-DE".into()))))).await.unwrap();
    assert!(inspect(&mut actor).await.spec.system.contains("locale de-DE"));
    ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Locale(None)))).await.unwrap();
    assert!(!inspect(&mut actor).await.spec.system.contains("locale"));
}

#[tokio::test(start_paused = true)]
async fn models_can_be_asked_for_without_a_session() {
    let stage = stage(&Player::new([]));
    let mut actor = stage.actor();
    let Ok(Reply::Models(models)) = ask_for(&mut actor, Verb::Directory(DirectoryVerb::Models)).await else {
        panic!("no models")
    };
    assert_eq!(models.iter().map(|model| &*model.slug).collect::<Vec<_>>(), ["m1", "m2"]);
}

#[tokio::test(start_paused = true)]
async fn an_export_has_everything_that_was_told() {
    let stage = stage(&Player::new([say("the answer")]));
    let mut actor = stage.open().await;
    actor.prompt("the question").await;
    actor.turn_end().await;
    ask_for(&mut actor, Verb::Session(SessionVerb::Shell { command: "ls".into(), aside: false })).await.unwrap();
    let export = ask_for(&mut actor, Verb::Session(SessionVerb::Export { file: Some("out.md".into()) })).await;
    let Ok(Reply::Exported(export)) = export else { panic!("no export: {export:?}") };
    assert_eq!(export.path, stage.workspace().join("out.md"), "relative to the workspace");
    let text = stage.read("out.md").unwrap();
    assert!(text.contains("the question") && text.contains("the answer") && text.contains("ls"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn reading_a_store_that_fails_is_a_fault_and_the_next_try_works() {
    let store = Arc::new(FaultyStore::new(Arc::new(store::MemoryStore::new())));
    let kept = store.clone();
    let stage = stage_with(&Player::new([]), |options| options.store = kept);
    let mut actor = stage.open().await;
    ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Title("x".into())))).await.unwrap();
    store.fail_read(1);
    assert_eq!(
        ask_for(&mut actor, Verb::Session(SessionVerb::Read { after: 0 })).await.unwrap_err().kind,
        FaultKind::Store
    );
    assert_eq!(read(&mut actor, 0).await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_title_is_kept_as_it_can_be_shown() {
    let stage = stage(&Player::new([]));
    let mut actor = stage.open().await;
    ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Title("a\x1b[2Jb\u{202e}c".into())))).await.unwrap();
    let entries = read(&mut actor, 0).await;
    let title = entries.iter().find_map(|entry| match &entry.body {
        Body::Setting(SettingEntry::Title { title }) => Some(title.to_string()),
        _ => None,
    });
    assert_eq!(title.as_deref(), Some("a␛[2Jb<U+202E>c"));
}
