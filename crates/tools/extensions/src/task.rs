//! The life of one extension, from its start to its end: the only place here that waits.

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

use crate::desk::{Desk, FRAME_BYTES_MAX, Out};
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

pub(crate) struct Birth {
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
pub(crate) async fn live(engine: Engine, birth: Birth) {
    let source = birth.path.display().to_string();
    let launched = async {
        let argv = program::argv(&birth.path)?;
        let program = Program { argv, cwd: birth.workspace.clone(), env: birth.env, joined: false };
        birth.launcher.launch(&program).await.map_err(|error| format!("cannot be started: {error}"))
    };
    let started = match launched.await {
        Ok(started) => started,
        Err(text) => {
            engine.trouble(source, "start", format!("{}: {text}", birth.path.display()));
            // Whoever waits for this one waits for those before it, too.
            let _ = birth.before.await;
            return;
        }
    };
    let mut desk = Desk::new(program::name(&birth.path), source.clone());
    let mut out = Out::default();
    desk.greet(&birth.version, &birth.workspace, &mut out);
    let mut life = Life {
        engine,
        source,
        desk,
        out,
        extension: None,
        lines: Lines::new(FRAME_BYTES_MAX),
        tail: OutputTail::new(birth.secrets, TAIL_LINE_CHARS),
        before: Some(birth.before),
        done: Some(birth.done),
    };
    life.run(started, birth.stopped).await;
}

/// Why it is over.
enum Over {
    /// We asked for it.
    Asked,
    /// Its stdout has ended.
    Silent,
    Failed(String),
}

struct Life {
    engine: Engine,
    source: String,
    desk: Desk,
    out: Out,
    /// Once it is registered.
    extension: Option<Extension>,
    lines: Lines,
    tail: OutputTail,
    before: Option<oneshot::Receiver<()>>,
    done: Option<oneshot::Sender<()>>,
}

impl Life {
    async fn run(&mut self, mut started: Launched, mut stopped: watch::Receiver<bool>) {
        let during = |life: &Life| if life.extension.is_some() { "run" } else { "start" };
        let over = self.talk(&mut started, &mut stopped).await;
        let at = during(self);
        let text = match over {
            Over::Asked => None,
            Over::Failed(text) => Some(text),
            Over::Silent => {
                let how = tokio::time::timeout(LAST_WORDS, started.process.ended_in_words()).await;
                Some(how.unwrap_or_else(|_| "closed its stdout".into()))
            }
        };
        if text.is_some() {
            self.read_last_words(&mut started).await;
        }
        // First its death, then the words about it: whoever reads them finds everything answered.
        self.extension = None;
        if let Some(text) = text {
            let tail = self.tail.text();
            let during = if at == "start" { "start" } else { "crash" };
            self.engine.trouble(self.source.clone(), during, format!("{} {text}{tail}", self.desk.name));
        }
        if let Some(before) = self.before.take() {
            let _ = before.await;
        }
        self.done = None;
        drop(started.input);
        started.process.end().await;
    }

    async fn talk(&mut self, started: &mut Launched, stopped: &mut watch::Receiver<bool>) -> Over {
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
                        return Over::Asked;
                    }
                    ending = true;
                    deadline = Instant::now() + SHUTDOWN_LIMIT;
                    self.desk.shut_down(&mut self.out);
                }
                written = started.input.write(&self.out.bytes), if !self.out.bytes.is_empty() => match written {
                    Ok(count @ 1..) => drop(self.out.bytes.drain(..count)),
                    // It reads no more; what it says and how it ends tells why.
                    _ => self.out.bytes.clear(),
                },
                read = started.output.read(&mut heard), if has_room => match read {
                    Ok(count @ 1..) => {
                        let (desk, out) = (&mut self.desk, &mut self.out);
                        self.lines.feed(&heard[..count], |line| desk.hear(line, out));
                    }
                    _ if ending => return Over::Asked,
                    _ => return Over::Silent,
                },
                read = started.errors.read(&mut errors), if errors_open => match read {
                    Ok(count @ 1..) => self.tail.push(&errors[..count]),
                    _ => errors_open = false,
                },
                more = next_events(extension, &mut told), if has_room && !starting => {
                    for told in told.drain(..) {
                        self.desk.tell(&told, &mut self.out);
                    }
                    if !more {
                        return Over::Failed(DEAF.into());
                    }
                }
                () = let_go(extension), if !has_room && !starting => return Over::Failed(DEAF.into()),
                () = sleep_until(deadline), if starting || ending => {
                    if ending {
                        return Over::Asked;
                    }
                    return Over::Failed(format!("did not answer `initialize` within {} s", START_LIMIT.as_secs()));
                }
            }
        }
    }

    /// Carries out what the desk wants.
    async fn settle(&mut self, ending: bool) -> Option<Over> {
        for line in self.out.log.drain(..) {
            self.tail.push(line.as_bytes());
            self.tail.push(b"\n");
        }
        for (during, text) in self.out.troubles.drain(..) {
            self.engine.trouble(self.source.clone(), during, text);
        }
        if let Some(text) = self.out.stop.take() {
            return Some(Over::Failed(text));
        }
        if std::mem::take(&mut self.out.offers) {
            self.register().await;
        }
        if let Some(extension) = &self.extension {
            for command in self.out.commands.drain(..) {
                extension.submit(command).await;
            }
        }
        (ending && self.out.may_end).then_some(Over::Asked)
    }

    async fn register(&mut self) {
        let offers = self.desk.offers.clone();
        if let Some(extension) = &self.extension {
            return extension.offer(offers);
        }
        // In the order of the list: that is the order in which they are asked.
        if let Some(before) = self.before.take() {
            let _ = before.await;
        }
        self.extension = Some(self.engine.extension(self.desk.name.as_str(), self.source.as_str(), offers));
        self.done = None;
    }

    async fn read_last_words(&mut self, started: &mut Launched) {
        let mut buffer = vec![0; READ_BYTES];
        let until = Instant::now() + LAST_WORDS;
        while let Ok(Ok(count @ 1..)) = tokio::time::timeout_at(until, started.errors.read(&mut buffer)).await {
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
