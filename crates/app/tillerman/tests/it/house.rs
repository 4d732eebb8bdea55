//! The figures of the house: lengths, fields, names, awaits. What a reader of the tree can rely on is measured here, so
//! that it cannot rot; `cargo test -p tillerman --test it -- house --nocapture` prints the table.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::golden::repository;
use crate::rust_code::{code_alone, has_word, names};

/// A file longer than this is a table, or it has two jobs.
const FILE_LINES_MAX: usize = 500;
/// A function longer than this does not fit a screen.
const FUNCTION_LINES_MAX: usize = 70;
/// Of all functions, so many per mille may be longer: exhaustive matches are.
const LONG_FUNCTIONS_PER_MILLE_MAX: usize = 3;
/// A struct with more fields than this has parts that want to be structs.
const FIELDS_MAX: usize = 25;
/// The binary is arguments, commands and composition.
const BINARY_LINES_MAX: usize = 6_000;
/// A type name that is defined so often has to stand in the glossary, with a reason.
const SHARED_NAMES_LISTED_FROM: usize = 3;
/// Of all types, so many per cent may share their name with three others.
const CROWDED_TYPES_PER_CENT_MAX: usize = 5;

/// Long because they are tables, each with what it lists.
const TABLES: &[(&str, &str)] =
    &[("crates/tools/builtin/src/shell/classify/commands.rs", "what each command line tool may do")];

/// One source file and the part of it that ships.
struct Source {
    name: String,
    lines: Vec<String>,
}

fn rust_files(at: &Path, into: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(at).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            rust_files(&path, into);
        } else if path.extension().is_some_and(|it| it == "rs") {
            into.push(path);
        }
    }
}

fn short(path: &Path) -> String {
    path.strip_prefix(repository()).unwrap().display().to_string()
}

/// Names of modules that only exist for tests, as `path/without/extension`.
fn test_modules(files: &[PathBuf]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for path in files {
        let text = std::fs::read_to_string(path).unwrap();
        let mut is_test = false;
        for line in text.lines() {
            if is_test && let Some(name) = line.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';')) {
                let stem = path.file_stem().unwrap().to_string_lossy();
                let folder = match &*stem {
                    "lib" | "main" | "mod" => path.parent().unwrap().to_path_buf(),
                    _ => path.with_extension(""),
                };
                found.insert(short(&folder.join(name)));
            }
            is_test = line.starts_with("#[cfg(test)]");
        }
    }
    found
}

/// Everything that ships: no tests, no test kit, no suite of a port's promises.
fn shipped() -> Vec<Source> {
    let mut files = Vec::new();
    rust_files(&repository().canonicalize().unwrap().join("crates"), &mut files);
    let files: Vec<PathBuf> = files
        .into_iter()
        .map(|path| repository().join(path.strip_prefix(repository().canonicalize().unwrap()).unwrap()))
        .collect();
    let tests = test_modules(&files);
    let is_test = |name: &str| {
        let bare = name.trim_end_matches(".rs");
        tests.iter().any(|it| bare == it || bare.starts_with(&format!("{it}/")))
    };
    let mut found = Vec::new();
    for path in &files {
        let name = short(path);
        let outside = ["crates/testkit/", "/store/src/suite", "/tests/", "/examples/"];
        if !name.contains("/src/") || outside.iter().any(|it| name.contains(it)) || is_test(&name) {
            continue;
        }
        let text = std::fs::read_to_string(path).unwrap();
        // By the house's habit, unit tests stand at the end of their file.
        let lines = text.lines().take_while(|line| *line != "mod tests {").map(str::to_owned).collect();
        found.push(Source { name, lines });
    }
    found
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// The first word behind a keyword, where the line declares such a thing.
fn declares<'a>(line: &'a str, keyword: &str) -> Option<&'a str> {
    let mut rest = line.trim_start();
    loop {
        let before = rest;
        for word in ["pub(crate) ", "pub(super) ", "pub ", "async ", "const ", "default "] {
            rest = rest.strip_prefix(word).unwrap_or(rest);
        }
        if let Some(inside) = rest.strip_prefix("pub(in ") {
            rest = inside.split_once(") ")?.1;
        }
        if rest == before {
            break;
        }
    }
    let name = rest.strip_prefix(keyword)?.strip_prefix(' ')?;
    let end = name.find(|it: char| !it.is_alphanumeric() && it != '_').unwrap_or(name.len());
    (end > 0).then(|| &name[..end])
}

/// From the line that declares something to the line that closes it, by indentation: `cargo fmt` sees to that.
fn block(lines: &[String], from: usize) -> usize {
    let depth = indent(&lines[from]);
    let closes =
        |line: &String| indent(line) == depth && (line.trim_start().starts_with('}') || line.trim_end() == ")");
    if lines[from].trim_end().ends_with([';', '}']) {
        return 1;
    }
    lines[from + 1..].iter().position(closes).map_or(1, |at| at + 2)
}

struct Function {
    place: String,
    lines: usize,
}

fn functions(sources: &[Source]) -> Vec<Function> {
    let mut found = Vec::new();
    for source in sources {
        for (at, line) in source.lines.iter().enumerate() {
            if let Some(name) = declares(line, "fn") {
                let place = format!("{}:{} {name}", source.name, at + 1);
                found.push(Function { place, lines: block(&source.lines, at) });
            }
        }
    }
    found
}

/// `(place, fields)` of every struct with named fields.
fn structs(sources: &[Source]) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for source in sources {
        for (at, line) in source.lines.iter().enumerate() {
            let Some(name) = declares(line, "struct") else { continue };
            let depth = indent(line) + 4;
            let end = at + block(&source.lines, at);
            let is_field = |line: &&String| {
                let text = line.trim_start();
                indent(line) == depth && !text.starts_with(['/', '#', '}', ')']) && text.contains(": ")
            };
            let fields = source.lines[at + 1..end].iter().filter(is_field).count();
            found.push((format!("{}:{} {name}", source.name, at + 1), fields));
        }
    }
    found
}

/// Where each type name is defined.
fn types(sources: &[Source]) -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in sources {
        for (at, line) in source.lines.iter().enumerate() {
            let top = (indent(line) == 0).then(|| declares(line, "type")).flatten();
            let name = ["struct", "enum", "trait"].iter().find_map(|keyword| declares(line, keyword)).or(top);
            // A macro's own.
            if let Some(name) = name.filter(|name| name.starts_with(char::is_uppercase)) {
                found.entry(name.to_owned()).or_default().push(format!("{}:{}", source.name, at + 1));
            }
        }
    }
    found
}

#[test]
fn files_have_one_job() {
    let mut long = Vec::new();
    for source in shipped() {
        let is_table = TABLES.iter().any(|(name, _)| *name == source.name);
        if source.lines.len() > FILE_LINES_MAX && !is_table {
            long.push(format!("{} {}", source.lines.len(), source.name));
        }
    }
    assert!(long.is_empty(), "longer than {FILE_LINES_MAX} lines:\n{}", long.join("\n"));
}

#[test]
fn functions_fit_a_screen() {
    let functions = functions(&shipped());
    let mut long: Vec<&Function> = functions.iter().filter(|it| it.lines > FUNCTION_LINES_MAX).collect();
    long.sort_by_key(|it| std::cmp::Reverse(it.lines));
    let list: Vec<String> = long.iter().map(|it| format!("{} {}", it.lines, it.place)).collect();
    println!("{} functions, {} longer than {FUNCTION_LINES_MAX}:\n{}", functions.len(), long.len(), list.join("\n"));
    assert!(functions.len() > 4_000, "the scan has lost functions: {}", functions.len());
    assert!(long.len() * 1000 < functions.len() * LONG_FUNCTIONS_PER_MILLE_MAX, "too many:\n{}", list.join("\n"));
}

#[test]
fn no_struct_is_an_attic() {
    let structs = structs(&shipped());
    assert!(structs.len() > 800, "the scan has lost structs: {}", structs.len());
    let large: Vec<String> = structs
        .iter()
        .filter(|(_, fields)| *fields > FIELDS_MAX)
        .map(|(place, fields)| format!("{fields} {place}"))
        .collect();
    assert!(large.is_empty(), "more than {FIELDS_MAX} fields:\n{}", large.join("\n"));
}

#[test]
fn the_binary_is_arguments_commands_and_composition() {
    let own = shipped().into_iter().filter(|source| source.name.starts_with("crates/app/tillerman/"));
    let lines: usize = own.map(|source| source.lines.len()).sum();
    println!("the binary has {lines} lines");
    assert!(lines < BINARY_LINES_MAX, "{lines} lines");
}

/// The names that the glossary's table of shared names lists: `| Name | why |`.
fn listed() -> BTreeSet<String> {
    let page = std::fs::read_to_string(repository().join("docs/glossary.md")).unwrap();
    let table = page.split_once("## Shared names").expect("a section on shared names").1;
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| {
        let (name, reason) = row.split_once("` | ").expect("a row is `| `Name` | reason |`");
        assert!(reason.trim_end_matches(" |").len() > 10, "{name} has no reason");
        name.to_owned()
    })
    .collect()
}

#[test]
fn one_name_means_one_thing() {
    let types = types(&shipped());
    let (total, listed) = (types.values().map(Vec::len).sum::<usize>(), listed());
    assert!(total > 1_200, "the scan has lost types: {total}");
    let often = |least: usize| types.iter().filter(move |(_, places)| places.len() >= least);
    let unlisted: Vec<String> = often(SHARED_NAMES_LISTED_FROM)
        .filter(|(name, _)| !listed.contains(*name))
        .map(|(name, places)| format!("{name} {}: {}", places.len(), places.join(" ")))
        .collect();
    let crowded: usize = often(4).map(|(_, places)| places.len()).sum();
    println!("{total} types, {crowded} share their name with three others or more, {} names unlisted", unlisted.len());
    for name in &listed {
        let count = types.get(name).map_or(0, Vec::len);
        assert!(count >= SHARED_NAMES_LISTED_FROM, "the glossary lists {name}, which is defined {count} times");
    }
    assert!(unlisted.is_empty(), "defined three times or more and not in docs/glossary.md:\n{}", unlisted.join("\n"));
    assert!(crowded * 100 < total * CROWDED_TYPES_PER_CENT_MAX, "{crowded} of {total} types");
}

#[test]
fn every_old_word_of_the_glossary_is_gone() {
    let page = std::fs::read_to_string(repository().join("docs/glossary.md")).unwrap();
    let (_, rest) = page.split_once("## Words that are gone").expect("a section on words that are gone");
    let rest = rest.split("\n## ").next().unwrap();
    let words: Vec<&str> =
        rest.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |")).map(|(word, _)| word).collect();
    assert!(words.len() > 10, "{words:?}");
    let mut found = Vec::new();
    for source in shipped() {
        // In a comment or a text it is a word like any other.
        for (at, line) in code_alone(&source.lines).iter().enumerate() {
            let old = names(line).filter(|name| words.contains(name));
            found.extend(old.map(|name| format!("{}:{}: {name}", source.name, at + 1)));
        }
        // `ribbon` forbids the word everywhere, `kept.rs` the file alone.
        let path = Path::new(&source.name);
        let (stem, file) = (path.file_stem().unwrap().to_string_lossy(), path.file_name().unwrap().to_string_lossy());
        found.extend((words.contains(&&*stem) || words.contains(&&*file)).then(|| source.name.clone()));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Words of one dialect or one vendor. The engine and its vocabulary serve all of them and know none.
const FOREIGN: &[&str] = &[
    "serve",
    "rpc",
    "loaf",
    "acp",
    "gateway",
    "flynn",
    "scaiflux",
    "xcsh",
    "openai",
    "anthropic",
    "gemini",
    "openrouter",
    "antigravity",
    "chatgpt",
    "codex",
    "exa",
    "ollama",
    "zed",
    "pi",
    "omp",
];

#[test]
fn the_core_names_no_dialect_and_no_vendor() {
    let mut found = Vec::new();
    let core = ["crates/core/vocab/", "crates/core/engine/"];
    for source in shipped().iter().filter(|source| core.iter().any(|it| source.name.starts_with(it))) {
        for (at, line) in source.lines.iter().enumerate() {
            let named = names(line).filter(|name| FOREIGN.iter().any(|word| has_word(name, word)));
            found.extend(named.map(|name| format!("{}:{}: {name}: {}", source.name, at + 1, line.trim())));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Functions that are drawn at once.
const DRAWN: usize = 12;
/// Shorter ones are looked up, not looked for.
const DRAWN_LINES_MIN: usize = 6;

/// Twelve functions by lot: name and first line of its comment, then where they are. Say where you would look for each,
/// knowing only the names of the files, before you read on.
///
///     TILLERMAN_SEED=4711 cargo test -p tillerman --test it twelve -- --ignored --nocapture
#[test]
#[ignore = "a game for a reader; it cannot fail"]
fn twelve_functions_by_lot() {
    let seed = std::env::var("TILLERMAN_SEED").ok().and_then(|it| it.parse::<u64>().ok()).unwrap_or(1);
    let mut all = Vec::new();
    for source in shipped() {
        for (at, line) in source.lines.iter().enumerate() {
            let Some(name) = declares(line, "fn").filter(|_| block(&source.lines, at) >= DRAWN_LINES_MIN) else {
                continue;
            };
            let above = source.lines[..at].iter().rev().map(|it| it.trim()).take_while(|it| it.starts_with(['/', '#']));
            let about = above.filter_map(|it| it.strip_prefix("/// ")).last().unwrap_or("(no comment)").to_owned();
            let owner =
                (indent(line) > 0).then(|| source.lines[..at].iter().rev().find(|it| it.starts_with("impl"))).flatten();
            let owner = owner.map_or("", |it| it.trim_end_matches(" {"));
            all.push((format!("{owner} {name}"), about, format!("{}:{}", source.name, at + 1)));
        }
    }
    let mut state = seed;
    // Numerical Recipes' generator: the same lots on every machine.
    let mut lot = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        all.swap_remove((state >> 33) as usize % all.len())
    };
    let drawn: Vec<_> = (0..DRAWN).map(|_| lot()).collect();
    for (number, (name, about, _)) in drawn.iter().enumerate() {
        println!("{:>2} {name}: {about}", number + 1);
    }
    println!("{}", "\n".repeat(3));
    for (number, (.., place)) in drawn.iter().enumerate() {
        println!("{:>2} {place}", number + 1);
    }
}

/// Libraries run no examples of doc comments, and those without unit tests build no harness: minutes of linking nothing.
#[test]
fn no_test_stands_where_none_is_run() {
    let mut files = Vec::new();
    rust_files(&repository().join("crates"), &mut files);
    let mut looked = 0;
    for path in files.iter().filter(|path| path.ends_with("src/lib.rs")) {
        let folder = path.parent().unwrap();
        let manifest = std::fs::read_to_string(folder.with_file_name("Cargo.toml")).unwrap();
        assert!(manifest.contains("[lib]\n") && manifest.contains("doctest = false"), "{}", path.display());
        let has_harness = !manifest.contains("\ntest = false");
        for source in files.iter().filter(|file| file.starts_with(folder)) {
            let mut is_open = false;
            for line in std::fs::read_to_string(source).unwrap().lines().map(str::trim_start) {
                assert!(has_harness || !line.starts_with("#[test]"), "{}: never run", source.display());
                let Some((_, kind)) = line.split_once("```").filter(|(before, _)| ["/// ", "//! "].contains(before))
                else {
                    continue;
                };
                assert!(is_open || kind == "text", "{}: an example that is never run", source.display());
                is_open = !is_open;
            }
            looked += 1;
        }
    }
    assert!(looked > 300, "{looked}");
}
