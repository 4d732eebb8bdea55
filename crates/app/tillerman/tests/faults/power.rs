//! Power cuts, without cutting the power: every write and sync of a real run is recorded, together with what the
//! controller was told; then, for many moments, the disk is made again as a cut at that moment could have left it.
//! Whoever starts on it must find everything that had been acknowledged by then.

mod disk;
mod recording;

use std::fs;
use std::path::Path;

use serde_json::Value;
use testkit::faults::{Driver, PATIENCE, World, count, has};
use testkit::sim::Dice;

use crate::drivers::Serve;
use crate::worlds::tour;
use disk::{Disk, Luck};
use recording::Step;

/// Long enough that a run fills the write-ahead log, so that cuts fall around its folding, too.
const PADDING: usize = 256 * 1024;
const TURNS: usize = 40;

/// One run of the binary, as it was recorded.
struct Run {
    world: World,
    session: String,
    steps: Vec<Step>,
}

fn record() -> Run {
    let world = tour();
    let trace = world.root().join("trace");
    let strace =
        ["strace", "-f", "-y", "-qq", "-xx", "-s", "1000000", "-e", "signal=none", "-e", recording::CALLS, "-o"];
    let wrapper: Vec<&str> = strace.into_iter().chain(trace.to_str()).collect();
    let mut serve = Serve::spawn_in(&world, &wrapper, &[]);
    serve.ready();
    let session = serve.session.clone();
    for n in 0..TURNS {
        if n % 10 == 5 {
            let renamed = serve.slash("rename", &format!("title-{n}-"));
            assert_eq!(renamed["data"]["ok"], true, "{renamed}");
        }
        serve.good_turn(&format!("say \"turn-{n}- {}\"", "x".repeat(PADDING)));
    }
    serve.good_turn(r#"call bash {"command":"echo turn-ran-"} then say "turn-end-""#);
    serve.shutdown();
    let text = fs::read_to_string(trace).unwrap();
    let steps = recording::read(&text, &world.home);
    Run { world, session, steps }
}

/// What a controller knew at some moment.
#[derive(Default, Clone)]
struct Known {
    started: usize,
    ended: usize,
    title: Option<String>,
}

impl Known {
    fn hear(&mut self, said: &Value) {
        match said["type"].as_str() {
            Some("turn_started") => self.started += 1,
            Some("turn_complete") => self.ended += 1,
            Some("slash_result") => {
                let title = format!("title-{}-", self.ended);
                self.title = Some(title);
            }
            _ => {}
        }
    }

    /// Everything of it is in the log.
    fn check(&self, text: &str, about: &str) {
        let lines = |kind: &str| -> Vec<&str> {
            let mark = format!(r#""kind":"{kind}""#);
            text.lines().filter(|line| line.contains(&mark)).collect()
        };
        let (users, answers) = (lines("user"), lines("assistant"));
        for n in 0..self.started.min(TURNS) {
            let tag = format!("turn-{n}-");
            let found = users.iter().filter(|line| line.contains(&tag)).count();
            assert_eq!(found, 1, "{about}: acknowledged prompt {n} is there {found} times");
            let answered = answers.iter().any(|line| line.contains(&tag));
            assert!(answered || n >= self.ended, "{about}: turn {n} was told to be over, and its answer is lost");
        }
        if self.ended > TURNS {
            assert!(text.contains("turn-end-") && text.contains("turn-ran-"), "{about}: the last turn is lost");
        }
        if let Some(title) = &self.title {
            let newer = (self.started..TURNS).any(|n| text.contains(&format!("title-{n}-")));
            assert!(newer || text.contains(title.as_str()), "{about}: the title {title} is lost");
        }
    }
}

/// Starts the binary on what is left and has it write down the session. `None`: it does not know the session.
fn revive(world: &World, home: &Path, session: &str) -> Option<String> {
    let out = home.with_extension("jsonl");
    let mut command = world.dialect_command("serve", &[], &["--resume", session]);
    let mut serve = Serve::of(command.env("TILLERMAN_HOME", home).stderr(world.stderr_log()));
    let hello = serve.next(PATIENCE).expect("ready, or why not");
    if hello["code"] == "session_not_found" {
        return None;
    }
    assert_eq!(hello["type"], "ready", "{hello}");
    let result = serve.slash("export", out.to_str().unwrap());
    assert_eq!(result["data"]["ok"], true, "{result}");
    serve.good_turn("say after");
    serve.shutdown();
    Some(fs::read_to_string(out).unwrap())
}

/// Moments to cut at: around everything that was told, and anywhere.
fn moments(steps: &[Step], wanted: usize, dice: &mut Dice) -> Vec<usize> {
    let told: Vec<usize> = (0..steps.len()).filter(|at| matches!(steps[*at], Step::Said(_))).collect();
    let mut moments: Vec<usize> = (0..wanted)
        .map(|n| match n % 2 {
            0 => *dice.one(&told) + 1,
            _ => dice.below(steps.len() as u64) as usize,
        })
        .collect();
    moments.sort_unstable();
    moments
}

/// Whether the write-ahead log was folded into the database between two things that were told.
fn folds(steps: &[Step]) -> bool {
    let told = |step: &Step| matches!(step, Step::Said(said) if said["type"] == "turn_complete");
    let (first, last) = (steps.iter().position(told), steps.iter().rposition(told));
    let (Some(first), Some(last)) = (first, last) else { return false };
    let is_database = |path: &Path| path.file_name().is_some_and(|name| name == "sessions.db");
    steps[first..last].iter().any(|step| matches!(step, Step::Disk(disk::Act::Write { path, .. }) if is_database(path)))
}

#[test]
fn d1_what_was_acknowledged_survives_a_power_cut_at_any_moment() {
    if !has("strace") {
        return crate::skip("D1 (power)", "no strace");
    }
    let run = record();
    assert!(folds(&run.steps), "no cut can fall around a fold");
    let seed = std::env::var("TILLERMAN_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut dice = Dice::new(seed);
    let moments = moments(&run.steps, count(12, 300), &mut dice);
    let (mut disk, mut known, mut at) = (Disk::default(), Known::default(), 0);
    let (mut syncs, mut acknowledged, mut unknown) = (0, 0, 0);
    for (n, moment) in moments.iter().enumerate() {
        for step in &run.steps[at..*moment] {
            match step {
                Step::Disk(act) => {
                    syncs += usize::from(matches!(act, disk::Act::Sync(_)));
                    disk.take(act);
                }
                Step::Said(said) => known.hear(said),
            }
        }
        at = *moment;
        let luck = *dice.one(&[Luck::Nothing, Luck::Nothing, Luck::Oldest, Luck::Some, Luck::Everything]);
        let home = run.world.root().join(format!("cut-{n}"));
        disk.leave(&run.world.home, &home, luck, &mut dice);
        let about = format!("cut {n} at step {moment} of {}, {luck:?} (TILLERMAN_SEED={seed})", run.steps.len());
        match revive(&run.world, &home, &run.session) {
            Some(text) => known.check(&text, &about),
            None => {
                assert_eq!(known.started, 0, "{about}: the session is lost");
                unknown += 1;
            }
        }
        acknowledged += known.started;
        fs::remove_dir_all(&home).unwrap();
    }
    println!(
        "D1 power: {} cuts in a run of {} steps and {syncs} syncs, {acknowledged} acknowledged prompts found again, {unknown} \
         before the session was there",
        moments.len(),
        run.steps.len()
    );
    assert!(acknowledged > 0 && syncs > TURNS, "the recording shows nothing");
}
