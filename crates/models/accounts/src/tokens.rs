//! The token endpoint: a code or a refresh token goes there, tokens come back. And the profile behind them.

use net::{Exchange, PostBody, Proxy, WholeResponse};
use serde::Deserialize;
use serde_json::Value;
use vocab::{Clock, Fault, FaultKind, Profile, Secret};

use crate::claims::Claims;
use crate::config::{AccountsConfig, Issuer};
use crate::{faults, form};

/// A longer answer of an issuer is a fault; real ones are some KiB.
const ANSWER_BYTES_MAX: usize = 256 * 1024;
/// A longer life than this is not believed: ten years.
const LIFE_SECONDS_MAX: f64 = 315_360_000.0;

/// What an issuer gives out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Tokens {
    pub(crate) access: Secret,
    pub(crate) refresh: Option<Secret>,
    pub(crate) id: Option<Secret>,
    /// `None`: nobody said; then only a 401 tells.
    pub(crate) expires_at_ms: Option<i64>,
}

impl Tokens {
    pub(crate) fn account_id(&self) -> Option<String> {
        [self.id.as_ref(), Some(&self.access)].into_iter().flatten().find_map(|it| Claims::of(it)?.account_id())
    }
}

/// One issuer, and what is needed to speak with it.
pub(crate) struct IssuerClient<'a> {
    pub(crate) config: &'a AccountsConfig,
    pub(crate) issuer: &'a Issuer,
    pub(crate) clock: &'a dyn Clock,
}

impl IssuerClient<'_> {
    /// Trades the code of a flow for tokens.
    pub(crate) async fn redeem(&self, code: &Secret, verifier: &Secret, redirect_uri: &str) -> Result<Tokens, Fault> {
        let mut form = form::of(&[
            ("grant_type", "authorization_code"),
            ("code", code.expose()),
            ("redirect_uri", redirect_uri),
            ("client_id", &self.issuer.client_id),
            ("code_verifier", verifier.expose()),
        ]);
        self.token_call("signing in", &mut form, &[code, verifier]).await
    }

    /// Trades a refresh token for new tokens. Not every issuer gives a new refresh token; then the old one goes on.
    pub(crate) async fn refresh(&self, refresh: &Secret) -> Result<Tokens, Fault> {
        let mut form = form::of(&[
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh.expose()),
            ("client_id", &self.issuer.client_id),
        ]);
        let mut tokens = self.token_call("refreshing the sign-in", &mut form, &[refresh]).await?;
        tokens.refresh.get_or_insert_with(|| refresh.clone());
        Ok(tokens)
    }

    async fn token_call(&self, doing: &str, form: &mut String, secrets: &[&Secret]) -> Result<Tokens, Fault> {
        let mut secrets = secrets.to_vec();
        if let Some(secret) = &self.issuer.client_secret {
            form::push(form, "client_secret", secret.expose());
            secrets.push(secret);
        }
        let answer = self.post(&self.issuer.token_url, PostBody::Form(form)).await?;
        if answer.status != 200 {
            return Err(faults::refused(doing, answer.status, &answer.body, &secrets));
        }
        self.read(&answer.body).ok_or_else(|| faults::garbled(doing))
    }

    /// The tokens in an answer; `None` when there are none.
    pub(crate) fn read(&self, body: &[u8]) -> Option<Tokens> {
        #[derive(Deserialize)]
        struct Granted {
            access_token: String,
            refresh_token: Option<String>,
            id_token: Option<String>,
            #[serde(default)]
            expires_in: Value,
        }
        let granted: Granted = serde_json::from_slice(body).ok()?;
        let access = token(&granted.access_token)?;
        let optional = |text: Option<String>| text.as_deref().and_then(token);
        let told = granted.expires_in.as_f64().or_else(|| granted.expires_in.as_str()?.trim().parse().ok());
        let told = told.filter(|seconds| (0.0..=LIFE_SECONDS_MAX).contains(seconds));
        let expires_at_ms = told
            .map(|seconds| self.clock.now_ms().saturating_add((seconds * 1000.0) as i64))
            .or_else(|| Claims::of(&access)?.expires_at_ms());
        Some(Tokens { refresh: optional(granted.refresh_token), id: optional(granted.id_token), expires_at_ms, access })
    }

    /// Who signed in: asked for where there is somebody to ask, else read from the id token. Not knowing is no failure.
    pub(crate) async fn profile(&self, tokens: &Tokens) -> Option<Profile> {
        let asked = match &self.issuer.userinfo_url {
            Some(url) => self.send(url, None, Some(&tokens.access)).await.ok().filter(|answer| answer.status == 200),
            None => None,
        };
        let asked = asked.and_then(|answer| serde_json::from_slice::<Claims>(&answer.body).ok()?.profile());
        asked.or_else(|| Claims::of(tokens.id.as_ref()?)?.profile())
    }

    pub(crate) async fn post(&self, url: &str, content: PostBody<'_>) -> Result<WholeResponse, Fault> {
        self.send(url, Some(content), None).await
    }

    async fn send(
        &self,
        url: &str,
        content: Option<PostBody<'_>>,
        bearer: Option<&Secret>,
    ) -> Result<WholeResponse, Fault> {
        send(self.config, url, content, bearer, &[]).await
    }
}

/// One exchange with an issuer or a vendor, within the usual limits.
pub(crate) async fn send(
    config: &AccountsConfig,
    url: &str,
    content: Option<PostBody<'_>>,
    bearer: Option<&Secret>,
    headers: &[(&str, &str)],
) -> Result<WholeResponse, Fault> {
    let timeout = config.limits.request;
    let proxy = Proxy::from_env(url, |name| config.environment.get(name));
    Exchange { url, content, bearer, headers, proxy, timeout, answer_bytes_max: ANSWER_BYTES_MAX }.send().await
}

/// A token has to fit into a header.
fn token(text: &str) -> Option<Secret> {
    text.bytes().all(|byte| byte.is_ascii_graphic()).then(|| Secret::new(text)).flatten()
}

/// The kind of a refusal that only a new sign-in can mend.
pub(crate) fn is_final(fault: &Fault) -> bool {
    fault.kind == FaultKind::Auth
}
