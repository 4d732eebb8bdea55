//! Tool calls as clients show them: a kind for the icon, a title, the files it is about, what it changed.

use std::path::Path;

use acp_types::{ContentBlock, SessionUpdate, ToolCall, ToolCallContent, ToolCallStatus, ToolKind};
use serde_json::{Map, Value};
use vocab::{Call, CallResult, FileEdit, Snapshot, TurnId, names};

use crate::content::{self, fenced};
use crate::session_view::call_id;
use crate::titles;

/// Output that one update carries; of more the end is shown. Both texts of a diff together; of more only the changed lines.
pub(crate) const OUTPUT_BYTES_MAX: usize = 256 * 1024;
/// All diffs of one update together: clients take lines of up to 32 MiB. The files behind that are named.
const DIFFS_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Lines around a change that are shown with it where the whole file is too much.
const LINES_AROUND: usize = 3;

/// What a client makes of what it is told about calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum CallStyle {
    /// Texts are Markdown, a title is shown as it is, and raw output is an object.
    #[default]
    Markdown,
    /// As Scarf does it: texts are plain, a title begins with the name of its tool and a colon, and of raw output only a
    /// text is shown.
    Plain,
}

impl CallStyle {
    /// By the name that a client gives itself.
    pub(crate) fn of(client: &str) -> Self {
        if client.eq_ignore_ascii_case("scarf") { Self::Plain } else { Self::Markdown }
    }
}

/// Writes calls of one session for its client.
#[derive(Clone, Copy)]
pub(crate) struct Cards<'a> {
    pub(crate) style: CallStyle,
    pub(crate) cwd: &'a Path,
}

/// A path as text, which is what JSON can carry.
pub(crate) fn written(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

pub(crate) fn kind(tool: &str) -> ToolKind {
    match names::canonical(tool).unwrap_or(tool) {
        "read_file" | "list_dir" => ToolKind::Read,
        "write_file" | "edit_file" | "apply_patch" => ToolKind::Edit,
        "glob" | "grep" | "web_search" => ToolKind::Search,
        "bash" | "bash_list" | "bash_read" | "bash_write" | "bash_resize" | "bash_stop" => ToolKind::Execute,
        "web_fetch" => ToolKind::Fetch,
        "todo" => ToolKind::Think,
        _ => ToolKind::Other,
    }
}

impl Cards<'_> {
    pub(crate) fn title(&self, tool: &str, input: &Value) -> String {
        match self.style {
            CallStyle::Markdown => titles::title(tool, input),
            CallStyle::Plain => titles::named_title(tool, input),
        }
    }

    /// A call is there.
    pub(crate) fn announced(&self, turn: &TurnId, call: &Call, status: ToolCallStatus) -> SessionUpdate {
        let input: Value = serde_json::from_str(call.input.json().as_str()).unwrap_or_default();
        SessionUpdate::ToolCall(ToolCall {
            tool_call_id: call_id(turn, &call.id),
            title: Some(self.title(&call.name, &input)),
            kind: Some(kind(&call.name)),
            status: Some(status),
            locations: Some(titles::locations(&call.name, &input, self.cwd)),
            raw_input: Some(input),
            ..ToolCall::default()
        })
    }

    /// A call has its result. The status is in every update: some clients take its absence for the end.
    pub(crate) fn finished(&self, turn: &TurnId, result: &CallResult) -> SessionUpdate {
        SessionUpdate::ToolCallUpdate(ToolCall {
            tool_call_id: call_id(turn, &result.call),
            status: Some(if result.is_error { ToolCallStatus::Failed } else { ToolCallStatus::Completed }),
            content: Some(self.shown(result)),
            raw_output: Some(self.raw_output(result)),
            ..ToolCall::default()
        })
    }

    /// An object: the published protocol calls it one, and clients that read by it drop the whole update for anything else.
    fn raw_output(&self, result: &CallResult) -> Value {
        if self.style == CallStyle::Plain {
            return Value::from(&*result.text());
        }
        let mut output = Map::from_iter([("output".to_owned(), Value::from(&*result.text()))]);
        let details = result.details.as_ref().and_then(|details| serde_json::from_str(details.as_str()).ok());
        if let Some(details) = details.filter(|details: &Value| !details.is_null()) {
            output.insert("details".to_owned(), details);
        }
        Value::Object(output)
    }

    /// Text of a running or finished call, as it is: a file's `# x` is no heading.
    pub(crate) fn output(&self, text: &str) -> ToolCallContent {
        let from = text.len().saturating_sub(OUTPUT_BYTES_MAX);
        let from = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
        match self.style {
            CallStyle::Markdown => fenced("", text[from..].trim_end_matches('\n')),
            CallStyle::Plain => ToolCallContent::block(ContentBlock::text(&text[from..])),
        }
    }

    /// What a finished call shows: what it changed, then what it said.
    fn shown(&self, result: &CallResult) -> Vec<ToolCallContent> {
        let mut left = DIFFS_BYTES_MAX;
        let mut shown: Vec<ToolCallContent> =
            result.edits.iter().filter_map(|edit| self.diff(edit, &mut left)).collect();
        for part in &result.parts {
            match part {
                vocab::Part::Text(text) if text.is_empty() => {}
                vocab::Part::Text(text) => shown.push(self.output(text)),
                image => shown.push(ToolCallContent::block(content::block(image))),
            }
        }
        shown
    }

    /// `left`: bytes that diffs of this update may still have.
    fn diff(&self, edit: &FileEdit, left: &mut usize) -> Option<ToolCallContent> {
        let path = written(&self.cwd.join(&*edit.path));
        let text = |snapshot: &Snapshot| match snapshot {
            Snapshot::Absent => Some(None),
            Snapshot::Text(text) => Some(Some(text.clone())),
            Snapshot::NotKept => None,
        };
        let (old, new) = (text(&edit.before)?, text(&edit.after)?);
        let (mut was, mut is) = (old.as_deref().unwrap_or_default(), new.as_deref().unwrap_or_default());
        if was.len() + is.len() > OUTPUT_BYTES_MAX {
            (was, is) = changed_lines(was, is);
        }
        let bytes = was.len() + is.len();
        if bytes > OUTPUT_BYTES_MAX || bytes > *left {
            return Some(self.output(&format!("{}: the change is too large to be shown here", edit.path)));
        }
        *left -= bytes;
        Some(ToolCallContent::diff(path, old.is_some().then(|| was.to_owned()), is.to_owned()))
    }
}

/// Two texts without the lines that they begin and end with in common, but for those around the change.
fn changed_lines<'t>(old: &'t str, new: &'t str) -> (&'t str, &'t str) {
    let lines = |text: &'t str| text.split_inclusive('\n').collect::<Vec<&str>>();
    let (was, is) = (lines(old), lines(new));
    let same = |pairs: usize| pairs.saturating_sub(LINES_AROUND);
    let head = was.iter().zip(&is).take_while(|(a, b)| a == b).count();
    let shorter = was.len().min(is.len());
    let tail = was.iter().rev().zip(is.iter().rev()).take(shorter - head).take_while(|(a, b)| a == b).count();
    let cut = |text: &'t str, lines: &[&str]| {
        let bytes = |lines: &[&str]| lines.iter().map(|line| line.len()).sum::<usize>();
        &text[bytes(&lines[..same(head)])..text.len() - bytes(&lines[lines.len() - same(tail)..])]
    };
    (cut(old, &was), cut(new, &is))
}

#[cfg(test)]
mod tests {
    use acp_types::sorted;
    use serde_json::json;

    use super::*;

    fn edit(before: &str, after: &str) -> FileEdit {
        FileEdit { path: "a.txt".into(), before: Snapshot::Text(before.into()), after: Snapshot::Text(after.into()) }
    }

    fn cards(client: &str) -> Cards<'static> {
        Cards { style: CallStyle::of(client), cwd: Path::new("/w") }
    }

    fn diff(edit: &FileEdit, mut left: usize) -> Value {
        sorted(cards("zed").diff(edit, &mut left).unwrap())
    }

    #[test]
    fn of_a_large_file_the_changed_lines_are_shown() {
        let old: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
        let new = old.replace("line 9000\n", "other\n");
        let shown = diff(&edit(&old, &new), DIFFS_BYTES_MAX);
        let around =
            |middle: &str| format!("line 8997\nline 8998\nline 8999\n{middle}\nline 9001\nline 9002\nline 9003\n");
        assert_eq!(shown["oldText"], around("line 9000"));
        assert_eq!(shown["newText"], around("other"));
        let small = diff(&edit("a\nb\n", "a\nc\n"), DIFFS_BYTES_MAX);
        assert_eq!((&small["oldText"], &small["newText"]), (&json!("a\nb\n"), &json!("a\nc\n")), "the whole file");
    }

    #[test]
    fn a_change_that_is_too_large_is_named() {
        let (old, new) = ("a\n".repeat(90_000), "b\n".repeat(90_000));
        for (edit, left) in [(edit(&old, &new), DIFFS_BYTES_MAX), (edit("old", "new"), 5)] {
            let shown = diff(&edit, left);
            assert_eq!(shown["content"]["text"], "```\na.txt: the change is too large to be shown here\n```");
        }
    }

    #[test]
    fn lines_in_common_are_counted_once() {
        for (old, new) in
            [("a\n", "a\na\n"), ("a\na\na\na\na\n", "a\n"), ("", "x\n"), ("same\n", "same\n"), ("x", "x\n")]
        {
            let (was, is) = changed_lines(old, new);
            assert!(old.contains(was) && new.contains(is), "{old:?} {new:?}");
        }
    }

    #[test]
    fn output_cannot_leave_its_fence() {
        assert_eq!(sorted(cards("zed").output("# x\n```\n"))["content"]["text"], "````\n# x\n```\n````");
        assert_eq!(sorted(cards("Scarf").output("# x\n"))["content"]["text"], "# x\n");
    }
}
