//! What a call is about, in one line and in files, from nothing but its name and its input.

use std::path::Path;

use acp_types::ToolCallLocation;
use serde_json::Value;
use vocab::names;
use vocab::visible::headline;

use crate::content::code;
use crate::tools::written;

/// Files that a title names one by one; more are counted.
const FILES_NAMED_MAX: usize = 3;
/// Members of an input that say what a call is about, the first that is there.
const ABOUT: [&str; 9] = ["command", "path", "file_path", "pattern", "query", "url", "id", "label", "task"];
/// How a patch begins that is no unified diff, and what stands in front of its files.
const ENVELOPE: &str = "*** Begin Patch";
const HEADERS: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

fn word<'a>(input: &'a Value, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| input[*name].as_str().map(str::trim).filter(|text| !text.is_empty()))
}

fn path(input: &Value) -> Option<&str> {
    word(input, &["path", "file_path"])
}

/// As people say it: `Read src/main.rs`; of a command itself, as code.
pub(crate) fn title(tool: &str, input: &Value) -> String {
    let file = || path(input).map_or_else(|| "a file".to_owned(), headline);
    let about = |name: &str| word(input, &[name]).map(headline);
    let within = || path(input).map_or_else(String::new, |path| format!(" in {}", headline(path)));
    let process = || word(input, &["id"]).map_or_else(|| "a command".to_owned(), headline);
    let said = match names::canonical(tool).unwrap_or(tool) {
        "bash" => about("command").map(|command| code(&command)),
        "read_file" => Some(format!("Read {}", file())),
        "write_file" => Some(format!("Write {}", file())),
        "edit_file" => Some(format!("Edit {}", file())),
        "apply_patch" => Some(format!("Edit {}", files(&patched(input)))),
        "list_dir" => Some(format!("List {}", path(input).map_or_else(|| "the workspace".to_owned(), headline))),
        "glob" => about("pattern").map(|pattern| format!("Find {}{}", code(&pattern), within())),
        "grep" => about("pattern").map(|pattern| format!("Search {}{}", code(&pattern), within())),
        "web_search" => about("query").map(|query| format!("Search the web for {query}")),
        "web_fetch" => about("url").map(|url| format!("Fetch {url}")),
        "todo" => Some("Update the plan".to_owned()),
        "bash_list" => Some("List what runs in the background".to_owned()),
        "bash_read" => Some(format!("Read the output of {}", process())),
        "bash_write" => Some(format!("Type into {}", process())),
        "bash_resize" => Some(format!("Resize the terminal of {}", process())),
        "bash_stop" => Some(format!("Stop {}", process())),
        _ => word(input, &ABOUT).map(|about| format!("{tool} {}", headline(about))),
    };
    said.unwrap_or_else(|| tool.to_owned())
}

/// `name: what it is about`, for clients that take what stands before the colon for the name.
pub(crate) fn named_title(tool: &str, input: &Value) -> String {
    match word(input, &ABOUT) {
        Some(about) => format!("{tool}: {}", headline(about)),
        None => tool.to_owned(),
    }
}

/// The files that a call names.
pub(crate) fn locations(tool: &str, input: &Value, cwd: &Path) -> Vec<ToolCallLocation> {
    let at = |path: &str| ToolCallLocation::new(written(&cwd.join(path)), None);
    match (names::canonical(tool).unwrap_or(tool), path(input)) {
        ("apply_patch", _) => patched(input).into_iter().map(at).collect(),
        ("list_dir", None) => vec![ToolCallLocation::new(written(cwd), None)],
        (_, None) => Vec::new(),
        (_, Some(path)) => vec![ToolCallLocation::new(written(&cwd.join(path)), input["offset"].as_u64())],
    }
}

/// Every file that a patch names, once. Only to be shown: what it does is worked out elsewhere.
fn patched(input: &Value) -> Vec<&str> {
    let text = word(input, &["input", "patch", "diff"]).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let named: Vec<&str> = match text.starts_with(ENVELOPE) {
        true => lines.iter().filter_map(|line| HEADERS.iter().find_map(|start| line.strip_prefix(start))).collect(),
        false => {
            let pairs =
                lines.windows(2).filter_map(|two| Some([two[0].strip_prefix("--- ")?, two[1].strip_prefix("+++ ")?]));
            pairs.flatten().map(plain_name).collect()
        }
    };
    let mut files: Vec<&str> = Vec::new();
    for name in named.into_iter().map(str::trim).filter(|name| !name.is_empty() && *name != "/dev/null") {
        if !files.contains(&name) {
            files.push(name);
        }
    }
    files
}

/// A file of a unified diff, without the letter in front of it and the date behind it.
fn plain_name(named: &str) -> &str {
    let file = named.split('\t').next().unwrap_or(named);
    file.strip_prefix("a/").or_else(|| file.strip_prefix("b/")).unwrap_or(file)
}

/// `a.txt, b.txt, c.txt and 4 more`
fn files(names: &[&str]) -> String {
    let shown: Vec<String> = names.iter().take(FILES_NAMED_MAX).map(|name| headline(name)).collect();
    match names.len().saturating_sub(FILES_NAMED_MAX) {
        0 if names.is_empty() => "files".to_owned(),
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_title_says_what_would_happen() {
        let script = format!("set -e\n{}", "make\n".repeat(300));
        for (tool, input, want) in [
            ("bash", json!({ "command": "ls -la" }), "`ls -la`"),
            ("bash", json!({ "command": "echo `date`" }), "`` echo `date` ``"),
            ("bash", json!({ "command": script }), "`set -e… (+300 lines)`"),
            ("bash", json!({ "command": "l\u{200b}s" }), "`l<U+200B>s`"),
            ("bash", json!({}), "bash"),
            ("read_file", json!({ "path": "a: b.txt" }), "Read a: b.txt"),
            ("list_dir", json!({}), "List the workspace"),
            ("list_dir", json!({ "path": "src" }), "List src"),
            ("grep", json!({ "pattern": "fn a", "path": "src" }), "Search `fn a` in src"),
            ("grep", json!({}), "grep"),
            ("glob", json!({ "pattern": "**/*.rs" }), "Find `**/*.rs`"),
            ("edit_file", json!({ "file_path": "a.rs" }), "Edit a.rs"),
            ("todo", json!({ "todos": [] }), "Update the plan"),
            ("mcp__db__query", json!({ "query": "select 1" }), "mcp__db__query select 1"),
            ("mcp__db__ping", json!({}), "mcp__db__ping"),
        ] {
            assert_eq!(title(tool, &input), want);
        }
        assert_eq!(named_title("bash", &json!({ "command": "ls" })), "bash: ls");
    }

    #[test]
    fn a_patch_names_its_files() {
        let ours = "*** Begin Patch\n*** Add File: new.txt\n+*** Add File: x\n*** Update File: old.txt\n\
                    *** Move to: moved.txt\n@@\n--- a\n+++ b\n*** Delete File: gone.txt\n*** End Patch";
        let unified = "--- a/src/x.rs\t2026\n+++ b/src/x.rs\n@@ -1 +1 @@\n--- a\n+b\n--- /dev/null\n+++ b/y.rs\n";
        let all = |text: &str| patched(&json!({ "input": text })).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(all(ours), ["new.txt", "old.txt", "moved.txt", "gone.txt"]);
        assert_eq!(all(unified), ["src/x.rs", "y.rs"]);
        assert_eq!(title("apply_patch", &json!({ "input": ours })), "Edit new.txt, old.txt, moved.txt and 1 more");
        let places = locations("apply_patch", &json!({ "patch": unified }), Path::new("/w"));
        let place = |path: &str| ToolCallLocation::new(path.into(), None);
        assert_eq!(places, [place("/w/src/x.rs"), place("/w/y.rs")]);
        assert_eq!(locations("list_dir", &json!({}), Path::new("/w")), [place("/w")]);
    }
}
