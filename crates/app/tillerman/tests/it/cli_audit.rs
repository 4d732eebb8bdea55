//! `audit`: what it shows, page by page, and how the check says what it found.

use serde_json::Value;

use crate::cli::Place;

fn numbers(text: &str) -> Vec<u64> {
    let number = |line: &str| serde_json::from_str::<Value>(line).unwrap()["line"].as_u64().unwrap();
    text.lines().map(number).collect()
}

#[test]
fn older_lines_are_shown_page_by_page_and_too_many_at_once_are_refused() {
    let place = Place::new();
    for _ in 0..2 {
        place.run(&["run", "say hi"]).ok();
    }
    let all = numbers(&place.run(&["audit", "--json"]).ok());
    assert!(all.len() >= 4 && all.is_sorted(), "{all:?}");
    let newest = numbers(&place.run(&["audit", "--json", "-n", "2"]).ok());
    assert_eq!(newest, all[all.len() - 2..]);
    let before = newest[0].to_string();
    let older = numbers(&place.run(&["audit", "--json", "--before", &before, "-n", "10000"]).ok());
    assert_eq!(older, all[..all.len() - 2]);
    let ran = place.run(&["audit", "-n", "10001"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.err.contains("10001 is not in 0..=10000"), "{}", ran.err);
}

#[test]
fn a_client_is_called_what_it_said() {
    let place = Place::new();
    // Drives `tillerman acp`, whose client says its name.
    place.run(&["drive", "-p", "say hi"]).ok();
    let lines = place.run(&["audit", "--json"]).ok();
    assert!(lines.contains(r#""controller:tillerman""#) && !lines.contains("controller:acp"), "{lines}");
}

#[test]
fn the_check_says_by_its_code_whether_it_found_something_or_could_not_look() {
    let place = Place::new();
    place.run(&["run", "say hi"]).ok();
    let said = place.run(&["audit", "verify"]).ok();
    assert!(said.contains("none was changed"), "{said}");
    let ran = place.run(&["audit", "verify", "--head", "ab"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.err.starts_with("error: the audit has ") && ran.err.contains("hint: "), "{}", ran.err);
    let database = place.home().join("sessions.db");
    // Nobody has it open: all of it is in the one file.
    let mut bytes = std::fs::read(&database).unwrap();
    let line = br#""action":"prompt""#;
    let at = bytes.windows(line.len()).position(|part| part == line).expect("a line of the audit");
    bytes[at..at + line.len()].copy_from_slice(br#""action":"praise""#);
    std::fs::write(&database, &bytes).unwrap();
    let ran = place.run(&["audit", "verify"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    assert!(ran.err.starts_with("error: line 2 of the audit: "), "{}", ran.err);
    std::fs::write(&database, "this is no database, and long enough to be told from one".repeat(100)).unwrap();
    let ran = place.run(&["audit", "verify"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
}
