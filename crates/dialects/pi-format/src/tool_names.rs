//! How controllers of this dialect, and the models behind it, spell the tools.

use vocab::names::ToolNames;

/// What is not listed has its canonical name.
pub const TOOL_NAMES: ToolNames = ToolNames {
    rows: &[
        ("read_file", "read"),
        ("write_file", "write"),
        ("edit_file", "edit"),
        ("glob", "find"),
        ("list_dir", "ls"),
        ("todo", "todo_write"),
    ],
    told_at_least: &[],
};
