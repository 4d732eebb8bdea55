//! One id, one session: opened twice at once, taken away by somebody else, broken in the middle.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use store::MemoryStore;
use testkit::Stage;
use testkit::faulty::FaultyStore;
use vocab::*;

use crate::support::*;

/// A store whose every answer takes a while, as one on a disk does, and that misbehaves when it is told to.
pub(crate) struct Lazy {
    inner: Arc<dyn Store>,
    yields: AtomicUsize,
    panics: AtomicBool,
    /// Pages come back without what is in them.
    empty: AtomicBool,
    reads: AtomicUsize,
    /// Each lease comes with a notice.
    repaired: AtomicBool,
    /// How long each answer takes besides.
    pub(crate) wait_ms: AtomicU64,
    /// The next append fails.
    pub(crate) fails: AtomicBool,
    /// That were given and not given back.
    leases: AtomicUsize,
    pub(crate) hurried: AtomicBool,
}

impl Lazy {
    pub(crate) fn new(inner: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            yields: AtomicUsize::new(3),
            panics: AtomicBool::default(),
            empty: AtomicBool::default(),
            reads: AtomicUsize::default(),
            repaired: AtomicBool::default(),
            wait_ms: AtomicU64::default(),
            fails: AtomicBool::default(),
            leases: AtomicUsize::default(),
            hurried: AtomicBool::default(),
        })
    }

    fn late<T: Send + 'static>(&self, answer: Later<'static, T>) -> Later<'static, T> {
        let yields = self.yields.load(Ordering::Relaxed);
        let wait = std::time::Duration::from_millis(self.wait_ms.load(Ordering::Relaxed));
        Box::pin(async move {
            tokio::time::sleep(wait).await;
            for _ in 0..yields {
                tokio::task::yield_now().await;
            }
            let answer = answer.await;
            for _ in 0..yields {
                tokio::task::yield_now().await;
            }
            answer
        })
    }
}

impl Store for Lazy {
    fn probe(&self) -> Result<(), Fault> {
        self.inner.probe()
    }
    fn create(&self, new: NewSession) -> Lease {
        self.leases.fetch_add(1, Ordering::Relaxed);
        self.inner.create(new)
    }
    fn acquire(&self, session: &SessionId) -> Later<'static, Result<Acquired, Fault>> {
        let recovered = self.repaired.load(Ordering::Relaxed).then(|| "it was cut".to_owned());
        let acquired = self.inner.acquire(session);
        self.leases.fetch_add(1, Ordering::Relaxed);
        self.late(Box::pin(async move { Ok(Acquired { recovered, ..acquired.await? }) }))
    }
    fn release(&self, lease: Lease) -> Later<'static, Result<(), Fault>> {
        self.leases.fetch_sub(1, Ordering::Relaxed);
        let inner = self.inner.clone();
        // It is free when the answer comes, and not before.
        self.late(Box::pin(async move { inner.release(lease).await }))
    }
    fn append(
        &self,
        lease: &Lease,
        entries: Vec<Arc<Entry>>,
        durability: Durability,
    ) -> Later<'static, Result<(), Fault>> {
        assert!(!self.panics.swap(false, Ordering::Relaxed), "a scripted panic of the session");
        if self.fails.swap(false, Ordering::Relaxed) {
            return self.late(Box::pin(async { Err(Fault::new(FaultKind::Store, "as the test asked")) }));
        }
        self.late(self.inner.append(lease, entries, durability))
    }
    fn read(&self, session: &SessionId, after: u64, limit: usize) -> Later<'static, Result<Page, Fault>> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        if self.empty.load(Ordering::Relaxed) {
            return self.late(Box::pin(async { Ok(Page::default()) }));
        }
        self.late(self.inner.read(session, after, limit))
    }
    fn summaries(&self, sessions: Vec<SessionId>) -> Later<'static, Result<Vec<Summary>, Fault>> {
        self.late(self.inner.summaries(sessions))
    }
    fn list(&self, query: Query) -> Later<'static, Result<Vec<Summary>, Fault>> {
        self.late(self.inner.list(query))
    }
    fn count(&self, query: Query) -> Later<'static, Result<u64, Fault>> {
        self.late(self.inner.count(query))
    }
    fn delete(&self, session: &SessionId, by: Option<Principal>) -> Later<'static, Result<bool, Fault>> {
        self.late(self.inner.delete(session, by))
    }
    fn audit(&self, query: AuditQuery) -> Later<'static, Result<Vec<AuditLine>, Fault>> {
        self.inner.audit(query)
    }
    fn verify_audit(&self, head: Option<String>) -> Later<'static, Result<AuditVerdict, Fault>> {
        self.inner.verify_audit(head)
    }
    fn usage(&self, query: UsageQuery) -> Later<'static, Result<Vec<UsageSum>, Fault>> {
        self.inner.usage(query)
    }
    fn used_by(&self, sessions: Vec<SessionId>) -> Later<'static, Result<Vec<UsageSum>, Fault>> {
        self.inner.used_by(sessions)
    }
    fn used_since(&self) -> Later<'static, Result<Option<i64>, Fault>> {
        self.inner.used_since()
    }
    fn skim(&self, session: &SessionId, skim: Skim) -> Later<'static, Result<Skimmed, Fault>> {
        self.inner.skim(session, skim)
    }
    fn watch(&self, session: &SessionId, after: u64) -> Later<'static, Result<Option<u64>, Fault>> {
        self.inner.watch(session, after)
    }
    fn watch_all(&self, after: Option<StoreMoment>) -> Later<'static, Result<StoreChange, Fault>> {
        self.inner.watch_all(after)
    }
    fn hurry(&self) {
        self.hurried.store(true, Ordering::Relaxed);
    }
    fn place(&self) -> PathBuf {
        self.inner.place()
    }
}

pub(crate) fn on(store: &Arc<Lazy>, player: &Arc<Player>) -> Stage {
    let store = store.clone();
    stage_with(player, |options| options.store = store)
}

pub(crate) fn named(id: &str) -> Open {
    Open::new(Which::Named(id.into()))
}

/// One turn of a closed session `x`, as another process would have left it.
pub(crate) async fn past(store: &Arc<Lazy>) {
    let stage = on(store, &Player::new([say("before")]));
    let mut actor = stage.actor();
    actor.open(named("x")).await.unwrap();
    actor.prompt("first").await;
    actor.turn_end().await;
    stage.engine.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn two_who_open_one_new_id_at_once_are_on_one_session() {
    let store = Lazy::new(Arc::new(MemoryStore::new()));
    let stage = on(&store, &Player::new([say("one"), say("two")]));
    let (mut left, mut right) = (stage.actor(), stage.actor());
    let (one, two) = tokio::join!(left.open(named("x")), right.open(named("x")));
    assert_ne!(one.unwrap().resumed, two.unwrap().resumed, "one made it, the other joined");
    left.prompt("from the left").await;
    right.turn_end().await;
    right.forget();
    let tag = right.prompt("from the right").await;
    right.reply(tag).await.unwrap();
    right.turn_end().await;
    assert_eq!(log_of(&stage, "x").await.matches("user (Prompt)").count(), 2, "both are in one log");
    assert_eq!(stage.engine.live().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn two_who_open_one_saved_session_at_once_are_on_one_session() {
    for which in [Which::Named("x".into()), Which::Id("x".into()), Which::Latest] {
        let store = Lazy::new(Arc::new(MemoryStore::new()));
        past(&store).await;
        let stage = on(&store, &Player::new([say("one")]));
        let (mut left, mut right) = (stage.actor(), stage.actor());
        let workspace = store.summary(&"x".into()).await.unwrap().unwrap().workspace;
        let open = Open { workspace: Some(workspace), ..Open::new(which.clone()) };
        let (one, two) = tokio::join!(left.open(open.clone()), right.open(open));
        assert!(one.unwrap().resumed && two.unwrap().resumed, "{which:?}");
        left.prompt("again").await;
        right.turn_end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_opening_that_fails_leaves_the_next_one_to_try() {
    let store = Lazy::new(Arc::new(MemoryStore::new()));
    past(&store).await;
    let stage = on(&store, &Player::new([]));
    let (mut left, mut right) = (stage.actor(), stage.actor());
    let unknown = Open { model: Some("nobody".into()), ..named("x") };
    let (one, two) = tokio::join!(left.open(unknown), right.open(named("x")));
    assert_eq!(one.unwrap_err().kind, FaultKind::UnknownModel);
    assert!(two.unwrap().resumed);
}

#[tokio::test(start_paused = true)]
async fn the_end_waits_for_what_is_being_opened() {
    let store = Lazy::new(Arc::new(MemoryStore::new()));
    past(&store).await;
    let stage = on(&store, &Player::new([]));
    let mut actor = stage.actor();
    let (opened, ()) = tokio::join!(actor.open(named("x")), async {
        tokio::task::yield_now().await;
        stage.engine.shutdown().await;
    });
    assert_eq!(opened.unwrap_err().kind, FaultKind::ShuttingDown);
    let other = store.inner.acquire(&"x".into()).await;
    assert!(other.is_ok(), "the lease was given back: {other:?}");
}

/// The session's lease goes to somebody else, as when a lock on a network file system is lost.
async fn stolen(faulty: &FaultyStore, inner: &Arc<MemoryStore>) -> Lease {
    faulty.owner_died().await;
    inner.acquire(&"x".into()).await.unwrap().lease
}

#[tokio::test(start_paused = true)]
async fn a_session_whose_lease_is_gone_ends_and_the_next_opening_takes_it_anew() {
    let inner = Arc::new(MemoryStore::new());
    let faulty = Arc::new(FaultyStore::new(inner.clone()));
    let player = Player::new([say("one"), held("two"), say("three")]);
    let store = faulty.clone();
    let stage = stage_with(&player, |options| options.store = store);
    let mut actor = stage.actor();
    let mut other = stage.actor();
    actor.open(named("x")).await.unwrap();
    other.open(Open { after: Some(Cursor::at(0)), ..named("x") }).await.unwrap();
    actor.prompt("first").await;
    actor.turn_end().await;
    actor.forget();

    let thief = stolen(&faulty, &inner).await;
    let prompt = actor.prompt("second").await;
    let waiting = actor.deliver("third", Delivery::Enqueue).await;
    assert_eq!(actor.reply(prompt).await.unwrap_err().kind, FaultKind::SessionBusy);
    for peer in [&mut actor, &mut other] {
        peer.until(|event| matches!(event, Event::Gone { fault } if fault.kind == FaultKind::SessionBusy)).await;
    }
    assert!(actor.reply(waiting).await.is_err(), "nothing is taken any more");
    actor.settle().await;
    let gone = actor.told.iter().filter(|told| matches!(told.event, Event::Gone { .. })).count();
    assert_eq!((gone, stage.engine.live().len()), (1, 0), "told once, and forgotten");
    let calls = player.calls_made();

    let busy = actor.open(named("x")).await.unwrap_err();
    assert_eq!(busy.kind, FaultKind::SessionBusy);
    let late = actor.prompt("nobody is there").await;
    assert!(actor.reply(late).await.is_err());
    assert_eq!(player.calls_made(), calls, "a session that is not ours asks no model");

    inner.release(thief).await.unwrap();
    actor.open(named("x")).await.unwrap();
    actor.forget();
    actor.prompt("third").await;
    assert_eq!(actor.turn_end().await.stop, Stop::EndTurn);
    let log = log_of(&stage, "x").await;
    assert!(log.contains("first") && !log.contains("second") && log.contains("third"), "{log}");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_breaks_tells_everybody_and_can_be_opened_again() {
    let store = Lazy::new(Arc::new(MemoryStore::new()));
    let stage = on(&store, &Player::new([say("one"), held("two"), say("three")]));
    let (mut left, mut right) = (stage.actor(), stage.actor());
    left.open(named("x")).await.unwrap();
    right.open(named("x")).await.unwrap();
    left.prompt("first").await;
    left.turn_end().await;
    right.turn_end().await;
    left.prompt("second").await;
    left.until(|event| matches!(event, Event::Delta(Delta::Text { delta, .. }) if delta == "two")).await;
    left.forget();
    right.forget();

    store.panics.store(true, Ordering::Relaxed);
    let title = right.send(Verb::Session(SessionVerb::Set(Change::Title("it breaks".into())))).await;
    assert_eq!(right.reply(title).await.unwrap_err().kind, FaultKind::Internal, "whoever asked has an answer");
    for peer in [&mut left, &mut right] {
        peer.until(|event| matches!(event, Event::Gone { .. })).await;
        peer.settle().await;
        let told = |wanted: fn(&Event) -> bool| peer.told.iter().filter(|told| wanted(&told.event)).count();
        assert_eq!(told(|event| matches!(event, Event::TurnLost(_))), 1, "its turn has one end");
        assert_eq!(told(|event| matches!(event, Event::Gone { .. })), 1);
    }
    assert_eq!(stage.engine.live().len(), 0);

    left.open(named("x")).await.unwrap();
    left.forget();
    left.prompt("third").await;
    assert_eq!(left.turn_end().await.stop, Stop::Error, "what the log has of the lost turn is closed");
    left.until(|event| matches!(event, Event::Logged(entry) if matches!(&entry.body, Body::Turn(TurnEntry::Ended(end)) if end.stop == Stop::EndTurn)))
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_repair_is_logged_and_told_whoever_speaks_first() {
    for first in ["read", "prompt", "after"] {
        let store = Lazy::new(Arc::new(MemoryStore::new()));
        past(&store).await;
        store.repaired.store(true, Ordering::Relaxed);
        let stage = on(&store, &Player::new([]));
        let mut actor = stage.actor();
        let after = (first == "after").then_some(Cursor::at(0));
        let opened = actor.open(Open { after, ..named("x") }).await.unwrap();
        match first {
            "read" => {
                let tag = actor.send(Verb::Session(SessionVerb::Read { after: 0 })).await;
                actor.reply(tag).await.unwrap();
            }
            "prompt" => _ = actor.prompt("on").await,
            _ => {}
        }
        let notice = |event: &Event| matches!(event, Event::Logged(entry) if matches!(&entry.body, Body::Note(NoteEntry::Recovered { text }) if &**text == "it was cut"));
        let Event::Logged(entry) = actor.until(notice).await else { panic!("a notice") };
        assert_eq!(entry.seq, opened.state.last_seq + 1, "{first}: it comes first");
        actor.settle().await;
        assert_eq!(log_of(&stage, "x").await.matches("recovered: it was cut").count(), 1, "{first}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_past_that_cannot_be_read_ends_the_replay_instead_of_reading_for_ever() {
    let store = Lazy::new(Arc::new(MemoryStore::new()));
    past(&store).await;
    let stage = on(&store, &Player::new([]));
    let mut actor = stage.actor();
    store.empty.store(true, Ordering::Relaxed);
    store.reads.store(0, Ordering::Relaxed);
    actor.open(Open { after: Some(Cursor::at(0)), ..named("x") }).await.unwrap();
    actor.until(|event| matches!(event, Event::Gone { fault } if fault.kind == FaultKind::Store)).await;
    actor.settle().await;
    assert!(store.reads.load(Ordering::Relaxed) < 5, "the same page is not asked for again and again");
}

fn to(id: &str) -> Target {
    Target::Session(id.into())
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_of_one_session_does_not_wait_for_the_opening_of_another() {
    let store = Lazy::new(Arc::new(MemoryStore::new()));
    past(&store).await;
    let stage = on(&store, &Player::new([held("on and on"), say("after")]));
    let mut actor = stage.actor();
    actor.open(named("a")).await.unwrap();
    actor.prompt("go").await;
    actor.until(|event| matches!(event, Event::Delta(Delta::Text { .. }))).await;
    // From here on the disk takes its time.
    store.wait_ms.store(5_000, Ordering::Relaxed);
    for slow in [Verb::Open(named("x")), Verb::Fork { at: None }] {
        let since = tokio::time::Instant::now();
        let target = if matches!(slow, Verb::Fork { .. }) { to("x") } else { Target::Current };
        let slow = actor.send_to(target, slow).await;
        let prompt = actor.send_to(to("x"), Verb::Session(SessionVerb::Inspect)).await;
        let interrupt = actor.send_to(to("a"), Verb::Session(SessionVerb::Interrupt { turn: None })).await;
        actor.until(|event| matches!(event, Event::Reply { tag, .. } if *tag == interrupt)).await;
        assert!(since.elapsed().as_millis() < 100, "it took {:?}", since.elapsed());
        assert!(!actor.told.iter().any(|told| matches!(&told.event, Event::Reply { tag, .. } if *tag == slow)));
        actor.reply(slow).await.unwrap();
        actor.reply(prompt).await.unwrap();
        actor.forget();
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_said_to_a_session_that_is_being_opened_comes_behind_the_opening() {
    let store = Lazy::new(Arc::new(MemoryStore::new()));
    past(&store).await;
    let stage = on(&store, &Player::new([say("one"), say("two")]));
    let mut actor = stage.actor();
    store.wait_ms.store(1_000, Ordering::Relaxed);
    let opened = actor.send(Verb::Open(named("x"))).await;
    let prompt =
        |text: &str| Verb::Session(SessionVerb::Prompt { parts: vec![Part::text(text)], delivery: Delivery::Enqueue });
    let first = actor.send_to(to("x"), prompt("to it by its name")).await;
    let second = actor.send(prompt("to where I am")).await;
    let left = actor.send(Verb::Leave).await;
    drop(actor.peer);
    let _ = (opened, first, second, left);
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    let log = log_of(&stage, "x").await;
    let (first, second) = (log.find("to it by its name").unwrap(), log.find("to where I am").unwrap());
    assert!(first < second, "{log}");
    assert_eq!(stage.engine.live().len(), 0, "whoever left is not on it");
}

#[tokio::test(start_paused = true)]
async fn moving_to_a_session_that_ends_meanwhile_does_not_block_the_peer() {
    let store = Lazy::new(Arc::new(MemoryStore::new()));
    past(&store).await;
    let stage = on(&store, &Player::new([]));
    let mut actor = stage.actor();
    actor.open(named("here")).await.unwrap();
    store.panics.store(true, Ordering::Relaxed);
    store.repaired.store(true, Ordering::Relaxed);
    // It breaks on the notice that it wants to log when somebody comes.
    let slash = actor.send(Verb::Session(SessionVerb::Slash { name: "resume".into(), args: "x".into() })).await;
    let _ = actor.reply(slash).await.unwrap();
    let help = actor.send(Verb::Session(SessionVerb::Slash { name: "version".into(), args: String::new() })).await;
    actor.reply(help).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_fork_that_cannot_be_written_gives_its_lease_back() {
    let store = Lazy::new(Arc::new(MemoryStore::new()));
    let stage = on(&store, &Player::new([say("one")]));
    let mut actor = stage.actor();
    actor.open(named("x")).await.unwrap();
    actor.prompt("first").await;
    actor.turn_end().await;
    let before = store.leases.load(Ordering::Relaxed);
    store.fails.store(true, Ordering::Relaxed);
    let fork = actor.send(Verb::Fork { at: None }).await;
    assert_eq!(actor.reply(fork).await.unwrap_err().kind, FaultKind::Store);
    assert_eq!(store.leases.load(Ordering::Relaxed), before);
}

/// A client that panics where it is told to.
struct Shaky(Front, std::sync::Mutex<&'static str>);

impl Shaky {
    fn breaks_at(&self, place: &str) {
        let broken = std::mem::take(&mut *self.1.lock().unwrap());
        if broken == place {
            panic!("a scripted panic of {place}");
        }
        *self.1.lock().unwrap() = broken;
    }
}

struct ShakyFront(Arc<Shaky>);

impl Provider for ShakyFront {
    fn resolve(&self, slug: &str) -> Result<ModelInfo, Fault> {
        self.0.breaks_at("resolve");
        self.0.0.resolve(slug)
    }
    fn models(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        self.0.breaks_at("models");
        self.0.0.models()
    }
    fn chat(&self, model: &ModelInfo) -> Result<Box<dyn Chat>, Fault> {
        self.0.breaks_at("chat");
        self.0.0.chat(model)
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_panics_ends_what_it_was_asked_and_not_the_session() {
    for place in ["resolve", "models", "chat"] {
        let shaky = Arc::new(Shaky(Front(Player::new([])), std::sync::Mutex::new("")));
        let provider = Arc::new(ShakyFront(shaky.clone()));
        let stage = stage_with(&Player::new([]), |options| options.provider = provider);
        let mut actor = stage.open().await;
        actor.prompt("first").await;
        actor.turn_end().await;
        actor.forget();
        *shaky.1.lock().unwrap() = place;
        let asked = actor.send(Verb::Directory(DirectoryVerb::Models)).await;
        assert_eq!(actor.reply(asked).await.is_err(), place == "models", "{place}");
        let chosen = actor.send(Verb::Session(SessionVerb::Set(Change::Model("m2".into())))).await;
        let _ = actor.reply(chosen).await;
        let prompt = actor.prompt("second").await;
        if actor.reply(prompt).await.is_ok() {
            actor.turn_end().await;
        }
        actor.settle().await;
        assert!(!actor.told.iter().any(|told| matches!(told.event, Event::Gone { .. })), "{place}: it lives");
        assert_eq!(*shaky.1.lock().unwrap(), "", "{place} was asked");
        let chosen = actor.send(Verb::Session(SessionVerb::Set(Change::Model("m1".into())))).await;
        actor.reply(chosen).await.unwrap();
        actor.forget();
        actor.prompt("third").await;
        assert_eq!(actor.turn_end().await.stop, Stop::EndTurn, "{place}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_log_says_which_controller_answered() {
    let player = Player::new([calls(&[("change", "{}")]), calls(&[("danger", "{}")])]);
    let stage = stage_with(&player, |options| options.mode = Mode::Prompt);
    let (mut left, mut right) = (stage.actor(), stage.actor());
    left.open(Open { controller: Some("serve".into()), ..named("x") }).await.unwrap();
    right.open(Open { controller: Some("an editor".into()), ..named("x") }).await.unwrap();
    left.prompt("go").await;
    let ask = right.ask().await;
    let tag = right.send(Verb::Session(SessionVerb::Answer { ask: ask.id, answer: Answer::Allow(Scope::Once) })).await;
    right.reply(tag).await.unwrap();
    let is_second = |ask: &Ask| matches!(&ask.kind, AskKind::Permission(it) if &*it.tool == "danger");
    let asked = |event: &Event| matches!(event, Event::Logged(entry) if matches!(&entry.body, Body::Ask(AskEntry::Opened(ask)) if is_second(ask)));
    let Event::Logged(entry) = left.until(asked).await else { panic!("a question") };
    let Body::Ask(AskEntry::Opened(ask)) = entry.body.clone() else { panic!("a question") };
    let tag = left.send(Verb::Session(SessionVerb::Answer { ask: ask.id, answer: Answer::Allow(Scope::Once) })).await;
    left.reply(tag).await.unwrap();
    left.turn_end().await;
    let log = log_of(&stage, "x").await;
    let (first, second) = (log.find("by an editor").unwrap(), log.find("by serve").unwrap());
    assert!(first < second, "{log}");
}

#[tokio::test(start_paused = true)]
async fn who_waited_for_an_opening_that_failed_finds_the_lease_free() {
    let store = Lazy::new(Arc::new(MemoryStore::new()));
    past(&store).await;
    let stage = on(&store, &Player::new([say("one")]));
    let (mut left, mut right) = (stage.actor(), stage.actor());
    store.wait_ms.store(1_000, Ordering::Relaxed);
    let unknown = Open { model: Some("nobody knows it".into()), ..named("x") };
    let (failed, opened) = tokio::join!(left.open(unknown), right.open(named("x")));
    assert_eq!(failed.unwrap_err().kind, FaultKind::UnknownModel);
    assert_eq!(opened.map(|opened| opened.resumed), Ok(true));
}

/// On two threads, because those who wait for the end of a session race for what comes behind it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_comes_while_a_session_is_deleted_gets_the_next_one_of_its_name() {
    const COMERS: usize = 5;
    for yields in (0..25).flat_map(|_| 0..8) {
        let lazy = Lazy::new(Arc::new(MemoryStore::new()));
        lazy.yields.store(yields, Ordering::Relaxed);
        let stage = on(&lazy, &Player::new([say("one")]));

        let mut first = stage.actor();
        first.open(named("x")).await.unwrap();
        first.prompt("go").await;
        first.turn_end().await;
        let delete = DirectoryVerb::Delete { session: "x".into(), open_too: true };
        let mut deleting = stage.actor();
        let deleted = deleting.send(Verb::Directory(delete)).await;
        let mut coming = Vec::new();
        for _ in 0..COMERS {
            let mut comer = stage.actor();
            let tag = comer.send(Verb::Open(named("x"))).await;
            coming.push((comer, tag));
            tokio::task::yield_now().await;
        }
        assert_eq!(deleting.reply(deleted).await.unwrap(), Reply::Done);
        for (mut comer, tag) in coming {
            let opened = comer.reply(tag).await;
            let Ok(Reply::Opened(opened)) = opened else { panic!("{yields}: {opened:?}") };
            // Who came in before it was deleted has heard of that.
            let has_gone = comer.told.iter().any(|told| matches!(told.event, Event::Gone { .. }));
            assert!(has_gone || opened.state.messages == 0, "{yields}: what was deleted is back");
        }
    }
}
