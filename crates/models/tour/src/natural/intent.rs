//! What a plain sentence asks for. A handful of patterns, tried in order; whatever fits none of them is not guessed.

/// Something the tour can do about a prompt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Intent {
    /// Files that match a glob; `what` is how the answer calls them.
    Glob {
        pattern: String,
        what: String,
    },
    ListDir {
        path: String,
    },
    Read {
        path: String,
    },
    Search {
        text: String,
        path: Option<String>,
    },
    Write {
        path: String,
        content: String,
    },
    Replace {
        old: String,
        new: String,
        path: String,
    },
    Run {
        command: String,
    },
    Tour,
    Help,
    Greet,
}

/// Language or kind, and the files it means.
const KINDS: &[(&[&str], &str)] = &[
    (&["rust", "rs"], "*.rs"),
    (&["python", "py"], "*.py"),
    (&["javascript", "js"], "*.js"),
    (&["typescript", "ts"], "*.ts"),
    (&["go", "golang"], "*.go"),
    (&["java"], "*.java"),
    (&["c"], "*.c"),
    (&["c++", "cpp"], "*.cpp"),
    (&["ruby", "rb"], "*.rb"),
    (&["shell", "bash", "sh"], "*.sh"),
    (&["markdown", "md"], "*.md"),
    (&["toml"], "*.toml"),
    (&["json"], "*.json"),
    (&["yaml", "yml"], "*.{yaml,yml}"),
    (&["html"], "*.html"),
    (&["css"], "*.css"),
    (&["text", "txt"], "*.txt"),
];

/// Language, file and program of a first greeting.
const HELLOS: &[(&[&str], &str, &str)] = &[
    (&["rust"], "hello.rs", "fn main() {\n    println!(\"Hello, world!\");\n}\n"),
    (&["python", "py"], "hello.py", "print(\"Hello, world!\")\n"),
    (&["javascript", "js", "node"], "hello.js", "console.log(\"Hello, world!\");\n"),
    (&["typescript", "ts"], "hello.ts", "console.log(\"Hello, world!\");\n"),
    (
        &["go", "golang"],
        "hello.go",
        "package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(\"Hello, world!\")\n}\n",
    ),
    (&["c"], "hello.c", "#include <stdio.h>\n\nint main(void) {\n    puts(\"Hello, world!\");\n}\n"),
    (&["shell", "bash", "sh"], "hello.sh", "#!/bin/sh\necho \"Hello, world!\"\n"),
    (&["ruby", "rb"], "hello.rb", "puts \"Hello, world!\"\n"),
];

/// Names of files that have no dot.
const DOTLESS_FILES: &[&str] = &["readme", "license", "makefile", "dockerfile", "changelog", "justfile"];

pub(super) fn understand(prompt: &str) -> Option<Intent> {
    let text = without_politeness(prompt.trim());
    // Commands and contents are taken to the letter; only sentences lose their full stop.
    if let Some(command) = text.strip_prefix("$ ").or_else(|| after(text, &["run"])) {
        return run(command);
    }
    let plain = without_ending(text);
    small_talk(plain)
        .or_else(|| replace(plain))
        .or_else(|| write(text))
        .or_else(|| search(plain))
        .or_else(|| list(plain))
        .or_else(|| read(plain))
}

fn without_politeness(mut text: &str) -> &str {
    while let Some(rest) = after(text, &["please", "can you", "could you", "would you", "now", "ok", "okay"]) {
        text = rest;
    }
    text
}

/// Without a full stop and the like, and without a last "please".
fn without_ending(text: &str) -> &str {
    let text = text.trim_end_matches(['.', '!', '?', ' ']);
    let lower = text.to_ascii_lowercase();
    match lower.strip_suffix("please") {
        Some(rest) if rest.ends_with([' ', ',']) => text[..rest.len()].trim_end_matches([',', ' ']),
        _ => text,
    }
}

fn small_talk(text: &str) -> Option<Intent> {
    let lower = text.to_ascii_lowercase();
    match lower.as_str() {
        "tour" | "take the tour" | "start the tour" | "give me a tour" | "give me the tour" | "guided tour"
        | "show me around" => Some(Intent::Tour),
        "help" | "help me" | "what can you do" | "what can i do" | "who are you" | "what are you" => Some(Intent::Help),
        _ => {
            let first = lower.split([' ', ',']).next().unwrap_or_default();
            let short = lower.split_whitespace().count() <= 3;
            let greets = ["hello", "hi", "hey", "moin", "hallo"].contains(&first)
                || ["good morning", "good afternoon", "good evening"].iter().any(|words| lower.starts_with(words));
            (greets && short).then_some(Intent::Greet)
        }
    }
}

fn run(command: &str) -> Option<Intent> {
    let command = unquoted(command.trim(), '`');
    // "run the tests" names no command; guessing one would run something nobody wrote.
    let vague = ["the", "a", "an", "my", "all", "it", "this", "that"];
    let first = command.split_whitespace().next()?.to_ascii_lowercase();
    (!vague.contains(&first.as_str())).then(|| Intent::Run { command: command.to_owned() })
}

fn replace(text: &str) -> Option<Intent> {
    let rest = after(text, &["replace", "change"])?;
    let (change, path) = rsplit(rest, " in ")?;
    let (old, new) = split(change, " with ").or_else(|| split(change, " to "))?;
    let (old, new) = (bare(old), bare(new));
    let path = file(path)?;
    (!old.is_empty()).then(|| Intent::Replace { old: old.to_owned(), new: new.to_owned(), path })
}

fn write(text: &str) -> Option<Intent> {
    let rest = after(text, &["create", "write", "make"])?;
    let rest =
        after(rest, &["a file called", "a file named", "a new file", "a file", "the file", "file"]).unwrap_or(rest);
    if let Some(hello) = hello_world(rest) {
        return Some(hello);
    }
    let (path, content) = match split(rest, " with ") {
        Some((path, content)) => {
            let content = after(content, &["the content", "the contents", "content", "contents", "the text", "text"])
                .unwrap_or(content);
            (path, bare(content))
        }
        None => (rest.trim_end_matches(['.', '!', '?']), ""),
    };
    Some(Intent::Write { path: file(path)?, content: content.to_owned() })
}

fn hello_world(text: &str) -> Option<Intent> {
    let rest = after(text, &["a hello world program", "a hello world", "hello world program", "hello world"])?;
    let language = after(rest, &["in"])?.trim_end_matches(['.', '!', '?', ' ']).to_ascii_lowercase();
    let (_, path, content) = HELLOS.iter().find(|(names, ..)| names.contains(&language.as_str()))?;
    Some(Intent::Write { path: (*path).to_owned(), content: (*content).to_owned() })
}

fn search(text: &str) -> Option<Intent> {
    let rest = after(text, &["search for", "grep for", "search", "grep", "look for"])?;
    let (wanted, path) = match rsplit(rest, " in ").and_then(|(wanted, path)| Some((wanted, file(path)?))) {
        Some((wanted, path)) => (wanted, Some(path)),
        None => (rest, None),
    };
    let wanted = bare(wanted);
    (!wanted.is_empty()).then(|| Intent::Search { text: wanted.to_owned(), path })
}

fn list(text: &str) -> Option<Intent> {
    if text.eq_ignore_ascii_case("ls") {
        return Some(Intent::ListDir { path: ".".into() });
    }
    let rest = after(text, &["list", "find", "show me", "show"])?;
    let rest = after(rest, &["me"]).unwrap_or(rest);
    let rest = after(rest, &["all"]).unwrap_or(rest);
    let rest = after(rest, &["the"]).unwrap_or(rest);
    if let Some(glob) = after(rest, &["files matching", "files that match", "files like"]) {
        return Some(glob_intent(bare(glob)));
    }
    if rest.contains(['*', '?']) && !rest.contains(char::is_whitespace) {
        return Some(glob_intent(bare(rest)));
    }
    let lower = rest.to_ascii_lowercase();
    if ["directory", "dir", "folder", "files", "current directory", "files here"].contains(&lower.as_str()) {
        return Some(Intent::ListDir { path: ".".into() });
    }
    if let Some(path) = after(rest, &["directory", "dir", "folder", "files in"]) {
        let path = bare(path);
        return (!path.is_empty() && !path.contains(char::is_whitespace))
            .then(|| Intent::ListDir { path: path.to_owned() });
    }
    let kind = lower.strip_suffix(" files").or_else(|| lower.strip_suffix(" file"))?;
    let (_, pattern) = KINDS.iter().find(|(names, _)| names.contains(&kind))?;
    Some(Intent::Glob { pattern: format!("**/{pattern}"), what: format!("{kind} files") })
}

fn glob_intent(glob: &str) -> Intent {
    let pattern = if glob.contains('/') { glob.to_owned() } else { format!("**/{glob}") };
    Intent::Glob { pattern, what: format!("files matching {glob}") }
}

fn read(text: &str) -> Option<Intent> {
    let rest = after(text, &["read", "show me", "show", "open", "summarise", "summarize", "cat"])?;
    let rest = after(rest, &["the file", "the", "file"]).unwrap_or(rest);
    // "read Cargo.toml and tell me ..." reads; what else was wanted is beyond rules.
    let path = if rest.starts_with(['"', '`', '\'']) { rest } else { rest.split_whitespace().next()? };
    Some(Intent::Read { path: file(path)? })
}

/// What follows one of these words, whatever its case.
fn after<'a>(text: &'a str, words: &[&str]) -> Option<&'a str> {
    words.iter().find_map(|words| {
        let head = text.get(..words.len())?;
        let rest = &text[words.len()..];
        let rest = head.eq_ignore_ascii_case(words).then_some(rest)?;
        let gap = rest.starts_with([' ', '\t', '\n', ',', ':']);
        gap.then(|| rest.trim_start_matches([' ', '\t', '\n', ',', ':'])).filter(|rest| !rest.is_empty())
    })
}

/// Splits at the first separator outside double quotes.
fn split<'a>(text: &'a str, separator: &str) -> Option<(&'a str, &'a str)> {
    let lower = text.to_ascii_lowercase();
    let at = lower.match_indices(separator).map(|(at, _)| at).find(|at| outside_quotes(text, *at))?;
    Some((&text[..at], &text[at + separator.len()..]))
}

/// Splits at the last separator outside double quotes.
fn rsplit<'a>(text: &'a str, separator: &str) -> Option<(&'a str, &'a str)> {
    let lower = text.to_ascii_lowercase();
    let at = lower.rmatch_indices(separator).map(|(at, _)| at).find(|at| outside_quotes(text, *at))?;
    Some((&text[..at], &text[at + separator.len()..]))
}

fn outside_quotes(text: &str, at: usize) -> bool {
    text[..at].matches('"').count().is_multiple_of(2)
}

/// Without surrounding white space and one pair of quotes.
fn bare(text: &str) -> &str {
    let text = text.trim();
    ['"', '\'', '`'].into_iter().map(|quote| unquoted(text, quote)).min_by_key(|text| text.len()).unwrap_or(text)
}

fn unquoted(text: &str, quote: char) -> &str {
    text.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote)).unwrap_or(text)
}

/// A word that can be the name of a file: it has a dot or a slash, or is one of the well-known names without.
fn file(text: &str) -> Option<String> {
    let name = bare(text).trim_end_matches([',', ';', ':']);
    let known = DOTLESS_FILES.contains(&name.to_ascii_lowercase().as_str());
    let like_a_file = name.contains(['.', '/']) && name.chars().any(char::is_alphanumeric);
    (!name.contains(char::is_whitespace) && (known || like_a_file)).then(|| name.to_owned())
}
