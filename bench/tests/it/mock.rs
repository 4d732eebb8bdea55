use std::io::{Read, Write};
use std::net::TcpStream;

use crate::start_mock;

/// Sends one request and reads until the answer contains `end`.
fn ask(stream: &mut TcpStream, path: &str, body: &str, end: &str) -> String {
    let length = body.len();
    write!(stream, "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{body}").unwrap();
    let mut answer = String::new();
    let mut buf = [0; 4096];
    while !answer.contains(end) {
        let read = stream.read(&mut buf).unwrap();
        assert!(read > 0, "closed after: {answer}");
        answer.push_str(&String::from_utf8_lossy(&buf[..read]));
    }
    answer
}

fn prompt(text: &str) -> String {
    serde_json::json!({"stream": true, "messages": [{"role": "user", "content": [{"type": "text", "text": text}]}]})
        .to_string()
}

#[test]
fn one_connection_answers_good_and_bad_requests_in_turn() {
    let (_mock, base) = start_mock();
    let mut stream = TcpStream::connect(base.trim_start_matches("http://").trim_end_matches("/v1")).unwrap();
    let path = "/v1/chat/completions";

    let answer = ask(&mut stream, path, &prompt("say 3 words"), "0\r\n\r\n");
    for piece in [r#""content":"w1 ""#, r#""content":"w3""#, r#""finish_reason":"stop""#, "data: [DONE]"] {
        assert!(answer.contains(piece), "{piece} is not in {answer}");
    }
    let answer = ask(&mut stream, path, &prompt(r#"call bash {"command":"x"}"#), "0\r\n\r\n");
    assert!(answer.contains(r#""arguments":"{\"command\":\"x\"}""#), "{answer}");

    assert!(ask(&mut stream, path, "{", "}}").starts_with("HTTP/1.1 400"));
    assert!(ask(&mut stream, path, &prompt("dance"), "}}").contains("not a script: `dance`"));
    assert!(ask(&mut stream, "/v1/nope", "{}", "}}").starts_with("HTTP/1.1 404"));
    let quiet = r#"{"messages":[{"role":"user","content":"say 1 word"}]}"#;
    assert!(ask(&mut stream, path, quiet, "}}").contains("only streams"));

    assert!(ask(&mut stream, path, &prompt("say 1 word"), "0\r\n\r\n").contains(r#""content":"w1""#));
}

#[test]
fn paced_words_carry_rising_stamps() {
    let (_mock, base) = start_mock();
    let mut stream = TcpStream::connect(base.trim_start_matches("http://").trim_end_matches("/v1")).unwrap();
    let start = std::time::Instant::now();
    let answer = ask(&mut stream, "/v1/chat/completions", &prompt("say 5 words every 2000 us"), "0\r\n\r\n");
    let stamps: Vec<u64> =
        answer.split('@').skip(1).map(|piece| piece.split(' ').next().unwrap().parse().unwrap()).collect();
    assert_eq!(stamps.len(), 5);
    assert!(stamps.windows(2).all(|two| two[1] > two[0]), "{stamps:?}");
    // The fifth word is due four paces after the first; a busy machine can only make it later.
    assert!(start.elapsed().as_micros() >= 8_000, "{stamps:?}");
}
