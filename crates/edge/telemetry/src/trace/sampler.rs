//! Which traces are kept: the samplers that every OpenTelemetry SDK knows by these names.

use vocab::TracePlace;

#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Sampler {
    On,
    Off,
    /// This share of all traces, by their ids: whoever samples by the same share keeps the same ones.
    Ratio(f64),
}

/// What counts for a trace that somebody else began.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct SamplerChoice {
    pub(crate) root: Sampler,
    /// What was decided where the trace began holds.
    pub(crate) follows_parent: bool,
}

impl SamplerChoice {
    pub(crate) fn keeps(self, trace: u128, parent: Option<&TracePlace>) -> bool {
        match (self.follows_parent, parent) {
            (true, Some(parent)) => parent.sampled,
            _ => match self.root {
                Sampler::On => true,
                Sampler::Off => false,
                // The lower half is the random one, in ids of every kind.
                Sampler::Ratio(share) => ((trace as u64) >> 1) < (share * (1_u64 << 63) as f64) as u64,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_share_and_the_parent_decides_where_it_may() {
        let quarter = SamplerChoice { root: Sampler::Ratio(0.25), follows_parent: true };
        let kept = (0..4_000).filter(|_| quarter.keeps(super::super::ids::random_trace(), None)).count();
        assert!((800..1_200).contains(&kept), "{kept} of 4000");
        let parent = TracePlace { trace: 1, span: 1, sampled: true };
        assert!((0..100).all(|trace| quarter.keeps(trace << 40, Some(&parent))));
        assert!(!quarter.keeps(1, Some(&TracePlace { sampled: false, ..parent })));
        let alone = SamplerChoice { root: Sampler::Off, follows_parent: false };
        assert!(!alone.keeps(1, Some(&parent)));
        assert!(SamplerChoice { root: Sampler::Ratio(1.0), follows_parent: false }.keeps(u128::MAX >> 1, None));
        assert!(!SamplerChoice { root: Sampler::Ratio(0.0), follows_parent: false }.keeps(1, None));
    }
}
