//! The user's accounts as sources beside others.

use testkit::mock_model::MockModel;

use super::*;
use crate::account_models::AccountSource;
use crate::source::Source;

#[tokio::test]
async fn beside_another_server_openais_models_carry_their_providers_name() {
    let (mock, place) = (MockModel::start().await, tempfile::tempdir().unwrap());
    std::fs::create_dir(place.path().join("auth")).unwrap();
    let login = r#"{"version":1,"openai":{"access_token":"CANARY-token","refresh_token":"CANARY-refresh","login_method":"browser"}}"#;
    std::fs::write(place.path().join("auth/credentials.json"), login).unwrap();
    let mut setup = setup(loose(None, None));
    setup.accounts.openai_url = Some(mock.base_url.clone());
    setup.known_models = Vec::new();
    let auth = sign_ins(&setup.accounts, place.path());
    let accounts = Arc::new(AccountModels::new(&setup, auth).unwrap());
    let beside = AccountSource::new(accounts.clone(), Some("ollama"), |_| false);
    assert_eq!(&*beside.models().await.unwrap()[0].slug, "openai/mock/alpha");
    assert!(beside.resolve("gpt-x").is_none(), "a bare name is the server's");
    let model = beside.resolve("openai/mock/alpha").unwrap().unwrap();
    assert_eq!((&*model.slug, &*model.id), ("openai/mock/alpha", "mock/alpha"));
    assert!(beside.chat(&model).is_some() && !beside.is_bare("openai"));

    // A name that another source has is that source's.
    assert_eq!(AccountSource::new(accounts.clone(), None, |_| false).names(), ["openai".into()]);
    assert!(AccountSource::new(accounts.clone(), Some("openai"), |_| false).names().is_empty());
    assert!(AccountSource::new(accounts, None, |name| name == "openai").names().is_empty());
}
