//! Records of what is said about the log itself.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use vocab::{Body, Json, NoteEntry};

use super::content::{PathText, json_text};
use super::{Decoded, get, put};

#[derive(Serialize, Deserialize)]
struct ImportedRecord {
    #[serde(default)]
    file: Option<PathText>,
    names: Vec<(u64, Arc<str>)>,
    #[serde(default)]
    raws: Vec<(u64, Arc<str>)>,
}
#[derive(Serialize, Deserialize)]
struct LabelRecord {
    target: u64,
    label: Option<Arc<str>>,
}
#[derive(Serialize, Deserialize)]
struct WaivedRecord {
    turn: Arc<str>,
    call: Arc<str>,
    tool: Arc<str>,
}
#[derive(Serialize, Deserialize)]
struct RecoveredRecord {
    text: Arc<str>,
}

pub(super) fn put_note(entry: &NoteEntry, out: &mut Vec<u8>) -> &'static str {
    match entry {
        NoteEntry::Imported { file, names, raws } => {
            let file = file.as_deref().map(Into::into);
            let raws = raws.iter().map(|(seq, json)| (*seq, json_text(json))).collect();
            put("imported", &ImportedRecord { file, names: names.clone(), raws }, out)
        }
        NoteEntry::Label { target, label } => put("label", &LabelRecord { target: *target, label: label.clone() }, out),
        NoteEntry::Keyed(keyed) => super::keyed::put_keyed(keyed, out),
        NoteEntry::Recovered { text } => put("recovered", &RecoveredRecord { text: text.clone() }, out),
        NoteEntry::Waived { turn, call, tool } => {
            let (turn, call) = (turn.as_str().into(), call.as_str().into());
            put("waived", &WaivedRecord { turn, call, tool: tool.clone() }, out)
        }
    }
}

pub(super) fn from_record(kind: &str, payload: &[u8]) -> Option<Decoded> {
    Some(match kind {
        "imported" => get(payload, |it: ImportedRecord| {
            Body::Note(NoteEntry::Imported {
                file: it.file.map(PathBuf::from),
                names: it.names,
                raws: it.raws.into_iter().map(|(seq, json)| (seq, Json::trusted(json))).collect(),
            })
        }),
        "label" => get(payload, |it: LabelRecord| Body::Note(NoteEntry::Label { target: it.target, label: it.label })),
        "waived" => get(payload, |it: WaivedRecord| {
            let (turn, call) = (vocab::TurnId::new(it.turn), vocab::CallId::new(it.call));
            Body::Note(NoteEntry::Waived { turn, call, tool: it.tool })
        }),
        "recovered" => get(payload, |it: RecoveredRecord| Body::Note(NoteEntry::Recovered { text: it.text })),
        _ => return None,
    })
}
