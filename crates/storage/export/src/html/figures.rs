//! Numbers, sizes, times as people write them.

use vocab::Usage;

const DAY_MS: i64 = 86_400_000;

/// `1,234,567`
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 line`, `2 lines`
pub(super) fn plural(number: u64, word: &str) -> String {
    format!("{} {word}{}", count(number), if number == 1 { "" } else { "s" })
}

/// `512 bytes`, `1.5 KiB`
pub(super) fn size(bytes: usize) -> String {
    match bytes {
        1 => "1 byte".into(),
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}

/// `12 lines, 1.5 KiB`
pub(super) fn extent(text: &str) -> String {
    format!("{}, {}", plural(text.lines().count() as u64, "line"), size(text.len()))
}

/// `85 ms`, `1.2 s`, `3 min 5 s`
pub(super) fn duration(ms: u64) -> String {
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..60_000 => format!("{:.1} s", ms as f64 / 1000.0),
        60_000..3_600_000 => format!("{} min {} s", ms / 60_000, ms / 1000 % 60),
        _ => format!("{} h {} min", count(ms / 3_600_000), ms / 60_000 % 60),
    }
}

/// `2026-11-15 22:28` in UTC, for there is no one place where a page is read.
pub(super) fn date(at_ms: i64) -> String {
    let (year, month, day) = vocab::civil(at_ms);
    format!("{year:04}-{month:02}-{day:02} {}", clock(at_ms))
}

/// `22:28`
pub(super) fn clock(at_ms: i64) -> String {
    let minutes = at_ms.rem_euclid(DAY_MS) / 60_000;
    format!("{:02}:{:02}", minutes / 60, minutes % 60)
}

/// `1,200 in, 300 cache read, 0 cache write, 45 out`
pub(super) fn tokens(usage: &Usage) -> String {
    format!(
        "{} in, {} cache read, {} cache write, {} out{}",
        count(usage.input),
        count(usage.cache_read),
        count(usage.cache_write),
        count(usage.output),
        if usage.estimated { " (estimated)" } else { "" }
    )
}

/// `$0.0123`; an unknown cost is not free.
pub(super) fn cost(dollars: Option<f64>) -> String {
    dollars.map_or_else(|| "unknown".into(), |dollars| format!("${dollars:.4}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0, 1, 1023, 1536, 5 << 20].map(size), ["0 bytes", "1 byte", "1023 bytes", "1.5 KiB", "5.0 MiB"]);
        let times = [0, 999, 1_250, 185_000, 7_260_000].map(duration);
        assert_eq!(times, ["0 ms", "999 ms", "1.2 s", "3 min 5 s", "2 h 1 min"]);
        assert_eq!(extent("a\nb\n"), "2 lines, 4 bytes");
    }

    #[test]
    fn dates_follow_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00");
        assert_eq!(date(951_782_399_000), "2000-02-28 23:59");
        assert_eq!(date(951_782_400_000), "2000-02-29 00:00");
        assert_eq!(date(1_794_781_698_000), "2026-11-15 22:28");
        assert_eq!(date(-1), "1969-12-31 23:59");
        for at_ms in [i64::MIN, i64::MAX] {
            assert!(date(at_ms).ends_with(|c: char| c.is_ascii_digit()));
        }
    }

    #[test]
    fn an_unknown_cost_is_not_zero() {
        assert_eq!(cost(None), "unknown");
        assert_eq!(cost(Some(0.0)), "$0.0000");
    }
}
