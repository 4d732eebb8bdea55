//! What a session wants to be otherwise than usual, as it stands beside its totals.

use serde::{Deserialize, Serialize};
use vocab::LanePolicy;

use super::settings::LaneRecord;

#[derive(Serialize, Deserialize)]
struct Wishes {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lane: Option<LaneRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    elevated_until_ms: Option<i64>,
}

/// `None`: nothing is otherwise.
pub fn write(lane: Option<&LanePolicy>, elevated_until_ms: Option<i64>) -> Option<String> {
    if lane.is_none() && elevated_until_ms.is_none() {
        return None;
    }
    serde_json::to_string(&Wishes { lane: lane.map(Into::into), elevated_until_ms }).ok()
}

/// What cannot be read is a wish of a later version: a list shows what is usual, and the log has all of it.
pub fn read(text: Option<&str>) -> (Option<LanePolicy>, Option<i64>) {
    match text.and_then(|text| serde_json::from_str::<Wishes>(text).ok()) {
        Some(wishes) => (wishes.lane.map(Into::into), wishes.elevated_until_ms),
        None => (None, None),
    }
}
