//! Logging in, between the server that knows tokens and the dialect that is asked.

use std::sync::Arc;

use dialect_gateway::{Code, GatewayRefusal};
use gateway::{Caller, LoginPort, LoginRefused};

/// Where this caller's connection logs in.
pub fn login(caller: &Caller) -> LoginPort {
    let login = caller.login.clone();
    Arc::new(move |token| {
        login.login(&token).map_err(|refused| match refused {
            LoginRefused::Wrong => GatewayRefusal {
                code: Code::AuthFailed,
                reason: Some("auth_failed"),
                message: "the token is not known here".to_owned(),
                data: None,
            },
            LoginRefused::Taken => GatewayRefusal {
                code: Code::InvalidRequest,
                reason: Some("logged_in"),
                message: "this connection belongs to another token already: open one for this token".to_owned(),
                data: None,
            },
            LoginRefused::TooMany { retry_after_ms } => GatewayRefusal {
                code: Code::AuthFailed,
                reason: Some("rate_limited"),
                message: format!("too many wrong tokens: try again in {} s", retry_after_ms.div_ceil(1000)),
                data: None,
            },
        })
    })
}
