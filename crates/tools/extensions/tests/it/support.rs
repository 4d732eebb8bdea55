//! A stage with extensions on it. Programs are written to a directory of their own and run for real.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use extensions::{ExtensionOptions, Extensions};
use process::GroupLauncher;
use testkit::stage::Actor;
use testkit::{Stage, StageOptions};
use vocab::*;

/// Reads lines as JSON and answers by a table; what most programs of these tests begin with.
pub(crate) const PYTHON: &str = r#"
import json, sys, time, os, signal
def send(**frame):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **frame}) + "\n"); sys.stdout.flush()
def frames():
    for line in sys.stdin:
        frame = json.loads(line)
        if frame.get("method") == "shutdown":
            sys.exit(0)
        yield frame
def register(**what):
    frame = next(frames())
    assert frame["method"] == "initialize", frame
    send(id=frame["id"], result=what)
    return frame["params"]
"#;

pub(crate) struct ExtensionScene {
    pub(crate) stage: Stage,
    pub(crate) extensions: Option<Extensions>,
    pub(crate) dir: tempfile::TempDir,
}

impl ExtensionScene {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }
    pub(crate) fn with(change: impl FnOnce(&mut StageOptions)) -> Self {
        let mut options = StageOptions::default();
        change(&mut options);
        Self { stage: Stage::new(options), extensions: None, dir: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
    /// A Python program that begins with [`PYTHON`].
    pub(crate) fn python(&self, name: &str, text: &str) -> PathBuf {
        self.write(name, &format!("{PYTHON}{text}"))
    }

    /// Starts them and waits until they are ready.
    pub(crate) async fn start(&mut self, programs: &[&Path]) {
        let env = std::env::vars_os().filter(|(name, _)| ["PATH", "HOME"].iter().any(|keep| name == keep)).collect();
        let options = ExtensionOptions {
            programs: programs.iter().map(|path| path.to_path_buf()).collect(),
            workspace: self.stage.workspace().to_owned(),
            env,
            secrets: Keyring::default(),
            version: "0.1.0".into(),
            launcher: Arc::new(GroupLauncher),
        };
        let mut extensions = extensions::start(&self.stage.engine, options);
        extensions.ready().await;
        self.extensions = Some(extensions);
    }

    pub(crate) async fn shutdown(&mut self) {
        self.stage.engine.shutdown().await;
        if let Some(extensions) = self.extensions.take() {
            extensions.shutdown().await;
        }
    }
}

pub(crate) async fn trouble(actor: &mut Actor) -> (String, String) {
    let event = actor.until(|event| matches!(event, Event::Extension(ExtensionEvent::Trouble { .. }))).await;
    let Event::Extension(ExtensionEvent::Trouble { during, text, .. }) = event else {
        unreachable!("that was waited for")
    };
    (during.to_string(), text.to_string())
}

pub(crate) async fn notice(actor: &mut Actor, wanted: &str) -> Notice {
    let says = |notice: &Notice| format!("{notice:?}").contains(wanted);
    match actor.until(|event| matches!(event, Event::Extension(ExtensionEvent::Notice(notice)) if says(notice))).await {
        Event::Extension(ExtensionEvent::Notice(notice)) => notice,
        other => unreachable!("that was waited for: {other:?}"),
    }
}

pub(crate) async fn command(actor: &mut Actor, name: &str, args: &str) -> Result<Reply, Fault> {
    let tag = actor.send(Verb::Session(SessionVerb::Command { name: name.into(), args: args.into() })).await;
    actor.reply(tag).await
}

pub(crate) async fn answer(actor: &mut Actor, ask: &Ask, answer: Answer) {
    let tag = actor.send(Verb::Session(SessionVerb::Answer { ask: ask.id.clone(), answer })).await;
    actor.reply(tag).await.unwrap();
}

pub(crate) async fn dialog(actor: &mut Actor) -> Ask {
    let is_dialog = |event: &Event| match event {
        Event::Logged(entry) => match &entry.body {
            Body::Ask(AskEntry::Opened(ask)) if !matches!(ask.kind, AskKind::HostCall { .. }) => Some(ask.clone()),
            _ => None,
        },
        _ => None,
    };
    let event = actor.until(|event| is_dialog(event).is_some()).await;
    is_dialog(&event).expect("that was waited for")
}

/// The result of a call as the log has it.
pub(crate) fn results(actor: &Actor) -> Vec<(CallEnd, String)> {
    let result = |told: &Told| match &told.event {
        Event::Logged(entry) => match &entry.body {
            Body::Call(CallEntry::Ended { result, .. }) => Some((result.end, result.text())),
            _ => None,
        },
        _ => None,
    };
    actor.told.iter().filter_map(result).collect()
}

/// A turn from the prompt to its end.
pub(crate) async fn turn(actor: &mut Actor, prompt: &str) -> TurnEnd {
    actor.forget();
    actor.prompt(prompt).await;
    actor.turn_end().await
}

pub(crate) fn is_alive(pid: &str) -> bool {
    // A zombie that nobody has collected yet does not work any more.
    std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|stat| !stat.contains(") Z "))
}
