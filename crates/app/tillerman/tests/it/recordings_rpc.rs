//! The recorded conversations of oh-my-pi and pi in `--mode rpc` are played against the real dialect, engine and tools. They
//! live outside the repository; where they are not, this test says so and passes. `compare.rs` has the rules of what is
//! the same, `exceptions.rs` the places where we deliberately follow another lineage than the one recorded.
//!
//! A line of the host is sent as soon as everything recorded before it has come, so that it meets a reply in the same
//! word as it did then.

mod compare;
mod exceptions;
pub(crate) mod extension;
mod peer_model;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use dialect_rpc::{Errors, Rpc, RpcOptions};
use pi_format::messages::{Face, Faces};
use serde_json::Value;
use testkit::pipe::Pipe;
use testkit::{Stage, StageOptions};
use vocab::{Mode, RetryPolicy, Store};

use crate::golden::{paused, real_time};
use crate::recordings::{Recording, recordings};
use compare::Rules;

/// How long a line may take to come; with time paused it takes none.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a command runs before it is stopped: long enough to have begun on a busy machine.
const RUNS_FOR: Duration = Duration::from_secs(1);
/// How long nothing more may come at the end.
const QUIET: Duration = Duration::from_millis(300);
/// Frames that a peer did not send when it was recorded and every host passes over.
const OURS: &[&str] = &["agent_settled", "queue_update", "prompt_result", "session_settled", "bash_execution_update"];
/// What pi says and the others do not.
const OURS_BESIDE_OMP: &[&str] = &["compaction_start", "compaction_end"];
/// What a failure shows of a line.
const SHOWN_CHARS_MAX: usize = 1000;
/// Text that stands for `<long text>`: so long that the same two messages are kept word for word.
const LONG_TEXT_BYTES: usize = 40_000;

/// One line of a recording.
#[derive(Clone, Debug)]
enum Record {
    In(Value),
    Raw(String),
    Out(Value),
    /// Whoever recorded it gave up waiting; more may have come.
    GaveUp,
}

impl Record {
    /// Short enough to be read in a failure.
    fn shown(&self) -> String {
        let text = match self {
            Record::In(frame) => format!("> {frame}"),
            Record::Out(frame) => format!("< {frame}"),
            Record::Raw(line) => format!("> {line}"),
            Record::GaveUp => "(gave up)".to_owned(),
        };
        text.chars().take(SHOWN_CHARS_MAX).collect()
    }
}

fn read(recording: &Recording) -> Vec<Record> {
    let lines = recording.text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON"));
    let records = lines.filter_map(|line| match (line["dir"].as_str(), line["raw"].as_str()) {
        (Some("in"), Some(raw)) => Some(Record::Raw(raw.to_owned())),
        (Some("in"), None) => Some(Record::In(line["frame"].clone())),
        (Some("out"), _) => Some(Record::Out(line["frame"].clone())),
        _ => line["note"].as_str().is_some_and(|note| note.contains("stopped waiting")).then_some(Record::GaveUp),
    });
    records.collect()
}

#[test]
fn the_recorded_conversations_hold() {
    let all = recordings("rpc");
    assert!(all.is_empty() || all.len() >= 23, "only {} recordings were found", all.len());
    let mut used = vec![0; exceptions::TABLE.len()];
    let mut broken = Vec::new();
    for recording in &all {
        let mut records = read(recording);
        for (exception, used) in exceptions::TABLE.iter().zip(&mut used) {
            if recording.name.starts_with(exception.recordings) {
                *used += (exception.rewrite)(&mut records);
            }
        }
        let name = recording.name.as_str();
        // A command of the user's own runs in the time of the machine.
        let held = if name.contains("bash") { real_time(replay(name, records)) } else { paused(replay(name, records)) };
        broken.extend(held.err().map(|why| format!("{name}: {why}")));
    }
    assert!(broken.is_empty(), "{} of {} do not hold:\n{}", broken.len(), all.len(), broken.join("\n\n"));
    for (exception, used) in exceptions::TABLE.iter().zip(used) {
        assert!(all.is_empty() || used > 0, "nothing needs the exception `{}` any more", exception.name);
    }
}

async fn replay(name: &str, records: Vec<Record>) -> Result<(), String> {
    let retry = RetryPolicy { base_ms: 2000, ..RetryPolicy::default() };
    let files = tempfile::tempdir().expect("a temporary directory");
    let stage = Stage::new(StageOptions {
        store: with_files(files.path()),
        provider: Arc::new(peer_model::PeerModel),
        model: peer_model::SLUG.into(),
        mode: Mode::DangerFullAccess,
        tune: Box::new(move |settings| {
            settings.retry = retry;
            settings.reminders_max = 3;
        }),
        ..StageOptions::default()
    });
    stage.write("a.txt", "alpha beta\n");
    let _extension = extension::start(&stage.engine);
    let pi = name.starts_with("pi-");
    let errors = if pi { Errors::Pi } else { Errors::Seed };
    let options =
        RpcOptions { mode: Some(Mode::DangerFullAccess), errors, retry, reminders_max: 3, ..RpcOptions::new("0.1.0") };
    let pipe = Pipe::new(&stage.engine, Box::new(Rpc::new(options)), host::PumpOptions::default());
    let mut replay = Replay { pipe, heard: VecDeque::new(), rules: Rules::new(pi), block: String::new() };
    let gave_up = matches!(records.last(), Some(Record::GaveUp));
    let mut records: VecDeque<Record> = records.into();
    let mut number = 0;
    while let Some(record) = records.pop_front() {
        number += 1;
        let shown = record.shown();
        let step = replay.step(record, &mut records).await;
        step.map_err(|why| format!("record {number} behind the exceptions: {why}\n recorded {shown}"))?;
    }
    if let Some(more) = replay.said(QUIET).await.filter(|_| !gave_up) {
        return Err(format!("more was said than recorded: {more}"));
    }
    replay.pipe.eof().await;
    while replay.said(QUIET).await.is_some() {}
    let ended = replay.pipe.ended().await.map(|ended| ended.exit_code);
    (ended == Some(0)).then_some(()).ok_or_else(|| format!("exit code {ended:?}"))
}

/// A store whose sessions have files, as the product has.
fn with_files(dir: &Path) -> Arc<dyn Store> {
    struct Any;
    impl Faces for Any {
        fn face(&self, slug: &str) -> Face {
            Face::guess(slug)
        }
    }
    impl session_files::ModelNames for Any {}
    Arc::new(session_files::Mirrored::new(session_files::MirrorSetup {
        store: Arc::new(store::MemoryStore::new()),
        archive: Arc::new(testkit::fakes::NoArchive),
        models: Arc::new(Any),
        ids: Arc::new(testkit::fakes::CountedIds::default()),
        dir: dir.to_owned(),
        dir_is_fixed: true,
        mode: Mode::DangerFullAccess,
        border: Arc::new(testkit::fakes::OpenBorder { own: peer_model::SLUG.into(), here: dir.to_owned() }),
        note: Arc::new(|text| panic!("a session file: {text}")),
    }))
}

struct Replay {
    pipe: Pipe,
    heard: VecDeque<Value>,
    rules: Rules,
    /// The deltas of the open block so far.
    block: String,
}

impl Replay {
    async fn step(&mut self, record: Record, rest: &mut VecDeque<Record>) -> Result<(), String> {
        match record {
            Record::GaveUp => Ok(()),
            Record::Raw(line) => {
                self.pipe.send(&line).await;
                Ok(())
            }
            Record::In(frame) => {
                let frame = self.rules.fill(&frame, |name| match name {
                    "<long text>" => "long ".repeat(LONG_TEXT_BYTES / 5),
                    _ => "1".into(),
                });
                self.pipe.send(&frame.to_string()).await;
                // The recording does not show how long a command had run when it was stopped.
                if frame["type"] == "bash" && matches!(rest.front(), Some(Record::In(_))) {
                    tokio::time::sleep(RUNS_FOR).await;
                }
                Ok(())
            }
            Record::Out(frame) if delta_of(&frame).is_some() => self.deltas(frame, rest).await,
            Record::Out(frame) => {
                let got = self.next().await?;
                self.compare(&frame, &got)
            }
        }
    }

    /// All deltas that follow each other here, as one.
    async fn deltas(&mut self, first: Value, rest: &mut VecDeque<Record>) -> Result<(), String> {
        let kind = |frame: &Value| {
            let event = &frame["assistantMessageEvent"];
            (event["type"].clone(), event["contentIndex"].clone())
        };
        let mut wanted = delta_of(&first).unwrap_or_default().to_owned();
        while let Some(Record::Out(next)) = rest.front()
            && kind(next) == kind(&first)
        {
            wanted.push_str(delta_of(next).unwrap_or_default());
            rest.pop_front();
        }
        let mut got = String::new();
        while got.len() < wanted.len() {
            let update = self.next().await?;
            let delta = delta_of(&update).filter(|_| kind(&update) == kind(&first));
            got.push_str(delta.ok_or_else(|| format!("no delta: {update}"))?);
            self.block.push_str(delta.unwrap_or_default());
            compare::check_update(&update, &self.block)?;
        }
        (got == wanted).then_some(()).ok_or_else(|| format!("{got:?} instead of {wanted:?}"))
    }

    fn compare(&mut self, expected: &Value, got: &Value) -> Result<(), String> {
        let told = |why: String| format!("{why}\n got      {}", Record::Out(got.clone()).shown());
        if expected["type"] != "message_update" {
            return self.rules.fits(expected, got).map_err(told);
        }
        // The living object is checked against the deltas, everything else against the recording.
        let event = |frame: &Value| {
            let mut event = frame["assistantMessageEvent"].clone();
            event.as_object_mut().map(|event| event.remove("partial"));
            event
        };
        self.rules.fits(&event(expected), &event(got)).map_err(told)?;
        if event(got)["type"].as_str().is_some_and(|kind| kind.ends_with("_start")) {
            self.block.clear();
            return Ok(());
        }
        compare::check_update(got, &self.block).map_err(told)
    }

    async fn next(&mut self) -> Result<Value, String> {
        self.said(PATIENCE).await.ok_or_else(|| "nothing came".to_owned())
    }

    /// The next line that a peer could have sent.
    async fn said(&mut self, patience: Duration) -> Option<Value> {
        let short = Duration::from_millis(1);
        let mut waited = Duration::ZERO;
        loop {
            while let Some(frame) = self.heard.pop_front() {
                let beside_omp = !self.rules.beside_pi;
                let ours = |kind: &str| OURS.contains(&kind) || (beside_omp && OURS_BESIDE_OMP.contains(&kind));
                if !frame["type"].as_str().is_some_and(ours) {
                    return Some(frame);
                }
            }
            if waited > patience {
                return None;
            }
            let lines = self.pipe.heard(short).await;
            waited += short;
            self.heard.extend(lines.iter().map(|line| serde_json::from_str(line).expect("every line is JSON")));
        }
    }
}

/// What a delta adds.
fn delta_of(frame: &Value) -> Option<&str> {
    let event = &frame["assistantMessageEvent"];
    event["type"].as_str().filter(|kind| kind.ends_with("_delta"))?;
    event["delta"].as_str()
}
