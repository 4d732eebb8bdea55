//! The page says what the code does: its limits and versions are the constants.

#[test]
fn the_page_tells_the_real_limits() {
    let page = include_str!("../../../../../docs/mcp.md");
    let row = |start: &str, value: String| {
        let line = page.lines().find(|line| line.starts_with(&format!("| {start} | ")));
        let line = line.unwrap_or_else(|| panic!("no row {start:?}"));
        assert!(line.contains(&format!("| {value}")), "{line} should say {value}");
    };
    row("servers of one session", mcp::SERVERS_MAX.to_string());
    row("from the start to the list of tools", format!("{} s", mcp::START_LIMIT.as_secs()));
    row("one call", format!("{} s", mcp::CALL_LIMIT.as_secs()));
    row("one message of a server", format!("{} bytes", mcp::MESSAGE_BYTES_MAX));
    row("tools of one server", format!("{}, on {} pages", mcp::TOOLS_MAX, mcp::PAGES_MAX));
    row("schema of one tool", format!("{} bytes", mcp::SCHEMA_BYTES_MAX));
    row("description of one tool", format!("{} characters", mcp::DESCRIPTION_CHARS_MAX));
    row("text of one result", format!("{} bytes", mcp::TEXT_BYTES_MAX));
    row("pictures of one result", format!("{} bytes", mcp::IMAGE_BYTES_MAX));
    row("structured content of one result", format!("{} bytes", mcp::STRUCTURED_BYTES_MAX));
    row("kept of stderr", format!("{} lines", process::TAIL_LINES));
    row("versions", format!("asks for {}; understands {}", mcp::PROTOCOL, mcp::UNDERSTOOD.join(", ")));
}
