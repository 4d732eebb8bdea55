//! The text of a delta: owned by the one peer that is told it, or shared by all of them.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// More text. A copy of one that is shared costs no allocation.
#[derive(Clone)]
pub struct DeltaText(TextHolder);

#[derive(Clone)]
enum TextHolder {
    Own(String),
    Shared(Arc<str>),
}

impl DeltaText {
    pub fn as_str(&self) -> &str {
        match &self.0 {
            TextHolder::Own(text) => text,
            TextHolder::Shared(text) => text,
        }
    }
    /// From now on copies of it are the same text.
    pub fn share(&mut self) {
        if let TextHolder::Own(text) = &mut self.0 {
            self.0 = TextHolder::Shared(std::mem::take(text).into());
        }
    }
    pub fn push_str(&mut self, more: &str) {
        match &mut self.0 {
            TextHolder::Own(text) => text.push_str(more),
            TextHolder::Shared(text) => {
                let mut own = String::with_capacity(text.len() + more.len());
                own.push_str(text);
                own.push_str(more);
                self.0 = TextHolder::Own(own);
            }
        }
    }
}

impl Deref for DeltaText {
    type Target = str;
    fn deref(&self) -> &str {
        self.as_str()
    }
}
impl AsRef<str> for DeltaText {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}
impl Default for DeltaText {
    fn default() -> Self {
        String::new().into()
    }
}
impl From<String> for DeltaText {
    fn from(text: String) -> Self {
        Self(TextHolder::Own(text))
    }
}
impl From<&str> for DeltaText {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}
impl From<&String> for DeltaText {
    fn from(text: &String) -> Self {
        text.clone().into()
    }
}
impl From<DeltaText> for String {
    fn from(text: DeltaText) -> Self {
        match text.0 {
            TextHolder::Own(text) => text,
            TextHolder::Shared(text) => (*text).to_owned(),
        }
    }
}
impl PartialEq for DeltaText {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}
impl PartialEq<str> for DeltaText {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}
impl PartialEq<&str> for DeltaText {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}
impl fmt::Debug for DeltaText {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), to)
    }
}
impl fmt::Display for DeltaText {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shared_is_one_text_until_one_of_them_grows() {
        let mut one = DeltaText::from("ab");
        assert_ne!(one.clone().as_ptr(), one.as_ptr(), "a copy");
        one.share();
        let mut other = one.clone();
        assert_eq!(other.as_ptr(), one.as_ptr());
        other.push_str("c");
        assert_eq!((&*one, &*other), ("ab", "abc"));
    }
}
