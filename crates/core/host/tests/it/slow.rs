//! A peer that does not read: its session waits for it, or it is let go and can come back.

use std::time::Duration;

use engine::Slow;
use host::{PumpOptions, message_pair, pump_messages};
use vocab::{Open, Stop, Which};
use wire::CloseCode;

use crate::echo::{Echo, paused, stage};
use crate::messages::{receive, send};

/// So much that neither a pipe nor a queue holds it.
const FLOOD: &str = "delta \"PIECE\" ";
const PIECE_BYTES: usize = 512 * 1024;
const PIECES: usize = 24;

fn flood() -> String {
    FLOOD.replace("PIECE", &"x".repeat(PIECE_BYTES)).repeat(PIECES)
}

#[test]
fn a_session_waits_for_a_peer_that_may_hold_it_up() {
    paused(async {
        let stage = stage(&flood());
        let (mut ours, theirs) = message_pair(1);
        let engine = stage.engine.clone();
        let options = PumpOptions { slow: Slow::Wait, ..PumpOptions::default() };
        tokio::spawn(async move { pump_messages(Echo::default(), &engine, theirs.stream, theirs.sink, options).await });
        receive(&mut ours).await.expect("hello");
        let mut watcher = stage.actor();
        watcher.open(Open::new(Which::Id("s1".into()))).await.expect("the same session");
        send(&mut ours, "speak").await;
        let end = tokio::time::timeout(Duration::from_secs(5), watcher.turn_end()).await;
        assert!(end.is_err(), "the turn cannot end while the peer does not read");
        // The watcher holds up the session just the same, so both read.
        let reading = async {
            let mut bytes = 0;
            loop {
                match receive(&mut ours).await.expect("all of it").as_str() {
                    "end" => return bytes,
                    text => bytes += text.len(),
                }
            }
        };
        let (bytes, end) = tokio::join!(reading, watcher.turn_end());
        assert_eq!((bytes, end.stop), (PIECES * PIECE_BYTES, Stop::EndTurn), "nothing was left out");
    });
}

#[test]
fn a_session_does_not_wait_for_a_peer_that_is_dropped() {
    paused(async {
        let stage = stage(&flood());
        let (mut ours, theirs) = message_pair(1);
        let engine = stage.engine.clone();
        let options = PumpOptions { slow: Slow::DropAt(8 * 1024 * 1024), ..PumpOptions::default() };
        let host =
            tokio::spawn(
                async move { pump_messages(Echo::default(), &engine, theirs.stream, theirs.sink, options).await },
            );
        receive(&mut ours).await.expect("hello");
        let mut watcher = stage.actor();
        watcher.open(Open::new(Which::Id("s1".into()))).await.expect("the same session");
        send(&mut ours, "speak").await;
        assert_eq!(watcher.turn_end().await.stop, Stop::EndTurn, "without a byte being read");
        let mut last = String::new();
        while let Some(text) = receive(&mut ours).await {
            last = text;
        }
        assert!(last.starts_with("gone: this connection reads too slowly"), "{}", &last[..last.len().min(80)]);
        assert_eq!(ours.stream.close().map(|close| close.code), Some(CloseCode::TryAgainLater));
        assert_eq!(host.await.expect("the host does not panic").close.code, CloseCode::TryAgainLater);
    });
}
