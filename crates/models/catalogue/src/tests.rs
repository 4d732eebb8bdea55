//! Choosing and resolving, over described providers and without a network; below, servers of this machine and several
//! vendors at once.

mod accounts;
mod local;
mod many;
mod pairing;
mod unread;

use std::sync::Arc;

use config::agent;
use providers::Secret;
use providers::detect::Env;
use vocab::{Fault, Keyring, ModelInfo, Provider};

use crate::account_keys::{sign_ins, tests::none};
use crate::*;

const MODELS: &str = r#"{"providers":{
    "lab":{"baseUrl":"http://127.0.0.1:1/v1","api":"openai-completions","apiKey":"sk-canary-lab","models":[
        {"id":"alpha","reasoning":true},{"id":"alpha-mini"},{"id":"same"}]},
    "home":{"baseUrl":"http://127.0.0.1:1/v1","api":"openai-completions","models":[{"id":"same"},{"id":"only"}]},
    "far":{"baseUrl":"http://127.0.0.1:1","api":"bedrock-converse-stream","models":[{"id":"x"}]}}}"#;

fn setup(wanted: Wanted) -> ModelSettings {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("models.json"), MODELS).unwrap();
    ModelSettings {
        wanted,
        described: agent::models(place.path(), &|_| None),
        providers: Vec::new(),
        left_out: Vec::new(),
        env: Env::default(),
        candidates: Vec::new(),
        accounts: none(),
        names: ModelNames::default(),
        lookout: Lookout::Later,
        api_key: None,
        known_models: vec![ModelInfo::named("gpt-one", 1000), ModelInfo::named("only", 1000)],
        default_context_window: None,
        idle_timeout_ms: None,
        cache: None,
        keyring: Keyring::default(),
        owned_keys: OwnedKeys::default(),
        note: |_| {},
    }
}

fn loose(model: Option<&str>, provider: Option<&str>) -> Wanted {
    let own = |text: Option<&str>| text.map(str::to_owned);
    Wanted { model: own(model), provider: own(provider), loose: true, ..Wanted::default() }
}

/// Port 1 is nobody's: whatever asks the network would fail and take its time.
fn server(base_url: &str) -> Env {
    Env { base_url: (!base_url.is_empty()).then(|| base_url.to_owned()), api_key: None }
}

async fn chosen(wanted: Wanted, env: &Env) -> Result<Chosen, Fault> {
    choose_from(setup(wanted), env).await
}

async fn choose_from(mut setup: ModelSettings, env: &Env) -> Result<Chosen, Fault> {
    setup.env = env.clone();
    chosen_of(&setup).await
}

async fn chosen_of(setup: &ModelSettings) -> Result<Chosen, Fault> {
    let auth = sign_ins(&setup.accounts, std::path::Path::new("/nowhere"));
    choose(setup, &Arc::new(AccountModels::new(setup, auth)?)).await
}

async fn name(wanted: Wanted) -> String {
    match chosen(wanted, &server("")).await {
        Ok(chosen) => format!("{} {}", chosen.model, chosen.thinking.as_deref().unwrap_or("-")),
        Err(fault) => fault.message,
    }
}

#[tokio::test]
async fn a_described_model_is_chosen_by_name_without_the_network() {
    for (model, provider, want) in [
        (Some("lab/alpha"), None, "lab/alpha -"),
        (Some("alpha"), None, "lab/alpha -"),
        (Some("alpha:high"), None, "lab/alpha high"),
        (Some("mini"), None, "lab/alpha-mini -"),
        (Some("same"), Some("home"), "home/same -"),
        (Some("home/same"), Some("home"), "home/same -"),
        (None, Some("home"), "home/same -"),
        (None, None, "lab/alpha -"),
        (Some("tour"), None, "tour -"),
        (None, Some("tour"), "tour -"),
        (Some("tour-mini"), Some("tour"), "tour-mini -"),
        (Some("same"), None, "`same` could be any of: lab/same, home/same"),
        (Some("nope"), Some("lab"), "no model `nope`; there is: lab/alpha, lab/alpha-mini, lab/same"),
        (Some("nope"), Some("tour"), "no model `tour/nope`; there is: tour, tour-mini"),
    ] {
        assert_eq!(name(loose(model, provider)).await, want, "{model:?} {provider:?}");
    }
}

#[tokio::test]
async fn the_usual_model_counts_where_it_exists_and_a_scope_comes_first() {
    let usual = |provider: Option<&str>, model: &str| Some((provider.map(str::to_owned), model.to_owned()));
    let scope = |patterns: &[&str]| patterns.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    let wanted = |usual, patterns: &[&str]| Wanted { usual, scope: scope(patterns), ..loose(None, None) };
    assert_eq!(name(wanted(usual(Some("home"), "only"), &[])).await, "home/only -");
    assert_eq!(name(wanted(usual(Some("gone"), "x"), &[])).await, "lab/alpha -");
    assert_eq!(name(wanted(None, &["home/*:low", "lab/alpha"])).await, "home/same low");
    assert_eq!(name(wanted(usual(Some("lab"), "alpha"), &["home/*", "lab/alpha:high"])).await, "lab/alpha high");
    let chosen = chosen(wanted(None, &["home/*", "nobody", "lab/alpha"]), &server("")).await.unwrap();
    let slugs: Vec<&str> = chosen.scope.iter().map(|slug| &**slug).collect();
    assert_eq!(slugs, ["home/same", "home/only", "lab/alpha"]);
    assert_eq!(chosen.notes, ["no model fits `nobody` of the scope"]);
}

#[tokio::test]
async fn every_name_of_every_provider_resolves() {
    let env = server("http://127.0.0.1:1/v1");
    let catalogue = chosen(loose(Some("lab/alpha"), None), &env).await.unwrap().catalogue;
    for (slug, want) in [
        ("lab/alpha", "lab alpha lab/alpha"),
        ("alpha", "lab alpha lab/alpha"),
        ("only", "openai only only"),
        ("home/only", "home only home/only"),
        ("gpt-one", "openai gpt-one gpt-one"),
        ("openai/gpt-one", "openai gpt-one gpt-one"),
        ("anything", "openai anything anything"),
        ("vendor/thing", "openai vendor/thing vendor/thing"),
        ("tour", "tour tour tour"),
        ("tour/tour-mini", "tour tour-mini tour-mini"),
    ] {
        let info = catalogue.resolve(slug).unwrap();
        assert_eq!(format!("{} {} {}", info.provider, info.id, info.slug), want, "{slug}");
    }
    for (slug, said) in [
        ("same", "could be any of: lab/same, home/same"),
        ("lab/nope", "unknown model: lab/nope (there is: lab/alpha"),
        ("openai/nope", "no model `openai/nope`; there is: gpt-one, only"),
    ] {
        let fault = catalogue.resolve(slug).unwrap_err();
        assert!(fault.message.contains(said), "{slug}: {}", fault.message);
    }
}

/// The built-in table stands for a vendor that nobody has asked yet, but it is no list to refuse names by.
#[tokio::test]
async fn a_vendors_models_are_known_before_it_is_asked() {
    let env = server("https://api.openai.com/v1");
    let setup = ModelSettings { known_models: Vec::new(), ..setup(loose(Some("lab/alpha"), None)) };
    let catalogue = choose_from(setup, &env).await.unwrap().catalogue;
    for (slug, id, window) in [
        ("gpt-5", "gpt-5", 400_000),
        ("openai/gpt-5", "gpt-5", 400_000),
        ("openai/gpt-5-2025-08-07", "gpt-5-2025-08-07", 400_000),
        ("luna", "gpt-6-luna", 1_050_000),
        ("openai/luna", "gpt-6-luna", 1_050_000),
        ("openai/gpt-99", "gpt-99", 128_000),
    ] {
        let info = catalogue.resolve(slug).unwrap();
        assert_eq!((&*info.id, info.context_window), (id, window), "{slug}");
    }
    assert!(catalogue.known().iter().any(|model| &*model.slug == "gpt-6.1-sol"));
}

#[tokio::test]
async fn openrouters_own_names_keep_their_slashes() {
    let env = server("https://openrouter.ai/api/v1");
    let catalogue = chosen(loose(Some("lab/alpha"), None), &env).await.unwrap().catalogue;
    for (slug, id) in [("openrouter/auto", "openrouter/auto"), ("openrouter/gpt-one", "gpt-one")] {
        assert_eq!(&*catalogue.resolve(slug).unwrap().id, id);
    }
}

#[tokio::test]
async fn a_list_names_real_models_and_survives_a_server_that_is_down() {
    let down = server("http://127.0.0.1:1/v1");
    let catalogue = chosen(loose(Some("lab/alpha"), None), &down).await.unwrap().catalogue;
    let slugs: Vec<String> = catalogue.models().await.unwrap().iter().map(|model| model.slug.to_string()).collect();
    assert_eq!(slugs, ["gpt-one", "only", "lab/alpha", "lab/alpha-mini", "lab/same", "home/same", "home/only"]);
    let tour = chosen(loose(Some("tour"), None), &server("")).await.unwrap().catalogue;
    let listed = tour.models().await.unwrap();
    assert!(listed.iter().any(|model| &*model.slug == "tour"), "who asks for the tour sees it");
}

#[tokio::test]
async fn a_key_from_the_command_line_goes_to_the_chosen_provider_only() {
    let mock = testkit::mock_model::MockModel::start().await;
    let mut setup = setup(loose(Some("home/only"), None));
    setup.api_key = Secret::new("sk-canary-flag");
    for provider in &mut setup.described.providers {
        for model in &mut provider.models {
            model.info.base_url = mock.base_url.as_str().into();
        }
    }
    let chosen = choose_from(setup, &server("")).await.unwrap();
    assert!(!format!("{} {:?}", chosen.reason, chosen.notes).contains("canary"));
    for slug in ["home/only", "lab/alpha"] {
        let model = chosen.catalogue.resolve(slug).unwrap();
        let mut chat = chosen.catalogue.chat(&model).unwrap();
        chat.push(&vocab::Message::User(vec![vocab::Part::text("say hi")]));
        let spec = vocab::CallSpec { system: "".into(), tools: Arc::from([]), max_tokens: 9, thinking: None };
        let mut stream = chat.call(&spec);
        while std::future::poll_fn(|cx| stream.as_mut().poll_next(cx)).await.is_some() {}
    }
    let keys: Vec<Option<String>> =
        mock.chats().iter().map(|chat| chat.header("authorization").map(str::to_owned)).collect();
    assert_eq!(keys, [Some("Bearer sk-canary-flag".to_owned()), Some("Bearer sk-canary-lab".to_owned())]);
    assert_eq!(mock.last_chat()["model"], "alpha");
}

#[tokio::test]
async fn a_name_that_only_its_caller_knows_is_told_apart() {
    let mut setup = setup(loose(Some("the-users-own"), None));
    setup.names.aliases = vec![("mine".to_owned(), vec!["aliased:high".to_owned()])];
    let chosen = choose_from(setup, &server("http://127.0.0.1:1/v1")).await.unwrap();
    for (name, unlisted) in [
        // The server takes any name, and nobody has told us its list.
        ("made up by a client", true),
        ("the-users-own", false),
        ("mine", false),
        ("aliased", false),
        ("gpt-one", false),
        ("lab/alpha", false),
        ("tour", false),
    ] {
        assert_eq!(chosen.catalogue.resolve(name).unwrap().unlisted, unlisted, "{name}");
    }
}

/// Who takes any name would be asked for one that looks like another on every screen and in every log.
#[tokio::test]
async fn a_name_with_what_nobody_sees_in_it_is_no_name() {
    let catalogue = chosen(loose(None, None), &server("http://127.0.0.1:1/v1")).await.unwrap().catalogue;
    let odd = [
        "a\0b",
        "a\nb",
        "a\u{202e}b",
        "tour\u{200b}",
        "a\u{1b}[2J",
        "a\u{2028}b",
        "a\u{7f}",
        "a\u{e0041}",
        "a\u{feff}b",
    ];
    for name in odd {
        let fault = catalogue.resolve(name).err().unwrap_or_else(|| panic!("{name:?} is asked for"));
        assert!(fault.message.contains("no control or invisible characters (U+"), "{fault:?}");
        assert!(!fault.message.contains(name), "{fault:?}");
    }
    for name in [" \tsmall\n", "modèle/é", "模型 7"] {
        assert!(catalogue.resolve(name).is_ok(), "{name:?}");
    }
}

#[tokio::test]
async fn who_shares_a_catalogue_plays_no_file_but_the_users() {
    let place = tempfile::tempdir().unwrap();
    let file = |name: &str| {
        let file = place.path().join(name);
        std::fs::write(&file, "say \"hi\"\n").unwrap();
        format!("script:{}", file.display())
    };
    let (own, other) = (file("own"), file("other"));
    let mut catalogue = chosen(loose(Some(&own), None), &server("")).await.unwrap().catalogue;
    for name in [&own, &other] {
        assert_eq!(*catalogue.resolve(name).unwrap().slug, **name, "whoever is alone names what they like");
    }
    catalogue.share();
    assert_eq!(*catalogue.resolve(&own).unwrap().slug, *own);
    assert_eq!(*catalogue.resolve(&format!("tour/{own}")).unwrap().slug, *own);
    let absent = "script:/there/is/no/such/file".to_owned();
    for name in [other.clone(), format!("tour/{other}"), format!(" {other}"), absent] {
        let fault = catalogue.resolve(&name).unwrap_err();
        assert!(fault.message.contains("its owner alone"), "{name} was looked at: {}", fault.message);
    }
    assert!(catalogue.resolve("tour").is_ok() && catalogue.resolve("tour/tour-mini").is_ok());
}
