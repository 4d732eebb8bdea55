//! Connections that nobody uses: they are used again, and none stays for longer than it could be.

use std::sync::Arc;
use std::time::Duration;

use net::{Http, HttpConfig, KnownCredentials, Method, Pieces, RequestHead};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

async fn heard(stream: &mut TcpStream) {
    let mut heard = Vec::new();
    while !heard.ends_with(b"\r\n\r\n") {
        assert_ne!(stream.read_buf(&mut heard).await.unwrap(), 0, "a request");
    }
}

/// A request whose answer is read to its end; the server's end of a connection that is new.
async fn asked(http: &Arc<Http>, listener: &TcpListener, kept: Option<&mut TcpStream>) -> Option<TcpStream> {
    let answering = async {
        let (mut new, mut kept) = (None, kept);
        let stream = match &mut kept {
            Some(stream) => &mut **stream,
            None => new.insert(listener.accept().await.unwrap().0),
        };
        heard(stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await.unwrap();
        new
    };
    let head = RequestHead { method: &Method::GET, path: "/", accept: "*/*", headers: &[] };
    let (answer, new) = tokio::join!(http.send(head, Pieces::empty), answering);
    let (_, mut body) = answer.unwrap();
    assert_eq!(body.collect(10).await.unwrap(), (b"ok".to_vec(), true));
    body.done(http).await;
    new
}

/// Whether we have closed our end.
async fn is_closed(stream: &mut TcpStream) -> bool {
    let read = tokio::time::timeout(Duration::from_millis(200), stream.read_u8()).await;
    matches!(read, Ok(Err(_)))
}

#[tokio::test]
async fn a_connection_that_nobody_uses_is_closed_though_nobody_calls() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let known = KnownCredentials::default();
    let http = Arc::new(Http::new(HttpConfig::new(&url, &known, Duration::from_secs(5), None)).unwrap());
    let mut first = asked(&http, &listener, None).await.unwrap();
    assert!(asked(&http, &listener, Some(&mut first)).await.is_none(), "it is used again");
    assert!(!is_closed(&mut first).await);
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(61)).await;
    tokio::time::resume();
    assert!(is_closed(&mut first).await);
    // And so is one that comes later.
    let mut second = asked(&http, &listener, None).await.unwrap();
    assert!(!is_closed(&mut second).await);
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(61)).await;
    tokio::time::resume();
    assert!(is_closed(&mut second).await);
}
