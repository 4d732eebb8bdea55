//! Compactions as this wire tells them.

use serde_json::{Value, json};
use vocab::{CompactReason, Compaction, Fault, FaultKind};

use crate::frames::LoafPen;
use crate::models::UsualModel;
use crate::session_view::SessionView;
use crate::turn::TurnScene;

/// A context is compacted when it is fuller than this share of the window...
pub const HIGH_WATERMARK_PCT: u64 = 82;
/// ...and then has room up to this one...
pub const TARGET_PCT: u64 = 74;
/// ...which is never less than so many tokens.
const TARGET_TOKENS_MIN: u64 = 6000;

pub(crate) const COMPRESSING: &str = "compressing context...";

pub(crate) fn reason(reason: CompactReason) -> &'static str {
    match reason {
        CompactReason::Manual => "manual",
        CompactReason::Threshold => "auto",
        CompactReason::Overflow => "overflow",
        CompactReason::Switch => "provider_switch",
    }
}

fn share(window: u64, percent: u64) -> u64 {
    (window * percent / 100).max(TARGET_TOKENS_MIN)
}

/// What came of a compaction that was asked for; `None`: there was nothing to compact.
pub(crate) fn outcome(view: &SessionView, reason: &str, before: u64, done: Option<&Compaction>) -> Value {
    let window = view.state.context_window;
    let now = view.state.context_tokens;
    json!({
        "reason": reason,
        "estimated_tokens_before": done.map_or(now, |done| done.tokens_before),
        "estimated_tokens_after": done.map_or(now, |done| done.tokens_after),
        "model_context_window": window,
        "target_limit": share(window, TARGET_PCT),
        "anchor_event_index_before": before,
        "anchor_event_index_after": view.anchor,
    })
}

impl SessionView {
    /// The members that every event of a compaction has.
    fn about(&self, more: Value) -> Value {
        let mut payload = more;
        payload["session_id"] = json!(self.id);
        if let Some(turn) = &self.turn {
            payload["turn_id"] = json!(turn.id);
        }
        payload
    }

    pub(crate) fn compaction_started(&mut self, pen: &mut LoafPen<'_>, why: CompactReason) {
        let turn = self.turn.is_some();
        self.say_status(pen, true, COMPRESSING, turn);
        let started = json!({
            "reason": reason(why),
            "anchor_event_index_before": self.anchor,
            "event_count": self.state.last_seq,
            "context_window_tokens": self.state.context_window,
        });
        pen.event("compaction.started", self.about(started));
    }

    pub(crate) fn compaction_done(&mut self, pen: &mut LoafPen<'_>, scene: &mut TurnScene<'_>, done: &Compaction) {
        let before = std::mem::replace(&mut self.anchor, done.first_kept);
        self.compacted = true;
        let selected = json!({ "anchor_event_index_before": before, "anchor_event_index_after": done.first_kept });
        pen.event("compaction.anchor_selected", self.about(selected));
        let merged = json!({ "summary_length": done.summary.encode_utf16().count() });
        pen.event("compaction.summary_merged", self.about(merged));
        let mut completed = outcome(self, reason(done.reason), before, Some(done));
        completed["compressed"] = json!(true);
        completed["high_watermark_limit"] = json!(share(self.state.context_window, HIGH_WATERMARK_PCT));
        pen.event("compaction.completed", self.about(completed));
        let tokens = format!("context compressed: {} -> {} tokens.", done.tokens_before, done.tokens_after);
        let text = match done.reason {
            CompactReason::Switch => format!("{} {tokens}", self.switched(scene.choice)),
            CompactReason::Manual | CompactReason::Threshold | CompactReason::Overflow => tokens,
        };
        self.remark(pen, scene.numbers, &text);
    }

    fn switched(&self, choice: &UsualModel) -> String {
        let name = |provider: Option<&'static str>| provider.unwrap_or("none");
        format!("provider switched: {} -> {}.", name(self.provider), name(choice.provider()))
    }

    pub(crate) fn compaction_failed(&mut self, pen: &mut LoafPen<'_>, why: CompactReason, fault: &Fault) {
        // Of one that was stopped nobody needs to hear more than that.
        let message = match fault.kind {
            FaultKind::Cancelled => "cancelled",
            _ => &fault.message,
        };
        let failed = json!({ "reason": reason(why), "message": message });
        pen.event("compaction.failed", self.about(failed));
    }
}
