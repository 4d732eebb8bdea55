//! Keys that are known at the start, wherever they come from.

use config::{Configuration, LoadFrom};
use vocab::Mode;

use super::*;

#[tokio::test]
async fn keys_that_are_known_are_kept_from_children_and_an_address_in_the_clear_gets_none() {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("key");
    std::fs::write(&file, "canary-file").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let config = format!(
        "[providers.mistral]\nkey_file = '{}'\n[providers.far]\nbase_url = 'http://far.example/v1'\nkey_env = 'XAI_API_KEY'\n\
         [providers.lan]\nbase_url = 'http://lan.example/v1'\n",
        file.display()
    );
    let keys = [
        ("ANTHROPIC_API_KEY", "canary-1"),
        ("ANTHROPIC_AUTH_TOKEN", "canary-2"),
        ("XAI_API_KEY", "canary-3"),
        ("GROQ_API_KEY", "canary-4"),
    ];
    let mut setup = setup(Wanted::default());
    (setup.data, setup.config) = (place.path().join("data"), place.path().join("config"));
    let own = place.path().join("config.toml");
    std::fs::write(&own, config).unwrap();
    let from =
        LoadFrom { env: &|_| None, home: None, workspace: place.path(), file: Some(&own), default_mode: Mode::Prompt };
    let lookup = |name: &str| keys.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    let gathered = catalogue::gather(&lookup, Configuration::load(&from).unwrap().providers(), false);
    (setup.models.providers, setup.secrets) = (gathered.providers, gathered.secrets);
    setup.models.described = agent::DescribedModels::default();
    let wired = build(setup).await.unwrap();
    for secret in ["canary-1", "canary-2", "canary-3", "canary-4", "canary-file"] {
        assert!(wired.keyring.knows(secret), "{secret}");
    }
    let far = "far is left out: the key of far is not sent to far.example: plain http shows it to everybody on the way";
    assert_eq!(wired.notes, [far]);
    let names: Vec<&str> = wired.sources.iter().map(|source| &*source.name).collect();
    assert_eq!(names, ["anthropic", "xai", "mistral", "groq", "lan"], "who gets no key may be anywhere");
    assert!(!format!("{:?}{:?}{}", wired.sources, wired.notes, wired.reason).contains("canary"));
}
