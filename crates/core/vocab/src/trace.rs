//! Where something belongs in a trace, in the W3C's form: `VERSION-TRACE-SPAN-FLAGS`, all lower-case hex. Behind a blank may
//! stand what else the sender's tracing wants to have carried along (`tracestate`).

use std::fmt;

/// The most of a `tracestate` that is carried; a longer one is left behind, as the standard allows.
pub const TRACE_STATE_BYTES_MAX: usize = 512;

/// A place in a trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TracePlace {
    /// Never 0.
    pub trace: u128,
    /// Never 0.
    pub span: u64,
    /// Whoever began the trace keeps it.
    pub sampled: bool,
}

impl TracePlace {
    /// `None` for what does not have the form: the standard says to go on as if nothing had been said.
    pub fn parse(text: &str) -> Option<Self> {
        let place = text.split_once(' ').map_or(text, |(place, _)| place);
        let mut fields = place.split('-');
        let (version, trace, span, flags) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        let version = hex(version, 2)?;
        // Later versions may say more behind it.
        if version == 0xff || (version == 0 && fields.next().is_some()) {
            return None;
        }
        let (trace, span, flags) = (hex(trace, 32)?, hex(span, 16)?, hex(flags, 2)?);
        let span = u64::try_from(span).ok()?;
        (trace != 0 && span != 0).then_some(Self { trace, span, sampled: flags & 1 == 1 })
    }

    /// What stands behind the place.
    pub fn state(text: &str) -> Option<&str> {
        let (_, state) = text.split_once(' ')?;
        let fits = state.len() <= TRACE_STATE_BYTES_MAX && state.bytes().all(|byte| (0x20..0x7f).contains(&byte));
        (!state.trim().is_empty() && fits).then(|| state.trim())
    }
}

fn hex(text: &str, digits: usize) -> Option<u128> {
    let is_hex = text.len() == digits && text.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'));
    if is_hex { u128::from_str_radix(text, 16).ok() } else { None }
}

impl fmt::Display for TracePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{:032x}-{:016x}-{:02x}", self.trace, self.span, u8::from(self.sampled))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_place_is_read_and_written() {
        let place = TracePlace::parse(GOOD).unwrap();
        assert_eq!((place.span, place.sampled), (0x00f0_67aa_0ba9_02b7, true));
        assert_eq!(place.to_string(), GOOD);
        assert_eq!(TracePlace::parse(&format!("{GOOD} a=1,b=2")), Some(place));
        assert_eq!(TracePlace::state(&format!("{GOOD} a=1,b=2")), Some("a=1,b=2"));
        assert_eq!(TracePlace::state(GOOD), None);
        assert_eq!(TracePlace::state(&format!("{GOOD} {}", "x".repeat(TRACE_STATE_BYTES_MAX + 1))), None);
        let later = "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00-what-comes";
        assert_eq!(TracePlace::parse(later).map(|place| place.sampled), Some(false));
    }

    #[test]
    fn anything_else_is_none() {
        let bad = [
            "",
            "00",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-1",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\nx: y",
            "+0-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ];
        for text in bad {
            assert_eq!(TracePlace::parse(text), None, "{text:?}");
        }
    }
}
