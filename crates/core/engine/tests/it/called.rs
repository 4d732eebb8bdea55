//! When peers hear that the model is called: behind everything that this call sends, once for each try.

use testkit::Stage;
use testkit::stage::Actor;
use vocab::*;

use crate::support::*;

async fn told(plays: Vec<Play>, tune: impl FnOnce(&mut Settings) + 'static, steer: Option<&str>) -> Vec<String> {
    let stage = stage_with(&Player::new(plays), |options| options.tune = Box::new(tune));
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    if let Some(text) = steer {
        actor.until(|event| matches!(event, Event::Delta(Delta::CallProgress { .. }))).await;
        actor.deliver(text, Delivery::Steer).await;
    }
    settled(&mut actor).await;
    order(&actor)
}
async fn settled(actor: &mut Actor) {
    actor.until(|event| *event == Event::Settled).await;
}

#[tokio::test(start_paused = true)]
async fn behind_the_users_message() {
    let told = told(vec![say("yes")], |_| {}, None).await;
    assert_eq!(told, ["t1 started", "user go", "t1 calls", "reply", "t1 ended", "settled"]);
}

#[tokio::test(start_paused = true)]
async fn behind_what_steers_the_round() {
    let told = told(vec![calls(&[("look", r#"{"slow":1}"#)])], |_| {}, Some("left")).await;
    let want = [
        "t1 started",
        "user go",
        "t1 calls",
        "reply",
        "item2 Consumed",
        "user left",
        "t1 calls",
        "reply",
        "t1 ended",
        "settled",
    ];
    assert_eq!(told, want);
}

#[tokio::test(start_paused = true)]
async fn once_for_each_try() {
    let told = told(vec![fail(FaultKind::Provider), fail(FaultKind::Network), say("yes")], |_| {}, None).await;
    let want = ["t1 started", "user go", "t1 calls", "t1 calls", "t1 calls", "reply", "t1 ended", "settled"];
    assert_eq!(told, want);
}

/// A session that keeps nothing word for word, after one turn; and what is told of the next.
async fn second_turn(plays: Vec<Play>) -> (Stage, Actor) {
    let stage = stage_with(&Player::new(plays), |options| {
        options.tune = Box::new(|settings| settings.compaction.keep_pct = 0);
    });
    let mut actor = stage.open().await;
    for text in ["go", "on"] {
        actor.forget();
        actor.prompt(text).await;
        settled(&mut actor).await;
    }
    (stage, actor)
}

#[tokio::test(start_paused = true)]
async fn behind_a_compaction_and_not_for_its_summary() {
    let full = vec![used(900, 1), text("big"), done(Finish::Stop)];
    let (_stage, actor) = second_turn(vec![full, say("SUM"), say("more")]).await;
    let want = [
        "t2 started",
        "user on",
        "compacting (Threshold)",
        "compacted (Threshold)",
        "t2 calls",
        "reply",
        "t2 ended",
        "settled",
    ];
    assert_eq!(order(&actor), want);
}

#[tokio::test(start_paused = true)]
async fn not_for_a_compaction_that_somebody_asks_for() {
    let (_stage, mut actor) = second_turn(vec![]).await;
    actor.forget();
    let tag = actor.send(Verb::Session(SessionVerb::Compact { instructions: None, wait: false })).await;
    actor.reply(tag).await.unwrap();
    actor.settle().await;
    let asked = format!("#{} compacted", tag.0);
    assert_eq!(order(&actor), ["compacting (Manual)", "compacted (Manual)", &asked]);
}

#[tokio::test(start_paused = true)]
async fn behind_the_compaction_of_an_overflow() {
    let (_stage, actor) = second_turn(vec![say("one"), fail(FaultKind::ContextOverflow), say("SUM"), say("two")]).await;
    let want = [
        "t2 started",
        "user on",
        "t2 calls",
        "compacting (Overflow)",
        "compacted (Overflow)",
        "t2 calls",
        "reply",
        "t2 ended",
        "settled",
    ];
    assert_eq!(order(&actor), want);
}
