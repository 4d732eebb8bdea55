//! Random requests on several sessions by a client that answers when it likes, with the real engine, a model that obeys its
//! prompts and a store that may fail. Whatever comes of it: each request has one response, everything of a turn stands before
//! the answer to its prompt, nothing is told of a session that its client does not know, every question is closed and every
//! terminal released. And without an engine: events and replies that nobody would send, which break nothing.

use std::sync::Arc;
use std::time::Duration;

use dialect_acp::{Acp, AcpOptions};
use serde_json::{Value, json};
use store::MemoryStore;
use testkit::fakes::CountedIds;
use testkit::faulty::FaultyStore;
use testkit::odd::Dice;
use testkit::pipe::Pipe;
use testkit::{Stage, StageOptions};
use vocab::{Body, Delta, EditorEvent, Event, Fault, FaultKind, ItemEnd, QueueEntry, Reply, Stop, TurnEntry};
use wire::Parting;

use crate::talk::{AcpTalk, ended, opened, state};
use crate::tools::Simples;
use crate::watch::Watch;

const SEEDS: u64 = 120;
const STEPS: usize = 70;
const QUIET: Duration = Duration::from_millis(300);

const PROMPTS: &[&str] = &[
    "say 3 words",
    "say 300 words",
    "say one pause 300 say two",
    "say one hold",
    "think deep say done",
    "call quick {} then say after",
    "call careful {} then call careful {} then say after",
    "call quick {} and call careful {} then pause 100 say b",
    "call helped {} then say b",
    "call endless {} then say never",
    "call endless {} and call quick {} then say never",
    "call nothing {} then say so",
    "fail 400",
    "say some fail 401",
    "fail 503 1 say back",
    "cut",
    "/status",
    "/compact",
    "/rename it",
];

struct ChaosPlay {
    stage: Stage,
    pipe: Pipe,
    watch: Watch,
    sessions: Vec<String>,
    ids: u64,
    terminals: u64,
}

impl ChaosPlay {
    fn new(dice: &mut Dice, store: Arc<FaultyStore>, sound: bool) -> Self {
        let stage = Stage::new(StageOptions {
            store,
            toolbox: Some(Arc::new(Simples)),
            mode: vocab::Mode::Prompt,
            ..StageOptions::default()
        });
        let options = AcpOptions::new("0.1.0", Arc::new(CountedIds::default()));
        let commands = ["status", "compact", "rename"];
        let slash = |name: &str| dialect_acp::SlashInfo { name: name.into(), description: name.into(), hint: None };
        let options = AcpOptions { commands: commands.map(slash).to_vec(), ..options };
        let pipe = Pipe::new(&stage.engine, Box::new(Acp::new(options)), host::PumpOptions::default());
        let watch = Watch::new(dice.below(2) == 0, sound);
        Self { stage, pipe, watch, sessions: vec!["nope".to_owned()], ids: 0, terminals: 0 }
    }

    async fn put(&mut self, method: &str, params: Value) {
        self.ids += 1;
        self.watch.asks(self.ids, method, params["sessionId"].as_str().unwrap_or_default());
        let line = json!({ "jsonrpc": "2.0", "id": self.ids, "method": method, "params": params });
        self.pipe.send(&line.to_string()).await;
    }

    async fn note(&mut self, method: &str, params: Value) {
        self.pipe.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()).await;
    }

    async fn hear(&mut self, quiet: Duration) {
        for line in self.pipe.heard(quiet).await {
            let line: Value = serde_json::from_str(&line).unwrap();
            self.watch.see(&line);
            if let Some(session) = line["result"]["sessionId"].as_str().map(str::to_owned)
                && !self.sessions.contains(&session)
            {
                self.sessions.push(session);
            }
        }
    }

    /// Answers one thing that the client was asked.
    async fn answer(&mut self, dice: &mut Dice) {
        let waiting: Vec<u64> = self.watch.asked.keys().copied().collect();
        if waiting.is_empty() {
            return;
        }
        let id = *dice.pick(&waiting);
        let method = self.watch.asked[&id]["method"].as_str().unwrap().to_owned();
        let result = match &*method {
            "session/request_permission" => {
                let option = *dice.pick(&["allow_once", "allow_session", "deny", "never offered"]);
                json!({ "outcome": { "outcome": "selected", "optionId": option } })
            }
            "fs/read_text_file" => json!({ "content": "text" }),
            "terminal/create" => {
                self.terminals += 1;
                let terminal = format!("term-{}", self.terminals);
                self.watch.terminals.insert(terminal.clone());
                json!({ "terminalId": terminal })
            }
            "terminal/output" => json!({ "output": "out", "truncated": false }),
            _ => json!({}),
        };
        self.watch.asked.remove(&id);
        let fails = method != "terminal/create" && dice.below(5) == 0;
        let line = match fails {
            true => json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32603, "message": "no" } }),
            false => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        };
        self.pipe.send(&line.to_string()).await;
    }

    async fn step(&mut self, dice: &mut Dice) {
        let session = dice.pick(&self.sessions).clone();
        let on = |more: Value| {
            let mut params = json!({ "sessionId": session });
            params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            params
        };
        let cwd = self.stage.workspace().to_owned();
        match dice.below(40) {
            0..=12 => {
                let text = dice.pick(PROMPTS);
                self.put("session/prompt", on(json!({ "prompt": [{ "type": "text", "text": text }] }))).await;
            }
            13..=15 => self.note("session/cancel", on(json!({}))).await,
            16 => self.put("session/cancel", on(json!({}))).await,
            17 | 18 => {
                let id = self.ids.saturating_sub(dice.below(4) as u64);
                self.note("$/cancel_request", json!({ "requestId": id })).await;
            }
            19 if self.sessions.len() < 6 => self.put("session/new", json!({ "cwd": cwd })).await,
            20 | 21 => self.put("session/load", on(json!({ "cwd": cwd, "mcpServers": [] }))).await,
            22 => self.put("session/resume", on(json!({ "cwd": cwd }))).await,
            23 if self.sessions.len() < 6 => self.put("session/fork", on(json!({ "cwd": cwd }))).await,
            24 | 25 => self.put("session/close", on(json!({}))).await,
            26 => self.put("session/delete", on(json!({}))).await,
            27 => self.put("session/list", json!({})).await,
            28 => self.put("session/set_mode", on(json!({ "modeId": dice.pick(&["plan", "prompt"]) }))).await,
            29 => self.put("session/set_model", on(json!({ "modelId": dice.pick(&["tour", "tour-mini"]) }))).await,
            _ => self.answer(dice).await,
        }
    }
}

async fn play(seed: u64) {
    let mut dice = Dice(seed);
    let sound = seed.is_multiple_of(2);
    let store = Arc::new(FaultyStore::new(Arc::new(MemoryStore::new())));
    let mut play = ChaosPlay::new(&mut dice, store.clone(), sound);
    let helps = play.watch.helps;
    let fs = json!({ "readTextFile": helps, "writeTextFile": helps });
    play.put("initialize", json!({ "clientCapabilities": { "fs": fs, "terminal": helps } })).await;
    for _ in 0..2 {
        let cwd = play.stage.workspace().to_owned();
        play.put("session/new", json!({ "cwd": cwd })).await;
        play.hear(QUIET).await;
    }
    if seed.is_multiple_of(3) {
        store.slow(vec![0, 20, 3]);
    }
    for _ in 0..STEPS {
        play.step(&mut dice).await;
        match dice.below(12) {
            0..=4 => {}
            5..=8 => play.hear(Duration::from_millis(1 + dice.below(30) as u64)).await,
            9 => play.hear(QUIET).await,
            10 => play.hear(Duration::from_millis(dice.below(3000) as u64)).await,
            _ if !sound && dice.below(3) == 0 => store.fail_append(1 + dice.below(4) as u64),
            _ => {}
        }
    }
    store.fail_append(0);
    if seed.is_multiple_of(4) {
        // Gone in the middle of it: what the client has not answered stays so.
        play.pipe.eof().await;
        play.hear(Duration::from_secs(5)).await;
        assert!(play.pipe.ended().await.is_some(), "it ends");
        return;
    }
    for _ in 0..6 {
        for session in play.sessions.clone() {
            play.note("session/cancel", json!({ "sessionId": session })).await;
        }
        play.hear(Duration::from_secs(3)).await;
        for _ in 0..play.watch.asked.len() {
            play.answer(&mut dice).await;
        }
        play.hear(Duration::from_secs(3)).await;
    }
    play.watch.at_rest();
    let cwd = play.stage.workspace().to_owned();
    play.put("session/new", json!({ "cwd": cwd })).await;
    play.hear(QUIET).await;
    play.watch.at_rest();
}

#[test]
fn whatever_is_asked_in_whatever_order_everybody_is_answered_and_nothing_is_left_open() {
    for seed in 0..SEEDS {
        // A panic inside says nothing of its seed.
        let told = std::panic::catch_unwind(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
            runtime.unwrap().block_on(play(seed));
        });
        assert!(told.is_ok(), "it was seed {seed}");
    }
}

// ---- without an engine ------------------------------------------------------------------------------------------

fn reply(dice: &mut Dice) -> Result<Reply, Fault> {
    match dice.below(8) {
        0 => Ok(Reply::Done),
        1 => Ok(opened(dice.pick::<&str>(&["c1", "c2"]))),
        2 | 3 => Ok(Reply::Started { turn: (*dice.pick(&["t1", "t2"])).into() }),
        4 => Ok(Reply::Waiting { item: "i1".into(), position: 1 }),
        5 => Ok(Reply::Forked { session: "c2".into(), text: String::new() }),
        6 => Ok(Reply::Models(vec![])),
        _ => Err(Fault::new(*dice.pick(&[FaultKind::Internal, FaultKind::Auth, FaultKind::NotFound]), "it broke")),
    }
}

fn event(dice: &mut Dice) -> Event {
    let turn = *dice.pick(&["t1", "t2"]);
    let logged = |body| Event::Logged(Arc::new(vocab::Entry { seq: 1, parent: 0, at_ms: 0, body, by: None }));
    match dice.below(12) {
        0 => logged(Body::Turn(TurnEntry::Started { turn: turn.into() })),
        1 | 2 => logged(Body::Turn(TurnEntry::Ended(ended(
            turn,
            *dice.pick(&[Stop::EndTurn, Stop::Error, Stop::Interrupted]),
        )))),
        3 => logged(Body::Queue(QueueEntry::Settled {
            item: "i1".into(),
            end: *dice.pick(&[ItemEnd::Consumed, ItemEnd::Dropped]),
            why: None,
        })),
        4 => Event::Delta(Delta::Text { turn: turn.into(), delta: "w".into() }),
        5 => Event::Delta(Delta::Thinking { turn: turn.into(), delta: "t".into() }),
        6 | 7 => Event::State(Arc::new(state("c1"))),
        8 => Event::TurnLost(ended(turn, Stop::Error)),
        9 => Event::Editor(EditorEvent::Dropped { editor_request: 1 }),
        10 if dice.below(10) == 0 => Event::Gone { fault: Fault::new(FaultKind::Store, "gone") },
        _ => Event::Settled,
    }
}

#[test]
fn no_order_of_events_panics_or_hangs() {
    let mut ends = 0;
    for seed in 0..1000 {
        let mut dice = Dice(seed);
        let mut talk = AcpTalk::with(json!({ "terminal": true }));
        for _ in 0..60 {
            if talk.out.close.is_some() {
                break;
            }
            match dice.below(20) {
                0..4 => drop(talk.prompt("x")),
                4 => drop(talk.ask("session/close", json!({ "sessionId": "c1" }))),
                5 => drop(talk.ask("session/load", json!({ "sessionId": "c1", "cwd": "/w" }))),
                6 => drop(talk.notify("$/cancel_request", json!({ "requestId": 3 + dice.below(5) }))),
                7..13 if !talk.open.is_empty() => {
                    let command = talk.open.remove(dice.below(talk.open.len()));
                    talk.reply_tag(command.tag, reply(&mut dice));
                }
                13 if dice.below(12) == 0 => drop(talk.part(Parting::Eof)),
                _ => drop(talk.tell(dice.pick::<&str>(&["c1", "c2"]), event(&mut dice))),
            }
        }
        ends += usize::from(talk.out.close.is_some());
        talk.part(Parting::GraceOver);
        assert!(talk.out.close.is_some(), "seed {seed}:\n{}", talk.log);
    }
    assert!(ends > 5, "only {ends} conversations ended by themselves");
}
