//! Another's implementation at the other end, on both sides. It blocks, so it has a thread of its own.

use std::future::poll_fn;
use std::os::unix::net::UnixStream as PlainStream;
use std::time::Duration;

use bytes::Bytes;
use host::{MessageSink, MessageStream};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role as TheirRole, WebSocket};
use tokio_tungstenite::tungstenite::{Error, Message};
use websocket::{Binary, Codec, OnClose, Pings, Role, SocketOptions, SocketSink, SocketStream, socket};
use wire::{Close, CloseCode};

use crate::bytes::LIMITS;

pub(crate) fn plain() -> SocketOptions {
    SocketOptions { binary: Binary::Invalid, pings: Pings::NONE, on_close: OnClose::AtOnce, once_known: None }
}

pub(crate) async fn receive<S>(stream: &mut SocketStream<S>) -> Option<String>
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    let bytes = poll_fn(|context| stream.poll_receive(context)).await?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

pub(crate) async fn send<S>(sink: &mut SocketSink<S>, text: &str)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    poll_fn(|context| sink.poll_send(context, text.as_bytes())).await.expect("a pipe that is open");
}

pub(crate) async fn close<S>(sink: &mut SocketSink<S>, close: &Close)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    poll_fn(|context| sink.poll_close(context, close)).await;
}

/// Both ends of a stream: ours, and one that blocks.
fn ends() -> (UnixStream, PlainStream) {
    let (ours, theirs) = PlainStream::pair().expect("a pair");
    ours.set_nonblocking(true).expect("a switch");
    theirs.set_read_timeout(Some(Duration::from_secs(20))).expect("a limit");
    (UnixStream::from_std(ours).expect("a runtime"), theirs)
}

/// Runs the judge in a thread while we are at the other end.
fn against<T: Send + 'static>(
    ours: Role,
    judge: impl FnOnce(WebSocket<PlainStream>) -> T + Send + 'static,
    we: impl AsyncFnOnce(SocketStream<UnixStream>, SocketSink<UnixStream>),
) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let (our_end, their_end) = ends();
        let role = if ours == Role::Server { TheirRole::Client } else { TheirRole::Server };
        let judging = std::thread::spawn(move || judge(WebSocket::from_raw_socket(their_end, role, None)));
        let (hears, says, _) = socket(our_end, Bytes::new(), Codec::new(ours, LIMITS), plain());
        we(hears, says).await;
        tokio::task::spawn_blocking(|| judging.join()).await.expect("a thread").expect("the judge is content")
    })
}

async fn echo(mut hears: SocketStream<UnixStream>, mut says: SocketSink<UnixStream>) {
    while let Some(text) = receive(&mut hears).await {
        send(&mut says, &text).await;
    }
    close(&mut says, &Close::new(CloseCode::GoingAway, "not heard")).await;
}

const ROLES: [Role; 2] = [Role::Server, Role::Client];

#[test]
fn messages_of_all_sizes_come_back() {
    for role in ROLES {
        let judge = |mut judge: WebSocket<PlainStream>| {
            for len in [0, 1, 125, 126, 65_535, 65_536, 3 << 20] {
                let text = "é".repeat(len / 2) + if len % 2 == 1 { "x" } else { "" };
                judge.write(Message::text(text.clone())).expect("written");
                judge.write(Message::Ping(Bytes::from_static(b"there?"))).expect("written");
                judge.flush().expect("flushed");
                let mut came = [judge.read().expect("an answer"), judge.read().expect("another")];
                came.sort_by_key(Message::is_text);
                assert_eq!(came, [Message::Pong(Bytes::from_static(b"there?")), Message::text(text)]);
            }
            judge.close(Some(CloseFrame { code: 4001.into(), reason: "enough".into() })).expect("said");
            while !matches!(judge.read(), Err(Error::ConnectionClosed)) {}
        };
        against(role, judge, echo);
    }
}

#[test]
fn a_close_of_ours_has_its_code_and_reason() {
    for role in ROLES {
        let judge = |mut judge: WebSocket<PlainStream>| {
            // Unread when we close: it must not cost the other side our last word.
            judge.send(Message::text("unread")).expect("sent");
            let said = judge.read().expect("a message");
            let frame = judge.read().expect("a close");
            while judge.read().is_ok() {}
            (said, frame)
        };
        let we = async |_hears: SocketStream<UnixStream>, mut says: SocketSink<UnixStream>| {
            send(&mut says, "last").await;
            close(&mut says, &Close::new(CloseCode::TryAgainLater, "slow")).await;
        };
        let (said, frame) = against(role, judge, we);
        assert_eq!(said, Message::text("last"));
        assert_eq!(frame, Message::Close(Some(CloseFrame { code: 1013.into(), reason: "slow".into() })));
    }
}

#[test]
fn a_violation_is_told() {
    let judge = |judge: WebSocket<PlainStream>| {
        // An unmasked frame of a client, written below the judge.
        let mut stream = judge.get_ref().try_clone().expect("the same stream");
        std::io::Write::write_all(&mut stream, &[0x81, 2, b'h', b'i', 0x81, 0x80]).expect("written");
        let mut judge = judge;
        let close = judge.read().expect("a close");
        while judge.read().is_ok() {}
        close
    };
    let close = against(Role::Server, judge, echo);
    let Message::Close(Some(frame)) = close else { panic!("{close:?}") };
    assert_eq!(u16::from(frame.code), 1002);
}

#[test]
fn binary_is_one_invalid_message() {
    let judge = |mut judge: WebSocket<PlainStream>| {
        judge.send(Message::binary(&b"\x00\x01"[..])).expect("sent");
        let answer = judge.read().expect("an answer");
        let _ = judge.close(None);
        while judge.read().is_ok() {}
        answer
    };
    assert_eq!(against(Role::Server, judge, echo), Message::text("\u{fffd}"));
}
