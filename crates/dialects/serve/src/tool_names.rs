//! How controllers of this dialect, and the models behind it, spell the tools.

use vocab::Required;
use vocab::names::ToolNames;

/// What is not listed has its canonical name.
/// Its controllers count the list of tasks as a write; here it asks for nothing.
pub const TOOL_NAMES: ToolNames = ToolNames {
    rows: &[
        ("glob", "glob_search"),
        ("grep", "grep_search"),
        ("bash_list", "BashList"),
        ("bash_read", "BashRead"),
        ("bash_write", "BashWrite"),
        ("bash_resize", "BashResize"),
        ("bash_stop", "BashStop"),
        ("todo", "TodoWrite"),
        ("web_fetch", "WebFetch"),
        ("web_search", "WebSearch"),
        ("subagent", "Agent"),
    ],
    told_at_least: &[("todo", Required::WorkspaceWrite)],
};
