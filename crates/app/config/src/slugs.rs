//! `[aliases]` and `[tiers]`: names that stand for models.

use super::keys::SettingValue;
use super::model_entry::{SettingProblem, wrong};
use super::tree::{Node, TreeValue};

/// Which of the two tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slugs {
    /// A name of the user's own for one model.
    Aliases,
    /// One of [`TIERS`]: the first model is asked, the others when it cannot answer.
    Tiers,
}

/// How much a model is worth asking for: quick and cheap, everyday, the best there is, nothing that leaves this machine.
pub const TIERS: [&str; 4] = ["fast", "default", "complex", "local"];

pub(super) fn read(which: Slugs, node: &Node) -> Result<Vec<(String, Vec<String>)>, SettingProblem> {
    let table = match which {
        Slugs::Aliases => "aliases",
        Slugs::Tiers => "tiers",
    };
    let TreeValue::Map(pairs) = &node.value else { return Err(wrong(table, node, "a table of names and models")) };
    let mut found = Vec::with_capacity(pairs.len());
    for (name, node) in pairs {
        let key = format!("{table}.{name}");
        let taken = TIERS.contains(&name.as_str());
        let what = match which {
            Slugs::Aliases if taken => Some("is the name of a tier; it belongs into [tiers]".to_owned()),
            Slugs::Aliases if name.trim().is_empty() || name.contains('/') => Some("has a `/` in it".to_owned()),
            Slugs::Tiers if !taken => Some(format!("is no tier; there is: {}", TIERS.join(", "))),
            Slugs::Aliases | Slugs::Tiers => None,
        };
        if let Some(what) = what {
            return Err(SettingProblem { key, line: node.line, what });
        }
        let slugs = match (which, &node.value) {
            (_, TreeValue::Text(text)) => vec![text.trim().to_owned()],
            (Slugs::Tiers, TreeValue::List(items)) => items.iter().filter_map(text).collect(),
            (Slugs::Tiers, _) => return Err(wrong(&key, node, "a model or a list of models")),
            (Slugs::Aliases, _) => return Err(wrong(&key, node, "a model")),
        };
        let length = if let TreeValue::List(items) = &node.value { items.len() } else { 1 };
        if slugs.is_empty() || slugs.len() < length || slugs.iter().any(String::is_empty) {
            return Err(wrong(&key, node, "names of models"));
        }
        found.push((name.clone(), slugs));
    }
    Ok(found)
}

/// `aliases.NAME` or `tiers.NAME`: which table, and the name.
pub(super) fn entry(key: &str) -> Option<(Slugs, &str)> {
    let (table, name) = key.split_once('.')?;
    match table {
        "aliases" => Some((Slugs::Aliases, name)),
        "tiers" => Some((Slugs::Tiers, name)),
        _ => None,
    }
}

/// One line of a table as it is typed; a tier may have several models, with commas between them.
pub(super) fn check_text(which: Slugs, name: &str, typed: &str) -> Result<SettingValue, String> {
    let node = |value: TreeValue| Node { value, line: None };
    let listed = typed.split(',').map(|slug| node(TreeValue::Text(slug.trim().to_owned()))).collect::<Vec<_>>();
    let is_list = which == Slugs::Tiers && listed.len() > 1;
    let value = if is_list { TreeValue::List(listed) } else { TreeValue::Text(typed.trim().to_owned()) };
    let table = node(TreeValue::Map(vec![(name.to_owned(), node(value))]));
    let read = read(which, &table).map_err(|problem| format!("`{}` {}", problem.key, problem.what))?;
    let slugs = read.into_iter().flat_map(|(_, slugs)| slugs).collect::<Vec<_>>();
    Ok(match is_list {
        true => SettingValue::Texts(slugs),
        false => SettingValue::Text(slugs.concat()),
    })
}

fn text(node: &Node) -> Option<String> {
    match &node.value {
        TreeValue::Text(text) => Some(text.trim().to_owned()),
        _ => None,
    }
}
