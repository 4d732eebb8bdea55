//! Which model is found without being told.

use std::time::{Duration, Instant};

use providers::Secret;
use providers::detect::{Candidate, Env, detect, knock};
use testkit::mock_model::{MockModel, Reply, Step};

use crate::support::KEY;

fn at(mock: &MockModel, name: &'static str) -> Candidate {
    Candidate { name, port: mock.port }
}

#[tokio::test]
async fn a_local_server_is_found_and_asked_for_its_models() {
    let (web, empty, good) = (MockModel::start().await, MockModel::start().await, MockModel::start().await);
    web.set_models(Reply::plain(200, "text/html", "<html>a dev server</html>"));
    empty.set_models(Reply::plain(200, "application/json", "{\"data\":[]}"));
    let candidates = [at(&web, "A"), at(&empty, "B"), at(&good, "C")];
    let choice = detect(&Env::default(), &candidates).await;
    let server = choice.server.unwrap();
    assert_eq!(server.base_url, good.base_url);
    assert_eq!(server.model.as_deref(), Some("mock/alpha"));
    assert_eq!(choice.reason, format!("C answers on port {}", good.port));
    for mock in [&web, &empty, &good] {
        assert_eq!(mock.requests().len(), 1);
        assert_eq!(mock.requests()[0].header("authorization"), None);
    }
}

#[tokio::test]
async fn the_environment_settles_it_without_a_probe() {
    let mock = MockModel::start().await;
    let env = Env { base_url: Some("http://127.0.0.1:1/v1".into()), api_key: Secret::new(KEY) };
    let choice = detect(&env, &[at(&mock, "A")]).await;
    assert_eq!(choice.server.unwrap().base_url, "http://127.0.0.1:1/v1");
    assert_eq!(mock.connections(), 0);
    // A key alone is a vendor's: it leads nowhere, and nobody who is found gets it.
    let env = Env { base_url: None, api_key: Secret::new(KEY) };
    let server = detect(&env, &[at(&mock, "A")]).await.server.unwrap();
    assert_eq!((&*server.base_url, server.api_key), (&*mock.base_url, None));
    assert!(!format!("{:?}", mock.requests()).contains(KEY));
}

#[tokio::test]
async fn a_knock_tells_open_ports_from_closed_ones_and_asks_nothing() {
    let (open, gone) = (MockModel::start().await, MockModel::start().await);
    let candidates = [at(&gone, "closed"), at(&open, "open")];
    drop(gone);
    assert_eq!(knock(&candidates).await, [at(&open, "open")]);
    assert_eq!(open.requests().len(), 0);
}

#[tokio::test]
async fn slow_servers_and_closed_ports_cost_at_most_the_time_allowed() {
    let (slow, gone, good) = (MockModel::start().await, MockModel::start().await, MockModel::start().await);
    slow.set_models(Reply::stream([Step::Hold]));
    let closed = at(&gone, "closed");
    drop(gone);
    let started = Instant::now();
    let choice = detect(&Env::default(), &[at(&slow, "slow"), closed.clone(), at(&good, "good")]).await;
    assert_eq!(choice.server.unwrap().base_url, good.base_url);
    assert!(started.elapsed() < Duration::from_millis(600), "{:?}", started.elapsed());

    let choice = detect(&Env::default(), &[closed]).await;
    assert!(choice.server.is_none());
    assert_eq!(choice.reason, "no key in the environment and no local server found");
}
