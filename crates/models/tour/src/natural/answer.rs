//! What the tour says about a tool result. Tools of other families format their output differently, so only what is
//! plain in the text is used; failures and refusals are reported as they are.

use vocab::CallEnd;

use super::intent::Intent;
use crate::memory::SeenResult;

/// Names an answer lists; the rest is counted.
const NAMES_SHOWN: usize = 10;
/// Lines of a command's output that an answer repeats.
const LINES_SHOWN: usize = 5;
/// Characters of a foreign text that an answer repeats.
const QUOTE_CHARS_MAX: usize = 300;

/// The answer to a prompt whose one tool call has this result.
pub(super) fn answer(intent: &Intent, result: &SeenResult) -> String {
    if let Some(trouble) = trouble(intent, result) {
        return trouble;
    }
    let text = result.text();
    match intent {
        Intent::Glob { what, .. } => found(&text, what),
        Intent::ListDir { path } => match names(&text).as_slice() {
            [] => format!("{path} is empty."),
            names => {
                format!("{path} has {}: {}.", count(names.len(), "entry", "entries"), join(names)) + &remarks(&text)
            }
        },
        Intent::Read { path } => describe_file(path, &text),
        Intent::Search { text: wanted, .. } => match names(&text).as_slice() {
            [] => format!("I found no match for \"{wanted}\"."),
            lines => {
                let shown = indented(&lines[..lines.len().min(NAMES_SHOWN)]);
                let lines = count(lines.len(), "line", "lines");
                format!("The search for \"{wanted}\" gave {lines}:\n{shown}") + &remarks(&text)
            }
        },
        Intent::Write { path, content } => {
            let lines = count(content.lines().count(), "line", "lines");
            format!("Done: {path} now holds {lines}.")
        }
        Intent::Replace { old, new, path } => format!("Done: \"{old}\" is now \"{new}\" in {path}."),
        Intent::Run { command } => describe_run(command, &text, "ended with exit 0"),
        // These call no single tool.
        Intent::Tour | Intent::Help | Intent::Greet => clip(&text),
    }
}

/// What to say when the call did not do what it was made for.
pub(super) fn trouble(intent: &Intent, result: &SeenResult) -> Option<String> {
    let text = result.text();
    let detail = clip(text.trim());
    let tool = &result.tool;
    match result.end {
        CallEnd::Denied if detail.is_empty() => Some("You said no; I left it alone.".to_owned()),
        CallEnd::Denied => Some(format!("You said no; I left it alone: {detail}")),
        CallEnd::Unknown => Some(format!("I asked for {tool}, but there is no such tool here: {detail}")),
        CallEnd::Invalid => Some(format!("{tool} did not accept my arguments: {detail}")),
        CallEnd::Interrupted => Some(format!("{tool} was interrupted before it was done.")),
        CallEnd::Skipped => Some(format!("{tool} was skipped; nothing was done.")),
        CallEnd::Lost => Some(format!("The result of {tool} was lost; it may or may not have done its work.")),
        CallEnd::Ran if !result.is_error => None,
        CallEnd::Ran => Some(match intent {
            Intent::Run { command } => describe_run(command, &text, "failed"),
            _ if detail.is_empty() => format!("That did not work: {tool} failed without saying why."),
            _ => format!("That did not work: {detail}"),
        }),
    }
}

/// The lines of a listing, without blank ones and without remarks such as `[12 more]` or `No files found`.
pub(super) fn names(text: &str) -> Vec<&str> {
    let lines = text.lines().map(str::trim_end).filter(|line| !line.trim().is_empty());
    lines.filter(|line| !is_remark(line)).collect()
}

fn is_remark(line: &str) -> bool {
    let lower = line.trim().to_ascii_lowercase();
    is_bracketed(line) || lower.starts_with("no files") || lower.starts_with("no match")
}

fn is_bracketed(line: &str) -> bool {
    let line = line.trim();
    (line.starts_with('[') && line.ends_with(']')) || (line.starts_with('(') && line.ends_with(')'))
}

/// What a tool said about a listing that it had to shorten; a count without it would be a lie.
fn remarks(text: &str) -> String {
    let remarks: Vec<&str> = text.lines().map(str::trim).filter(|line| is_bracketed(line)).collect();
    if remarks.is_empty() { String::new() } else { format!(" The tool adds: {}", clip(&remarks.join(" "))) }
}

pub(super) fn found(text: &str, what: &str) -> String {
    let names = names(text);
    match names.len() {
        0 => format!("I found no {what}."),
        len => format!("Found {}: {}.", in_words(len), join(&names)) + &remarks(text),
    }
}

pub(super) fn describe_file(path: &str, text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().map(unnumbered).collect();
    // Notes of the tool stand behind the text, and only in known words: a file may well end with a bracket.
    let mut notes = Vec::new();
    while let Some(note) = lines.pop_if(|line| is_file_note(line)) {
        notes.insert(0, note);
    }
    let filled = || lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
    let Some(first) = filled().next() else { return format!("{path} is empty.") };
    let number = count(lines.len(), "line", "lines");
    let has = if notes.is_empty() { format!("{path} has {number}") } else { format!("I saw {number} of {path}") };
    // In a shell script `# ...` is a comment, but as good a first thing to tell as any.
    let begin = match filled().find(|line| line.starts_with("# ")) {
        Some(heading) => format!("Its first heading is \"{}\".", clip(heading.trim_start_matches("# "))),
        None => format!("It begins with \"{}\".", clip(first)),
    };
    let adds = if notes.is_empty() { String::new() } else { format!(" The tool adds: {}", clip(&notes.join(" "))) };
    format!("{has}. {begin}{adds}")
}

fn is_file_note(line: &str) -> bool {
    line.ends_with(']') && ["[the file", "[lines ", "[line ", "[not valid"].iter().any(|start| line.starts_with(start))
}

/// A line without the number that some tools put before it: `12<tab>text`, `L12: text`, `12| text`.
fn unnumbered(line: &str) -> &str {
    let rest = line.trim_start();
    let rest = rest.strip_prefix('L').unwrap_or(rest);
    let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    if after.len() == rest.len() {
        return line;
    }
    for mark in ["\t", "\u{2192}", ": ", "| ", "|"] {
        if let Some(text) = after.strip_prefix(mark) {
            return text;
        }
    }
    if after == ":" { "" } else { line }
}

fn describe_run(command: &str, text: &str, otherwise: &str) -> String {
    let mut lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let tail = lines.len().saturating_sub(LINES_SHOWN);
    let exit = lines[tail..].iter().rposition(|line| exit_code(line).is_some()).map(|at| lines.remove(tail + at));
    let how = exit.and_then(exit_code).map_or_else(|| otherwise.to_owned(), |code| format!("ended with exit {code}"));
    let command = clip(command);
    match lines.len() {
        0 => format!("`{command}` {how} and printed nothing."),
        1 => format!("`{command}` {how}: {}", clip(lines[0].trim())),
        len => {
            let last = indented(&lines[len.saturating_sub(LINES_SHOWN)..]);
            format!("`{command}` {how}. Its last lines:\n{last}")
        }
    }
}

/// The number in a line that reports it: `exit code: 3`, `exited with code 3`, and in brackets also with more behind
/// it, `[exit 3 after 2 s]`.
fn exit_code(line: &str) -> Option<i32> {
    let bracketed = is_bracketed(line);
    let line = line.trim().trim_matches(['[', ']', '(', ')', '.']).to_ascii_lowercase();
    let words = ["exited with code", "exited with", "exit code", "exit status", "exit_code", "exit"];
    let rest = words.iter().find_map(|words| line.strip_prefix(words))?;
    let rest = rest.trim_start_matches([' ', ':', '=']);
    let number = if bracketed { rest.split([' ', ',', ';']).next()? } else { rest };
    number.parse().ok()
}

fn in_words(count: usize) -> String {
    const SMALL: [&str; 13] =
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    SMALL.get(count).map_or_else(|| count.to_string(), |word| (*word).to_owned())
}

fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// `a`, `a and b`, `a, b and c`, `a, b, ... and 13 more`.
fn join(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| clip(name.trim())).collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] if names.len() <= NAMES_SHOWN => format!("{} and {last}", most.join(", ")),
        _ => format!("{} and {} more", names[..NAMES_SHOWN].join(", "), names.len() - NAMES_SHOWN),
    }
}

fn indented(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("  {}", clip(line.trim_end()))).collect::<Vec<_>>().join("\n")
}

pub(super) fn clip(text: &str) -> String {
    match text.char_indices().nth(QUOTE_CHARS_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
