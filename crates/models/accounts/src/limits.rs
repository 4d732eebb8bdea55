//! How much of an account is used up, as the vendor tells it. One 401 is worth one refreshed token; a second is the answer.

use std::sync::Arc;

use net::{PostBody, WholeResponse};
use serde::Deserialize;
use serde_json::Value;
use vocab::{Fault, Secret};

use crate::Account;
use crate::auth::AccountsState;
use crate::config::{safe_url, unsafe_url};
use crate::{cloud_code, faults, tokens};

/// What is used up of an OpenAI account.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OpenAiLimits {
    pub plan: Option<String>,
    pub primary: Option<LimitWindow>,
    pub secondary: Option<LimitWindow>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LimitWindow {
    pub used_percent: f64,
    pub window_seconds: Option<u64>,
    /// Seconds since 1970.
    pub resets_at: Option<u64>,
}

/// What is left of one model of Antigravity.
#[derive(Clone, PartialEq, Debug)]
pub struct ModelLimit {
    pub name: String,
    pub remaining_percent: f64,
    /// As the vendor writes it.
    pub reset_time: Option<String>,
}

const UNAUTHORIZED: u16 = 401;

impl AccountsState {
    pub(crate) async fn openai_limits(self: &Arc<Self>) -> Result<OpenAiLimits, Fault> {
        let login = self.login(Account::OpenAi).await?;
        let headers: Vec<(&str, &str)> =
            login.account_id.iter().map(|id| ("chatgpt-account-id", id.as_str())).collect();
        let doing = doing(Account::OpenAi);
        let body = self.told(Account::OpenAi, &doing, &self.config.openai_usage_url, None, &headers).await?;
        read_openai(&body).ok_or_else(|| faults::garbled(&doing))
    }

    pub(crate) async fn antigravity_limits(self: &Arc<Self>) -> Result<Vec<ModelLimit>, Fault> {
        let doing = doing(Account::Antigravity);
        let body = self.cloud_code(&doing, cloud_code::MODELS_PATH, "{}").await?;
        read_antigravity(&body).ok_or_else(|| faults::garbled(&doing))
    }

    /// What the vendor answers to the account's token. `doing`: for people, when it refuses.
    pub(crate) async fn told(
        self: &Arc<Self>,
        account: Account,
        doing: &str,
        url: &str,
        content: Option<PostBody<'_>>,
        headers: &[(&str, &str)],
    ) -> Result<Vec<u8>, Fault> {
        if !safe_url(url) {
            return Err(unsafe_url(account, url));
        }
        let ask = async |token: &Secret| tokens::send(&self.config, url, content, Some(token), headers).await;
        let mut token = self.access_token(account).await?;
        let mut answer = ask(&token).await?;
        if answer.status == UNAUTHORIZED {
            token = self.refreshed_after_401(account, &token).await?;
            answer = ask(&token).await?;
        }
        let WholeResponse { status, body } = answer;
        match status {
            200 => Ok(body),
            UNAUTHORIZED => Err(faults::refused(doing, status, &body, &[&token]).hint("sign in again")),
            status => Err(faults::refused(doing, status, &body, &[&token])),
        }
    }
}

fn doing(account: Account) -> String {
    format!("asking for the limits of {}", account.name())
}

fn percent(number: f64) -> f64 {
    if number.is_finite() { number.clamp(0.0, 100.0) } else { 0.0 }
}

fn read_openai(body: &[u8]) -> Option<OpenAiLimits> {
    #[derive(Deserialize)]
    struct OpenAiUsage {
        plan_type: Option<String>,
        rate_limit: Option<UsageWindows>,
    }
    #[derive(Deserialize)]
    struct UsageWindows {
        primary_window: Option<UsageWindow>,
        secondary_window: Option<UsageWindow>,
    }
    #[derive(Deserialize)]
    struct UsageWindow {
        used_percent: f64,
        #[serde(default)]
        limit_window_seconds: Value,
        #[serde(default)]
        reset_at: Value,
    }
    let whole = |value: &Value| value.as_f64().filter(|it| it.is_finite() && *it >= 0.0).map(|it| it as u64);
    let window = |window: UsageWindow| LimitWindow {
        used_percent: percent(window.used_percent),
        window_seconds: whole(&window.limit_window_seconds),
        resets_at: whole(&window.reset_at),
    };
    let usage: OpenAiUsage = serde_json::from_slice(body).ok()?;
    let windows = usage.rate_limit.unwrap_or(UsageWindows { primary_window: None, secondary_window: None });
    Some(OpenAiLimits {
        plan: usage.plan_type.map(|plan| faults::clean(&plan, &[])).filter(|plan| !plan.is_empty()),
        primary: windows.primary_window.map(window),
        secondary: windows.secondary_window.map(window),
    })
}

fn read_antigravity(body: &[u8]) -> Option<Vec<ModelLimit>> {
    #[derive(Deserialize)]
    struct ModelQuotas {
        models: std::collections::BTreeMap<String, QuotaEntry>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct QuotaEntry {
        quota_info: Option<Quota>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Quota {
        /// This vendor leaves a zero away.
        #[serde(default)]
        remaining_fraction: f64,
        reset_time: Option<String>,
    }
    let answer: ModelQuotas = serde_json::from_slice(body).ok()?;
    let limit = |(name, model): (String, QuotaEntry)| {
        let quota = model.quota_info?;
        let reset_time = quota.reset_time.map(|time| faults::clean(&time, &[])).filter(|time| !time.is_empty());
        Some(ModelLimit { name, remaining_percent: percent(quota.remaining_fraction * 100.0), reset_time })
    };
    Some(answer.models.into_iter().filter_map(limit).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_make_no_sense_do_no_harm() {
        let body = br#"{"plan_type":null,"rate_limit":{"primary_window":
            {"used_percent":1e300,"limit_window_seconds":"long","reset_at":-1},"secondary_window":null}}"#;
        let primary = Some(LimitWindow { used_percent: 100.0, window_seconds: None, resets_at: None });
        assert_eq!(read_openai(body), Some(OpenAiLimits { plan: None, primary, secondary: None }));
        assert_eq!(read_openai(b"{}"), Some(OpenAiLimits::default()));
        for bad in [&b"[]"[..], b"<html>", br#"{"rate_limit":7}"#] {
            assert_eq!(read_openai(bad), None);
            assert_eq!(read_antigravity(bad), None);
        }
    }

    #[test]
    fn models_without_a_quota_are_left_out_and_a_missing_fraction_is_nothing() {
        let body = br#"{"models":{"b":{"quotaInfo":{"remainingFraction":0.5,"resetTime":"2030-01-01T00:00:00Z"}},
            "c":{},"a":{"quotaInfo":{}}}}"#;
        let limit = |name: &str, remaining_percent, reset: Option<&str>| ModelLimit {
            name: name.into(),
            remaining_percent,
            reset_time: reset.map(str::to_owned),
        };
        let want = vec![limit("a", 0.0, None), limit("b", 50.0, Some("2030-01-01T00:00:00Z"))];
        assert_eq!(read_antigravity(body), Some(want));
    }
}
