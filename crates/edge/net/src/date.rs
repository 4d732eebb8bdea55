//! Dates in headers: HTTP's own, for `Retry-After` and `Date` (only the form that servers must send, RFC 9110's
//! IMF-fixdate), and RFC 3339, for the resets of budgets.

/// Seconds since 1970 of `Sun, 06 Nov 1994 08:49:37 GMT`.
pub fn parse(text: &str) -> Option<i64> {
    let mut words = text.trim().split_once(", ")?.1.split(' ');
    let day: i64 = words.next()?.parse().ok()?;
    let month = words.next()?;
    let year: i64 = words.next()?.parse().ok()?;
    let mut clock = words.next()?.split(':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    if words.next()? != "GMT" || clock.next().is_some() {
        return None;
    }
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = MONTHS.iter().position(|name| *name == month)? as i64 + 1;
    seconds([year, month, day], [hour, minute, second])
}

/// Seconds since 1970 of `1994-11-06T08:49:37Z`, with any offset. Fractions are rounded up.
pub fn parse_rfc3339(text: &str) -> Option<i64> {
    let number = |range: std::ops::Range<usize>| {
        text.get(range).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?.parse::<i64>().ok()
    };
    let marks = text.as_bytes().get(..19)?;
    let shaped = marks[4] == b'-' && marks[7] == b'-' && marks[13] == b':' && marks[16] == b':';
    if !shaped || !matches!(marks[10], b'T' | b't' | b' ') {
        return None;
    }
    let at =
        seconds([number(0..4)?, number(5..7)?, number(8..10)?], [number(11..13)?, number(14..16)?, number(17..19)?])?;
    let rest = text.get(19..)?;
    let digits = rest.strip_prefix('.').map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
    let (fraction, zone) = if digits > 0 { rest.split_at(digits + 1) } else { ("", rest) };
    let up = i64::from(fraction.bytes().any(|byte| (b'1'..=b'9').contains(&byte)));
    let offset = match zone.as_bytes() {
        [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), _, _, b':', _, _] => {
            let start = text.len() - 5;
            let minutes = number(start..start + 2)? * 60 + number(start + 3..start + 5)?;
            if *sign == b'+' { minutes * 60 } else { -minutes * 60 }
        }
        _ => return None,
    };
    Some(at + up - offset)
}

/// `None` for what is no day or no time of day.
fn seconds([year, month, day]: [i64; 3], [hour, minute, second]: [i64; 3]) -> Option<i64> {
    let fits = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..=60).contains(&second);
    fits.then(|| days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second)
}

/// Days since 1970-01-01. The year is taken to start in March, so that the leap day is its last.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leaps = year / 4 - year / 100 + year / 400;
    let since_march = (153 * month + 2) / 5 + day - 1;
    year * 365 + leaps + since_march - 719_468
}

#[cfg(test)]
mod tests {
    use super::{parse, parse_rfc3339};

    #[test]
    fn dates_become_seconds() {
        for (text, want) in [
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Thu, 29 Feb 2024 23:59:59 GMT", Some(1_709_251_199)),
            ("Tue, 19 Jan 2038 03:14:08 GMT", Some(2_147_483_648)),
            ("Sun, 06 Nov 1994 08:49:37 CET", None),
            ("Sun, 06 Foo 1994 08:49:37 GMT", None),
            ("Sun, 06 Nov 1994 25:49:37 GMT", None),
            ("soon", None),
            ("", None),
        ] {
            assert_eq!(parse(text), want, "{text}");
        }
    }

    #[test]
    fn internet_dates_become_seconds() {
        for (text, want) in [
            ("1994-11-06T08:49:37Z", Some(784_111_777)),
            ("1994-11-06T08:49:36.001Z", Some(784_111_777)),
            ("1994-11-06T08:49:37.000Z", Some(784_111_777)),
            ("1994-11-06T09:49:37+01:00", Some(784_111_777)),
            ("1994-11-06T03:19:37-05:30", Some(784_111_777)),
            ("1994-11-06T08:49:37", None),
            ("1994-13-06T08:49:37Z", None),
            ("1994-11-06T08:49:3\u{e9}Z", None),
            ("1994-11-06T+8:49:37Z", None),
            ("1994-11-06", None),
            ("", None),
        ] {
            assert_eq!(parse_rfc3339(text), want, "{text}");
        }
    }
}
