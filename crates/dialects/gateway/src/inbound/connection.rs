//! Who is there, and how they go.

use vocab::Secret;
use wire::Close;

use crate::Gateway;
use crate::auth_state;
use crate::ledger::RequestId;
use crate::own::{GatewayOwn, GatewayRefusal, Out};
use crate::params::LoginParams;
use crate::pending::WantedOfService;
use crate::results::SuccessResult;
use crate::shape::Nothing;

pub(crate) fn login(
    gateway: &mut Gateway,
    id: RequestId,
    params: LoginParams,
    out: &mut Out,
) -> Result<(), GatewayRefusal> {
    let token = Secret::new(&params.token.0).ok_or_else(auth_state::refused)?;
    gateway.call(GatewayOwn::Login { token }, WantedOfService::Login(id), out);
    Ok(())
}

pub(crate) fn disconnect(
    gateway: &mut Gateway,
    id: RequestId,
    _: Nothing,
    out: &mut Out,
) -> Result<(), GatewayRefusal> {
    gateway.answer(id, &SuccessResult { success: true }, out);
    out.close_with(Close::normal());
    Ok(())
}
