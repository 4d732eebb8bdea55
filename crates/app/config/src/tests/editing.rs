//! `config set` and `config unset`.

use super::*;

#[test]
fn set_keeps_comments_order_and_spelling() {
    let old = "# mine\nmodel = 'a' # the small one\n\nmaxTokens = 5\nretry = { retries_max = 1 }\n";
    let place = place(&[("user/config.toml", old)]);
    let file = place.user().join("config.toml");
    set(&file, "model", "b").unwrap();
    set(&file, "max_tokens", "7").unwrap();
    set(&file, "retry.baseMs", "9").unwrap();
    set(&file, "tools.only", "bash, grep").unwrap();
    set(&file, "compaction.auto", "off").unwrap();
    expect![[r##"
        # mine
        model = "b" # the small one

        maxTokens = 7

        [retry ]
        retries_max = 1
        base_ms = 9

        [tools]
        only = ["bash", "grep"]

        [compaction]
        auto = false
    "##]]
    .assert_eq(&std::fs::read_to_string(&file).unwrap());
    let config = place.load(None).unwrap();
    assert_eq!(
        (config.model(), config.max_tokens(), config.retry(RetryPolicy::default()).base_ms),
        (Some("b"), Some(7), 9)
    );
    assert_eq!(config.warnings, Vec::<String>::new());
}

#[test]
fn set_refuses_what_it_could_not_read_back() {
    let place = place(&[]);
    let file = place.user().join("config.toml");
    for (key, value, expected) in [
        ("modle", "x", "unknown setting `modle`"),
        ("max_tokens", "many", "`max_tokens` wants a whole number"),
        ("openai_api_key", "sk-1", "never stored"),
        ("models", "x", "cannot be set"),
    ] {
        let fault = set(&file, key, value).unwrap_err();
        assert!(fault.message.contains(expected), "{fault}");
    }
    assert!(!file.exists());
    std::fs::write(&file, "model = [").unwrap();
    assert!(set(&file, "model", "x").is_err());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "model = [");
}
