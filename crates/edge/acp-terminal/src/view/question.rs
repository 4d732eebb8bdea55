//! What an agent wants to do, as a person has to see it: all that the request says of the call, and what each answer means.

use acp_types::{PermissionOption, PermissionOptionKind, ToolCall, ToolCallContent};
use serde_json::Value;
use unicode_width::UnicodeWidthStr;
use vocab::visible::{headline, visible_line};
use vocab::{Fact, FactForm};
use wire::question::{of_value, whole};

use super::DiffText;
use dialect_terminal::ScreenSize;

/// Of a screen, the part that options may take before they are cut.
const OPTIONS_SHARE: usize = 2;
/// Options that are listed at once however small the screen is.
const OPTIONS_MIN: usize = 3;

/// How far an answer reaches that lasts.
pub(super) const ALWAYS: &str =
    "  How far \"always\" goes, and for how long, is up to the agent; nothing is remembered here.";
/// What becomes of words behind a no: an answer has no room for them.
pub(super) const REASON: &str =
    "  Words behind a no (`n use sed instead`) are sent as the next prompt, when this turn has ended.";

/// Shorter texts are shown again: they could stand in another one by chance, or by design.
const SAID_BYTES_MIN: usize = 40;

/// Everything a request says. What its content has shown word for word is not shown again as input.
pub(super) fn facts(call: &ToolCall, diff: DiffText) -> Vec<Fact> {
    let mut facts = Vec::new();
    let title = call.title.as_deref().unwrap_or_default();
    if headline(title) != visible_line(title) {
        facts.push(whole("title", title, FactForm::Text));
    }
    facts.extend(call.kind.as_ref().map(|kind| whole("kind", kind.as_str(), FactForm::Line)));
    let mut said: Vec<&str> = Vec::new();
    let content = call.content.iter().flatten();
    let texts: Vec<String> = content.clone().filter_map(text_of).collect();
    said.extend(texts.iter().map(String::as_str));
    for content in content {
        match content {
            ToolCallContent::Diff { path, old_text, new_text, .. } => {
                // Of a file that was there, a diff shows the changes only.
                if old_text.is_none() {
                    said.push(new_text);
                }
                let hunks = diff(old_text.as_deref().unwrap_or_default(), new_text);
                let file = if old_text.is_some() { path.clone() } else { format!("{path} (new)") };
                facts.push(whole(&file, &hunks, FactForm::Diff));
            }
            ToolCallContent::Terminal { terminal_id, .. } => facts.push(whole("terminal", terminal_id, FactForm::Line)),
            other => facts.extend(text_of(other).map(|text| whole("content", &text, FactForm::Text))),
        }
    }
    let is_said = |fact: &Fact| fact.text.len() >= SAID_BYTES_MIN && said.iter().any(|text| text.contains(&*fact.text));
    let is_news = |fact: &Fact| !is_said(fact);
    facts.extend(call.raw_input.iter().flat_map(of_value).filter(is_news));
    for location in call.locations.iter().flatten() {
        let place = match location.line {
            Some(line) => format!("{}:{line}", location.path),
            None => location.path.clone(),
        };
        if !facts.iter().any(|fact| fact.label.contains(&location.path) || fact.text.contains(&location.path)) {
            facts.push(whole("at", &place, FactForm::Line));
        }
    }
    facts
}

fn text_of(content: &ToolCallContent) -> Option<String> {
    match content {
        ToolCallContent::Content { content, .. } => Some(content.shown()),
        ToolCallContent::Unknown(value) => Some(value_text(value)),
        ToolCallContent::Diff { .. } | ToolCallContent::Terminal { .. } => None,
    }
}

fn value_text(value: &Value) -> String {
    format!("{value:#}")
}

/// `1. Deny [allow always]`: an option is what its kind says, whatever it is called.
pub(super) fn options(options: &[PermissionOption]) -> Vec<String> {
    let line = |(at, option): (usize, &PermissionOption)| {
        let name = if option.name.is_empty() { &option.option_id } else { &option.name };
        format!("  {}. {} [{}]", at + 1, headline(name), meaning(option))
    };
    options.iter().enumerate().map(line).collect()
}

/// Options that leave room for the question itself: the first of them and the last, and whether some are left out.
pub(super) fn fitting(mut options: Vec<String>, size: Option<ScreenSize>) -> (Vec<String>, bool) {
    let Some(size) = size else { return (options, false) };
    let rows = |line: &String| line.width().div_ceil(size.cols.max(1)).max(1);
    let mut room = size.rows / OPTIONS_SHARE;
    if options.iter().map(rows).sum::<usize>() <= room {
        return (options, false);
    }
    // The last one, and the line that counts.
    room = room.saturating_sub(options.last().map_or(0, rows) + 1);
    let fits = |line: &&String| {
        let left = room.checked_sub(rows(line));
        room = left.unwrap_or(0);
        left.is_some()
    };
    let first = options.iter().take_while(fits).count().max(OPTIONS_MIN - 1);
    if first + 1 >= options.len() {
        return (options, false);
    }
    let hidden = options.len() - first - 1;
    options.splice(first..options.len() - 1, [format!("  … {hidden} more: type ? to see them")]);
    (options, true)
}

fn meaning(option: &PermissionOption) -> String {
    match &option.kind {
        Some(PermissionOptionKind::AllowOnce) => "allow once".into(),
        Some(PermissionOptionKind::AllowAlways) => "allow always".into(),
        Some(PermissionOptionKind::RejectOnce) => "deny once".into(),
        Some(PermissionOptionKind::RejectAlways) => "deny always".into(),
        Some(PermissionOptionKind::Unknown(word)) => headline(&format!("unknown kind: {word}")),
        None => "the agent does not say what it means".into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wire::question::text;

    use super::*;

    fn shown(call: Value) -> String {
        text(&facts(&serde_json::from_value(call).unwrap(), |old, new| builtin_tools::hunks(old, new).text), 10_000)
    }

    #[test]
    fn a_request_is_shown_whole_and_each_thing_once() {
        let script = "ls\nrm -rf /this/and/that /and/everything/else";
        let call = json!({
            "toolCallId": "c", "title": "bash: ls", "kind": "execute",
            "content": [{ "type": "content", "content": { "type": "text", "text": script } }],
            "rawInput": { "command": script, "short": "ls", "cwd": "/etc\u{1b}", "deep": { "a": [1] } },
            "locations": [{ "path": "/etc", "line": 3 }, { "path": "/x", "line": 4 }],
        });
        assert_eq!(
            shown(call),
            format!(
                "kind: execute\ncontent:\n  {}\ncwd: /etc␛\ndeep:\n  {{\n    \"a\": [\n      1\n    ]\n  }}\nshort: ls\nat: /x:4",
                script.replace('\n', "\n  ")
            )
        );
    }

    #[test]
    fn a_diff_is_shown_to_its_last_column() {
        let new = format!("x = 1{}; evil()\n", " ".repeat(500));
        let content = json!([{ "type": "diff", "path": "/w/a.py", "oldText": "x = 1\n", "newText": new }]);
        let call = json!({ "toolCallId": "c", "title": "edit", "content": content });
        assert_eq!(shown(call), "/w/a.py:\n  @@ -1 +1 @@\n  -x = 1\n  +x = 1<500 blanks>; evil()");
    }

    #[test]
    fn a_long_title_is_whole_somewhere() {
        let title = format!("cargo test{}; rm -rf /", "x".repeat(300));
        assert!(shown(json!({ "toolCallId": "c", "title": title })).contains("; rm -rf /"));
    }

    #[test]
    fn an_option_is_what_its_kind_says() {
        let all: Vec<PermissionOption> = serde_json::from_value(json!([
            { "optionId": "a", "name": "Deny", "kind": "allow_always" },
            { "optionId": "b", "name": "Allow\u{1b}[2K\nonce", "kind": "reject_once" },
            { "optionId": "deny", "kind": "sometimes" },
            { "optionId": "x", "name": "Maybe" },
        ]))
        .unwrap();
        assert_eq!(
            options(&all),
            [
                "  1. Deny [allow always]",
                "  2. Allow␛[2K␊once [deny once]",
                "  3. deny [unknown kind: sometimes]",
                "  4. Maybe [the agent does not say what it means]",
            ]
        );
    }

    #[test]
    fn many_options_leave_room_for_the_question() {
        let all = || (1..=60).map(|n| format!("  {n}. Option")).collect::<Vec<String>>();
        let (shown, hidden) = fitting(all(), Some(ScreenSize { cols: 80, rows: 24 }));
        assert_eq!((shown.len(), hidden), (12, true));
        assert_eq!(shown[9..], ["  10. Option", "  … 49 more: type ? to see them", "  60. Option"]);
        assert_eq!(fitting(all(), None), (all(), false));
        assert_eq!(fitting(all(), Some(ScreenSize { cols: 80, rows: 120 })), (all(), false));
        let few = all()[..3].to_vec();
        assert_eq!(fitting(few.clone(), Some(ScreenSize { cols: 5, rows: 5 })), (few, false));
    }
}
