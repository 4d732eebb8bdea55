//! What a call has made of files is most of what a session of coding weighs, and what a file is after one edit it is before the
//! next. So a store may keep such contents beside the records, each once, and in the record stands the name: the hash of
//! the content. Records of older versions have it in them, and so have those of small files.

use std::sync::Arc;

use ring::digest::{SHA256, digest};
use vocab::{Body, CallEntry};

use super::{Unreadable, from_record, to_record, turns};

/// What is smaller than this is not worth a row of its own.
pub const APART_BYTES_MIN: usize = 256;

/// A content and its name.
pub type NamedContent = (Arc<str>, Arc<str>);

/// The name of a content.
pub fn content_name(content: &str) -> Arc<str> {
    let digest = digest(&SHA256, content.as_bytes());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<String>().into()
}

/// As [`to_record`]; large contents are put into `apart` instead.
pub fn to_record_apart(body: &Body, out: &mut Vec<u8>, apart: &mut Vec<NamedContent>) -> &'static str {
    match body {
        Body::Call(CallEntry::Ended { turn, result }) if !result.edits.is_empty() => {
            turns::put_ended_apart(turn, result, out, apart)
        }
        _ => to_record(body, out),
    }
}

/// As [`from_record`]; `find` knows what was put apart. A content that is not there any more cannot be restored, and counts as
/// not kept. So it does for [`from_record`], which is for those who want to know only which files were changed.
pub fn from_record_with(
    kind: &str,
    payload: &[u8],
    find: impl FnMut(&str) -> Option<Arc<str>>,
) -> Result<Body, Unreadable> {
    match kind {
        "call_ended" => turns::ended_with(payload, find)
            .map_err(|error| Unreadable::Shape { kind: kind.to_owned(), detail: error.to_string() }),
        _ => from_record(kind, payload),
    }
}

#[cfg(test)]
mod tests {
    use vocab::{CallEnd, CallResult, FileEdit, Snapshot};

    use super::*;

    #[test]
    fn large_contents_stand_apart_once_and_come_back() {
        let (small, large): (Arc<str>, Arc<str>) = ("x".into(), "large ".repeat(APART_BYTES_MIN).into());
        let edit = |before: Snapshot, after: Snapshot| FileEdit { path: "a".into(), before, after };
        let text = |text: &Arc<str>| Snapshot::Text(text.clone());
        let edits = vec![
            edit(Snapshot::Absent, text(&large)),
            edit(text(&large), text(&small)),
            edit(Snapshot::NotKept, text(&large)),
        ];
        let (end, parts, details) = (CallEnd::Ran, Vec::new(), None);
        let (call, tool, is_error) = ("c".into(), "write_file".into(), false);
        let result = CallResult { call, tool, end, parts, is_error, duration_ms: 1, mutation: None, edits, details };
        let body = Body::Call(CallEntry::Ended { turn: "t".into(), result });
        let (mut payload, mut apart) = (Vec::new(), Vec::new());
        let kind = to_record_apart(&body, &mut payload, &mut apart);
        assert_eq!((kind, payload.len() < large.len()), ("call_ended", true));
        assert!(apart.iter().all(|(name, content)| *content == large && *name == content_name(&large)));
        let find = |name: &str| apart.iter().find(|(it, _)| **it == *name).map(|(_, content)| content.clone());
        assert_eq!(from_record_with(kind, &payload, find).unwrap(), body);
        let Body::Call(CallEntry::Ended { result, .. }) = from_record(kind, &payload).unwrap() else { panic!() };
        let kept: Vec<_> = result.edits.iter().map(|edit| (&edit.before, &edit.after)).collect();
        let (absent, gone, small) = (&Snapshot::Absent, &Snapshot::NotKept, &text(&small));
        assert_eq!(kept, [(absent, gone), (gone, small), (gone, gone)], "without the contents");
        // As older versions wrote it.
        let mut inline = Vec::new();
        to_record(&body, &mut inline);
        assert_eq!(from_record_with(kind, &inline, |_| None).unwrap(), body);
    }
}
