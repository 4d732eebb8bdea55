//! What models a server says it has.

use std::time::Duration;

use providers::{Client, Config, Loaded};
use testkit::mock_model::{MockModel, Reply, Step};
use vocab::{FaultKind, ModelInfo, Prices, Provider};

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

/// What a test looks at: window, output limit, price of input, images, thinking, levels.
fn told(model: &ModelInfo) -> (u64, Option<u64>, Option<f64>, bool, bool, Option<String>) {
    let levels = model.levels.as_ref().map(|levels| levels.join(" "));
    (
        model.context_window,
        model.max_output,
        model.prices.map(|prices| prices.input),
        model.images,
        model.thinking,
        levels,
    )
}

const GPT_5: &str = "minimal low medium high";

#[tokio::test]
async fn the_configuration_wins_over_the_list_and_the_list_over_the_table() {
    let mock = MockModel::start().await;
    let list = r#"{"data":[
        {"id":"gpt-5"}, {"id":"gpt-5-2025-08-07"}, {"id":"gpt-4o"}, {"id":"tts"},
        {"id":"gpt-4.1","supported_parameters":["reasoning"]},
        {"id":"gpt-5-mini","context_length":300000,"supported_parameters":["tools"],
         "pricing":{"prompt":"0.000007","completion":"0.000008"},"architecture":{"input_modalities":["text"]}},
        {"id":"gpt-5-nano","context_length":300000,"top_provider":{"max_completion_tokens":50}}]}"#;
    mock.set_models(Reply::plain(200, "application/json", list));
    let prices = Prices { input: 3.0, cache_read: 3.0, cache_write: 3.0, output: 3.0 };
    let provider = provider_with(&mock, |config| {
        config.provider = Some("openai".into());
        config.default_context_window = 99;
        config.models = vec![
            ModelInfo { prices: Some(prices), ..ModelInfo::named("gpt-5-nano", 0) },
            ModelInfo { images: true, max_output: Some(9), ..ModelInfo::named("gpt-5-mini", 7) },
            ModelInfo { thinking: true, ..ModelInfo::named("gpt-4o", 0) },
            ModelInfo::named("mine", 0),
        ];
    });
    let look = |slug: &str| told(&provider.resolve(slug).unwrap());
    let levels = |levels: &str| Some(levels.to_owned());
    // Before the list: the configuration and the table.
    assert_eq!(look("gpt-5"), (400_000, Some(128_000), Some(1.25), true, true, levels(GPT_5)));
    assert_eq!(look("gpt-5-nano"), (400_000, Some(128_000), Some(3.0), true, true, levels(GPT_5)));
    assert_eq!(look("gpt-4.1"), (1_047_576, Some(32_768), Some(2.0), true, false, levels("")));
    assert_eq!(look("never-heard-of"), (99, None, None, true, true, None));
    assert_eq!(
        (provider.has("mine"), provider.has("gpt-5"), provider.has("tts")),
        (Some(true), Some(true), Some(false))
    );

    provider.load_catalogue(SECOND).await.unwrap();
    for (slug, want) in [
        ("gpt-5", (400_000, Some(128_000), Some(1.25), true, true, levels(GPT_5))),
        ("gpt-5-2025-08-07", (400_000, Some(128_000), Some(1.25), true, true, levels(GPT_5))),
        ("gpt-5-nano", (300_000, Some(50), Some(3.0), true, true, levels(GPT_5))),
        ("gpt-5-mini", (7, Some(9), Some(7.0), true, true, levels(""))),
        ("gpt-4o", (128_000, Some(16_384), Some(2.5), true, true, levels(""))),
        ("gpt-4.1", (1_047_576, Some(32_768), Some(2.0), true, true, levels("off minimal low medium high"))),
        ("tts", (99, None, None, true, true, None)),
        ("mine", (99, None, None, true, true, None)),
    ] {
        assert_eq!(look(slug), want, "{slug}");
        let known = provider.known().into_iter().find(|model| &*model.slug == slug);
        assert_eq!(known.as_ref().map(told), Some(want), "{slug}");
        assert_eq!(provider.has(slug), Some(true), "{slug}");
    }
    assert_eq!(provider.known().len(), 8);
    assert_eq!(provider.has("never-heard-of"), Some(false));
    assert_eq!((provider.has("gpt-5.4"), provider.has("luna")), (Some(false), Some(false)), "the list tells better");
    assert_eq!(&*provider.resolve("gpt-5").unwrap().name, "GPT-5");
}

#[tokio::test]
async fn a_list_remembered_from_an_earlier_run_is_completed_too() {
    let place = tempfile::tempdir().unwrap();
    let mock = MockModel::start().await;
    mock.set_models(Reply::plain(200, "application/json", r#"[{"id":"gpt-5"},{"id":"other"}]"#));
    let start = |window: u64| {
        provider_with(&mock, |config| {
            config.provider = Some("openai".into());
            config.cache_file = Some(place.path().join("models.json"));
            config.default_context_window = window;
        })
    };
    let windows = |provider: &Client| provider.known().iter().map(|model| model.context_window).collect::<Vec<_>>();
    let first = start(99);
    assert_eq!(windows(&first), [0; 0], "a server on this machine has what it says it has");
    first.load_catalogue(SECOND).await.unwrap();
    assert_eq!(windows(&first), [400_000, 99]);
    assert_eq!(windows(&start(77)), [400_000, 77], "a default is not remembered");
}

#[test]
fn a_vendor_that_was_never_asked_serves_what_the_table_has() {
    let client = |url: &str, name: Option<&str>| {
        let mut config = Config::new(url);
        config.provider = name.map(Into::into);
        config.models = vec![ModelInfo::named("mine", 5)];
        Client::new(config).unwrap()
    };
    let openai = client("https://api.openai.com/v1", None);
    let known = openai.known();
    assert_eq!((&*known[0].slug, &*known[1].slug), ("mine", "gpt-6.1-sol"));
    assert_eq!(known.len(), providers::models::of("openai").len() + 1);
    assert!(known.iter().all(|model| &*model.api == "openai-completions" && &*model.provider == "openai"));
    assert_eq!((openai.has("gpt-4o-2024-08-06"), openai.has("luna")), (Some(true), Some(true)));
    let bare = Client::new(Config::new("https://api.openai.com/v1")).unwrap();
    assert_eq!((bare.has("gpt-5"), bare.has("gpt-99")), (Some(true), None), "the table is no list");
    assert_eq!(openai.resolve("gpt-4o-2024-08-06").unwrap().max_output, Some(16_384));
    let meant = openai.resolve("luna").unwrap();
    assert_eq!((&*meant.slug, &*meant.id, meant.context_window), ("gpt-6-luna", "gpt-6-luna", 1_050_000));
    assert_eq!(&*openai.resolve("sonnet").unwrap().slug, "sonnet", "another vendor's word");

    for (url, name) in [
        ("http://127.0.0.1:8080/v1", None),
        ("http://127.0.0.1:8080/v1", Some("openai")),
        ("http://localhost:11434/v1", Some("anthropic")),
        ("https://openrouter.ai/api/v1", None),
        ("https://example.com/v1", None),
        ("https://example.com/v1", Some("anthropic")),
    ] {
        let slugs: Vec<_> = client(url, name).known().iter().map(|model| model.slug.clone()).collect();
        assert_eq!(slugs, ["mine".into()], "{url} {name:?}");
    }
    let stranger = client("http://127.0.0.1:8080/v1", None).resolve("gpt-5").unwrap();
    assert_eq!(
        told(&stranger),
        (128_000, None, None, true, true, None),
        "a model of that name, served by nobody we know"
    );
}
