//! Golden conversations: one file, one story that the author of a controller can read.
//!
//! ```text
//! # a denied tool call does not end the turn
//! file   a.py print(1)
//! flag   mode prompt
//! model  say "Then I will not look."
//! >  {"type":"prompt","text":"list the python files"}
//! <  {"type":"turn_started","turn_id":"t1"}
//! ```
//!
//! `#`, `file`, `flag`, `model` and `>` lines are the author's; `<` lines are what came back. The runner keeps the
//! former, regenerates the latter and hands the text to the caller, who compares it with the file. `> EOF` closes the
//! input. Time is paused: a line is sent when everything before it has settled.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use vocab::{Mode, Provider};
use wire::Dialect;

use crate::stage::{Stage, StageOptions};

/// What a story starts with.
pub struct Opening {
    pub mode: Mode,
    pub flags: Vec<(String, String)>,
    pub workspace: std::path::PathBuf,
}

/// Plays a story and returns it with fresh `<` lines.
pub async fn play(story: &str, dialect: impl FnOnce(&Opening) -> Box<dyn Dialect>) -> String {
    let mut cast = Cast::read(story);
    let stage = cast.stage();
    let opening = Opening { mode: cast.mode, flags: cast.flags.clone(), workspace: stage.workspace().to_owned() };
    let workspace = stage.workspace().display().to_string();
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (reader, writer) = tokio::io::split(theirs);
    let engine = stage.engine.clone();
    let dialect = dialect(&opening);
    let host =
        tokio::spawn(async move { host::pump(dialect, &engine, reader, writer, host::Options::default()).await });
    let (mut from, into) = tokio::io::split(ours);
    let mut into = Some(into);
    let mut told = String::new();
    told.push_str(&heard(&mut from, &workspace).await);
    let mut result = String::new();
    let mut greeted = false;
    for line in story.lines() {
        if line.starts_with('<') || line.starts_with("exit ") {
            continue;
        }
        if line.starts_with('>') && !greeted {
            greeted = true;
            result.push_str(&std::mem::take(&mut told));
        }
        result.push_str(line);
        result.push('\n');
        let Some(sent) = line.strip_prefix('>') else { continue };
        match sent.trim() {
            "EOF" => drop(into.take().map(|mut into| tokio::spawn(async move { into.shutdown().await }))),
            text => {
                let bytes = format!("{}\n", text.replace("$WS", &workspace));
                if let Some(into) = &mut into {
                    let _ = into.write_all(bytes.as_bytes()).await;
                }
            }
        }
        result.push_str(&heard(&mut from, &workspace).await);
    }
    if !greeted {
        result.push_str(&told);
    }
    if host.is_finished() {
        let ended = host.await.expect("the host does not panic");
        result.push_str(&format!("exit {}\n", ended.exit_code));
    }
    result
}

/// Everything that arrives until nothing moves any more.
async fn heard(from: &mut (impl tokio::io::AsyncRead + Unpin), workspace: &str) -> String {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 64 * 1024];
    while let Ok(Ok(count)) = tokio::time::timeout(Duration::from_millis(300), from.read(&mut chunk)).await {
        if count == 0 {
            break;
        }
        bytes.extend_from_slice(&chunk[..count]);
    }
    let text = String::from_utf8(bytes).expect("output is strict UTF-8").replace(workspace, "$WS");
    text.lines().map(|line| format!("<  {}\n", steady(line))).collect()
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
    flags: Vec<(String, String)>,
    files: Vec<(String, String)>,
    script: String,
}

impl Cast {
    fn read(story: &str) -> Self {
        let mut cast = Self { mode: Mode::Prompt, flags: Vec::new(), files: Vec::new(), script: String::new() };
        for line in story.lines() {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let rest = rest.trim_start();
            match word {
                "file" => {
                    let (name, content) = rest.split_once(' ').unwrap_or((rest, ""));
                    cast.files.push((name.into(), content.replace("\\n", "\n")));
                }
                "flag" => {
                    let (name, value) = rest.split_once(' ').unwrap_or((rest, ""));
                    if name == "mode" {
                        cast.mode = Mode::parse(value).expect("a mode");
                    }
                    cast.flags.push((name.into(), value.into()));
                }
                "model" => {
                    cast.script.push_str(rest);
                    cast.script.push('\n');
                }
                _ => {}
            }
        }
        cast
    }

    fn provider(&self) -> Arc<dyn Provider> {
        // The names that the recorded conversations use.
        let models = vec![tour::model("mock/alpha", 128_000), tour::model("mock/beta", 200_000)];
        if self.script.is_empty() {
            return Arc::new(tour::Tour::new(tour::Options { models, word_delay_ms: 0 }));
        }
        let script = tour::Script::parse(&self.script).expect("a script");
        let plays = vocab::ModelInfo { slug: script.slug().into(), ..tour::model("script", 128_000) };
        Arc::new(crate::fakes::Renamed { inner: Arc::new(script), models, plays })
    }

    fn stage(&mut self) -> Stage {
        let (mode, flags) = (self.mode, self.flags.clone());
        let stage = Stage::new(StageOptions {
            provider: self.provider(),
            model: "mock/alpha".into(),
            mode,
            tune: Box::new(move |settings| {
                for (name, value) in &flags {
                    match name.as_str() {
                        "max-iterations" => settings.max_iterations = value.parse().expect("a number"),
                        "max-tokens" => settings.max_tokens = Some(value.parse().expect("a number")),
                        _ => {}
                    }
                }
            }),
            ..StageOptions::default()
        });
        for (name, content) in &self.files {
            stage.write(name, content);
        }
        stage
    }
}
