//! The task of one connection, from its start to its end: the only place here that waits for the agent. One task reads,
//! writes and keeps time, so events and answers cannot overtake each other.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use acp_types::{AuthMethod, PromptResponse};
use process::{ChildProcess, EndSignal, Exit, Launched, OutputTail};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use wire::Lines;
use wire::jsonrpc::RpcError;

use crate::channel::Channel;
use crate::connection::{About, Connection, ConnectionOut, Elicited};
use crate::editor::EditorServices;
use crate::error::{ClientError, ClientProblem, Terminated};
use crate::event::{AskId, ClientEvent, Queue};
use crate::hints::SignIns;
use crate::{ConnectOptions, Direction, WISHES_MAX};

/// The longest line taken from an agent; a longer one is skipped and noted.
pub const LINE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Unsent bytes at which no more wishes are taken, until the agent reads.
const UNSENT_BYTES_MAX: usize = 1024 * 1024;
/// Unsent bytes at which an agent counts as deaf: it asks and asks and never reads an answer.
const DEAF_BYTES: usize = 64 * 1024 * 1024;
/// How long an exit and the last words are waited for once one of the pipes has ended.
pub(crate) const LAST_WORDS: Duration = Duration::from_millis(300);
/// A longer line of its stderr is cut.
const TAIL_LINE_CHARS: usize = 4 * 1024;
const READ_BYTES: usize = 64 * 1024;

/// `stop()`: from the end of its input until each of these.
const STOP_INTERRUPT: Duration = Duration::from_millis(100);
const STOP_TERMINATE: Duration = Duration::from_secs(2);
const STOP_KILL: Duration = Duration::from_secs(5);
/// How long a killed process may take to be reaped.
const STOP_REAP: Duration = Duration::from_secs(6);

pub(crate) type AnswerSender = oneshot::Sender<Result<Value, ClientError>>;

/// What a handle wants.
pub(crate) enum ClientWish {
    Request { method: String, params: Value, about: About, limit: Option<Duration>, answer: AnswerSender },
    Notify { method: String, params: Value },
    Cancel { session: String },
    Choose { ask: AskId, option: Option<String>, done: oneshot::Sender<bool> },
    Elicited { ask: AskId, said: Elicited, done: oneshot::Sender<bool> },
    Stop { done: oneshot::Sender<()> },
}

/// What handles and the task both know.
#[derive(Default)]
pub(crate) struct ConnectionShared {
    command: Vec<String>,
    /// The last lines of its stderr, once it runs.
    tail: Mutex<Option<OutputTail>>,
    auth: Mutex<SignIns>,
    /// Why no agent answers any more.
    over: Mutex<Option<ClientProblem>>,
}

impl ConnectionShared {
    pub(crate) fn new(command: Vec<String>) -> Self {
        Self { command, ..Self::default() }
    }

    pub(crate) fn stderr(&self) -> Vec<String> {
        self.tail().as_ref().map(OutputTail::lines).unwrap_or_default()
    }

    pub(crate) fn learn_auth(&self, methods: Vec<AuthMethod>) {
        self.auth.lock().unwrap_or_else(PoisonError::into_inner).methods = methods;
    }

    /// It need not be advised once more.
    pub(crate) fn tried_auth(&self, method: &str) {
        self.auth.lock().unwrap_or_else(PoisonError::into_inner).tried = Some(method.to_owned());
    }

    pub(crate) fn error(&self, problem: ClientProblem) -> ClientError {
        let auth = self.auth.lock().unwrap_or_else(PoisonError::into_inner).clone();
        ClientError::new(problem, &self.command, &auth, &self.stderr())
    }

    /// For a handle that comes after the end.
    pub(crate) fn late(&self) -> ClientError {
        let over = self.over.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.error(over.unwrap_or(ClientProblem::Stopped))
    }

    fn is_over(&self, why: ClientProblem) {
        self.over.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
    }

    fn said(&self, bytes: &[u8]) {
        if let Some(tail) = self.tail().as_mut() {
            tail.push(bytes);
        }
    }

    fn tail(&self) -> MutexGuard<'_, Option<OutputTail>> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) struct ConnectionTask {
    pub(crate) connection: Connection,
    pub(crate) out: ConnectionOut,
    /// On its way to the agent.
    pub(crate) unsent: Vec<u8>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) shared: Arc<ConnectionShared>,
    pub(crate) editor: Option<Arc<EditorServices>>,
    pub(crate) options: ConnectOptions,
    pub(crate) answers: HashMap<u64, AnswerSender>,
    pub(crate) wishes: mpsc::Receiver<ClientWish>,
    pub(crate) born: Instant,
}

/// Why it is over.
enum ConnectionEnd {
    /// We asked for it; the handle that did is told.
    Asked(Option<oneshot::Sender<()>>),
    /// It closed its output, or ended.
    Silent,
    Failed(String),
}

impl ConnectionTask {
    pub(crate) async fn run(mut self, channel: Arc<dyn Channel>) {
        let mut started = match self.open(channel.as_ref()).await {
            Ok(Ok(started)) => started,
            Ok(Err(error)) => return self.stillborn(&error),
            Err(stopper) => {
                self.part(None);
                if let Some(stopper) = stopper {
                    let _ = stopper.send(());
                }
                return;
            }
        };
        *self.shared.tail() = Some(OutputTail::new(started.secrets.clone(), TAIL_LINE_CHARS));
        let over = self.talk(&mut started).await;
        // The one way out. First every request is told, then the process is ended.
        let (end, stopper) = match over {
            ConnectionEnd::Asked(stopper) => (None, stopper),
            ConnectionEnd::Silent => (Some(self.last_words(&mut started, None).await), None),
            ConnectionEnd::Failed(why) => (Some(self.last_words(&mut started, Some(why)).await), None),
        };
        self.part(end);
        let Launched { input, process, .. } = started;
        drop(input);
        put_down(process).await;
        if let Some(stopper) = stopper {
            let _ = stopper.send(());
        }
    }

    /// Opening may take seconds, and a person may lose patience: an error is a wish to stop, and who is to be told.
    async fn open(&mut self, channel: &dyn Channel) -> Result<io::Result<Launched>, Option<oneshot::Sender<()>>> {
        let mut opening = channel.open();
        let mut early = Vec::new();
        let opened = loop {
            tokio::select! {
                biased;
                opened = &mut opening => break opened,
                wish = self.wishes.recv(), if early.len() < WISHES_MAX => match wish {
                    None => return Err(None),
                    Some(ClientWish::Stop { done }) => return Err(Some(done)),
                    Some(wish) => early.push(wish),
                },
            }
        };
        // Their time begins when there is an agent to ask.
        for wish in early {
            self.grant(wish);
        }
        Ok(opened)
    }

    fn stillborn(mut self, error: &io::Error) {
        let why = error.to_string();
        self.shared.is_over(ClientProblem::Start(why.clone()));
        self.wishes.close();
        while let Ok(wish) = self.wishes.try_recv() {
            self.grant(wish);
        }
        let problem = ClientProblem::Start(why.clone());
        for (_, answer) in self.answers.drain() {
            let _ = answer.send(Err(self.shared.error(problem.clone())));
        }
        let why = Some(format!("cannot start: {why}"));
        self.queue
            .push(ClientEvent::ConnectionLost(Terminated { why, before_hello: true, ..Terminated::default() }), 0);
        self.queue.close();
    }

    async fn talk(&mut self, started: &mut Launched) -> ConnectionEnd {
        let Launched { input, output, errors, process, .. } = started;
        let mut lines = Lines::new(LINE_BYTES_MAX);
        let (mut heard, mut said) = (vec![0; READ_BYTES], vec![0; READ_BYTES]);
        let mut errors_open = true;
        let mut work: JoinSet<(AskId, Result<Value, RpcError>)> = JoinSet::new();
        let mut ping_at = Instant::now() + self.options.keepalive.unwrap_or_default();
        let mut ended_at: Option<Instant> = None;
        loop {
            self.settle(&mut work);
            if self.unsent.len() > DEAF_BYTES {
                return ConnectionEnd::Failed("it does not read its stdin".into());
            }
            let has_room = self.queue.has_room();
            let due = self.connection.due().map(|due| self.born + due);
            let far = Instant::now() + Duration::from_secs(3600);
            tokio::select! {
                biased;
                written = input.write(&self.unsent), if !self.unsent.is_empty() => match written {
                    Ok(count @ 1..) => {
                        drop(self.unsent.drain(..count));
                        if self.unsent.is_empty() && input.flush().await.is_err() {
                            return self.read_rest(output, &mut lines, &mut heard).await;
                        }
                    }
                    _ => return self.read_rest(output, &mut lines, &mut heard).await,
                },
                wish = self.wishes.recv(), if self.unsent.len() < UNSENT_BYTES_MAX => match wish {
                    None => return ConnectionEnd::Asked(None),
                    Some(ClientWish::Stop { done }) => return ConnectionEnd::Asked(Some(done)),
                    Some(wish) => self.grant(wish),
                },
                () = sleep_until(ended_at.unwrap_or(far)), if ended_at.is_some() => return ConnectionEnd::Silent,
                () = sleep_until(due.unwrap_or(far)), if due.is_some() => {
                    self.connection.tick(self.born.elapsed(), &mut self.out);
                }
                () = sleep_until(ping_at), if self.options.keepalive.is_some() && self.connection.is_greeted() => {
                    ping_at = Instant::now() + self.options.keepalive.unwrap_or_default();
                    self.connection.notify("$/ping", None, &mut self.out);
                }
                read = output.read(&mut heard), if has_room => match read {
                    Ok(count @ 1..) => self.hear(&mut lines, &heard[..count]),
                    _ => {
                        self.finish(&mut lines);
                        return ConnectionEnd::Silent;
                    }
                },
                () = self.queue.emptied(), if !has_room => {}
                read = errors.read(&mut said), if errors_open => match read {
                    Ok(count @ 1..) => self.shared.said(&said[..count]),
                    _ => errors_open = false,
                },
                Some(done) = work.join_next(), if !work.is_empty() => {
                    if let Ok((ask, outcome)) = done {
                        self.connection.editor_answered(ask, outcome, &mut self.out);
                    }
                }
                // A child of the agent's may hold the pipe; what is in it is read, and no longer waited for.
                _ = process.ended(), if ended_at.is_none() => ended_at = Some(Instant::now() + LAST_WORDS),
            }
        }
    }

    fn hear(&mut self, lines: &mut Lines, bytes: &[u8]) {
        let (connection, out, tap) = (&mut self.connection, &mut self.out, &self.options.tap);
        lines.feed(bytes, |line| {
            if let (Some(tap), wire::Frame::Whole(line)) = (tap, line) {
                tap.line(Direction::AgentToClient, line);
            }
            connection.hear(line, out);
        });
    }

    fn finish(&mut self, lines: &mut Lines) {
        let (connection, out) = (&mut self.connection, &mut self.out);
        lines.finish(|line| connection.hear(line, out));
    }

    /// It does not take what we write. What it said before is still in the pipe.
    async fn read_rest(
        &mut self,
        output: &mut (dyn tokio::io::AsyncRead + Send + Unpin),
        lines: &mut Lines,
        buffer: &mut [u8],
    ) -> ConnectionEnd {
        self.unsent.clear();
        let until = Instant::now() + LAST_WORDS;
        while let Ok(Ok(count @ 1..)) = timeout_at(until, output.read(buffer)).await {
            self.hear(lines, &buffer[..count]);
            if !self.queue.has_room() {
                break;
            }
        }
        self.finish(lines);
        ConnectionEnd::Silent
    }

    /// Carries out what the connection wants: events first, then the answers that came after them.
    fn settle(&mut self, work: &mut JoinSet<(AskId, Result<Value, RpcError>)>) {
        for editor_request in self.out.editor_requests.drain(..) {
            let Some(editor) = self.editor.clone() else { continue };
            work.spawn(async move {
                (editor_request.ask, editor.perform(&editor_request.method, editor_request.params).await)
            });
        }
        if let Some(tap) = &self.options.tap {
            for line in self.out.bytes.split_inclusive(|byte| *byte == b'\n') {
                tap.line(Direction::ClientToAgent, line.strip_suffix(b"\n").unwrap_or(line));
            }
        }
        self.unsent.append(&mut self.out.bytes);
        self.tell();
    }

    fn tell(&mut self) {
        for (event, bytes) in self.out.events.drain(..) {
            self.queue.push(event, bytes);
        }
        for settled in self.out.settled.drain(..) {
            let outcome = settled.outcome.map_err(|problem| self.shared.error(problem));
            if let Some(session) = settled.prompt {
                let turn = outcome.as_ref().map(PromptResponse::read).map_err(Clone::clone);
                self.queue.push(ClientEvent::TurnEnded { session, turn }, 0);
            }
            if let Some(answer) = self.answers.remove(&settled.id) {
                let _ = answer.send(outcome);
            }
        }
    }

    fn grant(&mut self, wish: ClientWish) {
        let (connection, out) = (&mut self.connection, &mut self.out);
        match wish {
            ClientWish::Request { method, params, about, limit, answer } => {
                match connection.request(self.born.elapsed(), &method, &params, about, limit, out) {
                    Ok(id) => drop(self.answers.insert(id, answer)),
                    Err(problem) => drop(answer.send(Err(self.shared.error(problem)))),
                }
            }
            ClientWish::Notify { method, params } => connection.notify(&method, Some(&params), out),
            ClientWish::Cancel { session } => connection.cancel(&session, out),
            ClientWish::Choose { ask, option, done } => {
                let _ = done.send(connection.choose(ask, option.as_deref(), out));
            }
            ClientWish::Elicited { ask, said, done } => {
                let _ = done.send(connection.elicited(ask, &said, out));
            }
            // Only at the very end, where it is what happens anyway.
            ClientWish::Stop { done } => drop(done.send(())),
        }
    }

    async fn last_words(&mut self, started: &mut Launched, why: Option<String>) -> Terminated {
        let exit = timeout(LAST_WORDS, started.process.ended()).await.unwrap_or_default();
        let mut buffer = vec![0; READ_BYTES];
        let until = Instant::now() + LAST_WORDS;
        while let Ok(Ok(count @ 1..)) = timeout_at(until, started.errors.read(&mut buffer)).await {
            self.shared.said(&buffer[..count]);
        }
        Terminated { exit, why, stderr: self.shared.stderr(), before_hello: !self.connection.is_greeted() }
    }

    /// Every request that waits is told, the stream of events ends. What comes from handles after this finds no agent.
    fn part(&mut self, end: Option<Terminated>) {
        self.shared.is_over(end.clone().map_or(ClientProblem::Stopped, ClientProblem::ProcessTerminated));
        self.wishes.close();
        while let Ok(wish) = self.wishes.try_recv() {
            self.grant(wish);
        }
        self.connection.part(end.as_ref(), &mut self.out);
        self.tell();
        if let Some(end) = end {
            self.queue.push(ClientEvent::ConnectionLost(end), 0);
        }
        self.queue.close();
    }
}

/// Its input has ended; it may go by itself, or it is made to.
async fn put_down(mut process: Box<dyn ChildProcess>) -> Exit {
    let start = Instant::now();
    let steps = [
        (STOP_INTERRUPT, Some(EndSignal::Interrupt)),
        (STOP_TERMINATE, Some(EndSignal::Terminate)),
        (STOP_KILL, Some(EndSignal::Kill)),
        (STOP_REAP, None),
    ];
    for (after, strike) in steps {
        if let Ok(exit) = timeout_at(start + after, process.ended()).await {
            return exit;
        }
        if let Some(strike) = strike {
            process.signal(strike);
        }
    }
    Exit::default()
}
