//! Appends that have time and appends that have none, of several sessions and leases, in any order: each is judged as if the
//! store did one thing after the other.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::process::Command;
use std::time::Duration;

use store_sqlite::SqliteStore;
use testkit::sim::Dice;
use vocab::{Durability, Fault, Later, Lease, SessionId, Store};

use crate::kit::{self, new_session, rounds, said, tell, texts};

const STEPS: u64 = 80;
const SESSIONS: [&str; 3] = ["a", "b", "c"];

/// A session as it has to be.
#[derive(Default)]
struct Wanted {
    log: Option<Vec<String>>,
    held: Option<usize>,
    /// All that were ever made since there was none of it.
    leases: Vec<Lease>,
}

impl Wanted {
    fn append(&mut self, lease: usize, seqs: &[u64], name: &str) -> bool {
        if self.held.is_none() && self.leases[lease].new.is_some() && self.log.is_none() {
            self.held = Some(lease);
        }
        if self.held != Some(lease) {
            return false;
        }
        let last = self.log.as_ref().map_or(0, Vec::len) as u64;
        let is_next = seqs.iter().zip(last + 1..).all(|(seq, wanted)| *seq == wanted);
        if is_next {
            self.log.get_or_insert_default().extend(seqs.iter().map(|seq| format!("{seq} {name}")));
        }
        is_next
    }
}

type Asked = Pin<Box<dyn Future<Output = Result<(), String>>>>;

/// What was asked for and not answered yet.
struct Open {
    what: String,
    answer: Asked,
}

/// So many quick turns that the next prompts wait for theirs.
async fn quick_turns(store: &SqliteStore) {
    let lease = store.create(new_session("quick"));
    for seq in (1..60).step_by(2) {
        let prompt = store.append(&lease, vec![said(seq, "prompt")], Durability::Soon);
        store.append(&lease, vec![said(seq + 1, "end")], Durability::Now).await.unwrap();
        prompt.await.unwrap();
    }
}

async fn life(seed: u64) {
    let home = tempfile::tempdir().unwrap();
    let store = SqliteStore::new(home.path().to_owned());
    if !seed.is_multiple_of(4) {
        quick_turns(&store).await;
    }
    let mut dice = Dice::new(seed);
    let mut wanted: [Wanted; SESSIONS.len()] = Default::default();
    let mut open: Vec<Open> = Vec::new();
    let mut said_so_far = Vec::new();
    for step in 0..STEPS {
        let at = dice.below(SESSIONS.len() as u64) as usize;
        let (id, it) = (SessionId::from(SESSIONS[at]), &mut wanted[at]);
        let mut ask = |what: String, is_ok: bool, answer: Asked| {
            said_so_far.push(format!("{what}: {is_ok}"));
            let told = what.clone();
            let answer = Box::pin(async move {
                match answer.await {
                    result if result.is_ok() == is_ok => Ok(()),
                    result => Err(format!("{told}: {result:?} and not {is_ok}")),
                }
            });
            open.push(Open { what, answer });
        };
        match dice.below(20) {
            // Mostly what a session does: the next entry, by the lease that holds it.
            0..13 => {
                if it.leases.is_empty() {
                    it.leases.push(store.create(new_session(SESSIONS[at])));
                }
                let any = dice.below(it.leases.len() as u64) as usize;
                let lease = it.held.filter(|_| dice.chance(90)).unwrap_or(any);
                let last = it.log.as_ref().map_or(0, Vec::len) as u64;
                let first = match dice.below(12) {
                    0 => last + 2,
                    1 => last.max(1),
                    _ => last + 1,
                };
                let seqs: Vec<u64> = (first..=first + dice.below(2)).collect();
                let durability = *dice.one(&[Durability::Commit, Durability::Soon, Durability::Soon, Durability::Now]);
                let name = format!("step {step}");
                let is_ok = it.append(lease, &seqs, &name);
                let entries = seqs.iter().map(|seq| said(*seq, &format!("{seq} {name}"))).collect();
                let answer = store.append(&it.leases[lease], entries, durability);
                let what = format!("{step}: {id} lease {lease} appends {seqs:?} {durability:?}");
                ask(what, is_ok, Box::pin(async move { answer.await.map_err(|fault| fault.to_string()) }));
            }
            13 => {
                let Some(lease) = it.held.take() else { continue };
                let answer = store.release(it.leases[lease].clone());
                let what = format!("{step}: {id} lease {lease} is released");
                ask(what, true, Box::pin(async move { answer.await.map_err(|fault| fault.to_string()) }));
            }
            14 => {
                // Waited for: whoever goes on needs the lease.
                let acquired = store.acquire(&id).await;
                let is_free = it.held.is_none() && it.log.is_some();
                assert_eq!(acquired.is_ok(), is_free, "seed {seed}, {step}: {id} is acquired\n{said_so_far:#?}");
                if let Ok(acquired) = acquired {
                    let last = it.log.as_ref().map_or(0, Vec::len) as u64;
                    assert_eq!(acquired.summary.last_seq, last, "seed {seed}, {step}\n{said_so_far:#?}");
                    it.held = Some(it.leases.len());
                    it.leases.push(acquired.lease);
                }
            }
            15 => {
                it.leases.push(store.create(new_session(SESSIONS[at])));
            }
            16 if dice.chance(20) => {
                let is_free = it.held.is_none();
                let answer = store.delete(&id, None);
                if is_free {
                    *it = Wanted::default();
                }
                let what = format!("{step}: {id} is deleted");
                let answer = async move { answer.await.map(|_| ()).map_err(|fault| fault.to_string()) };
                ask(what, is_free, Box::pin(answer));
            }
            16 | 17 => tokio::time::sleep(Duration::from_micros(dice.below(4_000))).await,
            18 => {
                let want = it.log.clone();
                let seen = match store.read(&id, 0, usize::MAX).await {
                    Ok(page) => Some(page.entries.iter().map(|entry| kit::text(entry)).collect::<Vec<_>>()),
                    Err(_) => None,
                };
                assert_eq!(seen, want, "seed {seed}, {step}: {id} is read\n{said_so_far:#?}");
            }
            _ => {
                for Open { what, answer } in open.drain(..) {
                    let answered = tokio::time::timeout(Duration::from_secs(20), answer).await;
                    let answered = answered.unwrap_or_else(|_| Err(format!("{what}: no answer")));
                    assert_eq!(answered, Ok(()), "seed {seed}\n{said_so_far:#?}");
                }
            }
        }
    }
    for Open { what, answer } in open {
        let answered = tokio::time::timeout(Duration::from_secs(20), answer).await;
        assert_eq!(
            answered.unwrap_or_else(|_| Err(format!("{what}: no answer"))),
            Ok(()),
            "seed {seed}\n{said_so_far:#?}"
        );
    }
    drop(store);
    let store = SqliteStore::new(home.path().to_owned());
    for (id, it) in SESSIONS.iter().zip(&wanted) {
        if let Some(log) = &it.log {
            assert_eq!(texts(&store, &SessionId::from(*id)).await, *log, "seed {seed}\n{said_so_far:#?}");
        }
    }
    let verdict = store.verify_audit(None).await.unwrap();
    assert!(matches!(verdict, vocab::AuditVerdict::Whole { .. }), "seed {seed}: {verdict:?}");
}

#[tokio::test]
async fn every_append_is_judged_as_if_one_came_after_the_other() {
    for seed in 1..=rounds(30, 2_000) as u64 {
        life(seed).await;
    }
}

const TURNS: u64 = 25;

/// An entry that was not answered yet.
type Offered = (u64, String, Later<'static, Result<(), Fault>>);

/// A session as the engine has it: a turn is three appends, the next prompt is there before the end of the turn is written,
/// and when one of them is refused, those behind it are forgotten and the same entries are offered again.
struct Talk<'a> {
    store: &'a SqliteStore,
    lease: Lease,
    under_way: VecDeque<Offered>,
    taken: Vec<String>,
    offered: u64,
    tries: u64,
    refused: u64,
}

impl Talk<'_> {
    fn offer(&mut self, durability: Durability) {
        let seq = self.offered + 1;
        let text = format!("{} {seq} try {}", self.lease.session, self.tries);
        let answer = self.store.append(&self.lease, vec![said(seq, &text)], durability);
        self.under_way.push_back((seq, text, answer));
        self.offered = seq;
    }

    /// Whether all of them were taken.
    async fn settle(&mut self, but: usize) -> bool {
        while self.under_way.len() > but {
            let (seq, text, answer) = self.under_way.pop_front().unwrap();
            let Err(fault) = answer.await else {
                self.taken.push(text);
                continue;
            };
            let is_gap = fault.message.contains("cannot be next");
            assert!(!is_gap, "{text} is next, and what was forgotten is held against it: {fault}");
            self.under_way.clear();
            (self.offered, self.tries, self.refused) = (seq - 1, self.tries + 1, self.refused + 1);
            assert!(self.refused < 20, "one failed call must not fail everything after it: {fault}");
            return false;
        }
        true
    }

    async fn turn(&mut self) {
        self.offer(Durability::Soon);
        tokio::time::sleep(Duration::from_millis(4)).await;
        self.offer(Durability::Commit);
        tokio::time::sleep(Duration::from_millis(4)).await;
        self.offer(Durability::Now);
        // The next prompt.
        self.offer(Durability::Soon);
        self.settle(1).await;
    }
}

#[tokio::test]
async fn role_talks_on_a_failing_disk() {
    let Some((store, _)) = kit::role("mixes::role_talks_on_a_failing_disk") else { return };
    let talk = async |id: &str| {
        let (lease, under_way, taken) = (store.create(new_session(id)), VecDeque::new(), Vec::new());
        let mut talk = Talk { store: &store, lease, under_way, taken, offered: 0, tries: 0, refused: 0 };
        for _ in 0..TURNS {
            talk.turn().await;
        }
        while !talk.settle(0).await {}
        let there = texts(&store, &talk.lease.session).await;
        assert_eq!(there, talk.taken, "what was taken, once and in order, and nothing else");
        talk.refused
    };
    let (a, b, c) = tokio::join!(talk("a"), talk("b"), talk("c"));
    tell(&format!("{}", a + b + c));
}

#[tokio::test]
async fn what_was_forgotten_behind_a_failed_write_is_not_held_against_what_is_offered_again() {
    if !Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).status().is_ok_and(|it| it.success()) {
        return println!("SKIP: strace cannot be run here");
    }
    let mut refused = 0;
    for (call, error) in [("fdatasync", "EIO"), ("pwrite64", "ENOSPC"), ("pwrite64", "EIO")] {
        // Making the database takes more calls than this; it is to be there once.
        let (first, every) = if call == "pwrite64" { (90, 120) } else { (12, 30) };
        for step in 0..rounds(4, 40) {
            let home = tempfile::tempdir().unwrap();
            let inject = format!("inject={call}:error={error}:when={}+{}", first + 5 * step, every + step);
            let mut command = Command::new("strace");
            command.args(["-f", "-qq", "-e", "signal=none", "-o", "/dev/null", "-e"]);
            command.args([&format!("trace={call}"), "-e", &inject]).arg(std::env::current_exe().unwrap());
            let role = "mixes::role_talks_on_a_failing_disk";
            command.args([role, "--exact", "--nocapture", "--test-threads=1"]);
            kit::as_child(&mut command, role, &home.path().join("home"), 0);
            let told = kit::told(command.spawn().unwrap(), false);
            refused += told.last().expect("the child came to its end").parse::<u64>().unwrap();
            let store = SqliteStore::new(home.path().join("home"));
            let verdict = store.verify_audit(None).await.unwrap();
            assert!(matches!(verdict, vocab::AuditVerdict::Whole { .. }), "{inject}: {verdict:?}");
        }
    }
    println!("{refused} appends were refused");
    assert!(refused > 10, "the faults did not reach the store");
}
