//! `[providers.NAME]`: a vendor with other settings than usual, or a model server of one's own. Only the user's own
//! configuration is read for it: addresses, keys and commands of a project directory never count.

use std::path::PathBuf;

use providers::{Api, Compat, Secret};

use super::SettingSource;
use super::agent::{Word, compat};
use super::keys::snake;
use super::model_entry::{self, ConfiguredModel, SettingProblem, stranger, wrong};
use super::tree::{Node, TreeValue};
use super::trust::beside;

/// What was said; the rest is the vendor's, or as usual.
#[derive(Clone, PartialEq, Debug)]
pub struct ProviderEntry {
    pub name: String,
    pub api: Option<Api>,
    pub base_url: Option<String>,
    /// The variable with the key.
    pub key_env: Option<String>,
    /// A file with nothing but the key.
    pub key_file: Option<PathBuf>,
    /// A shell command that prints the key.
    pub secret_command: Option<Secret>,
    pub headers: Vec<(String, Word)>,
    /// Named by `${NAME}` in here: their values stand in the headers as text.
    pub variables: Vec<String>,
    /// Certificates to trust besides the system's.
    pub ca_file: Option<PathBuf>,
    pub compat: Compat,
    pub models: Vec<ConfiguredModel>,
}

const KEYS: [&str; 9] =
    ["api", "base_url", "key_env", "key_file", "secret_command", "headers", "ca_file", "compat", "models"];

/// All of them in the order of the file. A wrong value ends it; values are not repeated in what is said.
pub(super) fn read(
    node: &Node,
    from: &SettingSource,
    unknown: &mut Vec<SettingProblem>,
) -> Result<Vec<ProviderEntry>, SettingProblem> {
    let TreeValue::Map(pairs) = &node.value else { return Err(wrong("providers", node, "a table of model servers")) };
    pairs.iter().map(|(name, node)| entry(name, node, from, unknown)).collect()
}

fn entry(
    name: &str,
    node: &Node,
    from: &SettingSource,
    unknown: &mut Vec<SettingProblem>,
) -> Result<ProviderEntry, SettingProblem> {
    let at = format!("providers.{name}");
    let TreeValue::Map(pairs) = &node.value else { return Err(wrong(&at, node, "a table")) };
    if name.trim().is_empty() || name.contains('/') || matches!(name, "tour" | "local") {
        let what = "is a name that no provider can have".to_owned();
        return Err(SettingProblem { key: at, line: node.line, what });
    }
    let mut entry = ProviderEntry {
        name: name.to_owned(),
        api: None,
        base_url: None,
        key_env: None,
        key_file: None,
        secret_command: None,
        headers: Vec::new(),
        variables: Vec::new(),
        ca_file: None,
        compat: Compat::default(),
        models: Vec::new(),
    };
    for (spelled, node) in pairs {
        let key = format!("{at}.{spelled}");
        let text = || text(&key, node);
        match snake(spelled).as_str() {
            "api" => entry.api = Some(api(&key, node)?),
            "base_url" => entry.base_url = Some(text()?),
            "key_env" => entry.key_env = Some(text()?),
            "key_file" => entry.key_file = Some(beside(&text()?, from)),
            "secret_command" => entry.secret_command = Secret::new(&text()?),
            "headers" => entry.headers = headers(&key, node)?,
            "ca_file" => entry.ca_file = Some(beside(&text()?, from)),
            "compat" => {
                let problem = |what| SettingProblem { key: key.clone(), line: node.line, what };
                entry.compat = compat(&camel(node), "").map_err(problem)?;
            }
            "models" => entry.models = model_entry::read_of(&key, node, unknown)?,
            "api_key" | "key" => {
                let what = "keys are not read from here: use key_env, key_file or secret_command".to_owned();
                return Err(SettingProblem { key, line: node.line, what });
            }
            other => unknown.push(stranger(&at, other, node, &KEYS)),
        }
    }
    Ok(entry)
}

fn text(key: &str, node: &Node) -> Result<String, SettingProblem> {
    match &node.value {
        TreeValue::Text(text) if !text.trim().is_empty() => Ok(text.trim().to_owned()),
        _ => Err(wrong(key, node, "text")),
    }
}

fn api(key: &str, node: &Node) -> Result<Api, SettingProblem> {
    Api::parse(&text(key, node)?).ok_or_else(|| {
        let what = format!("is not spoken; there is: {}", Api::ALL.map(Api::as_str).join(", "));
        SettingProblem { key: key.to_owned(), line: node.line, what }
    })
}

/// A value is the text itself, or `!command` whose output it is.
fn headers(at: &str, node: &Node) -> Result<Vec<(String, Word)>, SettingProblem> {
    let TreeValue::Map(pairs) = &node.value else { return Err(wrong(at, node, "a table of texts")) };
    let mut found = Vec::new();
    for (name, node) in pairs {
        let TreeValue::Text(value) = &node.value else { return Err(wrong(&format!("{at}.{name}"), node, "text")) };
        found.extend(Word::read(value, &|_| None).map(|word| (name.clone(), word)));
    }
    Ok(found)
}

/// The switches are those of an agent's models file, which spells them in another way.
fn camel(node: &Node) -> Node {
    let TreeValue::Map(pairs) = &node.value else { return node.clone() };
    let spell = |key: &str| {
        let mut words = key.split('_');
        let first = words.next().unwrap_or_default().to_owned();
        words.fold(first, |text, word| {
            let mut letters = word.chars();
            let start = letters.next().map(|letter| letter.to_ascii_uppercase());
            text + &start.into_iter().chain(letters).collect::<String>()
        })
    };
    let pairs = pairs.iter().map(|(key, node)| (spell(key), node.clone())).collect();
    // Whoever reads it looks for them under this name.
    let compat = Node { value: TreeValue::Map(pairs), line: node.line };
    Node { value: TreeValue::Map(vec![("compat".to_owned(), compat)]), line: node.line }
}
