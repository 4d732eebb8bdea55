//! What README, the pages and the help show to be typed is typed here, as it stands, into bash in a project of its own. A vendor's
//! server is played by the mock; what needs a person, another program or another machine is named below.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use testkit::mock_model::MockModel;

use crate::golden::repository;

/// Examples that are not typed, and why. Each of them must still be there.
const NOT_TYPED: [(&str, &str); 15] = [
    ("drive --url", "an agent at an address, which nobody runs here"),
    ("tillerman gateway", "serves until it is ended, or asks one that runs: the tests of the gateway do"),
    ("cargo ", "builds; what it names is looked at below"),
    ("drive -- opencode acp", "another program"),
    ("-- hermes-acp", "another program"),
    ("-- gemini --acp", "another program"),
    ("-- claude-agent-acp", "another program"),
    ("drive --ssh", "another machine"),
    ("drive --resume SESSION", "another program"),
    ("tillerman login openrouter", "asks a vendor"),
    ("tillerman login exa < key.txt", "a key of the reader's"),
    ("tillerman login --device", "asks a vendor"),
    ("tillerman login", "asks a vendor"),
    ("tillerman repl --model NAME", "the reader's model"),
    ("--provider lab --model alpha", "the reader's provider; the pages of rpc play it"),
];

/// Examples that end with another code than 0 here, and why.
const CODES: [(&str, i32); 3] = [
    // Nobody sits at a terminal here, and nothing comes through a pipe.
    ("tillerman", 2),
    ("tillerman -c", 2),
    // It is not set: that is what scripts ask.
    ("tillerman config get model", 1),
];

/// Words that begin a line that can be typed.
const STARTS: [&str; 8] = ["tillerman", "echo ", "printf ", "git ", "source ", "cargo ", "export ", "OPENAI_BASE_URL="];
/// Examples that are typed at the same time.
const READERS: usize = 4;
/// No example takes this long; one that does has failed.
const TIME_MAX: Duration = Duration::from_secs(60);

/// A home, a repository with a change in it and a conversation, and a vendor that answers.
struct Reader {
    root: tempfile::TempDir,
    mock: MockModel,
}

impl Reader {
    fn new() -> Self {
        let reader = Self { root: tempfile::tempdir().unwrap(), mock: MockModel::start_blocking() };
        for directory in [
            "home/data",
            "home/src/project",
            "home/.zfunc",
            "home/.config/fish/completions",
            "project/src",
            "project/project",
        ] {
            std::fs::create_dir_all(reader.root.path().join(directory)).unwrap();
        }
        let project = reader.project();
        std::os::unix::fs::symlink(repository().join("examples"), project.join("examples")).unwrap();
        std::fs::write(project.join("src/main.rs"), "fn main() {}\n").unwrap();
        let config = format!("[providers.anthropic]\nbase_url = '{}'\n", reader.mock.base_url);
        std::fs::write(reader.root.path().join("home/data/config.toml"), config).unwrap();
        let begun = "git init -q . && git add . && echo '// changed' >> src/main.rs && tillerman run -m tour 'list the rust files'";
        let (code, said) = reader.types(begun);
        assert_eq!(code, Some(0), "{said}");
        reader
    }

    fn project(&self) -> PathBuf {
        self.root.path().join("project")
    }

    /// The exit code, and everything that was said.
    fn types(&self, line: &str) -> (Option<i32>, String) {
        let line = ["http://localhost:11434/v1", "http://127.0.0.1:9000/v1"]
            .iter()
            .fold(line.to_owned(), |line, address| line.replace(address, &self.mock.base_url));
        let binary = Path::new(env!("CARGO_BIN_EXE_tillerman")).parent().unwrap().display().to_string();
        let home = self.root.path().join("home");
        let mut bash = Command::new("bash");
        bash.env_clear().env("PATH", format!("{binary}:{}", std::env::var("PATH").unwrap_or_default()));
        bash.env("HOME", &home).env("TILLERMAN_HOME", home.join("data")).env("ANTHROPIC_API_KEY", "sk-of-the-reader");
        bash.args(["-c", &line]).current_dir(self.project());
        let log = self.root.path().join("said");
        let said = || std::fs::read_to_string(&log).unwrap_or_default();
        let file = std::fs::File::create(&log).unwrap();
        bash.stdin(Stdio::null()).stdout(file.try_clone().unwrap()).stderr(file);
        let mut child = bash.spawn().unwrap();
        let began = Instant::now();
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                return (status.code(), said());
            }
            if began.elapsed() > TIME_MAX {
                child.kill().unwrap();
                panic!("{line} does not end: {}", said());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// A line as it would be pasted: without the mark of a prompt and without the words that explain it.
fn typed(line: &str) -> Option<String> {
    let line = line.trim_start().strip_prefix("$ ").unwrap_or(line.trim_start());
    if !STARTS.iter().any(|start| line.starts_with(start)) {
        return None;
    }
    let mut quote = None;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            (None, '"' | '\'') => quote = Some(c),
            (Some(open), c) if open == c => quote = None,
            (None, ' ') if line[at..].starts_with("  ") => return Some(line[..at].to_owned()),
            _ => {}
        }
    }
    Some(line.trim_end().to_owned())
}

/// Every line of a page's indented blocks that can be typed, with what the block exports before it.
fn indented(page: &str) -> Vec<String> {
    let (mut found, mut exports, mut is_fenced) = (Vec::new(), Vec::new(), false);
    for line in page.lines() {
        is_fenced ^= line.starts_with("```");
        let line = Some(line).filter(|line| !is_fenced && line.starts_with("    "));
        match line.and_then(typed) {
            Some(line) if line.starts_with("export ") => {
                exports.push(line.split(" #").next().unwrap_or(&line).to_owned())
            }
            Some(line) => found.push([&exports[..], &[line]].concat().join("; ")),
            None if line.is_none() => exports.clear(),
            None => {}
        }
    }
    found
}

/// Whole blocks of shell; one with prompts in it shows what is said, too, and has tests of its own.
fn fenced(page: &str) -> Vec<String> {
    let blocks = page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default());
    let blocks = blocks.filter(|block| !block.starts_with("$ "));
    blocks
        .flat_map(|block| match block.contains("coproc ") {
            true => vec![block.to_owned()],
            false => block.lines().filter_map(typed).collect(),
        })
        .collect()
}

fn pages() -> Vec<(String, String)> {
    let mut files = vec![repository().join("README.md")];
    for directory in ["docs", "docs/dialects"] {
        let entries = std::fs::read_dir(repository().join(directory)).unwrap().map(|entry| entry.unwrap().path());
        files.extend(entries.filter(|path| path.extension().is_some_and(|ending| ending == "md")));
    }
    files.sort();
    files.into_iter().map(|path| (path.display().to_string(), std::fs::read_to_string(path).unwrap())).collect()
}

fn help() -> Vec<String> {
    let page = std::fs::read_to_string(repository().join("crates/app/tillerman/tests/it/help.txt")).unwrap();
    let examples = page.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   ")).filter_map(typed);
    // `run --help` and the help of all say some of them twice.
    examples.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Which of the examples that are not typed this is.
fn left_out(line: &str) -> Option<&'static str> {
    let is_it = |part: &str| if part == "tillerman login" { line == part } else { line.contains(part) };
    NOT_TYPED.iter().map(|(part, _)| *part).find(|part| is_it(part))
}

/// Types it, and says what went wrong.
fn trial((place, line): &(String, String)) -> Option<String> {
    // A line may have exports before it.
    let last = line.rsplit("; ").next().unwrap_or(line);
    let wanted = CODES.iter().find(|(known, _)| last == *known).map_or(0, |(_, code)| *code);
    let (code, said) = Reader::new().types(line);
    (code != Some(wanted)).then(|| format!("{place}\n{line}\nended with {code:?} and said:\n{said}\n"))
}

#[test]
fn every_example_can_be_typed() {
    let mut examples: Vec<(String, String)> = Vec::new();
    for (place, page) in pages() {
        let found = indented(&page).into_iter().chain(fenced(&page));
        examples.extend(found.map(|line| (place.clone(), line)));
    }
    examples.extend(help().into_iter().map(|line| ("--help".to_owned(), line)));
    assert!(examples.len() > 60, "{} examples: {examples:#?}", examples.len());
    let (skipped, typed): (Vec<_>, Vec<_>) = examples.into_iter().partition(|(_, line)| left_out(line).is_some());
    let skipped: BTreeSet<&str> = skipped.iter().filter_map(|(_, line)| left_out(line)).collect();
    let all: BTreeSet<&str> = NOT_TYPED.iter().map(|(part, _)| *part).collect();
    assert_eq!(skipped, all, "what is left out is still on a page");
    let next = AtomicUsize::new(0);
    let work = || {
        let mut wrong = Vec::new();
        while let Some(example) = typed.get(next.fetch_add(1, Ordering::Relaxed)) {
            wrong.extend(trial(example));
        }
        wrong
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(work)).collect();
        readers.into_iter().flat_map(|reader| reader.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// README shows what is heard as well: what is sent gets the answers that are shown, in their order.
#[test]
fn the_conversation_of_the_readme_can_be_typed() {
    let start = "tillerman --mode rpc --model tour";
    let readme = std::fs::read_to_string(repository().join("README.md")).unwrap();
    let example = readme.split(&format!("$ {start}\n")).nth(1).expect("the conversation");
    let lines: Vec<&str> = example.lines().take_while(|line| !line.is_empty()).map(str::trim).collect();
    let sent: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix("> ")).collect();
    let kind = |line: &str| Some(line.split("\"type\":\"").nth(1)?.split('"').next()?.to_owned());
    let heard: Vec<String> = lines.iter().filter_map(|line| kind(line.strip_prefix("< ")?)).collect();
    assert!(!sent.is_empty() && heard.len() > 4, "{lines:?}");
    let last = heard.last().unwrap();
    let feed = sent.iter().map(|line| format!("echo '{line}' >&${{T[1]}}\n")).collect::<String>();
    let script = format!("coproc T {{ {start}; }}\n{feed}sed -u '/\"type\":\"{last}\"/q' <&${{T[0]}}\n");
    let (code, said) = Reader::new().types(&script);
    assert_eq!(code, Some(0), "{said}");
    let mut told = said.lines();
    for wanted in heard {
        assert!(told.any(|line| line.contains(&format!("\"type\":\"{wanted}\""))), "no {wanted} in its place: {said}");
    }
}

#[test]
fn the_readme_installs_the_package_that_has_the_binary() {
    let readme = std::fs::read_to_string(repository().join("README.md")).unwrap();
    let line =
        readme.lines().find_map(|line| line.trim().strip_prefix("cargo install --path ")).expect("how to install it");
    let path = line.strip_suffix(" --locked").expect("with the versions that were tested");
    let manifest = std::fs::read_to_string(repository().join(path).join("Cargo.toml")).unwrap();
    assert!(
        manifest.contains("name = \"tillerman\"") && repository().join(path).join("src/main.rs").exists(),
        "{path}"
    );
    assert!(repository().join("Cargo.lock").exists());
}
