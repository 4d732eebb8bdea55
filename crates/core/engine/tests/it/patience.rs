//! Who may take how long: a person and a model that is meant to think have no clock but their own, and nothing that a
//! verb waits for holds up an interrupt or the running turn.

use std::sync::Arc;
use std::time::Duration;
use testkit::slash_text;

use store::MemoryStore;
use testkit::Stage;
use testkit::faulty::FaultyStore;
use tokio::time::Instant;
use vocab::*;

use crate::support::*;

fn minutes(n: u64) -> Duration {
    Duration::from_secs(60 * n)
}

#[tokio::test(start_paused = true)]
async fn a_host_tool_is_answered_by_a_person_after_eleven_minutes() {
    let stage = stage(&Player::new([calls(&[("ask_human", "{}")]), say("thanks")]));
    let mut actor = stage.open().await;
    let tool = HostTool {
        name: "ask_human".into(),
        description: "".into(),
        schema: Json::empty_object(),
        required: Required::DangerFullAccess,
    };
    ask_for(&mut actor, Verb::Session(SessionVerb::OfferTools { tools: vec![tool] })).await.unwrap();
    actor.prompt("go").await;
    let ask = actor.ask().await.id;
    tokio::time::sleep(minutes(11)).await;
    let answer = Answer::Result { parts: vec![Part::text("yes")], is_error: false, details: None };
    ask_for(&mut actor, Verb::Session(SessionVerb::Answer { ask, answer })).await.unwrap();
    assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
}

/// A client that has a limit of its own, or none on purpose.
struct Patient(Front);

impl Provider for Patient {
    fn resolve(&self, slug: &str) -> Result<ModelInfo, Fault> {
        self.0.resolve(slug)
    }
    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        self.0.models()
    }
    fn chat(&self, model: &ModelInfo) -> Result<Box<dyn Chat>, Fault> {
        Ok(Box::new(PatientChat(self.0.chat(model)?)))
    }
}

struct PatientChat(Box<dyn Chat>);

impl Chat for PatientChat {
    fn push(&mut self, message: &Message) {
        self.0.push(message);
    }
    fn clear(&mut self) {
        self.0.clear();
    }
    fn bytes(&self) -> usize {
        self.0.bytes()
    }
    fn call(&mut self, spec: &CallSpec) -> ModelStream {
        self.0.call(spec)
    }
    fn keeps_time(&self) -> bool {
        true
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_may_think_in_silence_as_long_as_its_client_lets_it() {
    let thinks = vec![Step::Wait(minutes(60).as_millis() as u64), text("42"), done(Finish::Stop)];
    let player = Player::new([thinks]);
    let stage = stage_with(&player, |options| options.provider = Arc::new(Patient(Front(player.clone()))));
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    let start = Instant::now();
    let is_news = |event: &Event| match event {
        Event::Delta(Delta::Text { .. }) => true,
        Event::Logged(entry) => matches!(entry.body, Body::Turn(TurnEntry::Ended(_))),
        _ => false,
    };
    while !actor.told.iter().any(|told| is_news(&told.event)) {
        assert!(actor.peer.events(&mut actor.told).await);
    }
    assert!(start.elapsed() >= minutes(60));
    assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
}

#[tokio::test(start_paused = true)]
async fn a_silent_model_is_given_up_where_its_silence_counts() {
    let player = Player::new([vec![text("4"), Step::Hold], say("next")]);
    let stage = stage_with(&player, |options| {
        options.provider = Arc::new(Patient(Front(player.clone())));
        options.tune = Box::new(|settings| {
            let conduct = Conduct { stall_ms: 30_000, models_stall: true, ..Conduct::default() };
            settings.conduct = conduct.into();
        });
    });
    let mut actor = stage.open().await;
    let start = Instant::now();
    actor.prompt("go").await;
    let waits = actor.deliver("waits", Delivery::Enqueue).await;
    actor.reply(waits).await.unwrap();
    assert_eq!(actor.turn_end().await.fault.map(|fault| fault.kind), Some(FaultKind::Network));
    assert!((30..32).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    // What waits goes on.
    text_of(&mut actor, "next").await;
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_nothing_would_ever_end_is_given_up() {
    let stage = stage(&Player::new([calls(&[("look", r#"{"hangs":1}"#)])]));
    let mut actor = stage.open().await;
    let start = Instant::now();
    actor.prompt("go").await;
    let end = actor.turn_end().await;
    assert_eq!(end.fault.map(|fault| fault.kind), Some(FaultKind::Network));
    // Later than any limit that a call can have of its own.
    assert!(start.elapsed() > Duration::from_secs(600), "{:?}", start.elapsed());
}

/// A server of models that does not answer for half a minute.
struct Far(Front);

impl Provider for Far {
    fn resolve(&self, slug: &str) -> Result<ModelInfo, Fault> {
        self.0.resolve(slug)
    }
    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        Box::pin(async {
            tokio::time::sleep(Duration::from_secs(30)).await;
            self.0.models().await
        })
    }
    fn chat(&self, model: &ModelInfo) -> Result<Box<dyn Chat>, Fault> {
        self.0.chat(model)
    }
}

fn far(player: &Arc<Player>) -> Stage {
    stage_with(player, |options| options.provider = Arc::new(Far(Front(player.clone()))))
}

#[tokio::test(start_paused = true)]
async fn a_list_of_models_that_does_not_come_holds_up_nothing() {
    let streams = vec![text("a"), Step::Wait(1000), text("b"), Step::Hold];
    let stage = far(&Player::new([streams]));
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    text_of(&mut actor, "a").await;
    let start = Instant::now();
    let model = actor.send(slash("model", "m2")).await;
    let behind = actor.send(slash("status", "")).await;
    text_of(&mut actor, "b").await;
    assert_eq!(start.elapsed().as_secs(), 1, "what the model says is told meanwhile");
    let interrupted = ask_for(&mut actor, Verb::Session(SessionVerb::Interrupt { turn: None })).await;
    assert_eq!(interrupted, Ok(Reply::Interrupted { was_running: true }));
    assert_eq!(actor.turn_end().await.stop, Stop::Interrupted);
    assert_eq!(start.elapsed().as_secs(), 1, "and an interrupt works at once");
    // A peer's own commands keep their order.
    let Ok(Reply::Slash(status)) = actor.reply(behind).await else { panic!("no status") };
    assert!(slash_text(&status).contains("model     m2"), "{}", slash_text(&status));
    assert_eq!(start.elapsed().as_secs(), 30);
    let tags: Vec<Tag> = actor
        .told
        .iter()
        .filter_map(|told| match &told.event {
            Event::Reply { tag, .. } if [model, behind].contains(tag) => Some(*tag),
            _ => None,
        })
        .collect();
    assert_eq!(tags, [model, behind]);
}

#[tokio::test(start_paused = true)]
async fn others_do_not_wait_for_one_peers_slow_command() {
    let stage = far(&Player::new([]));
    let mut slow = stage.open().await;
    let mut other = stage.actor();
    other.open(Open::new(Which::Id("s1".into()))).await.unwrap();
    let start = Instant::now();
    slow.send(slash("model", "")).await;
    other.prompt("go").await;
    assert_eq!(other.turn_end().await.stop, Stop::EndTurn);
    assert_eq!(start.elapsed().as_secs(), 0);
    // One that leaves takes what it waits for with it.
    drop(slow);
    other.settle().await;
    stage.engine.shutdown().await;
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_answers_what_still_waits() {
    let stage = far(&Player::new([]));
    let mut actor = stage.open().await;
    let (model, behind) = (actor.send(slash("model", "")).await, actor.prompt("go").await);
    tokio::time::sleep(Duration::from_secs(1)).await;
    stage.engine.shutdown().await;
    for tag in [model, behind] {
        assert_eq!(actor.reply(tag).await.unwrap_err().kind, FaultKind::ShuttingDown);
    }
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_stops_a_prompt_that_waits_for_its_peers_slow_command() {
    let player = Player::new([]);
    let stage = far(&player);
    let mut actor = stage.open().await;
    actor.send(slash("model", "")).await;
    let prompt = actor.prompt("go").await;
    let later = actor.deliver("later", Delivery::Enqueue).await;
    assert_eq!(
        ask_for(&mut actor, Verb::Session(SessionVerb::Interrupt { turn: None })).await,
        Ok(Reply::Interrupted { was_running: true })
    );
    assert_eq!(actor.reply(prompt).await.unwrap_err().kind, FaultKind::Cancelled);
    assert!(actor.reply(later).await.is_ok(), "what waits for its turn whatever happens is not stopped");
    actor.turn_end().await;
    assert_eq!(player.calls_made(), 1);
}

#[tokio::test(start_paused = true)]
async fn logs_that_are_read_whole_hold_up_nothing() {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let streams = || vec![text("a"), Step::Wait(1000), text("b"), Step::Hold];
    let stage = {
        let store = store.clone();
        stage_with(&Player::new([say("one"), streams(), streams(), streams(), streams()]), |options| {
            options.store = store;
        })
    };
    let mut actor = stage.open().await;
    actor.prompt("before").await;
    actor.turn_end().await;
    for verb in [
        Verb::Session(SessionVerb::Read { after: 0 }),
        slash("cost", ""),
        slash("diff", ""),
        Verb::Session(SessionVerb::Inspect),
    ] {
        actor.forget();
        actor.prompt("go").await;
        text_of(&mut actor, "a").await;
        store.slow_reads(30_000);
        let start = Instant::now();
        let what = testkit::verb_text(&verb);
        let tag = actor.send(verb).await;
        text_of(&mut actor, "b").await;
        ask_for(&mut actor, Verb::Session(SessionVerb::Interrupt { turn: None })).await.unwrap();
        assert_eq!(start.elapsed().as_secs(), 1, "{what}");
        actor.reply(tag).await.unwrap();
        store.slow_reads(0);
        actor.settle().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_history_that_is_read_again_in_mid_turn_does_not_hold_up_an_interrupt() {
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let player = Player::new([calls(&[("look", r#"{"slow":1}"#)]), say("done")]);
    let stage = {
        let store = store.clone();
        stage_with(&player, |options| options.store = store)
    };
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.until(|event| matches!(event, Event::Delta(Delta::CallProgress { .. }))).await;
    ask_for(&mut actor, Verb::Session(SessionVerb::Set(Change::Model("m2".into())))).await.unwrap();
    store.slow_reads(30_000);
    actor
        .until(|event| matches!(event, Event::Logged(it) if matches!(it.body, Body::Call(CallEntry::Ended { .. }))))
        .await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let start = Instant::now();
    ask_for(&mut actor, Verb::Session(SessionVerb::Interrupt { turn: None })).await.unwrap();
    assert_eq!(actor.turn_end().await.stop, Stop::Interrupted);
    assert_eq!((start.elapsed().as_secs(), player.calls_made()), (0, 1));
}
