//! The floor's two tools, without any of the care a product needs.

use std::path::Path;
use std::process::{Command, Stdio};

use serde::Deserialize;

pub(super) const SCHEMAS: &str = r#"[{"type":"function","function":{"name":"read_file","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}},{"type":"function","function":{"name":"bash","description":"Runs a command.","parameters":{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}}}]"#;

#[derive(Deserialize)]
struct ReadFile {
    path: String,
}
#[derive(Deserialize)]
struct Bash {
    command: String,
}

pub(super) fn required_mode(tool: &str) -> &'static str {
    if tool == "read_file" { "read-only" } else { "danger-full-access" }
}

/// Output, and whether it is an error.
pub(super) fn run(workspace: &Path, tool: &str, arguments: &str) -> (String, bool) {
    let ran = match tool {
        "read_file" => read_file(workspace, arguments),
        "bash" => bash(workspace, arguments),
        _ => Err(format!("unknown tool: {tool}")),
    };
    match ran {
        Ok(output) => (output, false),
        Err(error) => (error, true),
    }
}

fn read_file(workspace: &Path, arguments: &str) -> Result<String, String> {
    let input: ReadFile = serde_json::from_str(arguments).map_err(|error| error.to_string())?;
    std::fs::read_to_string(workspace.join(input.path)).map_err(|error| error.to_string())
}

fn bash(workspace: &Path, arguments: &str) -> Result<String, String> {
    let input: Bash = serde_json::from_str(arguments).map_err(|error| error.to_string())?;
    let ran = Command::new("bash")
        .args(["-c", &input.command])
        .current_dir(workspace)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    let output = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
    if ran.status.success() { Ok(output) } else { Err(output) }
}
