//! Golden conversations: one file, one story that the author of a controller can read.
//!
//! ```text
//! # a denied tool call does not end the turn
//! args   --permission-mode prompt
//! file   a.py print(1)
//! model  call glob_search {"pattern":"*.py"}
//! model  say "Then I will not look."
//! > {"type":"prompt","text":"list the python files"}
//! < {"type":"turn_started","turn_id":"t1"}
//! ```
//!
//! | line | |
//! |---|---|
//! | `#` | for the reader |
//! | `args` | flags of the command line; without them the mode is `prompt` and the model `mock/alpha` |
//! | `file NAME TEXT` | a file of the workspace; `\n` is a line end |
//! | `model PARTS` | one reply of the model in the words of `docs/script.md`; without any, prompts are scripts (`docs/tour.md`) |
//! | `window N` | the context window of the model |
//! | `name KIND ID` | what the next session, turn, call or ask is called instead of `s1`, `t1` ... |
//! | `> LINE` | is sent; `> EOF` closes the input |
//! | `wait MS` | lets time pass |
//! | `until TEXT` | waits for a line with this in it; behind `>`, instead of until nothing more comes |
//! | `clock real` | for the caller: time is not paused, because a process takes its own ([`in_real_time`]) |
//! | `< LINE`, `exit N` | what came back |
//!
//! The `<` and `exit` lines are made anew by [`play`]; the caller compares the result with the file. Time is paused: a line is sent
//! when everything before it has settled.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use host::OwnCalls;
use vocab::{Accounts, IdKind, Mode, Provider, Settings, Store};
use wire::{Dialect, NoOwn};

use crate::fakes::CountedIds;
use crate::pipe::Pipe;
use crate::stage::{Stage, StageOptions};

/// Silence of this length, in paused time, means that everything has settled.
const QUIET: Duration = Duration::from_millis(300);

/// What a story starts with.
pub struct Opening {
    pub mode: Mode,
    pub resume: Option<String>,
    pub multi: bool,
    pub workspace: PathBuf,
    /// For what stands beside the dialect.
    pub engine: engine::Engine,
    /// The same, for what reads logs.
    pub store: Arc<dyn Store>,
    /// For dialects that are told their model.
    pub provider: Arc<dyn Provider>,
    args: Vec<String>,
}

impl Opening {
    /// The value of a flag; "" for one without.
    pub fn arg(&self, name: &str) -> Option<&str> {
        value_of(&self.args, name)
    }

    /// A dialect without calls of its own, on the stage.
    pub fn pipe(&self, dialect: impl Dialect<Own = NoOwn> + 'static) -> Pipe {
        Pipe::new(&self.engine, dialect, host::PumpOptions::default())
    }

    /// A dialect and who answers its own calls.
    pub fn pipe_with<D: Dialect + 'static>(&self, dialect: D, own: impl OwnCalls<D::Own> + 'static) -> Pipe {
        Pipe::new(&self.engine, dialect, host::PumpOptions::new(own))
    }
}

fn value_of<'a>(args: &'a [String], name: &str) -> Option<&'a str> {
    let at = args.iter().position(|arg| arg == name)?;
    Some(args.get(at + 1).filter(|next| !next.starts_with("--")).map_or("", String::as_str))
}

/// Whether a story asks for real time.
pub fn in_real_time(story: &str) -> bool {
    story.lines().any(|line| line.split_whitespace().eq(["clock", "real"]))
}

/// A dialect, and what it wants to find beyond what the story says.
pub struct Scene {
    /// Whose models they are.
    pub provider: &'static str,
    pub tune: fn(&mut Settings),
    pub accounts: Arc<dyn Accounts>,
    /// What is written goes through it.
    pub store: Arc<dyn Store>,
    /// Makes a line the same on every run.
    pub steady: fn(&str) -> String,
    /// Starts the dialect; see [`Opening::pipe`].
    pub speak: Box<dyn Fn(&Opening) -> Pipe>,
}

impl Scene {
    pub fn new(speak: impl Fn(&Opening) -> Pipe + 'static) -> Self {
        let (accounts, speak) = (Arc::new(vocab::NoAccounts), Box::new(speak));
        let store = Arc::new(store::MemoryStore::new());
        Self { provider: "tour", tune: |_| {}, accounts, store, steady, speak }
    }
}

/// Plays a story and returns it with fresh `<` lines.
pub async fn play(scene: Scene, story: &str) -> String {
    let cast = Cast::read(story);
    let shown = |lines, masks: &[(String, &str)]| shown(lines, masks, scene.steady);
    let provider = cast.provider(scene.provider);
    let stage = cast.stage(provider.clone(), &scene);
    let opening = Opening {
        mode: cast.mode,
        resume: cast.arg("--resume").map(str::to_owned),
        multi: cast.arg("--multi").is_some(),
        workspace: stage.workspace().to_owned(),
        engine: stage.engine.clone(),
        store: stage.store.clone(),
        provider,
        args: cast.args.clone(),
    };
    let masks = [(stage.workspace().display().to_string(), "$WS"), (stage.home().display().to_string(), "$HOME")];
    let mut pipe = (scene.speak)(&opening);
    let mut greeting = Some(shown(pipe.heard(QUIET).await, &masks));
    let mut result = String::new();
    let written = |line: &&str| !line.starts_with('<') && !line.starts_with("exit ");
    let mut lines = story.lines().filter(written).peekable();
    while let Some(line) = lines.next() {
        if line.starts_with('>') {
            result.push_str(&greeting.take().unwrap_or_default());
        }
        result.push_str(line);
        result.push('\n');
        let mut quiet = QUIET;
        if let Some(ms) = line.strip_prefix("wait ") {
            quiet = Duration::from_millis(ms.trim().parse().expect("`wait` takes milliseconds"));
        } else if let Some(sent) = line.strip_prefix('>') {
            match sent.trim() {
                "EOF" => pipe.eof().await,
                text => pipe.send(&text.replace("$WS", &masks[0].0)).await,
            }
            if lines.peek().is_some_and(|next| next.starts_with("until ")) {
                continue;
            }
        } else if let Some(text) = line.strip_prefix("until ") {
            let said = pipe.until(|line| line.contains(text.trim())).await;
            result.push_str(&shown(said, &masks));
        } else {
            continue;
        }
        result.push_str(&shown(pipe.heard(quiet).await, &masks));
    }
    result.push_str(&greeting.take().unwrap_or_default());
    if let Some(ended) = pipe.ended().await {
        result.push_str(&format!("exit {}\n", ended.exit_code));
    }
    result
}

fn shown(lines: Vec<String>, masks: &[(String, &str)], steady: fn(&str) -> String) -> String {
    let masked = |line: String| masks.iter().fold(line, |line, (path, mask)| line.replace(path, mask));
    lines.into_iter().map(|line| format!("< {}\n", steady(&masked(line)))).collect()
}

/// Durations are the one thing that real time leaks into; they are shown as 0.
fn steady(line: &str) -> String {
    let mut line = line.to_owned();
    if let Some(at) = line.find("\"duration_s\":") {
        let start = at + "\"duration_s\":".len();
        let end = line[start..].find(['}', ',']).map_or(line.len(), |offset| start + offset);
        line.replace_range(start..end, "0.0");
    }
    line
}

/// The author's lines, read.
struct Cast {
    mode: Mode,
    args: Vec<String>,
    files: Vec<(String, String)>,
    script: String,
    window: u64,
    names: Vec<(IdKind, String)>,
}

impl Cast {
    fn read(story: &str) -> Self {
        let mut cast = Self {
            mode: Mode::Prompt,
            args: Vec::new(),
            files: Vec::new(),
            script: String::new(),
            window: 128_000,
            names: Vec::new(),
        };
        for line in story.lines() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            cast.take(word, rest.trim_start());
        }
        if let Some(mode) = cast.arg("--permission-mode") {
            cast.mode = Mode::parse(mode).unwrap_or_else(|| panic!("not a mode: {mode}"));
        }
        cast
    }

    fn take(&mut self, word: &str, rest: &str) {
        match word {
            "" | "#" | ">" | "<" | "wait" | "until" | "exit" | "clock" => {}
            "args" => self.args.extend(rest.split_whitespace().map(str::to_owned)),
            "file" => {
                let (name, content) = rest.split_once(' ').unwrap_or((rest, ""));
                self.files.push((name.into(), content.replace("\\n", "\n")));
            }
            "model" => self.script.push_str(&format!("{rest}\nreply\n")),
            "window" => self.window = rest.parse().expect("`window` takes a number of tokens"),
            "name" => {
                let (kind, id) = rest.split_once(' ').expect("`name` takes a kind and an id");
                let kind = match kind {
                    "session" => IdKind::Session,
                    "turn" => IdKind::Turn,
                    "call" => IdKind::Call,
                    "ask" => IdKind::Ask,
                    _ => panic!("nothing is named by kind {kind}"),
                };
                self.names.push((kind, id.trim().into()));
            }
            _ => panic!("no line of a story begins with `{word}`"),
        }
    }

    fn arg(&self, name: &str) -> Option<&str> {
        value_of(&self.args, name)
    }

    fn provider(&self, whose: &str) -> Arc<dyn Provider> {
        // The names that the recorded conversations use.
        let model = |slug, window| vocab::ModelInfo { provider: whose.into(), ..tour::model(slug, window) };
        let models = vec![model("mock/alpha", self.window), model("mock/beta", 200_000)];
        if self.script.is_empty() {
            return Arc::new(tour::Tour::new(tour::TourOptions { models, word_delay_ms: 0 }));
        }
        let script = tour::Script::parse(&self.script).unwrap_or_else(|fault| panic!("{fault}"));
        let plays = vocab::ModelInfo { slug: script.slug().into(), ..tour::model("script", self.window) };
        Arc::new(crate::fakes::Renamed { inner: Arc::new(script), models, plays })
    }

    fn stage(&self, provider: Arc<dyn Provider>, scene: &Scene) -> Stage {
        let tune = scene.tune;
        let number = |name: &str| self.arg(name).map(|value| value.parse::<u64>().expect("a number"));
        let (rounds, tokens) = (number("--max-iterations"), number("--max-tokens"));
        let reminders = number("--reminders");
        let budget = crate::budget(self.arg("--budget").into_iter());
        let stage = Stage::new(StageOptions {
            provider,
            accounts: scene.accounts.clone(),
            store: scene.store.clone(),
            model: "mock/alpha".into(),
            mode: self.mode,
            tune: Box::new(move |settings| {
                tune(settings);
                if let Some(most) = reminders {
                    settings.reminders_max = u32::try_from(most).expect("a small number");
                }
                if let Some(rounds) = rounds {
                    settings.max_iterations = u32::try_from(rounds).expect("a small number");
                }
                settings.max_tokens = tokens;
                settings.budget = budget;
            }),
            ids: CountedIds::with_names(self.names.clone()),
            ..StageOptions::default()
        });
        for (name, content) in &self.files {
            stage.write(name, content);
        }
        stage
    }
}
