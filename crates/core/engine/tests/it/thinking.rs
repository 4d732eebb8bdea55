//! The thinking level is part of the log from the first entry on, and comes back from it.

use std::sync::Arc;

use testkit::Stage;
use testkit::stage::Actor;
use vocab::*;

use crate::support::*;

fn on(store: &Arc<dyn Store>, level: Option<&'static str>) -> Stage {
    let store = store.clone();
    stage_with(&Player::new([]), move |options| {
        options.store = store;
        options.tune = Box::new(move |settings| settings.thinking = level.map(Arc::from));
    })
}
fn memory() -> Arc<dyn Store> {
    Arc::new(store::MemoryStore::new())
}
async fn turn(actor: &mut Actor) {
    actor.forget();
    actor.prompt("go").await;
    actor.until(|event| *event == Event::Settled).await;
}
async fn think(actor: &mut Actor, level: Option<&str>) {
    ask_for(actor, Verb::Session(SessionVerb::Set(Change::Thinking(level.map(Arc::from))))).await.unwrap();
}
async fn listed(stage: &Stage) -> Option<Arc<str>> {
    stage.store.list(Query::default()).await.unwrap()[0].thinking.clone()
}
/// The log's words about it.
async fn words(stage: &Stage) -> Vec<String> {
    log(stage).await.lines().filter(|line| line.starts_with("thinking")).map(str::to_owned).collect()
}
async fn resume(stage: &Stage) -> (Actor, Option<Arc<str>>) {
    let mut actor = stage.actor();
    let opened = actor.open(Open::new(Which::Id("s1".into()))).await.unwrap();
    (actor, opened.state.thinking)
}
async fn now(actor: &mut Actor) -> Option<Arc<str>> {
    match ask_for(actor, Verb::Session(SessionVerb::Inspect)).await.unwrap() {
        Reply::Inspected(it) => {
            assert_eq!(it.state.thinking, it.spec.thinking);
            it.state.thinking.clone()
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_begins_writes_down_its_level_once() {
    for (default, chosen, want) in [
        (Some("low"), None, vec![r#"thinking Some("low")"#]),
        (None, Some(Some("high")), vec![r#"thinking Some("high")"#]),
        (Some("low"), Some(Some("high")), vec![r#"thinking Some("high")"#]),
        (Some("low"), Some(None), vec![]),
        (None, None, vec![]),
    ] {
        let stage = on(&memory(), default);
        let mut actor = stage.open().await;
        if let Some(chosen) = chosen {
            think(&mut actor, chosen).await;
        }
        turn(&mut actor).await;
        turn(&mut actor).await;
        assert_eq!(words(&stage).await, want, "{default:?} {chosen:?}");
        assert_eq!(listed(&stage).await.as_deref(), chosen.unwrap_or(default));
    }
}

#[tokio::test(start_paused = true)]
async fn a_resumed_session_has_the_level_of_its_log_and_not_the_default() {
    let store = memory();
    let first = on(&store, Some("low"));
    let mut actor = first.open().await;
    turn(&mut actor).await;
    think(&mut actor, Some("high")).await;
    first.engine.shutdown().await;
    let second = on(&store, Some("medium"));
    let (mut actor, opened) = resume(&second).await;
    assert_eq!(opened.as_deref(), Some("high"), "whoever opens it is told at once");
    assert_eq!(now(&mut actor).await.as_deref(), Some("high"));
    turn(&mut actor).await;
    assert_eq!(words(&second).await.len(), 2, "nothing changed, so nothing is written");
}

#[tokio::test(start_paused = true)]
async fn a_level_that_was_taken_away_stays_away() {
    let store = memory();
    let first = on(&store, Some("low"));
    let mut actor = first.open().await;
    turn(&mut actor).await;
    think(&mut actor, None).await;
    first.engine.shutdown().await;
    let second = on(&store, Some("medium"));
    let (mut actor, _) = resume(&second).await;
    assert_eq!(now(&mut actor).await, None);
    turn(&mut actor).await;
    assert_eq!(listed(&second).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_log_that_never_said_one_takes_the_default_and_says_so_from_then_on() {
    let store = memory();
    let first = on(&store, None);
    turn(&mut first.open().await).await;
    first.engine.shutdown().await;
    let second = on(&store, Some("medium"));
    let (mut actor, opened) = resume(&second).await;
    assert_eq!(opened.as_deref(), Some("medium"));
    turn(&mut actor).await;
    assert_eq!(listed(&second).await.as_deref(), Some("medium"));
}
