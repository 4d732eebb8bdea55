//! Files as people write them, good and bad.

use std::path::Path;

use expect_test::{Expect, expect};
use vocab::{Drain, SteerPoint};

use super::*;

fn env(name: &str) -> Option<String> {
    match name {
        "MY_KEY" => Some("sk-canary-from-env".to_owned()),
        "EMPTY" => Some(String::new()),
        "HOME" => Some("/people/u".to_owned()),
        _ => None,
    }
}

fn place(files: &[(&str, &str)]) -> tempfile::TempDir {
    let place = tempfile::tempdir().unwrap();
    for (name, text) in files {
        std::fs::write(place.path().join(name), text).unwrap();
    }
    place
}

fn read_models(files: &[(&str, &str)]) -> DescribedModels {
    let place = place(files);
    let mut models = models(place.path(), &env);
    let root = format!("{}/", place.path().display());
    models.notes.iter_mut().for_each(|note| *note = note.replace(&root, ""));
    models
}

fn shown(models: &DescribedModels) -> String {
    let mut text = String::new();
    for provider in &models.providers {
        let key = match &provider.key {
            None => "none",
            Some(Word::Plain(_)) => "plain",
            Some(Word::Variable(..)) => "variable",
            Some(Word::Command(_)) => "command",
            Some(Word::File(_)) => "file",
        };
        text.push_str(&format!("{} key={key}\n", provider.name));
        for CustomModel { info, headers, .. } in &provider.models {
            let names: Vec<&str> = headers.iter().map(|(name, _)| &**name).collect();
            text.push_str(&format!(
                "  {} name={} url={} window={} max={:?} images={} thinking={} headers={names:?}\n",
                info.slug, info.name, info.base_url, info.context_window, info.max_output, info.images, info.thinking
            ));
        }
    }
    for note in models.notes.iter().cloned().chain(models.unspoken.iter().map(Unspoken::note)) {
        text.push_str(&format!("! {note}\n"));
    }
    text
}

#[track_caller]
fn check(text: &str, want: Expect) {
    let models = read_models(&[("models.json", text)]);
    let shown = shown(&models);
    assert!(!format!("{models:?}{shown}").contains("canary"), "{shown}");
    want.assert_eq(&shown);
}

#[test]
fn a_whole_provider_is_read() {
    check(
        r#"{
          // my own server
          "providers": {
            "zoo": {"baseUrl": "http://127.0.0.1:9/v1/", "api": "openai-completions", "apiKey": "MY_KEY",
              "headers": {"X-A": "one"}, "authHeader": true, "unknown": {"a": 1},
              "models": [
                {"id": "big", "name": "Big One", "reasoning": true, "input": ["text", "image"],
                 "contextWindow": 1e6, "maxTokens": 64000, "headers": {"x-a": "two", "X-B": "!canary command"},
                 "cost": {"input": 1, "output": 2.5, "cacheRead": 0.1, "cacheWrite": 0}},
                {"id": "vendor/small"},
              ],
            },
            "ant": {"baseUrl": "https://a.example", "api": "openai-completions", "apiKey": "!echo canary", "models": [{"id": "m"}]}
          }
        }"#,
        expect![[r#"
            zoo key=variable
              zoo/big name=Big One url=http://127.0.0.1:9/v1 window=1000000 max=Some(64000) images=true thinking=true headers=["x-a", "X-B"]
              zoo/vendor/small name=vendor/small url=http://127.0.0.1:9/v1 window=128000 max=Some(16384) images=false thinking=false headers=["X-A"]
            ant key=command
              ant/m name=m url=https://a.example window=128000 max=Some(16384) images=false thinking=false headers=[]
        "#]],
    );
}

#[test]
fn prices_and_differences_are_read() {
    let models = read_models(&[(
        "models.json",
        r#"{"providers":{"p":{"baseUrl":"http://h/v1","api":"openai-completions",
            "compat":{"supportsDeveloperRole":false,"supportsReasoningEffort":true,"maxTokensField":"max_tokens"},
            "models":[{"id":"m","cost":{"input":3,"output":15},"thinkingLevelMap":{"xhigh":"max","minimal":null},
                       "compat":{"supportsReasoningEffort":false,"supportsUsageInStreaming":false,"maxTokensField":"max_completion_tokens"}}]}}}"#,
    )]);
    let CustomModel { info, compat, .. } = &models.providers[0].models[0];
    let prices = info.prices.unwrap();
    assert_eq!([prices.input, prices.output, prices.cache_read, prices.cache_write], [3.0, 15.0, 0.0, 0.0]);
    assert_eq!((compat.developer_role, compat.reasoning_effort), (Some(false), Some(false)));
    assert_eq!(compat.usage_in_streaming, Some(false));
    assert_eq!(compat.max_tokens_field, Some(providers::TokensField::MaxCompletionTokens));
    assert_eq!(compat.efforts.get("xhigh"), Some(&Some("max".into())));
    assert_eq!(compat.efforts.get("minimal"), Some(&None));
}

#[test]
fn yaml_says_the_same_and_the_first_description_of_a_provider_counts() {
    let yaml = "providers:\n  local:\n    baseUrl: http://127.0.0.1:1/v1\n    api: openai-completions\n    apiKey: \"!op read canary\"\n    models:\n      - id: qwen3:8b\n        contextWindow: 32000\n  p:\n    baseUrl: http://other/v1\n    api: openai-completions\n    models: [{id: n}]\n";
    let json = r#"{"providers":{"p":{"baseUrl":"http://h/v1","api":"openai-completions","models":[{"id":"m"}]}}}"#;
    let models = read_models(&[("models.yml", yaml), ("models.json", json)]);
    expect![[r#"
        p key=none
          p/m name=m url=http://h/v1 window=128000 max=Some(16384) images=false thinking=false headers=[]
        local key=command
          local/qwen3:8b name=qwen3:8b url=http://127.0.0.1:1/v1 window=32000 max=Some(16384) images=false thinking=false headers=[]
        ! models.yml: the provider `p` is described twice; the first one counts
    "#]]
    .assert_eq(&shown(&models));
}

#[test]
fn a_provider_that_two_files_describe_alike_is_described_once() {
    let json = r#"{"providers":{"p":{"baseUrl":"http://h/v1","api":"openai-completions","models":[{"id":"m"}]},
                    "old":{"baseUrl":"http://h/v1","api":"bedrock-converse-stream","models":[{"id":"o"}]}}}"#;
    let yaml = "providers:\n  p:\n    models: [{id: m}]\n    api: openai-completions\n    baseUrl: http://h/v1\n  old:\n    baseUrl: http://h/v1\n    api: bedrock-converse-stream\n    models: [{id: o}]\n";
    let models = read_models(&[("models.json", json), ("models.yml", yaml), ("models.yaml", yaml)]);
    assert_eq!((models.providers.len(), models.unspoken.len()), (1, 1));
    assert_eq!(models.notes, Vec::<String>::new());
    let wrong = r#"{"providers":{"p":{"baseUrl":7,"models":[{"id":"m"}]}}}"#;
    let models = read_models(&[("models.json", wrong), ("models.yml", yaml)]);
    assert_eq!(models.providers.len(), 1, "one that is wrong does not stand in the way");
    assert!(!models.notes.iter().any(|note| note.contains("twice")), "{:?}", models.notes);
}

#[test]
fn an_api_that_nobody_speaks_is_left_out_with_one_note() {
    check(
        r#"{"providers":{"a":{"baseUrl":"http://h","api":"bedrock-converse-stream","apiKey":"sk-canary","models":[{"id":"x"},{"id":"y"},
            {"id":"z","api":"openai-completions"}]}}}"#,
        expect![[r#"
            a key=plain
              a/z name=z url=http://h window=128000 max=Some(16384) images=false thinking=false headers=[]
            ! models of `a` with the api `bedrock-converse-stream` are left out: what is spoken is openai-completions, openai-responses, anthropic-messages, google-generative-ai
        "#]],
    );
}

/// One line per file that cannot be read as a whole.
#[test]
fn a_broken_file_is_one_line_with_file_and_place() {
    for (file, text, place) in [
        ("models.json", "{\"providers\": {\n  \"a\": sk-canary\n}}", "line 2 column 8"),
        ("models.json", "{\"providers\": {", "line 1 column 15"),
        ("models.json", "", "adds no models"),
        ("models.json", "{\"$schema\":\"canary\"}", "adds no models"),
        ("models.json", "[]", "wants a table with `providers`, has a list"),
        ("models.json", "null", "has nothing"),
        ("models.json", "\"canary\"", "has text"),
        ("models.json", "{\"providers\": null}", "`providers` wants a table, has nothing"),
        ("models.json", "{\"providers\": {}, \"providers\": {}}", "`providers` is given twice"),
        ("models.json", "{\"Providers\": {\"canary\": {}}}", "there is no `providers` among what it has"),
        ("models.yml", "- canary\n", "has a list"),
        ("models.json", "{\"providers\": []}", "`providers` wants a table, has a list"),
        ("models.json", "{\"providers\": {}} canary", "line 1 column 19"),
        ("models.yml", "providers: [unclosed canary\n", "line 2 column 1"),
        ("models.yml", "providers:\n  a:\n    apiKey: !cmd canary\n", "needs quotes"),
        ("models.yaml", "providers: 3\n", "`providers` wants a table"),
    ] {
        let models = read_models(&[(file, text)]);
        assert!(models.providers.is_empty());
        let [note] = &models.notes[..] else { panic!("{text}: {:?}", models.notes) };
        assert!(note.contains(place) && note.contains(file) && !note.contains('\n'), "{text}: {note}");
        assert!(!note.contains("canary"), "{note}");
        // One that is empty describes nobody; whom the others describe is not known.
        assert_eq!(models.unread.is_empty(), place == "adds no models", "{text}: {:?}", models.unread);
    }
}

/// Nothing at all is no file. Whatever else stands in its place was put there by somebody.
#[test]
fn a_file_that_cannot_be_had_is_not_taken_for_none() {
    use std::os::unix::fs::symlink;
    let place = tempfile::tempdir().unwrap();
    let (loops, nowhere, plain) =
        (place.path().join("loops"), place.path().join("nowhere"), place.path().join("plain"));
    symlink(&loops, &loops).unwrap();
    symlink(place.path().join("absent/x"), &nowhere).unwrap();
    std::fs::write(&plain, "x").unwrap();
    let unread = |directory: &Path| {
        let models = models(directory, &|_| None);
        assert_eq!(models.notes.len(), models.unread.len(), "{:?}", models.notes);
        models.unread
    };
    for directory in [&loops, &nowhere, &plain, &loops.join("agent"), &nowhere.join("agent"), &plain.join("agent")] {
        let [wrong] = &unread(directory)[..] else { panic!("{}: {:?}", directory.display(), unread(directory)) };
        assert!(wrong.starts_with("cannot read "), "{wrong}");
    }
    for (link, to) in [("a", &loops), ("b", &nowhere), ("c", &place.path().join("c/models.json"))] {
        let directory = place.path().join(link);
        std::fs::create_dir(&directory).unwrap();
        assert_eq!(unread(&directory), Vec::<String>::new());
        symlink(to, directory.join("models.json")).unwrap();
        let [wrong] = &unread(&directory)[..] else { panic!("{link}: {:?}", unread(&directory)) };
        assert!(wrong.starts_with("cannot read ") && wrong.contains("models.json"), "{wrong}");
    }
    assert_eq!(unread(&place.path().join("absent/agent")), Vec::<String>::new());
    // pi's directory is pi's, also where it cannot be entered.
    let home = Home { config: "/c".into(), data: place.path().join("ours") };
    let directory_of = |user: &Path| directory(&|name| (name == "HOME").then(|| user.display().to_string()), &home);
    let user = place.path().join("user");
    std::fs::create_dir_all(user.join(".pi")).unwrap();
    assert_eq!(directory_of(&user), place.path().join("ours/agent"));
    symlink(&loops, user.join(".pi/agent")).unwrap();
    assert_eq!(directory_of(&user), user.join(".pi/agent"));
}

/// What is wrong inside a provider costs that provider alone, and never shows a value.
#[test]
fn a_wrong_provider_is_left_out_and_the_others_stay() {
    let good = r#""good":{"baseUrl":"http://h/v1","api":"openai-completions","models":[{"id":"m"}]}"#;
    for (bad, said) in [
        (r#""p":"sk-canary""#, "providers.p wants a table, has text"),
        (r#""p":{"apiKey":["sk-canary"],"models":[]}"#, "providers.p.apiKey wants text, has a list"),
        (r#""p":{"api":"openai-completions","models":[{"id":"x"}]}"#, "providers.p.models[0] has no baseUrl"),
        (r#""p":{"baseUrl":"http://h","models":[{"id":"x"}]}"#, "providers.p.models[0] has no api"),
        (
            r#""p":{"baseUrl":"u","api":"openai-completions","models":[{"name":"x"}]}"#,
            "providers.p.models[0] has no id",
        ),
        (r#""p":{"baseUrl":"u","api":"openai-completions","models":["canary"]}"#, "models[0] wants a table with an id"),
        (
            r#""p":{"baseUrl":"u","api":"openai-completions","models":{}}"#,
            "providers.p.models wants a list, has a table",
        ),
        (
            r#""p":{"baseUrl":"u","api":"openai-completions","models":[{"id":"x","contextWindow":-1}]}"#,
            "contextWindow wants a number above 0",
        ),
        (
            r#""p":{"baseUrl":"u","api":"openai-completions","models":[{"id":"x","maxTokens":"canary"}]}"#,
            "maxTokens wants a number above 0, has text",
        ),
        (
            r#""p":{"baseUrl":"u","api":"openai-completions","models":[{"id":"x","reasoning":"canary"}]}"#,
            "reasoning wants true or false",
        ),
        (
            r#""p":{"baseUrl":"u","api":"openai-completions","models":[{"id":"x","input":"text"}]}"#,
            "input wants a list",
        ),
        (
            r#""p":{"baseUrl":"u","api":"openai-completions","models":[{"id":"x","cost":{"input":-1}}]}"#,
            "cost.input wants dollars",
        ),
        (r#""p":{"baseUrl":"u","api":"openai-completions","models":[{"id":"x","cost":3}]}"#, "cost wants a table"),
        (r#""p":{"headers":{"X":7},"models":[]}"#, "headers.X wants text, has a whole number"),
        (r#""p":{"headers":"canary","models":[]}"#, "headers wants a table"),
        (r#""p":{"compat":{"maxTokensField":"canary"}}"#, "maxTokensField wants max_tokens or max_completion_tokens"),
        (r#""p":{"compat":{"supportsDeveloperRole":"no"}}"#, "supportsDeveloperRole wants true or false"),
        (r#""a/b":{"models":[]}"#, "has a name that cannot stand before a `/`"),
        (r#""":{"models":[]}"#, "has a name that cannot"),
        (r#""p":{"baseUrl":"http://h"}"#, "providers.p lists no models"),
    ] {
        let models = read_models(&[("models.json", &format!("{{\"providers\":{{{bad},{good}}}}}"))]);
        let names: Vec<&str> = models.providers.iter().map(|provider| &*provider.name).collect();
        assert_eq!(names, ["good"], "{bad}");
        let [note] = &models.notes[..] else { panic!("{bad}: {:?}", models.notes) };
        assert!(note.contains(said), "{bad}: {note}");
        assert!(!format!("{note}{models:?}").contains("canary"), "{note}");
    }
}

#[test]
fn a_key_is_itself_or_a_variable_or_a_command() {
    let word = |text: &str| Word::read(text, &env);
    assert_eq!(word("MY_KEY").unwrap().plain().unwrap().expose(), "sk-canary-from-env");
    assert_eq!(word("sk-canary-literal").unwrap().plain().unwrap().expose(), "sk-canary-literal");
    assert_eq!(word("UNSET_NAME").unwrap().plain().unwrap().expose(), "UNSET_NAME");
    assert_eq!(word("EMPTY").unwrap().plain().unwrap().expose(), "EMPTY", "an empty variable is not set");
    let command = word("! op read canary ").unwrap();
    assert!(matches!(&command, Word::Command(command) if command.expose() == "op read canary"));
    assert_eq!(word(" "), None);
    assert_eq!(word("!"), None);
    for text in ["MY_KEY", "sk-canary", "!canary"] {
        assert!(!format!("{:?}", word(text)).contains("canary"));
    }
}

#[test]
fn settings_that_map_are_read_and_the_rest_is_passed_over() {
    let place = place(&[(
        "settings.json",
        r#"{ // mine
          "defaultProvider": "mock", "defaultModel": "m", "defaultThinkingLevel": "high", "steeringMode": "all",
          "followUpMode": "one-at-a-time", "interruptMode": "immediate", "theme": "dark", "packages": [1],
          "compaction": {"enabled": false, "reserveTokens": 1000, "keepRecentTokens": 2000},
          "retry": {"enabled": true, "maxRetries": 5, "baseDelayMs": 50, "provider": {"timeoutMs": 1}},
          "enabledModels": ["mock/*", " x:high "], "extensions": ["~/a.py", "b"], "sessionDir": "~/s", }"#,
    )]);
    let read = settings(place.path());
    let want = AgentSettings {
        default_provider: Some("mock".into()),
        default_model: Some("m".into()),
        thinking: Some("high"),
        steering: Some(Drain::All),
        follow_up: Some(Drain::OneAtATime),
        interrupt: Some(SteerPoint::Immediate),
        compaction: Some(false),
        reserve_tokens: Some(1000),
        keep_recent_tokens: Some(2000),
        retry: Some(true),
        retries_max: Some(5),
        retry_base_ms: Some(50),
        enabled_models: vec!["mock/*".into(), "x:high".into()],
        extensions: vec!["~/a.py".into(), "b".into()],
        session_dir: Some("~/s".into()),
        notes: Vec::new(),
    };
    assert_eq!(read, want);
}

#[test]
fn a_wrong_setting_is_pointed_out_and_not_obeyed() {
    for (text, said) in [
        (r#"{"defaultModel": 3}"#, "defaultModel wants text, has a whole number"),
        (r#"{"steeringMode": "sometimes"}"#, "steeringMode wants all or one-at-a-time"),
        (r#"{"defaultThinkingLevel": "huge"}"#, "defaultThinkingLevel wants a level"),
        (r#"{"retry": {"maxRetries": -1}}"#, "retry.maxRetries wants a number from 0 to 100"),
        (r#"{"retry": {"enabled": "yes"}}"#, "retry.enabled wants true or false"),
        (r#"{"enabledModels": "all"}"#, "enabledModels wants a list"),
        ("[1]", "the file wants a table"),
        ("{", "line 1 column 1"),
    ] {
        let place = place(&[("settings.json", text)]);
        let mut read = settings(place.path());
        let [note] = &read.notes[..] else { panic!("{text}: {:?}", read.notes) };
        assert!(note.contains(said) && note.contains("settings.json") && note.contains("ignored"), "{text}: {note}");
        read.notes.clear();
        assert_eq!(read, AgentSettings::default(), "{text}");
    }
    let none = tempfile::tempdir().unwrap();
    assert_eq!(settings(none.path()), AgentSettings::default());
    let old = place(&[("settings.json", r#"{"queueMode": "all"}"#)]);
    assert_eq!(settings(old.path()).steering, Some(Drain::All), "the older name");
}

#[test]
fn the_directory_is_the_environments_then_pis_then_ours() {
    let home = tempfile::tempdir().unwrap();
    let ours = Home { config: "/c".into(), data: "/d".into() };
    let at = home.path().display().to_string();
    let found = |said: Option<&str>| {
        let lookup = |name: &str| match name {
            "HOME" => Some(at.clone()),
            DIR_ENV => said.map(str::to_owned),
            _ => None,
        };
        directory(&lookup, &ours)
    };
    assert_eq!(found(None), Path::new("/d/agent"));
    std::fs::create_dir_all(home.path().join(".pi/agent")).unwrap();
    assert_eq!(found(None), home.path().join(".pi/agent"));
    assert_eq!(found(Some("/x/y")), Path::new("/x/y"));
    assert_eq!(found(Some("~/z")), home.path().join("z"));
    assert_eq!(found(Some(" ")), home.path().join(".pi/agent"));
    assert!(found(Some("rel")).is_absolute());
}

#[test]
fn every_switch_is_read_in_both_spellings_and_a_wrong_word_is_not_repeated() {
    let text = r#"{"compat":{"supportsDeveloperRole":false,"supportsReasoningEffort":false,"supportsUsageInStreaming":false,
        "maxTokensField":"max_tokens","outputLimit":false,"instructions":true,"reasoningEffortMap":{"low":"weak"},
        "thinkingFormat":"zai","reasoningBack":"details","supportsStore":true,"callIds":"nine","requiresToolResultName":true,
        "requiresAssistantAfterToolResult":true,"nullContent":false,"emptyTools":true,"cacheControlFormat":"anthropic",
        "caching":false,"betas":["one","two"],"supportsStrictMode":true}}"#;
    let node: Node = serde_json::from_str(text).unwrap();
    let read = compat(&node, "").unwrap();
    // Whatever is still as nobody said would be the same over something else.
    let all = format!("{read:?}");
    assert!(!all.contains("None"), "{all}");
    assert_eq!((read.betas.len(), read.efforts.len()), (2, 1));
    for (switch, back) in [
        ("requiresThinkingAsText", providers::ReasoningBack::Text),
        ("requiresReasoningContentOnAssistantMessages", providers::ReasoningBack::Content),
    ] {
        let node: Node = serde_json::from_str(&format!(r#"{{"compat":{{"{switch}":true}}}}"#)).unwrap();
        assert_eq!(compat(&node, "").unwrap().reasoning_back, Some(back));
    }
    for (wrong, want) in [
        (r#""thinkingFormat":"canary""#, ".compat.thinkingFormat wants openai or openrouter or deepseek"),
        (r#""callIds":"canary""#, ".compat.callIds wants any or forty or nine"),
        (r#""betas":"canary""#, ".compat.betas wants a list of texts, has text"),
        (r#""caching":"canary""#, ".compat.caching wants true or false, has text"),
    ] {
        let node: Node = serde_json::from_str(&format!(r#"{{"compat":{{{wrong}}}}}"#)).unwrap();
        let said = compat(&node, "").unwrap_err();
        assert!(said.starts_with(want) && !said.contains("canary"), "{said}");
    }
}
