//! Turns that go on after a restart, and the servers of tools that have to start first.

use std::sync::Arc;

use expect_test::expect;
use testkit::Stage;
use testkit::fakes::CountedIds;
use testkit::faulty::FaultyStore;
use tokio::time::Instant;
use vocab::*;

use crate::continuing::{answer, faulty, log_from, progress_of, resume};
use crate::mcp::{Fake, bringing};
use crate::recovery::life;
use crate::support::*;

/// With the user's own servers, which have to start anew in every life.
fn on(store: &Arc<FaultyStore>, plays: impl IntoIterator<Item = Play>, asks: &str, own: &[&str]) -> Stage {
    let (store, ids) = (store.clone(), vec![(IdKind::Ask, asks.to_owned())]);
    let fake = Arc::new(Fake::default());
    *fake.own.lock().unwrap() = bringing(Which::New, own).servers;
    stage_with(&Player::new(plays), |options| {
        options.store = store;
        options.servers = fake;
        options.mode = Mode::Prompt;
        options.ids = CountedIds::with_names(ids);
        options.tune = Box::new(|settings| settings.on_restart = OnRestart::Continue);
    })
}

const DO_IT: &str = "mcp__slow__do_it";
const READ: &str = "mcp__slow__list_all";

/// A call of a server's tool is allowed and dies in the middle; another one stands behind it.
fn dies_in_a_call(store: &Arc<FaultyStore>, own: &[&str], brought: &[&str]) {
    life(store, async || {
        let stage = on(store, [calls(&[(DO_IT, r#"{"slow":1}"#), (READ, "{}")])], "ask1", own);
        let mut actor = stage.actor();
        actor.open(bringing(Which::New, brought)).await.unwrap();
        actor.prompt("go").await;
        let ask = actor.ask().await;
        answer(&mut actor, ask.id, Answer::Allow(Scope::Once)).await;
        actor.until(progress_of("c1")).await;
    });
}

#[test]
fn a_call_that_may_have_run_waits_for_its_server_and_is_asked_about() {
    for (own, brought) in [(&["slow"][..], &[][..]), (&[], &["slow"])] {
        let store = faulty();
        dies_in_a_call(&store, own, brought);
        life(&store, async || {
            let stage = on(&store, [say("done")], "ask2", own);
            let mut actor = stage.actor();
            actor.open(bringing(Which::Id("s1".into()), brought)).await.unwrap();
            let ask = actor.ask().await;
            let AskKind::Permission(asked) = &ask.kind else { panic!("{ask:?}") };
            assert_eq!((&*asked.tool, asked.may_have_run), (DO_IT, true));
            answer(&mut actor, ask.id, Answer::Allow(Scope::Once)).await;
            assert_eq!(actor.turn_end().await.mutations.len(), 1);
            expect![[r#"
                recovered: the process ended during this turn, which goes on now: its calls go on
                  ask2 may mcp__slow__do_it run?
                  ask2 answered Allow(Once) by a tester
                  c1 Ran: do it did it
                  c2 mcp__slow__list_all starts
                  c2 Ran: list/all did it
                  assistant: done (Stop)
                t1 ended: EndTurn, 1 rounds
            "#]]
            .assert_eq(&log_from(&stage, "recovered").await);
        });
    }
}

#[test]
fn a_question_that_was_open_is_asked_at_once_and_its_call_waits_for_its_server() {
    let store = faulty();
    life(&store, async || {
        let stage = on(&store, [calls(&[(DO_IT, "{}")])], "ask1", &["slow"]);
        let mut actor = stage.open().await;
        actor.prompt("go").await;
        actor.ask().await;
    });
    life(&store, async || {
        let stage = on(&store, [say("done")], "ask2", &["slow"]);
        let begun = Instant::now();
        let (mut actor, opened) = resume(&stage).await;
        let running: Vec<&str> = opened.present.running.iter().map(|it| it.call.as_str()).collect();
        assert_eq!(running, ["c1"], "whoever comes is told of the call");
        let ask = actor.ask().await;
        assert_eq!(begun.elapsed().as_secs(), 0, "nobody waits for a server to be asked");
        answer(&mut actor, ask.id, Answer::Allow(Scope::Once)).await;
        assert_eq!(actor.turn_end().await.mutations.len(), 1);
        assert_eq!(begun.elapsed().as_secs(), 5);
        assert!(log_from(&stage, "  ask1 answered").await.contains("  c1 Ran: do it did it\n"));
    });
}

#[test]
fn a_server_that_does_not_come_is_waited_for_once_and_its_call_is_judged_then() {
    let store = faulty();
    dies_in_a_call(&store, &["slow"], &[]);
    life(&store, async || {
        let stage = on(&store, [say("I see")], "ask2", &["hung"]);
        let begun = Instant::now();
        let (mut actor, _) = resume(&stage).await;
        actor.turn_end().await;
        assert_eq!(begun.elapsed().as_secs(), 10, "one wait for all of it");
        let log = log_from(&stage, "recovered").await;
        assert!(log.contains("  c1 Lost: ") && log.contains("  c2 Unknown: "), "{log}");
    });
}

#[test]
fn a_call_that_runs_again_is_among_what_runs() {
    let store = faulty();
    life(&store, async || {
        let stage = on(&store, [calls(&[("look", r#"{"slow":1}"#)])], "ask1", &[]);
        let mut actor = stage.open().await;
        actor.prompt("go").await;
        actor.until(progress_of("c1")).await;
    });
    life(&store, async || {
        let stage = on(&store, [say("done")], "ask2", &[]);
        let (mut first, opened) = resume(&stage).await;
        let running: Vec<(&str, &str)> =
            opened.present.running.iter().map(|it| (it.call.as_str(), &*it.tool)).collect();
        assert_eq!(running, [("c1", "look")]);
        first.turn_end().await;
        let (_, opened) = resume(&stage).await;
        assert!(opened.present.running.is_empty());
    });
}
