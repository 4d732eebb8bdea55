//! Antigravity's models for a signed-in Google account: Gemini's format, wrapped as Google's Cloud Code wants it. Touches
//! nothing before it is asked.

use std::sync::Arc;

use accounts::Account;
use accounts::{Auth, CloudModel};
use net::{KeyHeader, Late};
use providers::{Api, CloudCode, Config, Lister, Listing, Lists};
use vocab::{Fault, FaultKind, Later, ModelInfo};

use crate::account_keys::{UserToken, checked};
use crate::configured::described;
use crate::settings::ModelSettings;

pub(crate) const ANTIGRAVITY: &str = "antigravity";
const URL: &str = "https://cloudcode-pa.googleapis.com";

pub(crate) fn config(setup: &ModelSettings, auth: &Auth) -> Result<Config, Fault> {
    let url = checked(ANTIGRAVITY, setup.accounts.antigravity_url.as_deref().unwrap_or(URL))?;
    let token = UserToken { auth: auth.clone(), account: Account::Antigravity, account_header: None };
    let mut config = super::config(setup, ANTIGRAVITY, &url, Late(Arc::new(token)));
    config.api = Api::Gemini;
    config.key_header = Some(KeyHeader::Bearer);
    config.models = described(setup, ANTIGRAVITY, &[]);
    config.listing = Listing::Asked(Lister(Arc::new(AccountList(auth.clone()))));
    let auth = auth.clone();
    config.cloud_code = Some(CloudCode::new(move || auth.known_project().unwrap_or_default()));
    Ok(config)
}

/// Whether its models can be asked at all.
pub(crate) fn ready(auth: &Auth) -> Result<(), Fault> {
    // Who has signed out meanwhile is told so by the request.
    if auth.known_project().is_some() || !auth.present().antigravity {
        return Ok(());
    }
    let fault = Fault::new(FaultKind::Auth, "no project of this Antigravity account is known");
    Err(fault.hint("open Antigravity once with this account, then sign in again"))
}

struct AccountList(Auth);

impl Lists for AccountList {
    fn list(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>> {
        Box::pin(async {
            // Without one the list is still right; whoever asks a model is told what is missing.
            let (models, _) = tokio::join!(self.0.antigravity_models(), self.0.antigravity_project());
            Ok(models?.into_iter().map(info).collect())
        })
    }
}

fn info(model: CloudModel) -> ModelInfo {
    let CloudModel { id, name, context_window, max_output, images, thinking } = model;
    let plain = ModelInfo::named(id, context_window.unwrap_or(0));
    let thinks = thinking.unwrap_or(plain.thinking);
    ModelInfo {
        name: name.map_or(plain.name, Into::into),
        max_output,
        images: images.unwrap_or(plain.images),
        thinking: thinks,
        levels: if thinks { None } else { Some([].into()) },
        ..plain
    }
}
