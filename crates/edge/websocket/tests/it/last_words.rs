//! A side that has said its last word still hears the other one's.

use std::future::poll_fn;

use host::{MessageSink, MessageStream};
use websocket::{Codec, OnClose, Role, SocketOptions, WsLimits, socket};
use wire::Close;

use crate::judge::plain;

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
