//! The words of a checkpoint. Pure: the same log gives the same text.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use dialect_gateway::services::memory::CHECKPOINT_BYTES_MAX;
use vocab::{Block, Body, CallEntry, Entry, Keyring, Part, SettingEntry, Summary, TodoPhase, TodoStatus, UserFrom};

/// Characters of a message of the user's; the rest is in the log.
const MESSAGE_CHARS_MAX: usize = 1_500;
/// Characters of the model's last answer.
const ANSWER_CHARS_MAX: usize = 2_000;
/// Tasks that are listed; the rest is counted.
const TASKS_MAX: usize = 40;
/// Files that are listed; the rest is counted.
const FILES_MAX: usize = 60;
/// Characters of a task, of the name of a file, or of a title.
const LINE_CHARS_MAX: usize = 100;

/// So much of the beginning of a key, at the end of a text that somebody has cut, is taken for one.
const KEY_CHARS_MIN: usize = 6;

/// Of a session with these totals. `first`: its first message. `lived`: what is known of the conversation, oldest first. It is
/// there to be taken elsewhere: a key that somebody wrote into a message does not go with it, nor a part of one, so they are
/// looked for before anything is cut.
pub(super) fn of(summary: &Summary, first: Option<&Entry>, lived: &[&Arc<Entry>], keys: &Keyring) -> String {
    let line = |text: &str| line(text, keys);
    let cut = |text: &str, most: usize| cut(&scrubbed(text, keys), most);
    let title = summary.title.as_deref().or(summary.preview.as_deref()).unwrap_or(summary.id.as_str());
    let mut text = format!("# {}\n\nSession {}, entry {}.\n", line(title), summary.id, summary.last_seq);
    let first = first.and_then(said);
    let last = lived.iter().rev().find_map(|entry| said(entry));
    if let Some(first) = &first {
        section("Goal", &cut(first, MESSAGE_CHARS_MAX), &mut text);
    }
    if let Some(last) = last.filter(|last| Some(last) != first.as_ref()) {
        section("Last message", &cut(&last, MESSAGE_CHARS_MAX), &mut text);
    }
    let todos = lived.iter().rev().find_map(|entry| match &entry.body {
        Body::Setting(SettingEntry::Todos { phases }) => Some(phases.as_slice()),
        _ => None,
    });
    list("Open tasks", open_tasks(todos.unwrap_or_default(), line), TASKS_MAX, &mut text);
    list("Files changed", files(lived).into_iter().map(line).collect(), FILES_MAX, &mut text);
    if let Some(answer) = lived.iter().rev().find_map(|entry| answered(entry)) {
        section("Last answer", &cut(&answer, ANSWER_CHARS_MAX), &mut text);
    }
    // The bounds of the parts leave it shorter; whatever becomes of them, it is not longer than clients are told.
    text.truncate(text.floor_char_boundary(CHECKPOINT_BYTES_MAX));
    text
}

fn section(name: &str, body: &str, text: &mut String) {
    text.push_str(&format!("\n## {name}\n\n{body}\n"));
}

fn list(name: &str, lines: Vec<String>, most: usize, text: &mut String) {
    if lines.is_empty() {
        return;
    }
    let mut body: Vec<String> = lines.iter().take(most).map(|it| format!("- {it}")).collect();
    if lines.len() > most {
        body.push(format!("- and {} more", lines.len() - most));
    }
    section(name, &body.join("\n"), text);
}

/// What a person wrote; what we or programs put into the conversation is not the goal.
fn said(entry: &Entry) -> Option<String> {
    let Body::User { parts, from: UserFrom::Prompt | UserFrom::Steer | UserFrom::FollowUp, .. } = &entry.body else {
        return None;
    };
    let texts: Vec<&str> = parts.iter().filter_map(text_of).collect();
    Some(texts.concat()).filter(|text| !text.trim().is_empty())
}

fn text_of(part: &Part) -> Option<&str> {
    match part {
        Part::Text(text) => Some(text),
        Part::Image(_) => None,
    }
}

fn answered(entry: &Entry) -> Option<String> {
    let Body::Assistant { message, .. } = &entry.body else { return None };
    let texts = message.blocks.iter().filter_map(|block| match block {
        Block::Text(text) => Some(&**text),
        _ => None,
    });
    Some(texts.collect::<Vec<_>>().join("\n\n")).filter(|text| !text.trim().is_empty())
}

fn open_tasks(phases: &[TodoPhase], line: impl Fn(&str) -> String) -> Vec<String> {
    let open = |status| matches!(status, TodoStatus::Pending | TodoStatus::InProgress);
    let mark = |status| if status == TodoStatus::InProgress { " (in progress)" } else { "" };
    let tasks = phases.iter().flat_map(|phase| &phase.tasks).filter(|task| open(task.status));
    tasks.map(|task| format!("{}{}", line(&task.content), mark(task.status))).collect()
}

fn files<'a>(lived: &[&'a Arc<Entry>]) -> BTreeSet<&'a str> {
    let edits = lived.iter().filter_map(|entry| match &entry.body {
        Body::Call(CallEntry::Ended { result, .. }) => Some(&result.edits),
        _ => None,
    });
    edits.flatten().map(|edit| &*edit.path).collect()
}

fn line(text: &str, keys: &Keyring) -> String {
    let text: String = scrubbed(text, keys).chars().take(LINE_CHARS_MAX + 1).collect();
    cut(&vocab::visible::visible_line(&text), LINE_CHARS_MAX)
}

/// Without the keys in it. What we are given may have been cut already, as the beginning of a first message was.
fn scrubbed<'a>(text: &'a str, keys: &Keyring) -> Cow<'a, str> {
    let (whole, begun) = (keys.scrub(text), keys.scrub_growing(text));
    if whole.len() - begun.len() >= KEY_CHARS_MIN { Cow::Owned(begun.into_owned()) } else { whole }
}

fn cut(text: &str, most: usize) -> String {
    let text = text.trim();
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use vocab::{
        AssistantMessage, CallEnd, CallResult, FileEdit, Finish, MessageEnd, Mode, NewSession, Snapshot, TodoTask,
        Usage,
    };

    use super::*;

    fn entry(seq: u64, body: Body) -> Arc<Entry> {
        Arc::new(Entry { seq, parent: seq - 1, at_ms: 0, body, by: None })
    }
    fn user(seq: u64, text: &str, from: UserFrom) -> Arc<Entry> {
        entry(seq, Body::User { turn: None, parts: vec![Part::text(text)], from })
    }
    fn answer(seq: u64, text: &str) -> Arc<Entry> {
        let (blocks, end) = (vec![Block::Text(text.into())], MessageEnd::Finished(Finish::Stop));
        let message = AssistantMessage { blocks, model: "m".into(), end, usage: Usage::default() };
        entry(seq, Body::Assistant { turn: None, message })
    }
    fn changed(seq: u64, paths: &[&str]) -> Arc<Entry> {
        let edit = |path: &&str| FileEdit { path: (*path).into(), before: Snapshot::Absent, after: Snapshot::Absent };
        let result = CallResult {
            call: "c".into(),
            tool: "edit_file".into(),
            end: CallEnd::Ran,
            parts: Vec::new(),
            is_error: false,
            duration_ms: 0,
            mutation: None,
            edits: paths.iter().map(edit).collect(),
            details: None,
        };
        entry(seq, Body::Call(CallEntry::Ended { turn: "t".into(), result }))
    }
    fn todos(seq: u64, tasks: &[(&str, TodoStatus)]) -> Arc<Entry> {
        let task = |(content, status): &(&str, TodoStatus)| TodoTask {
            id: "x".into(),
            content: (*content).into(),
            status: *status,
            notes: None,
        };
        let phase = TodoPhase { id: "p".into(), name: "P".into(), tasks: tasks.iter().map(task).collect() };
        entry(seq, Body::Setting(SettingEntry::Todos { phases: vec![phase] }))
    }
    fn shown(title: Option<&str>, entries: &[Arc<Entry>]) -> String {
        let new = NewSession {
            id: "ws:a".into(),
            workspace: "/w".into(),
            model: "m".into(),
            mode: Mode::Prompt,
            at_ms: 0,
            parent: None,
        };
        let mut summary = store::summary::blank(&new);
        entries.iter().for_each(|entry| store::summary::fold(&mut summary, entry));
        summary.title = title.map(Into::into);
        let first = entries.iter().find(|entry| matches!(entry.body, Body::User { .. }));
        of(&summary, first.map(|entry| &**entry), &entries.iter().collect::<Vec<_>>(), &Keyring::default())
    }

    #[test]
    fn it_has_the_goal_the_open_tasks_the_files_and_the_last_words() {
        let entries = [
            user(1, "Fix the parser.\nIt fails on tabs.", UserFrom::Prompt),
            todos(2, &[("old", TodoStatus::Pending)]),
            changed(3, &["src/b.rs", "src/a.rs"]),
            answer(4, "Looking."),
            todos(
                5,
                &[
                    ("read", TodoStatus::Completed),
                    ("write a test", TodoStatus::InProgress),
                    ("mend it", TodoStatus::Pending),
                    ("dance", TodoStatus::Abandoned),
                ],
            ),
            changed(6, &["src/a.rs"]),
            user(7, "And the lexer?", UserFrom::Steer),
            answer(8, "The lexer is fine."),
            user(9, "Tasks are left.", UserFrom::Reminder),
            answer(10, "  "),
        ];
        expect![[r"
            # Parser

            Session ws:a, entry 10.

            ## Goal

            Fix the parser.
            It fails on tabs.

            ## Last message

            And the lexer?

            ## Open tasks

            - write a test (in progress)
            - mend it

            ## Files changed

            - src/a.rs
            - src/b.rs

            ## Last answer

            The lexer is fine.
        "]]
        .assert_eq(&shown(Some("Parser"), &entries));
    }

    #[test]
    fn it_says_nothing_of_what_is_not_there_and_has_a_bound() {
        let little = shown(None, &[user(1, "hello", UserFrom::Prompt)]);
        assert_eq!(little, "# hello\n\nSession ws:a, entry 1.\n\n## Goal\n\nhello\n");
        let long = "😀".repeat(20_000);
        let names: Vec<String> = (0..500).map(|n| format!("{n:03}{long}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let tasks: Vec<(&str, TodoStatus)> = names.iter().map(|name| (*name, TodoStatus::Pending)).collect();
        let entries = [
            user(1, &long, UserFrom::Prompt),
            changed(2, &names),
            todos(3, &tasks),
            user(4, &format!("x{long}"), UserFrom::Prompt),
            answer(5, &long),
        ];
        let text = shown(Some(&long), &entries);
        assert!(text.len() <= CHECKPOINT_BYTES_MAX, "{} bytes", text.len());
        assert!(text.contains("- and 440 more") && text.contains("- and 460 more"), "what is left out is counted");
        assert_eq!(text, shown(Some(&long), &entries), "the same log gives the same text");
    }
}
