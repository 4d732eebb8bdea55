//! A session as lines of JSON: a head, then one record per entry. Whole, so that it can be read back.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use store::faults;
use store::records::{from_record, to_record};
use vocab::{Entry, Fault, FaultKind, SessionId};

/// Larger files are not read as sessions.
const FILE_BYTES_MAX: u64 = 1 << 30;

#[derive(Serialize, Deserialize)]
struct JsonlHead {
    #[serde(rename = "type")]
    kind: String,
    version: u32,
    id: String,
}

const HEAD_KIND: &str = "tillerman_session";
const HEAD_VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct JsonlRow<'a> {
    seq: u64,
    parent: u64,
    at_ms: i64,
    kind: String,
    #[serde(borrow)]
    body: &'a RawValue,
}

pub(crate) fn write(session: &SessionId, entries: &[Arc<Entry>]) -> Vec<u8> {
    let head = JsonlHead { kind: HEAD_KIND.into(), version: HEAD_VERSION, id: session.to_string() };
    let mut bytes = serde_json::to_vec(&head).expect("a head is plain text");
    bytes.push(b'\n');
    let mut payload = Vec::new();
    for entry in entries {
        payload.clear();
        let kind = to_record(&entry.body, &mut payload).to_owned();
        let body: &RawValue = serde_json::from_slice(&payload).expect("a record is JSON");
        let row = JsonlRow { seq: entry.seq, parent: entry.parent, at_ms: entry.at_ms, kind, body };
        serde_json::to_writer(&mut bytes, &row).expect("a row is JSON");
        bytes.push(b'\n');
    }
    bytes
}

/// The session of a file and its log.
pub(crate) fn read(file: &Path) -> Result<(SessionId, Vec<Arc<Entry>>), Fault> {
    let missing = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => Fault::new(FaultKind::NotFound, format!("no session file {}", file.display())),
        std::io::ErrorKind::FileTooLarge => {
            Fault::new(FaultKind::Store, format!("{} is too large for a session file", file.display()))
        }
        _ => faults::from_io("read", file, &error),
    };
    let text = safefile::read_regular_text(file, FILE_BYTES_MAX).map_err(missing)?;
    let wrong = |line: usize, what: String| {
        Fault::new(FaultKind::Store, format!("{} line {line}: {what}", file.display()))
            .hint("a session file is what `/export NAME.jsonl` writes")
    };
    let mut lines =
        text.lines().enumerate().map(|(at, line)| (at + 1, line)).filter(|(_, line)| !line.trim().is_empty());
    let (_, first) = lines.next().ok_or_else(|| wrong(1, "the file is empty".into()))?;
    let head: JsonlHead = serde_json::from_str(first).map_err(|_| wrong(1, "not a session file".into()))?;
    if head.kind != HEAD_KIND || head.version != HEAD_VERSION {
        return Err(wrong(1, format!("a `{}` of version {}, which this version cannot read", head.kind, head.version)));
    }
    let mut entries: Vec<Arc<Entry>> = Vec::new();
    for (number, line) in lines {
        let row: JsonlRow<'_> = serde_json::from_str(line).map_err(|error| wrong(number, error.to_string()))?;
        if row.seq != entries.len() as u64 + 1 || row.parent >= row.seq {
            return Err(wrong(number, format!("seq {} is out of order", row.seq)));
        }
        let body =
            from_record(&row.kind, row.body.get().as_bytes()).map_err(|error| wrong(number, error.to_string()))?;
        entries.push(Arc::new(Entry { seq: row.seq, parent: row.parent, at_ms: row.at_ms, body, by: None }));
    }
    Ok((SessionId::from(head.id), entries))
}
