//! Passes lines on as messages and messages as lines, until one of both sides ends. What is in them is not looked at.

use std::future::poll_fn;
use std::io;
use std::sync::Mutex;
use std::task::Poll;
use std::time::Duration;

use host::{Gone, MessageSink, MessageStream};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};
use wire::{Close, Frame, Lines};

use crate::backlog::Backlog;
use crate::dial::Attached;

/// The longest line that is passed on. Of a longer one the gateway gets this much and a byte: its dialect says in its own words
/// that it was too long.
const LINE_BYTES_MAX: usize = gateway::limits::LINE_BYTES_MAX;
/// Bytes read at once.
const READ_BYTES: usize = 64 * 1024;
/// How long the gateway may take to answer what was said, once nothing more will be.
const LAST_ANSWERS: Duration = Duration::from_secs(5);
/// What stands for a line that is no text: a socket has no room for it, and every dialect has words for this one.
const NO_TEXT: &str = "\u{fffd}";

/// How messages stand in the output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RelayLines {
    /// Each is a line.
    Whole,
    /// They are pieces of one text.
    Pieces,
}

/// What the end of the input means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtEnd {
    /// This side goes as soon as what it said is answered.
    Leave,
    /// The same with a dialect that is told so: its answers come later than those of others.
    Tell(&'static str),
    /// The dialect is told so, and ends by itself.
    Say(&'static str),
}

/// What is between the gateway and whoever is on this side.
pub struct Relay<R, W> {
    pub input: R,
    pub output: W,
    /// Done when nobody reads the output any more.
    pub gone: Option<Gone>,
    pub lines: RelayLines,
    /// Said before anything that comes from the input.
    pub first: Option<Vec<u8>>,
    /// What the end of the input means.
    pub at_end: AtEnd,
    /// Done when this side is to go, whatever the input says.
    pub asked: Gone,
}

/// How it ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relayed {
    pub exit_code: u8,
    /// For stderr: what a person or a program should know.
    pub note: Option<String>,
    /// The conversation could go on in a gateway that runs again: nobody wanted it to end.
    pub can_return: bool,
}

impl Relayed {
    fn fine() -> Self {
        Self { exit_code: 0, note: None, can_return: false }
    }
}

/// What the end of the socket means.
enum Ending {
    /// Our side had nothing more to say.
    Ours,
    Closed(u16, String),
    Lost,
    /// What came could not be kept.
    Full(io::Error),
}

impl Attached {
    /// Runs until one side ends.
    pub async fn relay<R, W>(self, relay: Relay<R, W>) -> Relayed
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let Relay { input, mut output, gone, lines, first, at_end, asked } = relay;
        let backlog = Backlog::default();
        let parting = Parting::default();
        let Attached { mut stream, sink } = self;
        let says = Says { sink, lines: Lines::new(LINE_BYTES_MAX) };
        let upward = says.all(input, first, &parting, (at_end, asked));
        let downward = async {
            let ending = receive(&mut stream, lines, &backlog, &parting).await;
            backlog.end();
            ending
        };
        let shown = show(&backlog, &mut output);
        let deaf = async {
            match gone {
                Some(gone) => gone.await,
                None => std::future::pending().await,
            }
        };
        let mut ending = None;
        tokio::pin!(upward, downward, shown, deaf);
        loop {
            tokio::select! {
                biased;
                came = &mut downward, if ending.is_none() => ending = Some(came),
                written = &mut shown => return ended(ending.unwrap_or(Ending::Ours), written),
                () = &mut upward => {}
                // The work goes on without a reader; who comes next finds it.
                () = &mut deaf => return Relayed::fine(),
            }
        }
    }
}

/// That our side has said its last word, and since when.
#[derive(Default)]
struct Parting {
    since: Mutex<Option<Instant>>,
    told: Notify,
}

impl Parting {
    fn say(&self) {
        self.since.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert_with(Instant::now);
        self.told.notify_waiters();
    }
    fn is_said(&self) -> bool {
        self.since.lock().unwrap_or_else(std::sync::PoisonError::into_inner).is_some()
    }
    /// Done once it is said.
    async fn said(&self) -> Instant {
        loop {
            // Made before the look: what is said in between is not missed.
            let told = self.told.notified();
            let since = *self.since.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            match since {
                Some(since) => return since,
                None => told.await,
            }
        }
    }
    /// The answers to the last words have taken too long.
    async fn is_over(&self) {
        sleep_until(self.said().await + LAST_ANSWERS).await;
    }
}

async fn receive<S: MessageStream + KnowsClose>(
    stream: &mut S,
    lines: RelayLines,
    backlog: &Backlog,
    parting: &Parting,
) -> Ending {
    loop {
        let message = tokio::select! {
            message = poll_fn(|context| stream.poll_receive(context)) => message,
            () = parting.is_over() => return Ending::Ours,
        };
        let Some(mut message) = message else { break };
        if lines == RelayLines::Whole {
            message.push(b'\n');
        }
        if let Err(error) = backlog.push(message) {
            return Ending::Full(error);
        }
    }
    match stream.closed_with() {
        Some((code, reason)) if code != NORMAL => Ending::Closed(code, reason),
        None if !parting.is_said() => Ending::Lost,
        _ => Ending::Ours,
    }
}

/// Knows how the other side ended.
trait KnowsClose {
    fn closed_with(&self) -> Option<(u16, String)>;
}

impl<S> KnowsClose for websocket::SocketStream<S> {
    fn closed_with(&self) -> Option<(u16, String)> {
        websocket::SocketStream::closed_with(self)
    }
}

async fn show(backlog: &Backlog, output: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
    while let Some(bytes) = backlog.next().await? {
        output.write_all(&bytes).await?;
    }
    output.flush().await
}

/// The way up: lines of the input as messages.
struct Says {
    sink: websocket::SocketSink<Box<dyn crate::dial::Wire>>,
    lines: Lines,
}

impl Says {
    /// Everything, then the last word. Never done: the other side ends the conversation.
    async fn all(
        mut self,
        mut input: impl AsyncRead + Unpin,
        first: Option<Vec<u8>>,
        parting: &Parting,
        (at_end, mut asked): (AtEnd, Gone),
    ) {
        let saying = async {
            if let Some(first) = first {
                self.message(&first).await?;
            }
            let mut buffer = vec![0; READ_BYTES];
            loop {
                match read(&mut input, &mut buffer, parting).await {
                    Ok(count) if count > 0 => self.pass(&buffer[..count]).await?,
                    // Who was asked to go has nothing to say of the input's end.
                    Ok(_) | Err(_) if parting.is_said() => return self.rest(AtEnd::Leave, parting).await,
                    Ok(_) | Err(_) => return self.rest(at_end, parting).await,
                }
            }
        };
        // What was given to us is said all the same: only the time for it is short from here on.
        let leaving = async {
            asked.as_mut().await;
            parting.say();
            std::future::pending().await
        };
        // An error is the end of the socket, which the way down tells of.
        let lost = tokio::select! {
            said = saying => said.is_err(),
            () = leaving => false,
        };
        if !lost {
            parting.say();
            let _ = poll_fn(|context| self.sink.poll_last_word(context, &Close::normal())).await;
        }
        std::future::pending().await
    }

    async fn pass(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut whole = Vec::new();
        self.lines.feed(bytes, |frame| whole.push(as_message(frame)));
        for message in whole {
            self.message(&message).await?;
        }
        Ok(())
    }

    /// A last line without an end is one, too.
    async fn rest(&mut self, at_end: AtEnd, parting: &Parting) -> io::Result<()> {
        let mut whole = Vec::new();
        self.lines.finish(|frame| whole.push(as_message(frame)));
        for message in whole {
            self.message(&message).await?;
        }
        match at_end {
            AtEnd::Leave => Ok(()),
            AtEnd::Tell(word) => {
                self.message(word.as_bytes()).await?;
                parting.say();
                std::future::pending().await
            }
            AtEnd::Say(word) => {
                self.message(word.as_bytes()).await?;
                std::future::pending().await
            }
        }
    }

    async fn message(&mut self, message: &[u8]) -> io::Result<()> {
        poll_fn(|context| self.sink.poll_send(context, message)).await
    }
}

/// What there is to read, waiting for it until our side is to go: from then on nothing to read is the end of the input.
async fn read(input: &mut (impl AsyncRead + Unpin), buffer: &mut [u8], parting: &Parting) -> io::Result<usize> {
    // Unconstrained: tokio's budget could return `Pending`, which would pass for an empty input.
    tokio::task::unconstrained(async {
        tokio::select! {
            biased;
            read = input.read(buffer) => read,
            _ = parting.said() => Ok(0),
        }
    })
    .await
}

fn as_message(frame: Frame<'_>) -> Vec<u8> {
    match frame {
        Frame::Whole(line) if std::str::from_utf8(line).is_ok() => line.to_vec(),
        Frame::Whole(_) => NO_TEXT.into(),
        Frame::TooLong { limit } => vec![b' '; limit + 1],
    }
}

/// Done when one of these signals has come. They are heard from the first call on.
pub fn signals(kinds: impl IntoIterator<Item = SignalKind>) -> Gone {
    let mut heard: Vec<Signal> = kinds.into_iter().filter_map(|kind| signal(kind).ok()).collect();
    Box::pin(poll_fn(move |context| match heard.iter_mut().any(|signal| signal.poll_recv(context).is_ready()) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    }))
}

const NORMAL: u16 = 1000;
/// Codes from here on are exit codes of the dialect for people.
const PRIVATE_FROM: u16 = 4000;
const FAILED: u8 = 1;
const NOT_STARTED: u8 = 2;

fn ended(ending: Ending, written: io::Result<()>) -> Relayed {
    let said = |exit_code, note: String| Relayed { exit_code, note: Some(note), can_return: false };
    let gone = |note: &str| Relayed { exit_code: FAILED, note: Some(note.to_owned()), can_return: true };
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        return said(FAILED, format!("what was to be said could not be written: {error}"));
    }
    match ending {
        Ending::Ours | Ending::Closed(NORMAL, _) => Relayed::fine(),
        Ending::Closed(code @ PRIVATE_FROM.., reason) => {
            let exit_code = u8::try_from(code - PRIVATE_FROM).unwrap_or(FAILED);
            Relayed { exit_code, note: Some(reason).filter(|reason| !reason.is_empty()), can_return: false }
        }
        Ending::Closed(1001, _) => gone("the gateway has ended; what ran goes on with its next start"),
        Ending::Closed(1008, reason) => said(NOT_STARTED, reason),
        Ending::Closed(code, reason) if reason.is_empty() => {
            said(FAILED, format!("the gateway closed the connection ({code})"))
        }
        Ending::Closed(_, reason) => said(FAILED, reason),
        Ending::Lost => {
            gone("the connection to the gateway is lost; what runs there goes on, now or with its next start")
        }
        Ending::Full(error) => said(FAILED, format!("nobody reads, and no more can be kept: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_becomes_a_message_that_a_socket_can_carry() {
        assert_eq!(as_message(Frame::Whole(br#"{"id": 1.0}"#)), br#"{"id": 1.0}"#);
        assert_eq!(as_message(Frame::Whole(b"\xff")), NO_TEXT.as_bytes());
        assert_eq!(as_message(Frame::TooLong { limit: 3 }), b"    ");
    }

    #[test]
    fn each_end_has_its_code() {
        let code = |ending| ended(ending, Ok(())).exit_code;
        let closed = |code| Ending::Closed(code, String::new());
        assert_eq!([code(Ending::Ours), code(closed(1000)), code(closed(4000)), code(closed(4130))], [0, 0, 0, 130]);
        assert_eq!([code(closed(1001)), code(closed(1011)), code(closed(1013)), code(Ending::Lost)], [1, 1, 1, 1]);
        assert_eq!(code(closed(1008)), 2);
        let returns = |ending| ended(ending, Ok(())).can_return;
        assert!(returns(closed(1001)) && returns(Ending::Lost));
        assert!(![Ending::Ours, closed(1000), closed(1008), closed(4130)].into_iter().any(returns));
        let full = ended(Ending::Ours, Err(io::Error::other("full")));
        assert_eq!((full.exit_code, full.note.is_some()), (1, true));
        assert_eq!(ended(Ending::Ours, Err(io::ErrorKind::BrokenPipe.into())).exit_code, 0);
    }
}
