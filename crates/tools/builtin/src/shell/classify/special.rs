//! Commands with a grammar of their own kind: the shell's own `printf` and `test`, `find`, `date`, `jq`.

use super::formats;
use super::grammar::{Grammar, PLAIN, is_value};
use super::lexer::Word;

/// A format of known conversions, and words. `-v NAME` assigns, `%n` does, and both evaluate a subscript in the name,
/// and with it any command.
pub(super) fn printf(words: &[Word]) -> bool {
    let Some(format) = words.first() else { return false };
    no_subscripts(words) && !format.text.starts_with('-') && formats::printf(&format.text)
}

/// Not: `-v NAME` and `-R NAME`, which evaluate a subscript; numbers are not evaluated by `test`, only by `[[`.
pub(super) fn test(words: &[Word]) -> bool {
    const OPERATORS: &[&str] = &[
        "-a", "-b", "-c", "-d", "-e", "-ef", "-eq", "-f", "-g", "-G", "-ge", "-gt", "-h", "-k", "-L", "-le", "-lt",
        "-n", "-N", "-ne", "-nt", "-o", "-O", "-ot", "-p", "-r", "-s", "-S", "-t", "-u", "-w", "-x", "-z",
    ];
    let known = |word: &Word| is_value(word) || OPERATORS.contains(&word.text.as_str());
    no_subscripts(words) && words.iter().all(known)
}

fn no_subscripts(words: &[Word]) -> bool {
    words.iter().all(|word| !word.glob && !word.text.contains('['))
}

/// Places, then tests and actions. `-L` and `-follow` lead out of the workspace, `-exec` and its kin run programs,
/// `-fprint` and its kin write.
pub(super) fn find(words: &[Word]) -> bool {
    const ALONE: &[&str] = &[
        "(",
        ")",
        "!",
        ",",
        "-a",
        "-and",
        "-daystart",
        "-depth",
        "-empty",
        "-executable",
        "-false",
        "-ls",
        "-mount",
        "-not",
        "-o",
        "-or",
        "-print",
        "-print0",
        "-prune",
        "-quit",
        "-readable",
        "-true",
        "-writable",
        "-xdev",
    ];
    const WITH_VALUE: &[&str] = &[
        "-amin",
        "-atime",
        "-cmin",
        "-ctime",
        "-group",
        "-iname",
        "-inum",
        "-ipath",
        "-iregex",
        "-links",
        "-maxdepth",
        "-mindepth",
        "-mmin",
        "-mtime",
        "-name",
        "-newer",
        "-path",
        "-perm",
        "-printf",
        "-regex",
        "-regextype",
        "-samefile",
        "-size",
        "-type",
        "-user",
        "-wholename",
    ];
    let words = words.strip_prefix(&[Word::plain("-P")]).unwrap_or(words);
    let begins = |word: &Word| word.text.starts_with('-') || ALONE.contains(&word.text.as_str());
    let places = words.iter().position(begins).unwrap_or(words.len());
    let mut expression = words[places..].iter();
    while let Some(word) = expression.next() {
        let text = word.text.as_str();
        let known = match WITH_VALUE.contains(&text) {
            true => expression.next().is_some_and(is_value),
            false => ALONE.contains(&text),
        };
        if !known {
            return false;
        }
    }
    true
}

/// One `+FORMAT` at most: any other operand sets the clock.
pub(super) fn date(words: &[Word]) -> bool {
    const GRAMMAR: Grammar = Grammar {
        flags: "uR",
        values: "dr",
        glued: "I",
        long: &["utc", "rfc-email"],
        long_values: &["date", "reference", "rfc-3339"],
        long_glued: &["iso-8601"],
        unjoined: true,
        ..PLAIN
    };
    let operands = GRAMMAR.operands(words).filter(|operands| operands.len() <= 1);
    operands.is_some_and(|operands| operands.iter().all(|word| !word.glob && word.text.starts_with('+')))
}

/// A program can name further files to load.
pub(super) fn jq(words: &[Word]) -> bool {
    const GRAMMAR: Grammar = Grammar {
        flags: "cnrsSejaCMR",
        long: &["raw-output", "compact-output", "null-input", "slurp", "sort-keys", "exit-status", "tab", "raw-input"],
        pairs: &["arg", "argjson"],
        ..PLAIN
    };
    let loads = |word: &Word| ["import", "include", "modulemeta"].iter().any(|part| word.text.contains(part));
    !words.iter().any(loads) && GRAMMAR.fits(words)
}
