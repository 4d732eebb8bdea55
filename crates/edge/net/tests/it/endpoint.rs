//! A server that is asked many times.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use net::{Credentials, Endpoint, KnownCredentials, Late};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use vocab::{Fault, Later, Secret};

/// Another key for every request.
#[derive(Default)]
struct Counting(AtomicUsize);

impl Credentials for Counting {
    fn fetch(&self) -> Later<'_, Result<KnownCredentials, Fault>> {
        let key = format!("CANARY-{:08}", self.0.fetch_add(1, Ordering::SeqCst));
        let headers = vec![("x-key".to_owned(), Secret::new(&key).unwrap())];
        Box::pin(std::future::ready(Ok(KnownCredentials { key: None, headers })))
    }
    fn is_live(&self) -> bool {
        true
    }
}

/// Answers each connection's first request with the next of these, and keeps the heads.
async fn serve(answers: &'static [&'static str]) -> (Endpoint, tokio::task::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/CANARY-path/?c=CANARY-query", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let mut heads = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut heard = Vec::new();
            while !heard.windows(4).any(|it| it == b"\r\n\r\n") {
                stream.read_buf(&mut heard).await.unwrap();
            }
            heads.push(String::from_utf8(heard).unwrap());
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
        heads
    });
    let timeout = Duration::from_secs(5);
    (Endpoint::new(&url, Late(Arc::new(Counting::default())), timeout, None).unwrap(), server)
}

#[tokio::test]
async fn every_request_asks_for_its_headers_and_has_a_connection_of_its_own() {
    const OK: &str = "HTTP/1.1 200 OK\r\nx-who: me\r\ncontent-length: 4\r\n\r\nbody";
    let (endpoint, server) = serve(&[OK, OK, OK]).await;
    let mut posted = endpoint.post("text/plain", "{}".into()).await.unwrap();
    assert_eq!((posted.status, posted.header("x-who"), posted.header("x-else")), (200, Some("me"), None));
    assert_eq!(posted.collect(4).await.unwrap(), b"body");
    let mut got = endpoint.get("text/plain").await.unwrap();
    assert_eq!(got.chunk().await.unwrap().as_deref(), Some(&b"body"[..]));
    assert_eq!(got.chunk().await.unwrap(), None);
    let mut deleted = endpoint.delete().await.unwrap();
    assert!(deleted.collect(3).await.unwrap_err().fault.message.ends_with("is longer than 3 bytes"));
    let heads = server.await.unwrap();
    for (at, (head, method)) in heads.iter().zip(["POST", "GET", "DELETE"]).enumerate() {
        assert!(head.starts_with(&format!("{method} /CANARY-path/?c=CANARY-query HTTP/1.1\r\n")), "{head}");
        assert!(head.contains(&format!("x-key: CANARY-{at:08}\r\n")), "{head}");
    }
}

#[tokio::test]
async fn a_refusal_is_told_without_the_path_and_the_keys() {
    const NO: &str = "HTTP/1.1 403 No\r\ncontent-length: 26\r\n\r\nnot with CANARY-00000000 !";
    let (endpoint, server) = serve(&[NO]).await;
    let refused = endpoint.post("*/*", "CANARY-body".into()).await.unwrap().refusal(1000).await;
    assert_eq!(refused.message, "403 not with *** !");
    assert!(refused.hints.is_empty());
    server.await.unwrap();
    let gone = endpoint.get("*/*").await.err().unwrap();
    assert!(gone.fault.message.starts_with("cannot reach http://127.0.0.1:"), "{}", gone.fault.message);
    assert!(!format!("{gone:?}{endpoint:?}").contains("CANARY"), "{gone:?}{endpoint:?}");
}
