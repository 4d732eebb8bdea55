//! The settings in effect, without secrets, and reading them again.

use super::{ServiceAnswer, ServiceCall, asks, told};
use crate::methods::OwnPlan;
use crate::own::{GatewayRefusal, Scopes};
use crate::shape::*;
use crate::{Gateway, shape};

shape! { params
    /// `server.queue`: only what is below it.
    ConfigParams { "path" path: Option<Text<1, 200>> }
}
shape! { result
    /// Names of settings that are otherwise now, and those of them that want a new start.
    ReloadResult {
        "success" success: bool, "changed" changed: Vec<String>, "restartRequired" restart_required: Vec<String>,
    }
}

pub(crate) fn get(gateway: &Gateway, params: ConfigParams) -> Result<OwnPlan, GatewayRefusal> {
    let whole = gateway.scopes().has(Scopes::ADMIN);
    let path = params.path.map(|path| path.0.to_string());
    Ok(OwnPlan::Call(asks(ServiceCall::Config { path, whole })))
}
pub(crate) fn reload(_: &Gateway, _: Nothing) -> Result<OwnPlan, GatewayRefusal> {
    Ok(OwnPlan::Call(asks(ServiceCall::Reload)))
}

told!(get_told, ServiceAnswer::Config(it) => it, AnyJson);
told!(reload_told, ServiceAnswer::Reloaded(it) => it, ReloadResult);
