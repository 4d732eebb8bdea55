//! How members are read that may be broken.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// Members that have no type here, kept for a client that records them or knows more.
pub type Other = Map<String, Value>;

/// What has a type here, or as it came where it does not fit.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Readable<T> {
    Known(T),
    Raw(Value),
}

/// The answer to a request of ours; `None` where it is no object, or lacks what it must have.
pub fn read_answer<T: DeserializeOwned>(answer: &Value) -> Option<T> {
    answer.is_object().then(|| T::deserialize(answer).ok()).flatten()
}

/// A member of the wrong type is as good as none.
pub(crate) fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(from: D) -> Result<T, D::Error> {
    let value = Value::deserialize(from)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// A list without the entries that cannot be read.
pub(crate) fn entries<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<Vec<T>, D::Error> {
    Ok(optional_entries(from)?.unwrap_or_default())
}

/// The same where the list may be missing; `null` is missing, too.
pub(crate) fn optional_entries<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
) -> Result<Option<Vec<T>>, D::Error> {
    let Value::Array(items) = Value::deserialize(from)? else { return Ok(None) };
    Ok(Some(items.into_iter().filter_map(|item| serde_json::from_value(item).ok()).collect()))
}

/// A list in which an entry that cannot be read stands as an empty one, to be refused by the agent that needs what it lacks.
pub(crate) fn all_entries<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    let Value::Array(items) = Value::deserialize(from)? else { return Ok(Vec::new()) };
    Ok(items.into_iter().map(|item| serde_json::from_value(item).unwrap_or_default()).collect())
}

/// A yes or no. An object says yes, too: some agents mark with one what the protocol calls a boolean.
pub(crate) fn flag<'de, D: Deserializer<'de>>(from: D) -> Result<Option<bool>, D::Error> {
    Ok(match Value::deserialize(from)? {
        Value::Bool(yes) => Some(yes),
        Value::Object(_) => Some(true),
        _ => None,
    })
}
