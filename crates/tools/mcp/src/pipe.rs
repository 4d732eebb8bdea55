//! The way over stdin and stdout: one task owns the process and everything that waits for it. Its end fails every call that waits.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::Poll;
use std::time::Duration;

use process::{Launched, OutputTail};
use serde_json::value::RawValue;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use vocab::{Keyring, Later, Progress};
use wire::{Frame, Lines};

use crate::MESSAGE_BYTES_MAX;
use crate::frames::{self, McpRequest, ServerMessage, Us};
use crate::link::{Link, LinkTrouble};

/// Orders that wait for the task; one more waits itself.
const ORDERS_MAX: usize = 16;
/// Requests that wait for their answer; one more waits to be sent.
const WAITING_MAX: usize = 64;
/// Unsent bytes at which no request is taken any more.
const UNSENT_BYTES_MAX: usize = 256 * 1024;
/// Unsent bytes at which a server is ended: it asks and asks and reads no answer. The largest request of ours fits.
const DEAF_BYTES: usize = UNSENT_BYTES_MAX + MESSAGE_BYTES_MAX;
/// How long its last lines are read once the process has ended or closed its stdout.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long a server may take to end once its stdin is closed; then it is made to.
const EOF_GRACE: Duration = Duration::from_secs(1);
const READ_BYTES: usize = 64 * 1024;
/// A longer line of its stderr is cut.
const TAIL_LINE_CHARS: usize = 500;

type Answered = Result<Box<RawValue>, LinkTrouble>;

enum PipeOrder {
    Ask { request: McpRequest, waiting: PendingRequest },
    Initialized,
}

/// A call that waits. Gone when the other end of `answer` is.
struct PendingRequest {
    progress: Option<Progress>,
    answer: oneshot::Sender<Answered>,
    can_be_cancelled: bool,
}

/// The end that calls hold. Dropped, the server is ended.
pub(crate) struct Pipe {
    orders: mpsc::Sender<PipeOrder>,
    shared: Arc<PipeState>,
    /// Tells the task by its end that this is gone, also where the task takes no orders just now.
    _held: oneshot::Sender<Infallible>,
}

struct PipeState {
    tail: Mutex<OutputTail>,
    /// How it ended, with its last words.
    over: OnceLock<String>,
}

impl PipeState {
    fn tail(&self) -> std::sync::MutexGuard<'_, OutputTail> {
        self.tail.lock().expect("nothing panics while holding it")
    }
    fn over(&self) -> LinkTrouble {
        LinkTrouble::Failed(self.over.get().cloned().unwrap_or_else(|| "ended".into()))
    }
}

impl Pipe {
    pub(crate) fn new(launched: Launched, us: Arc<Us>, secrets: Keyring) -> Self {
        let (orders, inbox) = mpsc::channel(ORDERS_MAX);
        let (held, released) = oneshot::channel();
        let shared =
            Arc::new(PipeState { tail: Mutex::new(OutputTail::new(secrets, TAIL_LINE_CHARS)), over: OnceLock::new() });
        let task = PipeTask {
            inbox,
            released,
            shared: shared.clone(),
            us,
            waiting: HashMap::new(),
            last_id: 0,
            unsent: Vec::new(),
            lines: Lines::new(MESSAGE_BYTES_MAX),
        };
        tokio::spawn(task.run(launched));
        Self { orders, shared, _held: held }
    }
}

impl Link for Pipe {
    fn ask(&self, request: McpRequest, progress: Option<Progress>) -> Later<'_, Answered> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            let can_be_cancelled = request.can_be_cancelled();
            let order = PipeOrder::Ask { request, waiting: PendingRequest { progress, answer, can_be_cancelled } };
            if self.orders.send(order).await.is_err() {
                return Err(self.shared.over());
            }
            answered.await.unwrap_or_else(|_| Err(self.shared.over()))
        })
    }

    fn agree(&self, _: &str) -> Later<'_, Result<(), LinkTrouble>> {
        Box::pin(async move { self.orders.send(PipeOrder::Initialized).await.map_err(|_| self.shared.over()) })
    }

    fn is_over(&self) -> bool {
        self.shared.over.get().is_some()
    }

    fn last_words(&self) -> String {
        self.shared.tail().text()
    }
}

/// Why it is over.
enum PipeEnd {
    /// The session has let go of the other end.
    Released,
    /// Its stdout has ended, or the process.
    Silent(Option<String>),
    Failed(&'static str),
}

struct PipeTask {
    inbox: mpsc::Receiver<PipeOrder>,
    released: oneshot::Receiver<Infallible>,
    shared: Arc<PipeState>,
    us: Arc<Us>,
    waiting: HashMap<u64, PendingRequest>,
    last_id: u64,
    unsent: Vec<u8>,
    lines: Lines,
}

impl PipeTask {
    async fn run(mut self, mut launched: Launched) {
        let text = match self.talk(&mut launched).await {
            PipeEnd::Released => {
                drop(launched.input);
                let _ = timeout(EOF_GRACE, launched.process.ended()).await;
                return launched.process.end().await;
            }
            PipeEnd::Silent(how) => {
                let until = Instant::now() + LAST_WORDS;
                self.read_rest(&mut launched, until).await;
                match how {
                    Some(how) => how,
                    None => {
                        timeout_at(until, launched.process.ended_in_words()).await.unwrap_or_else(|_| CLOSED.into())
                    }
                }
            }
            PipeEnd::Failed(text) => text.to_owned(),
        };
        // First what is known, then the waiting: a call that wakes up finds it.
        let text = format!("{text}{}", self.shared.tail().text());
        let _ = self.shared.over.set(text);
        for (_, waiting) in self.waiting.drain() {
            let _ = waiting.answer.send(Err(self.shared.over()));
        }
        drop(self.inbox);
        drop(launched.input);
        launched.process.end().await;
    }

    async fn talk(&mut self, launched: &mut Launched) -> PipeEnd {
        let (mut heard, mut errors) = (vec![0; READ_BYTES], vec![0; READ_BYTES]);
        let mut errors_open = true;
        loop {
            if self.unsent.len() > DEAF_BYTES {
                return PipeEnd::Failed("was stopped: it does not read its stdin");
            }
            let has_room = self.unsent.len() < UNSENT_BYTES_MAX && self.waiting.len() < WAITING_MAX;
            let waiting = &mut self.waiting;
            tokio::select! {
                Some(order) = self.inbox.recv(), if has_room => self.take(order),
                _ = &mut self.released => return PipeEnd::Released,
                id = given_up(waiting) => self.forget(id),
                written = launched.input.write(&self.unsent), if !self.unsent.is_empty() => match written {
                    Ok(count @ 1..) => drop(self.unsent.drain(..count)),
                    // It reads no more; what it says and how it ends tells why.
                    _ => self.unsent.clear(),
                },
                read = launched.output.read(&mut heard) => match read {
                    Ok(count @ 1..) => self.hear(&heard[..count]),
                    _ => return PipeEnd::Silent(None),
                },
                read = launched.errors.read(&mut errors), if errors_open => match read {
                    Ok(count @ 1..) => self.shared.tail().push(&errors[..count]),
                    _ => errors_open = false,
                },
                how = launched.process.ended_in_words() => return PipeEnd::Silent(Some(how)),
            }
        }
    }

    fn take(&mut self, order: PipeOrder) {
        match order {
            PipeOrder::Ask { request, waiting } => {
                self.last_id += 1;
                request.write(&mut self.unsent, self.last_id);
                self.waiting.insert(self.last_id, waiting);
            }
            PipeOrder::Initialized => frames::initialized(&mut self.unsent),
        }
    }

    fn forget(&mut self, id: u64) {
        if self.waiting.remove(&id).is_some_and(|waiting| waiting.can_be_cancelled) {
            frames::cancelled(&mut self.unsent, id);
        }
    }

    fn hear(&mut self, bytes: &[u8]) {
        let PipeTask { us, shared, waiting, unsent, lines, .. } = self;
        lines.feed(bytes, |line| match line {
            Frame::Whole(line) => us.hear(line, |heard| match heard {
                ServerMessage::Answer { id, outcome } => {
                    if let Some(waiting) = waiting.remove(&id) {
                        let _ = waiting.answer.send(outcome.map_err(LinkTrouble::Refused));
                    }
                }
                ServerMessage::Progress { id, text } => {
                    if let Some(progress) = waiting.get(&id).and_then(|waiting| waiting.progress.as_ref()) {
                        progress(&text);
                    }
                }
                ServerMessage::Reply(line) => unsent.extend_from_slice(&line),
                ServerMessage::Nothing => {}
                // Banners and stray prints are no reason to end it, but may tell why it ends.
                ServerMessage::Garbage => shared.tail().line(line),
            }),
            // It was an answer to one of these, and it cannot be told to which.
            Frame::TooLong { limit } => {
                for (_, waiting) in waiting.drain() {
                    let text = format!("sent a line of more than {limit} bytes");
                    let _ = waiting.answer.send(Err(LinkTrouble::Failed(text)));
                }
            }
        });
    }

    /// What it wrote before it ended: an answer may be among it.
    async fn read_rest(&mut self, launched: &mut Launched, until: Instant) {
        let (mut heard, mut errors) = (vec![0; READ_BYTES], vec![0; READ_BYTES]);
        let (mut output_open, mut errors_open) = (true, true);
        while output_open || errors_open {
            tokio::select! {
                read = launched.output.read(&mut heard), if output_open => match read {
                    Ok(count @ 1..) => self.hear(&heard[..count]),
                    _ => output_open = false,
                },
                read = launched.errors.read(&mut errors), if errors_open => match read {
                    Ok(count @ 1..) => self.shared.tail().push(&errors[..count]),
                    _ => errors_open = false,
                },
                () = sleep_until(until) => return,
            }
        }
    }
}

const CLOSED: &str = "closed its stdout";

/// The first one whose caller has gone.
async fn given_up(waiting: &mut HashMap<u64, PendingRequest>) -> u64 {
    poll_fn(|cx| {
        let gone =
            |(id, waiting): (&u64, &mut PendingRequest)| waiting.answer.poll_closed(cx).is_ready().then_some(*id);
        waiting.iter_mut().find_map(gone).map_or(Poll::Pending, Poll::Ready)
    })
    .await
}
