//! Compaction as the originals of `rpc` measure it: in tokens.

use vocab::CompactionPolicy;

/// Compaction in tokens of the chosen model's window, where somebody said it so.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CompactAt {
    /// Room that is kept free.
    pub reserve_tokens: Option<u64>,
    /// What is kept word for word.
    pub keep_tokens: Option<u64>,
}

impl CompactAt {
    pub fn over(self, usual: CompactionPolicy, window: u64) -> CompactionPolicy {
        let percent =
            |tokens: u64| u8::try_from(tokens.saturating_mul(100) / window.max(1)).unwrap_or(u8::MAX).min(100);
        CompactionPolicy {
            threshold_pct: self.reserve_tokens.map_or(usual.threshold_pct, |it| (100 - percent(it)).max(10)),
            keep_pct: self.keep_tokens.map_or(usual.keep_pct, |it| percent(it).min(90)),
            ..usual
        }
    }
}
