//! Keys never show up where they do not belong.

use std::io::{Read, Write};

use net::Proxy;
use providers::Secret;
use providers::{Client, Config};
use testkit::mock_model::{MockModel, Reply, Step};
use vocab::{FaultKind, Provider};

use crate::support::*;

#[tokio::test]
async fn a_key_that_a_server_echoes_is_masked_everywhere() {
    let echo = format!("your key {KEY} is odd");
    let raw = |text: String| Reply::stream([Step::Raw(text.into_bytes())]);
    for reply in [
        Reply::error(400, &echo),
        Reply::error(401, &echo),
        Reply::error(429, &echo),
        Reply::error(500, &echo),
        Reply::plain(500, "text/plain", format!("{}{echo}", "x".repeat(480))),
        Reply::plain(307, "text/plain", "").header("location", &format!("http://{KEY}.example/")),
        Reply::plain(200, KEY, "x"),
        Reply::plain(200, "application/json", format!(r#"{{"error":"{echo}"}}"#)),
        raw(format!("data: {{\"error\":{{\"message\":\"{echo}\"}}}}\n\n")),
        raw(format!("data: {{\"choices\":\"{echo}\"}}\n\n")),
        raw(format!("data: {{\"usage\":\"{echo}\"}}\n\n")),
    ] {
        let mock = MockModel::start().await;
        mock.push(reply.clone());
        mock.set_models(reply);
        let provider = provider(&mock);
        let events = ask(&provider, "x").await;
        let shown = format!("{:?} {events:?} {:?}", failure(&events), provider.models().await);
        assert!(!shown.contains("canary"), "{shown}");
        assert_eq!(mock.requests()[0].header("authorization"), Some(&*format!("Bearer {KEY}")), "it was really sent");
    }
}

#[test]
fn a_secret_shows_as_stars() {
    let secret = Secret::new(&format!(" {KEY}\n")).unwrap();
    assert_eq!(secret.expose(), KEY);
    let mut config = Config::new("https://h/v1");
    config.api_key = Some(secret.clone());
    assert_eq!(format!("{secret} {secret:?}"), "*** ***");
    assert!(!format!("{config:?}").contains("canary"));
    assert!(Secret::new(" \n").is_none());

    config.api_key = Secret::new("sk-canary\r\nx-evil: 1");
    let Err(fault) = Client::new(config) else { panic!("it was taken") };
    assert!(!format!("{fault:?}").contains("canary"));
}

/// Whatever brings a key and an address together: nothing but the user's own word lets the key go unencrypted.
#[test]
fn what_proves_who_we_are_goes_to_another_machine_by_https_alone() {
    type Proof = fn(&mut Config);
    let proofs: [Proof; 2] = [
        |config| config.api_key = Secret::new(KEY),
        |config| config.headers = vec![("X-Key".into(), Secret::new(KEY).unwrap())],
    ];
    for proof in proofs {
        let mut config = Config::new("http://192.168.1.5:11434/v1");
        proof(&mut config);
        config.key_name = Some("OPENAI_API_KEY".into());
        let Err(fault) = Client::new(config.clone()) else { panic!("it would be sent") };
        let said = format!("{} {:?}", fault.message, fault.hints);
        for part in ["not sent to 192.168.1.5", "https", "unset OPENAI_API_KEY", "beside that very address"] {
            assert!(said.contains(part), "{said}");
        }
        assert!(!said.contains("canary"), "{said}");
        for closed in ["https://192.168.1.5/v1", "http://127.0.0.1:1/v1"] {
            assert!(Client::new(Config { base_url: closed.to_owned(), ..config.clone() }).is_ok(), "{closed}");
        }
        assert!(Client::new(Config { is_paired: true, ..config }).is_ok(), "the user said so");
    }
    assert!(Client::new(Config::new("http://192.168.1.5:11434/v1")).is_ok(), "who has no key has nothing to lose");
}

/// `IS` tells whether a type can be serialised: what a type has itself wins over what everything has.
struct Probe<T>(std::marker::PhantomData<T>);

trait Everything {
    const IS: bool = false;
}
impl<T> Everything for Probe<T> {}
impl<T: serde::Serialize> Probe<T> {
    const IS: bool = true;
}

#[test]
fn a_secret_cannot_be_serialised() {
    const { assert!(Probe::<String>::IS && !Probe::<Secret>::IS) }
}

#[tokio::test]
async fn a_proxy_sees_a_tunnel_and_no_key() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap();
    let proxy = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut seen = Vec::new();
        while !seen.ends_with(b"\r\n\r\n") {
            let mut some = [0; 1024];
            let length = socket.read(&mut some).unwrap();
            assert!(length > 0, "the request was cut: {}", String::from_utf8_lossy(&seen));
            seen.extend_from_slice(&some[..length]);
        }
        socket.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        // What comes next is TLS; a handful of it is enough.
        let mut some = [0; 1024];
        let length = socket.read(&mut some).unwrap();
        (String::from_utf8_lossy(&seen).into_owned(), some[..length].to_vec())
    });
    let mut config = Config::new("https://model.example/v1");
    config.api_key = Secret::new(KEY);
    config.proxy = Proxy::new(&format!("http://me:word@{place}"));
    let provider = Client::new(config.clone()).unwrap();
    assert_eq!(failure_kind(&ask(&provider, "x").await), FaultKind::Network);
    let (tunnel, inside) = proxy.join().unwrap();
    assert!(tunnel.starts_with("CONNECT model.example:443 "), "{tunnel}");
    assert!(tunnel.to_lowercase().contains("proxy-authorization: basic "), "{tunnel}");
    assert!(!tunnel.contains("canary") && !String::from_utf8_lossy(&inside).contains("canary"));
    assert_eq!(inside[0], 0x16, "a TLS handshake");

    // Plain http does not go near it.
    let mock = MockModel::start().await;
    config.base_url = mock.base_url.clone();
    assert_eq!(text(&ask(&Client::new(config).unwrap(), "say direct").await), "direct");
}
