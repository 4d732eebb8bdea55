//! `[servers.NAME]`: servers of tools that every session gets. A process (`command`, `args`, `env`) or an address (`url`, `headers`);
//! `trust_hints` where its word about its tools counts.

use std::sync::Arc;

use vocab::{McpServer, McpTransport, Secret};

use super::model_entry::SettingProblem;
use super::tree::{Node, TreeValue};

const KEYS: [&str; 6] = ["command", "args", "env", "url", "headers", "trust_hints"];

/// All of them in the order of the file. A wrong value ends it; values of `env` and `headers` are never repeated in what is said.
pub(super) fn read(node: &Node) -> Result<Vec<McpServer>, SettingProblem> {
    let TreeValue::Map(servers) = &node.value else { return Err(wrong("servers", node, "a table of servers")) };
    servers.iter().map(|(name, node)| server(name, node)).collect()
}

fn server(name: &str, node: &Node) -> Result<McpServer, SettingProblem> {
    let at = format!("servers.{name}");
    let TreeValue::Map(pairs) = &node.value else { return Err(wrong(&at, node, "a table with command or url")) };
    if let Some((key, value)) = pairs.iter().find(|(key, _)| !KEYS.contains(&key.as_str())) {
        let what = format!("is unknown; a server has {}", KEYS.join(", "));
        return Err(SettingProblem { key: format!("{at}.{key}"), line: value.line, what });
    }
    let (command, url) = (text(&at, node, "command")?, text(&at, node, "url")?);
    let way = match (command, url) {
        (Some(command), None) => {
            McpTransport::Process { command, args: texts(&at, node, "args")?, env: secrets(&at, node, "env")? }
        }
        (None, Some(url)) => McpTransport::Http { url, headers: secrets(&at, node, "headers")? },
        _ => {
            let what = "wants either command or url".to_owned();
            return Err(SettingProblem { key: at, line: node.line, what });
        }
    };
    let trust_hints = match node.get("trust_hints").map(|node| (node, &node.value)) {
        None => false,
        Some((_, TreeValue::Bool(yes))) => *yes,
        Some((node, _)) => return Err(wrong(&format!("{at}.trust_hints"), node, "true or false")),
    };
    Ok(McpServer { name: name.into(), way, trust_hints })
}

fn text(at: &str, node: &Node, key: &str) -> Result<Option<Arc<str>>, SettingProblem> {
    match node.get(key).map(|node| (node, &node.value)) {
        None => Ok(None),
        Some((_, TreeValue::Text(text))) if !text.trim().is_empty() => Ok(Some(text.trim().into())),
        Some((node, _)) => Err(wrong(&format!("{at}.{key}"), node, "text")),
    }
}

fn texts(at: &str, node: &Node, key: &str) -> Result<Vec<Arc<str>>, SettingProblem> {
    let Some(node) = node.get(key) else { return Ok(Vec::new()) };
    let wrong = || wrong(&format!("{at}.{key}"), node, "a list of texts");
    let TreeValue::List(items) = &node.value else { return Err(wrong()) };
    let text = |item: &Node| match &item.value {
        TreeValue::Text(text) => Ok(text.as_str().into()),
        _ => Err(wrong()),
    };
    items.iter().map(text).collect()
}

/// A table of texts. An empty one is as good as none.
fn secrets(at: &str, node: &Node, key: &str) -> Result<Vec<(Arc<str>, Secret)>, SettingProblem> {
    let Some(node) = node.get(key) else { return Ok(Vec::new()) };
    let wrong = || wrong(&format!("{at}.{key}"), node, "a table of texts");
    let TreeValue::Map(pairs) = &node.value else { return Err(wrong()) };
    let mut found = Vec::new();
    for (name, value) in pairs {
        let TreeValue::Text(text) = &value.value else { return Err(wrong()) };
        found.extend(Secret::new(text).map(|secret| (name.as_str().into(), secret)));
    }
    Ok(found)
}

fn wrong(key: &str, node: &Node, wants: &str) -> SettingProblem {
    SettingProblem { key: key.to_owned(), line: node.line, what: format!("wants {wants}, has {}", node.value.kind()) }
}
