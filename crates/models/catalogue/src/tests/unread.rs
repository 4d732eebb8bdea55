//! Files of the agent directory that nobody could read: whom they describe is not known, so a name that nobody is known to
//! have may be theirs, and must not go to a server that takes any name.

use testkit::mock_model::MockModel;

use super::*;
use crate::vendors::tests::gathered;

fn broken(file: &str, wanted: Wanted) -> ModelSettings {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("models.json"), file).unwrap();
    let fine = r#"{"providers":{"home":{"baseUrl":"http://127.0.0.1:1/v1","api":"openai-completions","models":[{"id":"only"}]}}}"#;
    std::fs::write(place.path().join("models.yml"), fine).unwrap();
    let gathered = gathered(&[("OPENAI_API_KEY", "k")], "[providers.fine]\nbase_url = 'http://127.0.0.1:1/v1'\n");
    let aliases = vec![("mine".to_owned(), vec!["lab/zebra".to_owned()])];
    ModelSettings {
        described: agent::models(place.path(), &|_| None),
        providers: gathered.providers,
        names: ModelNames { aliases, tiers: Vec::new() },
        known_models: Vec::new(),
        ..setup(wanted)
    }
}

fn asked(model: Option<&str>, provider: Option<&str>) -> Wanted {
    Wanted { loose: false, ..loose(model, provider) }
}

#[track_caller]
fn says_which_file(model: &str, result: Result<impl Sized, Fault>) {
    let fault = result.err().unwrap_or_else(|| panic!("{model:?} went to somebody else"));
    assert!(fault.message.contains("was left out: ") && fault.message.contains("models.json"), "{fault:?}");
    assert!(fault.hints[0].contains("mend that file"), "{fault:?}");
}

#[tokio::test]
async fn a_name_that_may_stand_in_an_unreadable_file_leads_to_nobody_else() {
    let mock = MockModel::start().await;
    for file in ["{ \"providers\": {", r#"{"providers":["lab"]}"#, r#"{"provider":{"lab":{}}}"#, r#"["lab"]"#] {
        // A server that takes any name, and the user's OpenAI, which does as well.
        for env in [server(&mock.base_url), server("")] {
            for model in ["lab/zebra", " LAB/zebra ", "zebra", "mine"] {
                says_which_file(model, choose_from(broken(file, asked(Some(model), None)), &env).await);
                says_which_file(model, choose_from(broken(file, loose(Some(model), None)), &env).await);
                let catalogue = choose_from(broken(file, asked(Some("tour"), None)), &env).await.unwrap().catalogue;
                says_which_file(model, catalogue.resolve(model));
            }
            says_which_file("--provider lab", choose_from(broken(file, asked(None, Some("lab"))), &env).await);
            // A habit is passed over.
            let usual = Wanted { usual: Some((None, "lab/zebra".into())), ..Wanted::default() };
            let chosen = choose_from(broken(file, usual), &env).await.unwrap();
            assert!(!chosen.model.contains("zebra"), "{}", chosen.model);
            // What is known by its own name or its provider's is as before.
            for (slug, provider) in
                [("home/only", "home"), ("only", "home"), ("fine/any", "fine"), ("openai/any", "openai")]
            {
                let model = chosen.catalogue.resolve(slug).unwrap();
                assert_eq!(&*model.provider, provider, "{slug}");
            }
        }
    }
    assert_eq!(mock.chats().len(), 0);
}

#[tokio::test]
async fn a_file_that_is_mended_lets_others_be_asked_again() {
    let settings = broken(r#"{"providers":{}}"#, asked(Some("lab/zebra"), None));
    let chosen = choose_from(settings, &server("http://127.0.0.1:1/v1")).await.unwrap();
    assert_eq!(&*chosen.catalogue.resolve("lab/zebra").unwrap().base_url, "http://127.0.0.1:1/v1");
}
