//! `--attach` among the words of a command line. Its value may be missing, and a prompt may follow: only what can be a gateway
//! is taken for one.

use std::ffi::{OsStr, OsString};

use crate::place::{AttachTo, HERE};

pub(crate) const FLAG: &str = "--attach";

/// The same words with `--attach auto` as `--attach=auto`. Behind `--` nothing is a flag.
pub fn joined(words: Vec<OsString>) -> Vec<OsString> {
    let mut kept = Vec::with_capacity(words.len());
    let mut rest = words.into_iter().peekable();
    let mut is_over = false;
    while let Some(word) = rest.next() {
        is_over |= word == "--";
        if is_over || word != FLAG {
            kept.push(word);
            continue;
        }
        let place = rest.next_if(|next| next.to_str().is_some_and(AttachTo::is_named_by));
        let place = place.map_or_else(|| HERE.to_owned(), |place| place.to_string_lossy().into_owned());
        kept.push(format!("{FLAG}={place}").into());
    }
    kept
}

/// What is left for the gateway to read.
pub fn without(words: &[OsString]) -> Vec<OsString> {
    let flags = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let is_ours = |word: &OsStr| word.to_str().is_some_and(|text| text.starts_with(&format!("{FLAG}=")));
    let (before, behind) = words.split_at(flags);
    before.iter().filter(|word| !is_ours(word)).chain(behind).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    fn line(words: &[OsString]) -> String {
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_prompt_is_no_gateway() {
        for (given, meant, left) in [
            ("serve --attach", "serve --attach=here", "serve"),
            ("serve --attach auto --multi", "serve --attach=auto --multi", "serve --multi"),
            ("run --attach fix the bug", "run --attach=here fix the bug", "run fix the bug"),
            ("run --attach -c go on", "run --attach=here -c go on", "run -c go on"),
            ("rpc --attach ws://h:1 -c", "rpc --attach=ws://h:1 -c", "rpc -c"),
            ("acp --attach /run/g.sock", "acp --attach=/run/g.sock", "acp"),
            ("run -- --attach auto", "run -- --attach auto", "run -- --attach auto"),
        ] {
            let joined = joined(words(given));
            assert_eq!((line(&joined).as_str(), line(&without(&joined)).as_str()), (meant, left), "{given}");
        }
    }
}
