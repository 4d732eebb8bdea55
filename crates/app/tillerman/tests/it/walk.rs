//! Which files a prompt enters. The debug binary runs under `valgrind --tool=callgrind`, with `serve` on its pipes and the
//! tour as its model; counters are zeroed when it is warm (a session, one turn done) and dumped after the next turn.
//!
//!     cargo test -p tillerman --test it walk -- --nocapture
//!
//! prints the files, and what each is entered for (`-`: not counted, `d`: no more than a door). Where valgrind is missing
//! the test says so and measures nothing.
//!
//! Weaker than it looks: under valgrind `/proc/self/exe` is valgrind, so the leash of the `bash` call does not start and the
//! call fails there. What follows its output (`follow`, `capture`) is therefore not in the walk of the call.

mod callgrind;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use callgrind::{Place, Ran};

use crate::golden::repository;

/// A turn under callgrind takes a second or two; a machine that is busy takes more.
const LINE_TIME_MAX: Duration = Duration::from_secs(120);
/// What a turn leaves behind (its commit, the last line) is over by then.
const AFTER_TURN: Duration = Duration::from_millis(700);
/// A function that calls nothing of ours and takes no more than this per call only looks at a field: a door, not a room.
const DOOR_INSTRUCTIONS_MAX: u64 = 40;

/// Rooms that neither a plain prompt nor a call has business in: not even a look at a field in there.
const OTHER_ROOMS: &[&str] = &[
    "core/engine/src/extensions.rs",
    "core/engine/src/session/extensions",
    "core/engine/src/session/hooks",
    "core/engine/src/session/editor",
    "core/engine/src/session/mcp",
    "core/engine/src/session/subagents",
    "core/engine/src/session/fallback",
    "core/engine/src/session/compaction",
    "core/engine/src/session/budget",
    "core/engine/src/session/reminders",
    "core/engine/src/session/undo",
    "core/engine/src/session/shell",
    "tools/mcp/",
    "tools/extensions/",
    "tools/skills/",
    "tools/images/",
];
/// A plain prompt has none in these either.
const ROOMS_OF_CALLS: &[&str] = &["core/engine/src/session/calls", "core/engine/src/permission", "tools/"];

/// Files in which a plain prompt works, outside provider, store and the vocabulary.
const PLAIN_FILES_MAX: usize = 57;
/// What a `bash` call with a question enters besides.
const CALL_FILES_MAX: usize = 21;

struct Watched {
    process: Child,
    input: ChildStdin,
    lines: mpsc::Receiver<String>,
    place: PathBuf,
    dumps: usize,
}

impl Watched {
    /// `None`: no valgrind on this machine.
    fn start() -> Option<Self> {
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("walk-{}", std::process::id()));
        let (home, workspace) = (place.join("home"), place.join("workspace"));
        fs::create_dir_all(&home).unwrap();
        fs::create_dir_all(&workspace).unwrap();
        let mut process = Command::new("valgrind")
            .args(["--quiet", "--tool=callgrind", "--dump-line=no"])
            .arg(format!("--callgrind-out-file={}", place.join("out").display()))
            .arg(env!("CARGO_BIN_EXE_tillerman"))
            .args(["serve", "--model", "tour", "--workspace"])
            .arg(&workspace)
            .env_clear()
            .envs([("HOME", &home), ("TILLERMAN_HOME", &home)])
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let input = process.stdin.take().unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let (tell, lines) = mpsc::channel();
        std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| tell.send(line)));
        Some(Self { process, input, lines, place, dumps: 0 })
    }

    fn say(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
    }

    fn heard(&self, kind: &str) -> String {
        let begin = format!("{{\"type\":\"{kind}\"");
        loop {
            let line = self.lines.recv_timeout(LINE_TIME_MAX).unwrap_or_else(|_| panic!("no {kind} came"));
            if line.starts_with(&begin) {
                return line;
            }
        }
    }

    /// `-z` zeroes the counters, `-d` writes them down.
    fn control(&self, flag: &str) {
        std::thread::sleep(AFTER_TURN);
        let done = Command::new("callgrind_control").args([flag, &self.process.id().to_string()]).output();
        let done = done.expect("callgrind_control comes with valgrind");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    fn measured(&mut self, turn: impl FnOnce(&mut Self)) -> BTreeMap<Place, Ran> {
        self.control("-z");
        turn(self);
        self.control("-d");
        self.dumps += 1;
        let dump = self.place.join(format!("out.{}", self.dumps));
        callgrind::read(&fs::read_to_string(dump).expect("a dump was written"))
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // Both may be gone already.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.place);
    }
}

/// `crates/core/engine/src/session/log.rs` is `engine::session::log`.
fn module_of(file: &str) -> Option<String> {
    let (folder, inner) = file.split_once("/src/")?;
    let package = folder.rsplit('/').next()?;
    let package = match folder {
        "core/vocab" => "vocab".to_owned(),
        "tools/builtin" => "builtin_tools".to_owned(),
        _ if folder.starts_with("dialects/") && !["acp-types", "pi-format"].contains(&package) => {
            format!("dialect_{package}")
        }
        _ => package.replace('-', "_"),
    };
    let inner = inner.trim_end_matches(".rs").replace('/', "::");
    Some(match &*inner {
        "lib" | "main" => package,
        inner => format!("{package}::{inner}"),
    })
}

/// What a derive writes, and what every type has: no reader follows it.
fn is_glue(function: &str) -> bool {
    const TRAITS: [&str; 9] =
        ["Clone", "PartialEq", "PartialOrd", "Hash", "Debug", "Display", "Default", "Deref", "From"];
    function.contains("::_::<impl serde")
        || TRAITS.iter().any(|it| function.contains(&format!("::{it}>::")) || function.contains(&format!("::{it}<")))
}

/// The file below `crates` that a function is of, where it is one of ours and not an instance of somebody's generic code that
/// the compiler has put down there.
fn own_file(place: &Place, root: &str) -> Option<String> {
    let (file, function) = place;
    let file = file.strip_prefix(root)?;
    let module = module_of(file)?;
    let inner = function.trim_start_matches(['<', '&']).strip_prefix(&module)?.strip_prefix("::")?;
    // `engine::session::..` stands in `lib.rs` only for the compiler.
    let next = inner.split("::").next()?;
    let folder = match file.ends_with("/lib.rs") || file.ends_with("/main.rs") {
        true => Path::new(root).join(file).parent()?.to_owned(),
        false => Path::new(root).join(file).with_extension(""),
    };
    let is_module = folder.join(format!("{next}.rs")).exists();
    (!is_module && !is_glue(function)).then(|| file.to_owned())
}

/// One walk: every file that was entered, with what for; and those of them in which no more than a door was opened.
struct Walk {
    rooms: BTreeMap<String, Vec<String>>,
    doors: BTreeMap<String, Vec<String>>,
}

impl Walk {
    fn of(ran: &BTreeMap<Place, Ran>) -> Self {
        let root = format!("{}/crates/", repository().canonicalize().unwrap().display());
        let (mut rooms, mut doors) = (BTreeMap::<String, Vec<String>>::new(), BTreeMap::<String, Vec<String>>::new());
        for (place, it) in ran {
            let Some(file) = own_file(place, &root) else { continue };
            if it.own == 0 {
                continue;
            }
            let calls_ours = it.callees.iter().any(|callee| own_file(callee, &root).is_some());
            let is_door = !calls_ours && it.own / it.calls.max(1) <= DOOR_INSTRUCTIONS_MAX;
            let name = place.1.replace("::{{closure}}", "").rsplit("::").next().unwrap_or_default().to_owned();
            if is_door { doors.entry(file).or_default().push(name) } else { rooms.entry(file).or_default().push(name) }
        }
        doors.retain(|file, _| !rooms.contains_key(file));
        Self { rooms, doors }
    }

    /// Outside provider and store, which are reached through ports, and outside the words that everything is said in.
    fn counted(&self) -> BTreeSet<&str> {
        let outside = ["models/", "storage/", "core/vocab/"];
        self.rooms.keys().map(String::as_str).filter(|file| !outside.iter().any(|it| file.starts_with(it))).collect()
    }

    fn is_in(&self, rooms: &[&str]) -> Vec<String> {
        let all = self.rooms.iter().chain(&self.doors);
        let inside = all.filter(|(file, _)| rooms.iter().any(|room| file.starts_with(room)));
        inside.map(|(file, why)| format!("{file}: {}", why.join(", "))).collect()
    }

    fn has(&self, named: &str) -> bool {
        self.rooms.keys().any(|file| format!("/{file}").ends_with(&format!("/{named}")))
    }

    fn report(&self, title: &str) -> String {
        let counted = self.counted();
        let head = format!("\n{title}: works in {} files, opens doors of {} more", counted.len(), self.doors.len());
        let rooms = self.rooms.iter().map(|(file, functions)| {
            let unique: BTreeSet<&str> = functions.iter().map(String::as_str).collect();
            let sign = if counted.contains(&**file) { ' ' } else { '-' };
            format!("{sign} {file}: {}", unique.into_iter().take(6).collect::<Vec<_>>().join(", "))
        });
        let doors = self.doors.iter().map(|(file, functions)| format!("d {file}: {}", functions.join(", ")));
        std::iter::once(head).chain(rooms).chain(doors).collect::<Vec<_>>().join("\n")
    }
}

/// The files that ARCHITECTURE.md names: on the way of a prompt, and on the detour of a call.
fn told() -> (Vec<String>, Vec<String>) {
    let page = fs::read_to_string(repository().join("ARCHITECTURE.md")).unwrap();
    let (_, walk) = page.split_once("twenty files carry it:").expect("the walk of a prompt");
    let (prompt, rest) = walk.split_once("A tool call makes a detour").expect("the detour of a call");
    let (call, _) = rest.split_once("`tests/it/walk.rs`").expect("where this test is named");
    let files = |text: &str| {
        let quoted = text.split('`').skip(1).step_by(2);
        quoted.filter(|it| it.ends_with(".rs")).map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect()
    };
    (files(prompt), files(call))
}

#[test]
fn a_prompt_enters_only_the_rooms_it_needs() {
    let Some(mut agent) = Watched::start() else {
        println!("skipped: no valgrind on this machine (Debian: apt install valgrind)");
        return;
    };
    agent.heard("ready");
    agent.say(r#"{"type":"prompt","text":"say \"warm\""}"#);
    agent.heard("turn_complete");
    let plain = agent.measured(|agent| {
        agent.say(r#"{"type":"prompt","text":"say \"hello there\""}"#);
        agent.heard("turn_complete");
    });
    let call = agent.measured(|agent| {
        agent.say(r#"{"type":"prompt","text":"call bash {\"command\":\"touch x\"}"}"#);
        let question = agent.heard("permission_request");
        let id = question.split("\"request_id\":\"").nth(1).and_then(|it| it.split('"').next()).unwrap();
        agent.say(&format!(r#"{{"type":"permission_response","request_id":"{id}","decision":"allow"}}"#));
        agent.heard("turn_complete");
    });
    let (plain, call) = (Walk::of(&plain), Walk::of(&call));
    println!("{}", plain.report("a plain prompt"));
    println!("{}", call.report("a bash call with a question"));
    let more: BTreeSet<&str> = call.counted().difference(&plain.counted()).copied().collect();
    println!("\nthe call adds {}: {}", more.len(), more.iter().copied().collect::<Vec<_>>().join(" "));
    assert!(plain.counted().len() > 15 && more.len() > 5, "the walk has lost its way");
    assert_eq!(plain.is_in(OTHER_ROOMS), Vec::<String>::new(), "rooms that a plain prompt does not need");
    assert_eq!(plain.is_in(ROOMS_OF_CALLS), Vec::<String>::new(), "rooms of calls");
    assert_eq!(call.is_in(OTHER_ROOMS), Vec::<String>::new(), "rooms that a call does not need");
    let (on_the_way, detour) = told();
    assert_eq!(on_the_way.len(), 20, "ARCHITECTURE.md says twenty: {on_the_way:?}");
    let missed: Vec<&String> = on_the_way.iter().filter(|file| !plain.has(file)).collect();
    assert!(missed.is_empty(), "ARCHITECTURE.md leads a prompt through {missed:?}, where nothing runs");
    let missed: Vec<&String> = detour.iter().filter(|file| !call.has(file)).collect();
    assert!(missed.is_empty(), "ARCHITECTURE.md leads a call through {missed:?}, where nothing runs");
    assert!(plain.counted().len() <= PLAIN_FILES_MAX, "{} files", plain.counted().len());
    assert!(more.len() <= CALL_FILES_MAX, "{} files more", more.len());
}
