//! One loop per conversation: reads frames, hands them to the dialect, submits its commands, tells it events, writes
//! what it says. Nothing blocks anything else: reading never waits for the engine to finish a turn, output is
//! written as fast as it is taken, and while it is not taken no further events are fetched, which slows the session
//! down and in turn the model. What to do when is the affair of [`core`]; here it is only waited for.

mod core;
mod own;
mod unsent;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use engine::{Engine, Peer, Slow};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, sleep_until, timeout};
use vocab::{Command, Later, Told};
use wire::{Close, Dialect, NoOwn, OwnCall};

use self::core::{Allowance, Awaited, Core};
use crate::ending::{DaemonEnding, EndingEar, EndingNews};
use crate::frame_log::FrameLog;
use crate::principal_cell::PrincipalCell;
use crate::signals::{SIGTERM, Signals};
use crate::transport::{ByteSink, ByteSource, FrameSink, FrameSource, MessageSink, MessageSource, MessageStream, Sink};
use own::RunningCalls;
use unsent::Framing;

pub(crate) use self::core::Tap;
pub use own::{NoOwnCalls, OwnCalls};
pub(crate) use unsent::Unsent;

/// How long a transport may take to say how it ended.
const CLOSING: Duration = Duration::from_secs(5);

/// Events for which room is kept.
const EVENTS_KEPT: usize = 64;

pub struct PumpOptions<O: OwnCall = NoOwn> {
    pub frame_bytes_max: usize,
    /// How long a running turn may go on after the other side ended.
    pub grace: Duration,
    /// What becomes of a peer that does not read: its sessions wait for it, or it is dropped.
    pub slow: Slow,
    pub frame_log: Option<FrameLog>,
    /// SIGTERM, SIGINT and SIGHUP end the conversation.
    pub signals: bool,
    /// SIGTERM, or the end of the daemon, ends the process and not the work: what runs is left where it stands, for the next
    /// process.
    pub leaves_work: bool,
    /// Whose conversation it is. The peer is made with the first command, for whoever is known by then; for nobody in
    /// particular it is the user's who runs us.
    pub principal: PrincipalCell,
    /// Where commands belong in a trace that say nothing of it themselves.
    pub trace: Option<Arc<str>>,
    /// What becomes of the work when the other side is gone.
    pub on_lost: OnLost,
    /// The process serves others, too, and tells all of them when it ends.
    pub ending: Option<DaemonEnding>,
    /// Done when our output has no reader any more, for outputs that tell before they are written to.
    pub deaf: Option<Gone>,
    /// Where a dialect's notes for people go.
    pub notes: fn(&str),
    /// Who answers the dialect's own calls.
    pub own: Box<dyn OwnCalls<O>>,
}

/// The other side closed the pipe, or does not read any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnLost {
    /// The dialect parts: what that means for the work is its own affair.
    Part,
    /// The peer just goes: nothing is interrupted, no question is withdrawn.
    Leave,
}

/// See [`PumpOptions::deaf`].
pub type Gone = Pin<Box<dyn Future<Output = ()> + Send>>;

impl<O: OwnCall> PumpOptions<O> {
    pub fn new(own: impl OwnCalls<O> + 'static) -> Self {
        Self {
            frame_bytes_max: wire::LINE_BYTES_MAX,
            grace: Duration::from_secs(30),
            slow: Slow::Wait,
            frame_log: None,
            signals: false,
            leaves_work: false,
            principal: PrincipalCell::default(),
            trace: None,
            on_lost: OnLost::Part,
            ending: None,
            deaf: None,
            notes: crate::note,
            own: Box::new(own),
        }
    }
}

impl Default for PumpOptions {
    fn default() -> Self {
        Self::new(NoOwnCalls)
    }
}

/// How it ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    pub close: Close,
    /// The same for a process.
    pub exit_code: u8,
}

/// Runs a dialect over a pipe of bytes until it closes; each line is a frame.
pub fn pump<D: Dialect>(
    dialect: D,
    engine: &Engine,
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
    options: PumpOptions<D::Own>,
) -> impl Future<Output = Ended> {
    run(dialect, engine, ByteSource::new(reader), ByteSink(writer), Framing::Stream, options)
}

/// Runs a dialect over a pipe of messages until it closes; each message is a frame.
pub fn pump_messages<D: Dialect>(
    dialect: D,
    engine: &Engine,
    stream: impl MessageStream,
    sink: impl MessageSink,
    options: PumpOptions<D::Own>,
) -> impl Future<Output = Ended> {
    run(dialect, engine, MessageSource::new(stream), FrameSink(sink), Framing::Messages, options)
}

async fn run<D: Dialect>(
    dialect: D,
    engine: &Engine,
    mut source: impl FrameSource,
    mut sink: impl Sink,
    framing: Framing,
    options: PumpOptions<D::Own>,
) -> Ended {
    let clock = PumpClock(Instant::now());
    let mut peer =
        LazyPeer { engine, slow: options.slow, principal: options.principal, trace: options.trace, made: None };
    let mut events: Vec<Told> = Vec::new();
    let mut calls = RunningCalls::new(options.own);
    let mut signals = options.signals.then(Signals::new).flatten();
    let mut deaf = options.deaf;
    let mut ending = options.ending.map(EndingEar::new);
    let grace_ms = u64::try_from(options.grace.as_millis()).unwrap_or(u64::MAX / 2);
    let on_lost = options.on_lost;
    let allowance = Allowance { framing, frame_bytes_max: options.frame_bytes_max, grace_ms, on_lost };
    let mut core = Core::new(dialect, allowance, options.frame_log.map(|log| Box::new(log) as Box<dyn Tap>));
    let mut unwritten: Option<String> = None;
    core.greet(clock.now_ms());
    loop {
        core.notes().for_each(|note| (options.notes)(&note));
        // Begun at once, also where the engine makes a peer wait: what a service does at once holds for the commands behind it.
        core.own_calls().for_each(|request| calls.begin(request));
        for command in core.commands() {
            if let Some(handed_over) = peer.submit(command) {
                handed_over.await;
            }
        }
        let Some(Awaited { read, write, events: fetch, deaf: hears, until_ms }) = core.awaited() else { break };
        tokio::select! {
            biased;
            arrived = source.next(), if read => core.arrived(arrived, clock.now_ms()),
            written = sink.write(core.unsent()), if write => match written {
                Ok(count) => core.wrote(count),
                Err(error) => {
                    unwritten = unwritten.or_else(|| lost(&error));
                    core.gone_deaf(clock.now_ms());
                }
            },
            more = peer.events(&mut events), if fetch => {
                // Sessions end because the process does: that it does comes first, however close behind they are.
                if let Some(by) = ending.as_mut().and_then(EndingEar::overheard) {
                    core.daemon_ends(by, options.leaves_work, clock.now_ms());
                }
                core.told(events.drain(..), more, clock.now_ms());
                events.shrink_to(EVENTS_KEPT);
            }
            (tag, answer) = calls.next(), if fetch && calls.len() > 0 => core.own_answered(tag, answer, clock.now_ms()),
            () = until_deaf(&mut deaf), if hears => {
                deaf = None;
                core.gone_deaf(clock.now_ms());
            }
            by = Signals::next(&mut signals), if signals.is_some() => match by {
                SIGTERM if options.leaves_work => {
                    // While the peer is there: what it was asked stays open.
                    engine.shutdown().await;
                    core.leave(clock.now_ms());
                }
                by => core.asked_to_end(by, clock.now_ms()),
            },
            // Behind the events: what the engine still said is told first.
            news = until_news(&mut ending, fetch), if ending.is_some() => match news {
                EndingNews::Asked(by) => core.daemon_ends(by, options.leaves_work, clock.now_ms()),
                EndingNews::Rests => core.engine_rests(clock.now_ms()),
            },
            () = clock.until(until_ms), if until_ms.is_some() => core.time(clock.now_ms()),
        }
    }
    let close = core.close();
    // A peer that does not take the last word must not hold the process.
    let _ = timeout(CLOSING, sink.close(&close)).await;
    let exit_code = match &unwritten {
        Some(why) => {
            (options.notes)(&format!("what was to be said could not be written: {why}"));
            crate::exit::UNWRITTEN
        }
        None => crate::exit::code(close.code),
    };
    Ended { exit_code, close }
}

/// A peer of the engine as soon as there is something to want: a connection that only waits costs the engine nothing.
struct LazyPeer<'a> {
    engine: &'a Engine,
    slow: Slow,
    principal: PrincipalCell,
    trace: Option<Arc<str>>,
    made: Option<Peer>,
}

impl LazyPeer<'_> {
    /// Hands a command over, or gives what does so when there is room. That is on the heap: there nearly always is, and a
    /// connection that waits for nothing need not carry it.
    fn submit(&mut self, mut command: Command) -> Option<Later<'_, ()>> {
        if command.trace.is_none() {
            command.trace.clone_from(&self.trace);
        }
        let peer = self.made.get_or_insert_with(|| match self.principal.get() {
            Some(principal) => self.engine.connect_as(self.slow, principal.clone()),
            None => self.engine.connect(self.slow),
        });
        let peer = &*peer;
        peer.try_submit(command).err().map(|command| Box::pin(peer.submit(command)) as Later<'_, ()>)
    }

    /// Nothing comes before anything was wanted.
    async fn events(&self, into: &mut Vec<Told>) -> bool {
        match &self.made {
            Some(peer) => peer.events(into).await,
            None => std::future::pending().await,
        }
    }
}

/// A reader that went away wants no more, and has lost nothing; a disk that is full has.
fn lost(error: &io::Error) -> Option<String> {
    let is_gone = matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset);
    (!is_gone).then(|| error.to_string())
}

/// Milliseconds since the conversation began.
struct PumpClock(Instant);

impl PumpClock {
    fn now_ms(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    async fn until(&self, ms: Option<u64>) {
        match ms {
            Some(ms) => sleep_until(self.0 + Duration::from_millis(ms)).await,
            None => std::future::pending().await,
        }
    }
}

async fn until_deaf(deaf: &mut Option<Gone>) {
    match deaf {
        Some(gone) => gone.as_mut().await,
        None => std::future::pending().await,
    }
}

async fn until_news(ending: &mut Option<EndingEar>, has_all: bool) -> EndingNews {
    match ending {
        Some(ending) => ending.next(has_all).await,
        None => std::future::pending().await,
    }
}
