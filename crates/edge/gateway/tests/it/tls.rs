//! TLS: a certificate of our own, and sockets over it.

use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::server::{LIMITS, plain, request, start_with};

#[tokio::test]
async fn a_socket_over_tls_is_a_socket() {
    let playing = start_with(|options| options.tls = gateway::TlsChoice::SelfSigned).await;
    assert!(playing.handle.url().expect("a url").starts_with("https://127.0.0.1:"));
    let pem = std::fs::read(playing.home.path().join("gateway/self-signed.pem")).expect("a certificate");
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(&pem).expect("a certificate")).expect("a root");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(playing.address).await.expect("a connection");
    let name = ServerName::try_from("localhost").expect("a name");
    let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.expect("a handshake");
    let origin = format!("https://{}", playing.address);
    let request = request(playing.address, "/", &[("Origin", &origin)]);
    let (mut hears, mut says, _) = websocket::connect(stream, &request, LIMITS, plain()).await.expect("a socket");
    for text in ["hello".to_owned(), "x".repeat(1 << 20)] {
        std::future::poll_fn(|context| host::MessageSink::poll_send(&mut says, context, text.as_bytes()))
            .await
            .expect("sent");
        let answer = std::future::poll_fn(|context| host::MessageStream::poll_receive(&mut hears, context)).await;
        assert_eq!(answer.as_deref(), Some(text.as_bytes()));
    }
}
