//! How fast a request leaves and a delta arrives.

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use testkit::mock_model::{MockModel, Reply};

use crate::support::*;

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Best run alone: `cargo test -p providers -- --ignored --nocapture timing`.
#[tokio::test]
#[ignore = "measures time"]
async fn a_one_word_call_costs_little_more_than_a_bare_fetch() {
    const ROUNDS: usize = 500;
    let mock = MockModel::start().await;
    let provider = provider(&mock);
    let mut chat = chat(&provider);
    let spec = spec();
    chat.push(&user("say hello"));
    let mut calls = Vec::new();
    for _ in 0..ROUNDS {
        let started = Instant::now();
        assert_eq!(text(&all(chat.call(&spec)).await), "hello");
        calls.push(started.elapsed());
    }
    assert_eq!(mock.connections(), 1);

    // The same exchange with a socket and nothing else.
    let body = mock.chats()[0].body.clone();
    let mut socket = std::net::TcpStream::connect(("127.0.0.1", mock.port)).unwrap();
    socket.set_nodelay(true).unwrap();
    let mut request =
        format!("POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len());
    request.push_str(std::str::from_utf8(&body).unwrap());
    let mut fetches = Vec::new();
    let mut answer = Vec::new();
    for _ in 0..ROUNDS {
        let started = Instant::now();
        socket.write_all(request.as_bytes()).unwrap();
        answer.clear();
        while !answer.ends_with(b"0\r\n\r\n") {
            let mut some = [0; 4096];
            let length = socket.read(&mut some).unwrap();
            answer.extend_from_slice(&some[..length]);
        }
        fetches.push(started.elapsed());
    }
    // And the price of a delta in a burst that needs no waiting.
    let deltas: Vec<u8> = (0..20_000).flat_map(|_| testkit::mock_model::Step::text("word ").bytes().unwrap()).collect();
    let end = testkit::mock_model::Step::finish("stop");
    mock.push(Reply::stream([testkit::mock_model::Step::Raw(deltas), end, testkit::mock_model::Step::Done]));
    let started = Instant::now();
    all(chat.call(&spec)).await;
    let burst = started.elapsed() / 20_000;

    let (call, fetch) = (median(calls), median(fetches));
    println!("one-word call {call:?}, bare fetch {fetch:?}, delta in a burst {burst:?}");
    assert!(call < fetch * 5, "{call:?} against {fetch:?}");
}
