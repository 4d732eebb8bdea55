//! Many messages handed over at once, through pipes that take a lot or next to nothing.

use std::future::poll_fn;
use std::time::Duration;

use bytes::Bytes;
use host::MessageSink;
use tokio::io::{AsyncReadExt, duplex};
use websocket::{Binary, Codec, OnClose, Pings, Role, SocketOptions, socket};

use crate::bytes::LIMITS;

const PINGS: Pings = Pings { every: None, missed_max: 2, no_progress: Duration::from_secs(120) };
/// Longer than what is put together.
const LONG: usize = 33_000;

fn frame(message: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x81];
    match message.len() {
        0..=125 => frame.push(message.len() as u8),
        126..=0xffff => frame.extend([126].into_iter().chain((message.len() as u16).to_be_bytes())),
        _ => frame.extend([127].into_iter().chain((message.len() as u64).to_be_bytes())),
    }
    frame.extend_from_slice(message);
    frame
}

#[tokio::test]
async fn what_is_sent_together_arrives_in_order_whatever_the_pipe_takes() {
    let mut messages: Vec<Vec<u8>> = (0..400_usize).map(|n| vec![b'a' + (n % 26) as u8; n * 37 % 400]).collect();
    messages.insert(200, vec![b'z'; LONG]);
    let wanted: Vec<u8> = messages.iter().flat_map(|message| frame(message)).collect();
    for room in [5, 130, 4096, 1_000_000] {
        let (ours, mut theirs) = duplex(room);
        let options =
            SocketOptions { binary: Binary::Ignored, pings: PINGS, on_close: OnClose::AtOnce, once_known: None };
        let (hears, mut says, _) = socket(ours, Bytes::new(), Codec::new(Role::Server, LIMITS), options);
        let mut left = messages.clone();
        let sending = tokio::spawn(async move {
            let mut calls = 0;
            while !left.is_empty() {
                let some = |context: &mut std::task::Context<'_>| {
                    says.poll_send_some(context, &mut left.iter().map(Vec::as_slice))
                };
                let count = poll_fn(some).await.expect("a pipe that is open");
                assert!(count > 0);
                left.drain(..count);
                calls += 1;
            }
            drop((hears, says));
            calls
        });
        let mut heard = Vec::new();
        theirs.read_to_end(&mut heard).await.expect("all of it");
        assert!(heard == wanted, "room {room}: {} of {} bytes", heard.len(), wanted.len());
        let calls = sending.await.expect("no panic");
        assert!(room < 1_000_000 || calls < 20, "{calls} writes of {} messages", messages.len());
    }
}
