//! What is asked of a gateway that runs, or of its files. The token may stand in the configuration, which is read as the gateway
//! itself would read it.

use std::path::PathBuf;

use config::SettingValue;
use daemon::SettingsPlace;
use gateway::cli::{self, ConfiguredToken};
use vocab::{Fault, FaultKind, Mode};

use crate::args::{Basics, GatewayVerb, TokenArgs};
use crate::setup::SettingsAgain;

pub(super) fn ask(verb: &GatewayVerb) -> Result<u8, Fault> {
    let home = config::Home::find(&config::process_env)
        .ok_or_else(|| Fault::new(FaultKind::Invalid, "cannot tell where the gateway is").hint("set HOME"))?;
    let place = super::place(&home.data);
    let said = match verb {
        GatewayVerb::Status { json } => cli::status(&place, *json),
        GatewayVerb::Stop => cli::stop(&place),
        GatewayVerb::Certificate => cli::certificate(&place),
        GatewayVerb::Url { with_token, config } => {
            cli::url(&place, with_token.then(|| configured(config)).transpose()?)
        }
        GatewayVerb::Token(TokenArgs { rotate: true, config, .. }) => cli::rotate(&place, configured(config)?),
        GatewayVerb::Token(TokenArgs { list: true, .. }) => cli::tokens(&place),
        GatewayVerb::Token(TokenArgs { name: Some(name), scopes, .. }) => cli::make(&place, name, scopes),
        GatewayVerb::Token(TokenArgs { revoke: Some(name), .. }) => cli::revoke(&place, name),
        GatewayVerb::Token(TokenArgs { config, .. }) => cli::token(&place, configured(config)?),
    }?;
    let printed = crate::print::say(&said.text);
    printed.map_err(|error| Fault::new(FaultKind::Internal, format!("stdout: {error}")))?;
    Ok(said.exit_code)
}

/// The configuration's token, which counts before the one in the gateway's home.
fn configured(file: &Option<PathBuf>) -> Result<Option<ConfiguredToken>, Fault> {
    const TOKEN: &str = "server.token";
    let basics = Basics { config: file.clone(), ..Basics::default() };
    let config = SettingsAgain(basics, Mode::DangerFullAccess).read(None)?;
    let stands_in = config.source(TOKEN).map(ToString::to_string).unwrap_or_default();
    Ok(match config.get(TOKEN) {
        Some(SettingValue::Secret(Some(token))) => Some(ConfiguredToken { token: token.clone(), stands_in }),
        _ => None,
    })
}
