//! Codes by which unknown senders are let in.

use std::sync::Arc;

use super::{ServiceAnswer, ServiceCall, asks, told};
use crate::methods::OwnPlan;
use crate::own::GatewayRefusal;
use crate::shape::*;
use crate::{Gateway, shape};

/// Codes that are good at the same time.
pub const CODES_MAX: usize = 20;

shape! { params
    /// Without a channel it is good on any.
    GenerateParams { "channel" channel: Option<Text<1, 64>> }
}
shape! { params
    /// A code, or a sender of a channel.
    RevokeParams {
        "code" code: Option<Text<1, 64>>,
        "channel" channel: Option<Text<1, 64>>,
        "senderId" sender_id: Option<Text<1, 200>>,
    }
}
shape! { result
    /// For the sender to write. Times of codes are ISO 8601, as those of a session.
    GenerateResult { "code" code: String, "expiresAt" expires_at: String }
}
shape! { result
    /// A code that is still good.
    CodeRow {
        "code" code: String, "channel" channel: Nullable<Arc<str>>, "createdAt" created_at: String, "expiresAt" expires_at: String,
    }
}
shape! { result
    /// A sender that was let in.
    ApprovedRow { "channel" channel: Arc<str>, "senderId" sender_id: Arc<str>, "approvedAt" approved_at: String }
}
shape! { result
    /// Newest first.
    PairingListResult { "codes" codes: Vec<CodeRow>, "approved" approved: Vec<ApprovedRow> }
}
shape! { result
    /// Whether there was one.
    RevokeResult { "revoked" revoked: bool }
}

#[derive(Debug)]
pub enum PairingCall {
    Generate { channel: Option<Arc<str>> },
    List,
    RevokeCode { code: Arc<str> },
    RevokeSender { channel: Arc<str>, sender: Arc<str> },
}

#[derive(Debug)]
pub enum PairingAnswer {
    Generated(GenerateResult),
    Listed(PairingListResult),
    Revoked(RevokeResult),
}

pub(crate) fn generate(_: &Gateway, params: GenerateParams) -> Result<OwnPlan, GatewayRefusal> {
    let channel = params.channel.map(|channel| channel.0);
    Ok(OwnPlan::Call(asks(ServiceCall::Pairing(PairingCall::Generate { channel }))))
}
pub(crate) fn list(_: &Gateway, _: Nothing) -> Result<OwnPlan, GatewayRefusal> {
    Ok(OwnPlan::Call(asks(ServiceCall::Pairing(PairingCall::List))))
}
pub(crate) fn revoke(_: &Gateway, params: RevokeParams) -> Result<OwnPlan, GatewayRefusal> {
    let call = match (params.code, params.channel, params.sender_id) {
        (Some(code), None, None) => PairingCall::RevokeCode { code: code.0 },
        (None, Some(channel), Some(sender)) => PairingCall::RevokeSender { channel: channel.0, sender: sender.0 },
        _ => {
            return Err(GatewayRefusal::wrong_param(
                "code",
                "either `code`, or `channel` and `senderId`, must be there",
            ));
        }
    };
    Ok(OwnPlan::Call(asks(ServiceCall::Pairing(call))))
}

told!(generate_told, ServiceAnswer::Pairing(PairingAnswer::Generated(it)) => it, GenerateResult);
told!(list_told, ServiceAnswer::Pairing(PairingAnswer::Listed(it)) => it, PairingListResult);
told!(revoke_told, ServiceAnswer::Pairing(PairingAnswer::Revoked(it)) => it, RevokeResult);
