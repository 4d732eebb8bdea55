//! The pump: one task that owns the dialect and moves bytes and events through it. Input is always read, output is
//! written as fast as it is taken, and while it is not taken no further events are fetched, which slows the session
//! down and in turn the model.

use std::pin::Pin;
use std::time::Duration;

use engine::{Engine, Peer, Slow};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{Instant, sleep_until};
use vocab::Told;
use wire::{Dialect, Line, Lines, Out, Parting};

use crate::frame_log::FrameLog;

/// Unwritten bytes at which no more events are fetched.
const UNSENT_BYTES_HIGH: usize = 128 * 1024;
/// Unwritten bytes that the input itself led to, without the engine (refusals of lines), at which no more of it is read: a
/// peer that sends without ever reading waits. What events make does not count, however much it is: an abort is heard
/// whatever is just being said.
const REFUSED_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes read at once.
const READ_BYTES: usize = 16 * 1024;
/// After the grace period and an interrupt, the conversation may take this long to settle.
const HARD_END: Duration = Duration::from_secs(5);

pub struct Options {
    pub line_bytes_max: usize,
    /// How long a running turn may go on after the other side ended.
    pub grace: Duration,
    pub frame_log: Option<FrameLog>,
    /// SIGTERM and SIGINT end the conversation.
    pub signals: bool,
    /// Done when nobody can read what we write any more, for outputs that tell before they are written to.
    pub deaf: Option<Gone>,
}

/// See [`Options::deaf`].
pub type Gone = Pin<Box<dyn Future<Output = ()> + Send>>;

impl Default for Options {
    fn default() -> Self {
        let grace = Duration::from_secs(30);
        Self { line_bytes_max: wire::LINE_BYTES_MAX, grace, frame_log: None, signals: false, deaf: None }
    }
}

/// How it ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ended {
    pub exit_code: u8,
}

struct Pump<D> {
    dialect: D,
    peer: Peer,
    out: Out,
    unsent: Vec<u8>,
    sent: usize,
    /// Bytes since nothing was unwritten that lines were answered with at once.
    refused: usize,
    /// Nobody writes to us any more.
    eof: bool,
    /// Nobody reads what we write.
    deaf: bool,
    ended: bool,
    grace: Duration,
    deadline: Option<Instant>,
    grace_over: bool,
    frame_log: Option<FrameLog>,
}

/// Runs a dialect over a pipe until it closes.
pub async fn pump<D: Dialect>(
    dialect: D,
    engine: &Engine,
    mut reader: impl AsyncRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
    options: Options,
) -> Ended {
    let mut lines = Lines::new(options.line_bytes_max);
    let mut input = vec![0; READ_BYTES];
    let mut events: Vec<Told> = Vec::new();
    let mut signals = options.signals.then(Signals::new).flatten();
    let mut pump = Pump {
        dialect,
        peer: engine.connect(Slow::Wait),
        out: Out::new(),
        unsent: Vec::new(),
        sent: 0,
        refused: 0,
        eof: false,
        deaf: false,
        ended: false,
        grace: options.grace,
        deadline: None,
        grace_over: false,
        frame_log: options.frame_log,
    };
    let mut deaf = options.deaf;
    pump.dialect.greet(&mut pump.out);
    loop {
        pump.carry_out().await;
        if pump.ended && pump.unsent_len() == 0 {
            break;
        }
        let backlog = pump.unsent_len();
        let may_read = !pump.eof && !pump.ended && pump.dialect.listening() && pump.refused < REFUSED_BYTES_MAX;
        tokio::select! {
            biased;
            read = reader.read(&mut input), if may_read => match read {
                Ok(count) if count > 0 => pump.hear(&mut lines, &input[..count]),
                _ => {
                    pump.eof = true;
                    lines.finish(|line| pump.hear_line(line));
                    pump.part(Parting::Eof);
                    pump.alone();
                }
            },
            written = writer.write(&pump.unsent[pump.sent..]), if backlog > 0 => match written {
                Ok(count) if count > 0 => pump.wrote(count),
                _ => pump.gone_deaf(),
            },
            more = pump.peer.events(&mut events), if backlog < UNSENT_BYTES_HIGH && !pump.ended => {
                for told in events.drain(..) {
                    pump.dialect.tell(&told, &mut pump.out);
                }
                pump.dialect.pause(&mut pump.out);
                pump.ended |= !more;
            }
            () = Pump::<D>::until_deaf(&mut deaf), if !pump.deaf => {
                deaf = None;
                pump.gone_deaf();
            }
            which = Signals::next(&mut signals), if signals.is_some() => pump.part(Parting::Signal(which)),
            () = sleep_until(pump.deadline.unwrap_or_else(Instant::now)), if pump.deadline.is_some() => pump.time_is_up(),
        }
    }
    let _ = writer.flush().await;
    Ended { exit_code: pump.out.exit_code }
}

impl<D: Dialect> Pump<D> {
    fn unsent_len(&self) -> usize {
        self.unsent.len() - self.sent
    }

    fn hear(&mut self, lines: &mut Lines, bytes: &[u8]) {
        lines.feed(bytes, |line| self.hear_line(line));
    }

    fn hear_line(&mut self, line: Line<'_>) {
        if let (Some(log), Line::Whole(bytes)) = (&mut self.frame_log, line) {
            log.inbound(bytes);
        }
        let before = self.out.frames.as_bytes().len();
        self.dialect.hear(line, &mut self.out);
        self.refused += self.out.frames.as_bytes().len() - before;
    }

    fn part(&mut self, why: Parting) {
        self.dialect.part(why, &mut self.out);
        self.start_grace();
    }

    fn start_grace(&mut self) {
        self.deadline.get_or_insert_with(|| Instant::now() + self.grace);
    }

    fn time_is_up(&mut self) {
        if std::mem::replace(&mut self.grace_over, true) {
            self.ended = true;
            self.gone_deaf();
            return;
        }
        self.deadline = Some(Instant::now() + HARD_END);
        self.dialect.part(Parting::GraceOver, &mut self.out);
    }

    /// Hands over what the dialect wanted. Commands reach the engine in the order they were heard.
    async fn carry_out(&mut self) {
        if let Some(log) = self.frame_log.as_mut().filter(|_| !self.out.frames.is_empty()) {
            log.outbound(self.out.frames.as_bytes());
        }
        if self.deaf {
            self.out.frames.clear();
        } else {
            // What was sent goes before more is added, or the buffer would grow as long as a flow never pauses. At most
            // as much is moved as was sent.
            if self.sent >= self.unsent_len() && !self.out.frames.is_empty() {
                self.unsent.drain(..self.sent);
                self.sent = 0;
            }
            self.out.frames.drain_into(&mut self.unsent);
        }
        self.out.notes.drain(..).for_each(|note| crate::note(&note));
        for command in self.out.commands.drain(..) {
            self.peer.submit(command).await;
        }
        if std::mem::take(&mut self.out.ending) {
            self.start_grace();
        }
        if self.out.close && !self.ended {
            self.ended = true;
            // What is left is written, but not for ever.
            self.deadline = Some(Instant::now() + self.grace.max(HARD_END));
            self.grace_over = true;
        }
    }

    fn wrote(&mut self, count: usize) {
        self.sent += count;
        if self.sent == self.unsent.len() {
            self.unsent.clear();
            self.unsent.shrink_to(UNSENT_BYTES_HIGH);
            self.sent = 0;
            self.refused = 0;
        }
    }

    fn gone_deaf(&mut self) {
        self.unsent = Vec::new();
        self.sent = 0;
        self.refused = 0;
        if !std::mem::replace(&mut self.deaf, true) && !self.ended {
            self.part(Parting::Deaf);
            self.alone();
        }
    }

    /// With both ends closed the controller is dead: nobody will see the rest of the turn, so it gets no grace.
    fn alone(&mut self) {
        if self.eof && self.deaf && !self.grace_over {
            self.deadline = Some(Instant::now());
        }
    }

    async fn until_deaf(deaf: &mut Option<Gone>) {
        match deaf {
            Some(gone) => gone.as_mut().await,
            None => std::future::pending().await,
        }
    }
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn new() -> Option<Self> {
        Some(Self {
            terminate: signal(SignalKind::terminate()).ok()?,
            interrupt: signal(SignalKind::interrupt()).ok()?,
            hangup: signal(SignalKind::hangup()).ok()?,
        })
    }

    async fn next(signals: &mut Option<Self>) -> wire::Signal {
        let Some(signals) = signals else { return std::future::pending().await };
        tokio::select! {
            _ = signals.terminate.recv() => wire::Signal::Terminate,
            _ = signals.interrupt.recv() => wire::Signal::Interrupt,
            _ = signals.hangup.recv() => wire::Signal::Hangup,
        }
    }
}
