//! https for real: whom we trust, what is said when somebody is not trusted, and what a proxy gets to see.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use providers::{Client, Config, Once, Proxy, Secret};
use testkit::mock_model::{MockModel, Reply};
use vocab::{FaultKind, ModelFault, Provider};

use crate::peers::{Authority, Tunnels};
use crate::support::*;

const NAME: &str = "localhost";

fn client(host: &str, port: u16, change: impl FnOnce(&mut Config)) -> Client {
    let mut config = Config::new(format!("https://{host}:{port}/v1"));
    config.api_key = Secret::new(KEY);
    change(&mut config);
    Client::new(config).unwrap()
}

async fn fault(client: &Client) -> ModelFault {
    failure(&ask(client, "say x").await).clone()
}

#[tokio::test]
async fn an_authority_from_the_configuration_is_trusted_and_the_connection_is_kept() {
    let mock = MockModel::start().await;
    let authority = Authority::new();
    let front = authority.front(NAME, mock.port).await;
    let client = client(NAME, front.port, |config| config.ca_file = Some(authority.file.clone()));
    for word in ["a", "b"] {
        assert_eq!(text(&ask(&client, &format!("say {word}")).await), word);
    }
    assert_eq!(client.models().await.unwrap().len(), 2);
    assert_eq!(mock.connections(), 1, "over TLS, too, calls in a row share one connection");
    assert_eq!(mock.chats()[0].header("authorization"), Some(&*format!("Bearer {KEY}")));
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
        let client = client(NAME, port, |config| config.ca_file = Some(authority.file.clone()));
        let fault = fault(&client).await;
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
        let client = client(NAME, 1, |config| config.ca_file = Some(file.clone()));
        let fault = fault(&client).await;
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
    assert_eq!(mock.chats().len(), 1);
    assert!(!says(&stranger.file).await, "another authority is not trusted");
}

#[tokio::test]
#[ignore = "started by ssl_cert_file_is_heeded"]
async fn child_with_ssl_cert_file() {
    let Some(port) = child_port() else { return };
    assert_eq!(text(&ask(&client(NAME, port, |_| {}), "say trusted").await), "trusted");
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
    let once = || Once {
        url: &url,
        content: None,
        bearer: None,
        headers: &[],
        proxy: None,
        timeout: Duration::from_secs(10),
        answer_bytes_max: 1 << 20,
    };
    let fault = once().send().await.unwrap_err();
    assert!(fault.message.contains("signed by nobody"), "{fault}");
    assert!(providers::trust_everywhere(file.into()));
    assert!(!providers::trust_everywhere("another".into()), "it is said once");
    assert_eq!(once().send().await.unwrap().status, 200);
    assert_eq!(text(&ask(&client(NAME, port, |_| {}), "say trusted").await), "trusted");
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
    let mut config = Config::new(&base_url);
    config.api_key = Secret::new(KEY);
    config.ca_file = Some(authority.file.clone());
    config.proxy = Proxy::from_env(&base_url, environment);
    let client = Client::new(config).unwrap();
    assert_eq!(text(&ask(&client, "say prompt-canary").await), "prompt-canary");
    assert_eq!(text(&ask(&client, "say again").await), "again");
    assert_eq!(mock.chats()[0].header("authorization"), Some(&*format!("Bearer {KEY}")));
    assert_eq!(mock.chats()[0].header("proxy-authorization"), None, "that one is the proxy's");

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
    let client = client(NAME, front.port, |config| {
        config.ca_file = Some(authority.file.clone());
        config.proxy = Proxy::from_env(&base_url, environment);
    });
    assert_eq!(text(&ask(&client, "say direct").await), "direct");
    assert_eq!(proxy.seen().heads.len(), 0);
}

#[tokio::test]
async fn a_plain_server_is_never_reached_through_a_proxy() {
    let mock = MockModel::start().await;
    let proxy = Tunnels::start(Some(mock.port)).await;
    let plain = provider_with(&mock, |config| config.proxy = Proxy::new(&format!("127.0.0.1:{}", proxy.port)));
    assert!(plain.server().starts_with("http://"));
    assert_eq!(text(&ask(&plain, "say direct").await), "direct");
    assert_eq!(proxy.seen().heads.len(), 0, "it would have seen the key");
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named_without_its_password() {
    let proxy = Tunnels::start(None).await;
    let client = client("model.invalid", 443, |config| {
        config.proxy = Proxy::new(&format!("http://me:pass-canary@127.0.0.1:{}", proxy.port));
    });
    let fault = fault(&client).await;
    assert_eq!((fault.fault.kind, fault.retryable), (FaultKind::Network, true));
    let hints = fault.fault.hints.join("\n");
    assert!(hints.contains(&format!("the proxy http://127.0.0.1:{}/", proxy.port)), "{hints}");
    assert!(!format!("{fault:?}").contains("canary"));
}

#[tokio::test]
async fn a_redirect_from_https_to_anywhere_never_gets_the_key() {
    let (mock, elsewhere) = (MockModel::start().await, MockModel::start().await);
    let authority = Authority::new();
    let front = authority.front(NAME, mock.port).await;
    let other = authority.front("127.0.0.1", elsewhere.port).await;
    let client = client(NAME, front.port, |config| config.ca_file = Some(authority.file.clone()));
    for location in [
        format!("https://127.0.0.1:{}/v1/chat/completions", other.port),
        format!("http://127.0.0.1:{}/v1/chat/completions", elsewhere.port),
        // The same machine by the same name, and yet another server.
        format!("https://{NAME}:{}/v1/chat/completions", other.port),
    ] {
        mock.push(Reply::plain(307, "text/plain", "").header("location", &location));
        let fault = fault(&client).await;
        assert!(fault.fault.message.contains("redirects are not followed"), "{fault:?}");
        assert!(!fault.retryable);
    }
    assert_eq!(elsewhere.connections(), 0);
}
