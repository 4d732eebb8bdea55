//! What an agent says, as types that forgive: an unknown word is kept as it came, a broken optional field counts as missing, a
//! broken entry of a list is left out, and whatever we do not know stays in `other`, so that nothing said is lost.

mod call;
mod content;
mod hello;
mod session;
mod update;

pub use call::{CallContent, CallKind, CallStatus, Location, ToolCall};
pub use content::Block;
pub use hello::{Agent, AuthMethod, Capabilities, Info};
pub use session::{
    Choice, ConfigOption, Listed, ModeEntry, ModelEntry, Models, Modes, OptionKind, Page, PermissionOption,
    SessionInfo, StopReason, Usage,
};
pub use update::{Chunk, CommandEntry, Cost, PlanEntry, Update};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// Members that are nobody's business here, kept for whoever records or knows more.
pub type Other = Map<String, Value>;

/// A field of the wrong type is as good as none.
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

/// An enum of words where an unknown one is kept.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($variant:ident = $word:literal),* $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum $name {
            $($variant,)*
            /// A word of a newer or another agent.
            Unknown(String),
        }
        impl $name {
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)*
                    Self::Unknown(word) => word,
                }
            }
        }
        impl From<String> for $name {
            fn from(word: String) -> Self {
                match word.as_str() {
                    $($word => Self::$variant,)*
                    _ => Self::Unknown(word),
                }
            }
        }
        impl From<$name> for String {
            fn from(word: $name) -> String {
                word.as_str().to_owned()
            }
        }
    };
}
pub(crate) use words;
