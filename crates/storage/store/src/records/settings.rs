//! Records of a session's settings.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use vocab::{Body, SettingEntry};

use super::content::into_all;
use super::enums::Mode;
use super::todos::TodoPhaseRecord;
use super::{Decoded, get, put};

#[derive(Serialize, Deserialize)]
struct ModelRecord {
    model: Arc<str>,
}
#[derive(Serialize, Deserialize)]
struct ModeRecord {
    mode: Mode,
}
#[derive(Serialize, Deserialize)]
struct ThinkingRecord {
    level: Option<Arc<str>>,
}
#[derive(Serialize, Deserialize)]
struct GadgetsRecord {
    off: Vec<Arc<str>>,
}
#[derive(Serialize, Deserialize)]
struct TitleRecord {
    title: Arc<str>,
}
#[derive(Serialize, Deserialize)]
struct TodosRecord {
    phases: Vec<TodoPhaseRecord>,
}

pub(super) fn put_setting(entry: &SettingEntry, out: &mut Vec<u8>) -> &'static str {
    match entry {
        SettingEntry::Model { model } => put("model", &ModelRecord { model: model.clone() }, out),
        SettingEntry::Mode { mode } => put("mode", &ModeRecord { mode: (*mode).into() }, out),
        SettingEntry::Thinking { level } => put("thinking", &ThinkingRecord { level: level.clone() }, out),
        SettingEntry::Gadgets { off } => put("gadgets", &GadgetsRecord { off: off.clone() }, out),
        SettingEntry::Title { title } => put("title", &TitleRecord { title: title.clone() }, out),
        SettingEntry::Todos { phases } => put("todos", &TodosRecord { phases: into_all(phases) }, out),
    }
}

pub(super) fn from_record(kind: &str, payload: &[u8]) -> Option<Decoded> {
    Some(match kind {
        "model" => get(payload, |it: ModelRecord| Body::Setting(SettingEntry::Model { model: it.model })),
        "mode" => get(payload, |it: ModeRecord| Body::Setting(SettingEntry::Mode { mode: it.mode.into() })),
        "thinking" => get(payload, |it: ThinkingRecord| Body::Setting(SettingEntry::Thinking { level: it.level })),
        "gadgets" => get(payload, |it: GadgetsRecord| Body::Setting(SettingEntry::Gadgets { off: it.off })),
        "title" => get(payload, |it: TitleRecord| Body::Setting(SettingEntry::Title { title: it.title })),
        "todos" => get(payload, |it: TodosRecord| Body::Setting(SettingEntry::Todos { phases: into_all(it.phases) })),
        _ => return None,
    })
}
