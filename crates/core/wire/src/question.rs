//! A permission question in words that any person can be shown, whatever the wire: everything that would run, with
//! nothing hidden in it and nothing cut without a word.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::Value;
use vocab::visible::{headline, visible, visible_line};
use vocab::{Fact, FactForm, Json, Missing, PermissionAsk};

/// What a person has to see: what the tool says of its call, or else the whole input; and its one line where that is too
/// long to be one.
pub fn facts(ask: &PermissionAsk) -> Cow<'_, [Fact]> {
    let mut facts = match &ask.preview {
        Some(facts) => Cow::Borrowed(&**facts),
        None => Cow::Owned(of_input(&ask.input)),
    };
    if headline(&ask.summary) != visible_line(ask.summary.trim()) {
        facts.to_mut().push(whole("in short", &ask.summary, FactForm::Line));
    }
    facts
}

/// What stands beside the facts and is not one of them: the call in one line, which says where an address leads and why a
/// file is protected, and why the mode does not cover it. For wires on which nothing else says so.
pub fn beside(ask: &PermissionAsk) -> Vec<Fact> {
    let mut facts = Vec::new();
    // Where the line is too long to be one, the facts have it whole.
    let short = visible_line(ask.summary.trim());
    if headline(&ask.summary) == short && !short.is_empty() {
        facts.push(whole("in short", ask.summary.trim(), FactForm::Line));
    }
    facts.extend(ask.reason.as_deref().map(|reason| whole("reason", reason, FactForm::Line)));
    facts
}

/// What an allow for the rest of the session covers, no more and no less. `tool`: as this wire calls it.
pub fn session_scope(ask: &PermissionAsk, tool: &str) -> String {
    match ask.required.is_remembered_per_call() {
        true => "exactly this call".to_owned(),
        false => format!("every {} that needs {}", visible_line(tool), ask.required.as_str()),
    }
}

/// An input, member by member and whole. Texts are texts, not JSON strings with `\n` in them.
pub fn of_input(input: &Json) -> Vec<Fact> {
    match serde_json::from_str(input.as_str()) {
        Ok(value) => of_value(&value),
        Err(_) => of_value(&Value::String(input.as_str().to_owned())),
    }
}

/// A fact without a bound: what it says is in memory anyway.
pub fn whole(label: &str, text: &str, form: FactForm) -> Fact {
    Fact { label: label.into(), text: text.into(), form, missing: Missing::default() }
}

/// As [`of_input`], of a value that was read already.
pub fn of_value(value: &Value) -> Vec<Fact> {
    let fact = |name: &str, value: &Value| match value {
        Value::String(text) if !text.contains('\n') => whole(name, text, FactForm::Line),
        Value::String(text) => whole(name, text, FactForm::Text),
        Value::Array(_) | Value::Object(_) => whole(name, &format!("{value:#}"), FactForm::Text),
        plain => whole(name, &plain.to_string(), FactForm::Line),
    };
    match value {
        Value::Null => Vec::new(),
        Value::Object(members) => members.iter().map(|(name, value)| fact(name, value)).collect(),
        other => vec![fact("arguments", other)],
    }
}

/// The lines of a fact, each with what stands in front of it that is not of the text: the sign of a diff's line.
pub fn lines_of(fact: &Fact) -> Vec<(&str, String)> {
    match fact.form {
        FactForm::Line => vec![("", visible_line(&fact.text))],
        FactForm::Text => shown_lines(&visible(&fact.text)),
        FactForm::Diff => fact.text.split_terminator('\n').map(diff_line).collect(),
    }
}

fn shown_lines(text: &str) -> Vec<(&'static str, String)> {
    text.split_terminator('\n').map(|line| ("", line.to_owned())).collect()
}

fn diff_line(line: &str) -> (&str, String) {
    let signed = line.starts_with(['+', '-', ' ']);
    let (sign, rest) = line.split_at(usize::from(signed));
    (sign, visible(rest))
}

/// `[12 lines, 340 bytes more are not shown here]`
pub fn left_out(missing: Missing) -> String {
    let plural = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    format!("[{}, {} more are not shown here]", plural(missing.lines, "line"), plural(missing.bytes, "byte"))
}

/// All facts as plain text of at most about `bytes_max` bytes; what does not fit, and what the facts themselves lack, is
/// counted at the end. Lines of a text are indented, so that none of them can pose as a fact.
pub fn text(facts: &[Fact], bytes_max: usize) -> String {
    let whole = written(facts, true);
    if whole.len() <= bytes_max {
        return whole;
    }
    cut(&written(facts, false), bytes_max, facts.iter().map(|fact| fact.missing))
}

/// Each fact, and behind it what it lacks.
fn written(facts: &[Fact], says_missing: bool) -> String {
    let mut whole = String::new();
    for fact in facts {
        let lines = lines_of(fact);
        let label = visible_line(&fact.label);
        match (fact.form, lines.as_slice()) {
            (FactForm::Line, [(_, line)]) => _ = writeln!(whole, "{label}: {line}"),
            _ => {
                let _ = writeln!(whole, "{label}:");
                for (sign, line) in &lines {
                    let _ = writeln!(whole, "  {sign}{line}");
                }
            }
        }
        if says_missing && !fact.is_whole() {
            let _ = writeln!(whole, "{}", left_out(fact.missing));
        }
    }
    whole.truncate(whole.trim_end_matches('\n').len());
    whole
}

/// The lines of one fact without its label, as [`text`] has them but for the indent.
pub fn body(fact: &Fact, bytes_max: usize) -> String {
    let lines: Vec<String> = lines_of(fact).into_iter().map(|(sign, line)| format!("{sign}{line}")).collect();
    let mut whole = lines.join("\n");
    if whole.len() > bytes_max {
        return cut(&whole, bytes_max, std::iter::once(fact.missing));
    }
    if !fact.is_whole() {
        whole.push_str(&format!("\n{}", left_out(fact.missing)));
    }
    whole
}

/// Cut at a line where that leaves more than it takes, else within one; and counted, with what was missing before.
fn cut(whole: &str, bytes_max: usize, missing: impl Iterator<Item = Missing>) -> String {
    let start = &whole[..whole.floor_char_boundary(bytes_max)];
    let at_line = start.rfind('\n').filter(|at| *at >= bytes_max / 2);
    let start = at_line.map_or(start, |at| &start[..=at]);
    let rest = &whole[start.len()..];
    let here = Missing { lines: rest.lines().count(), bytes: rest.len() };
    let all = missing.fold(here, |all, it| Missing { lines: all.lines + it.lines, bytes: all.bytes + it.bytes });
    format!("{start}{}{}", if start.ends_with('\n') { "" } else { "\n" }, left_out(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_shown_member_by_member() {
        let input = Json::trusted(r#"{"sql":"DROP\nTABLE x","limit":5,"deep":{"a":["b\u200b"]},"who":"me\u001b[2K"}"#);
        assert_eq!(
            text(&of_input(&input), 1000),
            "deep:\n  {\n    \"a\": [\n      \"b<U+200B>\"\n    ]\n  }\nlimit: 5\nsql:\n  DROP\n  TABLE x\nwho: me␛[2K"
        );
        assert_eq!(text(&of_input(&Json::trusted("not json")), 100), "arguments: not json");
        assert_eq!(text(&of_input(&Json::trusted("{}")), 100), "");
    }

    #[test]
    fn what_stands_beside_the_facts_is_said_once() {
        let ask = |summary: &str, required| PermissionAsk {
            call: vocab::CallId::from("c"),
            tool: "write_file".into(),
            input: Json::trusted("{}"),
            active: vocab::Mode::ReadOnly,
            required,
            reason: Some("requires more".into()),
            summary: summary.into(),
            preview: None,
            may_have_run: false,
        };
        let loopback = ask("GET http://127.0.0.1/ (loopback)", vocab::Required::DangerFullAccess);
        let said = text(&beside(&loopback), 1000);
        assert_eq!(said, "in short: GET http://127.0.0.1/ (loopback)\nreason: requires more");
        assert_eq!(session_scope(&loopback, "web_fetch"), "exactly this call");
        let long = ask(&"x".repeat(5000), vocab::Required::WorkspaceWrite);
        assert_eq!((beside(&long).len(), facts(&long).len()), (1, 1), "the facts have it");
        assert_eq!(session_scope(&long, "write_file"), "every write_file that needs workspace-write");
    }

    #[test]
    fn a_diff_keeps_its_signs_and_shows_what_is_in_its_lines() {
        let fact = Fact::diff("a\nb", &format!("@@ -1 +1 @@\n-x \n+x{}; evil\n \n", " ".repeat(500)));
        assert_eq!(text(&[fact], 1000), "a␊b:\n  @@ -1 +1 @@\n  -x·\n  +x<500 blanks>; evil\n   ");
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let script = Fact::text("command", &"echo 1\n".repeat(100));
        assert_eq!(
            text(std::slice::from_ref(&script), 29),
            "command:\n  echo 1\n  echo 1\n[98 lines, 881 bytes more are not shown here]"
        );
        assert_eq!(body(&script, 16), "echo 1\necho 1\n[98 lines, 685 bytes more are not shown here]");
        let line = text(&[Fact::line("url", &"x".repeat(100))], 25);
        assert_eq!(line, format!("url: {}\n[1 line, 80 bytes more are not shown here]", "x".repeat(20)));
        let long = text(&[Fact::text("command", &"x".repeat(100))], 40);
        assert_eq!(
            long,
            format!("command:\n  {}\n[1 line, 71 bytes more are not shown here]", "x".repeat(29)),
            "some of it"
        );
        let lacking = Fact { missing: Missing { lines: 5, bytes: 1000 }, ..script };
        let told = "[103 lines, 1881 bytes more are not shown here]";
        assert_eq!(text(std::slice::from_ref(&lacking), 29), format!("command:\n  echo 1\n  echo 1\n{told}"));
        assert_eq!(body(&lacking, 16), "echo 1\necho 1\n[103 lines, 1685 bytes more are not shown here]");
        let cut = Fact { missing: Missing { lines: 1, bytes: 9 }, ..Fact::line("a", "b") };
        assert_eq!(text(&[cut], 100), "a: b\n[1 line, 9 bytes more are not shown here]");
    }
}
