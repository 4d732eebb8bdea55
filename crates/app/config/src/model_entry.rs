//! `models = [{ slug = "...", ... }]`: what a user knows about a model that its server does not tell. In a provider's table
//! it is `id` instead of `slug`, and a bare text is a model of which nothing more is said.

use vocab::Prices;

use super::agent::LEVELS;
use super::keys::{nearest, snake};
use super::tree::{Node, TreeValue};

#[derive(Clone, PartialEq, Debug)]
pub struct ConfiguredModel {
    /// What it is called: by a provider itself, where it stands in the table of one.
    pub slug: String,
    /// For people.
    pub name: Option<String>,
    pub context_window: Option<u64>,
    pub max_output: Option<u64>,
    /// Dollars per million tokens; unknown is not free.
    pub prices: Option<Prices>,
    pub images: Option<bool>,
    pub thinking: Option<bool>,
    /// Levels of thinking that it takes, weakest first.
    pub levels: Option<Vec<String>>,
}

impl ConfiguredModel {
    /// Of which only the name is known.
    fn named(slug: &str) -> Self {
        Self {
            slug: slug.to_owned(),
            name: None,
            context_window: None,
            max_output: None,
            prices: None,
            images: None,
            thinking: None,
            levels: None,
        }
    }
}

const KEYS: [&str; 8] = ["slug", "name", "context_window", "max_output", "prices", "images", "thinking", "levels"];
const PRICES: [&str; 4] = ["input", "cache_read", "cache_write", "output"];

/// Where something is and what is wrong with it.
pub(super) struct SettingProblem {
    pub(super) key: String,
    pub(super) line: Option<usize>,
    pub(super) what: String,
}

/// Unknown keys go to `unknown` and are passed over; a wrong value ends it.
pub(super) fn read(node: &Node, unknown: &mut Vec<SettingProblem>) -> Result<Vec<ConfiguredModel>, SettingProblem> {
    let TreeValue::List(items) = &node.value else {
        return Err(wrong("models", node, "a list of tables, each with a slug"));
    };
    items.iter().enumerate().map(|(at, item)| entry(&format!("models[{at}]"), "slug", item, unknown)).collect()
}

/// The same in the table of a provider.
pub(super) fn read_of(
    at: &str,
    node: &Node,
    unknown: &mut Vec<SettingProblem>,
) -> Result<Vec<ConfiguredModel>, SettingProblem> {
    let TreeValue::List(items) = &node.value else {
        return Err(wrong(at, node, "a list of names, or of tables with an id"));
    };
    let one = |(place, item): (usize, &Node)| match &item.value {
        TreeValue::Text(id) if !id.trim().is_empty() => Ok(ConfiguredModel::named(id.trim())),
        _ => entry(&format!("{at}[{place}]"), "id", item, unknown),
    };
    items.iter().enumerate().map(one).collect()
}

pub(super) fn wrong(key: &str, node: &Node, wants: &str) -> SettingProblem {
    SettingProblem { key: key.to_owned(), line: node.line, what: format!("wants {wants}, has {}", node.value.kind()) }
}

/// `named`: the key that has its name.
fn entry(
    at: &str,
    named: &str,
    node: &Node,
    unknown: &mut Vec<SettingProblem>,
) -> Result<ConfiguredModel, SettingProblem> {
    let TreeValue::Map(pairs) = &node.value else {
        return Err(wrong(at, node, &format!("a table with the key {named}")));
    };
    let mut entry = ConfiguredModel::named("");
    for (name, value) in pairs {
        let key = format!("{at}.{name}");
        match (snake(name).as_str(), &value.value) {
            (it, TreeValue::Text(text)) if it == named && !text.trim().is_empty() => {
                entry.slug = text.trim().to_owned()
            }
            (it, _) if it == named => return Err(wrong(&key, value, "text")),
            ("name", TreeValue::Text(text)) if !text.trim().is_empty() => entry.name = Some(text.trim().to_owned()),
            ("name", _) => return Err(wrong(&key, value, "text")),
            ("levels", _) => entry.levels = Some(levels(&key, value)?),
            ("context_window", _) => entry.context_window = Some(tokens(&key, value)?),
            ("max_output", _) => entry.max_output = Some(tokens(&key, value)?),
            ("images", TreeValue::Bool(yes)) => entry.images = Some(*yes),
            ("thinking", TreeValue::Bool(yes)) => entry.thinking = Some(*yes),
            ("images" | "thinking", _) => return Err(wrong(&key, value, "true or false")),
            ("prices", _) => entry.prices = Some(prices(&key, value, unknown)?),
            (other, _) => unknown.push(stranger(at, other, value, &KEYS)),
        }
    }
    if entry.slug.is_empty() {
        let what = format!("has no {named}");
        return Err(SettingProblem { key: at.to_owned(), line: node.line, what });
    }
    Ok(entry)
}

pub(super) fn stranger(at: &str, name: &str, node: &Node, known: &[&str]) -> SettingProblem {
    let near = nearest(name, known.iter().copied());
    let what = near.map_or_else(|| "unknown key".to_owned(), |near| format!("unknown key; did you mean `{near}`?"));
    SettingProblem { key: format!("{at}.{name}"), line: node.line, what }
}

fn levels(at: &str, node: &Node) -> Result<Vec<String>, SettingProblem> {
    let wrong = || wrong(at, node, &format!("a list of levels out of {}", LEVELS.join(", ")));
    let TreeValue::List(items) = &node.value else { return Err(wrong()) };
    let level = |item: &Node| match &item.value {
        TreeValue::Text(text) if LEVELS.contains(&text.as_str()) => Ok(text.clone()),
        _ => Err(wrong()),
    };
    items.iter().map(level).collect()
}

fn tokens(key: &str, node: &Node) -> Result<u64, SettingProblem> {
    match node.value {
        TreeValue::Int(number) if number > 0 => Ok(number.unsigned_abs()),
        _ => Err(wrong(key, node, "a whole number above 0")),
    }
}

fn prices(at: &str, node: &Node, unknown: &mut Vec<SettingProblem>) -> Result<Prices, SettingProblem> {
    let TreeValue::Map(pairs) = &node.value else { return Err(wrong(at, node, "a table with input and output")) };
    let mut found = [None; 4];
    for (name, value) in pairs {
        let price = match value.value {
            TreeValue::Int(number) if number >= 0 => number as f64,
            TreeValue::Float(number) if number >= 0.0 => number,
            _ => return Err(wrong(&format!("{at}.{name}"), value, "dollars per million tokens")),
        };
        match PRICES.iter().position(|known| *known == snake(name)) {
            Some(index) => found[index] = Some(price),
            None => unknown.push(stranger(at, name, value, &PRICES)),
        }
    }
    let [Some(input), cache_read, cache_write, Some(output)] = found else {
        let what = "wants at least input and output".to_owned();
        return Err(SettingProblem { key: at.to_owned(), line: node.line, what });
    };
    // Where a cache has no price of its own, its tokens cost what other input costs.
    Ok(Prices { input, cache_read: cache_read.unwrap_or(input), cache_write: cache_write.unwrap_or(input), output })
}
