//! `${NAME}` in the user's own file: the text of that variable. Files of a workspace have no such thing, for a stranger could
//! have written them and would read the user's environment with it.

use std::collections::BTreeSet;

use super::keys::snake;
use super::tree::{Node, TreeValue};
use super::{Env, redact};

/// A variable that is not set.
#[derive(PartialEq, Debug)]
pub(super) struct UnsetVariable {
    pub(super) name: String,
    pub(super) line: Option<usize>,
}

/// Which variables a file names, and where.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct References {
    /// Settings whose value came from a variable that is named like a secret.
    pub(super) secrets: BTreeSet<String>,
    /// A setting, and a variable in its value.
    variables: BTreeSet<(String, String)>,
}

impl References {
    /// The variables that are named below a table.
    pub(super) fn below(&self, table: &str, entry: &str) -> Vec<String> {
        let prefix = format!("{table}.{}.", snake(entry));
        let below = self.variables.iter().filter(|(path, _)| path.starts_with(&prefix));
        below.map(|(_, variable)| variable.clone()).collect()
    }
}

/// Puts the values in. What a shell runs stays as it is, because the shell does the same.
pub(super) fn expand(node: &mut Node, env: Env<'_>) -> Result<References, UnsetVariable> {
    let mut references = References::default();
    walk(node, "", None, env, &mut references)?;
    Ok(references)
}

fn walk(
    node: &mut Node,
    path: &str,
    line: Option<usize>,
    env: Env<'_>,
    references: &mut References,
) -> Result<(), UnsetVariable> {
    let line = node.line.or(line);
    match &mut node.value {
        TreeValue::Text(text) if text.contains("${") && !text.trim_start().starts_with('!') => {
            let (put, names) = expanded(text, env).map_err(|name| UnsetVariable { name, line })?;
            *text = put;
            if redact::is_secret_name(path) || names.iter().any(|name| redact::is_secret_name(name)) {
                references.secrets.insert(path.to_owned());
            }
            references.variables.extend(names.into_iter().map(|name| (path.to_owned(), name)));
            Ok(())
        }
        TreeValue::List(items) => items.iter_mut().try_for_each(|item| walk(item, path, line, env, references)),
        TreeValue::Map(pairs) => pairs.iter_mut().try_for_each(|(name, node)| {
            let name = snake(name);
            if name == "secret_command" {
                return Ok(());
            }
            let path = if path.is_empty() { name } else { format!("{path}.{name}") };
            walk(node, &path, line, env, references)
        }),
        _ => Ok(()),
    }
}

/// The text with the values of its variables, and their names. `$${` stands for `${`.
fn expanded(text: &str, env: Env<'_>) -> Result<(String, Vec<String>), String> {
    let (mut put, mut names, mut rest) = (String::with_capacity(text.len()), Vec::new(), text);
    while let Some(at) = rest.find("${") {
        let (before, found) = rest.split_at(at);
        if let Some(before) = before.strip_suffix('$') {
            put.push_str(before);
            put.push_str("${");
            rest = &found[2..];
            continue;
        }
        put.push_str(before);
        let Some(end) = found.find('}').filter(|end| is_name(&found[2..*end])) else {
            put.push_str("${");
            rest = &found[2..];
            continue;
        };
        let name = &found[2..end];
        put.push_str(&env(name).ok_or_else(|| name.to_owned())?);
        names.push(name.to_owned());
        rest = &found[end + 1..];
    }
    put.push_str(rest);
    Ok((put, names))
}

/// The variable that a text is made of and of nothing else.
pub(super) fn only_variable(text: &str) -> Option<&str> {
    let name = text.trim().strip_prefix("${")?.strip_suffix('}')?;
    is_name(name).then_some(name)
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
