//! A key of OpenRouter's, and what follows from it; and which model a session starts with when only an account has one.

use accounts::Key;
use catalogue::{KeySet, ModelSource};
use serde_json::{Value, json};
use vocab::{DirectoryVerb, FaultKind, Reply, Secret, Verb};

use super::stage::{BuiltStage, SetupPlace, login};
use super::vendor::{FakeVendor, json, says};
use super::*;

const MODELS: &str = "/router/v1/models";
const CHAT: &str = "/router/v1/chat/completions";

fn list(vendor: &FakeVendor) {
    let thinks = json!({ "id": "a/one", "context_length": 9000, "supported_parameters": ["tools", "reasoning"] });
    let plain = json!({ "id": "b/two", "supported_parameters": ["tools"] });
    vendor.on(MODELS, [json(200, json!({ "data": [thinks, plain, { "id": "openrouter/auto" }] }))]);
}

async fn stage() -> BuiltStage {
    let stage = SetupPlace::new(loose(Some("tour"), None)).await.stage().await;
    list(&stage.vendor);
    stage
}

async fn set(stage: &mut BuiltStage, value: Option<&str>) -> KeySet {
    stage.wired.accounts.set_key(Key::OpenRouter, value.and_then(Secret::new)).await.unwrap()
}

fn key() -> Value {
    json!({ "version": 1, "openrouter_key": "CANARY-stored" })
}

#[tokio::test]
async fn a_key_brings_models_and_a_route_is_in_every_request() {
    let mut stage = stage().await;
    assert_eq!(set(&mut stage, Some("CANARY-key")).await, KeySet { models: 3, source: ModelSource::Remote });
    assert!(stage.is_ready("openrouter").await);
    let models = stage.models().await;
    let levels = |slug: &str| {
        let model = models.iter().find(|model| &*model.slug == slug).unwrap();
        assert_eq!(&*model.provider, "openrouter");
        model.levels.as_ref().map(|levels| levels.join(" "))
    };
    assert_eq!(levels("openrouter/a/one").as_deref(), Some("off minimal low medium high"));
    assert_eq!(levels("openrouter/b/two").as_deref(), Some(""));
    assert_eq!(levels("openrouter/openrouter/auto"), None);
    let resolved = stage.wired.ports.provider.resolve("openrouter/auto").unwrap();
    assert_eq!((&*resolved.slug, &*resolved.id), ("openrouter/openrouter/auto", "openrouter/auto"));
    let fault = stage.wired.ports.provider.resolve("openrouter/c/none").unwrap_err();
    assert!(fault.message.contains("openrouter/a/one, openrouter/b/two"), "{fault}");

    stage.vendor.on(CHAT, [says("one")]);
    assert_eq!(stage.prompt("openrouter/a/one").await, "one");
    stage.wired.accounts.route(Some("deepinfra".into()));
    assert_eq!(stage.prompt("").await, "one");
    stage.wired.accounts.route(None);
    assert_eq!(stage.prompt("").await, "one");
    let heard = stage.vendor.heard(CHAT);
    assert!(heard.iter().all(|heard| heard.bearer() == "CANARY-key" && heard.json()["model"] == "a/one"));
    let routes: Vec<Value> = heard.iter().map(|heard| heard.json()["provider"].clone()).collect();
    assert_eq!(routes, [Value::Null, json!({ "order": ["deepinfra"], "allow_fallbacks": false }), Value::Null]);

    // Another key counts from the next request on; without one the request says what is missing.
    set(&mut stage, Some("CANARY-other")).await;
    stage.prompt("").await;
    assert_eq!(stage.vendor.heard(CHAT)[3].bearer(), "CANARY-other");
    set(&mut stage, None).await;
    assert_eq!(stage.prompt("").await, "failed: openrouter api key is not configured");
    assert_eq!(stage.offered().await, ["tour tour", "tour tour-mini"]);
    let fault = stage.wired.ports.provider.resolve("openrouter/a/one").unwrap_err();
    assert_eq!(fault.message, "openrouter api key is not configured");
}

#[tokio::test]
async fn a_key_stays_when_its_models_cannot_be_listed() {
    let mut stage = stage().await;
    stage.vendor.on(MODELS, [json(500, json!({}))]);
    assert_eq!(set(&mut stage, Some("CANARY-key")).await, KeySet { models: 0, source: ModelSource::Fallback });
    assert!(stage.is_ready("openrouter").await);
    list(&stage.vendor);
    assert_eq!(set(&mut stage, Some("CANARY-key")).await.source, ModelSource::Remote);
    stage.vendor.on(MODELS, [json(500, json!({}))]);
    assert_eq!(set(&mut stage, Some("CANARY-key-2")).await, KeySet { models: 3, source: ModelSource::Cache });
    let exa = stage.wired.accounts.set_key(Key::Exa, Secret::new("CANARY-exa")).await;
    assert!(exa.is_ok() && stage.is_ready("exa").await);
}

#[tokio::test]
async fn routes_are_asked_for_with_the_key() {
    let mut stage = stage().await;
    let fault = stage.wired.accounts.routes("a/one").await.unwrap_err();
    assert_eq!((fault.kind, &*fault.message), (FaultKind::Auth, "openrouter api key is not configured"));
    set(&mut stage, Some("CANARY-key")).await;
    let endpoints = json!({ "data": { "endpoints": [{ "tag": "zeta/fp8" }, { "provider_name": "Amazon Bedrock" }] } });
    stage.vendor.on("/router/v1/models/a/one/endpoints", [json(200, endpoints)]);
    for name in ["a/one", "openrouter/a/one", " a/one "] {
        let found = stage.wired.accounts.routes(name).await.unwrap();
        assert_eq!(found.join(" "), "amazon-bedrock zeta", "{name}");
    }
    assert_eq!(stage.vendor.heard("/router/v1/models/a/one/endpoints")[0].bearer(), "CANARY-key");
    stage.vendor.on("/router/v1/models/b/two/endpoints", [json(401, json!({ "error": "bad CANARY-key" }))]);
    let fault = stage.wired.accounts.routes("b/two").await.unwrap_err();
    assert_eq!((fault.kind, &*fault.message), (FaultKind::Auth, "401 bad ***"));
    assert_eq!(stage.wired.accounts.routes("../keys").await.unwrap_err().kind, FaultKind::UnknownModel);
}

#[tokio::test]
async fn where_only_an_account_has_a_model_it_is_the_one_to_start_with() {
    for loose in [false, true] {
        let nothing = Wanted { loose, ..Wanted::default() };
        let place = SetupPlace::new(nothing.clone()).await.stored(key());
        list(&place.vendor);
        let (wired, _vendor, _home) = place.build().await.unwrap();
        assert_eq!(&*wired.settings.model, "openrouter/a/one");
        assert!(wired.reason.contains("the first model of your account, served by openrouter"), "{}", wired.reason);
        assert!(wired.keyring.knows("CANARY-stored"), "no command may find it");
        assert_eq!(
            (wired.integrations.model, wired.integrations.provider.as_deref()),
            (Standing::Connected, Some("openrouter"))
        );

        let place = SetupPlace::new(nothing.clone()).await.stored(key());
        let (wired, _vendor, _home) = place.build().await.unwrap();
        assert_eq!(&*wired.settings.model, "tour", "nobody answers");
        assert!(wired.notes.iter().any(|note| note.starts_with("no model of openrouter: 404")), "{:?}", wired.notes);
        assert!(!format!("{:?}{}", wired.notes, wired.reason).contains("CANARY"));

        let place = SetupPlace::new(nothing).await.stored(login("CANARY-access"));
        place.vendor.on("/chatgpt/v1/models", [json(200, json!({ "data": [{ "id": "gpt-x" }] }))]);
        let (wired, _vendor, _home) = place.build().await.unwrap();
        assert_eq!(&*wired.settings.model, "gpt-x");
    }
}

#[tokio::test]
async fn a_model_of_an_account_is_asked_for_by_name() {
    for (model, provider, want) in [
        (Some("openrouter/b/two"), None, "openrouter/b/two"),
        (Some("b/two"), Some("openrouter"), "openrouter/b/two"),
        (Some("two:high"), Some("OpenRouter"), "openrouter/b/two"),
        (None, Some("openrouter"), "openrouter/a/one"),
        (Some("openrouter/auto"), None, "openrouter/openrouter/auto"),
    ] {
        let place = SetupPlace::new(loose(model, provider)).await.stored(key());
        list(&place.vendor);
        let (wired, _vendor, _home) = place.build().await.unwrap();
        assert_eq!(&*wired.settings.model, want, "{model:?} {provider:?}");
    }
    // Its list need not be there, if the name is.
    let place = SetupPlace::new(loose(Some("openrouter/b/two"), None)).await.stored(key());
    assert_eq!(&*place.build().await.unwrap().0.settings.model, "openrouter/b/two");
    // Without a key there is no such provider.
    let fault = SetupPlace::new(loose(Some("openrouter/a/one"), None)).await.build().await.err().unwrap();
    assert_eq!(fault.message, "openrouter api key is not configured");
    let fault = SetupPlace::new(loose(None, Some("openrouter"))).await.build().await.err().unwrap();
    assert_eq!(fault.message, "unknown provider `openrouter`; there is: tour");
}

#[tokio::test]
async fn a_key_for_this_run_comes_first_then_the_stored_one_then_that_of_the_environment() {
    for (given, stored, environment, want) in
        [(true, true, true, "CANARY-given"), (false, true, true, "CANARY-stored"), (false, false, true, "CANARY-env")]
    {
        let mut place = SetupPlace::new(loose(Some("openrouter/a/one"), None)).await;
        place.setup.models.api_key = Secret::new("CANARY-given").filter(|_| given);
        place.setup.models.accounts.openrouter_key = Secret::new("CANARY-env").filter(|_| environment);
        if stored {
            place = place.stored(key());
        }
        list(&place.vendor);
        place.vendor.on(CHAT, [says("hi")]);
        let mut stage = place.stage().await;
        assert!(stage.wired.keyring.knows("CANARY-env"));
        assert_eq!(stage.prompt("openrouter/a/one").await, "hi");
        assert_eq!(stage.vendor.heard(CHAT)[0].bearer(), want);
    }
}

#[tokio::test]
async fn what_stands_for_openai_in_the_environment_keeps_its_place() {
    let mut place = SetupPlace::new(loose(Some("gpt-x"), None)).await.stored(login("CANARY-token"));
    place.setup.models.env = server(&format!("{}/own/v1", place.vendor.url));
    let own = json!({ "data": [{ "id": "gpt-x" }] });
    place.vendor.on("/own/v1/models", [json(200, own)]);
    place.vendor.on("/own/v1/chat/completions", [says("own")]);
    let mut stage = place.stage().await;
    assert!(stage.is_ready("openai").await);
    assert_eq!(stage.offered().await, ["openai gpt-x"]);
    assert_eq!(stage.prompt("gpt-x").await, "own");
    assert_eq!(stage.vendor.heard("/own/v1/chat/completions")[0].bearer(), "-", "a token is for its vendor alone");
    assert!(stage.vendor.heard("/chatgpt/v1/models").is_empty());

    // Beside it, a key of OpenRouter's brings its own models.
    list(&stage.vendor);
    set(&mut stage, Some("CANARY-key")).await;
    assert_eq!(stage.offered().await.len(), 4);
}

#[tokio::test]
async fn a_file_that_cannot_be_read_costs_a_note_and_an_address_in_the_clear_the_start() {
    let place = SetupPlace::new(loose(Some("tour"), None)).await.stored(json!("CANARY-broken"));
    let mut stage = place.stage().await;
    let note = stage.wired.notes.iter().find(|note| note.contains("credentials.json")).unwrap();
    assert!(!note.contains("CANARY"), "{note}");
    assert_eq!(stage.ask(Verb::Directory(DirectoryVerb::Accounts)).await.unwrap_err().kind, FaultKind::Store);

    let mut place = SetupPlace::new(loose(Some("tour"), None)).await;
    place.setup.models.accounts.openrouter_url = Some("http://example.org/v1".into());
    let fault = place.build().await.err().unwrap();
    assert_eq!(fault.message, "the address of openrouter must be an https URL, or http on this machine");
}

#[tokio::test]
async fn the_web_can_be_searched_as_soon_as_there_is_a_key() {
    let mut stage = stage().await;
    async fn searches(stage: &mut BuiltStage) -> bool {
        match stage.ask(Verb::Directory(DirectoryVerb::Tools)).await.unwrap() {
            Reply::Tools(tools) => tools.iter().any(|tool| &*tool.name == "web_search"),
            other => panic!("{other:?}"),
        }
    }
    assert!(!searches(&mut stage).await);
    for (value, is_there) in [(Secret::new("CANARY-exa"), true), (None, false)] {
        stage.wired.accounts.set_key(Key::Exa, value).await.unwrap();
        assert_eq!((searches(&mut stage).await, stage.is_ready("exa").await), (is_there, is_there));
    }
}
