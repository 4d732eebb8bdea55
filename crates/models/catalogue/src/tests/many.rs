//! Vendors and configured providers, several at once: which is the default, what names mean, which key goes where.

use testkit::mock_model::{Format, MockModel};
use vocab::{CallSpec, Message, ModelEvent, Part};

use super::*;
use crate::vendors::tests::gathered;

/// Nobody listens there: whoever is asked at the start would fail the test.
const DEAD: &str = "http://127.0.0.1:1";

/// No described providers; the rest as variables and configuration say.
fn with(env: &[(&str, &str)], config: &str, model: Option<&str>) -> ModelSettings {
    let mut setup = setup(Wanted { model: model.map(str::to_owned), ..Wanted::default() });
    setup.described = agent::DescribedModels::default();
    setup.known_models = Vec::new();
    let gathered = gathered(env, config);
    assert_eq!(gathered.notes, Vec::<String>::new());
    setup.providers = gathered.providers;
    setup
}

fn own(pairs: &[(&str, &[&str])]) -> Vec<(String, Vec<String>)> {
    let owned =
        |(name, slugs): &(&str, &[&str])| ((*name).to_owned(), slugs.iter().map(|slug| (*slug).to_owned()).collect());
    pairs.iter().map(owned).collect()
}

fn default_of(vendor: &str) -> String {
    format!("{vendor}/{}", providers::models::vendor(vendor).unwrap().tiers.default)
}

#[tokio::test]
async fn the_default_follows_the_documented_order_and_says_why() {
    let all = [
        ("GROQ_API_KEY", "k"),
        ("OPENROUTER_API_KEY", "k"),
        ("GEMINI_API_KEY", "k"),
        ("OPENAI_API_KEY", "k"),
        ("ANTHROPIC_API_KEY", "k"),
    ];
    let lab = format!("[providers.lab]\nbase_url = '{DEAD}/v1'\nmodels = ['big', 'small']\n");
    let default = |vendor: &str| (default_of(vendor), ());
    for (variables, want, why) in [
        (5, default("anthropic").0, "ANTHROPIC_API_KEY is set"),
        (4, default("openai").0, "OPENAI_API_KEY is set"),
        (3, default("google").0, "GEMINI_API_KEY is set"),
        (2, "openrouter/openrouter/auto".to_owned(), "OPENROUTER_API_KEY is set"),
        (1, default("groq").0, "GROQ_API_KEY is set"),
        (0, "lab/big".to_owned(), "it is configured, without a key"),
    ] {
        for loose in [false, true] {
            let mut setup = with(&all[..variables], &lab, None);
            setup.wanted.loose = loose;
            setup.accounts.openrouter_key = Secret::new("k").filter(|_| variables > 1);
            let chosen = chosen_of(&setup).await.unwrap();
            assert_eq!((&*chosen.model, &*chosen.reason), (&*want, why), "{variables}");
        }
    }
    // A server that is named comes before every key, and a model that is named before both.
    let setup = with(&all, &lab, Some("lab/small"));
    assert_eq!(chosen_of(&setup).await.unwrap().model, "lab/small");
    let mock = MockModel::start().await;
    let chosen = choose_from(with(&all, &lab, None), &server(&mock.base_url)).await.unwrap();
    assert_eq!(chosen.model, "mock/alpha");
    assert!(chosen.reason.starts_with("OPENAI_BASE_URL is set"), "{}", chosen.reason);
    let chosen = choose_from(with(&all, &lab, Some("anthropic/claude-x")), &server(&mock.base_url)).await.unwrap();
    assert_eq!(chosen.model, "anthropic/claude-x");
    // Nothing at all is the tour.
    let chosen = choose_from(with(&[], "", None), &server("")).await.unwrap();
    assert_eq!(chosen.model, "tour");
    assert!(chosen.reason.contains("ANTHROPIC_API_KEY, OPENAI_API_KEY"), "{}", chosen.reason);
}

#[tokio::test]
async fn models_of_all_vendors_resolve_beside_each_other() {
    let keys = [("ANTHROPIC_API_KEY", "k"), ("OPENAI_API_KEY", "k"), ("GEMINI_API_KEY", "k")];
    let lab = format!("[providers.lab]\nbase_url = '{DEAD}/v1'\nmodels = ['big']\n");
    let catalogue = choose_from(with(&keys, &lab, None), &server("")).await.unwrap().catalogue;
    let sonnet = providers::models::alias("sonnet").unwrap().1.id;
    for (slug, want) in [
        ("anthropic/claude-unheard-of", "anthropic anthropic-messages anthropic/claude-unheard-of"),
        ("openai/gpt-unheard-of", "openai openai-responses openai/gpt-unheard-of"),
        ("google/gemini-unheard-of", "google google-generative-ai google/gemini-unheard-of"),
        ("lab/anything", "lab openai-completions lab/anything"),
        ("big", "lab openai-completions lab/big"),
        ("gpt-unheard-of", "openai openai-responses openai/gpt-unheard-of"),
        (sonnet, &format!("anthropic anthropic-messages anthropic/{sonnet}")),
        ("sonnet", &format!("anthropic anthropic-messages anthropic/{sonnet}")),
        ("tour", "tour tour tour"),
    ] {
        let info = catalogue.resolve(slug).unwrap();
        assert_eq!(format!("{} {} {}", info.provider, info.api, info.slug), want, "{slug}");
    }
    let known = catalogue.resolve(sonnet).unwrap();
    assert!(known.prices.is_some() && known.context_window > 128_000 && known.levels.is_some());
    let unknown = catalogue.resolve("anthropic/claude-unheard-of").unwrap();
    assert_eq!((unknown.prices, unknown.context_window), (None, 128_000), "what nobody knows is not made up");
}

#[tokio::test]
async fn a_vendor_without_a_key_says_which_one_is_missing() {
    for model in ["anthropic/claude-x", "xai/grok"] {
        let fault = choose_from(with(&[("GROQ_API_KEY", "k")], "", Some(model)), &server("")).await.err().unwrap();
        let vendor = model.split('/').next().unwrap();
        assert_eq!(fault.message, format!("there is no key for {vendor}"));
        assert!(fault.hints[0].contains("_API_KEY"), "{fault:?}");
    }
    let mut setup = with(&[], "", None);
    setup.wanted.provider = Some("google".into());
    let fault = chosen_of(&setup).await.err().unwrap();
    assert_eq!(fault.message, "there is no key for google");
    assert!(fault.hints[0].contains("GEMINI_API_KEY or GOOGLE_API_KEY"), "{fault:?}");
}

#[tokio::test]
async fn a_tier_asks_its_first_model_and_names_the_others() {
    let keys = [("ANTHROPIC_API_KEY", "k"), ("OPENAI_API_KEY", "k")];
    let fast = |vendor: &str| format!("{vendor}/{}", providers::models::vendor(vendor).unwrap().tiers.fast);
    let chosen = choose_from(with(&keys, "", Some("fast")), &server("")).await.unwrap();
    assert_eq!(chosen.model, fast("anthropic"));
    assert!(chosen.reason.starts_with("tier fast, served by anthropic"), "{}", chosen.reason);
    // By its own name, too: that is how a session remembers it.
    for name in ["fast", &chosen.model] {
        let info = chosen.catalogue.resolve(name).unwrap();
        assert_eq!((&*info.slug, &*info.fallbacks), (&*fast("anthropic"), &[fast("openai").into()][..]), "{name}");
    }
    let other = chosen.catalogue.resolve(&default_of("anthropic")).unwrap();
    assert!(other.fallbacks.is_empty(), "who names a model means that one");

    // Those of the user come first, and who is not there is passed over.
    let mut setup = with(&keys, "", None);
    setup.names.tiers = own(&[("default", &["mistral/m", "openai/gpt-a", "nobody/x", "anthropic/claude-b"])]);
    setup.names.aliases = own(&[("work", &["default"]), ("mine", &["anthropic/claude-b"])]);
    for (model, want) in [(None, "tier default"), (Some("work"), "alias work")] {
        setup.wanted.model = model.map(str::to_owned);
        let chosen = chosen_of(&setup).await.unwrap();
        assert!(chosen.reason.starts_with(want), "{}", chosen.reason);
        let info = chosen.catalogue.resolve(&chosen.model).unwrap();
        assert_eq!((&*info.slug, &*info.fallbacks), ("openai/gpt-a", &["anthropic/claude-b".into()][..]));
    }
    setup.wanted.model = Some("mine".into());
    assert_eq!(chosen_of(&setup).await.unwrap().model, "anthropic/claude-b");
}

#[tokio::test]
async fn the_usual_model_of_a_vendor_is_taken_where_its_key_is_there() {
    let keys = [("ANTHROPIC_API_KEY", "k"), ("GEMINI_API_KEY", "k")];
    for (provider, model, want) in [
        (Some("google"), "gemini-usual", "google/gemini-usual".to_owned()),
        (None, "google/gemini-usual", "google/gemini-usual".to_owned()),
        (Some("mistral"), "x", default_of("anthropic")),
    ] {
        let mut setup = with(&keys, "", None);
        setup.wanted.usual = Some((provider.map(str::to_owned), model.to_owned()));
        assert_eq!(chosen_of(&setup).await.unwrap().model, want);
    }
}

/// What the model says to a prompt, or why not.
async fn ask(catalogue: &Catalogue, slug: &str) -> String {
    let model = catalogue.resolve(slug).unwrap();
    let mut chat = match catalogue.chat(&model) {
        Ok(chat) => chat,
        Err(fault) => return fault.message,
    };
    chat.push(&Message::User(vec![Part::text("say \"hi there\"")]));
    let mut stream = chat.call(&CallSpec { system: "".into(), tools: Arc::from([]), max_tokens: 99, thinking: None });
    let mut said = String::new();
    while let Some(event) = std::future::poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        match event {
            ModelEvent::Text(text) => said.push_str(&text),
            ModelEvent::Failed(fault) => said = format!("failed: {}", fault.fault.message),
            _ => {}
        }
    }
    said
}

#[tokio::test]
async fn each_vendor_gets_its_own_key_and_its_own_format() {
    let mock = MockModel::start().await;
    let gemini = mock.url(Format::Gemini).to_owned();
    let config = format!(
        "[providers.anthropic]\nbase_url = '{0}'\n[providers.openai]\nbase_url = '{0}'\n[providers.google]\nbase_url = '{gemini}'\n\
         [providers.deepseek]\nbase_url = '{0}'\nheaders = {{ X-Team = 'canary-blue' }}\n[providers.free]\nbase_url = '{0}'\n",
        mock.base_url
    );
    let keys = [
        ("ANTHROPIC_AUTH_TOKEN", "canary-anthropic"),
        ("OPENAI_API_KEY", "canary-openai"),
        ("GOOGLE_API_KEY", "canary-google"),
        ("DEEPSEEK_API_KEY", "canary-deepseek"),
    ];
    let chosen = choose_from(with(&keys, &config, None), &server("")).await.unwrap();
    assert_eq!(mock.requests().len(), 0, "nobody is asked at the start");
    for (slug, path, header, want) in [
        ("anthropic/claude-x", "/v1/messages", "authorization", "Bearer canary-anthropic"),
        ("openai/gpt-x", "/v1/responses", "authorization", "Bearer canary-openai"),
        ("google/gemini-x", "/v1beta/models/gemini-x:streamGenerateContent", "x-goog-api-key", "canary-google"),
        ("deepseek/deepseek-x", "/v1/chat/completions", "authorization", "Bearer canary-deepseek"),
    ] {
        assert_eq!(ask(&chosen.catalogue, slug).await, "hi there", "{slug}");
        let request = mock.requests().pop().unwrap();
        assert!(request.path.starts_with(path), "{slug}: {}", request.path);
        assert_eq!(request.header(header), Some(want), "{slug}");
        let strange = |(_, value): &(String, String)| value.contains("canary") && value != want;
        let others: Vec<_> = request.headers.iter().filter(|pair| strange(pair)).collect();
        let own: &[&str] = if slug.starts_with("deepseek") { &["x-team"] } else { &[] };
        assert_eq!(others.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), own, "{slug}");
    }
    assert_eq!(ask(&chosen.catalogue, "free/x").await, "hi there");
    let request = mock.requests().pop().unwrap();
    assert!(!format!("{:?}", request.headers).contains("canary"), "who has no key gets nobody else's");
    assert!(!format!("{} {:?}", chosen.reason, chosen.notes).contains("canary"));
}

#[tokio::test]
async fn a_refused_key_of_a_command_or_a_file_is_looked_up_once_more() {
    use std::os::unix::fs::PermissionsExt;
    let (mock, place) = (MockModel::start().await, tempfile::tempdir().unwrap());
    let (runs, file) = (place.path().join("runs"), place.path().join("key"));
    std::fs::write(&file, "canary-file-1\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let config = format!(
        "[providers.lab]\nbase_url = '{0}'\nsecret_command = \"echo x >> '{1}'; echo canary-$(wc -l < '{1}')\"\n\
         [providers.filed]\nbase_url = '{0}'\nkey_file = '{2}'\n",
        mock.base_url,
        runs.display(),
        file.display()
    );
    let setup = with(&[], &config, Some("lab/m"));
    let chosen = chosen_of(&setup).await.unwrap();
    assert!(!runs.exists(), "no command runs before it is needed");
    let bearers = |count: usize| -> Vec<String> {
        let all = mock.requests();
        all[all.len() - count..].iter().map(|it| it.header("authorization").unwrap_or("-").to_owned()).collect()
    };
    assert_eq!(ask(&chosen.catalogue, "lab/m").await, "hi there");
    mock.push(testkit::mock_model::Reply::error(401, "bad canary-1"));
    assert_eq!(ask(&chosen.catalogue, "lab/m").await, "hi there");
    assert_eq!(bearers(3), ["Bearer canary-1", "Bearer canary-1", "Bearer canary-2"]);
    // A second refusal is the answer, and it shows no key.
    mock.push(testkit::mock_model::Reply::error(401, "bad canary-2"));
    mock.push(testkit::mock_model::Reply::error(401, "bad canary-3"));
    assert_eq!(ask(&chosen.catalogue, "lab/m").await, "failed: 401 bad ***");

    assert_eq!(ask(&chosen.catalogue, "filed/m").await, "hi there");
    std::fs::write(&file, "canary-file-2").unwrap();
    assert_eq!(ask(&chosen.catalogue, "filed/m").await, "hi there");
    assert_eq!(bearers(2), ["Bearer canary-file-1", "Bearer canary-file-2"]);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let said = ask(&chosen.catalogue, "filed/m").await;
    assert!(said.starts_with("failed: the file with the API key of filed can be read by others (mode 644)"), "{said}");
    assert_eq!(chosen.catalogue.standing("filed/m").0, Standing::AuthError);
}

#[tokio::test]
async fn a_key_of_the_command_line_is_for_the_vendor_that_is_asked_for() {
    for (model, provider, want) in [
        (Some("anthropic/claude-x"), None, "anthropic/claude-x"),
        (Some("claude-x"), Some("anthropic"), "anthropic/claude-x"),
        (None, Some("google"), &*default_of("google")),
        (None, None, &*default_of("openai")),
        (Some("gpt-x"), None, "openai/gpt-x"),
    ] {
        let mut setup = with(&[], "", model);
        (setup.wanted.provider, setup.wanted.loose) = (provider.map(str::to_owned), true);
        setup.api_key = Secret::new("canary-flag");
        let chosen = chosen_of(&setup).await.unwrap();
        assert_eq!(chosen.model, want);
        let sources: Vec<_> =
            chosen.catalogue.sources_report().into_iter().map(|source| (source.name, source.key)).collect();
        let vendor = want.split('/').next().unwrap();
        assert_eq!(sources, [(vendor.into(), "--api-key is given".to_owned())]);
    }
}

/// Whoever names a provider means its server: what they say must not go to one that takes any name.
#[tokio::test]
async fn the_name_of_a_provider_that_is_left_out_leads_to_nobody_else() {
    let mock = MockModel::start().await;
    for (config, why, hint) in [
        (
            "[providers.lab]\nbase_url = 'http://lab.example/v1'\nkey_env = 'MISTRAL_API_KEY'\n",
            "the key of lab is not sent to lab.example",
            "mend providers.lab",
        ),
        ("[providers.lab]\nkey_env = 'LAB'\n", "it has no base_url", "mend providers.lab"),
        ("[providers.lab]\nbase_url = 'nonsense'\n", "nonsense", "mend providers.lab"),
    ] {
        let gathered = gathered(&[("LAB", "canary-lab"), ("MISTRAL_API_KEY", "canary")], config);
        let setup = |model: Option<&str>| {
            let setup = with(&[("OPENAI_API_KEY", "k")], "", model);
            let (providers, left_out) = (gathered.providers.clone(), gathered.left_out.clone());
            ModelSettings { providers: setup.providers.iter().cloned().chain(providers).collect(), left_out, ..setup }
        };
        for env in [server(&mock.base_url), server("")] {
            for model in ["lab/small", "LAB/small:high"] {
                let fault = choose_from(setup(Some(model)), &env).await.err().unwrap();
                let want = format!("`{model}` would be a model of lab, which is left out: ");
                assert!(fault.message.starts_with(&want) && fault.message.contains(why), "{fault:?}");
                assert!(fault.hints[0].starts_with(hint), "{fault:?}");
            }
            let mut by_provider = setup(None);
            by_provider.wanted.provider = Some("lab".into());
            let fault = choose_from(by_provider, &env).await.err().unwrap();
            assert!(fault.message.contains(why), "{fault:?}");
            // A habit is passed over.
            let mut habit = setup(None);
            habit.wanted.usual = Some((None, "lab/small".into()));
            let chosen = choose_from(habit, &env).await.unwrap();
            assert!(!chosen.model.starts_with("lab"), "{}", chosen.model);
            let fault = chosen.catalogue.resolve("lab/small").unwrap_err();
            assert!(fault.message.contains(why) && fault.hints[0].starts_with(hint), "{fault:?}");
            let other = chosen.catalogue.resolve("other/small");
            assert_eq!(other.is_ok(), env.base_url.is_some(), "what nobody has configured is as before");
        }
    }
    assert_eq!(mock.chats().len(), 0);
}

#[tokio::test]
async fn a_vendor_with_a_table_and_no_key_is_not_asked_elsewhere() {
    let table = "[providers.mistral]\nkey_env = 'MINE'\n[providers.openai]\nkey_env = 'OTHER'\n";
    let gathered = gathered(&[("OPENAI_BASE_URL", "")], table);
    let setup = ModelSettings { left_out: gathered.left_out, ..with(&[], "", Some("tour")) };
    let catalogue = choose_from(setup, &server("http://127.0.0.1:1/v1")).await.unwrap().catalogue;
    let fault = catalogue.resolve("mistral/small").unwrap_err();
    assert_eq!(
        (fault.kind, &*fault.hints[0]),
        (vocab::FaultKind::Auth, "set MINE; docs/config.md names other places for a key")
    );
    // The server stands for OpenAI, and nobody has spoken of the other.
    for slug in ["openai/gpt-one", "xai/grok"] {
        assert_eq!(&*catalogue.resolve(slug).unwrap().base_url, "http://127.0.0.1:1/v1", "{slug}");
    }
}

#[tokio::test]
async fn a_described_provider_that_is_left_out_keeps_its_name() {
    let place = tempfile::tempdir().unwrap();
    let file = r#"{"providers":{"lab":{"baseUrl":7,"models":[{"id":"a"}]},
        "far":{"baseUrl":"http://127.0.0.1:1","api":"bedrock-converse-stream","models":[{"id":"x"}]}}}"#;
    std::fs::write(place.path().join("models.json"), file).unwrap();
    let described = agent::models(place.path(), &|_| None);
    let setup = ModelSettings { described, ..with(&[], "", Some("tour")) };
    let catalogue = choose_from(setup, &server("http://127.0.0.1:1/v1")).await.unwrap().catalogue;
    for (slug, why) in [("lab/a", "providers.lab.baseUrl wants text"), ("far/x", "`bedrock-converse-stream`")] {
        let fault = catalogue.resolve(slug).unwrap_err();
        assert!(fault.message.contains(why) && fault.hints[0].contains("models file"), "{fault:?}");
    }
}

/// Whoever names it, however they spell it, and whoever else has a model of that name.
#[tokio::test]
async fn the_name_of_a_configured_provider_is_its_own() {
    let place = tempfile::tempdir().unwrap();
    let file = r#"{"providers":{"hub":{"baseUrl":"http://127.0.0.1:1","api":"openai-completions","apiKey":"k",
        "models":[{"id":"lab/small"},{"id":"fine/small"},{"id":"else/small"}]},"none":{"models":[]},
        "a/b":{"baseUrl":7,"models":[{"id":"x"}]}}}"#;
    std::fs::write(place.path().join("models.json"), file).unwrap();
    let described = agent::models(place.path(), &|_| None);
    let fine = format!("[providers.fine]\nbase_url = '{DEAD}/v1'\n[providers.Groq]\nbase_url = '{DEAD}/groq'\n");
    let gathered = gathered(&[("GROQ_API_KEY", "k")], &format!("{fine}[providers.lab]\nkey_env = 'LAB'\n"));
    let setup = ModelSettings {
        described,
        providers: gathered.providers,
        left_out: gathered.left_out,
        ..with(&[], "", Some("tour"))
    };
    let catalogue = choose_from(setup, &server("http://127.0.0.1:1/v1")).await.unwrap().catalogue;
    for slug in ["lab/small", " lab/small", "\tLAB/small ", "none/x", "a/b/x"] {
        let fault = catalogue.resolve(slug).unwrap_err();
        assert!(fault.message.contains("which is left out"), "{slug:?}: {fault:?}");
    }
    for (slug, provider, url) in [
        (" fine/small", "fine", format!("{DEAD}/v1")),
        ("fine/small", "fine", format!("{DEAD}/v1")),
        ("groq/small", "groq", format!("{DEAD}/groq")),
        ("Groq/small", "groq", format!("{DEAD}/groq")),
        ("else/small", "hub", DEAD.to_owned()),
    ] {
        let model = catalogue.resolve(slug).unwrap();
        assert_eq!((&*model.provider, &*model.base_url), (provider, &*url), "{slug:?}");
    }
}
