//! What may be spent before somebody is asked, and what their answer does.

use std::sync::Arc;

use store::MemoryStore;
use testkit::fakes::{CountedIds, TickingClock};
use testkit::faulty::FaultyStore;
use testkit::stage::Actor;
use testkit::{Stage, slash_text};
use vocab::*;

use crate::recovery::life;
use crate::subagents::Family;
use crate::support::*;

const DAY_MS: i64 = 86_400_000;

/// Every model has a price, but for `m2`: a dollar for a thousand tokens.
struct Priced(Front);

impl Provider for Priced {
    fn resolve(&self, slug: &str) -> Result<ModelInfo, Fault> {
        let prices = Prices { input: 1000.0, cache_read: 0.0, cache_write: 0.0, output: 1000.0 };
        self.0.resolve(slug).map(|model| ModelInfo { prices: (slug != "m2").then_some(prices), ..model })
    }
    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        self.0.models()
    }
    fn chat(&self, model: &ModelInfo) -> Result<Box<dyn Chat>, Fault> {
        self.0.chat(model)
    }
}

pub(crate) fn budget(limits: &[&str]) -> Budget {
    testkit::budget(limits.iter().copied())
}

/// A reply that calls `look`, and used so many tokens.
pub(crate) fn looks(tokens: u64) -> Play {
    vec![used(tokens, 0), call_step(0, "look", "{}"), done(Finish::ToolUse)]
}
pub(crate) fn says(words: &str, tokens: u64) -> Play {
    vec![used(tokens, 0), text(words), done(Finish::Stop)]
}

fn limited(plays: impl IntoIterator<Item = Play>, limits: &[&str]) -> (Stage, Arc<Player>) {
    let (player, limits) = (Player::new(plays), budget(limits));
    let stage = stage_with(&player, |options| {
        options.provider = Arc::new(Priced(Front(player.clone())));
        options.model = "wide".into();
        options.tune = Box::new(move |settings| settings.budget = limits);
    });
    (stage, player)
}

pub(crate) async fn asked(actor: &mut Actor) -> (AskId, BudgetAsk) {
    let ask = actor.ask().await;
    actor.forget();
    match ask.kind {
        AskKind::Budget(budget) => (ask.id, budget),
        other => panic!("{other:?}"),
    }
}
pub(crate) async fn ended(actor: &mut Actor) -> TurnEnd {
    let end = actor.turn_end().await;
    actor.forget();
    end
}
pub(crate) async fn answer(actor: &mut Actor, ask: AskId, answer: Answer) -> Result<Reply, Fault> {
    ask_for(actor, Verb::Session(SessionVerb::Answer { ask, answer })).await
}

pub(crate) async fn shown(actor: &mut Actor, name: &str) -> String {
    match ask_for(actor, slash(name, "")).await {
        Ok(Reply::Slash(reply)) => slash_text(&reply),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_waits_where_its_budget_is_spent_and_a_yes_gives_as_much_again() {
    let (stage, player) = limited([looks(60), looks(60), looks(60), looks(60), say("done")], &["turn.tokens=100"]);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    let (id, ask) = asked(&mut actor).await;
    assert_eq!(ask.summary(), "this turn's budget of 100 tokens is spent (120 tokens): go on with another 100 tokens?");
    assert_eq!(player.calls_made(), 2, "no call begins where the limit is reached");
    answer(&mut actor, id.clone(), Answer::Allow(Scope::Once)).await.unwrap();
    assert_eq!(answer(&mut actor, id, Answer::Allow(Scope::Once)).await.unwrap_err().kind, FaultKind::UnknownAsk);
    let (id, ask) = asked(&mut actor).await;
    assert_eq!((ask.spent, player.calls_made()), (240, 4), "until 220 are spent");
    answer(&mut actor, id, Answer::Confirmed(true)).await.unwrap();
    assert_eq!(ended(&mut actor).await.stop, Stop::EndTurn);
}

#[tokio::test(start_paused = true)]
async fn a_no_ends_the_turn_in_order_and_the_next_prompt_has_a_budget_of_its_own() {
    for no in [Answer::Deny(None), Answer::Deny(Some("enough".into())), Answer::Dismissed, Answer::Confirmed(false)] {
        let (stage, player) = limited([looks(60), looks(60), say("again")], &["turn.tokens=100"]);
        let mut actor = stage.open().await;
        actor.prompt("go").await;
        let (id, _) = asked(&mut actor).await;
        answer(&mut actor, id, no.clone()).await.unwrap();
        let end = ended(&mut actor).await;
        assert_eq!((end.stop, end.iterations), (Stop::Budget, 2), "{no:?}");
        let fault = end.fault.unwrap();
        assert!(
            fault.kind == FaultKind::Budget && fault.message.starts_with("this turn's budget of 100 tokens is spent")
        );
        assert!(fault.hints[0].contains("--budget turn.tokens=N"), "{fault:?}");
        actor.prompt("more").await;
        assert_eq!(ended(&mut actor).await.stop, Stop::EndTurn);
        assert_eq!(player.last_sent().matches("Ran done").count(), 2, "the history is whole");
    }
}

#[tokio::test(start_paused = true)]
async fn an_allow_for_the_session_lifts_that_limit_and_no_other() {
    let plays = || (0..6).map(|_| looks(60)).chain([say("done")]);
    let (stage, _) = limited(plays(), &["turn.tokens=100", "turn.rounds=4"]);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    let (id, ask) = asked(&mut actor).await;
    assert_eq!(ask.unit, BudgetUnit::Tokens);
    answer(&mut actor, id, Answer::Allow(Scope::Session)).await.unwrap();
    let (id, ask) = asked(&mut actor).await;
    assert_eq!((ask.unit, ask.spent), (BudgetUnit::Rounds, 4));
    answer(&mut actor, id, Answer::Allow(Scope::Once)).await.unwrap();
    assert_eq!(ended(&mut actor).await.stop, Stop::EndTurn);
    let told = shown(&mut actor, "budget").await;
    assert!(told.contains("budget turn.tokens: 0 tokens of 100 tokens (lifted for this session)"), "{told}");
    assert!(told.contains("budget turn.rounds: 0 tool rounds of 4 tool rounds"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_session_asks_again_with_every_prompt_until_more_is_given() {
    let (stage, player) = limited([says("one", 120), say("two")], &["session.usd=0.1"]);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    assert_eq!(ended(&mut actor).await.stop, Stop::EndTurn, "a call that runs is not cut off");
    for _ in 0..2 {
        actor.prompt("more").await;
        let (id, ask) = asked(&mut actor).await;
        assert_eq!(ask.summary(), "this session's budget of $0.10 is spent ($0.12): go on with another $0.10?");
        answer(&mut actor, id, Answer::Deny(None)).await.unwrap();
        assert_eq!(ended(&mut actor).await.stop, Stop::Budget);
    }
    assert_eq!(player.calls_made(), 1);
    let refused =
        ask_for(&mut actor, Verb::Session(SessionVerb::Compact { instructions: None, wait: false })).await.unwrap_err();
    assert_eq!(refused.kind, FaultKind::Budget, "a summary costs, too");
    actor.prompt("more").await;
    let (id, _) = asked(&mut actor).await;
    answer(&mut actor, id, Answer::Allow(Scope::Once)).await.unwrap();
    assert_eq!(ended(&mut actor).await.stop, Stop::EndTurn);
}

#[tokio::test(start_paused = true)]
async fn a_day_is_that_of_all_sessions_and_ends_at_midnight() {
    let clock = Arc::new(TickingClock::default());
    let (player, limits) = (Player::new([says("one", 120), says("two", 5), say("three")]), budget(&["day.tokens=100"]));
    let (hands, front) = (clock.clone(), player.clone());
    let stage = stage_with(&player, |options| {
        options.provider = Arc::new(Priced(Front(front)));
        options.clock = hands;
        options.tune = Box::new(move |settings| settings.budget = limits);
    });
    let mut first = stage.open().await;
    first.prompt("go").await;
    assert_eq!(ended(&mut first).await.stop, Stop::EndTurn);
    let mut second = stage.open().await;
    second.prompt("go").await;
    let (id, ask) = asked(&mut second).await;
    assert_eq!((ask.span, ask.spent, player.calls_made()), (BudgetSpan::Day, 120, 1));
    answer(&mut second, id, Answer::Allow(Scope::Once)).await.unwrap();
    assert_eq!(ended(&mut second).await.stop, Stop::EndTurn);
    let told = shown(&mut second, "cost").await;
    assert!(told.contains("budget day.tokens: 125 tokens of 100 tokens (granted: up to 220 tokens)"), "{told}");
    // What one session was given is not another's.
    first.prompt("more").await;
    let (id, ask) = asked(&mut first).await;
    assert_eq!(ask.spent, 125);
    clock.jump(DAY_MS);
    answer(&mut first, id, Answer::Allow(Scope::Once)).await.unwrap();
    assert_eq!(ended(&mut first).await.stop, Stop::EndTurn, "another day has begun");
    let told = shown(&mut second, "cost").await;
    assert!(!told.contains("granted"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn time_is_that_of_work_and_not_of_people() {
    let clock = Arc::new(TickingClock::default());
    let player = Player::new([calls(&[("change", "{}")]), looks(1), say("done")]);
    let (hands, limits) = (clock.clone(), budget(&["turn.minutes=1"]));
    let stage = stage_with(&player, |options| {
        options.mode = Mode::Prompt;
        options.clock = hands;
        options.tune = Box::new(move |settings| settings.budget = limits);
    });
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    let ask = actor.ask().await;
    clock.jump(600_000);
    answer(&mut actor, ask.id, Answer::Allow(Scope::Once)).await.unwrap();
    assert_eq!(ended(&mut actor).await.stop, Stop::EndTurn, "ten minutes were a person's");
    let player = Player::new([vec![text("wait"), Step::Wait(100), call_step(0, "look", "{}"), done(Finish::ToolUse)]]);
    let (hands, limits) = (clock.clone(), budget(&["turn.minutes=1"]));
    let stage = stage_with(&player, |options| {
        options.clock = hands;
        options.tune = Box::new(move |settings| settings.budget = limits);
    });
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    text_of(&mut actor, "wait").await;
    clock.jump(90_000);
    let (id, ask) = asked(&mut actor).await;
    assert_eq!((ask.unit, ask.spent / 1000), (BudgetUnit::Time, 90), "the model took a minute and a half");
    clock.jump(600_000);
    answer(&mut actor, id, Answer::Allow(Scope::Once)).await.unwrap();
    assert_eq!(ended(&mut actor).await.stop, Stop::EndTurn);
}

#[tokio::test(start_paused = true)]
async fn money_without_a_price_is_not_counted_and_that_is_said_once() {
    let (stage, _) = limited([looks(500), looks(500), say("done")], &["turn.usd=0.1"]);
    let mut actor = stage.open().await;
    ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Model("m2".into())))).await.unwrap();
    actor.prompt("go").await;
    assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
    let said = |told: &&Told| matches!(&told.event, Event::Extension(ExtensionEvent::Notice(Notice::Say { text, .. })) if text.contains("price of m2 is not known"));
    assert_eq!(actor.told.iter().filter(said).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn where_nobody_can_answer_the_turn_ends_at_once() {
    let (stage, player) = limited([looks(60), looks(60), say("done")], &["turn.tokens=100"]);
    let mut actor = stage.actor();
    let abilities = Abilities { answers: false, ..Abilities::default() };
    actor.open(Open { abilities, ..Open::new(Which::New) }).await.unwrap();
    actor.prompt("go").await;
    let end = ended(&mut actor).await;
    assert_eq!((end.stop, player.calls_made()), (Stop::Budget, 2));
    assert!(end.fault.unwrap().message.ends_with(": nobody is here who could be asked"));
    assert!(!log(&stage).await.contains("ask1"));
}

#[tokio::test(start_paused = true)]
async fn the_last_one_who_could_answer_leaves_and_that_is_a_no() {
    let (stage, player) = limited([looks(60), looks(60), say("done")], &["turn.tokens=100"]);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    asked(&mut actor).await;
    drop(actor);
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert!(log(&stage).await.contains("ended: Budget, 2 rounds"), "{}", log(&stage).await);
    assert_eq!(player.calls_made(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_and_messages_meet_an_open_question() {
    let (stage, player) = limited([looks(60), looks(60), say("done"), say("next")], &["turn.tokens=100"]);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    let (id, _) = asked(&mut actor).await;
    let steer = actor.deliver("and this", Delivery::Steer).await;
    actor.reply(steer).await.unwrap();
    let next = actor.deliver("then that", Delivery::Enqueue).await;
    actor.reply(next).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(3600)).await;
    assert_eq!(player.calls_made(), 2, "people take the time they take");
    answer(&mut actor, id, Answer::Allow(Scope::Session)).await.unwrap();
    actor.until(|event| *event == Event::Settled).await;
    assert!(player.last_sent().contains("user and this") && player.last_sent().contains("user then that"));

    let (stage, player) = limited([looks(60), looks(60)], &["turn.tokens=100"]);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    asked(&mut actor).await;
    ask_for(&mut actor, Verb::Session(SessionVerb::Interrupt { turn: None })).await.unwrap();
    assert_eq!((ended(&mut actor).await.stop, player.calls_made()), (Stop::Interrupted, 2));
    assert!(log(&stage).await.contains("ask1 withdrawn"));
}

#[tokio::test(start_paused = true)]
async fn a_compaction_is_not_begun_where_the_budget_is_spent_and_counts_where_it_was() {
    let long = "x".repeat(3000);
    let plays = || [says(&long, 900), says("a summary", 500), say("done")];
    let stage_of = |player: &Arc<Player>, limits: Budget| {
        stage_with(player, |options| options.tune = Box::new(move |settings| settings.budget = limits))
    };
    let player = Player::new(plays());
    let stage = stage_of(&player, budget(&["session.tokens=800"]));
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    ended(&mut actor).await;
    actor.prompt("more").await;
    asked(&mut actor).await;
    assert_eq!(player.calls_made(), 1, "neither the summary nor the call");

    let player = Player::new(plays());
    let stage = stage_of(&player, budget(&["session.tokens=1000"]));
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    ended(&mut actor).await;
    actor.prompt("more").await;
    let (id, ask) = asked(&mut actor).await;
    assert_eq!((ask.spent, player.calls_made()), (1400, 2), "the summary was paid for, the call waits");
    answer(&mut actor, id, Answer::Allow(Scope::Once)).await.unwrap();
    assert_eq!((ended(&mut actor).await.stop, player.calls_made()), (Stop::EndTurn, 3));
}

#[tokio::test(start_paused = true)]
async fn a_child_has_what_is_left_of_its_parents_turn_and_asks_nobody() {
    let task = r#"{"task":"look around"}"#;
    let plays = [
        vec![used(40, 0), call_step(0, "subagent", task), done(Finish::ToolUse)],
        looks(40),
        looks(40),
        looks(40),
        say("done"),
    ];
    let (player, limits) = (Player::new(plays), budget(&["turn.tokens=100"]));
    let stage = stage_with(&player, |options| {
        options.model = "wide".into();
        options.toolbox = Some(Arc::new(Family));
        options.tune = Box::new(move |settings| settings.budget = limits);
    });
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    let (_, ask) = asked(&mut actor).await;
    assert_eq!((ask.spent, player.calls_made()), (120, 3), "40 of its own and 80 of the child's");
    let told = log(&stage).await;
    assert!(told.contains("the sub-agent was stopped: this turn's budget of 60 tokens is spent (80 tokens)"), "{told}");
    assert_eq!(told.matches("ask1").count(), 1, "{told}");
}

#[tokio::test(start_paused = true)]
async fn two_peers_are_asked_and_one_answer_counts() {
    let (stage, _) = limited([looks(60), looks(60), say("done")], &["turn.tokens=100"]);
    let (mut one, mut other) = (stage.open().await, stage.actor());
    other.open(Open::new(Which::Id("s1".into()))).await.unwrap();
    one.prompt("go").await;
    let ((id, _), (same, _)) = (asked(&mut one).await, asked(&mut other).await);
    assert_eq!(id, same);
    answer(&mut other, id.clone(), Answer::Allow(Scope::Once)).await.unwrap();
    assert_eq!(answer(&mut one, id, Answer::Deny(None)).await.unwrap_err().kind, FaultKind::UnknownAsk);
    assert_eq!(ended(&mut one).await.stop, Stop::EndTurn);
}

pub(crate) fn kept(
    store: &Arc<FaultyStore>,
    player: &Arc<Player>,
    ids: &str,
    rule: OnRestart,
    limits: &[&str],
) -> Stage {
    let (store, names, limits) = (store.clone(), vec![(IdKind::Ask, ids.to_owned())], budget(limits));
    stage_with(player, |options| {
        options.model = "wide".into();
        options.store = store;
        options.ids = CountedIds::with_names(names);
        options.tune = Box::new(move |settings| (settings.on_restart, settings.budget) = (rule, limits));
    })
}

/// A turn that stands at its question when its process dies.
fn asked_and_killed(limits: &[&str]) -> Arc<FaultyStore> {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    life(&store, async || {
        let player = Player::new([looks(60), looks(60)]);
        let stage = kept(&store, &player, "ask1", OnRestart::Continue, limits);
        let mut actor = stage.open().await;
        actor.prompt("go").await;
        asked(&mut actor).await;
    });
    store
}
pub(crate) async fn resumed(stage: &Stage) -> Actor {
    let mut actor = stage.actor();
    actor.open(Open::new(Which::Id("s1".into()))).await.unwrap();
    actor
}

#[test]
fn after_a_restart_the_question_is_asked_again_and_its_answer_holds_in_the_next_life() {
    const LIMITS: &[&str] = &["turn.tokens=100"];
    let store = asked_and_killed(LIMITS);
    for _ in 0..3 {
        life(&store, async || {
            let player = Player::new([]);
            let stage = kept(&store, &player, "ask2", OnRestart::Continue, LIMITS);
            let (id, ask) = asked(&mut resumed(&stage).await).await;
            assert_eq!((id.as_str(), ask.spent, player.calls_made()), ("ask1", 120, 0));
        });
    }
    life(&store, async || {
        let player = Player::new([looks(60), held("half")]);
        let stage = kept(&store, &player, "ask2", OnRestart::Continue, LIMITS);
        let mut actor = resumed(&stage).await;
        let (id, _) = asked(&mut actor).await;
        answer(&mut actor, id, Answer::Allow(Scope::Once)).await.unwrap();
        text_of(&mut actor, "half").await;
    });
    life(&store, async || {
        let player = Player::new([looks(60)]);
        let stage = kept(&store, &player, "ask2", OnRestart::Continue, LIMITS);
        let mut actor = resumed(&stage).await;
        let (id, ask) = asked(&mut actor).await;
        assert_eq!((id.as_str(), ask.spent, player.calls_made()), ("ask2", 240, 1), "the grant went up to 220");
        answer(&mut actor, id, Answer::Deny(None)).await.unwrap();
        assert_eq!(ended(&mut actor).await.stop, Stop::Budget);
    });
}

#[test]
fn a_limit_that_is_gone_or_another_after_a_restart_takes_its_question_back() {
    for (limits, asks) in [(&[][..], 0), (&["turn.tokens=100000"], 0), (&["turn.rounds=1"], 1)] {
        let store = asked_and_killed(&["turn.tokens=100"]);
        life(&store, async || {
            let player = Player::new([say("done")]);
            let stage = kept(&store, &player, "ask2", OnRestart::Continue, limits);
            let mut actor = resumed(&stage).await;
            if asks > 0 {
                let (id, ask) = asked(&mut actor).await;
                assert_eq!((id.as_str(), ask.unit), ("ask2", BudgetUnit::Rounds));
                answer(&mut actor, id, Answer::Allow(Scope::Once)).await.unwrap();
            } else {
                // Nobody is shown a question that has no point any more.
                let end = actor.turn_end().await;
                let is_asked = |event: &Event| matches!(event, Event::Logged(entry) if matches!(entry.body, Body::Ask(AskEntry::Opened(_))));
                assert!(!actor.told.iter().any(|told| is_asked(&told.event)), "{limits:?}");
                assert_eq!(end.stop, Stop::EndTurn);
                assert!(log(&stage).await.contains("ask1 withdrawn"), "{}", log(&stage).await);
                return;
            }
            assert_eq!(ended(&mut actor).await.stop, Stop::EndTurn);
            assert!(log(&stage).await.contains("ask1 withdrawn"), "{}", log(&stage).await);
        });
    }
}

#[test]
fn under_the_rule_to_close_the_question_is_withdrawn_with_its_turn() {
    let store = asked_and_killed(&["turn.tokens=100"]);
    life(&store, async || {
        let player = Player::new([say("done")]);
        let stage = kept(&store, &player, "ask2", OnRestart::Close, &["session.tokens=100"]);
        let mut actor = resumed(&stage).await;
        actor.prompt("more").await;
        let (id, ask) = asked(&mut actor).await;
        assert_eq!((ask.span, ask.spent), (BudgetSpan::Session, 120), "what was spent before counts");
        let told = log(&stage).await;
        assert!(told.contains("ask1 withdrawn") && told.contains("t1 ended: Error"), "{told}");
        answer(&mut actor, id, Answer::Allow(Scope::Session)).await.unwrap();
        assert_eq!(ended(&mut actor).await.stop, Stop::EndTurn);
    });
}
