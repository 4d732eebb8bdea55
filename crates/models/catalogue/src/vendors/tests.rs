//! Variables and settings in, providers out.

use std::collections::HashMap;

use super::*;
use config::{Configuration, LoadFrom};
use vocab::Mode;

/// What `gather` makes of variables and the user's configuration.
pub(crate) fn gathered(env: &[(&str, &str)], config: &str) -> Gathered {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("config.toml");
    std::fs::write(&file, config).unwrap();
    let env: HashMap<&str, &str> = env.iter().copied().collect();
    let lookup = |name: &str| env.get(name).map(|value| (*value).to_owned());
    let request =
        LoadFrom { env: &lookup, home: None, workspace: place.path(), file: Some(&file), default_mode: Mode::Prompt };
    let config = Configuration::load(&request).unwrap();
    assert_eq!(config.warnings, Vec::<String>::new());
    gather(&lookup, config.providers(), env.contains_key("OPENAI_BASE_URL"))
}

fn shown(gathered: &Gathered) -> String {
    let header = |it: Option<KeyHeader>| if it == Some(KeyHeader::Bearer) { " bearer" } else { "" };
    let one = |it: &Provided| {
        let place = it.base_url.trim_start_matches("https://");
        let origin = match &it.origin {
            KeyOrigin::File(path) => format!("file {}", path.file_name().unwrap().display()),
            other => other.to_string(),
        };
        format!("{} {place} {}: {origin}{}\n", it.name, it.api.as_str(), header(it.key_header))
    };
    gathered.providers.iter().map(one).chain(gathered.notes.iter().map(|note| format!("! {note}\n"))).collect()
}

#[track_caller]
fn check(env: &[(&str, &str)], config: &str, want: expect_test::Expect) {
    let gathered = gathered(env, config);
    let text = shown(&gathered);
    assert!(!format!("{gathered:?}{text}").contains("canary"), "{text}");
    for (_, value) in env.iter().filter(|(_, value)| value.contains("canary")) {
        assert!(gathered.secrets.iter().any(|secret| secret.expose() == *value), "{value} is not kept from children");
    }
    want.assert_eq(&text);
}

#[test]
fn every_vendor_is_there_with_its_key_in_the_order_of_the_table() {
    let keys: Vec<(&str, &str)> = KEYED_VENDORS.iter().rev().map(|vendor| (vendor.keys[0].0, "sk-canary")).collect();
    check(
        &keys,
        "",
        expect_test::expect![[r#"
            anthropic api.anthropic.com/v1 anthropic-messages: ANTHROPIC_API_KEY is set
            openai api.openai.com/v1 openai-responses: OPENAI_API_KEY is set
            google generativelanguage.googleapis.com/v1beta google-generative-ai: GEMINI_API_KEY is set
            openrouter openrouter.ai/api/v1 openai-completions: OPENROUTER_API_KEY is set
            deepseek api.deepseek.com/v1 openai-completions: DEEPSEEK_API_KEY is set
            xai api.x.ai/v1 openai-responses: XAI_API_KEY is set
            mistral api.mistral.ai/v1 openai-completions: MISTRAL_API_KEY is set
            groq api.groq.com/openai/v1 openai-completions: GROQ_API_KEY is set
        "#]],
    );
    for vendor in &KEYED_VENDORS {
        let provided = Provided::flagged(vendor.name);
        assert_eq!(provided.is_some(), vendor.name != openrouter::NAME);
        assert!(provided.is_none_or(|it| it.default_model().is_some()), "{}", vendor.name);
    }
}

#[test]
fn the_second_variable_counts_where_the_first_is_not_set() {
    check(
        &[("ANTHROPIC_API_KEY", " "), ("ANTHROPIC_AUTH_TOKEN", "canary-token"), ("GOOGLE_API_KEY", "canary-google")],
        "",
        expect_test::expect![[r#"
            anthropic api.anthropic.com/v1 anthropic-messages: ANTHROPIC_AUTH_TOKEN is set bearer
            google generativelanguage.googleapis.com/v1beta google-generative-ai: GOOGLE_API_KEY is set
        "#]],
    );
    check(
        &[("GEMINI_API_KEY", "canary-gemini"), ("GOOGLE_API_KEY", "canary-google")],
        "",
        expect_test::expect![[r#"
            google generativelanguage.googleapis.com/v1beta google-generative-ai: GEMINI_API_KEY is set
        "#]],
    );
}

#[test]
fn openais_key_with_another_address_is_that_servers() {
    check(
        &[("OPENAI_API_KEY", "sk-canary"), ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")],
        "",
        expect_test::expect![[r#""#]],
    );
    check(
        &[("OPENAI_API_KEY", "sk-canary"), ("OPENAI_BASE_URL", "http://h/v1"), ("REAL", "canary-2")],
        "[providers.openai]\nkey_env = 'REAL'\n",
        expect_test::expect![[r#"
            openai api.openai.com/v1 openai-responses: REAL is set
        "#]],
    );
}

#[test]
fn settings_change_a_vendor_and_add_servers() {
    check(
        &[("LAB", "canary-lab"), ("ANTHROPIC_API_KEY", "canary-usual"), ("XAI_BASE_URL", "https://proxy.example")],
        "[providers.anthropic]\nkey_env = 'MINE'\nsecret_command = 'echo canary'\nkey_file = 'a.key'\n\
         [providers.google]\nkey_file = 'g.key'\nbase_url = 'https://g.example/'\n\
         [providers.xai]\nkey_env = 'LAB'\napi = 'openai-completions'\n\
         [providers.mistral]\nheaders = { X-A = 'canary' }\n\
         [providers.lab]\nbase_url = 'http://127.0.0.1:1/v1'\nkey_env = 'LAB'\n\
         [providers.own]\nbase_url = 'https://own.example/claude'\napi = 'anthropic-messages'\n\
         [providers.nowhere]\nkey_env = 'LAB'\n",
        expect_test::expect![[r#"
            anthropic api.anthropic.com/v1 anthropic-messages: its secret_command is configured
            google g.example/v1beta google-generative-ai: file g.key
            xai proxy.example/v1 openai-completions: LAB is set
            lab http://127.0.0.1:1/v1 openai-completions: LAB is set
            own own.example/claude/v1 anthropic-messages: it is configured, without a key
            ! providers.nowhere has no base_url, so it adds no models
        "#]],
    );
}

#[test]
fn an_address_is_completed_where_it_ends_before_the_version() {
    for (api, url, own, want) in [
        (Api::Anthropic, "https://api.anthropic.com", "https://api.anthropic.com/v1", "https://api.anthropic.com/v1"),
        (Api::Anthropic, "https://h/anthropic/", "", "https://h/anthropic/v1"),
        (Api::Anthropic, "https://h/v1", "", "https://h/v1"),
        (Api::Gemini, "https://h", "", "https://h/v1beta"),
        (Api::Gemini, "https://h/v1alpha", "", "https://h/v1alpha"),
        (Api::Completions, "https://api.groq.com", "https://api.groq.com/openai/v1", "https://api.groq.com/openai/v1"),
        (Api::Completions, "http://127.0.0.1:1", "", "http://127.0.0.1:1"),
        (Api::Responses, "https://h/x", "https://api.openai.com/v1", "https://h/x"),
    ] {
        assert_eq!(completed(api, url, own), want, "{url}");
    }
}
