//! What Antigravity's own API, Google's Cloud Code, says of an account: the project under which its models are asked, and
//! which models there are.
//!
//! A project is only looked up, never made: an account gets one when its owner first opens Antigravity and agrees to what
//! is asked there.

use std::collections::BTreeMap;
use std::sync::Arc;

use net::PostBody;
use serde::Deserialize;
use serde_json::Value;
use vocab::{Fault, Secret};

use crate::Account;
use crate::auth::AccountsState;
use crate::config::AccountsConfig;
use crate::credentials::Login;
use crate::{faults, tokens};

pub(crate) const MODELS_PATH: &str = "/v1internal:fetchAvailableModels";
const PROJECT_PATH: &str = "/v1internal:loadCodeAssist";
/// Who asks; there is no word for us.
const PROJECT_BODY: &str =
    r#"{"metadata":{"ideType":"IDE_UNSPECIFIED","platform":"PLATFORM_UNSPECIFIED","pluginType":"GEMINI"}}"#;
/// A longer name is none.
const NAME_CHARS_MAX: usize = 200;

/// A model as Cloud Code describes it; what it does not say is `None`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CloudModel {
    pub id: String,
    /// For people.
    pub name: Option<String>,
    pub context_window: Option<u64>,
    pub max_output: Option<u64>,
    pub images: Option<bool>,
    pub thinking: Option<bool>,
}

impl AccountsState {
    /// What is kept with the account, else what Cloud Code says, which is then kept. `None`: the account has none.
    pub(crate) async fn antigravity_project(self: &Arc<Self>) -> Result<Option<String>, Fault> {
        let login = self.login(Account::Antigravity).await?;
        if login.project.is_some() {
            return Ok(login.project);
        }
        let doing = "asking for the project of antigravity";
        let body = self.cloud_code(doing, PROJECT_PATH, PROJECT_BODY).await?;
        let Some(project) = read_project(&body) else { return Ok(None) };
        let found = project.clone();
        let keep = move |login: &mut Login| login.project = Some(found);
        // Somebody else may have signed in meanwhile: then it is not theirs. A refreshed token is still the same sign-in.
        let profile = login.profile;
        let same = move |now: &&mut Login| now.profile == profile;
        let account = Account::Antigravity;
        self.file.update(move |saved| saved.login_mut(account).as_mut().filter(same).map(keep)).await?;
        Ok(Some(project))
    }

    pub(crate) async fn antigravity_models(self: &Arc<Self>) -> Result<Vec<CloudModel>, Fault> {
        let doing = "asking for the models of antigravity";
        let body = self.cloud_code(doing, MODELS_PATH, "{}").await?;
        read_models(&body).ok_or_else(|| faults::garbled(doing))
    }

    pub(crate) async fn cloud_code(self: &Arc<Self>, doing: &str, path: &str, body: &str) -> Result<Vec<u8>, Fault> {
        let url = url(&self.config, path);
        self.told(Account::Antigravity, doing, &url, Some(PostBody::Json(body)), &[]).await
    }
}

fn url(config: &AccountsConfig, path: &str) -> String {
    format!("{}{path}", config.antigravity_url.trim_end_matches('/'))
}

/// For a sign-in that is not kept yet. Not knowing is no failure: it is asked for again when models are.
pub(crate) async fn project(config: &AccountsConfig, token: &Secret) -> Option<String> {
    let url = url(config, PROJECT_PATH);
    if !crate::safe_url(&url) {
        return None;
    }
    let answer = tokens::send(config, &url, Some(PostBody::Json(PROJECT_BODY)), Some(token), &[]).await.ok()?;
    read_project(&answer.body).filter(|_| answer.status == 200)
}

/// A name, or an object with its id: both have been seen.
fn read_project(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct LoadedProject {
        #[serde(default)]
        cloudaicompanion_project: Value,
    }
    let project = serde_json::from_slice::<LoadedProject>(body).ok()?.cloudaicompanion_project;
    name(project.as_str().or_else(|| project["id"].as_str())?)
}

fn name(text: &str) -> Option<String> {
    let text = text.trim();
    let fits = !text.is_empty() && text.chars().count() <= NAME_CHARS_MAX && !text.chars().any(char::is_control);
    fits.then(|| text.to_owned())
}

/// A model that cannot be read costs itself only.
fn read_models(body: &[u8]) -> Option<Vec<CloudModel>> {
    #[derive(Deserialize)]
    struct AvailableModels {
        models: BTreeMap<String, Value>,
    }
    let answer: AvailableModels = serde_json::from_slice(body).ok()?;
    let model = |(id, said): (String, Value)| {
        let count = |member: &str| said[member].as_u64().filter(|count| *count > 0);
        let id = name(&id).filter(|id| talks(id))?;
        Some(CloudModel {
            name: said["displayName"].as_str().and_then(name),
            context_window: count("maxTokens"),
            max_output: count("maxOutputTokens"),
            images: said["supportsImages"].as_bool(),
            thinking: said["supportsThinking"].as_bool(),
            id,
        })
    };
    Some(answer.models.into_iter().filter_map(model).collect())
}

/// Among them are models that only complete lines in an editor, under numbers or names of their own.
fn talks(id: &str) -> bool {
    let number = |rest: &str| rest.bytes().all(|byte| byte.is_ascii_digit());
    !id.starts_with("tab_") && !id.strip_prefix("chat_").is_some_and(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_has_two_shapes_and_nothing_else_is_one() {
        for (body, want) in [
            (r#"{"cloudaicompanionProject":"p-1","currentTier":{"id":"free-tier"}}"#, Some("p-1")),
            (r#"{"cloudaicompanionProject":{"id":" p-2 "}}"#, Some("p-2")),
            (r#"{"allowedTiers":[{"id":"free-tier"}]}"#, None),
            (r#"{"cloudaicompanionProject":""}"#, None),
            (r#"{"cloudaicompanionProject":"a\nb"}"#, None),
            (r#"{"cloudaicompanionProject":7}"#, None),
            ("<html>", None),
        ] {
            assert_eq!(read_project(body.as_bytes()).as_deref(), want, "{body}");
        }
    }

    #[test]
    fn models_say_what_they_can_and_those_of_editors_are_left_out() {
        let body =
            br#"{"models":{"gemini-x":{"displayName":"X","maxTokens":9,"maxOutputTokens":3,"supportsImages":false,
            "supportsThinking":true},"bare":{},"odd":7,"tab_flash":{},"chat_20706":{},"chat_x":{"maxTokens":-1}}}"#;
        let models = read_models(body).unwrap();
        let ids: Vec<&str> = models.iter().map(|model| model.id.as_str()).collect();
        assert_eq!(ids, ["bare", "chat_x", "gemini-x", "odd"]);
        let want = CloudModel {
            id: "gemini-x".into(),
            name: Some("X".into()),
            context_window: Some(9),
            max_output: Some(3),
            images: Some(false),
            thinking: Some(true),
        };
        assert_eq!(models[2], want);
        assert_eq!((models[0].context_window, models[1].context_window), (None, None));
        assert_eq!(read_models(b"[]"), None);
    }
}
