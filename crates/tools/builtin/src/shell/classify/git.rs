//! `git`: the subcommands that only show, each with its grammar. What a repository's configuration makes of them is
//! [`super::super::git_safety`]'s question.

use super::formats;
use super::grammar::{Grammar, PLAIN};
use super::lexer::Word;

pub(super) fn only_reads(arguments: &[Word]) -> bool {
    // Options before the subcommand change the repository, the configuration or the pager.
    let arguments = match arguments {
        [first, rest @ ..] if first.text == "--no-pager" => rest,
        all => all,
    };
    let Some((subcommand, rest)) = arguments.split_first() else { return false };
    match subcommand.text.as_str() {
        "--version" | "version" => rest.is_empty(),
        "status" => STATUS.fits(rest),
        "log" | "show" | "diff" => rest.iter().all(has_plain_format) && LOG.fits(rest),
        "branch" => branch(rest),
        "rev-parse" => REV_PARSE.fits(rest),
        "blame" => BLAME.fits(rest),
        "ls-files" => LS_FILES.fits(rest),
        "describe" => DESCRIBE.fits(rest),
        _ => false,
    }
}

/// Whether the format in this word, if it is an option with one, starts no program.
fn has_plain_format(word: &Word) -> bool {
    let format = word.text.strip_prefix("--format=").or_else(|| word.text.strip_prefix("--pretty="));
    format.is_none_or(|format| !word.glob && formats::git(format))
}

/// A name creates a branch unless `--list` is there.
fn branch(rest: &[Word]) -> bool {
    let list = rest.iter().any(|word| word.text == "--list");
    let dashes = rest.iter().any(|word| matches!(word.text.as_str(), "-" | "--"));
    let operands = BRANCH.operands(rest);
    !dashes && operands.is_some_and(|operands| list || operands.is_empty())
}

const STATUS: Grammar = Grammar {
    flags: "sbvz",
    glued: "u",
    long: &["short", "branch", "long", "verbose", "no-renames"],
    long_glued: &["porcelain", "untracked-files", "ignored"],
    ..PLAIN
};
/// Not: `--output`, `--ext-diff`, `--textconv`, `--no-index`, `--show-signature`, `-O`, `-c`, `--submodule`.
const LOG: Grammar = Grammar {
    flags: "psuwbaiRzE",
    values: "nSGU",
    glued: "MC",
    count: true,
    unjoined: true,
    long: &[
        "abbrev-commit",
        "all",
        "cached",
        "check",
        "date-order",
        "exit-code",
        "first-parent",
        "follow",
        "full-index",
        "graph",
        "histogram",
        "ignore-all-space",
        "ignore-space-change",
        "left-right",
        "merge-base",
        "merges",
        "minimal",
        "name-only",
        "name-status",
        "no-color",
        "no-decorate",
        "no-ext-diff",
        "no-merges",
        "no-patch",
        "no-renames",
        "no-textconv",
        "numstat",
        "oneline",
        "patch",
        "patience",
        "quiet",
        "raw",
        "reverse",
        "shortstat",
        "staged",
        "summary",
        "topo-order",
    ],
    long_values: &[
        "after",
        "author",
        "before",
        "committer",
        "date",
        "diff-filter",
        "grep",
        "max-count",
        "since",
        "skip",
        "unified",
        "until",
    ],
    long_glued: &[
        "abbrev",
        "branches",
        "color",
        "decorate",
        "find-renames",
        "format",
        "pretty",
        "relative",
        "remotes",
        "stat",
        "tags",
        "word-diff",
    ],
    ..PLAIN
};
/// Not: `--format`.
const BRANCH: Grammar = Grammar {
    flags: "arv",
    long: &["all", "remotes", "verbose", "list", "show-current", "no-color", "no-column"],
    ..PLAIN
};
const REV_PARSE: Grammar = Grammar {
    flags: "q",
    long: &[
        "show-toplevel",
        "verify",
        "git-dir",
        "absolute-git-dir",
        "is-inside-work-tree",
        "is-bare-repository",
        "show-prefix",
        "show-cdup",
        "symbolic-full-name",
        "quiet",
    ],
    long_glued: &["short", "abbrev-ref"],
    ..PLAIN
};
/// Not: `--contents`, `--ignore-revs-file`, `-S`: they read a file.
const BLAME: Grammar = Grammar {
    flags: "westlpfn",
    values: "L",
    glued: "MC",
    long: &["porcelain", "line-porcelain", "show-email", "show-name"],
    long_values: &["date"],
    ..PLAIN
};
/// Not: `-X`, `--exclude-per-directory`: they read a file.
const LS_FILES: Grammar = Grammar {
    flags: "cdmosuktzvi",
    values: "x",
    long: &[
        "cached",
        "deleted",
        "modified",
        "others",
        "stage",
        "ignored",
        "exclude-standard",
        "error-unmatch",
        "full-name",
        "directory",
    ],
    ..PLAIN
};
const DESCRIBE: Grammar = Grammar {
    long: &["tags", "always", "long", "all", "exact-match", "contains"],
    long_values: &["match"],
    long_glued: &["abbrev"],
    ..PLAIN
};
