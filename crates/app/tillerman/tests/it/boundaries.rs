//! Who may know whom, read from the manifests and the sources: rules that a reviewer would have to remember otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().expect("the workspace is above this crate")
}

/// Every file of the repository below `at`, without build output and version control.
fn files(at: &Path, into: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(at).expect("a directory").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.is_symlink() || ["target", ".git"].contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            files(&path, into);
        } else {
            into.push(path);
        }
    }
}

fn all_files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    files(&root(), &mut found);
    found
}

fn sources() -> Vec<(String, String)> {
    let text = |path: &PathBuf| std::fs::read_to_string(path).expect("a source file is text");
    let found = all_files().into_iter().filter(|path| path.extension().is_some_and(|it| it == "rs"));
    found.map(|path| (short(&path), text(&path))).collect()
}

fn short(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// The names under a table of a manifest: `[dependencies]` and what belongs to it.
fn names(manifest: &str, table: &str) -> BTreeSet<String> {
    let mut inside = false;
    let mut found = BTreeSet::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line == format!("[{table}]");
            if let Some(name) = line.strip_prefix(&format!("[{table}.")) {
                found.insert(name.trim_end_matches(']').to_owned());
            }
        } else if inside && !line.is_empty() && !line.starts_with('#') {
            let name = line.split(['=', '.', ' ']).next().expect("a line has a beginning");
            found.insert(name.to_owned());
        }
    }
    found
}

fn manifests() -> BTreeMap<String, String> {
    let found =
        all_files().into_iter().filter(|path| path.ends_with("Cargo.toml") && short(path).starts_with("crates/"));
    found
        .map(|path| {
            let manifest = std::fs::read_to_string(&path).expect("a manifest");
            let name = manifest.lines().find_map(|line| line.strip_prefix("name = \"")).expect("a package has a name");
            (name.trim_end_matches('"').to_owned(), manifest)
        })
        .collect()
}

/// The crates of ours that a crate may use. `None`: a crate that this test does not know, which is a finding itself.
fn allowed(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "vocab" | "skills" | "safefile" | "acp-types" => &[],
        "wire" | "engine" | "net" | "process" | "images" => &["vocab"],
        "tour" => &["vocab", "safefile"],
        "providers" => &["vocab", "net", "safefile"],
        // A briefing names the skills there are.
        "builtin-tools" => &["vocab", "net", "process", "skills", "safefile"],
        "config" => &["vocab", "safefile", "providers"],
        "daemon" => &["vocab", "config", "engine", "gateway", "host", "dialect-gateway"],
        "rpc-flags" => &["vocab", "config", "dialect-rpc"],
        "command-line" => &["vocab", "attach", "host"],
        "wires" => &[
            "vocab",
            "config",
            "host",
            "catalogue",
            "accounts",
            "skills",
            "images",
            "safefile",
            "session-files",
            "rpc-flags",
            "dialect-loaf",
            "dialect-rpc",
        ],
        // The other end of a gateway: it finds one by its files, and speaks to it through a socket.
        "attach" => &["vocab", "wire", "host", "net", "websocket", "gateway"],
        "catalogue" => &["vocab", "net", "process", "providers", "accounts", "tour", "config", "safefile"],
        "store" => &["vocab", "safefile"],
        "store-sqlite" | "export" => &["vocab", "store", "safefile"],
        "accounts" => &["vocab", "safefile", "net"],
        "mcp" => &["vocab", "wire", "net", "process"],
        "host" => &["vocab", "wire", "engine"],
        "extensions" => &["vocab", "wire", "engine", "process", "skills"],
        "session-files" => &["vocab", "safefile", "wire", "pi-format"],
        "acp-client" => &["vocab", "wire", "net", "process", "acp-types"],
        "dialect-acp" => &["vocab", "wire", "acp-types"],
        // A screen draws what the terminal dialect says, and takes stdin and stdout through the host.
        "console" => &["host", "dialect-terminal"],
        // Another agent at the same screen, drawn with the same parts.
        "acp-terminal" => &["vocab", "wire", "host", "dialect-terminal", "console", "acp-client", "acp-types"],
        "websocket" => &["vocab", "wire", "host"],
        "gateway" => &[
            "vocab",
            "wire",
            "engine",
            "host",
            "process",
            "safefile",
            "websocket",
            "telemetry",
            "dashboard",
            "dialect-gateway",
        ],
        "telemetry" => &["vocab", "net"],
        // Bytes, and nothing else.
        "dashboard" => &[],
        "pi-format" => &["vocab", "wire"],
        "dialect-rpc" => &["vocab", "wire", "pi-format"],
        name if name.starts_with("dialect-") => &["vocab", "wire"],
        _ => return None,
    })
}

#[test]
fn dependencies_point_one_way() {
    let manifests = manifests();
    let ours: BTreeSet<&String> = manifests.keys().collect();
    for (name, manifest) in &manifests {
        let used = names(manifest, "dependencies");
        if name != "testkit" {
            assert!(!used.contains("testkit"), "{name} ships the testkit; it is for tests only");
        }
        if ["tillerman", "testkit"].contains(&name.as_str()) {
            continue;
        }
        let allowed = allowed(name).unwrap_or_else(|| panic!("no rule says what `{name}` may use: add one here"));
        for other in used.iter().filter(|other| ours.contains(other)) {
            assert!(allowed.contains(&other.as_str()), "{name} must not use {other}");
        }
    }
}

#[test]
fn no_crate_has_features() {
    for (name, manifest) in manifests() {
        assert!(!manifest.lines().any(|line| line.trim() == "[features]"), "{name} has features");
    }
}

#[test]
fn the_core_reads_no_json_and_knows_no_disk() {
    let manifests = manifests();
    for (name, forbidden) in [
        ("vocab", &["serde", "serde_json", "tokio", "rusqlite"][..]),
        ("engine", &["serde", "serde_json", "rusqlite", "hyper"]),
        ("wire", &["tokio", "hyper"]),
    ] {
        let used = names(&manifests[name], "dependencies");
        for other in forbidden {
            assert!(!used.contains(*other), "{name} must not use {other}");
        }
    }
}

/// The code of a file without its comments and its unit tests.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line));
    lines.take_while(|(_, line)| line.trim() != "mod tests {").filter(|(_, line)| !line.trim_start().starts_with("//"))
}

#[test]
fn stdout_belongs_to_the_host_the_console_and_the_binary() {
    let mine = |name: &str| name.starts_with("crates/") && name.contains("/src/");
    // The test kit speaks to whoever runs tests.
    let free = ["crates/core/host/", "crates/edge/console/", "crates/app/tillerman/", "crates/testkit/"];
    let words = ["stdout()", "println!", "print!"].map(|word| (word, format!("e{word}")));
    for (name, text) in sources().iter().filter(|(name, _)| mine(name) && !free.iter().any(|it| name.starts_with(it))) {
        for (at, line) in code(text) {
            for (word, harmless) in &words {
                // Inside a string it is only talk.
                let said = line.find(word).is_some_and(|at| line[..at].matches('"').count() % 2 == 1);
                let touches = line.contains(word) && !line.contains(harmless.as_str()) && !said;
                assert!(!touches, "{name}:{at} touches stdout, where only frames may go: {line}");
            }
        }
    }
}

#[test]
fn only_net_and_the_gateway_speak_http_and_only_process_starts_programs() {
    for (name, manifest) in manifests() {
        let used = names(&manifest, "dependencies");
        let foreign = ["hyper", "hyper-util", "hyper-rustls", "rustls", "reqwest", "ureq", "curl"];
        let found = foreign.iter().find(|it| used.contains(**it));
        let may = ["net", "gateway", "testkit", "bench"].contains(&name.as_str());
        assert!(found.is_none() || may, "{name} uses {found:?}");
        // One of them asks, the other answers.
        assert!(name != "net" || !manifest.contains("\"server"), "net is a client");
        assert!(name != "gateway" || !manifest.contains("\"client"), "the gateway is a server");
    }
    // It becomes that program itself: nothing is started.
    let free = ["crates/tools/process/", "crates/testkit/", "crates/app/tillerman/src/cmd/rpc/argv.rs"];
    let mine = |name: &str| name.starts_with("crates/") && name.contains("/src/") && !name.contains("tests");
    for (name, text) in sources().iter().filter(|(name, _)| mine(name) && !free.iter().any(|it| name.starts_with(it))) {
        for (at, line) in code(text) {
            let starts = ["process::Command", "Command::new("].iter().any(|word| line.contains(word));
            // An argument parser has commands of its own.
            assert!(!starts || line.contains("clap"), "{name}:{at} starts a program by itself: {line}");
        }
    }
}

/// Files that may say it, each with its reason.
const UNSAFE: &[(&str, &str)] = &[];

#[test]
fn nothing_is_unsafe() {
    let word = ["un", "safe"].concat();
    let forms = [format!("{word} {{"), format!("{word} fn"), format!("{word} impl"), format!("allow({word}_code)")];
    for (name, text) in sources().iter().filter(|(name, _)| !UNSAFE.iter().any(|(file, _)| file == name)) {
        for (at, line) in code(text) {
            assert!(!forms.iter().any(|form| line.contains(form.as_str())), "{name}:{at}: {line}");
        }
    }
}

#[test]
fn every_source_file_says_what_it_is() {
    for (name, text) in sources().iter().filter(|(name, _)| name.starts_with("crates/")) {
        // A file with nothing in it yet has nothing to say.
        assert!(text.starts_with("//!") || text.trim().is_empty(), "{name} does not begin with what it is");
    }
}

#[test]
fn no_file_names_a_machine_or_a_registry() {
    // In pieces, or this file would be the first finding.
    let words = [["/ho", "me/"], ["/Us", "ers/"], ["/ro", "ot/"], ["crates-in", "dex"], ["index.cra", "tes.io"]]
        .map(|pieces| pieces.concat());
    // The lock file has to name where packages come from; these use made-up homes as data.
    let exempt = [
        "Cargo.lock",
        "crates/app/tillerman/tests/it/cli_help.rs",
        "crates/tools/builtin/src/workspace/protect.rs",
        "crates/tools/builtin/tests/it/escape.rs",
    ];
    for path in all_files() {
        let name = short(&path);
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        if exempt.contains(&name.as_str()) {
            continue;
        }
        for (at, line) in text.lines().enumerate() {
            let found = words.iter().find(|word| line.contains(word.as_str()));
            assert!(found.is_none(), "{name}:{} names {found:?}: {line}", at + 1);
        }
    }
}

#[test]
fn no_test_file_is_forgotten() {
    let sources = sources();
    for (name, _) in sources.iter().filter(|(name, _)| name.contains("/tests/it/")) {
        let path = Path::new(name);
        let stem = path.file_stem().expect("a name").to_string_lossy();
        if stem == "main" {
            continue;
        }
        let folder = path.parent().expect("a folder");
        let is_top = folder.file_name().is_some_and(|it| it == "it");
        let parent = if is_top { folder.join("main.rs") } else { folder.with_extension("rs") };
        let parent = parent.display().to_string();
        let declared = sources.iter().any(|(other, text)| {
            *other == parent && text.lines().any(|line| line.trim().ends_with(&format!("mod {stem};")))
        });
        assert!(declared, "{name} is not declared in {parent}: its tests never run");
    }
}

#[test]
fn a_manifest_is_read_as_cargo_reads_it() {
    let manifest = "[package]\nname = \"x\"\n[dependencies]\nvocab.workspace = true\n# no\ntokio = { version = \"1\" }\n\
                    [dependencies.serde]\nversion = \"1\"\n[dev-dependencies]\ntestkit.workspace = true\n";
    let found: Vec<String> = names(manifest, "dependencies").into_iter().collect();
    assert_eq!(found, ["serde", "tokio", "vocab"]);
    assert!(names(manifest, "dev-dependencies").contains("testkit"));
}
