//! Looking for a text in what was said.

use std::sync::Arc;

use vocab::{Body, Entry, Needle, SessionId, parts_text};

use super::sessions::HistoryRole;
use super::{ServiceAnswer, ServiceCall, asks, told};
use crate::methods::OwnPlan;
use crate::own::GatewayRefusal;
use crate::shape::*;
use crate::{Gateway, shape};

/// Characters of a message that are shown before and behind what was found.
const BEFORE_CHARS: usize = 60;
const BEHIND_CHARS: usize = 120;

shape! { params
    /// A text in what people and models said, whatever the case of its letters.
    SearchParams {
        /// Two characters or more, or one that is none of ASCII's: a word can be one sign.
        "query" query: Text<1, 200>,
        "limit" limit: Count<1, 100> = Count(20),
        /// What the answer before gave, to go on behind it.
        "cursor" cursor: Option<Text<1, 2000>>,
    }
}
shape! { result
    /// A message that has it.
    SearchHit {
        "sessionId" session_id: String,
        "title" title: Option<Arc<str>>,
        /// The entry of the log that it is.
        "seq" seq: u64,
        "at" at: i64,
        "role" role: HistoryRole,
        /// What stands around the first place, in one line.
        "snippet" snippet: String,
    }
}
shape! { result
    /// Sessions with the newest message first, of each the newest first. What was undone is found, too.
    SearchResult {
        "hits" hits: Vec<SearchHit>,
        /// Where to go on; there may be no hit on the way.
        "cursor" cursor: Option<String>,
        /// There is nothing more to look through.
        "complete" complete: bool,
    }
}

/// Where a search goes on: in the session of this name, whose newest message was then, before this entry of its log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SearchPlace {
    pub last_message_ms: i64,
    pub session: SessionId,
    /// `None`: it is done with this one.
    pub before: Option<u64>,
}

impl SearchPlace {
    pub fn to_text(&self) -> String {
        format!("{}.{}.{}", self.last_message_ms, self.before.unwrap_or(0), self.session)
    }

    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '.');
        let last_message_ms = parts.next()?.parse().ok()?;
        let before = parts.next()?.parse::<u64>().ok()?;
        let session = parts.next().filter(|id| !id.is_empty())?;
        Some(Self { last_message_ms, before: (before > 0).then_some(before), session: session.into() })
    }
}

/// Who says it and what stands around it, where a message has the text.
pub fn found_in(entry: &Entry, needle: &Needle) -> Option<(HistoryRole, String)> {
    let (role, text) = match &entry.body {
        Body::User { parts, .. } => (HistoryRole::User, parts_text(parts)),
        Body::Assistant { message, .. } => (HistoryRole::Assistant, message.text()),
        _ => return None,
    };
    let at = needle.find(&text)?;
    Some((role, snippet(&text, at)))
}

fn snippet(text: &str, at: std::ops::Range<usize>) -> String {
    let start = text[..at.start].char_indices().rev().nth(BEFORE_CHARS - 1).map_or(0, |(start, _)| start);
    let end = text[at.end..].char_indices().nth(BEHIND_CHARS).map_or(text.len(), |(end, _)| at.end + end);
    let words = text[start..end].split_whitespace().collect::<Vec<_>>().join(" ");
    let (cut, more) = (if start > 0 { "..." } else { "" }, if end < text.len() { "..." } else { "" });
    format!("{cut}{words}{more}")
}

pub(crate) fn search(_: &Gateway, params: SearchParams) -> Result<OwnPlan, GatewayRefusal> {
    if params.query.0.len() < 2 {
        let message = "`query` must be text of 2..200 characters, or one character that is none of ASCII's";
        return Err(GatewayRefusal::wrong_param("query", message));
    }
    let after = match &params.cursor {
        None => None,
        Some(text) => {
            let wrong = || GatewayRefusal::wrong_param("cursor", "`cursor` must be what a search gave".to_owned());
            Some(SearchPlace::parse(&text.0).ok_or_else(wrong)?)
        }
    };
    Ok(OwnPlan::Call(asks(ServiceCall::Search { text: params.query.0, limit: params.limit.size(), after })))
}

told!(search_told, ServiceAnswer::Search(it) => it, SearchResult);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_is_written_and_nothing_else() {
        for (session, before) in [("tg:1", Some(7)), ("a.b.c", None)] {
            let place = SearchPlace { last_message_ms: -5, session: session.into(), before };
            assert_eq!(SearchPlace::parse(&place.to_text()), Some(place));
        }
        for wrong in ["", "1", "1.2", "1.2.", "x.2.s", "1.-2.s", "1.x.s"] {
            assert_eq!(SearchPlace::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_snippet_is_one_line_around_the_first_place() {
        let around = |text: &str, what: &str| snippet(text, Needle::new(what).find(text).unwrap());
        assert_eq!(around("a\n  needle\tb", "NEEDLE"), "a needle b");
        let long = format!("{}needle{}", "ä".repeat(100), "ö".repeat(200));
        assert_eq!(around(&long, "needle"), format!("...{}needle{}...", "ä".repeat(60), "ö".repeat(120)));
        let fits = format!("{}needle{}", "ä".repeat(60), "ö".repeat(120));
        assert_eq!(around(&fits, "needle"), fits);
    }
}
