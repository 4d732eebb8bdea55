//! Tables of settings: models, providers, names; and what is said of mistakes in them.

use super::*;

#[test]
fn providers_aliases_and_tiers_are_read_and_their_mistakes_named() {
    let text = "[providers.lab]\napi = 'anthropic-messages'\nbaseUrl = 'http://h/v1'\nkey_file = 'sub/key'\n\
        secretCommand = 'echo canary'\nheaders = { A = 'canary', B = '!echo canary' }\ncolour = 'red'\n\
        compat = { supports_developer_role = true, maxTokensField = 'max_tokens' }\n\
        models = ['one', { id = 'two', name = 'Two', context_window = 5000, levels = ['low', 'high'], thinking = false }]\n\
        [aliases]\nmine = 'lab/one'\n[tiers]\nfast = 'mine'\ndefault = ['lab/one', 'lab/two']\n";
    let place_ = place(&[("user/config.toml", text)]);
    let config = place_.load(None).unwrap();
    assert!(!format!("{config:?}").contains("canary"));
    let lab = &config.providers()[0];
    assert_eq!((lab.api, lab.base_url.as_deref()), (Some(providers::Api::Anthropic), Some("http://h/v1")));
    assert_eq!(lab.key_file.as_deref(), Some(&*place_.user().join("sub/key")), "from where the file is");
    assert_eq!((lab.headers.len(), lab.compat.developer_role), (2, Some(true)));
    assert_eq!(lab.compat.max_tokens_field, Some(providers::TokensField::MaxTokens));
    let models: Vec<&str> = lab.models.iter().map(|model| &*model.slug).collect();
    assert_eq!((models, lab.models[1].levels.as_ref().map(Vec::len)), (vec!["one", "two"], Some(2)));
    check(
        &place_,
        expect![[r#"
            providers = lab  # /user/config.toml
            aliases = mine=lab/one  # /user/config.toml
            tiers = default=lab/one lab/two,fast=mine  # /user/config.toml
            warning: /user/config.toml:7: `providers.lab.colour`: unknown key
        "#]],
    );
    for (text, want) in [
        ("providers = 3", "`providers` wants a table of model servers, has a whole number"),
        ("[providers.lab]\napi = 'telepathy'", "`providers.lab.api` is not spoken; there is: openai-completions"),
        ("[providers.lab]\napi_key = 'canary'", "`providers.lab.api_key` keys are not read from here: use key_env"),
        ("[providers.'a/b']\napi = 'x'", "`providers.a/b` is a name that no provider can have"),
        ("[providers.lab]\nheaders = { A = 1 }", "`providers.lab.headers.A` wants text, has a whole number"),
        ("[providers.lab]\ncompat = { maxTokensField = 'canary' }", "`providers.lab.compat`"),
        ("[providers.lab]\nmodels = [{ name = 'x' }]", "`providers.lab.models[0]` has no id"),
        ("[providers.lab]\nmodels = [{ id = 'x', levels = ['huge'] }]", "wants a list of levels out of off, minimal"),
        ("[aliases]\nfast = 'x'", "`aliases.fast` is the name of a tier"),
        ("[aliases]\n'a/b' = 'x'", "`aliases.a/b` has a `/` in it"),
        ("[aliases]\na = ['x']", "`aliases.a` wants a model, has a list"),
        ("[tiers]\nslow = 'x'", "`tiers.slow` is no tier; there is: fast, default, complex, local"),
        ("[tiers]\nfast = []", "`tiers.fast` wants names of models"),
    ] {
        let fault = place(&[("user/config.toml", text)]).load(None).unwrap_err();
        assert!(fault.message.contains(want) && !fault.message.contains("canary"), "{text}: {}", fault.message);
    }
}

#[test]
fn unknown_keys_are_pointed_out_and_passed_over() {
    let files = [(
        "user/config.toml",
        "modell = 'x'\nmaxToken = 3\nwhatever = 1\n[retry]\nretry_max = 1\n[[models]]\nslug = 'm'\ncontextWindw = 4\n",
    )];
    check(
        &place(&files),
        expect![[r#"
        models = m  # /user/config.toml
        warning: /user/config.toml:2: unknown setting `max_token`; did you mean `max_tokens`?
        warning: /user/config.toml:1: unknown setting `modell`; did you mean `model`?
        warning: /user/config.toml:8: `models[0].context_windw`: unknown key; did you mean `context_window`?
        warning: /user/config.toml:5: unknown setting `retry.retry_max`; did you mean `retry.retries_max`?
        warning: /user/config.toml:3: unknown setting `whatever`
    "#]],
    );
}

#[test]
fn wrong_values_name_file_line_and_what_is_wanted() {
    for (text, expect) in [
        (
            "\n\nmax_tokens = 'many'\n",
            expect![[r#"
            error: /user/config.toml:3: `max_tokens` wants a whole number from 1 to 1000000000, has `many`
        "#]],
        ),
        (
            "max_tokens = -1\n",
            expect![[r#"
            error: /user/config.toml:1: `max_tokens` wants a whole number from 1 to 1000000000, has -1
        "#]],
        ),
        (
            "mode = 'yolo'\n",
            expect![[r#"
            error: /user/config.toml:1: `mode` wants one of plan, read-only, prompt, workspace-write, danger-full-access, has `yolo`
        "#]],
        ),
        (
            "sync = 3\n",
            expect![[r#"
            error: /user/config.toml:1: `sync` wants one of turn, record, off, has 3
        "#]],
        ),
        (
            "model = \n",
            expect![[r#"
            error: cannot read /user/config.toml: line 1: string values must be quoted, expected literal string
        "#]],
        ),
        (
            "retry = 3\n",
            expect![[r#"
                error: /user/config.toml:1: `retry` wants a table, has a whole number
            "#]],
        ),
        (
            "[[models]]\nslug = 'a'\n\n[[models]]\ncontext_window = 1\n",
            expect![[r#"
            error: /user/config.toml:4: `models[1]` has no slug
        "#]],
        ),
        (
            "[[models]]\nslug = 'a'\nprices = { input = 'much', output = 1 }\n",
            expect![[r#"
            error: /user/config.toml:3: `models[0].prices.input` wants dollars per million tokens, has text
        "#]],
        ),
    ] {
        check(&place(&[("user/config.toml", text)]), expect);
    }
    check(
        &place(&[("user/config.json", "{\"model\": }")]),
        expect![[r#"
        error: cannot read /user/config.json: expected value at line 1 column 11
    "#]],
    );
    check(
        &place(&[("user/config.yaml", "- a\n- b\n")]),
        expect![[r#"
        error: /user/config.yaml: wants a table of settings
    "#]],
    );
    check(
        &place(&[]).env("TILLERMAN_MODE", "loose"),
        expect![[r#"
        error: TILLERMAN_MODE wants one of plan, read-only, prompt, workspace-write, danger-full-access, has `loose`
    "#]],
    );
}

#[test]
fn what_stands_twice_is_said() {
    for (name, text) in [
        ("user/config.yaml", "server:\n  token: one\nmodel: a\nserver:\n  token: two\n"),
        ("user/config.json", "{\"server\":\n{\"token\": \"one\",\n\n\n\"token\": \"two\"}}"),
    ] {
        let config = place(&[(name, text)]).load(None).unwrap();
        let expected = format!("/{name}:5: `server.token` stands there a second time; this one counts");
        assert!(config.warnings.iter().any(|it| it.contains(&expected)), "{:?}", config.warnings);
        assert_eq!(config.server().unwrap().token.unwrap().expose(), "two");
    }
}

#[test]
fn models_can_be_described() {
    let text =
        "[[models]]\nslug = 'big'\ncontextWindow = 200000\nmax_output = 8000\nprices = { input = 1, output = 2.5 }\n";
    let config = place(&[("user/config.toml", text)]).load(None).unwrap();
    let [model] = config.models() else { panic!("one model") };
    let prices = model.prices.unwrap();
    assert_eq!((model.context_window, model.max_output), (Some(200_000), Some(8000)));
    assert_eq!((prices.input, prices.cache_read, prices.output), (1.0, 1.0, 2.5));
}

#[test]
fn what_is_wrong_is_pointed_at_in_every_format() {
    let yaml = "model: a\n\nserver:\n  # a comment\n  queue:\n    cap: &n many\n  port: *n\n";
    let json = "{\n  \"model\": \"a\",\n  \"server\": {\"queue\":\n    {\"cap\":\n \"many\"}}\n}";
    for (name, text, line) in [("user/config.yaml", yaml, 6), ("user/config.json", json, 5)] {
        let fault = place(&[(name, text)]).load(None).unwrap_err();
        let expected = format!("/{name}:{line}: `server.queue.cap` wants a whole number");
        assert!(fault.message.contains(&expected), "{}", fault.message);
    }
    for (name, text) in [
        ("user/config.yaml", "model: a\nserver:\n  quue:\n    cap: 3\n  tokn: x\n"),
        ("user/config.toml", "model = 'a'\n[server]\nquue = { cap = 3 }\n\ntokn = 'x'\n"),
    ] {
        let warnings = place(&[(name, text)]).load(None).unwrap().warnings.join("\n");
        assert!(warnings.contains("unknown setting `server.quue`; did you mean `server.queue`?"), "{warnings}");
        assert!(warnings.contains(":5: unknown setting `server.tokn`; did you mean `server.token`?"), "{warnings}");
    }
    let many = format!("modle: a\nx:\n{}", "  - 1\n".repeat(5_000));
    let warnings = place(&[("user/config.yaml", &many)]).load(None).unwrap().warnings.join("\n");
    assert!(warnings.contains("config.yaml: unknown setting `modle`"), "too many to be looked for: {warnings}");
}
