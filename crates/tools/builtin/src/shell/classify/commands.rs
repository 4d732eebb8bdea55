//! The commands that only read, each with its grammar: the options that are known to be harmless, and how the program
//! reads them. An option that is not here may write a file, run a program, follow links or read a list of file names,
//! today or in a later version.
//!
//! Not a command here: `ps`. Many show the arguments of every process by default, and arguments hold keys.

use super::grammar::{Grammar, PLAIN};
use super::lexer::Word;
use super::{git, special};

/// Whether this simple command is known to only read.
pub(super) fn only_reads(words: &[Word]) -> bool {
    let Some((name, arguments)) = words.split_first() else { return false };
    // What a pattern stands for is up to the workspace, and a file can be called `-o`. A pattern begins with a
    // character that stands for itself, or what it means is not known.
    if name.glob || arguments.iter().any(|word| word.glob_first) {
        return false;
    }
    match name.text.as_str() {
        "echo" | "true" | "false" => arguments.iter().all(|word| !word.glob || !word.text.starts_with('-')),
        "printf" => special::printf(arguments),
        "test" => special::test(arguments),
        "find" => special::find(arguments),
        "date" => special::date(arguments),
        "jq" => special::jq(arguments),
        "git" => git::only_reads(arguments),
        name => table(name).is_some_and(|grammar| grammar.fits(arguments)),
    }
}

fn table(name: &str) -> Option<Grammar> {
    Some(match name {
        "ls" => LS,
        "cat" => Grammar { flags: "AbeEnstTuv", long: CAT, ..PLAIN },
        "head" => Grammar { flags: "qvz", values: "cn", count: true, ..ENDS },
        "tail" => Grammar { flags: "qvzf", values: "cns", count: true, ..ENDS },
        "wc" => Grammar { flags: "clmLw", long: &["bytes", "chars", "lines", "words", "max-line-length"], ..PLAIN },
        "grep" | "egrep" | "fgrep" => GREP,
        "rg" => RG,
        "pwd" => Grammar { flags: "LP", operands_max: 0, ..PLAIN },
        "whoami" => Grammar { operands_max: 0, ..PLAIN },
        "id" => Grammar { flags: "ugGnrz", long: &["user", "group", "groups", "name", "real"], ..PLAIN },
        "uname" => {
            let long = &["all", "kernel-name", "machine", "kernel-release"];
            Grammar { flags: "asnrvmpio", long, operands_max: 0, ..PLAIN }
        }
        "which" => Grammar { flags: "a", long: &["all"], ..PLAIN },
        "type" => Grammar { flags: "aftpP", ..PLAIN },
        "file" => {
            let long = &["brief", "mime", "mime-type", "mime-encoding", "dereference"];
            Grammar { flags: "bhikLN", long, ..PLAIN }
        }
        "stat" => {
            let long = &["dereference", "file-system", "terse"];
            Grammar { flags: "Lft", values: "c", long, long_values: &["format", "printf"], ..PLAIN }
        }
        "du" => DU,
        "df" => {
            let long = &["human-readable", "total", "inodes", "local", "print-type", "all"];
            Grammar { flags: "ahHiklPTm", values: "tBx", long, long_values: &["type"], ..PLAIN }
        }
        "sort" => SORT,
        // A second operand is written to.
        "uniq" => Grammar { flags: "cdDiuz", values: "fsw", long: UNIQ, operands_max: 1, ..PLAIN },
        "cut" => {
            let long_values = &["fields", "delimiter", "bytes", "characters", "output-delimiter"];
            Grammar { flags: "nsz", values: "bcdf", long: &["complement", "only-delimited"], long_values, ..PLAIN }
        }
        "tr" => {
            let long = &["complement", "delete", "squeeze-repeats", "truncate-set1"];
            Grammar { flags: "cCdst", long, operands_max: 2, ..PLAIN }
        }
        "diff" => DIFF,
        "cmp" => {
            let long = &["print-bytes", "silent", "quiet", "verbose"];
            let long_values = &["bytes", "ignore-initial"];
            Grammar { flags: "bls", values: "in", long, long_values, operands_max: 4, ..PLAIN }
        }
        "md5sum" | "sha1sum" | "sha224sum" | "sha256sum" | "sha384sum" | "sha512sum" | "b2sum" => {
            Grammar { flags: "btz", long: &["binary", "text", "tag", "zero"], ..PLAIN }
        }
        "basename" => {
            Grammar { flags: "az", values: "s", long: &["multiple", "zero"], long_values: &["suffix"], ..PLAIN }
        }
        "dirname" => Grammar { flags: "z", long: &["zero"], ..PLAIN },
        "realpath" => {
            let long = &["canonicalize-existing", "canonicalize-missing", "no-symlinks"];
            Grammar { flags: "eLmPqsz", long, long_values: &["relative-to", "relative-base"], ..PLAIN }
        }
        "readlink" => {
            let long = &["canonicalize", "canonicalize-existing", "canonicalize-missing", "no-newline"];
            Grammar { flags: "femnqsvz", long, ..PLAIN }
        }
        // In `-Lo 2 FILE` the letter `o` is an option of its own, whose value is the word behind that of `L`.
        "tree" => Grammar {
            flags: "adfipsughDFCNqAStrvcnx",
            values: "LPI",
            values_apart: true,
            long: &["dirsfirst", "noreport", "gitignore", "du", "prune"],
            long_values: &["filelimit"],
            ..PLAIN
        },
        _ => return None,
    })
}

const CAT: &[&str] = &["number", "number-nonblank", "show-all", "show-ends", "show-tabs"];
const UNIQ: &[&str] = &["count", "repeated", "unique", "ignore-case", "zero-terminated"];
/// `head` and `tail`.
const ENDS: Grammar = Grammar { long: &["quiet", "silent", "verbose"], long_values: &["lines", "bytes"], ..PLAIN };
const LS: Grammar = Grammar {
    flags: "1AabBcCdfFgGhiklmnNopqQrRsStuUvxXZ",
    values: "ITw",
    long: &[
        "all",
        "almost-all",
        "author",
        "directory",
        "escape",
        "file-type",
        "full-time",
        "group-directories-first",
        "human-readable",
        "inode",
        "no-group",
        "numeric-uid-gid",
        "recursive",
        "reverse",
        "si",
        "size",
    ],
    long_values: &["format", "hide", "ignore", "indicator-style", "sort", "time", "time-style"],
    long_glued: &["classify", "color"],
    ..PLAIN
};
/// Not: `-R`, which follows links.
const GREP: Grammar = Grammar {
    flags: "EFGPiyvwxcLlqsbHhnoTZazrIU",
    values: "efmABCdD",
    count: true,
    long: &[
        "basic-regexp",
        "byte-offset",
        "count",
        "extended-regexp",
        "files-with-matches",
        "files-without-match",
        "fixed-strings",
        "ignore-case",
        "initial-tab",
        "invert-match",
        "line-buffered",
        "line-number",
        "line-regexp",
        "no-filename",
        "no-ignore-case",
        "no-messages",
        "null",
        "only-matching",
        "perl-regexp",
        "quiet",
        "recursive",
        "silent",
        "text",
        "with-filename",
        "word-regexp",
    ],
    long_values: &[
        "after-context",
        "before-context",
        "binary-files",
        "context",
        "exclude",
        "exclude-dir",
        "include",
        "label",
        "max-count",
        "regexp",
    ],
    long_glued: &["color", "colour"],
    ..PLAIN
};
/// Not: `--pre`, `--hostname-bin` (they run programs), `-z` (it runs unpackers), `-L` (follows links).
const RG: Grammar = Grammar {
    flags: "abcFHiIlnNoPpqsSUuvVwx0.",
    values: "ABCefgmMrtTEdj",
    long: &[
        "case-sensitive",
        "column",
        "count",
        "count-matches",
        "files",
        "files-with-matches",
        "files-without-match",
        "fixed-strings",
        "heading",
        "hidden",
        "ignore-case",
        "invert-match",
        "json",
        "line-number",
        "line-regexp",
        "multiline",
        "multiline-dotall",
        "no-filename",
        "no-heading",
        "no-ignore",
        "no-ignore-vcs",
        "no-line-number",
        "null",
        "only-matching",
        "one-file-system",
        "passthru",
        "pcre2",
        "pretty",
        "quiet",
        "smart-case",
        "stats",
        "text",
        "trim",
        "type-list",
        "version",
        "vimgrep",
        "with-filename",
        "word-regexp",
    ],
    long_values: &[
        "after-context",
        "before-context",
        "color",
        "context",
        "glob",
        "iglob",
        "max-columns",
        "max-count",
        "max-depth",
        "regexp",
        "replace",
        "sort",
        "sortr",
        "type",
        "type-not",
    ],
    ..PLAIN
};
const DU: Grammar = Grammar {
    flags: "aAbchklmsSx0",
    values: "dBt",
    long: &[
        "all",
        "apparent-size",
        "bytes",
        "human-readable",
        "one-file-system",
        "separate-dirs",
        "si",
        "summarize",
        "total",
    ],
    long_values: &["block-size", "exclude", "max-depth", "threshold"],
    ..PLAIN
};
/// Not: `-o`, `-T`, `--compress-program`, `--files0-from`, `--random-source`.
const SORT: Grammar = Grammar {
    flags: "bdfgiMhnRrVcCmsuz",
    values: "kt",
    long: &[
        "dictionary-order",
        "general-numeric-sort",
        "human-numeric-sort",
        "ignore-case",
        "ignore-leading-blanks",
        "month-sort",
        "numeric-sort",
        "reverse",
        "stable",
        "unique",
        "version-sort",
        "zero-terminated",
    ],
    long_values: &["field-separator", "key"],
    long_glued: &["check"],
    ..PLAIN
};
/// Not: `-r`, which follows links; `-l`, which starts `pr`.
const DIFF: Grammar = Grammar {
    flags: "qsyuiEZbwBaTtNpcnd",
    values: "UCWIxF",
    count: true,
    long: &[
        "brief",
        "ignore-all-space",
        "ignore-blank-lines",
        "ignore-case",
        "ignore-space-change",
        "minimal",
        "new-file",
        "report-identical-files",
        "side-by-side",
        "suppress-common-lines",
        "text",
    ],
    long_values: &["exclude", "width"],
    long_glued: &["color", "context", "unified"],
    ..PLAIN
};
