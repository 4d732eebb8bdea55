//! Sign-ins and keys.

use serde_json::{Value, json};
use vocab::{AccountList, AccountName, DirectoryVerb, Fault, Profile, SignInMode, SignInStep, SignedIn, Verb};

use crate::Loaf;
use crate::faults::{self, RpcFault};
use crate::frames::LoafCall;
use crate::models;
use crate::own::{KeyTried, Listed, LoafLimits, ModelUse, Out, WindowUse, account};
use crate::params::Params;
use crate::pending::LoafPending;

/// What the accounts are looked at again for.
pub(crate) enum Then {
    /// The conversation begins.
    Start,
    SignedIn {
        call: LoafCall,
        account: AccountName,
        signed_in: Box<SignedIn>,
    },
    OpenRouterKey {
        call: LoafCall,
        tried: KeyTried,
    },
    ExaKey {
        call: LoafCall,
        skipped: bool,
    },
    Forgotten {
        call: LoafCall,
    },
}

impl Then {
    pub(crate) fn call(&self) -> Option<&LoafCall> {
        match self {
            Then::Start => None,
            Then::SignedIn { call, .. }
            | Then::OpenRouterKey { call, .. }
            | Then::ExaKey { call, .. }
            | Then::Forgotten { call } => Some(call),
        }
    }
}

impl Loaf {
    pub(crate) fn auth_status(&self) -> Value {
        let accounts = &self.accounts;
        json!({
            "enabled_providers": models::enabled(accounts, &self.choice),
            "has_openai_token": accounts.is_ready(account::OPENAI),
            "has_openrouter_key": accounts.is_ready(account::OPENROUTER),
            "has_antigravity_token": accounts.is_ready(account::ANTIGRAVITY),
            "antigravity_profile": profile_of(accounts, account::ANTIGRAVITY),
        })
    }

    pub(crate) fn connect_openai(&mut self, call: &LoafCall, params: &Params, out: &mut Out) -> Result<(), RpcFault> {
        let mode = match params.text_maybe("mode")?.as_deref() {
            None | Some("auto") => SignInMode::Auto,
            Some("browser") => SignInMode::Browser,
            Some("device_code") => SignInMode::DeviceCode,
            Some(_) => return Err(RpcFault::bad_field("mode", "mode must be one of: auto, browser, device_code")),
        };
        let originator = params.text_maybe("originator")?.map(Into::into);
        self.sign_in(call, account::OPENAI, mode, originator, out);
        Ok(())
    }

    pub(crate) fn sign_in(
        &mut self,
        call: &LoafCall,
        account: AccountName,
        mode: SignInMode,
        originator: Option<std::sync::Arc<str>>,
        out: &mut Out,
    ) {
        self.want(
            Verb::Directory(DirectoryVerb::SignIn { account, mode, originator }),
            LoafPending::SignIn(call.clone(), account),
            out,
        );
    }

    pub(crate) fn sign_in_step(&mut self, account: AccountName, step: &SignInStep, out: &mut Out) {
        let (kind, mut payload) = match step {
            SignInStep::Started => ("auth.flow.started", json!({})),
            SignInStep::Url(url) => ("auth.flow.url", json!({ "url": url })),
            SignInStep::DeviceCode { verification_url, user_code, interval_seconds, expires_in_seconds } => (
                "auth.flow.device_code",
                json!({
                    "verification_url": verification_url,
                    "user_code": user_code,
                    "interval_seconds": interval_seconds,
                    "expires_in_seconds": expires_in_seconds,
                }),
            ),
            SignInStep::Completed(signed_in) => ("auth.flow.completed", about(account, signed_in)),
            SignInStep::Failed { message } => ("auth.flow.failed", json!({ "message": message })),
        };
        payload["provider"] = json!(account.as_str());
        self.pen(out).event(kind, payload);
    }

    /// The accounts have changed, or not: they are looked at again before anybody is told.
    pub(crate) fn look_again(&mut self, then: Then, out: &mut Out) {
        self.want(Verb::Directory(DirectoryVerb::Accounts), LoafPending::Accounts(then), out);
    }

    pub(crate) fn accounts_known(&mut self, then: Then, result: Result<&AccountList, &Fault>, out: &mut Out) {
        match result {
            Ok(accounts) => self.accounts = accounts.clone(),
            Err(fault) => out.notes.push(faults::text(fault)),
        }
        match then {
            Then::Start => self.to_learn = self.to_learn.saturating_sub(1),
            Then::SignedIn { call, account, signed_in } => {
                let reason = match account {
                    account::ANTIGRAVITY => "auth_antigravity_connected",
                    _ => "auth_openai_connected",
                };
                self.state_changed(reason, None, out);
                let mut answer = about(account, &signed_in);
                answer["provider"] = json!(account.as_str());
                self.pen(out).result(&call, answer);
            }
            Then::OpenRouterKey { call, tried } => {
                self.state_changed("openrouter_key_updated", None, out);
                let source = match tried.listed {
                    Listed::Remote => "remote",
                    Listed::Cache => "cache",
                    Listed::Fallback => "fallback",
                };
                let answer = json!({ "configured": true, "model_count": tried.models, "source": source });
                self.pen(out).result(&call, answer);
            }
            Then::ExaKey { call, skipped } => {
                let reason = if skipped { "exa_key_skipped" } else { "exa_key_updated" };
                self.state_changed(reason, None, out);
                self.pen(out).result(&call, json!({ "configured": !skipped, "skipped": skipped }));
            }
            Then::Forgotten { call } => {
                self.state_changed("forgeteverything", None, out);
                self.pen(out).result(&call, json!({ "cleared": true }));
            }
        }
    }
}

/// What a sign-in brought, as its account's events have it.
fn about(account: AccountName, signed_in: &SignedIn) -> Value {
    match account {
        account::ANTIGRAVITY => json!({ "profile": profile(signed_in.profile.as_ref()) }),
        _ => json!({ "login_method": signed_in.login_method.name(), "account_id": signed_in.account_id }),
    }
}

pub(crate) fn profile_of(accounts: &AccountList, name: AccountName) -> Value {
    profile(accounts.get(name).and_then(|account| account.profile.as_ref()))
}

fn profile(profile: Option<&Profile>) -> Value {
    let Some(Profile { email, name, image }) = profile else { return Value::Null };
    let mut shown = json!({ "email": email, "name": name });
    if let Some(image) = image {
        shown["picture"] = json!(image);
    }
    shown
}

pub(crate) fn limits(limits: &LoafLimits) -> Value {
    let window = |window: &WindowUse| {
        json!({
            "usedPercent": window.used_percent,
            "remainingPercent": (100.0 - window.used_percent).clamp(0.0, 100.0),
            "limitWindowSeconds": window.window_seconds,
            "resetAtEpochSeconds": window.resets_at,
        })
    };
    let openai = limits.openai.as_ref().map(|result| match result {
        Ok(it) => json!({ "ok": true, "snapshot": {
            "planType": it.plan,
            "primary": it.primary.as_ref().map(window),
            "secondary": it.secondary.as_ref().map(window),
        } }),
        Err(fault) => json!({ "ok": false, "message": faults::text(fault) }),
    });
    let row = |it: &ModelUse| json!({ "name": it.name, "remainingPercent": it.remaining_percent, "resetTime": it.reset_time });
    let antigravity = limits.antigravity.as_ref().map(|result| match result {
        Ok(models) => json!({ "ok": true, "snapshot": { "models": models.iter().map(row).collect::<Vec<_>>() } }),
        Err(fault) => json!({ "ok": false, "message": faults::text(fault) }),
    });
    json!({ "openai": openai, "antigravity": antigravity })
}
