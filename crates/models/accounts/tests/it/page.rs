//! The page for users says what the code does.

use accounts::{AccountsConfig, Environment};

#[test]
fn the_numbers_on_the_page_are_those_in_the_code() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/auth.md");
    let page = std::fs::read_to_string(page).unwrap();
    let config = AccountsConfig::vendors(Environment::system());
    let (openai, google, limits) = (&config.openai.redirect, &config.antigravity.redirect, &config.limits);
    for said in [
        format!("OpenAI has {} on file", openai.ports[0]),
        format!("For Google {} is tried, then any free one", google.ports[0]),
        format!("out of time after {} minutes", limits.flow.as_secs() / 60),
        format!("gives a connection {} seconds", limits.callback.as_secs()),
        format!("less than {} seconds left", limits.skew.as_secs()),
    ] {
        assert!(page.contains(&said), "the page does not say {said:?}");
    }
    assert_eq!((openai.ports.len(), google.ports.get(1)), (1, Some(&0)));
    assert!(config.antigravity.client_id.is_empty());
}
