//! The sets of thinking levels that models take, weakest first. `off` stands where thinking can be switched off.

pub(super) type Levels = &'static [&'static str];

/// Does not think.
pub(super) const NONE: Levels = &[];
pub(super) const OFF_MINIMAL_TO_HIGH: Levels = &["off", "minimal", "low", "medium", "high"];
pub(super) const OFF_LOW_TO_HIGH: Levels = &["off", "low", "medium", "high"];
pub(super) const OFF_LOW_TO_XHIGH: Levels = &["off", "low", "medium", "high", "xhigh"];
pub(super) const OFF_LOW_HIGH: Levels = &["off", "low", "high"];
pub(super) const OFF_HIGH: Levels = &["off", "high"];
pub(super) const MINIMAL_TO_HIGH: Levels = &["minimal", "low", "medium", "high"];
pub(super) const LOW_TO_HIGH: Levels = &["low", "medium", "high"];
pub(super) const LOW_TO_XHIGH: Levels = &["low", "medium", "high", "xhigh"];
pub(super) const MEDIUM_TO_XHIGH: Levels = &["medium", "high", "xhigh"];
pub(super) const HIGH: Levels = &["high"];
