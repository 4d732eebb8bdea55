//! Messages to a session that works for a call of another one, and to one that has done so; and who is told for whom it works.

use std::sync::Arc;

use vocab::*;

use crate::subagents::{Family, family, subagent};
use crate::support::*;

#[tokio::test(start_paused = true)]
async fn a_child_takes_no_message_but_its_task_and_is_a_session_like_any_when_it_is_done() {
    let slow = vec![text("found"), Step::Wait(10_000), done(Finish::Stop)];
    let plays = [calls(&[("subagent", r#"{"prompt":"look"}"#)]), slow, say("thanks"), say("gladly")];
    let stage = stage_with(&Player::new(plays), |options| options.toolbox = Some(Arc::new(Family)));
    let mut parent = stage.open().await;
    parent.prompt("go").await;
    parent.until(|event| matches!(event, Event::Delta(Delta::CallProgress { .. }))).await;
    let mut visitor = stage.actor();
    visitor.open(Open::new(Which::Named("s2".into()))).await.unwrap();
    for delivery in [Delivery::Policy, Delivery::Enqueue, Delivery::RejectIfBusy, Delivery::Steer, Delivery::FollowUp] {
        let tag = visitor.deliver("and now this", delivery).await;
        let fault = visitor.reply(tag).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::WorksForCall, "{delivery:?}: {fault}");
        assert_eq!(
            &*fault.message,
            "this session works for a call of the session `s1`, and does nothing else meanwhile"
        );
        assert!(fault.hints[0].contains("`s1`"), "{:?}", fault.hints);
    }
    assert_eq!(parent.turn_end().await.stop, Stop::EndTurn, "its parent heard nothing of that");
    visitor.until(|event| matches!(event, Event::Gone { .. })).await;
    // It has done its work.
    let mut visitor = stage.actor();
    visitor.open(Open::new(Which::Named("s2".into()))).await.unwrap();
    let tag = visitor.deliver("what else?", Delivery::Policy).await;
    assert!(matches!(visitor.reply(tag).await, Ok(Reply::Started { .. })));
    assert_eq!((visitor.turn_end().await.stop, &*visitor.text()), (Stop::EndTurn, "gladly"));
    let log = log_of(&stage, "s2").await;
    assert!(!log.contains("and now this"), "{log}");
}

/// What would begin something beside the task, or change what it is done with.
fn beside() -> Vec<SessionVerb> {
    let input = Json::empty_object();
    vec![
        SessionVerb::Compact { instructions: None, wait: false },
        SessionVerb::Compact { instructions: None, wait: true },
        SessionVerb::Shell { command: "true".into(), aside: true },
        SessionVerb::Call { tool: "note".into(), input, limit_ms: None },
        SessionVerb::Command { name: "x".into(), args: "".into() },
        SessionVerb::StartOver,
        SessionVerb::Set(Change::Model("other".into())),
        SessionVerb::Set(Change::Mode(Mode::DangerFullAccess)),
        SessionVerb::Set(Change::Thinking(Some("high".into()))),
    ]
}

#[tokio::test(start_paused = true)]
async fn nothing_is_begun_or_changed_beside_the_task_of_a_child() {
    let slow = vec![text("found"), Step::Wait(10_000), done(Finish::Stop)];
    let plays = [calls(&[("subagent", r#"{"prompt":"look"}"#)]), slow, say("thanks")];
    let stage = stage_with(&Player::new(plays), |options| options.toolbox = Some(Arc::new(Family)));
    let mut parent = stage.open().await;
    parent.prompt("go").await;
    parent.until(|event| matches!(event, Event::Delta(Delta::CallProgress { .. }))).await;
    let mut visitor = stage.actor();
    let named = Open { mode: Some(Mode::DangerFullAccess), ..Open::new(Which::Named("s2".into())) };
    let opened = visitor.open(named).await.unwrap();
    let notices = opened.notices.join("; ");
    assert!(notices.contains("its settings stay") && notices.contains("`s1`"), "{notices}");
    for verb in beside() {
        let said = format!("{verb:?}");
        let fault = ask_for(&mut visitor, Verb::Session(verb)).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::WorksForCall, "{said}: {fault}");
    }
    for (name, args) in
        [("compact", ""), ("undo", ""), ("model", "other"), ("permissions", "plan"), ("thinking", "low")]
    {
        let Ok(Reply::Slash(reply)) = ask_for(&mut visitor, slash(name, args)).await else { panic!("/{name}") };
        assert_eq!(reply.result.unwrap_err().code, SlashCode::WorksForCall, "/{name}");
    }
    // With one of them goes all that comes with it, and who wanted it hears which one that was.
    let both = SessionVerb::SetAll(vec![Change::Title("refused".into()), Change::Model("other".into())]);
    let fault = ask_for(&mut visitor, Verb::Session(both)).await.unwrap_err();
    assert_eq!((fault.kind, fault.refused), (FaultKind::WorksForCall, Some(ChangeOf::Model)), "{fault}");
    // To look on and to name it is for everybody.
    for (name, args) in [("status", ""), ("model", ""), ("mode", ""), ("rename", "a child")] {
        let Ok(Reply::Slash(reply)) = ask_for(&mut visitor, slash(name, args)).await else { panic!("/{name}") };
        assert!(reply.result.is_ok(), "/{name}: {:?}", reply.result);
    }
    assert_eq!(parent.turn_end().await.stop, Stop::EndTurn, "its parent heard nothing of that");
    let log = log_of(&stage, "s2").await;
    assert!(!["other", "danger", "refused"].iter().any(|word| log.contains(word)), "{log}");
}

#[tokio::test(start_paused = true)]
async fn who_watches_learns_for_which_call_a_child_works() {
    let player = Player::new([subagent(r#"{"task":"look around"}"#), held("on")]);
    let stage = family(&player, Mode::Prompt);
    let mut watcher = stage.actor();
    ask_for(&mut watcher, Verb::Watch { sessions: Watched::All, level: Level::Summaries }).await.unwrap();
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    watcher.settle().await;
    let works_for = |session: &str| {
        watcher.told.iter().rev().find_map(|told| match &told.event {
            Event::Watch(WatchEvent::Stands(glance)) if told.session.as_str() == session => {
                Some(glance.child_of.clone())
            }
            _ => None,
        })
    };
    assert_eq!(works_for("s1"), Some(None));
    assert_eq!(works_for("s2"), Some(Some(("s1".into(), "c1".into()))));
}
