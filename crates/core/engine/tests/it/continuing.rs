//! Turns and questions that survive the process that began them.

use std::sync::Arc;

use expect_test::expect;
use store::MemoryStore;
use testkit::Stage;
use testkit::fakes::CountedIds;
use testkit::faulty::FaultyStore;
use testkit::stage::Actor;
use vocab::*;

use crate::recovery::life;
use crate::subagents::Family;
use crate::support::*;

pub(crate) fn faulty() -> Arc<FaultyStore> {
    Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())))
}

/// A process whose rule it is to go on. Its counted questions begin at `asks`: those of the life before are taken.
pub(crate) fn on_with(store: &Arc<FaultyStore>, plays: &Arc<Player>, asks: &str, tune: fn(&mut Settings)) -> Stage {
    let (store, ids) = (store.clone(), vec![(IdKind::Ask, asks.to_owned())]);
    stage_with(plays, |options| {
        options.store = store;
        options.mode = Mode::Prompt;
        options.ids = CountedIds::with_names(ids);
        options.tune = Box::new(move |settings| {
            settings.on_restart = OnRestart::Continue;
            tune(settings);
        });
    })
}
pub(crate) fn on(store: &Arc<FaultyStore>, plays: impl IntoIterator<Item = Play>, asks: &str) -> Stage {
    on_with(store, &Player::new(plays), asks, |_| {})
}

/// A life that ends in the middle of what it began, when what is waited for here has come.
pub(crate) fn cut_off(
    store: &Arc<FaultyStore>,
    plays: impl IntoIterator<Item = Play>,
    upto: impl AsyncFnOnce(&mut Actor),
) {
    life(store, async || {
        let stage = on(store, plays, "ask1");
        let mut actor = stage.open().await;
        actor.prompt("go").await;
        upto(&mut actor).await;
    });
}

pub(crate) async fn resume(stage: &Stage) -> (Actor, Opened) {
    let mut actor = stage.actor();
    let opened = actor.open(Open::new(Which::Id("s1".into()))).await.unwrap();
    (actor, opened)
}

pub(crate) async fn answer(actor: &mut Actor, ask: AskId, answer: Answer) {
    ask_for(actor, Verb::Session(SessionVerb::Answer { ask, answer })).await.unwrap();
}

pub(crate) fn progress_of(wanted: &str) -> impl Fn(&Event) -> bool {
    move |event| matches!(event, Event::Delta(Delta::CallProgress { call, .. }) if call.as_str() == wanted)
}

/// The log from the first line that begins with this.
pub(crate) async fn log_from(stage: &Stage, first: &str) -> String {
    let log = log(stage).await;
    let at = log.find(first).unwrap_or_else(|| panic!("no {first:?} in {log}"));
    log[at..].to_owned()
}

#[test]
fn a_reply_that_was_not_finished_is_asked_for_again() {
    let store = faulty();
    cut_off(&store, [held("half a wo")], async |actor| {
        text_of(actor, "half a wo").await;
    });
    life(&store, async || {
        let player = Player::new([say("a word")]);
        let stage = on_with(&store, &player, "ask2", |_| {});
        let (mut actor, opened) = resume(&stage).await;
        assert_eq!(opened.state.turn, Some("t1".into()), "whoever comes is told that it runs");
        assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
        assert_eq!(actor.text(), "a word");
        expect![[r#"
            opened m1 prompt
            t1 started
              user (Prompt): go
            recovered: the process ended during this turn, which goes on now: the model is asked again
              assistant: a word (Stop)
            t1 ended: EndTurn, 0 rounds
        "#]]
        .assert_eq(&log(&stage).await);
        assert_eq!(player.last_sent(), "m1: user go");
        actor.until(|event| *event == Event::Settled).await;
    });
}

#[test]
fn a_reply_that_died_and_the_one_that_is_asked_for_instead_have_two_numbers_and_the_log_gives_the_second() {
    let store = faulty();
    let numbers = |actor: &Actor| -> Vec<u32> {
        let number = |told: &Told| match &told.event {
            Event::Delta(Delta::ModelCalled { reply, .. }) => Some(*reply),
            _ => None,
        };
        actor.told.iter().filter_map(number).collect()
    };
    cut_off(&store, [held("half a wo")], async |actor| {
        text_of(actor, "half a wo").await;
        assert_eq!(numbers(actor), [0]);
    });
    life(&store, async || {
        let stage = on(&store, [held("a wor")], "ask2");
        let (mut actor, _) = resume(&stage).await;
        text_of(&mut actor, "a wor").await;
        assert_eq!(numbers(&actor), [1]);
    });
    life(&store, async || {
        let stage = on(&store, [calls(&[("look", "{}")]), say("a word")], "ask2");
        let (mut actor, _) = resume(&stage).await;
        actor.turn_end().await;
        assert_eq!(numbers(&actor), [2, 3]);
        let (mut next, mut read) = (0, Vec::new());
        for entry in stage.store.conversation(&"s1".into(), 0).await.unwrap() {
            if matches!(entry.body, Body::Assistant { .. }) {
                read.push(next);
            }
            next = next_reply(next, &entry.body);
        }
        assert_eq!(read, [2, 3]);
    });
}

#[test]
fn an_open_question_is_asked_again_under_its_id_and_its_answer_runs_the_call() {
    let store = faulty();
    cut_off(&store, [calls(&[("look", "{}"), ("change", "{}"), ("look", "{}")])], async |actor| {
        actor.ask().await;
    });
    for _ in 0..3 {
        life(&store, async || {
            let stage = on(&store, [], "ask2");
            let (mut actor, _) = resume(&stage).await;
            assert_eq!(actor.ask().await.id, "ask1".into());
        });
    }
    life(&store, async || {
        let player = Player::new([say("done")]);
        let stage = on_with(&store, &player, "ask2", |_| {});
        let (mut actor, _) = resume(&stage).await;
        let ask = actor.ask().await;
        answer(&mut actor, ask.id, Answer::Allow(Scope::Once)).await;
        let end = actor.turn_end().await;
        assert_eq!((end.stop, end.iterations, end.mutations.len()), (Stop::EndTurn, 1, 1));
        expect![[r#"
              ask1 may change run?
            recovered: the process ended during this turn, which goes on now: its calls go on
            recovered: the process ended during this turn, which goes on now: its calls go on
            recovered: the process ended during this turn, which goes on now: its calls go on
            recovered: the process ended during this turn, which goes on now: its calls go on
              ask1 answered Allow(Once) by a tester
              c2 Ran: done
              c3 look starts
              c3 Ran: done
              assistant: done (Stop)
            t1 ended: EndTurn, 1 rounds
        "#]]
        .assert_eq(&log_from(&stage, "  ask1 may").await);
        let sent = player.last_sent();
        assert!(sent.ends_with("| result c1 Ran done | result c2 Ran done | result c3 Ran done"), "{sent}");
    });
}

#[test]
fn a_question_that_was_open_can_be_denied_as_ever() {
    let store = faulty();
    cut_off(&store, [calls(&[("change", "{}")])], async |actor| {
        actor.ask().await;
    });
    life(&store, async || {
        let stage = on(&store, [], "ask2");
        let (mut actor, _) = resume(&stage).await;
        let ask = actor.ask().await;
        answer(&mut actor, ask.id, Answer::Deny(Some("not today".into()))).await;
        actor.turn_end().await;
        assert!(log(&stage).await.contains("  c1 Denied: not today\n"));
    });
}

#[test]
fn a_call_that_only_reads_is_run_again_and_nobody_is_asked() {
    let store = faulty();
    cut_off(&store, [calls(&[("look", "{}"), ("look", r#"{"slow":1}"#), ("look", "{}")])], async |actor| {
        actor.until(progress_of("c2")).await;
    });
    life(&store, async || {
        let stage = on(&store, [say("done")], "ask2");
        let (mut actor, _) = resume(&stage).await;
        actor.turn_end().await;
        expect![[r#"
              c1 look starts
              c1 Ran: done
              c2 look starts
            recovered: the process ended during this turn, which goes on now: its calls go on
              c2 Ran: done
              c3 look starts
              c3 Ran: done
              assistant: done (Stop)
            t1 ended: EndTurn, 1 rounds
        "#]]
        .assert_eq(&log_from(&stage, "  c1 look").await);
    });
}

/// A call that can change something, allowed by a person, dies in the middle.
fn dies_in_a_change(store: &Arc<FaultyStore>) {
    life(store, async || {
        let stage = on(store, [calls(&[("change", r#"{"slow":1}"#), ("look", "{}")])], "ask1");
        let mut actor = stage.open().await;
        actor.prompt("go").await;
        let ask = actor.ask().await;
        answer(&mut actor, ask.id, Answer::Allow(Scope::Once)).await;
        actor.until(progress_of("c1")).await;
    });
}

#[test]
fn a_call_that_may_have_run_is_asked_about_and_runs_again_when_it_is_allowed() {
    let store = faulty();
    dies_in_a_change(&store);
    life(&store, async || {
        let stage = on(&store, [say("done")], "ask2");
        let (mut actor, _) = resume(&stage).await;
        let ask = actor.ask().await;
        let AskKind::Permission(asked) = &ask.kind else { panic!("{ask:?}") };
        assert_eq!((ask.id.as_str(), asked.call.as_str(), asked.may_have_run), ("ask2", "c1", true));
        assert!(asked.reason.as_ref().unwrap().contains("may have run"), "{asked:?}");
        answer(&mut actor, ask.id, Answer::Allow(Scope::Once)).await;
        actor.turn_end().await;
        expect![[r#"
              ask1 answered Allow(Once) by a tester
            recovered: the process ended during this turn, which goes on now: its calls go on
              ask2 may change run?
              ask2 answered Allow(Once) by a tester
              c1 Ran: done
              c2 look starts
              c2 Ran: done
              assistant: done (Stop)
            t1 ended: EndTurn, 1 rounds
        "#]]
        .assert_eq(&log_from(&stage, "  ask1 answered").await);
    });
}

#[test]
fn a_call_that_may_have_run_and_is_not_wanted_again_is_told_to_the_model_as_such_also_one_crash_later() {
    let store = faulty();
    dies_in_a_change(&store);
    life(&store, async || {
        let stage = on(&store, [], "ask2");
        let (mut actor, _) = resume(&stage).await;
        actor.ask().await;
    });
    life(&store, async || {
        let stage = on(&store, [say("I see")], "ask3");
        let (mut actor, _) = resume(&stage).await;
        let ask = actor.ask().await;
        assert_eq!(ask.id.as_str(), "ask2", "the doubt is asked about once");
        answer(&mut actor, ask.id, Answer::Deny(None)).await;
        let end = actor.turn_end().await;
        assert!(end.mutations.is_empty());
        let log = log(&stage).await;
        assert!(log.contains("  c1 Lost: no result: what came of this call is not known; it may have run"), "{log}");
        assert!(log.contains("  c2 Ran: done"), "{log}");
    });
}

#[test]
fn an_interrupt_does_not_make_a_doubt_go_away() {
    let store = faulty();
    dies_in_a_change(&store);
    life(&store, async || {
        let stage = on(&store, [], "ask2");
        let (mut actor, _) = resume(&stage).await;
        actor.ask().await;
        ask_for(&mut actor, Verb::Session(SessionVerb::Interrupt { turn: None })).await.unwrap();
        assert_eq!(actor.turn_end().await.stop, Stop::Interrupted);
        let log = log(&stage).await;
        assert!(log.contains("  c1 Lost: ") && log.contains("  c2 Interrupted: "), "{log}");
    });
}

#[test]
fn a_call_that_the_mode_allowed_and_that_may_have_run_is_asked_about_too() {
    let store = faulty();
    let full = |settings: &mut Settings| settings.mode = Mode::DangerFullAccess;
    life(&store, async || {
        let stage = on_with(&store, &Player::new([calls(&[("change", r#"{"slow":1}"#)])]), "ask1", full);
        let mut actor = stage.open().await;
        actor.prompt("go").await;
        actor.until(progress_of("c1")).await;
    });
    life(&store, async || {
        let stage = on_with(&store, &Player::new([]), "ask1", full);
        let (mut actor, _) = resume(&stage).await;
        let ask = actor.ask().await;
        answer(&mut actor, ask.id, Answer::Allow(Scope::Once)).await;
        assert_eq!(actor.turn_end().await.mutations.len(), 1);
    });
}

#[test]
fn where_the_mode_forbids_it_now_a_call_that_may_have_run_is_not_run_again() {
    let store = faulty();
    dies_in_a_change(&store);
    life(&store, async || {
        let stage = on(&store, [], "ask2");
        let mut actor = stage.actor();
        let open = Open { mode: Some(Mode::ReadOnly), ..Open::new(Which::Id("s1".into())) };
        actor.open(open).await.unwrap();
        actor.turn_end().await;
        let log = log(&stage).await;
        assert!(log.contains("mode read-only\nrecovered") && log.contains("  c1 Lost: "), "{log}");
    });
}

#[test]
fn what_was_allowed_for_the_session_is_allowed_still() {
    let store = faulty();
    cut_off(&store, [calls(&[("change", "{}")]), held("thinking")], async |actor| {
        let ask = actor.ask().await;
        answer(actor, ask.id, Answer::Allow(Scope::Session)).await;
        text_of(actor, "thinking").await;
    });
    life(&store, async || {
        let stage = on(&store, [calls(&[("change", "{}")])], "ask2");
        let (mut actor, _) = resume(&stage).await;
        let end = actor.turn_end().await;
        assert_eq!((end.iterations, end.mutations.len()), (2, 2), "rounds and changes of both lives");
        assert!(!log(&stage).await.contains("ask2"));
    });
}

#[test]
fn what_waits_goes_on_behind_the_turn_and_steering_joins_it() {
    let store = faulty();
    cut_off(&store, [calls(&[("look", r#"{"slow":1}"#)])], async |actor| {
        actor.until(progress_of("c1")).await;
        for (text, delivery) in [("later", Delivery::Enqueue), ("left", Delivery::Steer)] {
            let tag = actor.deliver(text, delivery).await;
            actor.reply(tag).await.unwrap();
        }
    });
    life(&store, async || {
        let stage = on(&store, [say("one"), say("two")], "ask2");
        let (mut actor, _) = resume(&stage).await;
        actor.until(|event| *event == Event::Settled).await;
        expect![[r#"
            recovered: the process ended during this turn, which goes on now: its calls go on
              c1 Ran: done
              item3 Consumed
              user (Steer): left
              assistant: one (Stop)
            t1 ended: EndTurn, 1 rounds
            t1 started
              item2 Consumed
              user (Prompt): later
              assistant: two (Stop)
            t1 ended: EndTurn, 0 rounds
        "#]]
        .assert_eq(&log_from(&stage, "recovered").await);
    });
}

#[test]
fn steering_is_not_too_late_for_a_turn_that_goes_on() {
    let store = faulty();
    let drops = |settings: &mut Settings| settings.lane.late_steer = LateSteer::Dropped;
    life(&store, async || {
        let stage = on_with(&store, &Player::new([calls(&[("look", r#"{"slow":1}"#)])]), "ask1", drops);
        let mut actor = stage.open().await;
        actor.prompt("go").await;
        actor.until(progress_of("c1")).await;
        let tag = actor.deliver("left", Delivery::Steer).await;
        actor.reply(tag).await.unwrap();
    });
    life(&store, async || {
        let stage = on_with(&store, &Player::new([say("one")]), "ask2", drops);
        let (mut actor, _) = resume(&stage).await;
        actor.turn_end().await;
        let log = log(&stage).await;
        assert!(log.contains("item2 Consumed\n  user (Steer): left\n"), "{log}");
    });
}

#[test]
fn what_waited_with_no_turn_running_goes_on_too() {
    let store = faulty();
    life(&store, async || {
        let close = |settings: &mut Settings| settings.on_restart = OnRestart::Close;
        let stage = on_with(&store, &Player::new([held("w")]), "ask1", close);
        let mut actor = stage.open().await;
        actor.prompt("go").await;
        text_of(&mut actor, "w").await;
        let tag = actor.deliver("later", Delivery::Enqueue).await;
        actor.reply(tag).await.unwrap();
        stage.engine.shutdown().await;
    });
    life(&store, async || {
        let stage = on(&store, [], "ask2");
        let (mut actor, _) = resume(&stage).await;
        actor.until(|event| *event == Event::Settled).await;
        assert!(log(&stage).await.contains("user (Prompt): later\n  assistant: ok"));
    });
}

#[test]
fn tries_rounds_and_the_model_that_stands_in_are_those_of_the_turn() {
    let store = faulty();
    let chain = |settings: &mut Settings| {
        settings.model = "chain".into();
        settings.retry.retries_max = 1;
    };
    life(&store, async || {
        let bad = || fail(FaultKind::Auth);
        let player = Player::new([calls(&[("look", "{}")]), bad(), bad(), held("w")]);
        let stage = on_with(&store, &player, "ask1", chain);
        let mut actor = stage.open().await;
        actor.prompt("go").await;
        text_of(&mut actor, "w").await;
    });
    life(&store, async || {
        let player = Player::new([say("here")]);
        let stage = on_with(&store, &player, "ask1", chain);
        let (mut actor, _) = resume(&stage).await;
        let end = actor.turn_end().await;
        assert_eq!((end.stop, end.iterations), (Stop::EndTurn, 1));
        let sent = player.last_sent();
        assert!(sent.starts_with("far1: ") || sent.starts_with("m2: "), "{sent}");
        actor.forget();
        actor.prompt("next").await;
        actor.turn_end().await;
        assert!(player.last_sent().starts_with("chain: "), "the chosen model is asked again: {}", player.last_sent());
    });
}

#[test]
fn with_nobody_there_the_turn_goes_on_until_it_has_to_ask_and_the_question_waits() {
    let store = faulty();
    cut_off(&store, [held("w")], async |actor| {
        text_of(actor, "w").await;
    });
    life(&store, async || {
        let stage = on(&store, [calls(&[("look", "{}"), ("change", "{}")]), say("done")], "ask1");
        stage.engine.take_up(&"s1".into(), None, Default::default()).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_secs(100_000)).await;
        assert_eq!(stage.engine.live(), ["s1".into()], "it waits");
        let (mut actor, opened) = resume(&stage).await;
        assert_eq!(opened.state.turn, Some("t1".into()));
        let ask = actor.ask().await;
        answer(&mut actor, ask.id, Answer::Allow(Scope::Once)).await;
        assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
    });
}

#[test]
fn a_session_that_nobody_comes_to_ends_by_itself_when_its_turn_is_over() {
    let store = faulty();
    cut_off(&store, [held("w")], async |actor| {
        text_of(actor, "w").await;
    });
    for rest in ["t1 ended: EndTurn, 0 rounds", "t1 ended: EndTurn, 0 rounds"] {
        life(&store, async || {
            let stage = on(&store, [], "ask1");
            stage.engine.take_up(&"s1".into(), None, Default::default()).await.unwrap();
            tokio::time::sleep(std::time::Duration::from_secs(5)).await;
            assert!(stage.engine.live().is_empty());
            assert!(log(&stage).await.trim_end().ends_with(rest));
        });
    }
    life(&store, async || {
        let stage = on(&store, [], "ask1");
        assert_eq!(
            stage.engine.take_up(&"s9".into(), None, Default::default()).await.unwrap_err().kind,
            FaultKind::NotFound
        );
    });
}

#[tokio::test(start_paused = true)]
async fn a_question_whose_last_peer_leaves_waits_for_the_next_one_where_the_rule_is_to_keep_it() {
    let player = Player::new([calls(&[("change", "{}")]), say("done")]);
    let stage = stage_with(&player, |options| {
        options.mode = Mode::Prompt;
        options.tune = Box::new(|settings| settings.unanswered = Some(Unanswered::Keep));
    });
    let mut first = stage.open().await;
    first.prompt("go").await;
    let ask = first.ask().await;
    drop(first);
    tokio::time::sleep(std::time::Duration::from_secs(100_000)).await;
    let (mut second, _) = resume(&stage).await;
    assert_eq!(second.ask().await.id, ask.id);
    answer(&mut second, ask.id, Answer::Allow(Scope::Once)).await;
    assert_eq!(second.turn_end().await.mutations.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_question_that_arises_with_nobody_there_waits_where_the_rule_is_to_keep_it() {
    for (rule, end) in [(Unanswered::Keep, "Ran"), (Unanswered::Deny, "Denied")] {
        let slow = vec![Step::Wait(1_000), call_step(0, "change", "{}"), done(Finish::ToolUse)];
        let stage = stage_with(&Player::new([slow]), |options| {
            options.mode = Mode::Prompt;
            options.tune = Box::new(move |settings| settings.unanswered = Some(rule));
        });
        let mut first = stage.open().await;
        let tag = first.prompt("go").await;
        first.reply(tag).await.unwrap();
        drop(first);
        tokio::time::sleep(std::time::Duration::from_secs(5)).await;
        let (mut second, _) = resume(&stage).await;
        if rule == Unanswered::Keep {
            let ask = second.ask().await;
            answer(&mut second, ask.id, Answer::Allow(Scope::Once)).await;
            second.turn_end().await;
        }
        let log = log(&stage).await;
        assert!(log.contains(&format!("  c1 {end}: ")), "{rule:?}: {log}");
    }
}

#[test]
fn a_shutdown_leaves_the_turn_where_it_stands_for_the_next_process() {
    let store = faulty();
    life(&store, async || {
        let stage = on(&store, [calls(&[("look", "{}"), ("change", "{}")])], "ask1");
        let mut actor = stage.open().await;
        actor.prompt("go").await;
        actor.ask().await;
        stage.engine.shutdown().await;
        assert!(stage.engine.live().is_empty());
        assert!(log(&stage).await.ends_with("  ask1 may change run?\n"));
    });
    life(&store, async || {
        let stage = on(&store, [say("done")], "ask2");
        let (mut actor, _) = resume(&stage).await;
        let ask = actor.ask().await;
        answer(&mut actor, ask.id, Answer::Allow(Scope::Once)).await;
        assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
    });
}

#[test]
fn a_call_of_a_controllers_tool_waits_for_a_controller_that_has_the_tool() {
    let store = faulty();
    let tool = || HostTool {
        name: "lookup".into(),
        description: "".into(),
        schema: Json::empty_object(),
        required: Required::ReadOnly,
    };
    let offer = |tools| Verb::Session(SessionVerb::OfferTools { tools });
    life(&store, async || {
        let stage = on(&store, [calls(&[("lookup", "{}")])], "ask1");
        let mut actor = stage.open().await;
        ask_for(&mut actor, offer(vec![tool()])).await.unwrap();
        actor.prompt("go").await;
        actor.ask().await;
    });
    life(&store, async || {
        let stage = on(&store, [say("done")], "ask2");
        let (mut other, _) = resume(&stage).await;
        let result = || Answer::Result { parts: vec![Part::text("42")], is_error: false, details: None };
        let verb = |answer| Verb::Session(SessionVerb::Answer { ask: "ask1".into(), answer });
        assert_eq!(ask_for(&mut other, verb(result())).await.unwrap_err().kind, FaultKind::Invalid);
        // Longer than a turn may stand still.
        tokio::time::sleep(std::time::Duration::from_secs(10_000)).await;
        assert!(
            !other.told.iter().any(|told| matches!(&told.event, Event::Logged(it) if matches!(it.body, Body::Ask(_))))
        );
        ask_for(&mut other, offer(vec![tool()])).await.unwrap();
        assert_eq!(other.ask().await.id, "ask1".into());
        answer(&mut other, "ask1".into(), result()).await;
        assert_eq!(other.turn_end().await.stop, Stop::EndTurn);
        assert!(log(&stage).await.contains("  c1 Ran: 42\n"));
    });
}

#[test]
fn whoever_loads_a_session_may_say_that_its_turn_is_over() {
    let store = faulty();
    dies_in_a_change(&store);
    life(&store, async || {
        let stage = on(&store, [], "ask2");
        let mut actor = stage.actor();
        let open = Open { on_restart: Some(OnRestart::Close), ..Open::new(Which::Id("s1".into())) };
        let opened = actor.open(open).await.unwrap();
        assert_eq!(opened.state.turn, None, "the peer that loads it has said so");
        actor.prompt("and now?").await;
        actor.turn_end().await;
        assert!(log(&stage).await.contains("t1 ended: Error, 0 rounds"));
    });
}

/// With a tool that has children do its work.
fn family(store: &Arc<FaultyStore>, plays: impl IntoIterator<Item = Play>) -> Stage {
    let store = store.clone();
    stage_with(&Player::new(plays), |options| {
        options.store = store;
        options.toolbox = Some(Arc::new(Family));
        options.tune = Box::new(|settings| settings.on_restart = OnRestart::Continue);
    })
}

#[test]
fn a_call_of_subagents_is_asked_about_and_its_child_stays_where_it_was() {
    let store = faulty();
    life(&store, async || {
        let stage = family(&store, [calls(&[("subagent", r#"{"task":"x"}"#)]), held("half")]);
        let mut actor = stage.open().await;
        actor.prompt("go").await;
        actor.until(progress_of("c1")).await;
    });
    life(&store, async || {
        let stage = family(&store, [say("I see")]);
        let mut actor = stage.actor();
        let here = || Some(stage.workspace().to_owned());
        let opened = |id: &str| Open { workspace: here(), ..Open::new(Which::Id(id.into())) };
        actor.open(opened("s1")).await.unwrap();
        let ask = actor.ask().await;
        assert!(matches!(&ask.kind, AskKind::Permission(asked) if asked.may_have_run), "{ask:?}");
        answer(&mut actor, ask.id, Answer::Deny(None)).await;
        assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
        assert!(log(&stage).await.contains("  c1 Lost: "));
        // Whoever opens the child finds a turn that is over, whatever the rule is.
        assert_eq!(actor.open(opened("s2")).await.unwrap().state.turn, None);
    });
}

#[test]
fn a_drain_leaves_the_turn_at_a_safe_point_for_the_next_process() {
    let seconds = std::time::Duration::from_secs;
    // What runs; how long a drain of a minute takes; how the log ends.
    let question = calls(&[("look", "{}"), ("change", "{}")]);
    let slow = calls(&[("look", r#"{"slow":1}"#)]);
    for (play, took, end) in [(question, 0, "  ask1 may change run?\n"), (slow, 30, "  c1 Ran: done\n")] {
        let store = faulty();
        let play = std::cell::Cell::new(Some(play));
        life(&store, async || {
            let stage = on(&store, play.take(), "ask1");
            let mut actor = stage.open().await;
            actor.prompt("go").await;
            actor.until(|event| matches!(event, Event::Logged(it) if matches!(it.body, Body::Call(_)))).await;
            tokio::time::sleep(seconds(1)).await;
            let since = tokio::time::Instant::now();
            stage.engine.drain(seconds(60)).await;
            assert!(since.elapsed() <= seconds(took), "{:?}", since.elapsed());
            let log = log(&stage).await;
            assert!(log.ends_with(end), "{log}");
        });
        life(&store, async || {
            let stage = on(&store, [say("done")], "ask2");
            let (mut actor, opened) = resume(&stage).await;
            assert_eq!(opened.state.turn, Some("t1".into()));
            if took == 0 {
                let ask = actor.ask().await;
                answer(&mut actor, ask.id, Answer::Allow(Scope::Once)).await;
            }
            assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
        });
    }
}

#[test]
fn a_drain_that_takes_too_long_leaves_the_turn_where_it_stands() {
    let store = faulty();
    let seconds = std::time::Duration::from_secs;
    life(&store, async || {
        let stage = on(&store, [held("on and on")], "ask1");
        let mut actor = stage.open().await;
        actor.prompt("go").await;
        text_of(&mut actor, "on and on").await;
        stage.engine.drain(seconds(20)).await;
        assert!(!log(&stage).await.contains("ended"));
    });
    life(&store, async || {
        let stage = on(&store, [say("done")], "ask1");
        let (mut actor, _) = resume(&stage).await;
        assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
    });
}
