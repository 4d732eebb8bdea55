//! The conversations of the protocol's reference that services answer, whole. They live outside the repository; where they are
//! not, this test says so and passes.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::play::{Play, paused};

const PLAYED: &[&str] = &["01", "08", "09", "10"];

#[test]
fn the_recorded_conversations_hold() {
    let place = "shared/spec/transcripts/gateway";
    let from = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Some(folder) = from.ancestors().map(|up| up.join(place)).find(|folder| folder.is_dir()) else {
        let _ = writeln!(std::io::stderr(), "SKIP: no recorded conversations beside the repository");
        return;
    };
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let name = |file: &Path| file.file_stem().unwrap().to_string_lossy().into_owned();
    let wanted: Vec<_> = files.iter().filter(|file| PLAYED.iter().any(|it| name(file).starts_with(it))).collect();
    assert_eq!(wanted.len(), PLAYED.len());
    for file in wanted {
        paused(replay(&name(file), &std::fs::read_to_string(file).unwrap()));
    }
}

async fn replay(name: &str, text: &str) {
    let mut play = Play::new();
    let mut connections: HashMap<String, (usize, Vec<Value>)> = HashMap::new();
    for (number, line) in text.lines().enumerate() {
        let place = format!("{name}:{}", number + 1);
        let record: Value = serde_json::from_str(&line.replace("${RUN}", "r1")).unwrap();
        let conn = record["conn"].as_str().unwrap_or_default().to_owned();
        match record["k"].as_str().unwrap() {
            "open" => drop(connections.insert(conn, (play.connect(), Vec::new()))),
            "send" => play.send(connections[&conn].0, &record["frame"]).await,
            "recv" => {
                let (at, kept) = connections.get_mut(&conn).unwrap();
                kept.extend(play.heard(*at, Duration::from_millis(50)).await);
                let of_id = kept.iter().position(|frame| frame["id"] == record["frame"]["id"]);
                let frame = kept.remove(of_id.unwrap_or_else(|| panic!("{place}: nothing came")));
                assert!(fits(&record["frame"], &frame), "{place}: {frame} is not {}", record["frame"]);
            }
            // The shelf counts milliseconds of the real clock.
            "wait" => std::thread::sleep(Duration::from_millis(record["ms"].as_u64().unwrap())),
            _ => {}
        }
    }
}

/// Objects have at least these members; everything else is the same, but for the operators.
fn fits(wanted: &Value, found: &Value) -> bool {
    match wanted {
        Value::Object(members) => match members.iter().next() {
            Some((operator, value)) if operator.starts_with('$') => match (operator.as_str(), value) {
                ("$type", Value::String(kind)) => match kind.as_str() {
                    "string" => found.is_string(),
                    "boolean" => found.is_boolean(),
                    "integer" => found.is_i64() || found.is_u64(),
                    _ => false,
                },
                ("$gte", least) => found.as_f64() >= least.as_f64() && found.is_number(),
                ("$re", Value::String(pattern)) => pattern
                    .strip_prefix('^')
                    .is_some_and(|start| found.as_str().is_some_and(|text| text.starts_with(start))),
                ("$has", Value::Array(all)) => {
                    let list = found.as_array().map_or(&[][..], Vec::as_slice);
                    all.iter().all(|one| list.iter().any(|it| fits(one, it)))
                }
                _ => false,
            },
            _ => members.iter().all(|(name, value)| found.get(name).is_some_and(|it| fits(value, it))),
        },
        Value::Array(all) => found
            .as_array()
            .is_some_and(|list| list.len() == all.len() && all.iter().zip(list).all(|(a, b)| fits(a, b))),
        plain => plain == found,
    }
}
