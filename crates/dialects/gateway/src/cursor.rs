//! How far a subscriber was told a session, as text that a client keeps and brings back.

use std::borrow::Cow;
use std::fmt;

use serde_json::value::RawValue;

use crate::shape::{ReadShape, ShapeSchema, Shaped, WrongParam};

/// `seq`: all events of that entry were told. `seq.part`: the first of them, up to this. `seq+bytes`: everything up to `seq`,
/// and so many bytes of the text of the reply that follows; behind a second `+`, of its thinking, where that is told.
/// `seq.0+bytes`: the thinking of the reply `seq`, and so many bytes of its text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct EventCursor {
    pub seq: u64,
    pub within: Within,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub enum Within {
    #[default]
    Whole,
    /// Events of the entry `seq` up to and with this one were told.
    Part(u32),
    Bytes {
        text: u64,
        thinking: u64,
    },
    /// The entry `seq` is a reply whose thinking was told whole, and so many bytes of its text.
    Thought {
        text: u64,
    },
}

impl EventCursor {
    pub fn at(seq: u64) -> Self {
        Self { seq, within: Within::Whole }
    }
    pub fn part(seq: u64, part: usize) -> Self {
        Self { seq, within: Within::Part(u32::try_from(part).unwrap_or(u32::MAX)) }
    }
    pub fn bytes(seq: u64, text: u64) -> Self {
        Self::reply(seq, text, 0)
    }
    /// So much of the reply behind the entry.
    pub fn reply(seq: u64, text: u64, thinking: u64) -> Self {
        Self { seq, within: if (text, thinking) == (0, 0) { Within::Whole } else { Within::Bytes { text, thinking } } }
    }
    pub fn thought(seq: u64, text: u64) -> Self {
        Self { seq, within: if text == 0 { Within::Part(0) } else { Within::Thought { text } } }
    }

    pub fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u64>().ok())?;
        let mut words = text.split('+');
        let (place, one, two) = (words.next()?, words.next().map(number), words.next().map(number));
        if words.next().is_some() {
            return None;
        }
        let (seq, part) = match place.split_once('.') {
            None => (number(place)?, None),
            Some((seq, part)) => (number(seq)?, Some(u32::try_from(number(part)?).ok()?)),
        };
        match (part, one, two) {
            (None, None, None) => Some(Self::at(seq)),
            (None, Some(text), two) => {
                let (text, thinking) = (text?, two.unwrap_or(Some(0))?);
                Some(Self { seq, within: Within::Bytes { text, thinking } })
            }
            (Some(part), None, None) => Some(Self { seq, within: Within::Part(part) }),
            (Some(0), Some(text), None) => Some(Self { seq, within: Within::Thought { text: text? } }),
            _ => None,
        }
    }

    /// The last entry of which everything was told.
    pub fn whole_seq(self) -> u64 {
        match self.within {
            Within::Part(_) | Within::Thought { .. } => self.seq.saturating_sub(1),
            Within::Whole | Within::Bytes { .. } => self.seq,
        }
    }
    /// How many events of this entry were told.
    pub fn told_of(self, seq: u64) -> usize {
        match self.within {
            Within::Part(part) if self.seq == seq => part as usize + 1,
            Within::Thought { .. } if self.seq == seq => 1,
            _ => 0,
        }
    }
    /// How much of the next reply was told.
    pub fn owed_bytes(self) -> u64 {
        match self.within {
            Within::Bytes { text, .. } | Within::Thought { text } => text,
            Within::Whole | Within::Part(_) => 0,
        }
    }
    /// How much of its thinking.
    pub fn owed_thinking(self) -> u64 {
        match self.within {
            Within::Bytes { thinking, .. } => thinking,
            Within::Whole | Within::Part(_) | Within::Thought { .. } => 0,
        }
    }
}

impl fmt::Display for EventCursor {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.within {
            Within::Whole => write!(to, "{}", self.seq),
            Within::Part(part) => write!(to, "{}.{part}", self.seq),
            Within::Bytes { text, thinking: 0 } => write!(to, "{}+{text}", self.seq),
            Within::Bytes { text, thinking } => write!(to, "{}+{text}+{thinking}", self.seq),
            Within::Thought { text } => write!(to, "{}.0+{text}", self.seq),
        }
    }
}

impl Shaped for EventCursor {
    fn schema() -> ShapeSchema {
        let text = ShapeSchema::Text { min: 1, max: Some(64), pattern: Some(r"^[0-9]+(\.[0-9]+)?(\+[0-9]+){0,2}$") };
        let doc =
            "How far a session was told: keep it and bring it back. A number stands for a whole entry of the log.";
        ShapeSchema::OneOf { name: "EventCursor", doc, of: vec![ShapeSchema::Integer { min: 0, max: i64::MAX }, text] }
    }
}
impl ReadShape for EventCursor {
    fn read(raw: &RawValue) -> Result<Self, WrongParam> {
        let text = raw.get();
        let read = match text.starts_with('"') {
            true => serde_json::from_str::<Cow<'_, str>>(text).ok().and_then(|text| Self::parse(&text)),
            false => text.parse().ok().filter(|_| !text.starts_with('+')).map(Self::at),
        };
        read.ok_or_else(|| WrongParam::new("a number, or a cursor that an event had"))
    }
}
impl serde::Serialize for EventCursor {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_is_written() {
        for cursor in [EventCursor::at(0), EventCursor::at(17), EventCursor::part(4, 2), EventCursor::bytes(9, 300)]
            .into_iter()
            .chain([EventCursor::reply(9, 0, 4), EventCursor::reply(9, 3, 4), EventCursor::thought(9, 3)])
        {
            assert_eq!(EventCursor::parse(&cursor.to_string()), Some(cursor));
        }
        assert_eq!(EventCursor::bytes(9, 0), EventCursor::at(9));
        for bad in [
            "",
            "x",
            "-1",
            "+1",
            "1.",
            "1+",
            ".1",
            "1.2.3",
            "1 ",
            "1e3",
            "1+2+3+4",
            "1.1+2",
            "1.0+2+3",
            "1+",
            "1+2+",
            "99999999999999999999",
            "1.4294967296",
        ] {
            assert_eq!(EventCursor::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn it_comes_as_a_number_or_as_text() {
        let read = |text: &str| EventCursor::read(&RawValue::from_string(text.to_owned()).unwrap()).ok();
        assert_eq!(
            (read("7"), read("\"7\""), read("\"7+3\"")),
            (Some(EventCursor::at(7)), Some(EventCursor::at(7)), Some(EventCursor::bytes(7, 3)))
        );
        for bad in ["-1", "1.5", "null", "[]", "\"x\"", "true", "1e3"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn it_says_what_is_left_to_tell() {
        let part = EventCursor::part(5, 1);
        assert_eq!((part.whole_seq(), part.told_of(5), part.told_of(6), part.owed_bytes()), (4, 2, 0, 0));
        let bytes = EventCursor::bytes(5, 8);
        assert_eq!((bytes.whole_seq(), bytes.told_of(5), bytes.owed_bytes()), (5, 0, 8));
    }
}
