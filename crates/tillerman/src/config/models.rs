//! `models = [{ slug = "...", ... }]`: what a user knows about a model that its server does not tell.

use vocab::Prices;

use super::keys::{nearest, snake};
use super::tree::{Node, Value};

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct ModelEntry {
    pub(crate) slug: String,
    pub(crate) context_window: Option<u64>,
    pub(crate) max_output: Option<u64>,
    /// Dollars per million tokens; unknown is not free.
    pub(crate) prices: Option<Prices>,
    pub(crate) images: Option<bool>,
    pub(crate) thinking: Option<bool>,
}

const KEYS: [&str; 6] = ["slug", "context_window", "max_output", "prices", "images", "thinking"];
const PRICES: [&str; 4] = ["input", "cache_read", "cache_write", "output"];

/// Where something is and what is wrong with it.
pub(super) struct Problem {
    pub(super) key: String,
    pub(super) line: Option<usize>,
    pub(super) what: String,
}

/// Unknown keys go to `unknown` and are passed over; a wrong value ends it.
pub(super) fn read(node: &Node, unknown: &mut Vec<Problem>) -> Result<Vec<ModelEntry>, Problem> {
    let Value::List(items) = &node.value else {
        return Err(wrong("models", node, "a list of tables, each with a slug"));
    };
    items.iter().enumerate().map(|(at, item)| entry(&format!("models[{at}]"), item, unknown)).collect()
}

fn wrong(key: &str, node: &Node, wants: &str) -> Problem {
    Problem { key: key.to_owned(), line: node.line, what: format!("wants {wants}, has {}", node.value.kind()) }
}

fn entry(at: &str, node: &Node, unknown: &mut Vec<Problem>) -> Result<ModelEntry, Problem> {
    let Value::Map(pairs) = &node.value else { return Err(wrong(at, node, "a table with a slug")) };
    let mut entry = ModelEntry {
        slug: String::new(),
        context_window: None,
        max_output: None,
        prices: None,
        images: None,
        thinking: None,
    };
    for (name, value) in pairs {
        let key = format!("{at}.{name}");
        match (snake(name).as_str(), &value.value) {
            ("slug", Value::Text(text)) if !text.trim().is_empty() => entry.slug = text.trim().to_owned(),
            ("slug", _) => return Err(wrong(&key, value, "text")),
            ("context_window", _) => entry.context_window = Some(tokens(&key, value)?),
            ("max_output", _) => entry.max_output = Some(tokens(&key, value)?),
            ("images", Value::Bool(yes)) => entry.images = Some(*yes),
            ("thinking", Value::Bool(yes)) => entry.thinking = Some(*yes),
            ("images" | "thinking", _) => return Err(wrong(&key, value, "true or false")),
            ("prices", _) => entry.prices = Some(prices(&key, value, unknown)?),
            (other, _) => unknown.push(stranger(at, other, value, &KEYS)),
        }
    }
    if entry.slug.is_empty() {
        let what = "has no slug".to_owned();
        return Err(Problem { key: at.to_owned(), line: node.line, what });
    }
    Ok(entry)
}

fn stranger(at: &str, name: &str, node: &Node, known: &[&str]) -> Problem {
    let near = nearest(name, known.iter().copied());
    let what = near.map_or_else(|| "unknown key".to_owned(), |near| format!("unknown key; did you mean `{near}`?"));
    Problem { key: format!("{at}.{name}"), line: node.line, what }
}

fn tokens(key: &str, node: &Node) -> Result<u64, Problem> {
    match node.value {
        Value::Int(number) if number > 0 => Ok(number.unsigned_abs()),
        _ => Err(wrong(key, node, "a whole number above 0")),
    }
}

fn prices(at: &str, node: &Node, unknown: &mut Vec<Problem>) -> Result<Prices, Problem> {
    let Value::Map(pairs) = &node.value else { return Err(wrong(at, node, "a table with input and output")) };
    let mut found = [None; 4];
    for (name, value) in pairs {
        let price = match value.value {
            Value::Int(number) if number >= 0 => number as f64,
            Value::Float(number) if number >= 0.0 => number,
            _ => return Err(wrong(&format!("{at}.{name}"), value, "dollars per million tokens")),
        };
        match PRICES.iter().position(|known| *known == snake(name)) {
            Some(index) => found[index] = Some(price),
            None => unknown.push(stranger(at, name, value, &PRICES)),
        }
    }
    let [Some(input), cache_read, cache_write, Some(output)] = found else {
        let what = "wants at least input and output".to_owned();
        return Err(Problem { key: at.to_owned(), line: node.line, what });
    };
    // Where a cache has no price of its own, its tokens cost what other input costs.
    Ok(Prices { input, cache_read: cache_read.unwrap_or(input), cache_write: cache_write.unwrap_or(input), output })
}
