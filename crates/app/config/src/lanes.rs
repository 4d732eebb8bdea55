//! `server.queue` and what it says otherwise for single channels and sessions.

use vocab::{Coalesce, LaneMode, LaneWish, Overflow};

use super::keys::snake;
use super::model_entry::{SettingProblem, stranger, wrong};
use super::tree::{Node, TreeValue};

pub(super) const MODES: [&str; 5] = ["collect", "followup", "steer", "steer_backlog", "interrupt"];
pub(super) const OVERFLOWS: [&str; 2] = ["drop_old", "drop_new"];
pub(super) const COALESCES: [&str; 3] = ["auto", "always", "never"];
/// More waiting messages than this are nobody's intention.
pub(super) const CAP_MAX: u64 = 1_000;
pub(super) const DEBOUNCE_MS_MAX: u64 = 60_000;

const KEYS: [&str; 6] = ["mode", "cap", "overflow", "debounce_ms", "summarize_overflow", "coalesce"];

pub(super) fn mode(word: &str) -> Option<LaneMode> {
    Some(match word {
        "collect" => LaneMode::Collect,
        "followup" => LaneMode::Followup,
        "steer" => LaneMode::Steer,
        "steer_backlog" => LaneMode::SteerBacklog,
        "interrupt" => LaneMode::Interrupt,
        _ => return None,
    })
}

pub(super) fn overflow(word: &str) -> Option<Overflow> {
    Some(match word {
        "drop_old" => Overflow::DropOld,
        "drop_new" => Overflow::DropNew,
        _ => return None,
    })
}

pub(super) fn coalesce(word: &str) -> Option<Coalesce> {
    Some(match word {
        "auto" => Coalesce::Auto,
        "always" => Coalesce::Always,
        "never" => Coalesce::Never,
        _ => return None,
    })
}

/// A table of them by name. The names are channels or sessions and stay as they are spelled.
pub(super) fn read(
    at: &str,
    node: &Node,
    unknown: &mut Vec<SettingProblem>,
) -> Result<Vec<(String, LaneWish)>, SettingProblem> {
    let TreeValue::Map(pairs) = &node.value else { return Err(wrong(at, node, "a table of lane rules by name")) };
    let one = |(name, node): &(String, Node)| Ok((name.clone(), wish(&format!("{at}.{name}"), node, unknown)?));
    pairs.iter().map(one).collect()
}

fn wish(at: &str, node: &Node, unknown: &mut Vec<SettingProblem>) -> Result<LaneWish, SettingProblem> {
    let TreeValue::Map(pairs) = &node.value else { return Err(wrong(at, node, "a table of lane rules")) };
    let mut wish = LaneWish::default();
    for (spelled, node) in pairs {
        let key = format!("{at}.{spelled}");
        match snake(spelled).as_str() {
            "mode" => wish.mode = Some(word(&key, node, &MODES, mode)?),
            "overflow" => wish.overflow = Some(word(&key, node, &OVERFLOWS, overflow)?),
            "coalesce" => wish.coalesce = Some(word(&key, node, &COALESCES, coalesce)?),
            "cap" => wish.cap = Some(usize::try_from(number(&key, node, 1, CAP_MAX)?).unwrap_or(usize::MAX)),
            "debounce_ms" => wish.debounce_ms = Some(number(&key, node, 0, DEBOUNCE_MS_MAX)?),
            "summarize_overflow" => match node.value {
                TreeValue::Bool(on) => wish.summarise = Some(on),
                _ => return Err(wrong(&key, node, "true or false")),
            },
            other => unknown.push(stranger(at, other, node, &KEYS)),
        }
    }
    Ok(wish)
}

fn word<T>(key: &str, node: &Node, words: &[&str], read: fn(&str) -> Option<T>) -> Result<T, SettingProblem> {
    let found = match &node.value {
        TreeValue::Text(text) => read(text.trim()),
        _ => None,
    };
    found.ok_or_else(|| wrong(key, node, &format!("one of {}", words.join(", "))))
}

fn number(key: &str, node: &Node, min: u64, max: u64) -> Result<u64, SettingProblem> {
    let found = match node.value {
        TreeValue::Int(number) => u64::try_from(number).ok().filter(|number| (min..=max).contains(number)),
        _ => None,
    };
    found.ok_or_else(|| {
        let wants = format!("a whole number from {min} to {max}");
        match node.value {
            TreeValue::Int(number) => {
                SettingProblem { key: key.to_owned(), line: node.line, what: format!("wants {wants}, has {number}") }
            }
            _ => wrong(key, node, &wants),
        }
    })
}
