//! `--attach` among the words of a command line. Its value may be missing, and a prompt may follow: only what can be a gateway
//! is taken for one.

use std::ffi::{OsStr, OsString};

use vocab::visible::shell_word;

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

/// The flag among [`joined`] words as it can be typed again; without a value where it is not among them.
pub fn given(words: &[impl AsRef<OsStr>]) -> String {
    let flags = words.iter().map(AsRef::as_ref).take_while(|word| *word != "--");
    let place = flags.filter_map(|word| word.to_str()?.strip_prefix(FLAG)?.strip_prefix('=')).last();
    match place.unwrap_or(HERE) {
        "" | HERE => FLAG.to_owned(),
        place if AttachTo::is_named_by(place) => format!("{FLAG} {}", shell_word(place)),
        place => shell_word(&format!("{FLAG}={place}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_is_given_again_as_it_was() {
        for (line, again) in [
            ("repl", "--attach"),
            ("repl --attach -c", "--attach"),
            ("repl --attach auto", "--attach auto"),
            ("--attach=wss://box.example:18800 repl", "--attach wss://box.example:18800"),
            ("repl --attach=/run/my$gateway", "'--attach=/run/my$gateway'"),
            ("run -- --attach=auto", "--attach"),
        ] {
            assert_eq!(given(&joined(words(line))), again, "{line}");
        }
    }

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
