//! A pipe of messages: each frame is one, both ways, and the end has a code.

use std::future::poll_fn;
use std::time::Duration;

use host::{MemoryEnd, MessageSink, MessageStream, PumpOptions, message_pair, pump_messages};
use wire::{Close, CloseCode};

use crate::echo::{Echo, paused, stage};

pub(crate) async fn receive(end: &mut MemoryEnd) -> Option<String> {
    let message = poll_fn(|context| end.stream.poll_receive(context)).await;
    message.map(|message| String::from_utf8(message).expect("text"))
}

pub(crate) async fn send(end: &mut MemoryEnd, text: &str) {
    poll_fn(|context| end.sink.poll_send(context, text.as_bytes())).await.expect("a pipe that is open");
}

#[test]
fn each_frame_is_a_message_and_the_close_has_its_code() {
    paused(async {
        let stage = stage("delta \"one\\ntwo\" delta \"three\"");
        let (mut ours, theirs) = message_pair(1);
        let engine = stage.engine.clone();
        let host = tokio::spawn(async move {
            pump_messages(Echo::default(), &engine, theirs.stream, theirs.sink, PumpOptions::default()).await
        });
        assert_eq!(receive(&mut ours).await.as_deref(), Some("hello"));
        send(&mut ours, "speak").await;
        let mut said = Vec::new();
        while said.last().is_none_or(|last| last != "end") {
            said.push(receive(&mut ours).await.expect("it goes on"));
        }
        assert_eq!(said, ["one\ntwo", "three", "end"], "a message has no line ends to lose");
        send(&mut ours, "tick").await;
        let ticked = receive(&mut ours).await.expect("a tick");
        assert!(ticked.starts_with("it is "), "{ticked}");
        send(&mut ours, &"x".repeat(wire::LINE_BYTES_MAX + 1)).await;
        assert_eq!(receive(&mut ours).await.as_deref(), Some("too long"));
        send(&mut ours, "bye").await;
        assert_eq!(receive(&mut ours).await, None);
        assert_eq!(ours.stream.close(), Some(Close::new(CloseCode::TryAgainLater, "bye")));
        let ended = host.await.expect("the host does not panic");
        assert_eq!((ended.close.code, ended.exit_code), (CloseCode::TryAgainLater, 2));
    });
}

#[test]
fn a_peer_that_leaves_ends_it() {
    paused(async {
        let stage = stage("delta \"one\"");
        let (ours, theirs) = message_pair(4);
        let engine = stage.engine.clone();
        let host = tokio::spawn(async move {
            pump_messages(Echo::default(), &engine, theirs.stream, theirs.sink, PumpOptions::default()).await
        });
        drop(ours);
        let ended = tokio::time::timeout(Duration::from_secs(60), host).await.expect("in time").expect("no panic");
        assert_eq!(ended.exit_code, 0);
    });
}
