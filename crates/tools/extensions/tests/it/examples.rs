//! The two examples, used as their comments say.

use std::path::PathBuf;

use vocab::*;

use crate::support::*;

fn example(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../examples/extensions").join(name)
}

#[tokio::test]
async fn the_guard_asks_before_a_deletion_and_can_be_switched_off() {
    let mut scene = ExtensionScene::new();
    scene.stage.write("build/x", "x");
    scene.start(&[&example("guard.py")]).await;
    let mut actor = scene.stage.open().await;
    let wipe = r#"call bash {"command":"rm -rf build"} then say "on""#;
    actor.prompt(wipe).await;
    let ask = dialog(&mut actor).await;
    assert_eq!(ask.kind, AskKind::Confirm { title: "Delete?".into(), message: "rm -rf build".into() });
    answer(&mut actor, &ask, Answer::Confirmed(false)).await;
    actor.turn_end().await;
    let denied = results(&actor);
    assert_eq!(denied[0].0, CallEnd::Denied);
    assert!(denied[0].1.starts_with("The user does not want this to be deleted."), "{denied:?}");
    assert!(scene.stage.read("build/x").is_some());
    notice(&mut actor, "guard on, 1 stopped").await;
    // Harmless commands are not asked about.
    actor.forget();
    actor.prompt(r#"call glob {"pattern":"**"} then say "on""#).await;
    actor.turn_end().await;
    assert!(!actor.told.iter().any(|told| format!("{told:?}").contains("AskOpened")));
    actor.forget();
    command(&mut actor, "guard", "off").await.unwrap();
    notice(&mut actor, "guard is off; 1 stopped").await;
    command(&mut actor, "guard", "sideways").await.unwrap();
    assert_eq!(trouble(&mut actor).await.1, "/guard on, /guard off or /guard status");
    scene.shutdown().await;
}

#[tokio::test]
async fn notes_are_kept_by_both_and_told_to_the_model() {
    let mut scene = ExtensionScene::new();
    scene.start(&[&example("notes.mjs")]).await;
    let mut actor = scene.stage.open().await;
    notice(&mut actor, "notes are kept").await;
    command(&mut actor, "note", "the build is slow").await.unwrap();
    notice(&mut actor, "- the build is slow").await;
    turn(&mut actor, r#"call note {"text":"tests need a database"} then say "ok""#).await;
    assert_eq!(results(&actor), [(CallEnd::Ran, "Noted. There are 2 notes.".to_owned())]);
    command(&mut actor, "note", "").await.unwrap();
    assert_eq!(trouble(&mut actor).await.1, "/note TEXT, or /note clear");
    // What was noted is in the system prompt of the next turn, while it runs.
    actor.forget();
    actor.prompt("hold").await;
    actor.until(|event| matches!(event, Event::Logged(entry) if matches!(entry.body, Body::User { .. }))).await;
    let system = loop {
        let tag = actor.send(Verb::Session(SessionVerb::Inspect)).await;
        let Ok(Reply::Inspected(inspection)) = actor.reply(tag).await else { panic!("no inspection") };
        if inspection.spec.system.contains("Notes so far") {
            break inspection.spec.system.to_string();
        }
        tokio::task::yield_now().await;
    };
    assert!(system.contains("- the build is slow\n- tests need a database"), "{system}");
    actor.send(Verb::Session(SessionVerb::Interrupt { turn: None })).await;
    actor.turn_end().await;
    scene.shutdown().await;
}
