//! The recorded conversations of loaf are played against the real dialect, engine and tools. They live outside the
//! repository; where they are not, this test says so and passes.
//!
//! A line of the client is sent as soon as everything recorded before it has come. Everything is compared in order and to the
//! last member; [`FREE`] and [`OURS`] name the only exceptions, and the test fails when one of them is not needed.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use dialect_loaf::LoafOptions;
use serde_json::Value;
use testkit::pipe::Pipe;
use testkit::{Stage, StageOptions};
use vocab::{ModelInfo, Provider};

use crate::golden::paused;
use crate::loaf_stage;
use crate::loaf_user::LoafUser;
use crate::recordings::{Bindings, Recording, recordings};

/// How long a line may take to come; time is paused, so it takes none.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long nothing more may come at the end.
const QUIET: Duration = Duration::from_millis(500);
/// How long a line is waited for at once: less than any pause of a model in the recordings.
const STEP: Duration = Duration::from_millis(1);
/// The recorded model waits before its first word, ours between two.
const SLOW: (&str, &str) = ("slow 300 ", "pause 300 slow 300 ");
/// Left out of the recordings.
const UNRECORDED: &str = "session.context.estimate";
/// A response that may come earlier or later than the events around it: nothing orders it against them.
const FREE: &[(&str, &str)] = &[("04-busy-and-queue", "r3")];
/// Members that we have and the original has not: the holder, the member.
const OURS: &[(&str, &str)] = &[("result", "server_version"), ("executed", "callId")];
/// Values that are ours to word: member, what the recorded one begins with, what ours must hold.
const WORDED: &[(&str, &str, &str)] = &[("message", "parse error: ", "parse error: ")];

#[test]
fn the_recorded_conversations_hold() {
    let all = recordings("loaf");
    assert!(all.is_empty() || all.len() >= 6, "only {} recordings were found", all.len());
    let mut used = Used::default();
    let mut broken = Vec::new();
    for recording in &all {
        let held = paused(replay(recording, &mut used));
        broken.extend(held.err().map(|why| format!("{}: {why}", recording.name)));
    }
    assert!(broken.is_empty(), "{} of {} do not hold:\n{}", broken.len(), all.len(), broken.join("\n\n"));
    if !all.is_empty() {
        assert_eq!(used.ours, [true; OURS.len()], "a member of ours that nobody sends: {OURS:?}");
        assert_eq!(used.worded, [true; WORDED.len()], "an exception that nothing needs: {WORDED:?}");
    }
}

/// Which exceptions were needed.
#[derive(Default)]
struct Used {
    ours: [bool; OURS.len()],
    worded: [bool; WORDED.len()],
}

fn stage(user: &Arc<LoafUser>) -> (Stage, Arc<dyn Provider>) {
    let model = ModelInfo { provider: "openai".into(), ..tour::model("gpt-mock", 128_000) };
    let provider: Arc<dyn Provider> =
        Arc::new(tour::Tour::new(tour::TourOptions { models: vec![model], word_delay_ms: 0 }));
    let stage = Stage::new(StageOptions {
        provider: provider.clone(),
        model: "gpt-mock".into(),
        tune: Box::new(loaf_stage::settle),
        accounts: user.clone(),
        ..StageOptions::default()
    });
    stage.write("a.txt", "AAA\n");
    (stage, provider)
}

async fn replay(recording: &Recording, used: &mut Used) -> Result<(), String> {
    let user = Arc::new(LoafUser::default());
    let (stage, provider) = stage(&user);
    let options = LoafOptions {
        thinking: Some("OFF".into()),
        ids: Arc::new(loaf_stage::wire_ids()),
        ..loaf_stage::options(Some(provider.resolve("gpt-mock").expect("the model of the recordings")))
    };
    let pipe = loaf_stage::pipe(&stage, &user, options);
    let workspace = stage.workspace().display().to_string();
    let free = FREE.iter().filter(|(name, _)| *name == recording.name).map(|(_, id)| *id).collect();
    let mut replay = Replay { pipe, heard: VecDeque::new(), early: Vec::new(), free, rules: Rules::default() };
    let mut exit = None;
    for (number, line) in recording.text.lines().enumerate() {
        // The workspace is ours wherever it is named, also in the middle of a text.
        let line = line.replace("$WS", &workspace).replace("$HOME", "/people/u").replace(SLOW.0, SLOW.1);
        let record: Value = serde_json::from_str(&line).expect("a line of JSON");
        exit = record["exit"].as_u64().or(exit);
        let step = replay.step(&record, used).await;
        step.map_err(|why| format!("line {}: {why}\n recorded {line}", number + 1))?;
    }
    if let Some(more) = replay.next(QUIET).await.or(replay.early.pop()) {
        return Err(format!("more was said than recorded: {more}"));
    }
    replay.pipe.eof().await;
    while replay.next(QUIET).await.is_some() {}
    let ended = replay.pipe.ended().await.map(|ended| u64::from(ended.exit_code));
    (ended == Some(exit.unwrap_or(0))).then_some(()).ok_or_else(|| format!("exit code {ended:?}"))
}

struct Replay {
    pipe: Pipe,
    heard: VecDeque<Value>,
    /// Free responses that came before the recording names them.
    early: Vec<Value>,
    free: Vec<&'static str>,
    rules: Rules,
}

impl Replay {
    async fn step(&mut self, record: &Value, used: &mut Used) -> Result<(), String> {
        match (record["dir"].as_str(), record["raw"].as_str()) {
            (Some(">"), Some("<EOF>")) => self.pipe.eof().await,
            (Some(">"), Some(raw)) => self.pipe.send(raw).await,
            (Some(">"), None) => {
                let fill = |bound: &Bindings, word: &str| bound.get(word).cloned().unwrap_or_else(|| word.into());
                let message = self.rules.bound.fill(&record["msg"], &fill);
                self.pipe.send(&message.to_string()).await;
            }
            (Some("<"), _) => {
                let expected = &record["msg"];
                let got = self.expected(expected).await.ok_or("nothing came")?;
                let told = |why: String| format!("{why}\n got      {got}");
                self.rules.fits("", expected, &got, used).map_err(told)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// The line that stands here, or the free response that is expected here.
    async fn expected(&mut self, expected: &Value) -> Option<Value> {
        let is_free = |message: &Value| message["id"].as_str().is_some_and(|id| self.free.contains(&id));
        if !is_free(expected) {
            loop {
                let said = self.next(PATIENCE).await?;
                if !said["id"].as_str().is_some_and(|id| self.free.contains(&id)) {
                    return Some(said);
                }
                self.early.push(said);
            }
        }
        let mut events = VecDeque::new();
        let found = loop {
            if let Some(at) = self.early.iter().position(|early| early["id"] == expected["id"]) {
                break Some(self.early.remove(at));
            }
            match self.next(PATIENCE).await {
                Some(said) if said["id"] == expected["id"] => break Some(said),
                Some(other) => events.push_back(other),
                None => break None,
            }
        };
        events.append(&mut self.heard);
        self.heard = events;
        found
    }

    async fn next(&mut self, patience: Duration) -> Option<Value> {
        let mut waited = Duration::ZERO;
        loop {
            if let Some(said) = self.heard.pop_front() {
                return Some(said);
            }
            if waited > patience {
                return None;
            }
            let lines = self.pipe.heard(STEP).await;
            waited += STEP;
            let lines = lines.iter().map(|line| serde_json::from_str::<Value>(line).expect("every line is JSON"));
            self.heard.extend(lines.filter(|said| said["params"]["type"] != UNRECORDED));
        }
    }
}

/// When a line of ours means what the recorded one says.
#[derive(Default)]
struct Rules {
    bound: Bindings,
}

impl Rules {
    /// `within` is the member that holds the value.
    fn fits(&mut self, within: &str, expected: &Value, got: &Value, used: &mut Used) -> Result<(), String> {
        match expected {
            Value::String(word) if word.starts_with('$') => self.placeholder(word, got),
            Value::Object(members) => {
                let got = got.as_object().ok_or_else(|| format!("{within}: {got} is no object"))?;
                for (name, expected) in members {
                    let got = got.get(name).ok_or_else(|| format!("{name} is missing"))?;
                    // An id that the recorded model chose.
                    let fits = match name.as_str() {
                        "callId" => self.placeholder(&format!("$ID {expected}"), got),
                        _ => self.fits(name, expected, got, used),
                    };
                    fits.map_err(|why| format!("{name}: {why}"))?;
                }
                for name in got.keys().filter(|name| !members.contains_key(*name)) {
                    let at = OURS.iter().position(|(holder, member)| *holder == within && member == name);
                    used.ours[at.ok_or_else(|| format!("{name} is one member too many"))?] = true;
                }
                Ok(())
            }
            Value::Array(items) => {
                let got = got.as_array().filter(|got| got.len() == items.len());
                let got = got.ok_or_else(|| format!("{within}: not such a list"))?;
                items.iter().zip(got).try_for_each(|(expected, got)| self.fits(within, expected, got, used))
            }
            _ if expected == got => Ok(()),
            _ => {
                let (wanted, ours) = (expected.as_str().unwrap_or_default(), got.as_str().unwrap_or_default());
                let worded = WORDED.iter().position(|(member, begins, holds)| {
                    *member == within && wanted.starts_with(begins) && ours.contains(holds)
                });
                used.worded[worded.ok_or_else(|| format!("{got} instead of {expected}"))?] = true;
                Ok(())
            }
        }
    }

    fn placeholder(&mut self, word: &str, got: &Value) -> Result<(), String> {
        let fits = match word {
            "$ANY" => true,
            "$TIME" => got.as_str().is_some_and(is_time),
            "$NUM" | "$MS" => got.as_f64().is_some_and(|number| number >= 0.0),
            "$INT" => got.is_u64(),
            "$SNAPSHOT" => is_snapshot(got),
            _ => self.bound.is(word, got),
        };
        if fits { Ok(()) } else { Err(format!("{got} is no {word} ({:?})", self.bound.get(word))) }
    }
}

/// `2026-01-01T00:00:00.000Z`, to the letter.
fn is_time(text: &str) -> bool {
    const SHAPE: &str = "dddd-dd-ddTdd:dd:dd.dddZ";
    text.len() == SHAPE.len()
        && text
            .chars()
            .zip(SHAPE.chars())
            .all(|(got, want)| if want == 'd' { got.is_ascii_digit() } else { got == want })
}

fn is_snapshot(got: &Value) -> bool {
    let members =
        |value: &Value| value.as_object().map(|it| it.keys().cloned().collect::<Vec<_>>()).unwrap_or_default();
    let mut names = members(got);
    names.sort();
    names == ["auth", "model", "onboarding", "sessions", "skills"]
        && got["sessions"]["count"].as_u64() == got["sessions"]["ids"].as_array().map(|ids| ids.len() as u64)
        && got["auth"]["enabledProviders"].is_array()
        && got["onboarding"]["completed"].is_boolean()
        && got["model"]["selectedModel"].is_string()
        && got["skills"]["directories"].is_array()
}

#[test]
fn what_must_be_the_same_is_told_from_what_need_not() {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let mut used = Used::default();
    let mut rules = Rules::default();
    let mut check = |expected: &str, got: &str| rules.fits("", &read(expected), &read(got), &mut used).is_ok();
    assert!(check(r#"{"a":"$S1","n":"$INT"}"#, r#"{"a":"x","n":1}"#));
    assert!(!check(r#"{"a":"$S1"}"#, r#"{"a":"y"}"#), "the same name, another id");
    assert!(!check(r#"{"a":"$T1"}"#, r#"{"a":"x"}"#), "another name, the same id");
    assert!(!check(r#"{"a":1}"#, r#"{"a":1,"callId":2}"#), "only an executed call has one");
    assert!(check(r#"{"executed":{"a":1}}"#, r#"{"executed":{"a":1,"callId":2}}"#));
    assert!(check(r#"{"executed":[{"a":1}]}"#, r#"{"executed":[{"a":1,"callId":2}]}"#));
    assert!(!check(r#"{"a":1}"#, "{}"));
    assert!(!check(r#"{"message":"unknown"}"#, r#"{"message":"other"}"#));
    assert!(check(r#"{"message":"parse error: x"}"#, r#"{"message":"parse error: y"}"#));
    assert!(is_time("2026-01-01T00:00:00.000Z") && !is_time("2026-01-01T00:00:00Z"));
}
