//! How this wire spells the tools: a family, a dot, a verb. Towards the model they keep our own names.

use vocab::names::ToolNames;

pub const TOOL_NAMES: ToolNames = ToolNames {
    rows: &[
        ("read_file", "file.read"),
        ("write_file", "file.write"),
        ("edit_file", "file.edit"),
        ("apply_patch", "file.patch"),
        ("glob", "file.glob"),
        ("grep", "file.grep"),
        ("list_dir", "file.list"),
        ("bash", "shell.exec"),
        ("bash_list", "shell.list"),
        ("bash_read", "shell.read"),
        ("bash_write", "shell.write"),
        ("bash_resize", "shell.resize"),
        ("bash_stop", "shell.stop"),
        ("todo", "todo.write"),
        ("web_fetch", "web.fetch"),
        ("web_search", "web.search"),
        ("subagent", "subagent.spawn"),
    ],
    told_at_least: &[],
};

/// What a tool is called inside, by any spelling that is known; others stay as they are.
pub(crate) fn canonical(name: &str) -> &str {
    vocab::names::canonical(name).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_that_is_shown_is_understood() {
        for (inside, shown) in TOOL_NAMES.rows {
            assert_eq!(canonical(shown), *inside);
            assert_eq!(canonical(inside), *inside);
            assert_eq!(canonical(&shown.replace('.', "_")), *inside, "{shown}");
        }
        assert_eq!(canonical("mcp__a__b"), "mcp__a__b");
    }
}
