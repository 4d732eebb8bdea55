//! Who acts, as the log and the audit call them.

use std::fmt;
use std::sync::Arc;

use crate::visible;

/// Characters of a name that are kept; whoever chose a longer one is known by its beginning.
const NAME_CHARS_MAX: usize = 128;

/// Who wants something: `user:ann`, `controller:editor`, `token:ci`, `sender:chat/42`, `extension:guard`. A word for the log;
/// what somebody may do is decided where they come in.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Principal(Arc<str>);

impl Principal {
    /// Somebody of this machine.
    pub fn user(name: &str) -> Self {
        Self::of("user", name)
    }
    /// A program that has said its name and proved nothing.
    pub fn controller(name: &str) -> Self {
        Self::of("controller", name)
    }
    /// Whoever holds the token of this name.
    pub fn token(name: &str) -> Self {
        Self::of("token", name)
    }
    /// Somebody on a channel, by the word of what brought the message here.
    pub fn sender(channel: &str, name: &str) -> Self {
        Self::of("sender", &format!("{channel}/{name}"))
    }
    pub fn extension(name: &str) -> Self {
        Self::of("extension", name)
    }
    /// As a log has it.
    pub fn logged(text: &str) -> Self {
        Self(text.into())
    }

    fn of(kind: &str, name: &str) -> Self {
        let name: String = visible::visible_line(name).chars().take(NAME_CHARS_MAX).collect();
        let name = if name.is_empty() { "?" } else { &name };
        Self(format!("{kind}:{name}").into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
    /// Whoever has shown a token, or is logged in with one.
    pub fn is_token(&self) -> bool {
        self.0.starts_with("token:")
    }
    /// Somebody whose name is only known because they run on this machine.
    pub fn is_local_user(&self) -> bool {
        self.0.starts_with("user:")
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_visible_line_of_bounded_length() {
        assert_eq!(Principal::user("ann").as_str(), "user:ann");
        assert_eq!(Principal::sender("chat", "42").as_str(), "sender:chat/42");
        assert_eq!(Principal::controller("").as_str(), "controller:?");
        let odd = Principal::controller("a\nb\u{202e}c\u{1b}[31m");
        assert!(!odd.as_str().contains(['\n', '\u{202e}', '\u{1b}']), "{odd:?}");
        assert_eq!(Principal::token(&"ü".repeat(500)).as_str().chars().count(), "token:".len() + NAME_CHARS_MAX);
    }
}
