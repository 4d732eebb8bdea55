//! https for real: whom we trust, what is said when somebody is not trusted, and what a proxy gets to see.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use bytes::Bytes;
use net::{Exchange, Http, HttpConfig, KnownCredentials, Method, NetFault, Pieces, Proxy, RequestHead};
use testkit::mock_model::MockModel;
use testkit::peers::{Authority, Tunnels};
use vocab::{FaultKind, Secret};

const NAME: &str = "localhost";
const KEY: &str = "sk-canary-7f3a91d2c4";

fn server(base_url: &str, ca_file: Option<PathBuf>, proxy: Option<Proxy>) -> Http {
    let known = KnownCredentials { key: Secret::new(KEY), headers: Vec::new() };
    Http::new(HttpConfig::new(base_url, &known, Duration::from_secs(10), proxy).trusting(ca_file)).unwrap()
}

/// One that is reached straight.
fn direct(host: &str, port: u16, ca_file: Option<PathBuf>) -> Http {
    server(&format!("https://{host}:{port}/v1"), ca_file, None)
}

/// The status of its list of models.
async fn status(http: &Http) -> Result<u16, NetFault> {
    send(http, Method::GET, "/models", None).await
}

async fn send(http: &Http, method: Method, path: &str, body: Option<&'static str>) -> Result<u16, NetFault> {
    let head = RequestHead { method: &method, path, accept: "*/*", headers: &[] };
    let pieces = || Pieces::new(body.into_iter().map(Bytes::from).collect());
    let (head, mut body) = http.send(head, pieces).await?;
    body.collect(1 << 20).await.unwrap();
    body.done(http).await;
    Ok(head.status().as_u16())
}

#[tokio::test]
async fn a_certificate_that_is_not_trusted_is_named_and_the_key_stays() {
    let mock = MockModel::start().await;
    let authority = Authority::new();
    let stranger = Authority::new();
    let other_name = authority.front("elsewhere.example", mock.port).await;
    let expired = authority.front_until(NAME, mock.port, 2020).await;
    let unknown = stranger.front(NAME, mock.port).await;
    for (port, what, advice) in [
        (unknown.port, "signed by nobody this machine trusts", "SSL_CERT_FILE"),
        (other_name.port, "for another name", "the right address?"),
        (expired.port, "has expired", "clock"),
    ] {
        let fault = status(&direct(NAME, port, Some(authority.file.clone()))).await.unwrap_err();
        assert_eq!((fault.fault.kind, fault.retryable), (FaultKind::Network, false), "{fault:?}");
        assert!(fault.fault.message.contains(what), "{fault:?}");
        assert!(matches!(&fault.fault.hints[..], [hint] if hint.contains(advice)), "{fault:?}");
    }
    assert_eq!(mock.requests().len(), 0, "nothing was sent");
}

#[tokio::test]
async fn a_ca_file_that_cannot_be_used_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "no certificate here\n").unwrap();
    let broken = folder.path().join("broken.pem");
    std::fs::write(&broken, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap();
    for file in [folder.path().join("missing.pem"), empty, broken] {
        let fault = status(&direct(NAME, 1, Some(file.clone()))).await.unwrap_err();
        assert_eq!((fault.fault.kind, fault.retryable), (FaultKind::Invalid, false), "{fault:?}");
        assert!(fault.fault.message.contains(&*file.to_string_lossy()), "{fault:?}");
        assert!(fault.fault.hints[0].contains("PEM"), "{fault:?}");
    }
}

/// Set for children of tests: the port of a server, and the file of its authority.
const CHILD_PORT: &str = "TILLERMAN_TEST_TLS_PORT";
const CHILD_FILE: &str = "TILLERMAN_TEST_TLS_FILE";

/// Runs a test in a process of its own, because it is about something that belongs to the whole process.
async fn passes_alone(test: &str, variables: &[(&str, &OsStr)]) -> bool {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored"]).envs(variables.iter().copied());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    output.status.success() && String::from_utf8_lossy(&output.stdout).contains("1 passed")
}

fn child_port() -> Option<u16> {
    std::env::var(CHILD_PORT).ok()?.parse().ok()
}

#[tokio::test]
async fn ssl_cert_file_is_heeded() {
    let mock = MockModel::start().await;
    let (authority, stranger) = (Authority::new(), Authority::new());
    let front = authority.front(NAME, mock.port).await;
    let port = front.port.to_string();
    let says = async |file: &Path| {
        let variables = [("SSL_CERT_FILE", file.as_os_str()), (CHILD_PORT, OsStr::new(&port))];
        passes_alone("tls::child_with_ssl_cert_file", &variables).await
    };
    assert!(says(&authority.file).await);
    assert_eq!(mock.requests().len(), 1);
    assert!(!says(&stranger.file).await, "another authority is not trusted");
}

#[tokio::test]
#[ignore = "started by ssl_cert_file_is_heeded"]
async fn child_with_ssl_cert_file() {
    let Some(port) = child_port() else { return };
    assert_eq!(status(&direct(NAME, port, None)).await, Ok(200));
}

#[tokio::test]
async fn what_the_process_trusts_counts_for_every_server_that_names_no_file() {
    let mock = MockModel::start().await;
    let authority = Authority::new();
    let front = authority.front(NAME, mock.port).await;
    let port = front.port.to_string();
    let variables = [(CHILD_FILE, authority.file.as_os_str()), (CHILD_PORT, OsStr::new(&port))];
    assert!(passes_alone("tls::child_that_trusts_everywhere", &variables).await);
    assert_eq!(mock.requests().len(), 2);
}

#[tokio::test]
#[ignore = "started by what_the_process_trusts_counts_for_every_server_that_names_no_file"]
async fn child_that_trusts_everywhere() {
    let (Some(port), Some(file)) = (child_port(), std::env::var_os(CHILD_FILE)) else { return };
    let url = format!("https://{NAME}:{port}/v1/models");
    let exchange = || Exchange {
        url: &url,
        content: None,
        bearer: None,
        headers: &[],
        proxy: None,
        timeout: Duration::from_secs(10),
        answer_bytes_max: 1 << 20,
    };
    let fault = exchange().send().await.unwrap_err();
    assert!(fault.message.contains("signed by nobody"), "{fault}");
    assert!(net::trust_everywhere(file.into()));
    assert!(!net::trust_everywhere("another".into()), "it is said once");
    assert_eq!(exchange().send().await.unwrap().status, 200);
    assert_eq!(status(&direct(NAME, port, None)).await, Ok(200));
}

#[tokio::test]
async fn a_proxy_sees_where_we_go_and_nothing_else() {
    let mock = MockModel::start().await;
    let authority = Authority::new();
    // No name server knows this one: whoever gets there got there through the proxy.
    let host = "model.invalid";
    let front = authority.front(host, mock.port).await;
    let proxy = Tunnels::start(Some(front.port)).await;
    let address = format!("http://me:pass-canary@127.0.0.1:{}", proxy.port);
    let environment = |name: &str| (name == "HTTPS_PROXY").then(|| address.clone());
    let base_url = format!("https://{host}/v1");
    let http = server(&base_url, Some(authority.file.clone()), Proxy::from_env(&base_url, environment));
    for _ in 0..2 {
        send(&http, Method::POST, "/chat/completions", Some("prompt-canary")).await.unwrap();
    }
    assert_eq!(mock.requests()[0].header("authorization"), Some(&*format!("Bearer {KEY}")));
    assert_eq!(mock.requests()[0].header("proxy-authorization"), None, "that one is the proxy's");

    let seen = proxy.seen();
    assert_eq!(seen.heads.len(), 1, "one tunnel for all calls");
    assert!(seen.heads[0].starts_with(&format!("CONNECT {host}:443 HTTP/1.1\r\n")), "{:?}", seen.heads);
    assert!(seen.heads[0].to_lowercase().contains("proxy-authorization: basic "), "{:?}", seen.heads);
    let all = [seen.heads[0].as_bytes(), &seen.bytes].concat();
    for secret in [KEY, "prompt-canary", "chat/completions"] {
        assert!(!all.windows(secret.len()).any(|part| part == secret.as_bytes()), "the proxy saw {secret}");
    }
}

#[tokio::test]
async fn no_proxy_spares_a_host() {
    let mock = MockModel::start().await;
    let authority = Authority::new();
    let front = authority.front(NAME, mock.port).await;
    let proxy = Tunnels::start(Some(front.port)).await;
    let base_url = format!("https://{NAME}:{}/v1", front.port);
    let environment = |name: &str| match name {
        "HTTPS_PROXY" => Some(format!("http://127.0.0.1:{}", proxy.port)),
        "NO_PROXY" => Some(format!("example.com,{NAME}")),
        _ => None,
    };
    let http = server(&base_url, Some(authority.file.clone()), Proxy::from_env(&base_url, environment));
    assert_eq!(status(&http).await, Ok(200));
    assert_eq!(proxy.seen().heads.len(), 0);
}

#[tokio::test]
async fn a_plain_server_is_never_reached_through_a_proxy() {
    let mock = MockModel::start().await;
    let proxy = Tunnels::start(Some(mock.port)).await;
    let plain = server(&mock.base_url, None, Proxy::new(&format!("127.0.0.1:{}", proxy.port)));
    assert!(plain.server.starts_with("http://"));
    assert_eq!(status(&plain).await, Ok(200));
    assert_eq!(proxy.seen().heads.len(), 0, "it would have seen the key");
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named_without_its_password() {
    let proxy = Tunnels::start(None).await;
    let through = Proxy::new(&format!("http://me:pass-canary@127.0.0.1:{}", proxy.port));
    let fault = status(&server("https://model.invalid/v1", None, through)).await.unwrap_err();
    assert_eq!((fault.fault.kind, fault.retryable), (FaultKind::Network, true));
    let hints = fault.fault.hints.join("\n");
    assert!(hints.contains(&format!("the proxy http://127.0.0.1:{}/", proxy.port)), "{hints}");
    assert!(!format!("{fault:?}").contains("canary"));
}
