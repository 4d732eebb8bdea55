//! What an entry looks like on disk: a kind (a column of its own) and a JSON payload, in types that belong to the
//! store. Knows nothing of SQLite.
//!
//! Rules for change: a new optional field may be added (old readers skip it, new readers default it); everything else
//! is a new kind. A kind or a word that this version does not know is reported by name and never taken for damage.

mod apart;
mod asks;
mod branches;
mod content;
mod enums;
mod keyed;
mod messages;
mod notes;
mod queue;
mod requests;
mod settings;
mod shells;
mod todos;
mod turns;
pub mod wishes;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use vocab::{Body, SkimFor};

pub use apart::{APART_BYTES_MIN, NamedContent, content_name, from_record_with, to_record_apart};
use messages::OpenedRecord;

/// Why a record whose checksum is right cannot be read.
#[derive(Debug)]
pub enum Unreadable {
    Kind(String),
    Shape { kind: String, detail: String },
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::Kind(kind) => write!(f, "has the kind `{kind}`, which this version does not know"),
            Unreadable::Shape { kind, detail } => {
                write!(f, "is a `{kind}` that this version does not understand ({detail})")
            }
        }
    }
}

/// Appends the payload to `out` and says its kind.
pub fn to_record(body: &Body, out: &mut Vec<u8>) -> &'static str {
    match body {
        Body::Opened { workspace, model, mode, forked_from, child_of } => {
            let record = OpenedRecord {
                workspace: workspace.as_path().into(),
                model: model.clone(),
                mode: (*mode).into(),
                forked_from: forked_from.as_ref().map(|(session, seq)| (id(session.as_str()), *seq)),
                child_of: child_of.as_ref().map(|(session, call)| (id(session.as_str()), id(call.as_str()))),
            };
            messages::put_opened(&record, out)
        }
        Body::User { turn, parts, from } => messages::put_user(turn.as_ref(), parts, *from, out),
        Body::Assistant { turn, message } => messages::put_assistant(turn.as_ref(), message, out),
        Body::Turn(entry) => turns::put_turn(entry, out),
        Body::Call(entry) => turns::put_call(entry, out),
        Body::Ask(entry) => asks::put_ask(entry, out),
        Body::Queue(entry) => queue::put_queue(entry, out),
        Body::Model(entry) => requests::put_model(entry, out),
        Body::Branch(entry) => branches::put_branch(entry, out),
        Body::Setting(entry) => settings::put_setting(entry, out),
        Body::Shell(entry) => shells::put_shell(entry, out),
        Body::Note(entry) => notes::put_note(entry, out),
    }
}

fn put(kind: &'static str, record: &impl Serialize, out: &mut Vec<u8>) -> &'static str {
    serde_json::to_writer(out, record).expect("memory takes every write, and these types have no map with odd keys");
    kind
}

fn id(text: &str) -> Arc<str> {
    text.into()
}

/// The body behind a kind and its payload.
pub fn from_record(kind: &str, payload: &[u8]) -> Result<Body, Unreadable> {
    // Each knows the kinds of its subject; no two know the same.
    let subjects = [
        messages::from_record,
        turns::from_record,
        asks::from_record,
        queue::from_record,
        requests::from_record,
        branches::from_record,
        settings::from_record,
        shells::from_record,
        notes::from_record,
        keyed::from_record,
    ];
    let decoded = subjects.iter().find_map(|read| read(kind, payload));
    let decoded = decoded.ok_or_else(|| Unreadable::Kind(kind.to_owned()))?;
    decoded.map_err(|error| Unreadable::Shape { kind: kind.to_owned(), detail: error.to_string() })
}

/// What [`vocab::is_retold`] says of a body, by its kind.
pub fn is_retold_kind(kind: &[u8]) -> bool {
    const LEFT_OUT: [&[u8]; 13] = [
        b"call_started",
        b"ask_opened",
        b"ask_closed",
        b"queued",
        b"settled",
        b"requested",
        b"retrying",
        b"fell_back",
        b"spent",
        b"imported",
        b"label",
        b"keyed",
        b"waived",
    ];
    !LEFT_OUT.contains(&kind)
}

/// The kinds of records that what is looked for is among.
pub fn skimmed_kinds(what: SkimFor) -> &'static [&'static str] {
    match what {
        SkimFor::Messages => &["user", "assistant"],
        SkimFor::Runs => &["turn_started", "turn_cut", "turn_ended", "assistant", "spent", "compacted"],
        SkimFor::Compactions => &["compacted"],
    }
}

/// A body, or why the payload is not of the shape that its kind has.
type Decoded = serde_json::Result<Body>;

fn get<'a, T: Deserialize<'a>>(payload: &'a [u8], body: impl FnOnce(T) -> Body) -> Decoded {
    serde_json::from_slice(payload).map(body)
}

/// The checksum of a record. It covers the columns too: a record under a wrong number is as bad as a torn one.
pub fn checksum(seq: u64, parent: u64, at_ms: i64, kind: &[u8], payload: &[u8], by: Option<&[u8]>) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    // In one piece: the hasher costs by the piece.
    let mut numbers = [0; 24];
    numbers[..8].copy_from_slice(&seq.to_le_bytes());
    numbers[8..16].copy_from_slice(&parent.to_le_bytes());
    numbers[16..].copy_from_slice(&at_ms.to_le_bytes());
    hasher.update(&numbers);
    hasher.update(kind);
    hasher.update(&[0]);
    hasher.update(payload);
    // Records of older versions have none. No payload has a byte of zero.
    if let Some(by) = by {
        hasher.update(&[0]);
        hasher.update(by);
    }
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use vocab::SettingEntry;

    use super::*;
    use crate::suite;

    #[test]
    fn every_body_comes_back_as_it_went_in() {
        let mut kinds = BTreeSet::new();
        for body in suite::bodies() {
            let mut payload = Vec::new();
            let kind = to_record(&body, &mut payload);
            kinds.insert(kind);
            let back = from_record(kind, &payload).unwrap();
            assert_eq!(is_retold_kind(kind.as_bytes()), vocab::is_retold(&body), "{kind}");
            assert_eq!(back, suite::as_stored(&body), "{kind}");
        }
        // Thirty-nine kinds today; `to_record` is exhaustive, so a new variant is missed here only by its example.
        assert_eq!(kinds.len(), 39, "the examples leave a kind out: {kinds:?}");
    }

    #[test]
    fn an_unknown_kind_is_named() {
        let error = from_record("telepathy", b"{}").unwrap_err();
        assert!(error.to_string().contains("`telepathy`"), "{error}");
        let error = from_record("mode", br#"{"mode":"trance"}"#).unwrap_err();
        assert!(error.to_string().contains("trance"), "{error}");
    }

    #[test]
    fn fields_of_a_later_version_are_skipped() {
        let body = from_record("title", br#"{"title":"t","colour":{"r":[1]}}"#).unwrap();
        assert_eq!(body, Body::Setting(SettingEntry::Title { title: "t".into() }));
    }

    #[test]
    fn broken_payloads_are_errors_and_never_panics() {
        for body in suite::bodies() {
            let mut payload = Vec::new();
            let kind = to_record(&body, &mut payload);
            for cut in 0..payload.len() {
                assert!(from_record(kind, &payload[..cut]).is_err(), "{kind} cut at {cut}");
            }
            for at in 0..payload.len() {
                let mut broken = payload.clone();
                broken[at] = 0xff;
                assert!(from_record(kind, &broken).is_err(), "{kind} is not UTF-8 at {at}");
            }
        }
    }

    #[test]
    fn the_checksum_covers_every_column() {
        let good = checksum(1, 2, 3, b"user", b"{}", None);
        let others = [
            checksum(9, 2, 3, b"user", b"{}", None),
            checksum(1, 9, 3, b"user", b"{}", None),
            checksum(1, 2, 9, b"user", b"{}", None),
            checksum(1, 2, 3, b"usex", b"{}", None),
            checksum(1, 2, 3, b"user", b"{]", None),
            checksum(1, 2, 3, b"user{", b"}", None),
            checksum(1, 2, 3, b"user", b"{}", Some(b"user:ann")),
            checksum(1, 2, 3, b"user", b"{}", Some(b"")),
        ];
        assert!(others.iter().all(|other| *other != good));
    }
}
