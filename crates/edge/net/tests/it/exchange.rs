//! One request, one whole answer.

use std::time::Duration;

use net::{Exchange, PostBody};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use vocab::{Fault, FaultKind, Secret};

/// Answers one request with these bytes and returns what it heard; then it says nothing more.
async fn exchange(answer: &'static str, content: Option<PostBody<'_>>) -> (Result<(u16, String), Fault>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/a/b/?c=CANARY-query", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut heard = Vec::new();
        while !heard.ends_with(b"\r\n\r\n") && !heard.ends_with(b"CANARY-body") {
            stream.read_buf(&mut heard).await.unwrap();
        }
        stream.write_all(answer.as_bytes()).await.unwrap();
        (stream, String::from_utf8(heard).unwrap())
    });
    let bearer = Secret::new("CANARY-bearer");
    let timeout = Duration::from_millis(300);
    let request = Exchange {
        url: &url,
        content,
        bearer: bearer.as_ref(),
        headers: &[("x-account", "CANARY-account")],
        proxy: None,
        timeout,
        answer_bytes_max: 10,
    };
    let result = request.send().await.map(|answer| (answer.status, String::from_utf8(answer.body).unwrap()));
    (result, server.await.unwrap().1)
}

#[tokio::test]
async fn a_form_goes_out_and_any_status_comes_back() {
    let answer = "HTTP/1.1 418 Teapot\r\ncontent-length: 10\r\n\r\n0123456789";
    let (result, heard) = exchange(answer, Some(PostBody::Form("x=CANARY-body"))).await;
    assert_eq!(result.unwrap(), (418, "0123456789".into()));
    assert!(heard.starts_with("POST /a/b/?c=CANARY-query HTTP/1.1\r\n"), "{heard}");
    for line in [
        "content-type: application/x-www-form-urlencoded\r\n",
        "authorization: Bearer CANARY-bearer\r\n",
        "x-account: CANARY-account\r\n",
    ] {
        assert!(heard.contains(line), "{heard}");
    }
    let (_, heard) = exchange(answer, None).await;
    assert!(heard.starts_with("GET ") && !heard.contains("content-type"), "{heard}");
}

#[tokio::test]
async fn what_is_no_whole_answer_is_a_fault_that_names_only_the_server() {
    for (answer, kind) in [
        ("HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n01234567890", FaultKind::Provider),
        ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n0", FaultKind::Network),
        ("CANARY-nonsense\r\n\r\n", FaultKind::Network),
        ("", FaultKind::Network),
    ] {
        let (result, _) = exchange(answer, Some(PostBody::Json("CANARY-body"))).await;
        let fault = result.unwrap_err();
        assert_eq!(fault.kind, kind, "{fault}");
        assert!(!format!("{fault:?}").contains("CANARY"), "{fault:?}");
    }
}
