//! One story, many dialects. A story is written once, in the engine's words, with the log it must leave behind; a
//! [`Teller`] tells it through one dialect. Whoever tells it, the log and what the model was sent are the same.
//!
//! ```text
//! # 12: a prompt while busy is refused; the running turn goes on
//! prompt say one pause 1000 say two
//! prompt say never
//! ! turn_in_progress
//! wait 2000
//! | opened mock/alpha prompt
//! | ...
//! ~ mock/alpha U "say one pause 1000 say two"
//! ```
//!
//! | line | |
//! |---|---|
//! | `# ...` | the number in the list of stories, and what it is about |
//! | `mode`, `window`, `rounds`, `file`, `link`, `model` | the surroundings, as in [`crate::golden`] |
//! | `lane all`, `lane immediate` | all follow-ups at once; steering cuts a batch of calls |
//! | `budget SPAN.WHAT=N` | what may be spent before somebody is asked |
//! | `reminders N` | so often we go on by ourselves while tasks are open |
//! | `prompt`, `steer`, `follow-up TEXT` | a message and how it is delivered |
//! | `allow`, `deny [REASON]`, `again` | answers to the newest question; `again` answers it a second time |
//! | `shell`, `shell-aside CMD` | a command of the user's own, to its end; the clock stands still meanwhile |
//! | `shell-start CMD`, `abort-shell` | one that runs on until it is aborted |
//! | `todos A, B` | the controller sets a list of open tasks |
//! | `interrupt`, `abort-retry`, `take-back`, `clear-queue`, `slash NAME ARGS`, `wait MS`, `leave` | |
//! | `! CODE` | the step before was refused so |
//! | `\| ...`, `~ ...` | the log at the end; each model call: which model, the messages as U A R, and the last of them |
//!
//! The last three are made anew by [`play`] and compared by the caller.

mod log;
mod recorder;
mod tellers;

use std::sync::Arc;

use vocab::{Drain, Later, Mode, Provider, SessionId, Settings, SteerPoint};

use crate::fakes::Renamed;
use crate::stage::{Stage, StageOptions};
pub use log::{read_log, shown_log};
pub use recorder::Recorder;
pub use tellers::EngineTeller;

/// One thing a controller does.
#[derive(Clone, PartialEq, Debug)]
pub enum Step {
    Prompt(String),
    Steer(String),
    FollowUp(String),
    Allow,
    Deny(Option<String>),
    /// Answers the last question once more.
    Again,
    Interrupt,
    AbortRetry,
    /// Takes the first waiting message back.
    TakeBack,
    /// Takes everything back that waits.
    ClearQueue,
    Slash {
        name: String,
        args: String,
    },
    /// A command of the user's own, and whether it is waited for.
    Shell {
        command: String,
        aside: bool,
        to_its_end: bool,
    },
    AbortShell,
    /// Open tasks.
    Todos(Vec<String>),
    Wait(u64),
    /// The controller goes away.
    Leave,
}

impl Step {
    fn read(line: &str) -> Option<Step> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let text = || rest.to_owned();
        Some(match word {
            "prompt" => Step::Prompt(text()),
            "steer" => Step::Steer(text()),
            "follow-up" => Step::FollowUp(text()),
            "allow" => Step::Allow,
            "deny" => Step::Deny((!rest.is_empty()).then(text)),
            "again" => Step::Again,
            "interrupt" => Step::Interrupt,
            "abort-retry" => Step::AbortRetry,
            "take-back" => Step::TakeBack,
            "clear-queue" => Step::ClearQueue,
            "slash" => {
                let (name, args) = rest.split_once(' ').unwrap_or((rest, ""));
                Step::Slash { name: name.into(), args: args.into() }
            }
            "shell" => Step::Shell { command: text(), aside: false, to_its_end: true },
            "shell-aside" => Step::Shell { command: text(), aside: true, to_its_end: true },
            "shell-start" => Step::Shell { command: text(), aside: false, to_its_end: false },
            "abort-shell" => Step::AbortShell,
            "todos" => Step::Todos(rest.split(", ").map(str::to_owned).collect()),
            "wait" => Step::Wait(rest.parse().expect("`wait` takes milliseconds")),
            "leave" => Step::Leave,
            _ => return None,
        })
    }
}

/// Tells a story in one dialect.
pub trait Teller: Send {
    /// Whether this dialect has words for the step.
    fn can(&self, step: &Step) -> bool;
    /// Takes the step and waits until everything has settled. Returns the codes of what was refused, in the engine's
    /// words: `turn_in_progress`, `unknown_ask`, or the `error` of a slash command.
    fn take<'a>(&'a mut self, step: &'a Step) -> Later<'a, Vec<String>>;
    fn session(&self) -> SessionId;
}

/// Where a story is played, beyond what it says itself.
#[derive(Clone, Copy)]
pub struct Setting {
    /// Whose models they are.
    pub provider: &'static str,
    pub tune: fn(&mut Settings),
}

impl Default for Setting {
    fn default() -> Self {
        Self { provider: "tour", tune: |_| {} }
    }
}

/// Plays a story; `None` when the teller has no words for one of its steps.
pub async fn play<T: Teller>(story: &str, teller: impl AsyncFnOnce(&Stage) -> T) -> Option<String> {
    play_in(Setting::default(), story, teller).await
}

/// The same in a setting of the dialect's own.
pub async fn play_in<T: Teller>(
    setting: Setting,
    story: &str,
    teller: impl AsyncFnOnce(&Stage) -> T,
) -> Option<String> {
    let recorder = Arc::new(Recorder::new(provider(story, setting.provider)));
    let stage = stage(story, recorder.clone(), setting.tune);
    let mut teller = teller(&stage).await;
    let mut told = String::new();
    for line in story.lines() {
        if line.starts_with(['!', '|', '~']) {
            continue;
        }
        told.push_str(line);
        told.push('\n');
        let Some(step) = Step::read(line) else { continue };
        if !teller.can(&step) {
            return None;
        }
        for code in teller.take(&step).await {
            told.push_str(&format!("! {code}\n"));
        }
    }
    let entries = read_log(&stage.store, &teller.session()).await;
    let workspace = stage.workspace().display().to_string();
    let lines = shown_log(&entries).into_iter().map(|line| format!("| {line}\n"));
    let calls = recorder.calls().into_iter().map(|line| format!("~ {line}\n"));
    told.extend(lines.chain(calls).map(|line| line.replace(&workspace, "$WS")));
    assert_eq!(recorder.broken(), Vec::<String>::new(), "a provider would refuse this history");
    Some(told)
}

fn words<'a>(story: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> {
    story.lines().filter_map(move |line| line.strip_prefix(word)?.strip_prefix(' ').map(str::trim_start))
}

fn provider(story: &str, whose: &str) -> Arc<dyn Provider> {
    let window = words(story, "window").next().map_or(128_000, |window| window.parse().expect("a window"));
    let model = |slug, window| vocab::ModelInfo { provider: whose.into(), ..tour::model(slug, window) };
    let models = vec![model("mock/alpha", window), model("mock/beta", 200_000)];
    let script: String = words(story, "model").map(|reply| format!("{reply}\nreply\n")).collect();
    if script.is_empty() {
        return Arc::new(tour::Tour::new(tour::TourOptions { models, word_delay_ms: 0 }));
    }
    let script = tour::Script::parse(&script).unwrap_or_else(|fault| panic!("{fault}"));
    let plays = vocab::ModelInfo { slug: script.slug().into(), ..tour::model("script", window) };
    Arc::new(Renamed { inner: Arc::new(script), models, plays })
}

fn stage(story: &str, provider: Arc<dyn Provider>, settle: fn(&mut Settings)) -> Stage {
    let mode = words(story, "mode").next().map_or(Mode::Prompt, |mode| Mode::parse(mode).expect("a mode"));
    let rounds: Option<u32> = words(story, "rounds").next().map(|rounds| rounds.parse().expect("a number"));
    let reminders: u32 = words(story, "reminders").next().map_or(0, |most| most.parse().expect("a number"));
    let budget = crate::budget(words(story, "budget"));
    let lanes: Vec<String> = words(story, "lane").map(str::to_owned).collect();
    let tune = move |settings: &mut Settings| {
        settle(settings);
        settings.max_iterations = rounds.unwrap_or(settings.max_iterations);
        settings.reminders_max = reminders;
        settings.budget = budget;
        for lane in lanes {
            match lane.as_str() {
                "all" => settings.lane.follow_up_drain = Drain::All,
                "immediate" => settings.lane.steer_point = SteerPoint::Immediate,
                other => panic!("no lane is `{other}`"),
            }
        }
    };
    let stage = Stage::new(StageOptions {
        provider,
        model: "mock/alpha".into(),
        mode,
        tune: Box::new(tune),
        ..StageOptions::default()
    });
    for file in words(story, "file") {
        let (name, content) = file.split_once(' ').unwrap_or((file, ""));
        stage.write(name, &content.replace("\\n", "\n"));
    }
    for link in words(story, "link") {
        let (name, to) = link.split_once(' ').expect("`link` takes a name and where it leads");
        std::os::unix::fs::symlink(to, stage.workspace().join(name)).expect("a link in the workspace");
    }
    stage
}
