//! Which keys go to another machine by plain http. Nothing is sent here: a client that can be made would send it.

use super::*;
use crate::vendors::tests::gathered;

const LAN: &str = "http://192.168.1.5:11434/v1";

/// The settings of a user with these variables, this configuration and these providers in the models file.
fn settings(env: &[(&str, &str)], config: &str, described: &str) -> ModelSettings {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("models.json"), format!("{{\"providers\":{{{described}}}}}")).unwrap();
    let lookup = |name: &str| env.iter().find(|(it, _)| *it == name).map(|(_, value)| (*value).to_owned());
    let gathered = gathered(env, config);
    ModelSettings {
        described: agent::models(place.path(), &lookup),
        providers: gathered.providers,
        left_out: gathered.left_out,
        owned_keys: OwnedKeys::of(env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))),
        env: Env::from(lookup),
        ..setup(Wanted { model: Some("tour".into()), ..Wanted::default() })
    }
}

fn described(key: &str) -> String {
    format!(r#""lab":{{"baseUrl":"{LAN}","api":"openai-completions",{key}"models":[{{"id":"m"}}]}}"#)
}

fn warnings(settings: &ModelSettings) -> Vec<String> {
    crate::pairing::warnings(&settings.described.providers, &settings.providers, &settings.env, &settings.owned_keys)
}

/// What stands between a prompt and the model.
async fn refusal(settings: &ModelSettings, model: &str) -> Option<String> {
    let catalogue = match chosen_of(settings).await {
        Ok(chosen) => chosen.catalogue,
        Err(fault) => return Some(format!("{} {:?}", fault.message, fault.hints)),
    };
    let asked = catalogue.resolve(model).and_then(|model| catalogue.chat(&model).map(drop));
    asked.err().map(|fault| format!("{} {:?}", fault.message, fault.hints))
}

#[tokio::test]
async fn a_key_that_the_user_wrote_beside_the_address_goes_there_with_a_warning() {
    let env = [("LAB_KEY", "canary-1")];
    for key in [r#""apiKey":"dummy-canary","#, r#""apiKey":"LAB_KEY","#] {
        let settings = settings(&env, "", &described(key));
        assert_eq!(refusal(&settings, "lab/m").await, None, "{key}");
        let want = "the key of lab goes unencrypted to 192.168.1.5, as you wrote the two together; https would hide it";
        assert_eq!(warnings(&settings), [want]);
    }
    let header = settings(&env, "", &described(r#""headers":{"X-Key":"canary"},"#));
    assert_eq!((refusal(&header, "lab/m").await, warnings(&header).len()), (None, 1));
    for key in
        ["key_env = 'LAB_KEY'", "headers = { X-Key = 'canary' }", "headers = { Authorization = 'Bearer ${LAB_KEY}' }"]
    {
        let settings = settings(&env, &format!("[providers.lab]\nbase_url = '{LAN}'\n{key}\n"), "");
        assert_eq!((refusal(&settings, "lab/m").await, warnings(&settings).len()), (None, 1), "{key}");
    }
    let both = settings(&[("OPENAI_BASE_URL", LAN), ("OPENAI_API_KEY", "canary")], "", "");
    assert_eq!(refusal(&both, "m").await, None, "the server for all models, and the key that goes with it");
    assert!(warnings(&both)[0].contains(" goes unencrypted to 192.168.1.5"), "{:?}", warnings(&both));
    for quiet in [described(""), described(r#""apiKey":"k","#).replace("http://", "https://")] {
        let settings = settings(&env, "", &quiet);
        assert_eq!((refusal(&settings, "lab/m").await, warnings(&settings)), (None, vec![]), "{quiet}");
    }
}

#[tokio::test]
async fn no_other_key_goes_to_another_machine_in_the_clear() {
    let table = |name: &str, rest: &str| format!("[providers.{name}]\nbase_url = '{LAN}'\n{rest}");
    for (env, config, file, model) in [
        // The vendor's own key, wherever the address comes from.
        (
            vec![("ANTHROPIC_BASE_URL", LAN), ("ANTHROPIC_API_KEY", "canary")],
            String::new(),
            String::new(),
            "anthropic/m",
        ),
        (vec![("MISTRAL_API_KEY", "canary")], table("mistral", ""), String::new(), "mistral/m"),
        // The address of a variable, beside which nobody has written a key.
        (
            vec![("MISTRAL_BASE_URL", LAN)],
            "[providers.mistral]\nbase_url = 'https://m.example/v1'\nsecret_command = 'echo canary'\n".to_owned(),
            String::new(),
            "mistral/m",
        ),
        // A vendor's variable stays the vendor's.
        (vec![("XAI_API_KEY", "canary")], table("lab", "key_env = 'XAI_API_KEY'\n"), String::new(), "lab/m"),
        (vec![("XAI_API_KEY", "canary")], String::new(), described(r#""apiKey":"XAI_API_KEY","#), "lab/m"),
        (vec![("XAI_API_KEY", "canary")], String::new(), described(r#""headers":{"A":"XAI_API_KEY"},"#), "lab/m"),
    ] {
        let settings = settings(&env, &config, &file);
        let said = refusal(&settings, model).await.unwrap_or_else(|| panic!("{env:?} {config} {file}: it is sent"));
        assert!(said.contains("is not sent to 192.168.1.5") && said.contains("use an https address"), "{said}");
        assert!(!said.contains("canary"), "{said}");
        assert_eq!(warnings(&settings), Vec::<String>::new());
    }
}

/// Whoever asks by a short name is not told that there is no key.
#[tokio::test]
async fn a_short_name_of_a_vendor_that_is_left_out_says_why() {
    let mut settings = settings(&[("ANTHROPIC_BASE_URL", LAN), ("ANTHROPIC_API_KEY", "canary")], "", "");
    for model in ["sonnet", "anthropic/sonnet"] {
        settings.wanted.model = Some(model.into());
        let said = refusal(&settings, model).await.unwrap();
        assert!(said.contains("is not sent to 192.168.1.5") && said.contains("use an https address"), "{said}");
    }
}

#[tokio::test]
async fn the_key_of_this_run_stands_beside_no_address() {
    for (config, file) in
        [(String::new(), described("")), (format!("[providers.lab]\nbase_url = '{LAN}'\n"), String::new())]
    {
        let mut settings = settings(&[], &config, &file);
        settings.wanted.model = Some("lab/m".into());
        assert_eq!(refusal(&settings, "lab/m").await, None);
        settings.api_key = Secret::new("canary");
        let said = refusal(&settings, "lab/m").await.unwrap();
        assert!(said.contains("is not sent to 192.168.1.5"), "{said}");
    }
}

/// `${NAME}` in the configuration is a plain word by the time anybody looks; its value is not.
#[tokio::test]
async fn a_vendors_key_stays_the_vendors_in_whatever_words_it_is_written() {
    let env = [("GROQ_API_KEY", "canary-1-groq"), ("ANTHROPIC_API_KEY", "canary-2-anthropic")];
    let table = |rest: &str| format!("[providers.lab]\nbase_url = '{LAN}'\n{rest}\n");
    for (config, file) in [
        (table("headers = { X-A = '${GROQ_API_KEY}' }"), String::new()),
        (table("headers = { Authorization = 'Bearer ${ANTHROPIC_API_KEY}' }"), String::new()),
        (String::new(), described(r#""apiKey":"canary-1-groq","#)),
        (String::new(), described(r#""headers":{"X-A":"Token canary-1-groq"},"#)),
    ] {
        let settings = settings(&env, &config, &file);
        let said = refusal(&settings, "lab/m").await.unwrap_or_else(|| panic!("{config} {file}: it is sent"));
        assert!(said.contains("is not sent to 192.168.1.5") && !said.contains("canary"), "{said}");
        assert_eq!(warnings(&settings), Vec::<String>::new());
    }
    // A word that many servers take for a key is not one.
    for word in ["dummy", "sk-local-dummy", "not-needed", "sk-1234567890"] {
        let settings = settings(&[("OPENAI_API_KEY", word)], "", &described(&format!(r#""apiKey":"{word}","#)));
        assert_eq!((refusal(&settings, "lab/m").await, warnings(&settings).len()), (None, 1), "{word}");
    }
}

/// What a command prints is known only when it is about to be sent: nobody is told before that it goes.
#[tokio::test]
async fn a_key_of_somebody_elses_that_a_command_prints_is_not_sent() {
    let env = [("GROQ_API_KEY", "canary-1-groq"), ("OTHER_TOKEN", "canary-2-other"), ("TOKEN", "canary-3-bare")];
    for (printed, whose) in [
        ("canary-1-groq", "a vendor's"),
        ("Y2FuYXJ5LTEtZ3JvcQ==", "a vendor's"),
        ("canary-2-other", "that of OTHER_TOKEN, which is not named there"),
        ("canary-3-bare # MY_TOKEN_2", "that of TOKEN, which is not named there"),
    ] {
        let config = format!("[providers.lab]\nbase_url = '{LAN}'\nsecret_command = 'echo {printed}'\n");
        let mut settings = settings(&env, &config, "");
        settings.wanted.model = Some("lab/m".into());
        assert_eq!(warnings(&settings), Vec::<String>::new());
        let said = asked(&settings).await;
        assert!(said.contains(&format!("is not sent to 192.168.1.5: it is {whose}")), "{said}");
        assert!(!said.contains("canary"), "{said}");
    }
}

/// Asks the server of `lab` for its models: what goes wrong.
async fn asked(settings: &ModelSettings) -> String {
    let catalogue = chosen_of(settings).await.unwrap().catalogue;
    let client = catalogue.servers().into_iter().find(|(name, _)| &**name == "lab").unwrap().1.unwrap();
    client.models().await.unwrap_err().message
}

static NOTED: std::sync::Mutex<Vec<String>> = std::sync::Mutex::new(Vec::new());

#[tokio::test]
async fn a_key_that_a_command_prints_is_warned_of_when_it_goes() {
    // Nobody is there; what is sent is sent all the same.
    let nowhere = "http://tillerman.invalid:1/v1";
    let table = format!("[providers.lab]\nbase_url = '{nowhere}'\nsecret_command = 'echo $LAB_KEY canary'\n");
    let file = described(r#""apiKey":"!echo canary","#).replace(LAN, nowhere);
    for (config, file) in [(&*table, ""), ("", &*file)] {
        let mut settings = settings(&[("LAB_KEY", "canary-1")], config, file);
        settings.wanted.model = Some("lab/m".into());
        settings.note = |line| NOTED.lock().unwrap().push(line.to_owned());
        assert_eq!((refusal(&settings, "lab/m").await, warnings(&settings)), (None, vec![]));
        for _ in 0..2 {
            asked(&settings).await;
        }
        let noted = std::mem::take(&mut *NOTED.lock().unwrap());
        assert!(noted.iter().all(|line| line == &crate::pairing::goes("lab", "tillerman.invalid")), "{noted:?}");
        assert!(!noted.is_empty(), "{config} {file}");
    }
}

/// A key of whatever service, and one of which nothing is known but the name of its variable.
#[tokio::test]
async fn a_key_of_any_variable_goes_where_that_variable_is_named() {
    let env = [("GITHUB_TOKEN", "canary-1-hub"), ("OTHER_TOKEN", "canary-2-other"), ("LAB_API_KEY", "canary-3-lab")];
    let table = |rest: &str| format!("[providers.lab]\nbase_url = '{LAN}'\n{rest}\n");
    for (config, file) in [
        (table("key_env = 'GITHUB_TOKEN'"), String::new()),
        (table("headers = { X-A = '${GITHUB_TOKEN}' }"), String::new()),
        (table("headers = { Authorization = 'Basic dXNlcjpjYW5hcnktMS1odWI=' }"), String::new()),
        (String::new(), described(r#""apiKey":"GITHUB_TOKEN","#)),
        (String::new(), described(r#""apiKey":"canary-2-other","#)),
        (table("key_env = 'LAB_API_KEY'\nheaders = { X-A = 'canary-2-other' }"), String::new()),
    ] {
        let settings = settings(&env, &config, &file);
        let said = refusal(&settings, "lab/m").await.unwrap_or_else(|| panic!("{config} {file}: it is sent"));
        assert!(said.contains("is not sent to 192.168.1.5") && !said.contains("canary"), "{said}");
        assert_eq!(warnings(&settings), Vec::<String>::new());
    }
    for (config, file) in [
        (table("key_env = 'LAB_API_KEY'"), String::new()),
        (table("headers = { Authorization = 'Bearer ${LAB_API_KEY}' }"), String::new()),
        (String::new(), described(r#""apiKey":"LAB_API_KEY","#)),
    ] {
        let settings = settings(&env, &config, &file);
        assert_eq!((refusal(&settings, "lab/m").await, warnings(&settings).len()), (None, 1), "{config} {file}");
    }
}

#[tokio::test]
async fn an_address_with_a_key_in_it_is_asked_by_nobody_and_shown_to_nobody() {
    let env = [("GROQ_API_KEY", "canary-1-groq"), ("LAB_KEY", "canary-2-lab"), ("OTHER_TOKEN", "canary-3-other")];
    for url in [
        "http://192.168.1.5/v1?k=${GROQ_API_KEY}",
        "http://192.168.1.5/v1/${GROQ_API_KEY}",
        "https://lab.example/v1/${GROQ_API_KEY}",
        "http://127.0.0.1:1/${GROQ_API_KEY}/v1",
        "https://${GROQ_API_KEY}.example/v1",
        "https://lab.example/${LAB_KEY}/v1",
        "https://lab.example/${OTHER_TOKEN}/v1",
        "https://lab.example/canary%2D1%2dgroq/v1",
        "https://lab.example/Y2FuYXJ5LTEtZ3JvcQ/v1",
    ] {
        let config = format!("[providers.lab]\nbase_url = '{url}'\nkey_env = 'LAB_KEY'\n");
        let written = url.replace("${GROQ_API_KEY}", env[0].1).replace("${LAB_KEY}", env[1].1);
        let written = written.replace("${OTHER_TOKEN}", env[2].1);
        let file = described(r#""apiKey":"LAB_KEY","#).replace(LAN, &written);
        for (config, file) in [(config, String::new()), (String::new(), file)] {
            let mut settings = settings(&env, &config, &file);
            settings.known_secrets().iter().for_each(|secret| settings.keyring.learn(secret.expose()));
            settings.wanted.model = Some("lab/m".into());
            let said = refusal(&settings, "lab/m").await.unwrap_or_else(|| panic!("{url}: it is asked"));
            assert!(said.contains("the address of lab has a key in it") && !said.contains("canary"), "{said}");
            if let Ok(chosen) = chosen_of(&settings).await {
                let shown = format!("{} {:?}", chosen.reason, chosen.catalogue.known());
                assert!(!shown.contains("canary"), "{shown}");
            }
        }
    }
    // A server's name may be the word that it takes for a key.
    let word = settings(&[("OPENAI_BASE_URL", "http://lm-studio:1/v1"), ("OPENAI_API_KEY", "lm-studio")], "", "");
    assert_eq!(refusal(&word, "m").await, None);
}
