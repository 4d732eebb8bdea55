//! Tools of servers that a controller brings to its session.

use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use testkit::Stage;
use testkit::faulty::FaultyStore;
use testkit::stage::Actor;
use tokio::time::Instant;
use vocab::*;

use crate::support::*;

/// Starts what a server's name says: `slow` takes five seconds, `hung` an hour, `broken` fails, `bang` panics; every
/// other has a tool `list/all` that reads and a tool `do it` that writes. A call with `slow` in it takes a second.
#[derive(Default)]
pub(crate) struct Fake {
    asked: Mutex<Vec<String>>,
    /// Servers that run now.
    alive: Arc<AtomicI64>,
    /// The user's own.
    pub(crate) own: Mutex<Vec<McpServer>>,
    /// When each call was begun.
    pub(crate) ran: Arc<Mutex<Vec<Instant>>>,
}

struct Alive(Arc<AtomicI64>);
impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

struct Remote {
    spec: ToolSpec,
    required: Required,
    ran: Arc<Mutex<Vec<Instant>>>,
    _alive: Arc<Alive>,
}

impl Tool for Remote {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }
    fn required(&self) -> Required {
        self.required
    }
    fn plan(&self, _: &Json) -> Result<Plan, String> {
        Ok(Plan { required: self.required, mutation: None, summary: "remote".into(), preview: None })
    }
    fn run(&self, input: Json, context: CallContext) -> Later<'static, Outcome> {
        self.ran.lock().unwrap().push(Instant::now());
        let name = self.spec.name.clone();
        Box::pin(async move {
            if input.as_str().contains("slow") {
                (context.progress)("at it");
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            Outcome::text(format!("{name} did it"))
        })
    }
}

impl McpServers for Fake {
    fn start(&self, session: &SessionId, _: &Path, servers: Vec<McpServer>) -> Later<'static, Vec<McpStarted>> {
        let mut names = servers.into_iter().map(|server| server.name);
        let (Some(name), None) = (names.next(), names.next()) else { panic!("one at a time") };
        self.asked.lock().unwrap().push(format!("{session} {name}"));
        assert!(&*name != "bang", "a scripted panic of a client");
        self.alive.fetch_add(1, Ordering::SeqCst);
        let alive = Arc::new(Alive(self.alive.clone()));
        let ran = self.ran.clone();
        Box::pin(async move {
            match &*name {
                "slow" => tokio::time::sleep(Duration::from_secs(5)).await,
                "hung" => tokio::time::sleep(Duration::from_secs(3600)).await,
                "broken" => {
                    let fault = Fault::new(FaultKind::NotFound, "no such program");
                    return vec![McpStarted { name, tools: Err(fault) }];
                }
                _ => {}
            }
            let tool = |name: &str, required| -> Arc<dyn Tool> {
                let spec = ToolSpec { name: name.into(), description: name.into(), schema: Json::empty_object() };
                Arc::new(Remote { spec, required, ran: ran.clone(), _alive: alive.clone() })
            };
            let tools = vec![tool("list/all", Required::ReadOnly), tool("do it", Required::WorkspaceWrite)];
            vec![McpStarted { name, tools: Ok(tools) }]
        })
    }

    fn own(&self) -> Vec<McpServer> {
        self.own.lock().unwrap().clone()
    }
}

fn with_fake(player: &Arc<Player>, mode: Mode) -> (Stage, Arc<Fake>) {
    let fake = Arc::new(Fake::default());
    let servers = fake.clone();
    let stage = stage_with(player, |options| {
        options.servers = servers;
        options.mode = mode;
    });
    (stage, fake)
}

pub(crate) fn bringing(which: Which, names: &[&str]) -> Open {
    let way = || McpTransport::Http { url: "http://127.0.0.1:1/".into(), headers: Vec::new() };
    let servers = names.iter().map(|name| McpServer { name: (*name).into(), way: way(), trust_hints: false }).collect();
    Open { servers, ..Open::new(which) }
}

async fn opened(stage: &Stage, names: &[&str]) -> Actor {
    let mut actor = stage.actor();
    actor.open(bringing(Which::New, names)).await.unwrap();
    actor
}

fn warnings(actor: &Actor) -> Vec<String> {
    let text = |told: &Told| match &told.event {
        Event::Extension(ExtensionEvent::Notice(Notice::Say { text, level: NoticeLevel::Warning })) => {
            Some(text.to_string())
        }
        _ => None,
    };
    actor.told.iter().filter_map(text).collect()
}

/// Names of the served tools that came with each model call.
fn offered(player: &Player) -> Vec<Vec<String>> {
    let served = |tools: &Vec<String>| tools.iter().filter(|name| name.starts_with("mcp__")).cloned().collect();
    player.sent.lock().unwrap().iter().map(|(_, tools)| served(tools)).collect()
}

#[tokio::test(start_paused = true)]
async fn tools_of_servers_are_called_under_names_of_their_own() {
    let player = Player::new([calls(&[("mcp__my_git__list_all", "{}")]), say("ok")]);
    let (stage, fake) = with_fake(&player, Mode::ReadOnly);
    let mut actor = opened(&stage, &["my git"]).await;
    actor.prompt("go").await;
    actor.turn_end().await;
    assert_eq!(*fake.asked.lock().unwrap(), ["s1 my git"]);
    assert_eq!(offered(&player)[0], ["mcp__my_git__list_all", "mcp__my_git__do_it"]);
    assert!(player.last_sent().contains("result c1 Ran list/all did it"), "{}", player.last_sent());
}

#[tokio::test(start_paused = true)]
async fn the_users_own_come_once_to_every_session_and_stay() {
    let player = Player::new([say("one"), say("two"), say("three")]);
    let (stage, fake) = with_fake(&player, Mode::ReadOnly);
    *fake.own.lock().unwrap() = bringing(Which::New, &["own"]).servers;
    let mut first = opened(&stage, &[]).await;
    first.prompt("go").await;
    first.turn_end().await;
    // A second peer brings one of its own to the same session, and leaves again.
    let mut second = stage.actor();
    second.open(bringing(Which::Id("s1".into()), &["brought"])).await.unwrap();
    first.forget();
    first.prompt("again").await;
    first.turn_end().await;
    let own = ["mcp__own__list_all", "mcp__own__do_it"];
    assert_eq!(offered(&player)[0], own);
    assert_eq!(offered(&player)[1], [own[0], own[1], "mcp__brought__list_all", "mcp__brought__do_it"]);
    opened(&stage, &[]).await;
    assert_eq!(*fake.asked.lock().unwrap(), ["s1 own", "s1 brought", "s2 own"]);
}

#[tokio::test(start_paused = true)]
async fn a_choice_of_tools_counts_for_the_users_own_and_not_for_what_is_brought() {
    let player = Player::new([say("one")]);
    let fake = Arc::new(Fake::default());
    *fake.own.lock().unwrap() = bringing(Which::New, &["own"]).servers;
    let servers = fake.clone();
    let stage = stage_with(&player, |options| {
        options.servers = servers;
        options.tune = Box::new(|settings| settings.only_tools = Some(vec!["mcp__own__do_it".into()]));
    });
    let mut actor = opened(&stage, &["brought"]).await;
    actor.prompt("go").await;
    actor.turn_end().await;
    assert_eq!(offered(&player)[0], ["mcp__own__do_it", "mcp__brought__list_all", "mcp__brought__do_it"]);
}

#[tokio::test(start_paused = true)]
async fn what_does_not_only_read_needs_full_access() {
    let plays = [calls(&[("mcp__x__do_it", "{}")]), calls(&[("mcp__x__do_it", "{}")]), say("ok")];
    let player = Player::new(plays);
    let (stage, _) = with_fake(&player, Mode::WorkspaceWrite);
    let mut actor = opened(&stage, &["x"]).await;
    actor.prompt("go").await;
    let AskKind::Permission(asked) = actor.ask().await.kind else { panic!("no question") };
    assert_eq!((asked.required, &*asked.tool), (Required::DangerFullAccess, "mcp__x__do_it"));
    actor.send(Verb::Session(SessionVerb::Interrupt { turn: None })).await;
    actor.turn_end().await;
    actor.forget();
    actor.send(Verb::Session(SessionVerb::Set(Change::Mode(Mode::DangerFullAccess)))).await;
    actor.prompt("again").await;
    let end = actor.turn_end().await;
    let changed: Vec<&str> = end.mutations.iter().map(|(tool, _)| &**tool).collect();
    assert_eq!(changed, ["mcp__x__do_it"], "it counts as a change");
}

#[tokio::test(start_paused = true)]
async fn the_first_model_call_waits_for_servers_that_start() {
    let player = Player::new([say("one")]);
    let (stage, _) = with_fake(&player, Mode::ReadOnly);
    let begun = Instant::now();
    let mut actor = opened(&stage, &["slow", "quick"]).await;
    assert_eq!(begun.elapsed().as_secs(), 0, "opening waits for nobody");
    actor.prompt("go").await;
    actor.turn_end().await;
    assert_eq!((begun.elapsed().as_secs(), offered(&player)[0].len()), (5, 4));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_is_waited_for_once_a_turn_and_not_for_ever() {
    let player = Player::new([calls(&[("look", "{}")]), say("ok")]);
    let (stage, _) = with_fake(&player, Mode::ReadOnly);
    let begun = Instant::now();
    let mut actor = opened(&stage, &["hung", "quick"]).await;
    actor.prompt("go").await;
    actor.turn_end().await;
    assert_eq!((begun.elapsed().as_secs(), player.calls_made()), (10, 2), "only the first call of the turn waits");
    assert_eq!(offered(&player)[0], ["mcp__quick__list_all", "mcp__quick__do_it"]);
}

#[tokio::test(start_paused = true)]
async fn tools_that_come_late_join_the_next_call() {
    let player = Player::new([vec![Step::Wait(7000), call_step(0, "look", "{}"), done(Finish::ToolUse)], say("ok")]);
    let (stage, _) = with_fake(&player, Mode::ReadOnly);
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.until(|event| matches!(event, Event::Delta(Delta::ModelCalled { .. }))).await;
    actor.open(bringing(Which::Named("s1".into()), &["slow"])).await.unwrap();
    actor.turn_end().await;
    assert_eq!(offered(&player).iter().map(Vec::len).collect::<Vec<_>>(), [0, 2]);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_ends_the_wait_for_servers() {
    let player = Player::new([say("later")]);
    let (stage, _) = with_fake(&player, Mode::ReadOnly);
    let mut actor = opened(&stage, &["hung"]).await;
    let begun = Instant::now();
    actor.prompt("go").await;
    actor.send(Verb::Session(SessionVerb::Interrupt { turn: None })).await;
    assert_eq!(actor.turn_end().await.stop, Stop::Interrupted);
    assert_eq!((begun.elapsed().as_secs(), player.calls_made()), (0, 0));
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(player.calls_made(), 0, "no call comes of the wait any more");
}

#[tokio::test(start_paused = true)]
async fn a_failed_server_is_named_once_and_costs_the_others_nothing() {
    let player = Player::new([say("one"), say("two")]);
    let (stage, _) = with_fake(&player, Mode::ReadOnly);
    let mut actor = opened(&stage, &["broken", "fine", "bang"]).await;
    for text in ["one", "two"] {
        actor.prompt(text).await;
        actor.until(|event| *event == Event::Settled).await;
    }
    let mut told = warnings(&actor);
    told.sort();
    assert_eq!(
        told,
        [
            "the tool server bang could not be started: a scripted panic of a client",
            "the tool server broken could not be started: no such program",
        ]
    );
    assert_eq!(offered(&player)[0].len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_told_to_a_peer_that_still_reads_the_past() {
    let store = Arc::new(FaultyStore::new(Arc::new(store::MemoryStore::new())));
    let kept = store.clone();
    let stage = stage_with(&Player::new([say("ok")]), |options| {
        options.store = kept;
        options.servers = Arc::new(Fake::default());
    });
    let mut actor = stage.open().await;
    actor.prompt("go").await;
    actor.until(|event| *event == Event::Settled).await;
    drop(actor);
    store.slow_reads(300);
    let mut actor = stage.actor();
    let open = Open { after: Some(Cursor::at(0)), ..bringing(Which::Named("s1".into()), &["broken"]) };
    actor.open(open).await.unwrap();
    actor.until(|event| matches!(event, Event::Extension(ExtensionEvent::Notice(_)))).await;
    let live = actor.told.iter().position(|told| matches!(told.event, Event::Live { .. })).unwrap();
    assert!(live + 1 < actor.told.len(), "after the replay");
}

#[tokio::test(start_paused = true)]
async fn what_a_peer_brings_replaces_what_it_brought_before() {
    let player = Player::new([say("one"), say("two")]);
    let (stage, fake) = with_fake(&player, Mode::ReadOnly);
    let mut actor = opened(&stage, &["a", "b"]).await;
    let mut other = stage.actor();
    other.open(bringing(Which::Named("s1".into()), &["a"])).await.unwrap();
    actor.prompt("one").await;
    actor.turn_end().await;
    let names = ["a__list_all", "a__do_it", "b__list_all", "b__do_it", "a__list_all_2", "a__do_it_2"];
    assert_eq!(offered(&player)[0], names.map(|name| format!("mcp__{name}")));
    actor.open(bringing(Which::Named("s1".into()), &["c"])).await.unwrap();
    actor.forget();
    actor.prompt("two").await;
    actor.turn_end().await;
    let names = ["a__list_all_2", "a__do_it_2", "c__list_all", "c__do_it"];
    assert_eq!(offered(&player)[1], names.map(|name| format!("mcp__{name}")));
    assert_eq!(fake.alive.load(Ordering::SeqCst), 2);
    // An opening without servers says nothing about them.
    actor.open(Open::new(Which::Named("s1".into()))).await.unwrap();
    assert_eq!(fake.alive.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn servers_end_with_the_session_started_or_not() {
    let (stage, fake) = with_fake(&Player::new([]), Mode::ReadOnly);
    let mut actor = opened(&stage, &["a", "hung"]).await;
    actor.settle().await;
    assert_eq!(fake.alive.load(Ordering::SeqCst), 2);
    drop(actor);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((fake.alive.load(Ordering::SeqCst), stage.engine.live().len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_sub_agent_has_the_servers_of_the_one_who_asks_and_starts_none() {
    let player = Player::new([
        calls(&[("subagent", r#"{"task":"x"}"#)]),
        calls(&[("mcp__git__list_all", "{}"), ("mcp__git__do_it", "{}")]),
        say("done"),
        say("good"),
    ]);
    let fake = Arc::new(Fake::default());
    fake.own.lock().unwrap().extend(bringing(Which::New, &["own"]).servers);
    let servers = fake.clone();
    let stage = stage_with(&player, |options| {
        options.servers = servers;
        options.toolbox = Some(Arc::new(crate::subagents::Family));
    });
    let mut actor = opened(&stage, &["git"]).await;
    actor.prompt("go").await;
    actor.turn_end().await;
    assert_eq!(*fake.asked.lock().unwrap(), ["s1 own", "s1 git"]);
    let log = log_of(&stage, "s2").await;
    assert!(log.contains("c1 Ran: list/all did it") && log.contains("c2 Denied: not allowed"), "{log}");
    assert_eq!(fake.alive.load(Ordering::SeqCst), 2, "they do not end with the sub-agent");
}
