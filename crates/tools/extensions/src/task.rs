//! The task of one extension, from its start to its end: the only place here that waits.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use engine::{Engine, Extension};
use process::{Launched, Launcher, OutputTail, Program};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep_until};
use vocab::{Keyring, Told};
use wire::Lines;

use crate::connection::{ConnectionOutput, ExtensionConnection, FRAME_BYTES_MAX};
use crate::{START_LIMIT, program};

/// Unsent bytes at which neither events nor frames are taken any more, until the extension reads.
const UNSENT_BYTES_MAX: usize = 256 * 1024;
/// A longer line of its stderr or of its log is cut.
const TAIL_LINE_CHARS: usize = 500;
/// How long an extension may take over `shutdown`; then it is ended.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(2);
/// How long its exit and its last words are waited for once its stdout has ended.
const LAST_WORDS: Duration = Duration::from_millis(500);
const READ_BYTES: usize = 64 * 1024;

/// What one extension is started with.
pub(crate) struct TaskStart {
    pub(crate) path: PathBuf,
    pub(crate) workspace: PathBuf,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) secrets: Keyring,
    pub(crate) version: String,
    pub(crate) launcher: Arc<dyn Launcher>,
    /// Resolves when the one before in the list is registered or has failed.
    pub(crate) before: oneshot::Receiver<()>,
    pub(crate) done: oneshot::Sender<()>,
    pub(crate) stopped: watch::Receiver<bool>,
}

/// Runs until the extension ends or has to.
pub(crate) async fn run(engine: Engine, start: TaskStart) {
    let source = start.path.display().to_string();
    let launched = async {
        let argv = program::argv(&start.path)?;
        let program = Program { argv, cwd: start.workspace.clone(), env: start.env, joined: false };
        start.launcher.launch(&program).await.map_err(|error| format!("cannot be started: {error}"))
    };
    let launched = match launched.await {
        Ok(launched) => launched,
        Err(text) => {
            engine.trouble(source, "start", format!("{}: {text}", start.path.display()));
            // The next in the list waits for this one, and so for those before it, too.
            let _ = start.before.await;
            return;
        }
    };
    let mut connection = ExtensionConnection::new(program::name(&start.path), source.clone());
    let mut out = ConnectionOutput::default();
    connection.greet(&start.version, &start.workspace, &mut out);
    let mut task = ExtensionTask {
        engine,
        source,
        connection,
        out,
        extension: None,
        lines: Lines::new(FRAME_BYTES_MAX),
        tail: OutputTail::new(start.secrets, TAIL_LINE_CHARS),
        before: Some(start.before),
        done: Some(start.done),
    };
    task.run(launched, start.stopped).await;
}

/// Why it is over.
enum TaskEnd {
    /// We asked for it.
    Asked,
    /// Its stdout has ended.
    Silent,
    Failed(String),
}

struct ExtensionTask {
    engine: Engine,
    source: String,
    connection: ExtensionConnection,
    out: ConnectionOutput,
    /// Once it is registered.
    extension: Option<Extension>,
    lines: Lines,
    tail: OutputTail,
    before: Option<oneshot::Receiver<()>>,
    done: Option<oneshot::Sender<()>>,
}

impl ExtensionTask {
    async fn run(&mut self, mut launched: Launched, mut stopped: watch::Receiver<bool>) {
        let during = |task: &ExtensionTask| if task.extension.is_some() { "run" } else { "start" };
        let over = self.talk(&mut launched, &mut stopped).await;
        let at = during(self);
        let text = match over {
            TaskEnd::Asked => None,
            TaskEnd::Failed(text) => Some(text),
            TaskEnd::Silent => {
                let how = tokio::time::timeout(LAST_WORDS, launched.process.ended_in_words()).await;
                Some(how.unwrap_or_else(|_| "closed its stdout".into()))
            }
        };
        if text.is_some() {
            self.read_last_words(&mut launched).await;
        }
        // First its death, then the words about it: a client that reads them finds everything answered.
        self.extension = None;
        if let Some(text) = text {
            let tail = self.tail.text();
            let during = if at == "start" { "start" } else { "crash" };
            self.engine.trouble(self.source.clone(), during, format!("{} {text}{tail}", self.connection.name));
        }
        if let Some(before) = self.before.take() {
            let _ = before.await;
        }
        self.done = None;
        drop(launched.input);
        launched.process.end().await;
    }

    async fn talk(&mut self, launched: &mut Launched, stopped: &mut watch::Receiver<bool>) -> TaskEnd {
        let mut deadline = Instant::now() + START_LIMIT;
        let mut ending = false;
        let (mut heard, mut errors) = (vec![0; READ_BYTES], vec![0; READ_BYTES]);
        let mut errors_open = true;
        let mut told: Vec<Told> = Vec::new();
        loop {
            if let Some(over) = self.settle(ending).await {
                return over;
            }
            let starting = self.extension.is_none();
            let has_room = self.out.bytes.len() < UNSENT_BYTES_MAX;
            let extension = self.extension.as_ref();
            tokio::select! {
                changed = stopped.changed(), if !ending => {
                    if starting || changed.is_err() {
                        return TaskEnd::Asked;
                    }
                    ending = true;
                    deadline = Instant::now() + SHUTDOWN_LIMIT;
                    self.connection.shut_down(&mut self.out);
                }
                written = launched.input.write(&self.out.bytes), if !self.out.bytes.is_empty() => match written {
                    Ok(count @ 1..) => drop(self.out.bytes.drain(..count)),
                    // It reads no more; what it says and how it ends tells why.
                    _ => self.out.bytes.clear(),
                },
                read = launched.output.read(&mut heard), if has_room => match read {
                    Ok(count @ 1..) => {
                        let (connection, out) = (&mut self.connection, &mut self.out);
                        self.lines.feed(&heard[..count], |line| connection.hear(line, out));
                    }
                    _ if ending => return TaskEnd::Asked,
                    _ => return TaskEnd::Silent,
                },
                read = launched.errors.read(&mut errors), if errors_open => match read {
                    Ok(count @ 1..) => self.tail.push(&errors[..count]),
                    _ => errors_open = false,
                },
                more = next_events(extension, &mut told), if has_room && !starting => {
                    for told in told.drain(..) {
                        self.connection.tell(&told, &mut self.out);
                    }
                    if !more {
                        return TaskEnd::Failed(DEAF.into());
                    }
                }
                () = let_go(extension), if !has_room && !starting => return TaskEnd::Failed(DEAF.into()),
                () = sleep_until(deadline), if starting || ending => {
                    if ending {
                        return TaskEnd::Asked;
                    }
                    return TaskEnd::Failed(format!("did not answer `initialize` within {} s", START_LIMIT.as_secs()));
                }
            }
        }
    }

    /// Carries out what the connection wants.
    async fn settle(&mut self, ending: bool) -> Option<TaskEnd> {
        for line in self.out.log.drain(..) {
            self.tail.push(line.as_bytes());
            self.tail.push(b"\n");
        }
        for (during, text) in self.out.troubles.drain(..) {
            self.engine.trouble(self.source.clone(), during, text);
        }
        if let Some(text) = self.out.stop.take() {
            return Some(TaskEnd::Failed(text));
        }
        if std::mem::take(&mut self.out.offers) {
            self.register().await;
        }
        if let Some(extension) = &self.extension {
            for command in self.out.commands.drain(..) {
                extension.submit(command).await;
            }
        }
        (ending && self.out.may_end).then_some(TaskEnd::Asked)
    }

    async fn register(&mut self) {
        let offers = self.connection.offers.clone();
        if let Some(extension) = &self.extension {
            return extension.offer(offers);
        }
        // In the order of the list: that is the order in which they are asked.
        if let Some(before) = self.before.take() {
            let _ = before.await;
        }
        self.extension = Some(self.engine.extension(self.connection.name.as_str(), self.source.as_str(), offers));
        self.done = None;
    }

    async fn read_last_words(&mut self, launched: &mut Launched) {
        let mut buffer = vec![0; READ_BYTES];
        let until = Instant::now() + LAST_WORDS;
        while let Ok(Ok(count @ 1..)) = tokio::time::timeout_at(until, launched.errors.read(&mut buffer)).await {
            self.tail.push(&buffer[..count]);
        }
    }
}

const DEAF: &str = "was stopped: it does not read its stdin";

async fn let_go(extension: Option<&Extension>) {
    match extension {
        Some(extension) => extension.let_go().await,
        None => std::future::pending().await,
    }
}

async fn next_events(extension: Option<&Extension>, told: &mut Vec<Told>) -> bool {
    match extension {
        Some(extension) => extension.events(told).await,
        None => std::future::pending().await,
    }
}
