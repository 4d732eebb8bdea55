//! The conversations that come with the protocol's reference, played against the dialect and the engine. They live outside the
//! repository; where they are not, this test says so and passes. What a service beside the engine answers is passed over.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use dialect_gateway::METHODS;
use serde_json::Value;

use crate::play::{Play, paused};

/// What services answer, of which there are none here.
const BESIDE: &[&str] = &["system.info", "sessions.list", "sessions.get"];
/// Those that need no server.
const PLAYED: &[&str] = &["02", "04", "05", "06", "07", "08", "11"];

#[test]
fn the_recorded_conversations_hold() {
    let from = Path::new(env!("CARGO_MANIFEST_DIR"));
    let place = "shared/spec/transcripts/gateway";
    let Some(folder) = from.ancestors().map(|up| up.join(place)).find(|folder| folder.is_dir()) else {
        let _ = writeln!(std::io::stderr(), "SKIP: no recorded conversations beside the repository");
        return;
    };
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut played = 0;
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        if PLAYED.iter().any(|number| name.starts_with(number)) {
            played += 1;
            paused(replay(&name, &std::fs::read_to_string(&file).unwrap()));
        }
    }
    assert_eq!(played, PLAYED.len());
}

async fn replay(name: &str, text: &str) {
    let mut play = Play::new(|_| {});
    let at = play.connect();
    let mut heard: Vec<Value> = Vec::new();
    let mut captured: HashMap<String, Value> = HashMap::new();
    let mut passed_over: Vec<Value> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let place = format!("{name}:{}", number + 1);
        let record: Value = serde_json::from_str(&line.replace("${RUN}", "r1")).unwrap();
        match record["k"].as_str().unwrap() {
            "note" | "open" => {}
            "wait" => heard.extend(play.heard_for(at, Duration::from_millis(record["ms"].as_u64().unwrap())).await),
            "send" => {
                let frame = &record["frame"];
                let method = frame["method"].as_str();
                if let Some(method) = method
                    && method != "no.such"
                    && (BESIDE.contains(&method) || !METHODS.iter().any(|row| row.name == method))
                {
                    passed_over.push(frame["id"].clone());
                    continue;
                }
                let raw = record["raw"].as_str().map_or_else(|| frame.to_string(), str::to_owned);
                play.say(at, &raw).await;
                // A model that hangs says nothing; one that is slow is waited for only as long as frames are wanted.
                heard.extend(play.heard_for(at, Duration::from_millis(30)).await);
            }
            kind @ ("recv" | "recv_some") => {
                let expected = &record["frame"];
                if passed_over.contains(&expected["id"]) {
                    continue;
                }
                let mut taken = 0;
                loop {
                    let of_id = heard.iter().position(|frame| frame["id"] == expected["id"]);
                    let Some(found) = of_id else {
                        let more = play.heard_for(at, Duration::from_millis(500)).await;
                        if more.is_empty() {
                            break;
                        }
                        heard.extend(more);
                        continue;
                    };
                    match fits(expected, &heard[found], &mut captured) {
                        Ok(()) => {
                            heard.remove(found);
                            taken += 1;
                        }
                        Err(why) if taken == 0 => {
                            panic!("{place}: {why}\n expected {expected}\n got      {}", heard[found]);
                        }
                        Err(_) => break,
                    }
                    if kind == "recv" {
                        break;
                    }
                }
                assert!(taken > 0, "{place}: nothing came, expected {expected}; heard {heard:?}");
            }
            other => panic!("{place}: what is `{other}`?"),
        }
    }
    heard.retain(|frame| !passed_over.contains(&frame["id"]));
    assert!(heard.is_empty(), "{name}: more was said: {heard:?}");
}

/// Objects are subsets, scalars and arrays exact, and there are operators.
fn fits(expected: &Value, got: &Value, captured: &mut HashMap<String, Value>) -> Result<(), String> {
    let is = |fits: bool| if fits { Ok(()) } else { Err(format!("{got} instead of {expected}")) };
    match expected {
        Value::Object(members) if members.len() == 1 && members.keys().all(|name| name.starts_with('$')) => {
            let (operator, wanted) = members.iter().next().unwrap();
            match operator.as_str() {
                "$type" => is(match wanted.as_str().unwrap() {
                    "string" => got.is_string(),
                    "integer" => got.is_i64() || got.is_u64(),
                    other => panic!("type {other}"),
                }),
                "$capture" => {
                    captured.insert(wanted.as_str().unwrap().to_owned(), got.clone());
                    Ok(())
                }
                "$ref" => is(captured.get(wanted.as_str().unwrap()) == Some(got)),
                other => panic!("operator {other}"),
            }
        }
        Value::Object(members) => members.iter().try_for_each(|(name, expected)| {
            let got = got.get(name).ok_or_else(|| format!("{name} is missing"))?;
            fits(expected, got, captured).map_err(|why| format!("{name}: {why}"))
        }),
        _ => is(expected == got),
    }
}
