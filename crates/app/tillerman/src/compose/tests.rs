//! What is built, driven by verbs: the user's accounts with a vendor on loopback, keys, servers of tools.

mod antigravity;
mod chatgpt;
mod local;
mod login;
mod openrouter;
mod secrets;
mod servers;
mod signing_in;
mod stage;
mod vendor;

use catalogue::{AccountSettings, Lookout, ModelNames, Wanted};
use config::agent;
use providers::detect::{Candidate, Env};
use vocab::ModelInfo;

use super::*;
use dialect_rpc::ServiceState;

struct Nowhere;

impl Preferences for Nowhere {
    fn save(&self, _: &str, _: &str) -> Result<PathBuf, Fault> {
        unreachable!("nothing is saved here")
    }
}

const MODELS: &str = r#"{"providers":{
    "lab":{"baseUrl":"http://127.0.0.1:1/v1","api":"openai-completions","apiKey":"sk-canary-lab","models":[
        {"id":"alpha","reasoning":true},{"id":"alpha-mini"},{"id":"same"}]},
    "home":{"baseUrl":"http://127.0.0.1:1/v1","api":"openai-completions","models":[{"id":"same"},{"id":"only"}]},
    "far":{"baseUrl":"http://127.0.0.1:1","api":"bedrock-converse-stream","models":[{"id":"x"}]}}}"#;

/// Nothing is set, and no environment is read.
fn no_accounts() -> AccountSettings {
    AccountSettings {
        openai_issuer: None,
        openai_url: None,
        openai_api: None,
        openai_usage_url: None,
        antigravity_issuer: None,
        antigravity_url: None,
        antigravity_client_id: None,
        antigravity_client_secret: None,
        oauth_port: None,
        openrouter_url: None,
        openrouter_key: None,
        exa_key: None,
        exa_url: None,
        environment: accounts::Environment(Arc::new(|_| None)),
    }
}

fn setup(wanted: Wanted) -> Setup {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("models.json"), MODELS).unwrap();
    let mut settings = Settings::new("/", "");
    settings.ephemeral = true;
    let models = ModelSettings {
        wanted,
        described: agent::models(place.path(), &|_| None),
        providers: Vec::new(),
        left_out: Vec::new(),
        env: Env::default(),
        candidates: Vec::new(),
        accounts: no_accounts(),
        names: ModelNames::default(),
        lookout: Lookout::Later,
        api_key: None,
        known_models: vec![ModelInfo::named("gpt-one", 1000), ModelInfo::named("only", 1000)],
        default_context_window: None,
        idle_timeout_ms: None,
        cache: None,
        keyring: Keyring::default(),
        owned_keys: catalogue::OwnedKeys::default(),
        note: |_| {},
    };
    Setup {
        data: "/nowhere".into(),
        config: "/nowhere".into(),
        settings,
        models,
        agent_dir: place.path().into(),
        secrets: Vec::new(),
        compact_at: CompactAt::default(),
        session_files: None,
        preferences: Arc::new(Nowhere),
        servers: Vec::new(),
        programs: Vec::new(),
        briefing: BriefingSettings::default(),
        many: None,
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

#[tokio::test]
async fn integrations_say_what_is_known() {
    let look = async |wanted: Wanted| build(setup(wanted)).await.unwrap().integrations;
    let ours = look(loose(Some("lab/alpha"), None)).await;
    assert_eq!((ours.model, ours.provider.as_deref()), (Standing::Connected, Some("lab")));
    let services: Vec<(&str, ServiceState)> = ours.services.iter().map(|it| (&*it.name, it.state)).collect();
    assert_eq!(services, [("home", ServiceState::Connected), ("far", ServiceState::Unavailable)]);
    assert_eq!(ours.services[1].hint.as_deref(), Some("the api bedrock-converse-stream is not spoken"));
    let tour = look(loose(Some("tour"), None)).await;
    assert_eq!((tour.model, tour.provider), (Standing::NoProvider, None));
}

#[test]
fn tokens_become_percent_of_the_window() {
    let over = |reserve, keep, window| {
        let at = CompactAt { reserve_tokens: reserve, keep_tokens: keep };
        let policy =
            at.over(vocab::CompactionPolicy { auto: true, threshold_pct: 85, keep_pct: 20, on_switch: false }, window);
        (policy.threshold_pct, policy.keep_pct)
    };
    assert_eq!(over(None, None, 100_000), (85, 20));
    assert_eq!(over(Some(16_384), Some(20_000), 128_000), (88, 15));
    assert_eq!(over(Some(u64::MAX), Some(u64::MAX), 1000), (10, 90));
    assert_eq!(over(Some(0), Some(0), 1000), (100, 0));
}
