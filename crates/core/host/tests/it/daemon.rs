//! A conversation of a process that serves many: whose it is, what becomes of it when its peer is lost, and how it hears of
//! the end.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::Engine;
use host::{DaemonEnding, Ended, MemoryEnd, OnLost, PrincipalCell, PumpOptions, message_pair, pump_messages};
use tokio::task::JoinHandle;
use vocab::{Command, Event, Open, Principal, Tag, Target, Told, Verb, Which};
use wire::{Close, CloseCode, Dialect, Frame, NoOwn, Out, Parting};

use crate::echo::{paused, stage};
use crate::messages::{receive, send};

/// Says nothing unasked; `open` opens a session. Why it parted is written down.
#[derive(Default)]
struct Mute {
    parted: Arc<Mutex<Vec<Parting>>>,
    stays: bool,
}

impl Dialect for Mute {
    type Own = NoOwn;
    fn greet(&mut self, _: &mut Out) {}
    fn hear(&mut self, frame: Frame<'_>, out: &mut Out) {
        if let Frame::Whole(b"open") = frame {
            out.commands.push(Command::of(Tag(1), Target::Current, Verb::Open(Open::new(Which::New))));
        }
        out.frames.line(|bytes| bytes.extend_from_slice(b"heard"));
    }
    fn tell(&mut self, told: &Told, out: &mut Out) {
        out.frames.line(|bytes| bytes.extend_from_slice(b"told"));
        if let Event::Gone { .. } = told.event {
            out.close_with(Close::new(CloseCode::Internal, "the session is lost"));
        }
    }
    fn part(&mut self, why: Parting, out: &mut Out) {
        self.parted.lock().expect("no panic").push(why);
        if !self.stays || why == Parting::GraceOver {
            out.close_with(Close::new(CloseCode::GoingAway, "4"));
        }
    }
}

struct Running {
    ours: MemoryEnd,
    parted: Arc<Mutex<Vec<Parting>>>,
    host: JoinHandle<Ended>,
}

fn run(engine: &Engine, stays: bool, options: PumpOptions) -> Running {
    let (ours, theirs) = message_pair(4);
    let engine = engine.clone();
    let dialect = Mute { stays, ..Mute::default() };
    let parted = dialect.parted.clone();
    let host = tokio::spawn(async move { pump_messages(dialect, &engine, theirs.stream, theirs.sink, options).await });
    Running { ours, parted, host }
}

impl Running {
    async fn ended(self) -> (Ended, Vec<Parting>) {
        drop(self.ours);
        let ended = tokio::time::timeout(Duration::from_secs(60), self.host).await.expect("in time").expect("no panic");
        let parted = self.parted.lock().expect("no panic").clone();
        (ended, parted)
    }
}

/// The peer's number is taken when it is made: the next one tells how many there were.
fn peers_so_far(engine: &Engine) -> u64 {
    engine.connect(engine::Slow::Wait).id().0
}

#[test]
fn a_peer_is_made_with_the_first_command_for_whoever_is_known_then() {
    paused(async {
        let stage = stage("delta \"one\"");
        let principal = PrincipalCell::default();
        let options = PumpOptions { principal: principal.clone(), ..PumpOptions::default() };
        let before = peers_so_far(&stage.engine);
        let mut running = run(&stage.engine, false, options);
        send(&mut running.ours, "hello").await;
        assert_eq!(receive(&mut running.ours).await.as_deref(), Some("heard"));
        assert_eq!(peers_so_far(&stage.engine), before + 1, "who only talks costs the engine nothing");
        assert!(principal.set(Principal::token("ci")) && !principal.set(Principal::token("other")));
        send(&mut running.ours, "open").await;
        let mut said = Vec::new();
        while !said.contains(&"told".to_owned()) {
            said.push(receive(&mut running.ours).await.expect("it goes on"));
        }
        assert_eq!(peers_so_far(&stage.engine), before + 3);
    });
}

#[test]
fn a_peer_that_is_lost_parts_or_just_goes() {
    paused(async {
        let stage = stage("delta \"one\"");
        let (ended, parted) = run(&stage.engine, false, PumpOptions::default()).ended().await;
        assert_eq!((ended.close.code, parted), (CloseCode::GoingAway, vec![Parting::Eof]));
        let leaves = || PumpOptions { on_lost: OnLost::Leave, ..PumpOptions::default() };
        let (ended, parted) = run(&stage.engine, true, leaves()).ended().await;
        assert_eq!((ended.close.code, parted), (CloseCode::Normal, vec![]), "the dialect has no say");
    });
}

#[test]
fn the_end_of_the_daemon_is_told_to_the_dialect() {
    paused(async {
        let stage = stage("delta \"one\"");
        let ending = DaemonEnding::default();
        let options = || PumpOptions { ending: Some(ending.clone()), ..PumpOptions::default() };
        let (settles, stays) = (run(&stage.engine, false, options()), run(&stage.engine, true, options()));
        tokio::time::sleep(Duration::from_secs(100)).await;
        assert!(!settles.host.is_finished() && !stays.host.is_finished());
        ending.ask("shutdown");
        ending.ask("again");
        tokio::time::sleep(Duration::from_secs(1)).await;
        let asked = Parting::Asked { by: "shutdown" };
        assert!(settles.host.is_finished() && !stays.host.is_finished());
        assert_eq!(settles.ours.stream.close(), Some(Close::new(CloseCode::GoingAway, "4")));
        assert_eq!(*settles.parted.lock().expect("no panic"), [asked]);
        tokio::time::sleep(Duration::from_secs(40)).await;
        assert!(stays.host.is_finished(), "the grace is over");
        assert_eq!(*stays.parted.lock().expect("no panic"), [asked, Parting::GraceOver]);
        // Who comes later hears it at once.
        let late = run(&stage.engine, false, options());
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(late.host.is_finished());
    });
}

#[test]
fn who_leaves_its_work_hears_on_until_the_grace_is_over() {
    paused(async {
        let stage = stage("delta \"one\"");
        let ending = DaemonEnding::default();
        let options = PumpOptions { ending: Some(ending.clone()), leaves_work: true, ..PumpOptions::default() };
        let mut running = run(&stage.engine, true, options);
        ending.ask("shutdown");
        tokio::time::sleep(Duration::from_secs(5)).await;
        send(&mut running.ours, "hello").await;
        assert_eq!(receive(&mut running.ours).await.as_deref(), Some("heard"));
        tokio::time::sleep(Duration::from_secs(40)).await;
        assert!(running.host.is_finished());
        assert_eq!(running.ours.stream.close(), Some(Close::new(CloseCode::GoingAway, "")));
        assert_eq!(*running.parted.lock().expect("no panic"), [], "nothing was interrupted");
    });
}

#[test]
fn who_leaves_its_work_goes_as_soon_as_the_engine_has_nothing_more_to_say() {
    paused(async {
        let stage = stage("delta \"one\"");
        let ending = DaemonEnding::default();
        let leaving = PumpOptions { ending: Some(ending.clone()), leaves_work: true, ..PumpOptions::default() };
        let settling = PumpOptions { ending: Some(ending.clone()), ..PumpOptions::default() };
        let (leaves, settles) = (run(&stage.engine, true, leaving), run(&stage.engine, true, settling));
        ending.rest();
        ending.ask("shutdown");
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert!(!leaves.host.is_finished(), "before anybody asks there is no rest");
        ending.rest();
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(leaves.host.is_finished());
        assert_eq!(leaves.ours.stream.close(), Some(Close::new(CloseCode::GoingAway, "")));
        assert!(!settles.host.is_finished(), "it says itself when it is done");
        // Who comes in between hears all of it at once.
        let leaving = PumpOptions { ending: Some(ending.clone()), leaves_work: true, ..PumpOptions::default() };
        let late = run(&stage.engine, true, leaving);
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(late.host.is_finished());
    });
}

#[test]
fn a_session_that_ends_with_the_process_is_not_lost() {
    paused(async {
        let stage = stage("delta \"one\"");
        let (ending, engine) = (DaemonEnding::default(), stage.engine.clone());
        let (mut ours, theirs) = message_pair(64);
        let options = PumpOptions { ending: Some(ending.clone()), leaves_work: true, ..PumpOptions::default() };
        let mut pump = std::pin::pin!(pump_messages(Mute::default(), &engine, theirs.stream, theirs.sink, options));
        send(&mut ours, "open").await;
        assert!(tokio::time::timeout(Duration::from_secs(5), pump.as_mut()).await.is_err(), "it has opened, and waits");
        // Both words are there before the pump has its next turn.
        ending.ask("shutdown");
        engine.drain(Duration::from_secs(5)).await;
        assert_eq!(pump.await.close.code, CloseCode::GoingAway);
    });
}
