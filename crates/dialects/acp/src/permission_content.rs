//! Everything that would run, as the content of a permission request: clients show the title and this, few show the input.

use std::path::Path;

use acp_types::ToolCallContent;
use vocab::visible::{visible, visible_line};
use vocab::{Fact, FactForm, PermissionAsk};
use wire::question;

use crate::content::fenced;
use crate::tools::{OUTPUT_BYTES_MAX, written};

/// Diffs first, for clients that review the first block; then texts, and last what is short.
pub(crate) fn blocks(permission: &PermissionAsk, cwd: &Path) -> Vec<ToolCallContent> {
    let facts = question::facts(permission);
    let of = |form: FactForm| facts.iter().filter(move |fact| fact.form == form);
    let mut blocks: Vec<ToolCallContent> = of(FactForm::Diff).flat_map(|fact| diffs(fact, cwd)).collect();
    let labelled = |fact: &Fact| {
        let label = visible_line(&fact.label);
        fenced(&format!("{label}:\n"), &question::body(fact, OUTPUT_BYTES_MAX))
    };
    blocks.extend(of(FactForm::Text).map(labelled));
    let mut short: Vec<Fact> = of(FactForm::Line).cloned().collect();
    short.extend(question::beside(permission));
    if !short.is_empty() {
        blocks.push(fenced("", &question::text(&short, OUTPUT_BYTES_MAX)));
    }
    blocks
}

/// One block for a file, because some clients show the first block and no other: what stands there now, and what would. What
/// is between two changes is left out; the line in its place is the same on both sides and says where it goes on. Both sides
/// are for eyes: what does not show is written out.
fn diffs(fact: &Fact, cwd: &Path) -> Vec<ToolCallContent> {
    let mut sides: Option<Sides> = None;
    for line in fact.text.split_terminator('\n') {
        match &mut sides {
            None => sides = line.starts_with("@@").then(|| Sides::new(line)),
            Some(sides) if line.starts_with("@@") => sides.go_on(line),
            Some(sides) => sides.take(line),
        }
    }
    let mut blocks: Vec<ToolCallContent> =
        sides.map(|sides| sides.block(&cwd.join(&*fact.label))).into_iter().collect();
    if !fact.is_whole() {
        blocks.push(fenced("", &question::left_out(fact.missing)));
    }
    blocks
}

struct Sides {
    /// There was no file.
    is_new: bool,
    old: String,
    new: String,
    /// The sign of the line before, for the note that it does not end.
    last: u8,
}

impl Sides {
    fn new(header: &str) -> Self {
        Self { is_new: header.starts_with("@@ -0,0 "), old: String::new(), new: String::new(), last: b' ' }
    }

    fn go_on(&mut self, header: &str) {
        self.old.extend([header, "\n"]);
        self.new.extend([header, "\n"]);
    }

    fn take(&mut self, line: &str) {
        let Some((&sign, _)) = line.as_bytes().split_first() else { return };
        if sign == b'\\' {
            let end = |side: &mut String| _ = side.pop();
            if self.last != b'+' {
                end(&mut self.old);
            }
            if self.last != b'-' {
                end(&mut self.new);
            }
            return;
        }
        let Some(text) = line.get(1..).map(visible) else { return };
        if sign != b'+' {
            self.old.extend([&text, "\n"]);
        }
        if sign != b'-' {
            self.new.extend([&text, "\n"]);
        }
        self.last = sign;
    }

    fn block(self, path: &Path) -> ToolCallContent {
        let old = (!self.is_new).then_some(self.old);
        ToolCallContent::diff(written(path), old, self.new)
    }
}

#[cfg(test)]
mod tests {
    use acp_types::sorted;
    use serde_json::{Value, json};
    use vocab::{CallId, Json, Mode, Required};

    use super::*;

    fn ask(facts: Option<Vec<Fact>>) -> PermissionAsk {
        PermissionAsk {
            call: CallId::from("c"),
            tool: "bash".into(),
            input: Json::trusted(r#"{"sql":"DROP TABLE x"}"#),
            active: Mode::Prompt,
            required: Required::DangerFullAccess,
            reason: None,
            summary: "run x".into(),
            preview: facts.map(Into::into),
            may_have_run: false,
        }
    }

    fn shown(facts: Option<Vec<Fact>>) -> Vec<Value> {
        blocks(&ask(facts), Path::new("/w")).into_iter().map(sorted).collect()
    }

    fn diffs(facts: Option<Vec<Fact>>) -> Vec<Value> {
        shown(facts).into_iter().filter(|block| block["type"] == "diff").collect()
    }

    #[test]
    fn a_command_is_shown_whole_and_as_it_is() {
        let facts = vec![Fact::line("directory", "/etc"), Fact::text("command", "# x\n```\nrm\u{200b} -rf /")];
        let texts: Vec<Value> = shown(Some(facts)).iter().map(|block| block["content"]["text"].clone()).collect();
        let want = ["command:\n````\n# x\n```\nrm<U+200B> -rf /\n````", "```\ndirectory: /etc\nin short: run x\n```"];
        assert_eq!(texts, want);
        assert_eq!(shown(None)[0]["content"]["text"], "```\nsql: DROP TABLE x\nin short: run x\n```");
    }

    #[test]
    fn an_edit_is_shown_as_one_diff_of_its_file() {
        let hunks = "@@ -1,2 +1,2 @@\n a\n-b\n+c\n@@ -9 +9 @@\n-x\n\\ No newline at end of file\n+y\n";
        assert_eq!(
            diffs(Some(vec![Fact::diff("src/a.rs", hunks)])),
            [json!({ "type": "diff", "path": "/w/src/a.rs",
                "oldText": "a\nb\n@@ -9 +9 @@\nx", "newText": "a\nc\n@@ -9 +9 @@\ny\n" })]
        );
        let made = diffs(Some(vec![Fact::diff("/tmp/new", "@@ -0,0 +1 @@\n+y\n")]));
        assert_eq!(made, [json!({ "type": "diff", "path": "/tmp/new", "oldText": null, "newText": "y\n" })]);
    }

    #[test]
    fn nothing_in_a_diff_can_hide() {
        let hunks = "@@ -1 +1,2 @@\n-a\u{200b}\n+ok \u{202e}evil \u{1b}[2J\r\n+y\rz\n\\ No newline at end of file\n";
        let shown = diffs(Some(vec![Fact::diff("x.sh", hunks)]));
        let want = json!({ "type": "diff", "path": "/w/x.sh",
            "oldText": "a<U+200B>\n", "newText": "ok <U+202E>evil ␛[2J␍\ny␍z" });
        assert_eq!(shown, [want]);
    }
}
