//! The table is sane, and names find their rows.

use std::collections::HashSet;

use vocab::thinking::LEVELS;

use super::*;

fn rows() -> impl Iterator<Item = (&'static Vendor, &'static Facts)> {
    VENDORS.iter().flat_map(|vendor| vendor.models.iter().map(move |facts| (vendor, facts)))
}

#[test]
fn every_row_is_sane() {
    for (vendor, facts) in rows() {
        let id = facts.id;
        assert!(!id.trim().is_empty() && !facts.name.trim().is_empty(), "{id}");
        assert!((100_000..=2_000_000).contains(&facts.context_window), "{id}");
        assert!(facts.max_output.is_none_or(|output| (1..facts.context_window).contains(&output)), "{id}");
        let ranks: Vec<_> = facts.levels.iter().map(|it| LEVELS.iter().position(|level| level == it)).collect();
        assert!(ranks.iter().all(Option::is_some) && ranks.is_sorted_by(|a, b| a < b), "{id}: {:?}", facts.levels);
        assert!(facts.levels != ["off"], "{id}: what cannot think has no levels");
        let Some(prices) = facts.prices else { continue };
        assert!(prices.input > 0.0 && prices.output >= prices.input, "{id}");
        assert!(prices.cache_read > 0.0 && prices.cache_read <= prices.input, "{id}");
        assert!(prices.cache_write >= prices.input && prices.cache_write <= 2.0 * prices.input, "{id}");
        assert!(prices.output < 1000.0, "{id}: dollars per million, not per token");
        assert_eq!(vendor.find(id), Some(facts), "{id}: rows do not hide each other");
    }
    for vendor in &VENDORS {
        let ids: HashSet<_> = vendor.models.iter().map(|facts| facts.id).collect();
        assert_eq!(ids.len(), vendor.models.len(), "{}", vendor.name);
    }
    let unpriced: Vec<_> = rows().filter(|(_, facts)| facts.prices.is_none()).map(|(_, facts)| facts.id).collect();
    assert_eq!(unpriced, ["gemini-pro-latest", "gemini-flash-latest"]);
}

#[test]
fn what_tiers_and_short_names_stand_for_exists() {
    let mut words = HashSet::new();
    for vendor in &VENDORS {
        let Tiers { fast, default, complex } = vendor.tiers;
        for id in [fast, default, complex].iter().chain(vendor.aliases.iter().map(|(_, id)| id)) {
            assert!(vendor.models.iter().any(|facts| facts.id == *id), "{} has no {id}", vendor.name);
        }
        assert_eq!(vendor.models[0].id, default, "the first one is what is taken where nobody chooses");
        let cost = |id: &str| vendor.find(id).and_then(|facts| facts.prices).unwrap().output;
        assert!(cost(fast) <= cost(default) && cost(default) <= cost(complex), "{}", vendor.name);
        for (word, _) in vendor.aliases {
            assert!(words.insert(word), "{word} is two vendors'");
            assert!(rows().all(|(_, facts)| facts.id != *word), "{word} is a model itself");
        }
    }
    for (word, name, id) in [
        ("sonnet", "anthropic", "claude-sonnet-5-5"),
        ("Opus", "anthropic", "claude-opus-5-5"),
        ("haiku", "anthropic", "claude-haiku-5-5"),
        ("gpt", "openai", "gpt-6.1-sol"),
        ("gemini", "google", "gemini-4-argon"),
        ("flash", "google", "gemini-3.8-flash"),
        ("grok", "xai", "grok-4.7"),
    ] {
        let (vendor, facts) = alias(word).unwrap();
        assert_eq!((vendor.name, facts.id), (name, id), "{word}");
    }
    assert_eq!(alias("claude-sonnet-5-5"), None);
    assert_eq!(alias(""), None);
}

/// The newest of a family is the first row that has its name.
#[test]
fn a_familys_short_name_is_its_newest_model() {
    for (vendor, word) in [
        ("anthropic", "sonnet"),
        ("anthropic", "opus"),
        ("anthropic", "haiku"),
        ("anthropic", "fable"),
        ("openai", "sol"),
    ]
    .into_iter()
    .chain([("openai", "terra"), ("openai", "luna"), ("openai", "astra"), ("google", "flash"), ("xai", "grok")])
    {
        let vendor = super::vendor(vendor).unwrap();
        let newest = vendor.models.iter().find(|facts| facts.id.contains(word)).unwrap();
        assert_eq!(vendor.alias(word), Some(newest.id));
    }
}

#[test]
fn models_are_found_by_vendor_or_format_and_snapshots_by_their_family() {
    for (by, id, want) in [
        ("anthropic", "claude-opus-5-5", Some("claude-opus-5-5")),
        ("anthropic-messages", "claude-sonnet-4-5-20250929", Some("claude-sonnet-4-5")),
        ("Anthropic", "claude-haiku-4-5-latest", Some("claude-haiku-4-5")),
        ("openai", "gpt-5.4-mini-2026-03-17", Some("gpt-5.4-mini")),
        ("openai-responses", "gpt-5-2025-08-07", Some("gpt-5")),
        ("openai-responses", "gpt-5", Some("gpt-5")),
        ("google", "gemini-2.5-flash-001", Some("gemini-2.5-flash")),
        ("google-generative-ai", "gemini-flash-latest", Some("gemini-flash-latest")),
        ("groq", "openai/gpt-oss-20b", Some("openai/gpt-oss-20b")),
        // Not ours to guess.
        ("anthropic", "claude-sonnet-9", None),
        ("anthropic", "claude-3-7-sonnet-20250219", None),
        ("anthropic", "claude-opus-5-5-2025092", None),
        ("anthropic", "claude-opus-5-5-fast", None),
        ("anthropic", "sonnet", None),
        ("anthropic", "gpt-5", None),
        ("openai", "gpt-5-20", None),
        ("openai", "gpt-5-chat-latest", None),
        ("openai", "-2025-08-07", None),
        ("openai-completions", "gpt-5", None),
        ("openrouter", "openai/gpt-5", None),
        ("ollama", "gpt-5", None),
        ("", "", None),
    ] {
        assert_eq!(find(by, id).map(|facts| facts.id), want, "{by} {id}");
    }
}

#[test]
fn a_vendors_models_are_told_in_full() {
    let models = of("anthropic");
    assert_eq!(models.len(), anthropic::VENDOR.models.len());
    let first = &models[0];
    assert_eq!(
        (&*first.slug, &*first.id, &*first.name),
        ("claude-sonnet-5-5", "claude-sonnet-5-5", "Claude Sonnet 5.5")
    );
    assert_eq!((&*first.provider, &*first.api), ("anthropic", "anthropic-messages"));
    assert_eq!((first.context_window, first.max_output), (1_000_000, Some(128_000)));
    assert_eq!(first.prices, Some(Prices { input: 2.0, output: 10.0, cache_read: 0.1, cache_write: 2.5 }));
    assert_eq!(first.levels.as_ref().unwrap().join(" "), "low medium high xhigh");
    let deepseek = of("deepseek");
    assert!(deepseek.iter().any(|model| model.images) && deepseek.iter().any(|model| !model.images));
    assert!(of("openai").iter().any(|model| !model.thinking && model.levels.as_deref() == Some(&[])));
    for nobody in ["", "openrouter", "ollama", "openai-completions"] {
        assert!(of(nobody).is_empty(), "{nobody}");
    }
}

#[test]
fn facts_say_only_what_nobody_said() {
    let facts = find("openai", "gpt-4o").unwrap();
    let mut silent = ModelInfo::named("gpt-4o", 0);
    facts.fill(&mut silent);
    assert_eq!((silent.context_window, silent.max_output, &*silent.name), (128_000, Some(16_384), "GPT-4o"));
    assert_eq!((silent.prices, silent.levels.as_deref()), (facts.prices, Some(&[][..])));

    let prices = Prices { input: 9.0, output: 9.0, cache_read: 9.0, cache_write: 9.0 };
    let said = ModelInfo {
        name: "mine".into(),
        max_output: Some(5),
        prices: Some(prices),
        levels: Some(Arc::from(["low".into()])),
        ..ModelInfo::named("gpt-4o", 7)
    };
    let mut filled = said.clone();
    facts.fill(&mut filled);
    assert_eq!(filled, said);

    let mut snapshot = ModelInfo::named("gpt-4o-2024-11-20", 0);
    facts.fill(&mut snapshot);
    assert_eq!(&*snapshot.name, "gpt-4o-2024-11-20", "two models of one name could not be told apart");
}

#[test]
fn a_server_is_its_owners_or_whose_name_it_was_given() {
    let named = |name: Option<&str>, api, url| Vendor::of_server(name, api, url).map(|vendor| vendor.name);
    for (name, api, url, want) in [
        (None, Api::Responses, "https://api.openai.com/v1", Some("openai")),
        (None, Api::Completions, "https://API.openai.com:443/v1/", Some("openai")),
        (None, Api::Anthropic, "https://api.anthropic.com/v1", Some("anthropic")),
        (Some("work"), Api::Anthropic, "https://api.anthropic.com/v1", Some("anthropic")),
        (Some("anthropic"), Api::Anthropic, "https://gateway.example.com/v1", Some("anthropic")),
        (Some("openai"), Api::Anthropic, "https://api.deepseek.com/anthropic", Some("deepseek")),
        // Only its format is a vendor's.
        (None, Api::Responses, "https://example.com/v1", None),
        (Some("anthropic"), Api::Completions, "https://example.com/v1", None),
        (None, Api::Gemini, "https://api.openai.com/v1", None),
        (Some("ollama"), Api::Completions, "http://127.0.0.1:11434/v1", None),
        (None, Api::Completions, "http://127.0.0.1:8080/v1", None),
    ] {
        assert_eq!(named(name, api, url), want, "{name:?} {api:?} {url}");
    }
}
