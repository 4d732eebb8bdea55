//! What sets languages apart, as far as colours go. A new language is a row here and a name in [`by_name`].

/// One way to write a string.
pub(super) struct Quote {
    pub(super) open: &'static str,
    pub(super) close: &'static str,
    /// A backslash takes the next character along.
    pub(super) escapes: bool,
    /// May span lines.
    pub(super) lines: bool,
}

/// What a table cannot say.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Quirk {
    None,
    /// Raw strings, and the quote that is a character or a lifetime.
    Rust,
    /// Variables with `$`.
    Shell,
    Markup,
    Diff,
}

/// One language, or a family that looks alike.
pub(in crate::html) struct Lang {
    pub(super) line_comments: &'static [&'static str],
    /// `#` is a comment only behind a blank: `a#b` is a word.
    pub(super) comment_after_blank: bool,
    pub(super) block_comment: Option<(&'static str, &'static str)>,
    pub(super) quotes: &'static [Quote],
    pub(super) keywords: &'static [&'static str],
    /// Keywords in any case.
    pub(super) any_case: bool,
    /// What belongs to a word besides letters, digits and `_`.
    pub(super) word_extra: &'static str,
    /// Words with a capital are types.
    pub(super) types: bool,
    /// A word before `(` is a function.
    pub(super) functions: bool,
    /// What stands behind the name of a member.
    pub(super) key_mark: Option<char>,
    pub(super) quirk: Quirk,
}

const PLAIN: Lang = Lang {
    line_comments: &[],
    comment_after_blank: false,
    block_comment: None,
    quotes: &[],
    keywords: &[],
    any_case: false,
    word_extra: "",
    types: false,
    functions: false,
    key_mark: None,
    quirk: Quirk::None,
};

const fn quote(mark: &'static str, escapes: bool, lines: bool) -> Quote {
    Quote { open: mark, close: mark, escapes, lines }
}

const BLOCK: Option<(&str, &str)> = Some(("/*", "*/"));
const C_QUOTES: &[Quote] = &[quote("\"", true, false), quote("'", true, false)];

static RUST: Lang = Lang {
    line_comments: &["//"],
    block_comment: BLOCK,
    quotes: &[quote("\"", true, true)],
    keywords: &[
        "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern", "false", "fn",
        "for", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return", "self",
        "static", "struct", "super", "trait", "true", "type", "unsafe", "use", "where", "while", "bool", "char", "f32",
        "f64", "i8", "i16", "i32", "i64", "i128", "isize", "str", "u8", "u16", "u32", "u64", "u128", "usize",
    ],
    types: true,
    functions: true,
    quirk: Quirk::Rust,
    ..PLAIN
};

static PYTHON: Lang = Lang {
    line_comments: &["#"],
    quotes: &[quote("\"\"\"", true, true), quote("'''", true, true), quote("\"", true, false), quote("'", true, false)],
    keywords: &[
        "False", "None", "True", "and", "as", "assert", "async", "await", "break", "case", "class", "continue", "def",
        "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda",
        "match", "nonlocal", "not", "or", "pass", "raise", "return", "self", "try", "while", "with", "yield",
    ],
    types: true,
    functions: true,
    ..PLAIN
};

#[rustfmt::skip]
const SCRIPT_WORDS: &[&str] = &[
    "abstract", "any", "as", "async", "await", "boolean", "break", "case", "catch", "class", "const", "continue",
    "declare", "default", "delete", "do", "else", "enum", "export", "extends", "false", "finally", "for", "from",
    "function", "get", "if", "implements", "import", "in", "instanceof", "interface", "keyof", "let", "namespace",
    "new", "null", "number", "of", "private", "protected", "public", "readonly", "return", "set", "static",
    "string", "super", "switch", "this", "throw", "true", "try", "type", "typeof", "undefined", "unknown", "var",
    "void", "while", "yield",
];

static SCRIPT: Lang = Lang {
    line_comments: &["//"],
    block_comment: BLOCK,
    quotes: &[quote("\"", true, false), quote("'", true, false), quote("`", true, true)],
    keywords: SCRIPT_WORDS,
    word_extra: "$",
    types: true,
    functions: true,
    ..PLAIN
};

#[rustfmt::skip]
const GO_WORDS: &[&str] = &[
    "any", "bool", "break", "byte", "case", "chan", "const", "continue", "default", "defer", "else", "error",
    "fallthrough", "false", "float32", "float64", "for", "func", "go", "goto", "if", "import", "int", "int32",
    "int64", "interface", "iota", "map", "nil", "package", "range", "return", "rune", "select", "string", "struct",
    "switch", "true", "type", "uint", "uint8", "uint32", "uint64", "var",
];

static GO: Lang = Lang {
    line_comments: &["//"],
    block_comment: BLOCK,
    quotes: &[quote("\"", true, false), quote("'", true, false), quote("`", false, true)],
    keywords: GO_WORDS,
    types: true,
    functions: true,
    ..PLAIN
};

#[rustfmt::skip]
const C_WORDS: &[&str] = &[
    "abstract", "assert", "auto", "bool", "boolean", "break", "byte", "case", "catch", "char", "class", "const",
    "constexpr", "continue", "default", "delete", "do", "double", "else", "enum", "explicit", "extends", "extern",
    "false", "final", "finally", "float", "for", "friend", "fun", "func", "goto", "if", "implements", "import",
    "inline", "instanceof", "int", "interface", "let", "long", "namespace", "native", "new", "noexcept", "null",
    "nullptr", "operator", "override", "package", "private", "protected", "public", "record", "register", "return",
    "short", "signed", "sizeof", "static", "struct", "super", "switch", "synchronized", "template", "this", "throw",
    "throws", "true", "try", "typedef", "typename", "union", "unsigned", "using", "val", "var", "virtual", "void",
    "volatile", "while",
];

/// C, C++, Java, C#, Kotlin, Swift: one look.
static C: Lang = Lang {
    line_comments: &["//"],
    block_comment: BLOCK,
    quotes: C_QUOTES,
    keywords: C_WORDS,
    types: true,
    functions: true,
    ..PLAIN
};

static SHELL: Lang = Lang {
    line_comments: &["#"],
    comment_after_blank: true,
    quotes: &[quote("\"", true, true), quote("'", false, true)],
    keywords: &[
        "alias", "break", "case", "cd", "continue", "declare", "do", "done", "echo", "elif", "else", "esac", "eval",
        "exec", "exit", "export", "fi", "for", "function", "if", "in", "local", "readonly", "return", "set", "shift",
        "source", "then", "trap", "unset", "until", "while",
    ],
    word_extra: "-./",
    quirk: Quirk::Shell,
    ..PLAIN
};

static JSON: Lang = Lang {
    line_comments: &["//"],
    block_comment: BLOCK,
    quotes: &[quote("\"", true, false)],
    keywords: &["false", "null", "true"],
    key_mark: Some(':'),
    ..PLAIN
};

static YAML: Lang = Lang {
    line_comments: &["#"],
    comment_after_blank: true,
    quotes: &[quote("\"", true, false), quote("'", false, false)],
    keywords: &["false", "no", "null", "off", "on", "true", "yes"],
    word_extra: "-./",
    key_mark: Some(':'),
    ..PLAIN
};

static TOML: Lang = Lang {
    line_comments: &["#"],
    quotes: &[
        quote("\"\"\"", true, true),
        quote("'''", false, true),
        quote("\"", true, false),
        quote("'", false, false),
    ],
    keywords: &["false", "inf", "nan", "true"],
    word_extra: "-",
    key_mark: Some('='),
    ..PLAIN
};

static CSS: Lang = Lang {
    block_comment: BLOCK,
    quotes: C_QUOTES,
    keywords: &["@charset", "@font-face", "@import", "@keyframes", "@layer", "@media", "@supports", "important"],
    word_extra: "-@",
    functions: true,
    key_mark: Some(':'),
    ..PLAIN
};

#[rustfmt::skip]
const SQL_WORDS: &[&str] = &[
    "add", "all", "alter", "and", "as", "asc", "begin", "between", "by", "case", "check", "commit", "constraint",
    "create", "cross", "default", "delete", "desc", "distinct", "drop", "else", "end", "exists", "foreign", "from",
    "full", "group", "having", "if", "in", "index", "inner", "insert", "into", "is", "join", "key", "left", "like",
    "limit", "not", "null", "offset", "on", "or", "order", "outer", "primary", "references", "returning", "right",
    "rollback", "select", "set", "table", "then", "transaction", "union", "unique", "update", "using", "values",
    "view", "when", "where", "with", "integer", "text", "varchar", "boolean",
];

static SQL: Lang = Lang {
    line_comments: &["--"],
    block_comment: BLOCK,
    quotes: &[quote("'", false, true), quote("\"", false, false)],
    keywords: SQL_WORDS,
    any_case: true,
    functions: true,
    ..PLAIN
};

static MARKUP: Lang = Lang { quirk: Quirk::Markup, ..PLAIN };
static DIFF: Lang = Lang { quirk: Quirk::Diff, ..PLAIN };

/// The language behind the word after a fence, or behind the ending of a file's name.
pub(in crate::html) fn by_name(name: &str) -> Option<&'static Lang> {
    Some(match &*name.to_ascii_lowercase() {
        "rust" | "rs" => &RUST,
        "python" | "py" | "pyi" | "python3" => &PYTHON,
        "javascript" | "js" | "mjs" | "cjs" | "jsx" | "typescript" | "ts" | "tsx" | "mts" => &SCRIPT,
        "go" | "golang" => &GO,
        "c" | "h" | "cpp" | "c++" | "cc" | "cxx" | "hpp" | "java" | "cs" | "csharp" | "kotlin" | "kt" | "swift" => &C,
        "sh" | "bash" | "zsh" | "shell" | "console" | "shell-session" => &SHELL,
        "json" | "jsonl" | "jsonc" | "json5" => &JSON,
        "yaml" | "yml" => &YAML,
        "toml" | "ini" | "cfg" => &TOML,
        "css" | "scss" | "less" => &CSS,
        "sql" | "sqlite" | "postgres" | "mysql" => &SQL,
        "html" | "htm" | "xml" | "svg" | "vue" | "xhtml" => &MARKUP,
        "diff" | "patch" => &DIFF,
        _ => return None,
    })
}

/// The language of a file, by its name.
pub(in crate::html) fn by_path(path: &str) -> Option<&'static Lang> {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    match name {
        "Cargo.lock" | "Pipfile" => Some(&TOML),
        "Makefile" | "Dockerfile" | ".bashrc" | ".profile" => Some(&SHELL),
        _ => name.rsplit_once('.').and_then(|(_, ending)| by_name(ending)),
    }
}
