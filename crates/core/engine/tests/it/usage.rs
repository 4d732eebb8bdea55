//! Whatever happens to model calls, what they used adds up: in turns, in the store, in `/cost`, and in the next process.

use std::sync::Arc;
use testkit::slash_text;

use testkit::sim::Dice;
use testkit::stage::Actor;
use testkit::{Stage, StageOptions};
use vocab::*;

use crate::subagents::Family;
use crate::support::*;

const SEEDS: u64 = 150;
/// More than any story needs; what is left over is not counted.
const PLAYS: usize = 400;

/// The models of [`Front`] with prices, or without one for the last of the chain.
struct Priced {
    front: Front,
    all: bool,
}

fn prices(slug: &str, all: bool) -> Option<Prices> {
    let one = |input, output| Some(Prices { input, cache_read: 0.5, cache_write: 7.0, output });
    match slug {
        "chain" => one(1.0, 10.0),
        "m2" => one(2.0, 20.0),
        _ => one(3.0, 30.0).filter(|_| all),
    }
}

impl Provider for Priced {
    fn resolve(&self, slug: &str) -> Result<ModelInfo, Fault> {
        self.front.resolve(slug).map(|model| ModelInfo { prices: prices(slug, self.all), ..model })
    }
    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        self.front.models()
    }
    fn chat(&self, model: &ModelInfo) -> Result<Box<dyn Chat>, Fault> {
        self.front.chat(model)
    }
}

fn process(player: &Arc<Player>, store: &Arc<dyn Store>, all: bool) -> Stage {
    Stage::new(StageOptions {
        provider: Arc::new(Priced { front: Front(player.clone()), all }),
        model: "chain".into(),
        toolbox: Some(Arc::new(Family)),
        store: store.clone(),
        tune: Box::new(|settings| {
            settings.retry.retries_max = 2;
            settings.compaction.keep_pct = 0;
        }),
        ..StageOptions::default()
    })
}

/// A call that reports what it used and then goes well, badly, or on.
fn play(dice: &mut Dice, mad: bool) -> (Usage, Play) {
    let mut tokens = |most: u64| match mad {
        // A server that counts nonsense.
        true => dice.pick(&[0, 1, u64::MAX / 2, TOKENS_MAX, TOKENS_MAX + 1, u64::MAX]),
        false => dice.below(most),
    };
    let usage = Usage {
        input: tokens(900).saturating_add(1),
        cache_read: tokens(50),
        cache_write: tokens(50),
        output: tokens(90),
        estimated: false,
    };
    let report = Step::Event(ModelEvent::Usage(usage));
    let play = match dice.below(10) {
        0..4 => vec![text("fine"), report, done(Finish::Stop)],
        4 => vec![report, call_step(0, "look", "{}"), done(Finish::ToolUse)],
        // A sub-agent takes its calls from the same heap; one that would have one of its own is told that there is no such tool.
        5 => {
            let task =
                dice.pick(&[r#"{"task":"x"}"#, r#"{"task":"x","model":"m2"}"#, r#"{"task":"x","model":"far1"}"#]);
            vec![report, call_step(0, "subagent", task), done(Finish::ToolUse)]
        }
        6 => vec![text("half"), report, fail_step(FaultKind::Provider)],
        7 => vec![report, fail_step(FaultKind::Auth)],
        8 => vec![report, fail_step(FaultKind::ContextOverflow)],
        _ => vec![report, fail_step(FaultKind::Provider)],
    };
    (usage, play)
}

async fn cost(actor: &mut Actor) -> (SlashReply, Option<String>) {
    let Reply::Slash(reply) = ask_for(actor, slash("cost", "")).await.unwrap() else { panic!("no reply to /cost") };
    let dollars = slash_text(&reply).split_once("about $").map(|(_, dollars)| dollars.to_owned());
    (*reply, dollars)
}

async fn check(seed: u64, mad: bool) -> bool {
    let mut dice = Dice::new(seed);
    let all_priced = dice.chance(60);
    let (used, plays): (Vec<Usage>, Vec<Play>) = (0..PLAYS).map(|_| play(&mut dice, mad)).unzip();
    let player = Player::new(plays);
    let store: Arc<dyn Store> = Arc::new(store::MemoryStore::new());
    let stage = process(&player, &store, all_priced);
    let mut actor = stage.open().await;
    for _ in 0..2 + dice.below(4) {
        actor.forget();
        actor.prompt("a prompt of some length").await;
        let end = actor.turn_end().await;
        let calls = actor.told.iter().filter_map(|told| match &told.event {
            Event::Logged(entry) => match &entry.body {
                Body::Assistant { message, .. } => Some(message.usage),
                Body::Model(ModelEntry::Spent { turn: Some(_), usage, .. }) => Some(*usage),
                _ => None,
            },
            _ => None,
        });
        assert_eq!(end.usage, sum(calls), "seed {seed}: the calls of a turn and the turn");
        if dice.chance(40) {
            // Whether or not a summary comes of it.
            let _ = ask_for(&mut actor, Verb::Session(SessionVerb::Compact { instructions: None, wait: true })).await;
        }
    }
    let callees: Vec<String> = {
        let sent = player.sent.lock().unwrap();
        sent.iter().map(|(sketch, _)| sketch.split(':').next().unwrap_or_default().to_owned()).collect()
    };
    assert!(callees.len() < PLAYS, "seed {seed}: too few plays");
    let total = sum(used[..callees.len()].iter().copied());
    let all = store.list(Query { children: true, ..Query::default() }).await.unwrap();
    let children = all.iter().filter(|it| it.child_of.is_some()).map(|it| it.usage);
    let spent =
        store.read(&"s1".into(), 0, usize::MAX).await.unwrap().entries.into_iter().filter_map(|it| match &it.body {
            Body::Model(ModelEntry::Spent { call: Some(_), usage, .. }) => Some(*usage),
            _ => None,
        });
    assert_eq!(sum(spent), sum(children), "seed {seed}: what sub-agents say and what is said of them");
    let summary = store.summary(&"s1".into()).await.unwrap().unwrap();
    assert_eq!(summary.usage, total, "seed {seed}: all calls and the store");
    let each = callees.iter().zip(&used).map(|(slug, usage)| Some(prices(slug, all_priced)?.cost(usage)));
    let dollars: Option<f64> = each.sum();
    let (told, shown) = cost(&mut actor).await;
    stage.engine.shutdown().await;
    let again = process(&player, &store, all_priced);
    let mut actor = again.actor();
    actor.open(Open::new(Which::Id("s1".into()))).await.unwrap();
    for (told, shown) in [(told, shown), cost(&mut actor).await] {
        let Ok(SlashOutcome::Cost { input_tokens, output_tokens, .. }) = told.result else { panic!("seed {seed}") };
        assert_eq!((input_tokens, output_tokens), (total.prompt(), total.output), "seed {seed}");
        // Sums of fractions may differ in what is rounded away.
        let shown: Option<f64> = shown.map(|text| text.parse().expect("a number"));
        assert_eq!(shown.is_some(), dollars.is_some(), "seed {seed}: {callees:?}");
        let off = shown.zip(dollars).map_or(0.0, |(shown, dollars)| (shown - dollars).abs());
        assert!(mad || off < 1e-4, "seed {seed}: {shown:?} instead of {dollars:?}, {callees:?}");
    }
    dollars.is_none()
}

fn sum(all: impl Iterator<Item = Usage>) -> Usage {
    all.fold(Usage::default(), |mut sum, usage| {
        sum.add(&usage);
        sum
    })
}

#[tokio::test(start_paused = true)]
async fn every_call_is_counted_once_at_its_own_price() {
    let mut unknown = 0;
    for seed in 0..SEEDS {
        unknown += u64::from(check(seed, false).await);
    }
    assert!(unknown > 0 && unknown < SEEDS, "both kinds of prices were met");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_counts_nonsense_gets_the_same_sums_everywhere() {
    for seed in 0..SEEDS {
        check(seed, true).await;
    }
}
