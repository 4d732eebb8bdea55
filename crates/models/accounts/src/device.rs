//! Signing in by a code that the user types elsewhere: start, tell the code, poll until the issuer has made up its mind.

use std::time::Duration;

use net::{PostBody, WholeResponse};
use serde_json::{Value, json};
use vocab::{Fault, FaultKind, Secret, SignInStep};

use crate::config::{Device, DeviceStyle, safe_url};
use crate::flow::Tell;
use crate::timer::Timer;
use crate::tokens::{IssuerClient, Tokens};
use crate::{faults, form};

/// What holds when the issuer says nothing, and what is made of numbers that make no sense.
const INTERVAL_DEFAULT_S: u64 = 5;
const INTERVAL_MAX_S: u64 = 300;
const EXPIRY_DEFAULT_S: u64 = 900;
const EXPIRY_MAX_S: u64 = 3600;
/// How much slower `slow_down` makes it (RFC 8628, 3.5).
const SLOW_DOWN_S: u64 = 5;
/// Polls in a row that may fail for reasons of the network or of the issuer; one more fails the flow.
const HICCUPS_MAX: u32 = 5;

const STARTING: &str = "asking for a device code";
const POLLING: &str = "the sign-in by device code";

/// What the issuer hands out to begin with.
pub(crate) struct DeviceCode {
    device_id: Secret,
    user_code: String,
    verification_url: String,
    interval_s: u64,
    expires_s: u64,
}

/// `None` when this issuer has no device codes (404, or none configured).
pub(crate) async fn start(client: &IssuerClient<'_>) -> Result<Option<DeviceCode>, Fault> {
    let Some(device) = &client.issuer.device else { return Ok(None) };
    let client_id = client.issuer.client_id.as_str();
    let answer = match device.style {
        DeviceStyle::OpenAi => {
            let body = json!({ "client_id": client_id }).to_string();
            client.post(&device.start_url, PostBody::Json(&body)).await?
        }
        DeviceStyle::Rfc8628 => {
            let body = form::of(&[("client_id", client_id), ("scope", &client.issuer.scope)]);
            client.post(&device.start_url, PostBody::Form(&body)).await?
        }
    };
    match answer.status {
        200 => read_start(device, &answer.body).map(Some).ok_or_else(|| faults::garbled(STARTING)),
        404 => Ok(None),
        status => Err(faults::refused(STARTING, status, &answer.body, &[])),
    }
}

fn read_start(device: &Device, body: &[u8]) -> Option<DeviceCode> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let text = |names: &[&str]| names.iter().find_map(|name| value[*name].as_str()).map(str::to_owned);
    // OpenAI writes numbers as strings.
    let number = |name: &str| value[name].as_u64().or_else(|| value[name].as_str()?.trim().parse().ok());
    let url = text(&["verification_url", "verification_uri"]).or_else(|| device.verification_url.clone())?;
    let user_code = text(&["user_code", "usercode"])?;
    let shown = !user_code.is_empty() && user_code.len() <= 64 && user_code.bytes().all(|it| it.is_ascii_graphic());
    (shown && safe_url(&url)).then_some(())?;
    Some(DeviceCode {
        device_id: Secret::new(&text(&["device_auth_id", "device_code"])?)?,
        user_code,
        verification_url: url,
        interval_s: number("interval").unwrap_or(INTERVAL_DEFAULT_S).clamp(1, INTERVAL_MAX_S),
        expires_s: number("expires_in").unwrap_or(EXPIRY_DEFAULT_S).clamp(1, EXPIRY_MAX_S),
    })
}

/// Tells the code and waits for the user.
pub(crate) async fn wait(
    client: &IssuerClient<'_>,
    timer: &dyn Timer,
    started: DeviceCode,
    tell: Tell<'_>,
) -> Result<Tokens, Fault> {
    let device = client.issuer.device.as_ref().expect("it was asked for a code");
    tell(SignInStep::Url(started.verification_url.clone()));
    tell(SignInStep::DeviceCode {
        verification_url: started.verification_url.clone(),
        user_code: started.user_code.clone(),
        interval_seconds: started.interval_s,
        expires_in_seconds: started.expires_s,
    });
    let end_ms = timer.now_ms().saturating_add(i64::try_from(started.expires_s * 1000).unwrap_or(i64::MAX));
    let mut interval_s = started.interval_s;
    let mut hiccups = 0;
    loop {
        timer.sleep(Duration::from_secs(interval_s)).await;
        if timer.now_ms() >= end_ms {
            return Err(expired());
        }
        let polled = poll(client, device, &started).await.and_then(|answer| meaning(client, device, &started, &answer));
        match polled {
            Ok(Polled::Tokens(tokens)) => return Ok(tokens),
            Ok(Polled::Code { code, verifier }) => return client.redeem(&code, &verifier, &device.redirect_uri).await,
            Ok(Polled::Pending) => hiccups = 0,
            Ok(Polled::SlowDown) => {
                hiccups = 0;
                interval_s = (interval_s + SLOW_DOWN_S).min(INTERVAL_MAX_S);
            }
            Err(fault) if is_hiccup(&fault) && hiccups < HICCUPS_MAX => hiccups += 1,
            Err(fault) => return Err(fault),
        }
    }
}

/// Nothing is lost by asking again: the code waits at the issuer.
fn is_hiccup(fault: &Fault) -> bool {
    matches!(fault.kind, FaultKind::Network | FaultKind::Provider)
}

fn expired() -> Fault {
    Fault::new(FaultKind::Auth, "the code has expired before anybody used it").hint("start again")
}

async fn poll(client: &IssuerClient<'_>, device: &Device, started: &DeviceCode) -> Result<WholeResponse, Fault> {
    let id = started.device_id.expose();
    match device.style {
        DeviceStyle::OpenAi => {
            let body = json!({ "device_auth_id": id, "user_code": started.user_code }).to_string();
            client.post(&device.poll_url, PostBody::Json(&body)).await
        }
        DeviceStyle::Rfc8628 => {
            let mut body = form::of(&[
                ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
                ("device_code", id),
                ("client_id", &client.issuer.client_id),
            ]);
            if let Some(secret) = &client.issuer.client_secret {
                form::push(&mut body, "client_secret", secret.expose());
            }
            client.post(&device.poll_url, PostBody::Form(&body)).await
        }
    }
}

/// What one poll says.
enum Polled {
    Pending,
    SlowDown,
    Code { code: Secret, verifier: Secret },
    Tokens(Tokens),
}

fn meaning(
    client: &IssuerClient<'_>,
    device: &Device,
    started: &DeviceCode,
    answer: &WholeResponse,
) -> Result<Polled, Fault> {
    if answer.status == 200 {
        // Not a hiccup: it has answered for good, and we cannot read it.
        let garbled = || Fault { kind: FaultKind::Auth, ..faults::garbled(POLLING) };
        return match device.style {
            DeviceStyle::OpenAi => read_code(&answer.body).ok_or_else(garbled),
            DeviceStyle::Rfc8628 => client.read(&answer.body).map(Polled::Tokens).ok_or_else(garbled),
        };
    }
    match (faults::said(&answer.body).code.as_str(), answer.status) {
        ("authorization_pending", _) => Ok(Polled::Pending),
        ("slow_down", _) | (_, 429) => Ok(Polled::SlowDown),
        ("expired_token", _) => Err(expired()),
        ("access_denied" | "authorization_declined", _) => Err(Fault::new(FaultKind::Auth, "the sign-in was denied")),
        // OpenAI says nothing else while the user has not typed the code.
        (_, 403 | 404) if device.style == DeviceStyle::OpenAi => Ok(Polled::Pending),
        (_, status) => {
            let mut secrets = vec![&started.device_id];
            secrets.extend(&client.issuer.client_secret);
            Err(faults::refused(POLLING, status, &answer.body, &secrets))
        }
    }
}

fn read_code(body: &[u8]) -> Option<Polled> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let secret = |name: &str| value[name].as_str().and_then(Secret::new);
    Some(Polled::Code { code: secret("authorization_code")?, verifier: secret("code_verifier")? })
}
