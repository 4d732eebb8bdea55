//! The settings in effect, without secrets; reading them again, and changing one.

use super::{ServiceAnswer, ServiceCall, asks, told};
use crate::methods::OwnPlan;
use crate::own::{GatewayRefusal, Scopes};
use crate::shape::*;
use crate::{Gateway, shape};

shape! { params
    /// `server.queue`: only what is below it.
    ConfigParams { "path" path: Option<Text<1, 200>> }
}
shape! { params
    /// `dryRun`: only says what would change.
    ReloadParams { "dryRun" dry_run: bool = false }
}
shape! { result
    /// One setting that is otherwise; `null`: it is not set. Secrets are `***`.
    ConfigChange {
        "path" path: String,
        "from" from: Nullable<AnyJson>,
        "to" to: Nullable<AnyJson>,
        "restartRequired" restart_required: bool,
    }
}
shape! { result
    /// Names of settings that are otherwise now; `changes` says how.
    ReloadResult {
        "success" success: bool,
        "changed" changed: Vec<String>,
        /// Those that are otherwise than the process runs with, and hold after a new start: also of readings before this one.
        "restartRequired" restart_required: Vec<String>,
        "changes" changes: Vec<ConfigChange>,
    }
}
shape! { params
    /// `null` takes the setting out of the file. `dryRun`: only says what would change.
    ConfigSetParams {
        "path" path: Text<1, 200>,
        "value" value: AnyJson,
        "dryRun" dry_run: bool = false,
    }
}
shape! { result
    /// `shadowedBy`: what is laid over the file there, so that the change does not hold.
    ConfigSetResult {
        "success" success: bool, "changes" changes: Vec<ConfigChange>, "shadowedBy" shadowed_by: Option<String>,
    }
}

pub(crate) fn get(gateway: &Gateway, params: ConfigParams) -> Result<OwnPlan, GatewayRefusal> {
    let whole = gateway.scopes().has(Scopes::ADMIN);
    let path = params.path.map(|path| path.0.to_string());
    Ok(OwnPlan::Call(asks(ServiceCall::Config { path, whole })))
}
pub(crate) fn schema(_: &Gateway, _: Nothing) -> Result<OwnPlan, GatewayRefusal> {
    Ok(OwnPlan::Call(asks(ServiceCall::ConfigSchema)))
}
pub(crate) fn reload(_: &Gateway, params: ReloadParams) -> Result<OwnPlan, GatewayRefusal> {
    Ok(OwnPlan::Call(asks(ServiceCall::Reload { dry_run: params.dry_run })))
}
pub(crate) fn set(_: &Gateway, params: ConfigSetParams) -> Result<OwnPlan, GatewayRefusal> {
    Ok(OwnPlan::Call(asks(ServiceCall::ConfigSet(params))))
}

told!(get_told, ServiceAnswer::Config(it) => it, AnyJson);
told!(schema_told, ServiceAnswer::Config(it) => it, AnyJson);
told!(set_told, ServiceAnswer::ConfigSet(it) => it, ConfigSetResult);
told!(reload_told, ServiceAnswer::Reloaded(it) => it, ReloadResult);
