//! Several controllers on one session, and controllers that bring tools.

use testkit::Stage;
use testkit::stage::Actor;
use vocab::*;

use crate::support::*;

async fn join(stage: &Stage, after: Option<u64>) -> Actor {
    let mut actor = stage.actor();
    let mut open = Open::new(Which::Named("s1".into()));
    open.after = after.map(Cursor::at);
    actor.open(open).await.unwrap();
    actor
}

fn seqs(actor: &Actor) -> Vec<u64> {
    let seq = |told: &Told| match &told.event {
        Event::Logged(entry) => Some(entry.seq),
        _ => None,
    };
    actor.told.iter().filter_map(seq).collect()
}

#[tokio::test(start_paused = true)]
async fn the_first_answer_wins_and_both_see_everything() {
    let stage = stage_with(&Player::new([calls(&[("change", "{}")])]), |options| options.mode = Mode::Prompt);
    let mut one = stage.open().await;
    let mut two = join(&stage, None).await;
    one.prompt("go").await;
    let ask = two.ask().await.id;
    let yes = |ask: &AskId| Verb::Session(SessionVerb::Answer { ask: ask.clone(), answer: Answer::Allow(Scope::Once) });
    ask_for(&mut two, yes(&ask)).await.unwrap();
    let late = ask_for(&mut one, yes(&ask)).await;
    assert_eq!(late.unwrap_err().kind, FaultKind::UnknownAsk);
    one.turn_end().await;
    two.turn_end().await;
    assert_eq!(seqs(&one), seqs(&two));
    let closed =
        |told: &Told| matches!(&told.event, Event::Logged(it) if matches!(it.body, Body::Ask(AskEntry::Closed { .. })));
    assert!(one.told.iter().any(closed), "the other one is told");
}

#[tokio::test(start_paused = true)]
async fn who_attaches_in_mid_turn_gets_the_past_once_and_the_running_text() {
    let play = vec![text("one "), Step::Wait(1000), text("two"), done(Finish::Stop)];
    let stage = stage(&Player::new([play]));
    let mut one = stage.open().await;
    one.prompt("go").await;
    text_of(&mut one, "one ").await;
    let mut two = join(&stage, Some(1)).await;
    two.turn_end().await;
    assert_eq!(seqs(&two), [2, 3, 4, 5]);
    assert_eq!(two.text(), "one two");
    // A seq that nobody has reached is refused, and the peer is on no session then.
    let mut three = stage.actor();
    let mut open = Open::new(Which::Named("s1".into()));
    open.after = Some(Cursor::at(99));
    assert_eq!(three.open(open).await.unwrap_err().kind, FaultKind::Invalid);
    let tag = three.prompt("anybody?").await;
    assert_eq!(three.reply(tag).await.unwrap_err().kind, FaultKind::UnknownSession);
}

#[tokio::test(start_paused = true)]
async fn who_comes_in_twice_is_not_told_twice() {
    let stage = stage(&Player::new([]));
    let mut one = stage.open().await;
    one.prompt("go").await;
    one.turn_end().await;
    one.forget();
    let mut open = Open::new(Which::Named("s1".into()));
    open.after = Some(Cursor::at(2));
    one.open(open).await.unwrap();
    one.prompt("on").await;
    one.turn_end().await;
    one.settle().await;
    assert_eq!(seqs(&one), (3..=9).collect::<Vec<u64>>());
}

#[tokio::test(start_paused = true)]
async fn a_question_that_everybody_leaves_is_a_no() {
    let player = Player::new([calls(&[("change", "{}")]), say("then not")]);
    let stage = stage_with(&player, |options| options.mode = Mode::Prompt);
    let mut one = stage.open().await;
    one.prompt("go").await;
    one.ask().await;
    drop(one);
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let log = log(&stage).await;
    assert!(log.contains("c1 Denied: controller disconnected before responding"), "{log}");
    assert!(log.contains("t1 ended: EndTurn"), "{log}");
    assert!(stage.engine.live().is_empty(), "nobody is there and nothing runs: the session rests");
}

#[tokio::test(start_paused = true)]
async fn slash_commands_of_one_are_seen_by_the_other() {
    let stage = stage(&Player::new([held("w")]));
    let mut one = stage.open().await;
    one.prompt("go").await;
    text_of(&mut one, "w").await;
    let mut two = join(&stage, None).await;
    ask_for(&mut two, slash("mode", "plan")).await.unwrap();
    one.until(|event| matches!(event, Event::State(state) if state.mode == Mode::Plan)).await;
    one.until(
        |event| matches!(event, Event::Logged(it) if it.body == Body::Setting(SettingEntry::Mode { mode: Mode::Plan })),
    )
    .await;
    assert_eq!(two.text(), "w");
}

fn host_tool(name: &str) -> Verb {
    let required = Required::DangerFullAccess;
    let tool = HostTool { name: name.into(), description: "hosted".into(), schema: Json::empty_object(), required };
    Verb::Session(SessionVerb::OfferTools { tools: vec![tool] })
}

async fn hosted(plays: Vec<Play>) -> (Stage, Actor, std::sync::Arc<Player>) {
    let player = Player::new(plays);
    let stage = stage(&player);
    let mut actor = stage.open().await;
    ask_for(&mut actor, host_tool("lamp")).await.unwrap();
    actor.prompt("light").await;
    (stage, actor, player)
}

#[tokio::test(start_paused = true)]
async fn a_hosts_tool_is_offered_called_and_answered_by_its_host_alone() {
    let (stage, mut actor, player) = hosted(vec![calls(&[("lamp", "{}")])]).await;
    let ask = actor.ask().await.id;
    let result = |text: &str| Answer::Result { parts: vec![Part::text(text)], is_error: false, details: None };
    let mut stranger = join(&stage, None).await;
    let foreign =
        ask_for(&mut stranger, Verb::Session(SessionVerb::Answer { ask: ask.clone(), answer: result("mine") })).await;
    assert_eq!(foreign.unwrap_err().kind, FaultKind::Invalid);
    let taken = ask_for(&mut stranger, host_tool("lamp")).await;
    assert_eq!(taken.unwrap_err().kind, FaultKind::Invalid);
    ask_for(
        &mut actor,
        Verb::Session(SessionVerb::Progress { ask: ask.clone(), parts: vec![Part::text("warming up")] }),
    )
    .await
    .unwrap();
    actor.until(|event| matches!(event, Event::Delta(Delta::CallProgress { .. }))).await;
    let wrong = ask_for(
        &mut actor,
        Verb::Session(SessionVerb::Answer { ask: ask.clone(), answer: Answer::Allow(Scope::Once) }),
    )
    .await;
    assert_eq!(wrong.unwrap_err().kind, FaultKind::Invalid);
    ask_for(&mut actor, Verb::Session(SessionVerb::Answer { ask, answer: result("it is light") })).await.unwrap();
    actor.turn_end().await;
    assert!(log(&stage).await.contains("c1 Ran: it is light"));
    assert!(player.sent.lock().unwrap()[0].1.contains(&"lamp".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_tool_registered_in_mid_conversation_is_in_the_next_request() {
    let player = Player::new([calls(&[("look", r#"{"slow":1}"#)])]);
    let stage = stage(&player);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.until(|event| matches!(event, Event::Delta(Delta::CallProgress { .. }))).await;
    ask_for(&mut actor, host_tool("lamp")).await.unwrap();
    actor.turn_end().await;
    let sent = player.sent.lock().unwrap();
    let offered = sent.iter().map(|(_, tools)| tools.contains(&"lamp".to_owned())).collect::<Vec<_>>();
    assert_eq!(offered, [false, true]);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_fails_cancels_or_leaves_gives_one_result() {
    let error = Answer::Result { parts: vec![Part::text("bulb broken")], is_error: true, details: None };
    for (answer, want) in [(error, "c1 Ran: bulb broken"), (Answer::Dismissed, "was aborted")] {
        let (stage, mut actor, _) = hosted(vec![calls(&[("lamp", "{}")])]).await;
        let ask = actor.ask().await.id;
        ask_for(&mut actor, Verb::Session(SessionVerb::Answer { ask, answer })).await.unwrap();
        actor.turn_end().await;
        let log = log(&stage).await;
        assert!(log.contains(want), "{log}");
    }
    let (stage, mut actor, _) = hosted(vec![calls(&[("lamp", "{}")])]).await;
    let mut other = join(&stage, None).await;
    actor.ask().await;
    drop(actor);
    other.turn_end().await;
    assert!(log(&stage).await.contains("c1 Ran: controller disconnected"));
    let (stage, mut actor, _) = hosted(vec![calls(&[("lamp", "{}")])]).await;
    actor.ask().await;
    actor.send(Verb::Session(SessionVerb::Interrupt { turn: None })).await;
    actor.turn_end().await;
    let log = log(&stage).await;
    assert!(log.contains("ask1 withdrawn") && log.contains("c1 Interrupted"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn a_hundred_sessions_do_not_wait_for_each_other() {
    let plays = (0..100).map(|_| vec![Step::Wait(1000), text("ok"), done(Finish::Stop)]);
    let stage = stage(&Player::new(plays));
    let mut actors = Vec::new();
    for _ in 0..100 {
        let mut actor = stage.open().await;
        actor.prompt("go").await;
        actors.push(actor);
    }
    let before = tokio::time::Instant::now();
    for actor in &mut actors {
        assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
    }
    assert_eq!(before.elapsed().as_millis(), 1000);
}

#[tokio::test(start_paused = true)]
async fn who_is_moved_to_a_session_with_an_open_question_sees_it() {
    let player = Player::new([calls(&[("change", "{}")])]);
    let stage = stage_with(&player, |options| options.mode = Mode::Prompt);
    let mut one = stage.open().await;
    one.prompt("go").await;
    let ask = one.ask().await;
    let mut two = stage.open().await;
    let Reply::Slash(moved) = ask_for(&mut two, slash("resume", "s1")).await.unwrap() else { panic!() };
    assert_eq!(moved.moved_to(), Some(&"s1".into()));
    assert_eq!(two.ask().await.id, ask.id);
    ask_for(&mut two, Verb::Session(SessionVerb::Answer { ask: ask.id, answer: Answer::Allow(Scope::Once) }))
        .await
        .unwrap();
    assert_eq!(two.turn_end().await.stop, Stop::EndTurn);
}

/// A peer with no question on its wire.
async fn mute(stage: &Stage) -> Actor {
    let mut actor = stage.actor();
    actor
        .open(Open {
            abilities: Abilities { answers: false, ..Abilities::default() },
            ..Open::new(Which::Id("s1".into()))
        })
        .await
        .unwrap();
    actor
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_cannot_answer_is_nobody_to_be_asked() {
    let plays = || [calls(&[("change", "{}")]), say("ok"), calls(&[("change", "{}")]), say("ok")];
    let stage = stage_with(&Player::new(plays()), |options| options.mode = Mode::Prompt);
    let mut first = stage.open().await;
    let mut silent = mute(&stage).await;
    silent.prompt("go").await;
    first.ask().await;
    drop(first);
    // The last who could answer is gone.
    assert_eq!(silent.turn_end().await.stop, Stop::EndTurn);
    silent.forget();
    silent.prompt("again").await;
    assert_eq!(silent.turn_end().await.stop, Stop::EndTurn);
    let log = log(&stage).await;
    assert_eq!(log.matches("may change run?").count(), 1, "{log}");
    assert!(log.contains("c1 Denied: denied, because nobody can be asked in permission mode prompt"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn who_answers_for_all_sessions_is_somebody_to_be_asked() {
    let plays = || [calls(&[("change", "{}")]), say("ok"), calls(&[("change", "{}")]), say("ok")];
    let stage = stage_with(&Player::new(plays()), |options| options.mode = Mode::Prompt);
    let elsewhere = stage.engine.answers_for_all();
    let made = stage.open().await;
    let mut silent = mute(&stage).await;
    drop(made);
    silent.prompt("go").await;
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    // Whoever comes to answer finds it open.
    let mut first = stage.actor();
    first.open(Open::new(Which::Id("s1".into()))).await.unwrap();
    let ask = first.ask().await.id;
    let answer = Answer::Allow(Scope::Once);
    ask_for(&mut first, Verb::Session(SessionVerb::Answer { ask, answer })).await.unwrap();
    assert_eq!(silent.turn_end().await.stop, Stop::EndTurn);
    drop(first);
    drop(elsewhere);
    silent.forget();
    silent.prompt("again").await;
    assert_eq!(silent.turn_end().await.stop, Stop::EndTurn);
    let log = log(&stage).await;
    assert_eq!(log.matches("may change run?").count(), 1, "{log}");
    assert!(log.contains("c1 Denied: denied, because nobody can be asked in permission mode prompt"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn whoever_comes_in_later_hears_what_was_thought_and_half_a_call() {
    let thought = |text: &str| Step::Event(ModelEvent::Thinking(text.into()));
    let sealed = Step::Event(ModelEvent::Seal("s".into()));
    let more = Step::Event(ModelEvent::Call { index: 0, id: None, name: None, input: "more".into() });
    let play = vec![
        thought("hm"),
        sealed,
        text("so"),
        call_step(0, "look", "{\"half"),
        Step::Wait(5000),
        more,
        thought("late"),
        Step::Hold,
    ];
    let stage = stage(&Player::new([play]));
    let mut first = stage.open().await;
    first.prompt("go").await;
    first.until(|event| matches!(event, Event::Delta(Delta::CallInput { .. }))).await;
    let mut second = stage.actor();
    second.open(Open::new(Which::Id("s1".into()))).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(6)).await;
    second.settle().await;
    let flow: Vec<String> = second
        .told
        .iter()
        .filter_map(|told| match &told.event {
            Event::Delta(Delta::Text { delta, .. }) => Some(format!("text {delta}")),
            Event::Delta(Delta::Thinking { delta, .. }) => Some(format!("thinking {delta}")),
            Event::Delta(Delta::Sealed { what, .. }) => Some(format!("{what:?} sealed")),
            Event::Delta(Delta::CallInput { id, name, delta, .. }) => {
                let (id, name) = (id.as_ref().map_or("-", CallId::as_str), name.as_deref().unwrap_or("-"));
                Some(format!("{id} {name} {delta}"))
            }
            _ => None,
        })
        .collect();
    let want = ["thinking hm", "Thinking sealed", "text so", "c1 look {\"half", "- - more", "thinking late"];
    assert_eq!(flow, want);
}

#[tokio::test(start_paused = true)]
async fn whoever_comes_in_is_told_what_is_written_and_the_rest_live() {
    let store = std::sync::Arc::new(testkit::faulty::FaultyStore::new(std::sync::Arc::new(store::MemoryStore::new())));
    let stage = {
        let store = store.clone();
        stage_with(&Player::new([say("one"), held("two")]), |options| options.store = store)
    };
    let mut first = stage.open().await;
    first.prompt("go").await;
    first.turn_end().await;
    store.slow(vec![3000]);
    let tag = first.send(Verb::Session(SessionVerb::Set(Change::Mode(Mode::Plan)))).await;
    first.prompt("again").await;
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    let mut second = stage.actor();
    let opened = second.open(Open::new(Which::Id("s1".into()))).await.unwrap();
    assert_eq!((opened.state.mode, opened.state.turn), (Mode::DangerFullAccess, None));
    first.reply(tag).await.unwrap();
    text_of(&mut second, "two").await;
    let news: Vec<String> = second
        .told
        .iter()
        .filter_map(|told| match &told.event {
            Event::Logged(entry) => Some(line(&entry.body)),
            _ => None,
        })
        .collect();
    assert_eq!(news, ["mode plan", "t2 started", "  user (Prompt): again"]);
    assert_eq!(second.text(), "two", "and nothing twice");
}

/// It was told more than it read, and is gone for the session then, and not when somebody finds out at its end: be that long
/// before the question or with the very event that would have told it.
#[tokio::test(start_paused = true)]
async fn a_peer_that_was_let_go_is_nobody_to_be_asked_though_it_has_not_read_that() {
    for limit in (2_000..=20_000).step_by(1_000) {
        let long = "x".repeat(10_000);
        let mut play = vec![text(&long), Step::Wait(10), text(&long), Step::Wait(10)];
        play.extend(calls(&[("change", "{}")]));
        let stage = stage_with(&Player::new([play, say("then not")]), |options| options.mode = Mode::Prompt);
        let mut actor = Actor::on(stage.engine.connect(engine::Slow::DropAt(limit)));
        actor.open(Open::new(Which::New)).await.unwrap();
        let (parts, delivery) = (vec![Part::text("go")], Delivery::RejectIfBusy);
        actor.send(Verb::Session(SessionVerb::Prompt { parts, delivery })).await;
        tokio::time::sleep(std::time::Duration::from_secs(5)).await;
        let log = log(&stage).await;
        assert!(log.contains("c1 Denied: denied: nobody is here who could be asked"), "{limit}: {log}");
        assert!(log.ends_with("t1 ended: EndTurn, 1 rounds\n"), "{limit}: {log}");
        let last = actor.until(|event| matches!(event, Event::Gone { .. })).await;
        assert!(matches!(last, Event::Gone { fault } if fault.kind == FaultKind::Unsupported), "and it is told so");
    }
}

#[tokio::test(start_paused = true)]
async fn who_came_into_a_turn_later_ends_it_when_who_began_it_is_gone() {
    let stage = stage(&Player::new([held("w"), held("w")]));
    let mut first = stage.open().await;
    let mut second = stage.actor();
    second.open(Open::new(Which::Id("s1".into()))).await.unwrap();
    first.prompt("go").await;
    text_of(&mut first, "w").await;
    let tag = first.deliver("then this", Delivery::Policy).await;
    let Ok(Reply::Waiting { item, .. }) = first.reply(tag).await else { panic!("it does not wait") };
    let take_back = || Verb::Session(SessionVerb::Queue(QueueVerb::TakeBackUnlessWanted(item.clone())));
    let stop = || Verb::Session(SessionVerb::InterruptUnlessWanted { turn: "t1".into() });
    let told = |was_running| Ok(Reply::Interrupted { was_running });
    assert_eq!(ask_for(&mut second, take_back()).await, Ok(Reply::Queue(vec![])), "who sent it waits for it");
    assert_eq!(ask_for(&mut second, stop()).await, told(false), "who began it waits for it");
    drop(first);
    second.settle().await;
    let Ok(Reply::Queue(taken)) = ask_for(&mut second, take_back()).await else { panic!("it is not taken back") };
    assert_eq!(taken.len(), 1);
    let other = Verb::Session(SessionVerb::InterruptUnlessWanted { turn: "t9".into() });
    assert_eq!(ask_for(&mut second, other).await, told(false), "another turn than the one that is meant");
    assert_eq!(ask_for(&mut second, stop()).await, told(true));
}
