//! Servers whose models are told by somebody else than the server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use providers::models::CHATGPT;
use providers::{Api, Client, Config, Lister, Listing, Lists, Loaded};
use testkit::mock_model::MockModel;
use vocab::{Fault, FaultKind, Later, ModelInfo, Provider};

const TIME: Duration = Duration::from_secs(5);

fn client(mock: &MockModel, listing: Listing) -> Client {
    let mut config = Config::new(&mock.base_url);
    config.api = Api::Responses;
    config.provider = Some("openai".into());
    config.models = vec![ModelInfo::named("mine", 5_000)];
    config.listing = listing;
    Client::new(config).unwrap()
}

#[tokio::test]
async fn a_table_is_asked_of_nobody_and_is_no_list() {
    let mock = MockModel::start().await;
    let client = client(&mock, Listing::Table(&CHATGPT));
    let known = client.known();
    assert_eq!(known.len(), CHATGPT.models.len() + 1);
    assert_eq!(client.models().await.unwrap(), known);
    assert_eq!(client.refreshed(TIME).await.unwrap(), (known.clone(), Loaded::Remembered));
    assert_eq!(client.load_catalogue(TIME).await.unwrap(), Loaded::Remembered);
    assert_eq!(mock.requests().len(), 0);
    assert!(known.iter().all(|model| model.prices.is_none() && *model.base_url == *mock.base_url));
    let sol = client.resolve("sol").unwrap();
    assert_eq!((&*sol.id, sol.context_window, sol.max_output), ("gpt-6.1-sol", 500_000, Some(128_000)));
    for (name, want) in [("gpt-6-luna", Some(true)), ("luna", Some(true)), ("mine", Some(true)), ("gpt-next", None)] {
        assert_eq!(client.has(name), want, "{name}");
    }
}

#[derive(Default)]
struct Counted(AtomicUsize);

impl Lists for Counted {
    fn list(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        let first = self.0.fetch_add(1, Ordering::Relaxed) == 0;
        let told = match first {
            true => Ok(vec![ModelInfo::named("told", 0)]),
            false => Err(Fault::new(FaultKind::Network, "away")),
        };
        Box::pin(std::future::ready(told))
    }
}

#[tokio::test]
async fn whoever_knows_the_models_is_asked_instead_of_the_server() {
    let mock = MockModel::start().await;
    let lister = Arc::new(Counted::default());
    let client = client(&mock, Listing::Asked(Lister(lister.clone())));
    assert_eq!(client.load_catalogue(TIME).await.unwrap(), Loaded::Fetched);
    assert_eq!(client.load_catalogue(TIME).await.unwrap(), Loaded::Remembered);
    let slugs = |models: Vec<ModelInfo>| models.iter().map(|model| model.slug.to_string()).collect::<Vec<_>>();
    assert_eq!(slugs(client.models().await.unwrap()), ["mine", "told"], "what was told before counts");
    assert_eq!((lister.0.load(Ordering::Relaxed), mock.requests().len()), (2, 0));
    assert_eq!(client.resolve("told").unwrap().context_window, 128_000, "what nobody knows is the default");
    assert_eq!((client.has("told"), client.has("untold")), (Some(true), Some(false)));
}
