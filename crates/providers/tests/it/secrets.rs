use providers::Secret;
use providers::openai::{Config, OpenAi};
use testkit::mock_model::{MockModel, Reply, Step};
use vocab::Provider;

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
    let mut config = Config::new("http://h/v1");
    config.api_key = Some(secret.clone());
    assert_eq!(format!("{secret} {secret:?}"), "*** ***");
    assert!(!format!("{config:?}").contains("canary"));
    assert!(Secret::new(" \n").is_none());

    config.api_key = Secret::new("sk-canary\r\nx-evil: 1");
    let Err(fault) = OpenAi::new(config) else { panic!("it was taken") };
    assert!(!format!("{fault:?}").contains("canary"));
}
