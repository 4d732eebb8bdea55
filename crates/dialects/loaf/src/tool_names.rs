//! How controllers of this dialect, and the models behind it, spell the tools.

use vocab::names::ToolNames;

/// What is not listed has its canonical name.
pub const TOOL_NAMES: ToolNames = ToolNames {
    rows: &[
        ("grep", "grep_files"),
        ("bash_list", "list_background_bash"),
        ("bash_read", "read_background_bash"),
        ("bash_write", "write_background_bash"),
        ("bash_resize", "resize_background_bash"),
        ("bash_stop", "stop_background_bash"),
        ("web_search", "search_web"),
    ],
    told_at_least: &[],
};
