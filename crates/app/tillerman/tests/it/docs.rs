//! The conversations on the pages for authors of controllers are run, and must be what the pages say. `UPDATE_EXPECT=1`
//! rewrites them. The pages of `rpc`, `loaf` and `acp` also name every word of their schemas and the limits of their dialects.

use std::collections::BTreeSet;

use serde_json::Value;
use testkit::golden::Scene;

use crate::golden::{paused, repository, rpc, serve};
use crate::{acp_stage, loaf_stage};

const START: &str = "```talk\n";
const END: &str = "```";
/// Stands on a page for a piece of a line that says nothing new.
const LEFT_OUT: &str = "...";

/// One example, played. An example may leave `ready` out, pieces of lines, and lines.
fn fresh(scene: Scene, example: &str) -> String {
    // What is left out is made anew, so the player need not understand it.
    let played = paused(testkit::golden::play(scene, example));
    let shows_ready = example.lines().find(|line| line.starts_with('<')).is_some_and(|line| line.contains("\"ready\""));
    let keep = |line: &&str| shows_ready || !line.starts_with("< {\"type\":\"ready\"");
    let told: Vec<&str> = played.lines().filter(keep).filter(|line| !line.starts_with("exit ")).collect();
    let shown: Vec<&str> = example.lines().collect();
    let lines = if are_short_for(&shown, &told) { shown } else { told };
    lines.into_iter().map(|line| format!("{line}\n")).collect()
}

/// Whether lines are others with pieces left out. `< ...` stands for one or more that are heard.
fn are_short_for(shown: &[&str], told: &[&str]) -> bool {
    match (shown, told) {
        ([], []) => true,
        (["< ...", rest @ ..], _) => {
            let heard = told.iter().take_while(|line| line.starts_with("< ")).count();
            (1..=heard).any(|left_out| are_short_for(rest, &told[left_out..]))
        }
        ([shown, more @ ..], [told, others @ ..]) => is_short_for(shown, told) && are_short_for(more, others),
        _ => false,
    }
}

/// Whether a line is another with pieces left out.
fn is_short_for(short: &str, told: &str) -> bool {
    let mut pieces = short.split(LEFT_OUT);
    let first = pieces.next().expect("split yields at least one piece");
    let Some(mut rest) = told.strip_prefix(first) else { return false };
    let mut last = None;
    for piece in pieces {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
        last = Some(piece);
    }
    rest.is_empty() || last.is_some_and(|last| told.ends_with(last))
}

fn check(page: &str, examples_min: usize, scene: fn() -> Scene) {
    let path = repository().join("docs/dialects").join(page);
    let page = std::fs::read_to_string(&path).expect("the page");
    let mut examples = 0;
    let mut parts = page.split(START);
    let mut told = parts.next().expect("split yields at least one piece").to_owned();
    for part in parts {
        let (example, rest) = part.split_once(END).expect("a fence is closed");
        told.push_str(START);
        told.push_str(&fresh(scene(), example));
        told.push_str(END);
        told.push_str(rest);
        examples += 1;
    }
    assert!(examples >= examples_min, "{examples} examples");
    expect_test::expect_file![path].assert_eq(&told);
}

#[test]
fn the_examples_on_the_page_are_what_serve_says() {
    check("serve.md", 4, || Scene::new(serve));
}

#[test]
fn the_examples_on_the_page_are_what_rpc_says() {
    check("rpc.md", 8, || Scene::new(rpc));
}

#[test]
fn the_examples_on_the_page_are_what_loaf_says() {
    check("loaf.md", 6, loaf_stage::scene);
}

#[test]
fn the_examples_on_the_page_are_what_acp_says() {
    check("acp.md", 2, acp_stage::scene);
}

/// The first screen shows some of the lines, in their order.
fn check_readme(start: &str, scene: Scene) {
    let readme = std::fs::read_to_string(repository().join("README.md")).expect("the first page");
    let example = readme.split(&format!("$ {start}\n")).nth(1).expect("the example");
    let lines: Vec<&str> = example.lines().take_while(|line| !line.is_empty()).map(str::trim_start).collect();
    let story = format!("file src/main.rs fn main() {{}}\\n\n{}\n", lines.join("\n"));
    let played = paused(testkit::golden::play(scene, &story));
    let mut told = played.lines();
    for line in &lines {
        assert!(told.any(|told| is_short_for(line, told)), "{line}\nis not in\n{played}");
    }
    assert!(lines.len() > 5, "{lines:?}");
}

#[test]
fn the_readme_shows_what_rpc_says() {
    check_readme("tillerman --mode rpc --model tour", Scene::new(rpc));
}

#[test]
fn a_line_with_pieces_left_out_is_recognised() {
    assert!(is_short_for("a...c", "abc") && is_short_for("abc", "abc") && is_short_for("a...", "abc"));
    assert!(!is_short_for("a...d", "abc") && !is_short_for("ab", "abc") && !is_short_for("a...b", "abc"));
    let told = ["> x", "< a", "< b", "> y", "< c"];
    assert!(are_short_for(&["> x", "< ...", "> y", "< c"], &told));
    assert!(are_short_for(&["> x", "< ...", "< b", "> y", "< ..."], &told));
    assert!(!are_short_for(&["> x", "< ...", "< c"], &told) && !are_short_for(&["> x", "< a", "< b", "> y"], &told));
    assert!(is_short_for("a...b...", "axbyb") && is_short_for("a...b", "axbyb") && !is_short_for("...c...b", "abc"));
}

/// Members and fixed words of a definition, those of definitions inside it left to themselves.
fn words(rule: &Value, into: &mut BTreeSet<String>) {
    match rule {
        Value::Object(rule) => {
            for (word, rule) in rule {
                match (word.as_str(), rule) {
                    ("properties", Value::Object(members)) => {
                        into.extend(members.keys().cloned());
                        members.values().for_each(|member| words(member, into));
                    }
                    ("const", Value::String(word)) => drop(into.insert(word.clone())),
                    ("enum", Value::Array(list)) => into.extend(list.iter().filter_map(Value::as_str).map(Into::into)),
                    ("required" | "description", _) => {}
                    _ => words(rule, into),
                }
            }
        }
        Value::Array(list) => list.iter().for_each(|rule| words(rule, into)),
        _ => {}
    }
}

fn check_words(page: &str, schema: &str, words_min: usize) {
    let page = std::fs::read_to_string(repository().join("docs/dialects").join(page)).expect("the page");
    let schema: Value = serde_json::from_str(schema).expect("the schema");
    let mut known = BTreeSet::new();
    words(&schema["$defs"], &mut known);
    let is_named = |word: &&String| page.contains(&format!("`{word}`")) || page.contains(&format!("`{word}?`"));
    let missing: Vec<&String> = known.iter().filter(|word| !is_named(word)).collect();
    assert!(known.len() > words_min, "{} words", known.len());
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_page_names_every_word_of_the_schema_of_rpc() {
    check_words("rpc.md", dialect_rpc::schema(), 250);
}

#[test]
fn the_page_names_every_word_of_the_schema_of_loaf() {
    check_words("loaf.md", dialect_loaf::schema(), 250);
}

/// The value of `16 * 1024` and its like.
fn value(expression: &str) -> Option<u64> {
    let factors = expression.split('*').map(|factor| factor.trim().replace('_', "").parse::<u64>());
    factors.collect::<Result<Vec<_>, _>>().ok().map(|factors| factors.iter().product())
}

fn shown(value: u64, name: &str) -> String {
    match value {
        _ if !name.contains("BYTES") => value.to_string(),
        _ if value.is_multiple_of(1024 * 1024) => format!("{} MiB", value / 1024 / 1024),
        _ => format!("{} KiB", value / 1024),
    }
}

#[test]
fn the_page_names_every_limit_of_rpc() {
    check_limits("rpc.md", "rpc", 10);
}

#[test]
fn the_page_names_every_limit_of_loaf() {
    check_limits("loaf.md", "loaf", 10);
}

#[test]
fn the_page_names_every_limit_of_acp() {
    check_limits("acp.md", "acp", 4);
    let command = repository().join("crates/app/tillerman/src/cmd/acp.rs");
    let command = std::fs::read_to_string(command).expect("the command");
    assert!(command.contains("const LINE_BYTES_MAX: usize = 48 * 1024 * 1024;"), "the page says 48 MiB");
}

/// Every file below a folder.
fn sources(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the sources").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

fn check_limits(page: &str, dialect: &str, least: usize) {
    let page = std::fs::read_to_string(repository().join("docs/dialects").join(page)).expect("the page");
    let mut limits = 0;
    let mut files = sources(&repository().join("crates/dialects").join(dialect).join("src"));
    // What every dialect may owe answers for is bounded in one place.
    files.push(repository().join("crates/core/wire/src/pending.rs"));
    for path in files {
        let source = std::fs::read_to_string(&path).expect("a source file");
        // Limits of a whole file stand at its left edge.
        for line in source.lines() {
            let line = line.strip_prefix("pub(crate) ").or(line.strip_prefix("pub ")).unwrap_or(line);
            let Some((name, rest)) = line.strip_prefix("const ").and_then(|line| line.split_once(": ")) else {
                continue;
            };
            let value = rest.split_once(" = ").and_then(|(_, it)| value(it.trim_end_matches(';')));
            let (Some(value), true) = (value, name.ends_with("_MAX") || name.ends_with("_DEFAULT")) else { continue };
            let named = format!("`{name}`");
            let row = page.lines().find(|line| line.starts_with('|') && line.contains(&named));
            let row = row.unwrap_or_else(|| panic!("{name} of {} is not on the page", path.display()));
            assert!(row.contains(&shown(value, name)), "{name} is {value}: {row}");
            limits += 1;
        }
    }
    assert!(limits >= least, "{limits} limits");
}
