//! The commands that only read, each with the options known to be harmless. Allow lists throughout: an option that is
//! not here may write a file, run a program, follow links or read a list of file names, today or in a later version.
//!
//! Not a command here: `ps`. Many show the arguments of every process by default, and arguments hold keys.

use super::lexer::Word;

/// Options of one command.
struct KnownOptions {
    /// Letters without a value; they may be joined (`-la`).
    flags: &'static str,
    /// Letters with a value, joined or in the next word.
    values: &'static str,
    /// Long options, spelled out (abbreviations are not accepted), with or without `=value`.
    long: &'static [&'static str],
    /// `-5` is a count.
    digits: bool,
    /// A name from the workspace that starts with `-` could be taken for an option, and there are harmful ones: no
    /// word may start with a glob.
    harmful_options_exist: bool,
}

const fn safe(flags: &'static str, values: &'static str, long: &'static [&'static str]) -> KnownOptions {
    KnownOptions { flags, values, long, digits: false, harmful_options_exist: false }
}

const fn guarded(flags: &'static str, values: &'static str, long: &'static [&'static str]) -> KnownOptions {
    KnownOptions { harmful_options_exist: true, ..safe(flags, values, long) }
}

const fn counted(options: KnownOptions) -> KnownOptions {
    KnownOptions { digits: true, ..options }
}

impl KnownOptions {
    fn allow(&self, words: &[Word]) -> bool {
        words.iter().all(|word| {
            let hidden = word.glob_first && self.harmful_options_exist;
            // Words behind `--` or behind an option with a value are looked at like options, too: stricter than the
            // command itself, and never wrong.
            // A pattern may stand for a file whose name continues the option with the path of another.
            let continued = word.glob && word.text.starts_with('-') && !word.text.starts_with("--");
            !hidden
                && !continued
                && (!word.text.starts_with('-') || word.text == "-" || word.text == "--" || self.option(&word.text))
        })
    }

    fn option(&self, text: &str) -> bool {
        if let Some(long) = text.strip_prefix("--") {
            return self.long.contains(&long.split('=').next().unwrap_or_default());
        }
        let letters = &text[1..];
        if self.digits && letters.bytes().all(|byte| byte.is_ascii_digit()) {
            return true;
        }
        for letter in letters.chars() {
            if self.values.contains(letter) {
                return true;
            }
            if !self.flags.contains(letter) {
                return false;
            }
        }
        true
    }
}

/// Whether this simple command is known to only read.
pub(super) fn only_reads(words: &[Word]) -> bool {
    let Some((name, arguments)) = words.split_first() else { return false };
    if name.glob {
        return false;
    }
    let texts: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    match name.text.as_str() {
        "echo" | "true" | "false" => true,
        // `-v NAME` of both, and `%n` of the first, evaluate a subscript in NAME, and with it any command.
        "printf" => no_subscripts(arguments) && texts.first().is_some_and(|text| !text.starts_with('-')),
        "test" => no_subscripts(arguments) && !texts.iter().any(|text| matches!(*text, "-v" | "-R")),
        "find" => arguments.iter().all(|word| !word.glob_first) && find(&texts),
        "date" => arguments.iter().all(|word| !word.glob) && date(&texts),
        // A second operand is written to.
        "uniq" => {
            let operands = arguments.iter().filter(|word| !word.text.starts_with('-') || word.text == "-");
            arguments.iter().all(|word| !word.glob) && operands.count() <= 1 && UNIQ.allow(arguments)
        }
        // A program can name further files to load.
        "jq" => !texts.iter().any(|text| text.contains("import") || text.contains("include")) && JQ.allow(arguments),
        "git" => arguments.iter().all(|word| !word.glob_first) && git(arguments),
        name => table(name).is_some_and(|options| options.allow(arguments)),
    }
}

fn no_subscripts(words: &[Word]) -> bool {
    words.iter().all(|word| !word.glob && !word.text.contains('['))
}

const UNIQ: KnownOptions = guarded("cdDiuz", "fsw", &["count", "repeated", "unique", "ignore-case", "zero-terminated"]);
const JQ: KnownOptions = guarded(
    "cnrsSejaCMR",
    "",
    &[
        "raw-output",
        "compact-output",
        "null-input",
        "slurp",
        "sort-keys",
        "exit-status",
        "arg",
        "argjson",
        "tab",
        "raw-input",
    ],
);

fn table(name: &str) -> Option<KnownOptions> {
    Some(match name {
        "ls" => safe("1AabBcCdfFgGhiklmnNopqQrRsStuUvxXZ", "ITw", LS),
        "cat" => safe("AbeEnstTuv", "", &["number", "number-nonblank", "show-all", "show-ends", "show-tabs"]),
        "head" => counted(safe("qvz", "cn", &["lines", "bytes", "quiet", "silent", "verbose"])),
        "tail" => counted(safe("qvzf", "cns", &["lines", "bytes", "quiet", "silent", "verbose"])),
        "wc" => safe("clmLw", "", &["bytes", "chars", "lines", "words", "max-line-length"]),
        "grep" | "egrep" | "fgrep" => counted(safe("EFGPiyvwxcLlqsbHhnoTZazrIU", "efmABCdD", GREP)),
        "rg" => counted(guarded("abcFHiIlnNoPpqsSUuvVwx0.", "ABCefgmMrtTEdj", RG)),
        "pwd" => safe("LP", "", &[]),
        "whoami" => safe("", "", &[]),
        "id" => safe("ugGnrz", "", &["user", "group", "groups", "name", "real"]),
        "uname" => safe("asnrvmpio", "", &["all", "kernel-name", "machine", "kernel-release"]),
        "which" => safe("a", "", &["all"]),
        "type" => safe("aftpP", "", &[]),
        "file" => guarded("bhikLN", "", &["brief", "mime", "mime-type", "mime-encoding", "dereference"]),
        "stat" => safe("Lft", "c", &["format", "printf", "dereference", "file-system", "terse"]),
        "du" => guarded("aAbchklmsSx0", "dBt", DU),
        "df" => safe("ahHiklPTm", "tBx", &["human-readable", "type", "total", "inodes", "local", "print-type", "all"]),
        "sort" => guarded("bdfgiMhnRrVcCmsuz", "kt", SORT),
        "cut" => safe(
            "nsz",
            "bcdf",
            &["fields", "delimiter", "bytes", "characters", "complement", "only-delimited", "output-delimiter"],
        ),
        "tr" => safe("cCdst", "", &["complement", "delete", "squeeze-repeats", "truncate-set1"]),
        "diff" => counted(guarded("qsyuiEZbwBaTtNpcnd", "UCWIxF", DIFF)),
        "cmp" => safe("bls", "in", &["print-bytes", "silent", "quiet", "verbose", "bytes", "ignore-initial"]),
        "md5sum" | "sha1sum" | "sha224sum" | "sha256sum" | "sha384sum" | "sha512sum" | "b2sum" => {
            guarded("btz", "", &["binary", "text", "tag", "zero"])
        }
        "basename" => safe("az", "s", &["multiple", "suffix", "zero"]),
        "dirname" => safe("z", "", &["zero"]),
        "realpath" => safe(
            "eLmPqsz",
            "",
            &["canonicalize-existing", "canonicalize-missing", "relative-to", "relative-base", "no-symlinks"],
        ),
        "readlink" => {
            safe("femnqsvz", "", &["canonicalize", "canonicalize-existing", "canonicalize-missing", "no-newline"])
        }
        "tree" => guarded(
            "adfipsughDFCNqAStrvcnx",
            "LPI",
            &["dirsfirst", "noreport", "gitignore", "du", "prune", "filelimit"],
        ),
        _ => return None,
    })
}

const LS: &[&str] = &[
    "all",
    "almost-all",
    "author",
    "classify",
    "color",
    "directory",
    "escape",
    "file-type",
    "format",
    "full-time",
    "group-directories-first",
    "hide",
    "human-readable",
    "ignore",
    "indicator-style",
    "inode",
    "no-group",
    "numeric-uid-gid",
    "recursive",
    "reverse",
    "si",
    "size",
    "sort",
    "time",
    "time-style",
];
const GREP: &[&str] = &[
    "after-context",
    "basic-regexp",
    "before-context",
    "binary-files",
    "byte-offset",
    "color",
    "colour",
    "context",
    "count",
    "exclude",
    "exclude-dir",
    "extended-regexp",
    "files-with-matches",
    "files-without-match",
    "fixed-strings",
    "ignore-case",
    "include",
    "initial-tab",
    "invert-match",
    "label",
    "line-buffered",
    "line-number",
    "line-regexp",
    "max-count",
    "no-filename",
    "no-ignore-case",
    "no-messages",
    "null",
    "only-matching",
    "perl-regexp",
    "quiet",
    "recursive",
    "regexp",
    "silent",
    "text",
    "with-filename",
    "word-regexp",
];
/// Not: `--pre`, `--hostname-bin` (they run programs), `-z` (it runs unpackers), `-L` (follows links).
const RG: &[&str] = &[
    "after-context",
    "before-context",
    "case-sensitive",
    "color",
    "column",
    "context",
    "count",
    "count-matches",
    "files",
    "files-with-matches",
    "files-without-match",
    "fixed-strings",
    "glob",
    "heading",
    "hidden",
    "iglob",
    "ignore-case",
    "invert-match",
    "json",
    "line-number",
    "line-regexp",
    "max-columns",
    "max-count",
    "max-depth",
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
    "regexp",
    "replace",
    "smart-case",
    "sort",
    "sortr",
    "stats",
    "text",
    "trim",
    "type",
    "type-list",
    "type-not",
    "version",
    "vimgrep",
    "with-filename",
    "word-regexp",
];
const DU: &[&str] = &[
    "all",
    "apparent-size",
    "block-size",
    "bytes",
    "exclude",
    "human-readable",
    "max-depth",
    "one-file-system",
    "separate-dirs",
    "si",
    "summarize",
    "threshold",
    "total",
];
/// Not: `-o`, `-T`, `--compress-program`, `--files0-from`, `--random-source`.
const SORT: &[&str] = &[
    "check",
    "dictionary-order",
    "field-separator",
    "general-numeric-sort",
    "human-numeric-sort",
    "ignore-case",
    "ignore-leading-blanks",
    "key",
    "month-sort",
    "numeric-sort",
    "reverse",
    "stable",
    "unique",
    "version-sort",
    "zero-terminated",
];
/// Not: `-r`, which follows links.
const DIFF: &[&str] = &[
    "brief",
    "color",
    "context",
    "exclude",
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
    "unified",
    "width",
];

/// Tests and actions of `find`; `-L` and `-follow` lead out of the workspace, `-exec` and its kin run programs.
fn find(texts: &[&str]) -> bool {
    const ALLOWED: &[&str] = &[
        "-P",
        "-a",
        "-amin",
        "-and",
        "-atime",
        "-cmin",
        "-ctime",
        "-daystart",
        "-depth",
        "-empty",
        "-executable",
        "-false",
        "-group",
        "-iname",
        "-inum",
        "-ipath",
        "-iregex",
        "-links",
        "-ls",
        "-maxdepth",
        "-mindepth",
        "-mmin",
        "-mount",
        "-mtime",
        "-name",
        "-newer",
        "-not",
        "-o",
        "-or",
        "-path",
        "-perm",
        "-print",
        "-print0",
        "-printf",
        "-prune",
        "-quit",
        "-readable",
        "-regex",
        "-regextype",
        "-samefile",
        "-size",
        "-true",
        "-type",
        "-user",
        "-wholename",
        "-writable",
        "-xdev",
    ];
    let number = |text: &str| text[1..].starts_with(|c: char| c.is_ascii_digit());
    texts.iter().all(|text| !text.starts_with('-') || ALLOWED.contains(text) || (text.len() > 1 && number(text)))
}

/// Without `+FORMAT` an operand sets the clock.
fn date(texts: &[&str]) -> bool {
    let mut texts = texts.iter();
    while let Some(text) = texts.next() {
        let fine = match *text {
            "-d" | "--date" | "-r" | "--reference" => texts.next().is_some(),
            "-u" | "--utc" | "-R" | "-I" | "--iso-8601" | "--rfc-email" => true,
            other => ["+", "--date=", "--iso-8601=", "--rfc-3339="].iter().any(|start| other.starts_with(start)),
        };
        if !fine {
            return false;
        }
    }
    true
}

fn git(arguments: &[Word]) -> bool {
    // Options before the subcommand change the repository, the configuration or the pager.
    let arguments = match arguments {
        [first, rest @ ..] if first.text == "--no-pager" => rest,
        all => all,
    };
    let Some((subcommand, rest)) = arguments.split_first() else { return false };
    // `%G` in a format calls the signature checker.
    if rest.iter().any(|word| word.text.contains("%G")) {
        return false;
    }
    match subcommand.text.as_str() {
        "--version" | "version" => rest.is_empty(),
        "status" => guarded("sbvz", "u", GIT_STATUS).allow(rest),
        "log" | "show" | "diff" => counted(guarded("psuwbaiRzE", "nSGMCU", GIT_LOG)).allow(rest),
        "branch" => git_branch(rest),
        "rev-parse" => guarded("q", "", GIT_REV_PARSE).allow(rest),
        "blame" => {
            guarded("westlpfn", "LMC", &["porcelain", "line-porcelain", "date", "show-email", "show-name"]).allow(rest)
        }
        "ls-files" => guarded("cdmosuktzvi", "x", GIT_LS_FILES).allow(rest),
        "describe" => guarded("", "", &["tags", "always", "long", "all", "abbrev", "match", "exact-match", "contains"])
            .allow(rest),
        _ => false,
    }
}

/// A name creates a branch unless `--list` is there.
fn git_branch(rest: &[Word]) -> bool {
    let list = rest.iter().any(|word| word.text == "--list");
    let flags = guarded("arv", "", &["all", "remotes", "verbose", "list", "show-current", "no-color", "no-column"]);
    rest.iter().all(|word| list || word.text.starts_with('-')) && flags.allow(rest) && !has_bare_dashes(rest)
}

fn has_bare_dashes(words: &[Word]) -> bool {
    words.iter().any(|word| matches!(word.text.as_str(), "-" | "--"))
}

const GIT_STATUS: &[&str] =
    &["short", "branch", "porcelain", "long", "untracked-files", "ignored", "verbose", "no-renames"];
/// Not: `--output`, `--ext-diff`, `--textconv`, `--no-index`, `--show-signature`, `-O`, `-c`, `--submodule`.
const GIT_LOG: &[&str] = &[
    "abbrev",
    "abbrev-commit",
    "after",
    "all",
    "author",
    "before",
    "branches",
    "cached",
    "check",
    "color",
    "committer",
    "date",
    "date-order",
    "decorate",
    "diff-filter",
    "exit-code",
    "find-renames",
    "first-parent",
    "follow",
    "format",
    "full-index",
    "graph",
    "grep",
    "histogram",
    "ignore-all-space",
    "ignore-space-change",
    "left-right",
    "max-count",
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
    "pretty",
    "quiet",
    "raw",
    "relative",
    "remotes",
    "reverse",
    "shortstat",
    "since",
    "skip",
    "staged",
    "stat",
    "summary",
    "tags",
    "topo-order",
    "unified",
    "until",
    "word-diff",
];
const GIT_REV_PARSE: &[&str] = &[
    "short",
    "abbrev-ref",
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
];
const GIT_LS_FILES: &[&str] = &[
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
];
