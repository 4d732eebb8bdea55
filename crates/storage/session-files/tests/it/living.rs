//! The engine on sessions with files: files of others are gone on with, forks have files of their own.

use std::path::PathBuf;
use std::sync::Arc;

use engine::{Config, Engine, Peer, Ports, Slow};
use session_files::Mirrored;
use testkit::fakes::{CountedIds, Notebook, TickingClock};
use vocab::*;

use crate::kit::*;

struct NoTools;
impl Toolbox for NoTools {
    fn open(&self, _: &SessionId, _: &std::path::Path) -> Result<Vec<Arc<dyn Tool>>, Fault> {
        Ok(Vec::new())
    }
    fn restore(&self, _: &std::path::Path, _: &[FileEdit]) -> Vec<Arc<str>> {
        Vec::new()
    }
    fn shell(
        &self,
        _: &SessionId,
        _: &std::path::Path,
        _: &str,
        _: Progress,
        _: Later<'static, ()>,
    ) -> Later<'static, Shell> {
        unreachable!("nobody runs a command here")
    }
    fn diff(&self, _: &[FileEdit]) -> Vec<FileDiff> {
        Vec::new()
    }
}

pub(crate) fn engine(process: &Mirrored, world: &MirrorWorld) -> Engine {
    let ports = Ports {
        provider: Arc::new(tour::Tour::default()),
        toolbox: Arc::new(NoTools),
        store: Arc::new(process.clone()),
        archive: Arc::new(process.clone()),
        preferences: Arc::new(Notebook::default()),
        ids: Arc::new(CountedIds::default()),
        clock: Arc::new(TickingClock::default()),
        read_object: wire::read_object,
        fit_image: as_it_is,
        keyring: Keyring::default(),
        accounts: Arc::new(NoAccounts),
        surroundings: Arc::new(NoSurroundings),
        servers: Arc::new(NoMcp),
    };
    let defaults = Settings::new(world.dir.path(), "tour");
    Engine::new(
        ports,
        Config {
            defaults,
            version: "0".into(),
            notices: Vec::new(),
            idle: None,
            turns_max: None,
            user: Principal::user("ann"),
        },
    )
}

/// A peer that sends one thing at a time.
pub(crate) struct Actor {
    peer: Peer,
    sent: u64,
    told: Vec<Told>,
}

impl Actor {
    async fn on_path(engine: &Engine, path: &std::path::Path) -> Actor {
        Actor::opening(engine, Open { model: Some("tour".into()), ..Open::new(Which::Path(path.to_owned())) }).await
    }

    pub(crate) async fn opening(engine: &Engine, open: Open) -> Actor {
        let mut actor = Actor { peer: engine.connect(Slow::Wait), sent: 0, told: Vec::new() };
        actor.send(Verb::Open(open)).await;
        actor
    }

    async fn send(&mut self, verb: Verb) -> Reply {
        self.sent += 1;
        let tag = Tag(self.sent);
        self.peer.submit(Command::of(tag, Target::Current, verb)).await;
        let event = self.until(|event| matches!(event, Event::Reply { tag: got, .. } if *got == tag)).await;
        let Event::Reply { result, .. } = event else { unreachable!("that is what was waited for") };
        result.unwrap()
    }

    async fn until(&mut self, wanted: impl Fn(&Event) -> bool) -> Event {
        loop {
            // What comes behind it in the same batch is for whoever waits next.
            if let Some(at) = self.told.iter().position(|told| wanted(&told.event)) {
                return self.told.drain(..=at).next_back().expect("it was just found").event;
            }
            assert!(self.peer.events(&mut self.told).await, "nothing more will come: {:#?}", self.told);
        }
    }

    /// One turn, to its end.
    pub(crate) async fn say(&mut self, text: &str) {
        let parts = vec![Part::text(text)];
        self.send(Verb::Session(SessionVerb::Prompt { parts, delivery: Delivery::RejectIfBusy })).await;
        self.until(|event| matches!(event, Event::Settled)).await;
    }
}

fn foreign(world: &MirrorWorld) -> PathBuf {
    std::fs::create_dir(world.files()).unwrap();
    let path = world.files().join("theirs.jsonl");
    let text = [
        r#"{"type":"session","version":3,"id":"theirs","timestamp":"2026-11-15T22:00:00.000Z","cwd":"/work"}"#,
        r#"{"type":"model_change","id":"a1","parentId":null,"timestamp":"2026-11-15T22:00:00.000Z","provider":"mock","modelId":"mock-1"}"#,
        r#"{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-11-15T22:00:01.000Z","message":{"role":"user","content":"read it","timestamp":1794780001000}}"#,
        r#"{"type":"message","id":"a3","parentId":"a2","timestamp":"2026-11-15T22:00:02.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"a"}}],"provider":"mock","model":"mock-1","stopReason":"toolUse","timestamp":1794780001500}}"#,
        "",
    ];
    std::fs::write(&path, text.join("\n")).unwrap();
    path
}

#[tokio::test]
async fn a_session_of_pis_goes_on_with_its_open_call_closed() {
    let world = MirrorWorld::new();
    let path = foreign(&world);
    let before = std::fs::read_to_string(&path).unwrap();
    let process = world.process();
    let mut actor = Actor::on_path(&engine(&process, &world), &path).await;
    actor.say("hello").await;
    assert!(std::fs::read_to_string(&path).unwrap().starts_with(&before));
    let now = lines(&path);
    let shown: Vec<String> = now[4..]
        .iter()
        .map(|line| line["message"]["role"].as_str().or(line["type"].as_str()).unwrap().to_owned())
        .collect();
    assert_eq!(shown, ["toolResult", "model_change", "user", "assistant"]);
    assert_eq!((&now[4]["parentId"], &now[4]["message"]["toolCallId"]), (&"a3".into(), &"c1".into()));
    let whole: Vec<String> = {
        let transcript = world.transcript("theirs").await;
        transcript.lines().iter().map(|line| line.name.to_string()).collect()
    };
    let names: Vec<_> = now[1..].iter().map(|line| line["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names, whole);
    assert_eq!(world.notes(), Vec::<String>::new());
}

#[tokio::test]
async fn a_fork_of_a_foreign_session_keeps_the_foreign_names_in_a_file_of_its_own() {
    let world = MirrorWorld::new();
    let path = foreign(&world);
    let process = world.process();
    let engine = engine(&process, &world);
    let mut actor = Actor::on_path(&engine, &path).await;
    actor.say("first").await;
    actor.say("second").await;
    let second = world.entries("theirs").await.iter().rev().find_map(|entry| match &entry.body {
        Body::User { .. } => Some(entry.seq),
        _ => None,
    });
    let Reply::Forked { session, text } = actor.send(Verb::Fork { at: second }).await else { panic!("no fork") };
    assert_eq!(text, "second");
    let file = process.file(&session).unwrap();
    assert_ne!(file, path);
    let (old, new) = (lines(&path), lines(&file));
    assert_eq!(new[0]["parentSession"], path.to_str().unwrap());
    let ids = |lines: &[serde_json::Value]| -> Vec<String> {
        lines[1..].iter().map(|line| line["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&new), ids(&old)[..ids(&new).len()], "the path up to the message, with the same names");
    assert_eq!(new.len(), old.len() - 2);
    let mut other = Actor::on_path(&engine, &file).await;
    other.say("otherwise").await;
    assert_eq!(lines(&file).len(), new.len() + 2);
    assert_eq!(lines(&path).len(), old.len(), "the old file is left alone");
}
