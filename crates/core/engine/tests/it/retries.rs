//! Commands that come twice, and who is said to have sent them.

use std::sync::Arc;

use store::MemoryStore;
use testkit::Stage;
use testkit::faulty::FaultyStore;
use testkit::lossy::LossyStore;
use testkit::stage::Actor;
use vocab::*;

use crate::recovery::life;
use crate::support::*;

fn faulty() -> Arc<FaultyStore> {
    Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())))
}

fn on(store: &Arc<FaultyStore>, player: &Arc<Player>) -> Stage {
    let store = store.clone();
    stage_with(player, |options| options.store = store)
}

fn said(text: &str) -> Verb {
    Verb::Session(SessionVerb::Prompt { parts: vec![Part::text(text)], delivery: Delivery::Enqueue })
}

async fn keyed(actor: &mut Actor, key: &str, verb: Verb) -> Result<Reply, Fault> {
    let tag = actor.send_with(verb, |command| command.key = Some(key.into())).await;
    // Whether it was carried out before is looked at where that is the question.
    actor.reply(tag).await.map(|reply| match reply {
        Reply::Again(first) => *first,
        reply => reply,
    })
}

async fn log(stage: &Stage) -> Vec<Arc<Entry>> {
    stage.store.read(&"s1".into(), 0, usize::MAX).await.unwrap().entries
}

async fn prompts(stage: &Stage) -> Vec<String> {
    let of = |entry: &Arc<Entry>| match &entry.body {
        Body::User { parts, .. } => Some(parts_text(parts)),
        _ => None,
    };
    log(stage).await.iter().filter_map(of).collect()
}

#[test]
fn a_prompt_that_comes_twice_runs_once_also_in_the_next_process() {
    let store = faulty();
    let first = std::cell::RefCell::new(None);
    life(&store, async || {
        let player = Player::new([say("one")]);
        let stage = on(&store, &player);
        let mut actor = stage.open().await;
        let reply = keyed(&mut actor, "k1", said("hello")).await.unwrap();
        actor.turn_end().await;
        assert_eq!(keyed(&mut actor, "k1", said("hello")).await.unwrap(), reply);
        // Another peer is the same to it.
        let mut other = stage.actor();
        other.open(Open::new(Which::Id("s1".into()))).await.unwrap();
        assert_eq!(keyed(&mut other, "k1", said("hello")).await.unwrap(), reply);
        first.replace(Some(reply));
    });
    life(&store, async || {
        let player = Player::new([say("two")]);
        let stage = on(&store, &player);
        let mut actor = stage.actor();
        actor.open(Open::new(Which::Id("s1".into()))).await.unwrap();
        assert_eq!(keyed(&mut actor, "k1", said("hello")).await.unwrap(), first.take().unwrap());
        let fault = keyed(&mut actor, "k1", said("something else")).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::KeyTaken, "{fault:?}");
        keyed(&mut actor, "k2", said("hello")).await.unwrap();
        actor.turn_end().await;
        assert_eq!(prompts(&stage).await, ["hello", "hello"]);
    });
}

#[tokio::test(start_paused = true)]
async fn a_repeat_that_comes_before_the_answer_gets_the_same_answer() {
    let store = faulty();
    let player = Player::new([say("one")]);
    let stage = on(&store, &player);
    let mut actor = stage.open().await;
    let image = Part::Image(Image { mime: "image/png".into(), base64: "iVBORw0KGgo=".into() });
    let verb =
        Verb::Session(SessionVerb::Prompt { parts: vec![Part::text("look"), image], delivery: Delivery::RejectIfBusy });
    let key = |command: &mut Command| command.key = Some("k".into());
    let mut other = stage.actor();
    other.open(Open::new(Which::Id("s1".into()))).await.unwrap();
    let first = actor.send_with(verb.clone(), key).await;
    let second = other.send_with(verb, key).await;
    let answers = (actor.reply(first).await.unwrap(), other.reply(second).await.unwrap());
    assert_eq!(Reply::Again(Box::new(answers.0)), answers.1);
    actor.turn_end().await;
    assert_eq!(prompts(&stage).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_was_refused_or_lost_may_be_sent_again_with_its_key() {
    let store = faulty();
    let player = Player::new([say("one"), say("two")]);
    let stage = on(&store, &player);
    let mut actor = stage.open().await;
    store.fail_append(store.appends() + 1);
    assert!(keyed(&mut actor, "k", said("hello")).await.is_err(), "it could not be written");
    actor.settle().await;
    let reply = keyed(&mut actor, "k", said("hello")).await.unwrap();
    actor.turn_end().await;
    assert_eq!(keyed(&mut actor, "k", said("hello")).await.unwrap(), reply);
    assert_eq!(prompts(&stage).await, ["hello"]);
}

#[tokio::test(start_paused = true)]
async fn settings_and_the_queue_have_keys_and_what_only_looks_has_none() {
    let player = Player::new([held("first")]);
    let stage = on(&faulty(), &player);
    let mut actor = stage.open().await;
    let title = |text: &str| Verb::Session(SessionVerb::Set(Change::Title(text.into())));
    assert_eq!(keyed(&mut actor, "t", title("a")).await.unwrap(), Reply::Done);
    actor.send(title("b")).await;
    assert_eq!(keyed(&mut actor, "t", title("a")).await.unwrap(), Reply::Done);
    let tag = actor.prompt("go").await;
    actor.reply(tag).await.unwrap();
    keyed(&mut actor, "w", said("waits")).await.unwrap();
    let clear = || Verb::Session(SessionVerb::Queue(QueueVerb::Clear));
    let cleared = keyed(&mut actor, "c", clear()).await.unwrap();
    assert!(matches!(&cleared, Reply::Queue(items) if items.len() == 1), "{cleared:?}");
    let tag = actor.deliver("waits too", Delivery::Enqueue).await;
    actor.reply(tag).await.unwrap();
    let again = keyed(&mut actor, "c", clear()).await.unwrap();
    assert!(matches!((&again, &cleared), (Reply::Queue(a), Reply::Queue(b)) if a[0].id == b[0].id), "{again:?}");
    let inspect = keyed(&mut actor, "i", Verb::Session(SessionVerb::Inspect)).await.unwrap_err();
    assert_eq!(inspect.kind, FaultKind::Unsupported);
    for wrong in ["", &"k".repeat(257)] {
        assert_eq!(keyed(&mut actor, wrong, said("x")).await.unwrap_err().kind, FaultKind::Invalid);
    }
    let titles =
        log(&stage).await.iter().filter(|it| matches!(it.body, Body::Setting(SettingEntry::Title { .. }))).count();
    assert_eq!(titles, 2, "the repeat did not set the title again");
}

#[tokio::test(start_paused = true)]
async fn the_log_says_who_wanted_what() {
    let player = Player::new([calls(&[("change", "{}")]), say("done"), say("more")]);
    let stage = stage_with(&player, |options| options.mode = Mode::Prompt);
    let mut actor = stage.open().await;
    actor.send_with(said("go"), |command| command.by = Some(Principal::sender("chat", "42"))).await;
    let ask = actor.ask().await;
    let answer = Answer::Allow(Scope::Once);
    actor.send(Verb::Session(SessionVerb::Answer { ask: ask.id, answer })).await;
    actor.turn_end().await;
    actor.send(Verb::Session(SessionVerb::Set(Change::Mode(Mode::ReadOnly)))).await;
    actor.forget();
    actor.prompt("and now").await;
    actor.turn_end().await;
    let by = |wanted: fn(&Body) -> bool| {
        let stage = &stage;
        async move {
            let of = |entry: &Arc<Entry>| entry.by.as_ref().map_or("nobody".to_owned(), ToString::to_string);
            log(stage).await.iter().filter(|entry| wanted(&entry.body)).map(of).collect::<Vec<_>>()
        }
    };
    assert_eq!(by(|body| matches!(body, Body::User { .. })).await, ["sender:chat/42", "controller:a tester"]);
    assert_eq!(by(|body| matches!(body, Body::Ask(AskEntry::Closed { .. }))).await, ["controller:a tester"]);
    assert_eq!(by(|body| matches!(body, Body::Call(CallEntry::Ended { .. }))).await, ["sender:chat/42"]);
    assert_eq!(
        by(|body| matches!(body, Body::Turn(TurnEntry::Ended(_)))).await,
        ["sender:chat/42", "controller:a tester"]
    );
    let modes = by(|body| matches!(body, Body::Setting(SettingEntry::Mode { .. }))).await;
    assert_eq!(modes, ["controller:a tester"]);
}

#[tokio::test(start_paused = true)]
async fn who_has_proved_something_is_not_called_by_the_name_they_chose() {
    let player = Player::new([say("hi")]);
    let stage = stage_with(&player, |_| {});
    let peer = stage.engine.connect_as(engine::Slow::Wait, Principal::token("ci"));
    let mut actor = Actor::on(peer);
    actor.open(Open::new(Which::New)).await.unwrap();
    actor.prompt("go").await;
    actor.turn_end().await;
    let log = log(&stage).await;
    let user = log.iter().find(|entry| matches!(entry.body, Body::User { .. })).unwrap();
    assert_eq!(user.by, Some(Principal::token("ci")));
}

#[tokio::test(start_paused = true)]
async fn a_key_is_its_senders_own() {
    let player = Player::new([say("one"), say("two")]);
    let stage = on(&faulty(), &player);
    let mut actor = stage.open().await;
    for name in ["42", "43"] {
        let sent = |command: &mut Command| {
            command.key = Some("1".into());
            command.by = Some(Principal::sender("chat", name));
        };
        actor.forget();
        let tag = actor.send_with(said("yes"), sent).await;
        actor.reply(tag).await.unwrap();
        actor.turn_end().await;
    }
    assert_eq!(prompts(&stage).await, ["yes", "yes"], "two people, two messages");
}

#[tokio::test(start_paused = true)]
async fn a_log_begins_with_its_opening_also_where_a_key_comes_first() {
    let player = Player::new([say("one")]);
    let stage = on(&faulty(), &player);
    let mut actor = stage.open().await;
    let mode = Verb::Session(SessionVerb::Set(Change::Mode(Mode::Plan)));
    assert_eq!(keyed(&mut actor, "k", mode).await.unwrap(), Reply::Done);
    actor.settle().await;
    assert!(matches!(log(&stage).await[0].body, Body::Opened { .. }));
}

#[tokio::test(start_paused = true)]
async fn a_turn_whose_prompt_had_a_key_is_undone_and_left_out_of_a_fork_whole() {
    let player = Player::new([say("one"), say("two")]);
    let stage = on(&faulty(), &player);
    let mut actor = stage.open().await;
    keyed(&mut actor, "k1", said("first")).await.unwrap();
    actor.turn_end().await;
    actor.forget();
    keyed(&mut actor, "k2", said("second")).await.unwrap();
    actor.turn_end().await;
    let at =
        log(&stage).await.iter().rev().find(|entry| matches!(entry.body, Body::User { .. })).map(|entry| entry.seq);
    let tag = actor.send(Verb::Fork { at }).await;
    let Ok(Reply::Forked { session, .. }) = actor.reply(tag).await else { panic!("a fork") };
    let fork = stage.store.read(&session, 0, usize::MAX).await.unwrap().entries;
    let turns = fork.iter().filter(|entry| matches!(entry.body, Body::Turn(TurnEntry::Started { .. }))).count();
    assert_eq!(turns, 1, "{fork:#?}");
    let tag = actor.send(Verb::Session(SessionVerb::Slash { name: "undo".into(), args: "".into() })).await;
    actor.reply(tag).await.unwrap();
    let entries = log(&stage).await;
    let path = active_path(&entries);
    let turns = path.iter().filter(|entry| matches!(entry.body, Body::Turn(TurnEntry::Started { .. }))).count();
    assert_eq!(turns, 1, "the turn that was undone is not on the branch");
}

#[tokio::test(start_paused = true)]
async fn commands_with_keys_that_wait_for_the_log_are_bounded_also_urgent_ones() {
    let store = faulty();
    let stage = on(&store, &Player::new([say("one")]));
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.until(|event| *event == Event::Settled).await;
    drop(actor);
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    store.slow_reads(1000);
    let mut actor = stage.actor();
    actor.open(Open::new(Which::Id("s1".into()))).await.unwrap();
    let mut tags = Vec::new();
    for number in 0..70 {
        let interrupt = Verb::Session(SessionVerb::Interrupt { turn: None });
        tags.push(actor.send_with(interrupt, |command| command.key = Some(format!("k{number}").into())).await);
    }
    let mut refused = 0;
    for tag in tags {
        match actor.reply(tag).await {
            Ok(reply) => assert_eq!(reply, Reply::Interrupted { was_running: false }),
            Err(fault) => {
                assert_eq!(fault.kind, FaultKind::QueueFull, "{fault:?}");
                refused += 1;
            }
        }
    }
    assert_eq!(refused, 6, "those beyond the bound");
    let kept = |entry: &&Arc<Entry>| matches!(entry.body, Body::Note(NoteEntry::Keyed(_)));
    assert_eq!(log(&stage).await.iter().filter(kept).count(), 64);
}

/// Who is said to have done what is wanted here.
async fn doers(stage: &Stage, wanted: impl Fn(&Body) -> bool) -> Vec<String> {
    let of = |entry: &Arc<Entry>| entry.by.as_ref().map_or("nobody".to_owned(), ToString::to_string);
    log(stage).await.iter().filter(|entry| wanted(&entry.body)).map(of).collect()
}

#[tokio::test(start_paused = true)]
async fn what_ends_after_its_asker_has_left_is_the_askers_still() {
    let long = "a prompt of some length, so that there is something to compact";
    let slow_summary = || vec![text("sum"), Step::Wait(1000), done(Finish::Stop)];
    let slow_words = || vec![text("w"), Step::Wait(1000), done(Finish::Stop)];
    for runs in [false, true] {
        let plays = [say("one"), say("two")].into_iter().chain(runs.then(slow_words));
        let stage = stage_with(&Player::new(plays.chain([slow_summary()])), |options| {
            options.tune = Box::new(|settings| settings.compaction.keep_pct = 1);
        });
        let mut ann = stage.open().await;
        for _ in 0..2 {
            ann.prompt(long).await;
            ann.until(|event| *event == Event::Settled).await;
            ann.forget();
        }
        if runs {
            ann.prompt("go").await;
            text_of(&mut ann, "w").await;
        }
        let mut bob = Actor::on(stage.engine.connect_as(engine::Slow::Wait, Principal::token("bob")));
        bob.open(Open::new(Which::Id("s1".into()))).await.unwrap();
        bob.send(Verb::Session(SessionVerb::Compact { instructions: None, wait: true })).await;
        let shell = Verb::Session(SessionVerb::Shell { command: "wait".into(), aside: true });
        bob.send(shell).await;
        bob.until(|event| matches!(event, Event::ShellProgress { .. })).await;
        drop(bob);
        let is_end = |body: &Body| matches!(body, Body::Branch(BranchEntry::Compacted(_)));
        ann.until(|event| matches!(event, Event::Logged(entry) if is_end(&entry.body))).await;
        // The command may take its time to come out.
        tokio::time::sleep(std::time::Duration::from_secs(10)).await;
        ann.settle().await;
        assert_eq!(doers(&stage, is_end).await, ["token:bob"], "{runs}");
        let is_shell = |body: &Body| matches!(body, Body::Shell(_));
        assert_eq!(doers(&stage, is_shell).await, ["token:bob", "token:bob"], "{runs}");
        let is_summary = |body: &Body| {
            matches!(body, Body::Model(ModelEntry::Requested(it)) if it.summary.is_some())
                || matches!(body, Body::Model(ModelEntry::Spent { .. }))
        };
        assert!(doers(&stage, is_summary).await.iter().all(|by| by == "token:bob"), "{runs}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_somebody_stops_is_paid_by_who_asked_for_it() {
    let long = "a prompt of some length, so that there is something to compact";
    let usage = Step::Event(ModelEvent::Usage(Usage { input: 10, output: 5, ..Usage::default() }));
    let summary = vec![usage, text("sum"), Step::Wait(10_000), done(Finish::Stop)];
    let stage = stage_with(&Player::new([say("one"), say("two"), summary]), |options| {
        options.tune = Box::new(|settings| settings.compaction.keep_pct = 1);
    });
    let mut ann = stage.open().await;
    for _ in 0..2 {
        ann.prompt(long).await;
        ann.until(|event| *event == Event::Settled).await;
        ann.forget();
    }
    let mut bob = Actor::on(stage.engine.connect_as(engine::Slow::Wait, Principal::token("bob")));
    bob.open(Open::new(Which::Id("s1".into()))).await.unwrap();
    bob.send(Verb::Session(SessionVerb::Compact { instructions: None, wait: false })).await;
    ann.until(|event| matches!(event, Event::Compaction(CompactionEvent::Started { .. }))).await;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    ask_for(&mut ann, Verb::Session(SessionVerb::Interrupt { turn: None })).await.unwrap();
    ann.settle().await;
    let spent = doers(&stage, |body| matches!(body, Body::Model(ModelEntry::Spent { .. }))).await;
    assert_eq!(spent, ["token:bob"]);
}

/// A command that logs nothing else has nothing else to be synced with.
#[tokio::test(start_paused = true)]
async fn an_answer_under_a_key_survives_the_power() {
    let lossy = LossyStore::new(None);
    let store = Arc::new(lossy.process());
    let stage = stage_with(&Player::new([]), |options| options.store = store);
    let mut actor = stage.open().await;
    let interrupt = Verb::Session(SessionVerb::Interrupt { turn: None });
    let reply = keyed(&mut actor, "k", interrupt).await.unwrap();
    assert_eq!(reply, Reply::Interrupted { was_running: false });
    lossy.power_cut();
    let is_kept = |entry: &Arc<Entry>| matches!(&entry.body, Body::Note(NoteEntry::Keyed(it)) if &*it.key == "k");
    assert!(lossy.entries(&"s1".into()).iter().any(is_kept), "{:?}", lossy.entries(&"s1".into()));
}

#[tokio::test(start_paused = true)]
async fn who_leaves_while_a_repeat_waits_is_told_so() {
    fn slow(image: Image) -> Later<'static, Result<Image, String>> {
        Box::pin(async move {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            Ok(image)
        })
    }
    let stage = stage_with(&Player::new([say("one")]), |options| options.fit_image = slow);
    let mut actor = stage.open().await;
    let mut other = stage.actor();
    other.open(Open::new(Which::Id("s1".into()))).await.unwrap();
    let image = Part::Image(Image { mime: "image/png".into(), base64: "iVBORw0KGgo=".into() });
    let verb = Verb::Session(SessionVerb::Prompt { parts: vec![image], delivery: Delivery::Enqueue });
    let key = |command: &mut Command| command.key = Some("k".into());
    let first = actor.send_with(verb.clone(), key).await;
    let second = other.send_with(verb, key).await;
    ask_for(&mut other, Verb::Leave).await.unwrap();
    assert_eq!(other.reply(second).await.unwrap_err().kind, FaultKind::Cancelled);
    assert!(matches!(actor.reply(first).await, Ok(Reply::Started { .. })), "the first one's is done all the same");
}
