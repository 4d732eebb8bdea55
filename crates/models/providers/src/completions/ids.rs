//! Ids of calls for servers that take only some. A call and its result get the same id because the same id becomes the
//! same one every time.

use std::borrow::Cow;

use super::compat::CallIds;

const FORTY: usize = 40;
const NINE: usize = 9;

impl CallIds {
    /// The id itself where it fits, else one made of it.
    pub(super) fn fit(self, id: &str) -> Cow<'_, str> {
        let plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        match self {
            CallIds::Any => Cow::Borrowed(id),
            CallIds::Forty if id.chars().count() <= FORTY => Cow::Borrowed(id),
            CallIds::Nine if id.len() == NINE && plain => Cow::Borrowed(id),
            CallIds::Forty | CallIds::Nine => Cow::Owned(digest(id)),
        }
    }
}

/// Nine letters and digits out of any text (FNV-1a, in base 36).
fn digest(text: &str) -> String {
    let mixed = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let digit = |number: u64| char::from_digit((number % 36) as u32, 36).unwrap_or('0');
    (0..NINE)
        .scan(mixed, |rest, _| {
            let digit = digit(*rest);
            *rest /= 36;
            Some(digit)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_does_not_fit_becomes_one_that_does() {
        let long = "call_".repeat(20);
        for (ids, id, same) in [
            (CallIds::Any, &*long, true),
            (CallIds::Forty, "call_1", true),
            (CallIds::Forty, &long[..40], true),
            (CallIds::Forty, &long[..41], false),
            (CallIds::Nine, "abcDEF123", true),
            (CallIds::Nine, "abcDEF12", false),
            (CallIds::Nine, "call_1234", false),
        ] {
            let fit = ids.fit(id);
            assert_eq!(fit == id, same, "{ids:?} {id}");
            assert_eq!(fit, ids.fit(id));
            assert!(same || (fit.len() == 9 && fit.bytes().all(|byte| byte.is_ascii_alphanumeric())), "{fit}");
        }
        assert_ne!(CallIds::Nine.fit("call_1"), CallIds::Nine.fit("call_2"));
    }
}
