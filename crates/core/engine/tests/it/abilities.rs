//! Peers of different kinds on one session: what each can do, is told, and decides about.

use testkit::Stage;
use testkit::stage::Actor;
use vocab::*;

use crate::support::*;

async fn come(stage: &Stage, tune: impl FnOnce(&mut Open)) -> (Actor, Opened) {
    let mut actor = stage.actor();
    let mut open = Open::new(Which::Named("s1".into()));
    tune(&mut open);
    let opened = actor.open(open).await.unwrap();
    (actor, opened)
}

fn allow(ask: AskId) -> Verb {
    Verb::Session(SessionVerb::Answer { ask, answer: Answer::Allow(Scope::Once) })
}

pub(crate) fn lamp() -> HostTool {
    let (name, description): (std::sync::Arc<str>, _) = ("lamp".into(), "a lamp".into());
    HostTool { name, description, schema: Json::empty_object(), required: Required::ReadOnly }
}

#[tokio::test(start_paused = true)]
async fn while_a_proxying_controller_is_here_it_sees_every_call() {
    let look = || calls(&[("look", "{}")]);
    let stage = stage(&Player::new([look(), say("a"), look(), say("b"), look(), say("c")]));
    let mut first = stage.open().await;
    first.prompt("one").await;
    first.turn_end().await;
    let (mut proxy, _) = come(&stage, |open| open.gate = Some(Gate::Proxy)).await;
    first.forget();
    first.prompt("two").await;
    // Both are asked, and either may answer.
    let ask = proxy.ask().await.id;
    assert_eq!(first.ask().await.id, ask);
    ask_for(&mut first, allow(ask)).await.unwrap();
    first.turn_end().await;
    drop(proxy);
    first.settle().await;
    first.forget();
    first.prompt("three").await;
    first.turn_end().await;
    let log = log(&stage).await;
    assert_eq!(log.matches("may look run?").count(), 1, "before and afterwards the mode decides: {log}");
    assert_eq!(log.matches("c1 Ran").count(), 3, "{log}");
}

#[tokio::test(start_paused = true)]
async fn whoever_comes_later_with_other_wishes_changes_it_for_all_or_is_told_why_not() {
    let stage = stage(&Player::new([]));
    let mut first = stage.open().await;
    first.prompt("go").await;
    first.turn_end().await;
    first.forget();
    let (mut second, opened) = come(&stage, |open| {
        open.mode = Some(Mode::Plan);
        open.model = Some("m2".into());
        open.thinking = Some("high".into());
        open.controller = Some("second".into());
    })
    .await;
    assert!(opened.notices.is_empty(), "{:?}", opened.notices);
    let is_so = |event: &Event| matches!(event, Event::State(it) if it.mode == Mode::Plan && &*it.model == "m2" && it.thinking.as_deref() == Some("high"));
    first.until(is_so).await;
    second.until(is_so).await;
    let log = log(&stage).await;
    assert!(log.contains("mode plan") && log.contains("model m2"), "{log}");
    let entries = stage.store.read(&"s1".into(), 0, usize::MAX).await.unwrap().entries;
    let mode = entries.iter().find(|it| it.body == Body::Setting(SettingEntry::Mode { mode: Mode::Plan })).unwrap();
    assert_eq!(mode.by, Some(Principal::controller("second")), "whose doing it is");
    first.forget();
    let (_third, opened) = come(&stage, |open| {
        open.model = Some("nonsense".into());
        open.workspace = Some("/elsewhere".into());
        open.mode = Some(Mode::Plan);
    })
    .await;
    assert_eq!(opened.notices.len(), 3, "{:?}", opened.notices);
    assert!(opened.notices[1].starts_with("model m2 stays: unknown model: nonsense"), "{:?}", opened.notices);
    assert!(opened.notices[2].starts_with("this session works in /tmp/"), "{:?}", opened.notices);
    first.settle().await;
    assert!(first.told.is_empty(), "nothing is different: {:?}", first.told);
    // One that is here already and opens again changes nothing by that.
    let again = Open { mode: Some(Mode::ReadOnly), ..Open::new(Which::Named("s1".into())) };
    assert_eq!(second.open(again).await.unwrap().state.mode, Mode::Plan);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_hears_entries_hears_questions_and_their_ends_and_no_deltas() {
    let play = [calls(&[("change", "{}")]), say("done")];
    let stage = stage_with(&Player::new(play), |options| options.mode = Mode::Prompt);
    let mut first = stage.open().await;
    let quiet = Abilities { answers: false, level: Level::Entries, ..Abilities::default() };
    let (mut second, _) = come(&stage, |open| open.abilities = quiet.clone()).await;
    first.prompt("go").await;
    let ask = first.ask().await.id;
    assert_eq!(second.ask().await.id, ask, "it is told, though it cannot answer");
    ask_for(&mut first, allow(ask.clone())).await.unwrap();
    second.turn_end().await;
    let closed = |told: &Told| matches!(&told.event, Event::Logged(it) if matches!(&it.body, Body::Ask(AskEntry::Closed { ask: it, .. }) if *it == ask));
    assert!(second.told.iter().any(closed));
    assert!(!second.told.iter().any(|told| matches!(told.event, Event::Delta(_))), "{:#?}", second.told);
    // It may change.
    let all = Abilities { level: Level::Deltas, ..quiet };
    ask_for(&mut second, Verb::Session(SessionVerb::Able(all))).await.unwrap();
    first.prompt("more").await;
    text_of(&mut second, "ok").await;
}

#[tokio::test(start_paused = true)]
async fn the_last_who_could_answer_and_cannot_any_more_leaves_a_no() {
    let play = [calls(&[("change", "{}")]), say("then not")];
    let stage = stage_with(&Player::new(play), |options| options.mode = Mode::Prompt);
    let mut first = stage.open().await;
    first.prompt("go").await;
    first.ask().await;
    let mute = Abilities { answers: false, ..Abilities::default() };
    ask_for(&mut first, Verb::Session(SessionVerb::Able(mute))).await.unwrap();
    assert_eq!(first.turn_end().await.stop, Stop::EndTurn);
    assert!(log(&stage).await.contains("c1 Denied"));
}

#[tokio::test(start_paused = true)]
async fn a_tool_is_its_first_owners_until_that_one_leaves() {
    let player = Player::new([]);
    let stage = stage(&player);
    let mut first = stage.open().await;
    let owns = |open: &mut Open| open.abilities.tools = Some(vec![lamp()]);
    let (owner, opened) = come(&stage, owns).await;
    assert!(opened.notices.is_empty(), "{:?}", opened.notices);
    let (mut other, opened) = come(&stage, owns).await;
    assert_eq!(opened.notices, ["tool \"lamp\" conflicts with an existing tool"]);
    let offered = |player: &Player| player.sent.lock().unwrap().last().unwrap().1.contains(&"lamp".to_owned());
    first.prompt("one").await;
    first.turn_end().await;
    assert!(offered(&player));
    drop(owner);
    first.settle().await;
    first.forget();
    first.prompt("two").await;
    first.turn_end().await;
    assert!(!offered(&player), "withdrawn with its owner");
    let able = Abilities { tools: Some(vec![lamp()]), ..Abilities::default() };
    ask_for(&mut other, Verb::Session(SessionVerb::Able(able))).await.unwrap();
    first.forget();
    first.prompt("three").await;
    first.turn_end().await;
    assert!(offered(&player), "and free for the next");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_handed_over_is_told_in_its_place_or_behind_what_was_missed() {
    let play = [calls(&[("lamp", "{}")]), say("lit")];
    let stage = stage_with(&Player::new(play), |options| {
        options.tune = Box::new(|settings| settings.unanswered = Some(Unanswered::Keep));
    });
    let owns = |open: &mut Open| open.abilities.tools = Some(vec![lamp()]);
    let (mut owner, _) = come(&stage, owns).await;
    owner.prompt("go").await;
    let ask = owner.ask().await.id;
    owner.settle().await;
    let entries = |actor: &Actor| -> Vec<u64> {
        let seq = |told: &Told| match &told.event {
            Event::Logged(entry) => Some(entry.seq),
            _ => None,
        };
        actor.told.iter().filter_map(seq).collect()
    };
    let all = entries(&owner);
    drop(owner);
    // One that reads the whole past finds it there, once.
    let (mut next, _) = come(&stage, |open| {
        owns(open);
        open.after = Some(Cursor::at(0));
    })
    .await;
    next.settle().await;
    assert_eq!(entries(&next), all, "without gap or repeat");
    drop(next);
    // One that was there when it was somebody else's is told that it is its own now, when it is live.
    let last = all[all.len() - 1];
    let (mut third, _) = come(&stage, |open| {
        owns(open);
        open.after = Some(Cursor::at(last));
    })
    .await;
    assert_eq!(third.ask().await.id, ask);
    assert!(third.told.iter().any(|told| told.event == Event::Live { seq: last }), "{:#?}", third.told);
    let answer = Answer::Result { parts: vec![Part::text("on")], is_error: false, details: None };
    ask_for(&mut third, Verb::Session(SessionVerb::Answer { ask, answer })).await.unwrap();
    assert_eq!(third.turn_end().await.stop, Stop::EndTurn);
}
