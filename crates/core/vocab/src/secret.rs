//! A key that cannot be printed by accident.

use std::fmt;
use std::sync::Arc;

use crate::spelling;

const MASK: &str = "***";

/// An API key. Shows as `***`; only [`Secret::expose`] gives it away, and only the request head calls that.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// `None` for a blank key: an empty variable means that there is none.
    pub fn new(key: &str) -> Option<Self> {
        let key = key.trim();
        (!key.is_empty()).then(|| Self(key.into()))
    }
    pub fn expose(&self) -> &str {
        &self.0
    }
    /// `text` with every occurrence of the key masked, in whatever spelling, for what a server echoes.
    pub fn mask(&self, text: &str) -> String {
        spelling::masked(text, spelling::spellings(&self.0).iter()).unwrap_or_else(|| text.to_owned())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}
impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}
