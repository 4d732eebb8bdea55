//! Ids are newtypes over shared text: cheap to clone, impossible to mix up, minted only through the [`Ids`] port.

use std::fmt;
use std::sync::Arc;

use crate::{FnvSum, Which};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            pub fn new(text: impl Into<Arc<str>>) -> Self {
                Self(text.into())
            }
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }
        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }
        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }
    };
}

id! { /// One conversation.
SessionId }
id! { /// One run of the agent.
TurnId }
id! { /// One tool call; chosen by the model, made unique within its turn by the engine.
CallId }
id! { /// One question of the engine.
AskId }
id! { /// One message waiting in a lane.
ItemId }

/// Characters of an id that a file may bring along.
const PLAIN_CHARS_MAX: usize = 128;
/// Bytes of a file's name that an id takes, before it is cut.
const STEM_BYTES_MAX: usize = 120;

impl SessionId {
    /// Whether commands can name it, and files can be called after it: letters, digits, `-`, `_` and single dots between
    /// them, and no word that means something else. Ours are; what a file calls its session may not be.
    pub fn is_plain(&self) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        let text = self.as_str();
        text.len() <= PLAIN_CHARS_MAX
            && text.starts_with(|first: char| first.is_ascii_alphanumeric())
            && text.bytes().all(is_plain)
            && !text.contains("..")
            && !text.ends_with('.')
            && !matches!(Which::parse(text), Which::Latest)
    }

    /// What its files are called: a plain name for any id, and another one for another id. Long ones are cut, and told apart by a
    /// sum over all of them.
    pub fn file_stem(&self) -> String {
        let mut stem = String::with_capacity(self.as_str().len());
        for byte in self.as_str().bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' => stem.push(char::from(byte)),
                _ => stem.push_str(&format!("_{byte:02x}")),
            }
        }
        if stem.len() > STEM_BYTES_MAX {
            stem.truncate(STEM_BYTES_MAX);
            stem.push_str(&format!("_{:016x}", FnvSum::of(self.as_str().as_bytes())));
        }
        stem
    }
}

/// One attached controller, numbered by the engine that it is attached to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct PeerId(pub u64);

/// Joins a reply to the command that caused it. Chosen by the dialect, echoed by the engine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Tag(pub u64);

/// What an id is for; lets a test mint readable ones (`t1`, `ask2`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum IdKind {
    Session,
    Turn,
    Call,
    Ask,
    Item,
}

/// Mints ids. A port, so that tests count instead of rolling dice.
pub trait Ids: Send + Sync {
    fn mint(&self, kind: IdKind) -> String;
}

/// Wall-clock time, for stamps only: durations and timeouts use the monotonic clock.
pub trait Clock: Send + Sync {
    fn now_ms(&self) -> i64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_ids_have_the_same_file_and_none_leaves_its_directory() {
        let (long, longer) = ("x".repeat(500), "x".repeat(501));
        let ids = ["ws:a", "ws_a", "ws_3aa", "..", "a/b", "a_2fb", "\u{fc}", "plain-7", &long, &longer];
        let mut stems: Vec<String> = ids.iter().map(|id| SessionId::from(*id).file_stem()).collect();
        let is_plain = |stem: &String| stem.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        assert!(stems.iter().all(is_plain), "{stems:?}");
        stems.sort();
        stems.dedup();
        assert_eq!(stems.len(), ids.len());
    }
}
