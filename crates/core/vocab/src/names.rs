//! Names of tools. Inside, a tool has one name, the canonical one; each dialect brings a table of how its controllers and
//! models spell them, and every spelling that is known is understood everywhere.

use crate::Required;
use crate::nearest::nearest;
use crate::settings::fits;

/// How one dialect spells the tools. The table is the dialect's own.
#[derive(Clone, Copy)]
pub struct ToolNames {
    /// Canonical name, and what stands for it; tools that are not listed keep their name.
    pub rows: &'static [(&'static str, &'static str)],
    /// Tools that its controllers are told to need at least this much; they decide themselves.
    pub told_at_least: &'static [(&'static str, Required)],
}

/// Canonical names everywhere.
pub const CANONICAL: ToolNames = ToolNames { rows: &[], told_at_least: &[] };

impl ToolNames {
    /// How this dialect spells a canonical name. Names outside the table (MCP, host tools) keep their spelling.
    pub fn show<'a>(&self, canonical: &'a str) -> &'a str
    where
        'static: 'a,
    {
        self.rows.iter().find(|(name, _)| *name == canonical).map_or(canonical, |(_, shown)| shown)
    }

    /// The rung that this dialect's controllers are told for a call.
    pub fn told(&self, canonical: &str, required: Required) -> Required {
        let least = self.told_at_least.iter().find(|(name, _)| *name == canonical);
        least.map_or(required, |(_, least)| required.max(*least))
    }
}

impl PartialEq for ToolNames {
    fn eq(&self, other: &Self) -> bool {
        self.rows == other.rows && self.told_at_least == other.told_at_least
    }
}

impl std::fmt::Debug for ToolNames {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(to, "ToolNames({} rows)", self.rows.len())
    }
}

/// Every spelling that a model or a controller may use; the first of a row is the canonical one.
const SPELLINGS: &[&[&str]] = &[
    &["read_file", "read", "file.read"],
    &["write_file", "write", "file.write"],
    &["edit_file", "edit", "file.edit"],
    &["apply_patch", "file.patch"],
    &["glob", "glob_search", "find", "file.glob"],
    &["grep", "grep_search", "grep_files", "file.grep"],
    &["list_dir", "ls", "file.list"],
    &["bash", "shell.exec"],
    &["bash_list", "BashList", "list_background_bash", "shell.list"],
    &["bash_read", "BashRead", "read_background_bash", "shell.read"],
    &["bash_write", "BashWrite", "write_background_bash", "shell.write"],
    &["bash_resize", "BashResize", "resize_background_bash", "shell.resize"],
    &["bash_stop", "BashStop", "stop_background_bash", "shell.stop"],
    &["todo", "TodoWrite", "todo_write", "todo.write"],
    &["web_fetch", "WebFetch", "web.fetch"],
    &["web_search", "WebSearch", "search_web", "web.search"],
    &["subagent", "Agent", "subagent.spawn"],
];

/// The canonical name behind any spelling. Model APIs forbid dots, so `file_read` is `file.read`. Canonical names win over
/// another use of the same word.
pub fn canonical(name: &str) -> Option<&'static str> {
    let exact = |row: &&&[&'static str]| row[0] == name;
    let alias = |row: &&&[&'static str]| row[1..].iter().any(|it| *it == name || it.replace('.', "_") == name);
    SPELLINGS.iter().find(exact).or_else(|| SPELLINGS.iter().find(alias)).map(|row| row[0])
}

/// What somebody means who writes this into a list of tools: the canonical name of any spelling. A pattern, in which `*` stands
/// for anything, is itself, for tools of others, and every tool of ours of which it fits a spelling.
pub fn meant(written: &str) -> Vec<&str> {
    if !written.contains('*') {
        return vec![canonical(written).unwrap_or(written)];
    }
    let fits_one = |row: &&&[&'static str]| {
        row.iter().any(|it| fits(written, it) || fits(written, &it.replace('.', "_"))) && row[0] != written
    };
    std::iter::once(written).chain(SPELLINGS.iter().filter(fits_one).map(|row| row[0])).collect()
}

/// The spelling of a tool of ours that somebody probably meant who wrote another name. `None`: it is one, or a pattern, or far
/// from all of them and some other tool's.
pub fn misspelt(written: &str) -> Option<&'static str> {
    let is_other = written.contains('*') || canonical(written).is_some();
    (!is_other).then(|| nearest(written, SPELLINGS.iter().flat_map(|row| row.iter().copied()))).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_means_tools_by_every_spelling() {
        assert_eq!(meant("shell.exec"), ["bash"]);
        assert_eq!(meant("mcp__a__b"), ["mcp__a__b"]);
        let files = meant("file.*");
        assert!(
            files.contains(&"file.*") && files.contains(&"read_file") && files.contains(&"write_file"),
            "{files:?}"
        );
        assert!(!files.contains(&"bash"), "{files:?}");
        assert_eq!(meant("mcp__*"), ["mcp__*"]);
        assert_eq!(meant("*").len(), 1 + SPELLINGS.len());
    }

    #[test]
    fn a_name_that_is_nearly_one_of_ours_is_a_slip() {
        assert_eq!(["shel.exec", "wirte_file"].map(misspelt), [Some("shell.exec"), Some("write_file")]);
        assert_eq!(["bash", "file_read", "shel*", "mcp__files__read", "deploy"].map(misspelt), [None; 5]);
    }

    #[test]
    fn every_spelling_resolves_to_its_row() {
        for row in SPELLINGS {
            for name in *row {
                assert_eq!(canonical(name), Some(row[0]), "{name}");
                assert_eq!(canonical(&name.replace('.', "_")), Some(row[0]), "{name}");
            }
        }
        assert_eq!(canonical("nope"), None);
    }

    #[test]
    fn a_table_shows_its_own_words_and_leaves_the_others() {
        let least = &[("todo", Required::WorkspaceWrite)];
        let names = ToolNames { rows: &[("glob", "find")], told_at_least: least };
        assert_eq!((names.show("glob"), names.show("mcp__x__y")), ("find", "mcp__x__y"));
        assert_eq!(names.told("todo", Required::ReadOnly), Required::WorkspaceWrite);
        assert_eq!(names.told("todo", Required::DangerFullAccess), Required::DangerFullAccess);
        assert_eq!(names.told("glob", Required::ReadOnly), Required::ReadOnly);
    }
}
