//! The recorded `serve` conversations that come with the protocol's reference are played against the real dialect, engine
//! and tools. They live outside the repository; where they are not, this test says so and passes.

use std::sync::Arc;
use std::time::Duration;

use dialect_serve::{Serve, ServeOptions};
use serde_json::Value;
use testkit::pipe::Pipe;
use testkit::{Stage, StageOptions};
use vocab::{Mode, ModelInfo, Provider};

use crate::golden::paused;
use crate::recordings::{Bindings, recordings};

const QUIET: Duration = Duration::from_millis(300);
/// The recording that was made with a real model; its replies are played from here.
const WITH_A_REAL_MODEL: &str = "00-seed-example";
const REAL_REPLIES: &str = r#"
delta "I'll glob " delta "for *.py." id call_1 call glob_search {"pattern":"**/*.py"} usage 400 20
reply
delta "Found two: a.py and b.py." usage 420 14
"#;

#[test]
fn the_recorded_conversations_hold() {
    for recording in recordings("serve") {
        paused(replay(&recording.name, &recording.text));
    }
}

fn provider(name: &str) -> Arc<dyn Provider> {
    if name != WITH_A_REAL_MODEL {
        let models = vec![tour::model("mock/alpha", 128_000), tour::model("mock/beta", 200_000)];
        return Arc::new(tour::Tour::new(tour::TourOptions { models, word_delay_ms: 0 }));
    }
    // A window so large that the example's few tokens do not show in `context_pct`.
    let model = tour::model("mock/alpha", 1_000_000);
    let script = tour::Script::parse(REAL_REPLIES).expect("a script");
    let plays = ModelInfo { slug: script.slug().into(), ..model.clone() };
    Arc::new(testkit::fakes::Renamed { inner: Arc::new(script), models: vec![model], plays })
}

async fn replay(name: &str, recording: &str) {
    let stage = Stage::new(StageOptions {
        provider: provider(name),
        model: "mock/alpha".into(),
        mode: Mode::Prompt,
        ..StageOptions::default()
    });
    stage.write("a.py", "");
    stage.write("b.py", "");
    let dialect = Box::new(Serve::new(ServeOptions { mode: Some(Mode::Prompt), ..ServeOptions::new("0.1.0") }));
    let mut pipe = Pipe::new(&stage.engine, dialect, host::PumpOptions::default());
    let mut heard: std::collections::VecDeque<String> = pipe.heard(QUIET).await.into();
    if !recording.contains("\"ready\"") {
        heard.pop_front();
    }
    let mut rules = Rules::default();
    let mut exit = None;
    for (number, line) in recording.lines().enumerate() {
        let place = format!("{name}:{}", number + 1);
        let record: Value = serde_json::from_str(line).unwrap_or_else(|why| panic!("{place}: {why}"));
        match record["dir"].as_str() {
            Some("<") => {
                let line = heard.pop_front().unwrap_or_else(|| panic!("{place}: nothing came, expected {line}"));
                let got: Value = serde_json::from_str(&line).unwrap_or_else(|why| panic!("{place}: {line}: {why}"));
                // Ids, tokens and durations of the real model's run are free; everything else is not.
                rules.literal_ids = name == WITH_A_REAL_MODEL;
                if let Err(why) = rules.fits(&record["msg"], &got) {
                    panic!("{place}: {why}\n expected {}\n got      {got}", record["msg"]);
                }
            }
            Some(">") => {
                assert!(heard.is_empty(), "{place}: said unasked: {heard:?}");
                match record["raw"].as_str() {
                    Some("<EOF>") => pipe.eof().await,
                    Some(raw) => pipe.send(raw).await,
                    None => pipe.send(&rules.fill(&record["msg"]).to_string()).await,
                }
                heard.extend(pipe.heard(QUIET).await);
            }
            _ => exit = record["exit"].as_u64().or(exit),
        }
    }
    assert!(heard.is_empty(), "{name}: more was said than recorded: {heard:?}");
    let ended = pipe.ended().await.map(|ended| u64::from(ended.exit_code));
    assert_eq!(ended, exit, "{name}: exit code");
}

/// When a line of ours means what the recorded one says.
#[derive(Default)]
struct Rules {
    bound: Bindings,
    literal_ids: bool,
}

impl Rules {
    fn fits(&mut self, expected: &Value, got: &Value) -> Result<(), String> {
        match expected {
            Value::String(word) if word.starts_with('$') => self.placeholder(word, got),
            Value::Object(members) => {
                let got = got.as_object().ok_or("not an object")?;
                let names = |it: &serde_json::Map<String, Value>| it.keys().cloned().collect::<Vec<_>>();
                if got.len() != members.len() {
                    return Err(format!("members {:?} instead of {:?}", names(got), names(members)));
                }
                for (name, expected) in members {
                    let got = got.get(name).ok_or_else(|| format!("{name} is missing"))?;
                    let free = self.literal_ids.then(|| free_kind(name)).flatten();
                    let fits = match free {
                        Some("$ID") => self.placeholder(&format!("$ID {expected}"), got),
                        Some(kind) => self.placeholder(kind, got),
                        None => self.fits(expected, got),
                    };
                    fits.map_err(|why| format!("{name}: {why}"))?;
                }
                Ok(())
            }
            Value::Array(items) => {
                let got = got.as_array().filter(|got| got.len() == items.len()).ok_or("not such a list")?;
                items.iter().zip(got).try_for_each(|(expected, got)| self.fits(expected, got))
            }
            _ if expected == got => Ok(()),
            _ => Err(format!("{got} instead of {expected}")),
        }
    }

    fn placeholder(&mut self, word: &str, got: &Value) -> Result<(), String> {
        let fits = match word {
            "$ANY" => true,
            "$NUM" => got.as_f64().is_some_and(|number| number >= 0.0),
            "$INT" => got.is_u64(),
            _ => self.bound.is(word, got),
        };
        if fits { Ok(()) } else { Err(format!("{got} is no {word} ({:?})", self.bound.get(word))) }
    }

    fn fill(&self, message: &Value) -> Value {
        self.bound.fill(message, &|bound, word| {
            let literal = format!("$ID {}", Value::from(word));
            bound.get(word).or_else(|| bound.get(&literal)).cloned().unwrap_or_else(|| word.into())
        })
    }
}

fn free_kind(member: &str) -> Option<&'static str> {
    match member {
        "turn_id" | "request_id" => Some("$ID"),
        "input_tokens" | "output_tokens" | "duration_s" => Some("$NUM"),
        _ => None,
    }
}

#[test]
fn a_placeholder_that_repeats_must_repeat() {
    let mut rules = Rules::default();
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(rules.fits(&read(r#"{"a":"$T1","n":"$NUM"}"#), &read(r#"{"a":"x","n":1.5}"#)), Ok(()));
    assert!(rules.fits(&read(r#"{"a":"$T1"}"#), &read(r#"{"a":"y"}"#)).is_err());
    assert!(rules.fits(&read(r#"{"a":"$T2"}"#), &read(r#"{"a":"x"}"#)).is_err(), "another name, the same id");
    assert!(rules.fits(&read(r#"{"a":1}"#), &read(r#"{"a":1,"b":2}"#)).is_err(), "one member too many");
    assert!(rules.fits(&read(r#"{"n":"$INT"}"#), &read(r#"{"n":1.5}"#)).is_err());
}
