//! A model behind https: the configuration's authorities count, and a key stays with its server.

use providers::{Client, Config, Secret};
use testkit::mock_model::{MockModel, Reply};
use testkit::peers::Authority;
use vocab::Provider;

use crate::support::*;

const NAME: &str = "localhost";

fn client(port: u16, authority: &Authority) -> Client {
    let mut config = Config::new(format!("https://{NAME}:{port}/v1"));
    config.api_key = Secret::new(KEY);
    config.ca_file = Some(authority.file.clone());
    Client::new(config).unwrap()
}

#[tokio::test]
async fn an_authority_from_the_configuration_is_trusted_and_the_connection_is_kept() {
    let mock = MockModel::start().await;
    let authority = Authority::new();
    let front = authority.front(NAME, mock.port).await;
    let client = client(front.port, &authority);
    for word in ["a", "b"] {
        assert_eq!(text(&ask(&client, &format!("say {word}")).await), word);
    }
    assert_eq!(client.models().await.unwrap().len(), 2);
    assert_eq!(mock.connections(), 1, "over TLS, too, calls in a row share one connection");
    assert_eq!(mock.chats()[0].header("authorization"), Some(&*format!("Bearer {KEY}")));
}

#[tokio::test]
async fn a_redirect_from_https_to_anywhere_never_gets_the_key() {
    let (mock, elsewhere) = (MockModel::start().await, MockModel::start().await);
    let authority = Authority::new();
    let front = authority.front(NAME, mock.port).await;
    let other = authority.front("127.0.0.1", elsewhere.port).await;
    let client = client(front.port, &authority);
    for location in [
        format!("https://127.0.0.1:{}/v1/chat/completions", other.port),
        format!("http://127.0.0.1:{}/v1/chat/completions", elsewhere.port),
        // The same machine by the same name, and yet another server.
        format!("https://{NAME}:{}/v1/chat/completions", other.port),
    ] {
        mock.push(Reply::plain(307, "text/plain", "").header("location", &location));
        let fault = failure(&ask(&client, "say x").await).clone();
        assert!(fault.fault.message.contains("redirects are not followed"), "{fault:?}");
        assert!(!fault.retryable);
    }
    assert_eq!(elsewhere.connections(), 0);
}
