//! One table of tool names. The first column is ours; each family shows its own spelling, and every spelling of
//! every family resolves, so that a model or a controller trained on one family is understood by all.

use crate::Required;

/// Whose spelling a model and a controller see.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Family {
    Canonical,
    Serve,
    Rpc,
    Loaf,
    Gateway,
}

/// canonical, serve, rpc, loaf, gateway.
const TABLE: &[[&str; 5]] = &[
    ["read_file", "read_file", "read", "read_file", "file.read"],
    ["write_file", "write_file", "write", "write_file", "file.write"],
    ["edit_file", "edit_file", "edit", "edit_file", "file.edit"],
    ["apply_patch", "apply_patch", "apply_patch", "apply_patch", "file.patch"],
    ["glob", "glob_search", "find", "glob", "file.glob"],
    ["grep", "grep_search", "grep", "grep_files", "file.grep"],
    ["list_dir", "list_dir", "ls", "list_dir", "file.list"],
    ["bash", "bash", "bash", "bash", "shell.exec"],
    ["bash_list", "BashList", "bash_list", "list_background_bash", "shell.list"],
    ["bash_read", "BashRead", "bash_read", "read_background_bash", "shell.read"],
    ["bash_write", "BashWrite", "bash_write", "write_background_bash", "shell.write"],
    ["bash_resize", "BashResize", "bash_resize", "resize_background_bash", "shell.resize"],
    ["bash_stop", "BashStop", "bash_stop", "stop_background_bash", "shell.stop"],
    ["todo", "TodoWrite", "todo_write", "todo", "todo.write"],
    ["web_fetch", "WebFetch", "web_fetch", "web_fetch", "web.fetch"],
    ["web_search", "WebSearch", "web_search", "search_web", "web.search"],
    ["subagent", "Agent", "subagent", "subagent", "subagent.spawn"],
];

impl Family {
    fn column(self) -> usize {
        match self {
            Family::Canonical => 0,
            Family::Serve => 1,
            Family::Rpc => 2,
            Family::Loaf => 3,
            Family::Gateway => 4,
        }
    }

    /// How this family spells a canonical name. Names outside the table (MCP, host tools) keep their spelling.
    pub fn show(self, canonical: &str) -> &str {
        TABLE.iter().find(|row| row[0] == canonical).map_or(canonical, |row| row[self.column()])
    }

    /// The rung that this family's controllers are told for a call. They decide themselves, and theirs counts the list of
    /// tasks as a write; here it asks for nothing.
    pub fn told(self, canonical: &str, required: Required) -> Required {
        match (self, canonical) {
            (Family::Serve, "todo") => required.max(Required::WorkspaceWrite),
            _ => required,
        }
    }
}

/// The canonical name behind any family's spelling. Model APIs forbid dots, so `file_read` is `file.read`.
/// Canonical names win over another family's use of the same word.
pub fn canonical(name: &str) -> Option<&'static str> {
    let exact = |row: &&[&'static str; 5]| row[0] == name;
    let alias =
        |row: &&[&'static str; 5]| row[1..].iter().any(|alias| *alias == name || alias.replace('.', "_") == name);
    TABLE.iter().find(exact).or_else(|| TABLE.iter().find(alias)).map(|row| row[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_resolves_to_its_row() {
        for row in TABLE {
            for name in row {
                assert_eq!(canonical(name), Some(row[0]), "{name}");
                assert_eq!(canonical(&name.replace('.', "_")), Some(row[0]), "{name}");
            }
        }
        assert_eq!(canonical("nope"), None);
    }

    #[test]
    fn a_family_shows_its_own_word() {
        assert_eq!(Family::Serve.show("glob"), "glob_search");
        assert_eq!(Family::Rpc.show("read_file"), "read");
        assert_eq!(Family::Loaf.show("mcp__x__y"), "mcp__x__y");
    }
}
