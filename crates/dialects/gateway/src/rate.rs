//! How fast one connection may ask: a bucket of tokens, and how often it may find it empty.

/// Requests at once.
pub const BURST_MAX: u64 = 500;
/// Requests per second, in the long run.
pub(crate) const PER_SECOND_MAX: u64 = 100;
/// So many refusals in [`VIOLATIONS_MS`] end the connection.
const VIOLATIONS_MAX: u32 = 5;
const VIOLATIONS_MS: u64 = 10_000;
/// One request in units of the bucket, which gains [`PER_SECOND_MAX`] of them per millisecond.
const WHOLE: u64 = 1000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bucket {
    parts: u64,
    at_ms: u64,
    violations: u32,
    since_ms: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Rate {
    Fine,
    /// Refused; after so many milliseconds there is room for one.
    TooFast {
        retry_after_ms: u64,
    },
    /// Refused too often.
    Enough {
        retry_after_ms: u64,
    },
}

impl Default for Bucket {
    fn default() -> Self {
        Self { parts: BURST_MAX * WHOLE, at_ms: 0, violations: 0, since_ms: 0 }
    }
}

impl Bucket {
    pub(crate) fn take(&mut self, now_ms: u64) -> Rate {
        let passed = now_ms.saturating_sub(self.at_ms);
        self.parts = self.parts.saturating_add(passed.saturating_mul(PER_SECOND_MAX)).min(BURST_MAX * WHOLE);
        self.at_ms = now_ms;
        if self.parts >= WHOLE {
            self.parts -= WHOLE;
            return Rate::Fine;
        }
        let retry_after_ms = (WHOLE - self.parts).div_ceil(PER_SECOND_MAX);
        if self.violations == 0 || now_ms.saturating_sub(self.since_ms) >= VIOLATIONS_MS {
            (self.violations, self.since_ms) = (0, now_ms);
        }
        self.violations += 1;
        match self.violations >= VIOLATIONS_MAX {
            true => Rate::Enough { retry_after_ms },
            false => Rate::TooFast { retry_after_ms },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_goes_through_and_then_a_hundred_a_second() {
        let mut bucket = Bucket::default();
        assert!((0..BURST_MAX).all(|_| bucket.take(0) == Rate::Fine));
        assert_eq!(bucket.take(0), Rate::TooFast { retry_after_ms: 10 });
        assert_eq!(bucket.take(9), Rate::TooFast { retry_after_ms: 1 });
        assert_eq!(bucket.take(10), Rate::Fine);
        let fine = (11..=1010).filter(|now| bucket.take(*now) == Rate::Fine).count();
        assert_eq!(fine, 100);
        assert!((0..BURST_MAX).all(|_| bucket.take(1_000_000) == Rate::Fine), "it does not fill beyond the burst");
        assert_ne!(bucket.take(1_000_000), Rate::Fine);
    }

    #[test]
    fn the_fifth_refusal_within_ten_seconds_is_the_last() {
        let mut bucket = Bucket::default();
        (0..BURST_MAX).for_each(|_| assert_eq!(bucket.take(0), Rate::Fine));
        let kinds = [0, 1, 2, 3, 4].map(|now| matches!(bucket.take(now), Rate::Enough { .. }));
        assert_eq!(kinds, [false, false, false, false, true]);
        let mut slower = Bucket::default();
        let mut refuse_at = |now: u64| loop {
            match slower.take(now) {
                Rate::Fine => {}
                refused => break refused,
            }
        };
        for now in [0, 3000, 6000, 9999, 10_000, 13_000] {
            assert!(matches!(refuse_at(now), Rate::TooFast { .. }), "{now}");
        }
    }
}
