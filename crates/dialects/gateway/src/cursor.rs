//! How far a subscriber was told a session, as text that a client keeps and brings back.

use std::borrow::Cow;
use std::fmt;

use serde_json::value::RawValue;

use crate::shape::{ReadShape, ShapeSchema, Shaped, WrongParam};

/// `seq`: all events of that entry were told. `seq.part`: the first of them, up to this. `seq+bytes`: everything up to `seq`,
/// and so many bytes of the text of the reply that follows.
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
    Bytes(u64),
}

impl EventCursor {
    pub fn at(seq: u64) -> Self {
        Self { seq, within: Within::Whole }
    }
    pub fn part(seq: u64, part: usize) -> Self {
        Self { seq, within: Within::Part(u32::try_from(part).unwrap_or(u32::MAX)) }
    }
    pub fn bytes(seq: u64, bytes: u64) -> Self {
        Self { seq, within: if bytes == 0 { Within::Whole } else { Within::Bytes(bytes) } }
    }

    pub fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<u64>().ok())?;
        match text.split_once(['.', '+']) {
            None => number(text).map(Self::at),
            Some((seq, rest)) if text.as_bytes()[seq.len()] == b'.' => {
                Some(Self { seq: number(seq)?, within: Within::Part(u32::try_from(number(rest)?).ok()?) })
            }
            Some((seq, rest)) => Some(Self { seq: number(seq)?, within: Within::Bytes(number(rest)?) }),
        }
    }

    /// The last entry of which everything was told.
    pub fn whole_seq(self) -> u64 {
        match self.within {
            Within::Part(_) => self.seq.saturating_sub(1),
            Within::Whole | Within::Bytes(_) => self.seq,
        }
    }
    /// How many events of this entry were told.
    pub fn told_of(self, seq: u64) -> usize {
        match self.within {
            Within::Part(part) if self.seq == seq => part as usize + 1,
            _ => 0,
        }
    }
    /// How much of the next reply was told.
    pub fn owed_bytes(self) -> u64 {
        match self.within {
            Within::Bytes(bytes) => bytes,
            Within::Whole | Within::Part(_) => 0,
        }
    }
}

impl fmt::Display for EventCursor {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.within {
            Within::Whole => write!(to, "{}", self.seq),
            Within::Part(part) => write!(to, "{}.{part}", self.seq),
            Within::Bytes(bytes) => write!(to, "{}+{bytes}", self.seq),
        }
    }
}

impl Shaped for EventCursor {
    fn schema() -> ShapeSchema {
        let text = ShapeSchema::Text { min: 1, max: Some(64), pattern: Some(r"^[0-9]+([.+][0-9]+)?$") };
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
        for cursor in [EventCursor::at(0), EventCursor::at(17), EventCursor::part(4, 2), EventCursor::bytes(9, 300)] {
            assert_eq!(EventCursor::parse(&cursor.to_string()), Some(cursor));
        }
        assert_eq!(EventCursor::bytes(9, 0), EventCursor::at(9));
        for bad in ["", "x", "-1", "+1", "1.", "1+", ".1", "1.2.3", "1 ", "1e3", "99999999999999999999", "1.4294967296"]
        {
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
