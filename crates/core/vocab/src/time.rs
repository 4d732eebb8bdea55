//! A moment as people and files write it.

use std::time::SystemTime;

const DAY_MS: i64 = 86_400_000;

/// Milliseconds since 1970, as logs count them; 0 for what was before.
pub fn unix_ms(at: SystemTime) -> i64 {
    let since = at.duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// `2026-01-31T12:00:00.000Z`
pub fn iso8601(at_ms: i64) -> String {
    let (year, month, day) = civil(at_ms);
    let ms = at_ms.rem_euclid(DAY_MS);
    let (hour, minute, second, ms) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60, ms % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// Year, month and day in UTC, after Howard Hinnant's published algorithm: days are counted in eras of 400 years that
/// begin on the 1st of March, so that a leap day ends a year.
pub fn civil(at_ms: i64) -> (i64, i64, i64) {
    let shifted = at_ms.div_euclid(DAY_MS) + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_before_and_after_leap_days_and_the_epoch() {
        assert_eq!(iso8601(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso8601(-1), "1969-12-31T23:59:59.999Z");
        assert_eq!(iso8601(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(iso8601(1_709_251_199_999), "2024-02-29T23:59:59.999Z");
        assert_eq!(iso8601(4_102_444_800_000), "2100-01-01T00:00:00.000Z");
    }
}
