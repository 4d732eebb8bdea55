//! What those need who follow runs from outside: which turn took a message, why one was refused, that a session is saved, and
//! that it is gone.

use testkit::Stage;
use testkit::stage::Actor;
use vocab::*;

use crate::support::*;

fn words() -> Play {
    vec![text("w"), Step::Wait(1000), text("x"), done(Finish::Stop)]
}

async fn busy(plays: Vec<Play>, lane: LanePolicy) -> (Stage, Actor) {
    let player = Player::new(plays);
    let stage = stage_with(&player, |options| options.tune = Box::new(move |settings| settings.lane = lane));
    let mut actor = stage.open().await;
    actor.prompt("first").await;
    text_of(&mut actor, "w").await;
    (stage, actor)
}

fn ended(actor: &Actor) -> Vec<QueueEvent> {
    let queue = actor.told.iter().filter_map(|told| match &told.event {
        Event::Queue(event @ (QueueEvent::Ended { .. } | QueueEvent::Refused { .. })) => Some(event.clone()),
        _ => None,
    });
    queue.collect()
}

#[tokio::test(start_paused = true)]
async fn whose_message_was_taken_learns_by_which_turn() {
    let lane = LanePolicy { coalesce: Coalesce::Always, ..LanePolicy::default() };
    let (stage, mut actor) = busy(vec![words(), say("both")], lane).await;
    for text in ["a", "b"] {
        actor.deliver(text, Delivery::Policy).await;
    }
    actor.until(|event| matches!(event, Event::Logged(entry) if line(&entry.body).starts_with("t2 ended"))).await;
    let turns: Vec<Option<TurnId>> = ended(&actor)
        .into_iter()
        .map(|event| match event {
            QueueEvent::Ended { turn, end: ItemEnd::Consumed, lane: None, .. } => turn,
            other => panic!("not taken: {other:?}"),
        })
        .collect();
    assert_eq!(turns, [Some("t2".into()), Some("t2".into())]);
    assert!(log(&stage).await.contains("t2 started\n  takes item2 item3\n  item2 Consumed\n"));
}

#[tokio::test(start_paused = true)]
async fn a_trace_goes_with_the_message_into_its_turn() {
    let (stage, mut actor) = busy(vec![words(), say("later")], LanePolicy::default()).await;
    let parts = vec![Part::text("traced")];
    let prompt = Verb::Session(SessionVerb::Prompt { parts, delivery: Delivery::Enqueue });
    actor.send_with(prompt, |command| command.trace = Some("00-abc-01".into())).await;
    actor.until(|event| matches!(event, Event::Logged(entry) if line(&entry.body).starts_with("t2 ended"))).await;
    assert!(log(&stage).await.contains("t2 started\n  takes item2, trace 00-abc-01\n  item2 Consumed\n"));
}

#[tokio::test(start_paused = true)]
async fn who_is_dropped_or_refused_learns_the_rules() {
    for (overflow, texts) in [(Overflow::DropOld, vec!["a".into()]), (Overflow::DropNew, vec!["b".into()])] {
        let lane = LanePolicy { cap: 1, overflow, summarise: true, ..LanePolicy::default() };
        let (_stage, mut actor) = busy(vec![words(), say("ok")], lane).await;
        actor.deliver("a", Delivery::Policy).await;
        let second = actor.deliver("b", Delivery::Policy).await;
        let result = actor.reply(second).await;
        let note = LaneNote { policy: lane, dropped: 1, texts };
        match (&ended(&actor)[..], overflow) {
            ([QueueEvent::Ended { end: ItemEnd::Dropped, lane: Some(told), turn: None, .. }], Overflow::DropOld) => {
                assert_eq!(**told, note);
                assert!(matches!(result, Ok(Reply::Waiting { .. })));
            }
            ([QueueEvent::Refused { tag, lane: told }], Overflow::DropNew) => {
                assert_eq!((*tag, &**told), (second, &note));
                assert_eq!(result.unwrap_err().kind, FaultKind::QueueFull);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_is_said_to_run_when_it_was_allowed_and_replies_are_numbered() {
    let player = Player::new([calls(&[("change", "{}")]), say("done")]);
    let stage = stage_with(&player, |options| options.mode = Mode::Prompt);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    let ask = actor.ask().await;
    let began = |actor: &Actor| {
        actor.told.iter().filter(|told| matches!(told.event, Event::Delta(Delta::CallBegan { .. }))).count()
    };
    actor.settle().await;
    assert_eq!(began(&actor), 0, "it was not allowed yet");
    let answer = Answer::Allow(Scope::Once);
    ask_for(&mut actor, Verb::Session(SessionVerb::Answer { ask: ask.id, answer })).await.unwrap();
    actor.turn_end().await;
    assert_eq!(began(&actor), 1);
    let numbers = actor.told.iter().filter_map(|told| match &told.event {
        Event::Delta(Delta::ModelCalled { reply, .. }) => Some(*reply),
        _ => None,
    });
    assert_eq!(numbers.collect::<Vec<_>>(), [0, 1]);
}

#[tokio::test(start_paused = true)]
async fn the_last_word_of_a_session_that_is_shut_down_is_that_it_is_gone() {
    let (stage, mut actor) = busy(vec![vec![text("w"), Step::Wait(1_000_000)]], LanePolicy::default()).await;
    stage.engine.shutdown().await;
    actor.settle().await;
    let last = actor.told.iter().rposition(|told| told.session.as_str() == "s1").unwrap();
    let Event::Gone { fault } = &actor.told[last].event else { panic!("{:?}", actor.told[last]) };
    assert_eq!(fault.kind, FaultKind::ShuttingDown);
    assert!(log(&stage).await.ends_with("t1 cut: Ending\nt1 ended: Interrupted, 0 rounds\n"));
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_to_be_kept_is_saved_before_its_opening_is_answered() {
    let stage = stage(&Player::new([say("hi")]));
    let mut actor = stage.actor();
    let open = Open { keep: true, ..Open::new(Which::Named("kept".into())) };
    let opened = actor.open(open.clone()).await.unwrap();
    assert!(!opened.resumed);
    assert!(stage.store.summary(&"kept".into()).await.unwrap().is_some());
    actor.prompt("go").await;
    actor.turn_end().await;
    assert_eq!(actor.text(), "hi");
    let mut other = stage.actor();
    assert!(other.open(open).await.unwrap().resumed, "it is there, and is not made twice");
    let mut third = stage.actor();
    third.open(Open::new(Which::Named("unkept".into()))).await.unwrap();
    assert!(stage.store.summary(&"unkept".into()).await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_place_along_the_log_outlives_a_compaction() {
    let player = Player::new([say("one"), say("two"), say("summary"), say("three")]);
    let stage = stage(&player);
    let mut actor = stage.open().await;
    for text in ["a", "b"] {
        actor.prompt(text).await;
        actor.turn_end().await;
        actor.settle().await;
        actor.forget();
    }
    let compact = SessionVerb::Compact { instructions: None, wait: false };
    ask_for(&mut actor, Verb::Session(compact)).await.unwrap();
    for (along, is_anew) in [(Along::Branch, true), (Along::Log, false)] {
        let mut reader = stage.actor();
        let after = Some(Cursor { along, ..Cursor::at(3) });
        let opened = reader.open(Open { after, ..Open::new(Which::Named("s1".into())) }).await.unwrap();
        assert_eq!(matches!(opened.present.attached, Attached::Anew { .. }), is_anew, "{along:?}");
        reader.until(|event| matches!(event, Event::Live { .. })).await;
        let first = reader.told.iter().find_map(|told| match &told.event {
            Event::Logged(entry) => Some(entry.seq),
            _ => None,
        });
        assert_eq!(first, Some(if is_anew { 1 } else { 4 }), "{along:?}");
    }
}
