//! A tool call as a card: what was asked for in one line, and behind it the arguments, the changed files and the result.

use vocab::{Call, CallEnd, CallInput, CallResult, Part, names};

use super::blocks;
use super::colour::{self, Lang};
use super::diff::{self, FileChange};
use super::escape::{cut, escape, first_line, without_paint};
use super::figures::duration;
use super::json::{self, JsonMembers};

/// Characters of the one line that says what a call is about.
const ABOUT_CHARS_MAX: usize = 160;
/// Longer names of tools and arguments are cut: a model may write anything there.
const NAME_CHARS_MAX: usize = 80;
/// A text up to this length stands beside its name.
const INLINE_CHARS_MAX: usize = 160;
/// So does a list or an object up to this length; a longer one is laid out over lines.
const INLINE_JSON_CHARS_MAX: usize = 60;
/// Arguments that say what a call is about, the most telling first.
const TELLING: [&str; 10] =
    ["command", "path", "file_path", "file", "pattern", "query", "url", "id", "description", "name"];

/// What is known of one call. One of `call` and `result` is always there.
pub(super) struct Card<'a> {
    pub(super) call: Option<&'a Call>,
    pub(super) result: Option<&'a CallResult>,
    /// What the user answered when asked about it.
    pub(super) verdict: Option<&'a str>,
}

/// The arguments as far as they could be read.
enum CardArgs<'a> {
    None,
    Read(Vec<(String, ArgValue<'a>)>),
    /// Not an object; with the reason when there is one.
    Raw(&'a str, Option<&'a str>),
}

enum ArgValue<'a> {
    Text(String),
    Json(&'a str),
}

impl Card<'_> {
    pub(super) fn write(&self, out: &mut String) {
        let args = self.args();
        let changes: Vec<FileChange<'_>> =
            self.result.map_or_else(Vec::new, |result| result.edits.iter().map(FileChange::of).collect());
        let lines: usize = changes.iter().map(|change| change.lines).sum();
        // What changed files is what most people look for; it stands open while it is short.
        let open = !changes.is_empty() && lines <= diff::OPEN_LINES_MAX;
        let failed = self.result.is_none_or(|result| result.is_error || result.end != CallEnd::Ran);
        out.push_str(if failed { "<details class=\"call bad\"" } else { "<details class=\"call\"" });
        out.push_str(if open { " open><summary>" } else { "><summary>" });
        self.headline(out, &args, &changes);
        out.push_str("</summary>\n<div class=\"in\">\n");
        if let Some(verdict) = self.verdict {
            out.push_str("<p class=\"dim\">permission: ");
            escape(out, verdict);
            out.push_str("</p>\n");
        }
        self.write_args(out, &args, !changes.is_empty());
        for change in &changes {
            change.write(out);
        }
        self.write_result(out, &args);
        out.push_str("</div></details>\n");
    }

    fn args(&self) -> CardArgs<'_> {
        match self.call.map(|call| &call.input) {
            None => CardArgs::None,
            Some(CallInput::Broken { text, detail }) => CardArgs::Raw(text, Some(detail)),
            Some(CallInput::Object(text)) => match json::members(text.as_str()) {
                None => CardArgs::Raw(text.as_str(), None),
                Some(JsonMembers(members)) => {
                    let value = |value| json::string(value).map_or(ArgValue::Json(value.get()), ArgValue::Text);
                    CardArgs::Read(members.into_iter().map(|(key, found)| (key, value(found))).collect())
                }
            },
        }
    }

    /// The canonical name where there is one.
    fn tool(&self) -> &str {
        let spelled = self.call.map(|call| &*call.name);
        let found = self.result.map(|result| &*result.tool).or(spelled).unwrap_or_default();
        names::canonical(found).unwrap_or(found)
    }

    fn headline(&self, out: &mut String, args: &CardArgs<'_>, changes: &[FileChange<'_>]) {
        let name = self.call.map(|call| &*call.name).unwrap_or_else(|| self.tool());
        out.push_str("<span class=\"tool\">");
        escape(out, &cut(name, NAME_CHARS_MAX));
        out.push_str("</span> ");
        let about = args.about(self.tool());
        if !about.is_empty() {
            out.push_str("<code class=\"about\">");
            out.push_str(if self.tool() == "bash" { "$ " } else { "" });
            escape(out, &about);
            out.push_str("</code> ");
        }
        if let [change] = changes {
            out.push_str(&format!("<span class=\"dim\">{}</span> ", change.counts()));
        }
        if let Some(word) = self.trouble() {
            out.push_str(&format!("<span class=\"badge\">{word}</span> "));
        }
        if let Some(result) = self.result.filter(|result| result.end == CallEnd::Ran) {
            out.push_str(&format!("<span class=\"dim\">{}</span>", duration(result.duration_ms)));
        }
    }

    /// What did not go as it should, in a word.
    fn trouble(&self) -> Option<&'static str> {
        let Some(result) = self.result else { return Some("no result") };
        match result.end {
            CallEnd::Ran => result.is_error.then_some("error"),
            CallEnd::Denied => Some("denied"),
            CallEnd::Unknown => Some("unknown tool"),
            CallEnd::Invalid => Some("invalid arguments"),
            CallEnd::Interrupted => Some("interrupted"),
            CallEnd::Skipped => Some("skipped"),
            CallEnd::Lost => Some("lost"),
        }
    }

    fn write_args(&self, out: &mut String, args: &CardArgs<'_>, shown_as_diff: bool) {
        match args {
            CardArgs::None => {}
            CardArgs::Raw(text, detail) => {
                if let Some(detail) = detail {
                    out.push_str("<p class=\"dim\">arguments that could not be read: ");
                    escape(out, detail);
                    out.push_str("</p>\n");
                }
                blocks::foldable(out, "arguments", text, None);
            }
            CardArgs::Read(members) if members.is_empty() => {}
            CardArgs::Read(members) if shown_as_diff => {
                blocks::fold(out, "arguments", |out| write_members(out, members));
            }
            CardArgs::Read(members) => {
                let is_command = |name: &str| self.tool() == "bash" && name == "command";
                for (name, value) in members {
                    if let (true, ArgValue::Text(command)) = (is_command(name), value) {
                        out.push_str("<pre class=\"sh\"><span class=\"p\">$ </span><code>");
                        colour::write(out, command, colour::by_name("bash"));
                        out.push_str("</code></pre>\n");
                    }
                }
                let others: Vec<_> = members.iter().filter(|(name, _)| !is_command(name)).collect();
                if !others.is_empty() {
                    write_members(out, others);
                }
            }
        }
    }

    fn write_result(&self, out: &mut String, args: &CardArgs<'_>) {
        let Some(result) = self.result else { return };
        let path = match self.tool() {
            "read_file" if !result.is_error => args.text("path").or_else(|| args.text("file_path")),
            _ => None,
        };
        let of_path = path.and_then(colour::by_path);
        for part in &result.parts {
            match part {
                Part::Image(image) => blocks::image(out, image),
                Part::Text(text) if text.is_empty() => {}
                Part::Text(text) => {
                    let text = without_paint(text);
                    let lang = of_path.or_else(|| patch_language(&text));
                    blocks::foldable(out, if result.is_error { "error" } else { "output" }, &text, lang);
                }
            }
        }
        let silent = result.parts.iter().all(|part| matches!(part, Part::Text(text) if text.is_empty()));
        if silent && result.edits.is_empty() {
            out.push_str("<p class=\"dim\">(no output)</p>\n");
        }
    }
}

impl CardArgs<'_> {
    fn text(&self, wanted: &str) -> Option<&str> {
        let CardArgs::Read(members) = self else { return None };
        members.iter().find_map(|(name, value)| match value {
            ArgValue::Text(text) if name == wanted => Some(text.as_str()),
            _ => None,
        })
    }

    /// What the call is about, in one line.
    fn about(&self, tool: &str) -> String {
        let CardArgs::Read(members) = self else { return String::new() };
        // A pattern says more about a search than the place where it looks.
        let first = matches!(tool, "grep" | "glob").then(|| self.text("pattern")).flatten();
        let telling = || TELLING.into_iter().find_map(|name| self.text(name));
        let any = || members.iter().find_map(|(name, _)| self.text(name));
        let text = first.or_else(telling).or_else(any).unwrap_or_default();
        // The frame around a patch is always the same; what it changes comes next.
        let text = text.strip_prefix("*** Begin Patch").unwrap_or(text).trim_start().trim_start_matches("*** ");
        let line = first_line(text, ABOUT_CHARS_MAX);
        if text.trim().lines().count() > 1 && !line.ends_with('\u{2026}') {
            format!("{line} \u{2026}")
        } else {
            line.into_owned()
        }
    }
}

fn write_members<'m, 'v: 'm>(out: &mut String, members: impl IntoIterator<Item = &'m (String, ArgValue<'v>)>) {
    let members: Vec<_> = members.into_iter().collect();
    let path = members.iter().find_map(|(name, value)| match value {
        ArgValue::Text(text) if matches!(&**name, "path" | "file_path" | "file") => Some(text.as_str()),
        _ => None,
    });
    let of_path = path.and_then(colour::by_path);
    out.push_str("<dl class=\"args\">\n");
    for (name, value) in members {
        out.push_str("<dt>");
        escape(out, &cut(name, NAME_CHARS_MAX));
        out.push_str("</dt><dd>");
        match value {
            ArgValue::Text(text) if is_inline(text, INLINE_CHARS_MAX) => inline(out, text, None),
            ArgValue::Text(text) => {
                let contents = matches!(&**name, "content" | "old_string" | "new_string").then_some(of_path).flatten();
                blocks::foldable(out, "text", text, contents.or_else(|| patch_language(text)));
            }
            ArgValue::Json(text) if name == "todos" && write_todos(out, text) => {}
            ArgValue::Json(text) if is_inline(text, INLINE_JSON_CHARS_MAX) => {
                inline(out, text, colour::by_name("json"))
            }
            ArgValue::Json(text) => blocks::foldable(out, "value", &json::laid_out(text), colour::by_name("json")),
        }
        out.push_str("</dd>\n");
    }
    out.push_str("</dl>\n");
}

fn is_inline(text: &str, chars_max: usize) -> bool {
    !text.contains('\n') && text.char_indices().nth(chars_max).is_none()
}

#[derive(serde::Deserialize)]
struct Todo {
    content: String,
    status: String,
}

/// A list of things to do, ticked off; false when it is no such list.
fn write_todos(out: &mut String, text: &str) -> bool {
    let Ok(todos) = serde_json::from_str::<Vec<Todo>>(text) else { return false };
    out.push_str("<ul class=\"todo\">\n");
    for todo in &todos {
        out.push_str(match &*todo.status {
            "completed" => "<li>\u{2611} ",
            "in_progress" => "<li>\u{25b8} ",
            "abandoned" => "<li>\u{2612} ",
            _ => "<li>\u{2610} ",
        });
        escape(out, &todo.content);
        out.push_str("</li>\n");
    }
    out.push_str("</ul>\n");
    true
}

fn inline(out: &mut String, text: &str, lang: Option<&'static Lang>) {
    out.push_str("<code>");
    colour::write(out, text, lang);
    out.push_str("</code>");
}

/// Patches are coloured wherever they turn up.
fn patch_language(text: &str) -> Option<&'static Lang> {
    let starts = ["diff --git ", "--- ", "*** Begin Patch"];
    starts.iter().any(|start| text.starts_with(start)).then(|| colour::by_name("diff")).flatten()
}
