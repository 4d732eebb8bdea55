//! What a session wants to be otherwise than usual, as it stands beside its totals.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use vocab::{LaneWish, Summary};

use super::settings::LaneRecord;

#[derive(Default, Serialize, Deserialize)]
struct Wishes {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lane: Option<LaneRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    elevated_until_ms: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model_called: Option<Arc<str>>,
}

/// What a summary has of them.
pub struct KnownWishes {
    pub lane: LaneWish,
    pub elevated_until_ms: Option<i64>,
    pub model_called: Option<Arc<str>>,
}

/// `None`: nothing is otherwise.
pub fn write(summary: &Summary) -> Option<String> {
    let Summary { lane, elevated_until_ms, model_called, .. } = summary;
    if lane.is_empty() && elevated_until_ms.is_none() && model_called.is_none() {
        return None;
    }
    let (lane, elevated_until_ms) = ((!lane.is_empty()).then(|| lane.into()), *elevated_until_ms);
    serde_json::to_string(&Wishes { lane, elevated_until_ms, model_called: model_called.clone() }).ok()
}

/// What cannot be read is a wish of a later version: a list shows what is usual, and the log has all of it.
pub fn read(text: Option<&str>) -> KnownWishes {
    let wishes: Wishes = text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    KnownWishes {
        lane: wishes.lane.map(Into::into).unwrap_or_default(),
        elevated_until_ms: wishes.elevated_until_ms,
        model_called: wishes.model_called,
    }
}
