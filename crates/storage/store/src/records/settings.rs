//! Records of a session's settings.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use vocab::{Body, LaneWish, SettingEntry};

use super::content::into_all;
use super::enums::{Coalesce, Drain, LaneMode, LateSteer, Mode, Overflow, SteerPoint};
use super::todos::TodoPhaseRecord;
use super::{Decoded, get, put};

#[derive(Serialize, Deserialize)]
struct ModelRecord {
    model: Arc<str>,
    /// Older logs have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    called: Option<Arc<str>>,
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

#[derive(Serialize, Deserialize)]
struct LaneUsualRecord {}
#[derive(Serialize, Deserialize)]
struct ElevatedRecord {
    until_ms: Option<i64>,
}

/// Older versions knew whole policies only, and wrote all of it.
#[derive(Serialize, Deserialize)]
pub(super) struct LaneRecord {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mode: Option<LaneMode>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cap: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    overflow: Option<Overflow>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    debounce_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    coalesce: Option<Coalesce>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summarise: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    steer_drain: Option<Drain>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    follow_up_drain: Option<Drain>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    steer_point: Option<SteerPoint>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    late_steer: Option<LateSteer>,
}

impl From<&LaneWish> for LaneRecord {
    fn from(it: &LaneWish) -> Self {
        Self {
            mode: it.mode.map(Into::into),
            cap: it.cap,
            overflow: it.overflow.map(Into::into),
            debounce_ms: it.debounce_ms,
            coalesce: it.coalesce.map(Into::into),
            summarise: it.summarise,
            steer_drain: it.steer_drain.map(Into::into),
            follow_up_drain: it.follow_up_drain.map(Into::into),
            steer_point: it.steer_point.map(Into::into),
            late_steer: it.late_steer.map(Into::into),
        }
    }
}

impl From<LaneRecord> for LaneWish {
    fn from(it: LaneRecord) -> Self {
        Self {
            mode: it.mode.map(Into::into),
            cap: it.cap,
            overflow: it.overflow.map(Into::into),
            debounce_ms: it.debounce_ms,
            coalesce: it.coalesce.map(Into::into),
            summarise: it.summarise,
            steer_drain: it.steer_drain.map(Into::into),
            follow_up_drain: it.follow_up_drain.map(Into::into),
            steer_point: it.steer_point.map(Into::into),
            late_steer: it.late_steer.map(Into::into),
        }
    }
}

pub(super) fn put_setting(entry: &SettingEntry, out: &mut Vec<u8>) -> &'static str {
    match entry {
        SettingEntry::Model { model, called } => {
            put("model", &ModelRecord { model: model.clone(), called: called.clone() }, out)
        }
        SettingEntry::Mode { mode } => put("mode", &ModeRecord { mode: (*mode).into() }, out),
        SettingEntry::Thinking { level } => put("thinking", &ThinkingRecord { level: level.clone() }, out),
        SettingEntry::Gadgets { off } => put("gadgets", &GadgetsRecord { off: off.clone() }, out),
        SettingEntry::Title { title } => put("title", &TitleRecord { title: title.clone() }, out),
        // Kinds of their own: an older version must not take them for whole policies.
        SettingEntry::Lane { wish } if wish.is_empty() => put("lane_usual", &LaneUsualRecord {}, out),
        SettingEntry::Lane { wish } => put("lane_wish", &LaneRecord::from(wish), out),
        SettingEntry::Elevated { until_ms } => put("elevated", &ElevatedRecord { until_ms: *until_ms }, out),
        SettingEntry::Todos { phases } => put("todos", &TodosRecord { phases: into_all(phases) }, out),
    }
}

pub(super) fn from_record(kind: &str, payload: &[u8]) -> Option<Decoded> {
    Some(match kind {
        "model" => {
            get(payload, |it: ModelRecord| Body::Setting(SettingEntry::Model { model: it.model, called: it.called }))
        }
        "mode" => get(payload, |it: ModeRecord| Body::Setting(SettingEntry::Mode { mode: it.mode.into() })),
        "thinking" => get(payload, |it: ThinkingRecord| Body::Setting(SettingEntry::Thinking { level: it.level })),
        "gadgets" => get(payload, |it: GadgetsRecord| Body::Setting(SettingEntry::Gadgets { off: it.off })),
        "title" => get(payload, |it: TitleRecord| Body::Setting(SettingEntry::Title { title: it.title })),
        "lane" | "lane_wish" => get(payload, |it: LaneRecord| Body::Setting(SettingEntry::Lane { wish: it.into() })),
        "lane_usual" => {
            get(payload, |_: LaneUsualRecord| Body::Setting(SettingEntry::Lane { wish: LaneWish::default() }))
        }
        "elevated" => {
            get(payload, |it: ElevatedRecord| Body::Setting(SettingEntry::Elevated { until_ms: it.until_ms }))
        }
        "todos" => get(payload, |it: TodosRecord| Body::Setting(SettingEntry::Todos { phases: into_all(it.phases) })),
        _ => return None,
    })
}
