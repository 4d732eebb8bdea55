//! A side that has said its last word still hears the other one's.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use host::{MessageSink, MessageStream};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::UnixStream;
use websocket::{Codec, OnClose, Pings, Role, SocketOptions, WsLimits, socket};
use wire::Close;

use crate::judge::plain;

fn pings(every: Duration) -> Pings {
    Pings { every: Some(every), missed_max: 2, no_progress: Duration::from_secs(120) }
}

const LIMITS: WsLimits = WsLimits { message_bytes_max: 1 << 20, fragments_max: 100, control_per_s: 50 };

#[tokio::test]
async fn what_is_owed_comes_behind_the_close_where_the_server_waits_with_it() {
    for (on_close, heard) in [(OnClose::WhenDone, vec!["one", "two"]), (OnClose::AtOnce, vec![])] {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (mut hears, mut says, _) = socket(ours, Default::default(), Codec::new(Role::Client, LIMITS), plain());
        let options = SocketOptions { on_close, ..plain() };
        let (mut server, mut answers, _) =
            socket(theirs, Default::default(), Codec::new(Role::Server, LIMITS), options);
        let serving = tokio::spawn(async move {
            while poll_fn(|context| server.poll_receive(context)).await.is_some() {}
            for word in ["one", "two"] {
                let _ = poll_fn(|context| answers.poll_send(context, word.as_bytes())).await;
            }
            poll_fn(|context| answers.poll_close(context, &Close::normal())).await;
        });
        poll_fn(|context| says.poll_send(context, b"hello")).await.unwrap();
        poll_fn(|context| says.poll_last_word(context, &Close::normal())).await.unwrap();
        let mut told = Vec::new();
        while let Some(message) = poll_fn(|context| hears.poll_receive(context)).await {
            told.push(String::from_utf8(message).unwrap());
        }
        assert_eq!(
            (told, hears.closed_with().map(|it| it.0)),
            (heard.iter().map(|it| it.to_string()).collect(), Some(1000))
        );
        serving.await.unwrap();
    }
}

#[tokio::test]
async fn what_was_said_is_heard_though_nothing_can_be_said_any_more() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    // A word, and that the server goes away; then it is gone.
    theirs.write_all(b"\x81\x02hi\x88\x05\x03\xe9bye").await.unwrap();
    drop(theirs);
    let every = Duration::from_millis(1);
    let options = SocketOptions { pings: pings(every), ..plain() };
    let (mut hears, _says, _) = socket(ours, Default::default(), Codec::new(Role::Client, LIMITS), options);
    // A ping is due, and goes before reading: it finds nobody.
    tokio::time::sleep(5 * every).await;
    assert_eq!(poll_fn(|context| hears.poll_receive(context)).await.as_deref(), Some(&b"hi"[..]));
    assert_eq!(poll_fn(|context| hears.poll_receive(context)).await, None);
    assert_eq!(hears.closed_with(), Some((1001, "bye".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn who_cannot_be_written_to_and_says_nothing_is_lost_soon() {
    let deaf = Deaf;
    let options = SocketOptions { pings: pings(Duration::from_secs(25)), ..plain() };
    let (mut hears, _says, _) = socket(deaf, Default::default(), Codec::new(Role::Client, LIMITS), options);
    let began = tokio::time::Instant::now();
    assert_eq!(poll_fn(|context| hears.poll_receive(context)).await, None);
    assert_eq!((hears.closed_with(), began.elapsed().as_secs()), (None, 26));
}

/// Takes nothing, and never says anything.
struct Deaf;

impl AsyncRead for Deaf {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Poll::Pending
    }
}

impl AsyncWrite for Deaf {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()))
    }
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
