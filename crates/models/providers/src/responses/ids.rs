//! Ids of calls as this wire takes them: at most 64 characters, none that other vendors alone know, and none twice.

use std::borrow::Cow;

/// OpenAI refuses longer ones.
const CALL_ID_CHARS_MAX: usize = 64;
/// What is kept of an id that does not fit, for people who read the request. Leaves room for a dash and the digits.
const KEPT_CHARS_MAX: usize = 40;

/// The same id for the same call every time, so that call and result still meet. `times`: how often it has come.
pub(super) fn call_id(id: &str, times: Option<u32>) -> Cow<'_, str> {
    match times {
        None | Some(0 | 1) => fit(id),
        Some(times) => Cow::Owned(fit(&format!("{id}#{times}")).into_owned()),
    }
}

fn fit(id: &str) -> Cow<'_, str> {
    let fits = |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
    if !id.is_empty() && id.len() <= CALL_ID_CHARS_MAX && id.chars().all(fits) {
        return Cow::Borrowed(id);
    }
    let kept: String = id.chars().take(KEPT_CHARS_MAX).map(|char| if fits(char) { char } else { '_' }).collect();
    Cow::Owned(format!("{kept}-{:016x}", fingerprint(id)))
}

/// FNV-1a. Written out because it must be the same in every version of the program: a replayed request shows it.
fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_fit_stay_apart_and_stay_the_same() {
        let long = "x".repeat(65);
        for (id, want) in [
            ("call_Ab-1", "call_Ab-1".to_owned()),
            (&long[..64], "x".repeat(64)),
            (&long, format!("{}-7d70a52549704607", "x".repeat(40))),
            ("call_1|fc_2", "call_1_fc_2-af9de82873fca635".to_owned()),
            ("", "-cbf29ce484222325".to_owned()),
        ] {
            let got = fit(id);
            assert!(got.len() <= CALL_ID_CHARS_MAX, "{got}");
            assert_eq!(got, want, "{id}");
        }
        assert_ne!(fit("a.b"), fit("a:b"));
        assert_ne!(fit(&format!("{long}1")), fit(&format!("{long}2")));
        assert_eq!(call_id("a", Some(1)), "a");
        assert!(call_id("a", Some(2)).starts_with("a_2-"));
        assert_ne!(call_id("a", Some(2)), call_id("a_2", None));
        assert!(fit(&"\u{1F600}".repeat(100)).len() <= CALL_ID_CHARS_MAX);
    }
}
