//! What sub-agents cost, and that it is counted once: in their own logs and in that of the session they worked for.

use std::sync::Arc;

use expect_test::expect;
use store::MemoryStore;
use testkit::faulty::FaultyStore;
use testkit::{Stage, slash_text};
use vocab::*;

use crate::subagents::{Family, family, result, subagent};
use crate::support::*;

/// A reply whose tokens are counted.
pub(crate) fn counted(input: u64, output: u64, mut play: Play) -> Play {
    play.insert(0, used(input, output));
    play
}

async fn summary(stage: &Stage, session: &str) -> Summary {
    stage.store.summary(&session.into()).await.unwrap().expect("it is saved")
}

/// What the log of a session adds up to, turn by turn; checks that each turn's end says the same.
async fn check_sums(stage: &Stage, session: &str) -> Usage {
    let entries = stage.store.read(&session.into(), 0, usize::MAX).await.unwrap().entries;
    let (mut turn, mut all) = (Usage::default(), Usage::default());
    for entry in &entries {
        match &entry.body {
            Body::Turn(TurnEntry::Started { .. }) => turn = Usage::default(),
            Body::Assistant { message, .. } => turn.add(&message.usage),
            Body::Model(ModelEntry::Spent { turn: Some(_), usage, .. }) => turn.add(usage),
            Body::Model(ModelEntry::Spent { turn: None, usage, .. }) => all.add(usage),
            Body::Branch(BranchEntry::Compacted(compaction)) => all.add(&compaction.usage),
            Body::Turn(TurnEntry::Ended(end)) => {
                assert_eq!(end.usage, turn, "{session}: {}", end.turn);
                all.add(&turn);
            }
            _ => {}
        }
    }
    assert_eq!(summary(stage, session).await.usage, all, "{session}");
    all
}

/// What the log of `s1` says its children spent.
async fn spent_by_children(stage: &Stage) -> Usage {
    let mut sum = Usage::default();
    for entry in stage.store.read(&"s1".into(), 0, usize::MAX).await.unwrap().entries {
        if let Body::Model(ModelEntry::Spent { call: Some(_), usage, .. }) = &entry.body {
            sum.add(usage);
        }
    }
    sum
}

/// The sums of the parent hold, and what it says of its children is what their own logs say.
pub(crate) async fn check_family(stage: &Stage, children: &[&str]) {
    check_sums(stage, "s1").await;
    let mut all = Usage::default();
    for child in children {
        all.add(&check_sums(stage, child).await);
    }
    assert_eq!(spent_by_children(stage).await, all);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_ends_the_child_first_and_what_it_cost_is_counted() {
    let player = Player::new([
        counted(100, 10, subagent(r#"{"task":"x","access":"workspace-write"}"#)),
        counted(20, 2, calls(&[("change", "{}")])),
        vec![used(40, 4), text("half a thou"), Step::Hold],
        say("fine"),
    ]);
    let stage = family(&player, Mode::DangerFullAccess);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    let shown = |event: &Event| matches!(event, Event::Delta(Delta::CallProgress { parts, .. }) if parts_text(parts) == "half a thou");
    actor.until(shown).await;
    assert_eq!(stage.engine.live().len(), 2);
    ask_for(&mut actor, Verb::Session(SessionVerb::Interrupt { turn: None })).await.unwrap();
    let end = actor.turn_end().await;
    assert_eq!((end.stop, stage.engine.live()), (Stop::Interrupted, vec!["s1".into()]));
    assert_eq!(end.usage, Usage { input: 160, output: 16, ..Usage::default() });
    assert_eq!(end.mutations, [("subagent".into(), "x".into())], "what it had changed is known");
    expect![[r#"
        opened m1 danger-full-access
        t1 started
          user (Prompt): go
          assistant:  [c1 subagent] (ToolUse)
          c1 subagent starts
          spent m1 60+6 by c1
          c1 Interrupted: interrupted
        t1 cut: Asked
        t1 ended: Interrupted, 0 rounds
    "#]]
    .assert_eq(&log(&stage).await);
    expect![[r#"
        opened m1 workspace-write, for c1 of s1
        t2 started
          user (Prompt): x
          assistant:  [c1 change] (ToolUse)
          c1 change starts
          c1 Ran: done
          assistant: half a thou (cut by an interrupt)
        t2 cut: Ending
        t2 ended: Interrupted, 1 rounds
    "#]]
    .assert_eq(&log_of(&stage, "s2").await);
    check_family(&stage, &["s2"]).await;
    actor.forget();
    let Reply::Slash(undone) = ask_for(&mut actor, slash("undo", "")).await.unwrap() else {
        panic!("no reply to /undo")
    };
    assert!(slash_text(&undone).contains("file"), "{}", slash_text(&undone));
    actor.prompt("again").await;
    assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
}

#[tokio::test(start_paused = true)]
async fn what_nobody_counted_is_estimated_also_for_a_child_that_is_interrupted() {
    let player = Player::new([subagent(r#"{"task":"x"}"#), held("half")]);
    let stage = family(&player, Mode::DangerFullAccess);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.until(|event| matches!(event, Event::Delta(Delta::CallProgress { .. }))).await;
    ask_for(&mut actor, Verb::Session(SessionVerb::Interrupt { turn: None })).await.unwrap();
    actor.turn_end().await;
    check_family(&stage, &["s2"]).await;
    let spent = spent_by_children(&stage).await;
    assert!(spent.estimated && spent.input > 0 && spent.output > 0, "{spent:?}");
}

#[tokio::test(start_paused = true)]
async fn retries_of_a_child_are_counted_too() {
    let player = Player::new([
        counted(10, 1, subagent(r#"{"task":"x"}"#)),
        vec![used(7, 0), fail_step(FaultKind::Network)],
        counted(30, 3, say("done")),
        counted(20, 2, say("good")),
    ]);
    let stage = family(&player, Mode::Prompt);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    assert_eq!(actor.turn_end().await.usage, Usage { input: 67, output: 6, ..Usage::default() });
    check_family(&stage, &["s2"]).await;
}

#[tokio::test(start_paused = true)]
async fn four_children_at_once_are_enough() {
    let one = || counted(10, 1, say("done"));
    let player = Player::new([calls(&[("crowd", "{}")]), one(), one(), one(), one(), say("good")]);
    let stage = family(&player, Mode::Prompt);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.turn_end().await;
    assert_eq!(result(&actor).text(), "done, done, done, done, QueueFull");
    check_family(&stage, &["s2", "s3", "s4", "s5"]).await;
    assert_eq!(stage.engine.live().len(), 1);
}

#[test]
fn after_a_crash_in_mid_child_both_logs_are_put_in_order() {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let life = |step: &dyn Fn(Stage) -> Later<'static, ()>, player: Arc<Player>| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let kept = store.clone();
        let stage = stage_with(&player, |options| {
            options.toolbox = Some(Arc::new(Family));
            options.store = kept;
        });
        runtime.block_on(step(stage));
        drop(runtime);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(store.owner_died());
    };
    let first = Player::new([subagent(r#"{"task":"x"}"#), held("half")]);
    life(
        &|stage| {
            Box::pin(async move {
                let mut actor = stage.open().await;
                actor.prompt("go").await;
                actor.until(|event| matches!(event, Event::Delta(Delta::CallProgress { .. }))).await;
            })
        },
        first,
    );
    life(
        &|stage| {
            Box::pin(async move {
                let mut actor = stage.actor();
                for session in ["s1", "s2"] {
                    let here = Some(stage.workspace().to_owned());
                    actor.open(Open { workspace: here, ..Open::new(Which::Id(session.into())) }).await.unwrap();
                    actor.prompt("what happened?").await;
                    actor.turn_end().await;
                    actor.forget();
                }
                expect![[r#"
                    opened m1 danger-full-access
                    t1 started
                      user (Prompt): go
                      assistant:  [c1 subagent] (ToolUse)
                      c1 subagent starts
                      c1 Lost: no result: what came of this call is not known; it may have run: check what it did before trying again
                    t1 ended: Error, 0 rounds, Internal: the process ended during this turn, or could not write its end
                    recovered: 1 tool call(s) had no result and were closed with an error
                    t1 started
                      user (Prompt): what happened?
                      assistant: ok (Stop)
                    t1 ended: EndTurn, 0 rounds
                "#]].assert_eq(&log(&stage).await);
                expect![[r#"
                    opened m1 read-only, for c1 of s1
                    t2 started
                      user (Prompt): x
                    t2 ended: Error, 0 rounds, Internal: the process ended during this turn, or could not write its end
                    t2 started
                      user (Prompt): what happened?
                      assistant: ok (Stop)
                    t2 ended: EndTurn, 0 rounds
                "#]]
                .assert_eq(&log_of(&stage, "s2").await);
                check_sums(&stage, "s1").await;
                check_sums(&stage, "s2").await;
            })
        },
        Player::new([]),
    );
}
