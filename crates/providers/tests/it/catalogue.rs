//! What models a server says it has.

use std::time::Duration;

use providers::{Client, Config, Loaded};
use testkit::mock_model::{MockModel, Reply, Step};
use vocab::{FaultKind, ModelInfo, Provider};

use crate::support::*;

const SECOND: Duration = Duration::from_secs(1);

fn windows(models: &[ModelInfo]) -> Vec<(&str, u64)> {
    models.iter().map(|model| (&*model.slug, model.context_window)).collect()
}

#[tokio::test]
async fn any_name_resolves_and_its_window_comes_from_the_best_source() {
    let mock = MockModel::start().await;
    let known = provider(&mock).resolve("mock/beta").unwrap();
    let provider = provider_with(&mock, |config| {
        config.models = vec![ModelInfo { slug: "mock/alpha".into(), context_window: 7, ..known }];
        config.default_context_window = 99;
    });
    let window = |slug: &str| provider.resolve(slug).unwrap().context_window;
    assert_eq!((window("mock/alpha"), window("mock/beta"), window("other")), (7, 99, 99));
    assert_eq!(mock.connections(), 0, "resolving asks nobody");
    assert_eq!(provider.load_catalogue(SECOND).await, Ok(Loaded::Fetched));
    assert_eq!((window(" mock/alpha "), window("mock/beta"), window("other")), (7, 200_000, 99));
    assert_eq!(provider.load_catalogue(SECOND).await, Ok(Loaded::Remembered));
    assert_eq!(windows(&provider.models().await.unwrap()), [("mock/alpha", 7), ("mock/beta", 200_000)]);

    let fault = provider.resolve("  ").unwrap_err();
    assert_eq!(fault.kind, FaultKind::UnknownModel);
    assert!(fault.hints[0].contains("mock/beta"));
}

#[tokio::test]
async fn a_later_start_knows_windows_without_the_network() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("cache/models.json");
    let mock = MockModel::start().await;
    let url = mock.base_url.clone();
    let provider = provider_with(&mock, |config| config.cache_file = Some(file.clone()));
    assert_eq!(provider.load_catalogue(SECOND).await, Ok(Loaded::Fetched));
    drop(mock);

    let mut config = Config::new(&url);
    config.cache_file = Some(file.clone());
    let later = Client::new(config.clone()).unwrap();
    assert_eq!(later.resolve("mock/beta").unwrap().context_window, 200_000);
    assert_eq!(later.load_catalogue(SECOND).await, Ok(Loaded::Remembered));
    assert_eq!(later.models().await.unwrap().len(), 2, "what is remembered, when nobody answers");

    config.base_url = "http://127.0.0.1:9/other/v1".into();
    let other = Client::new(config).unwrap();
    assert_eq!(other.resolve("mock/beta").unwrap().context_window, 128_000, "another server's list");
    assert!(!std::fs::read_to_string(&file).unwrap().contains("canary"));
}

#[tokio::test]
async fn a_list_that_cannot_be_had_is_a_fault_that_says_why() {
    let mock = MockModel::start().await;
    for (reply, kind, word) in [
        (Reply::error(401, "who"), FaultKind::Auth, "401 who"),
        (Reply::plain(200, "text/html", "<html>hi</html>"), FaultKind::Provider, "HTML"),
        (Reply::plain(200, "application/json", "{\"data\":7}"), FaultKind::Provider, "list of models"),
        (Reply::stream([Step::Hold]), FaultKind::Network, "within 200 ms"),
    ] {
        mock.set_models(reply);
        let provider = provider(&mock);
        let fault = provider.load_catalogue(Duration::from_millis(200)).await.unwrap_err();
        assert_eq!(fault.kind, kind, "{fault:?}");
        assert!(fault.message.contains(word), "{fault:?}");
        assert_eq!(provider.resolve("x").unwrap().context_window, 128_000, "and work goes on");
    }
}
