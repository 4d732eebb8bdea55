//! Which dialect answers which path.

use std::sync::Arc;

use dialect_acp::{Acp, AcpOptions};
use dialect_gateway::{Code, GatewayOptions, GatewayRefusal, OnDisconnect, Scopes};
use dialect_serve::{Serve, ServeOptions};
use gateway::{Caller, DialectDoor, DoorEnd, Entrance, GatewayJoins, Joined, Joins, LoginPort, LoginRefused};
use host::NoOwnCalls;
use vocab::Which;
use websocket::Binary;

use super::hooks::DaemonHooks;
use crate::cmd::stdio::FullIds;
use crate::compose::Wired;

type PathDoor = (&'static str, Arc<dyn Entrance>);

pub(super) fn all(wired: &Arc<Wired>, hooks: &Arc<DaemonHooks>, instance: &Arc<str>) -> Vec<PathDoor> {
    let own: Arc<dyn Entrance> = Arc::new(own(wired, hooks, instance));
    // These dialects know no scopes, and with each of them one can set the mode, delete sessions and sign accounts in.
    let beside = || (wired.engine.clone(), Scopes::ALL);
    vec![
        ("/", own.clone()),
        ("/ws", own),
        ("/serve", Arc::new(door(beside(), Binary::Invalid, ServeJoins(wired.clone())))),
        ("/acp", Arc::new(door(beside(), Binary::Ignored, AcpJoins(wired.clone())))),
    ]
}

fn door<J: Joins>((engine, scopes): (engine::Engine, Scopes), binary: Binary, joins: J) -> DialectDoor<J> {
    DialectDoor { engine, joins, binary, scopes, takes_strangers: false, end: DoorEnd::JustGoes }
}

/// The gateway's own dialect.
fn own(wired: &Arc<Wired>, hooks: &Arc<DaemonHooks>, instance: &Arc<str>) -> DialectDoor<GatewayJoins> {
    let server = hooks.holds();
    let options = GatewayOptions {
        instance: instance.clone(),
        usual: Arc::new(hooks.usual()),
        on_disconnect: if server.cancel_on_disconnect { OnDisconnect::Cancel } else { OnDisconnect::Continue },
        compact_pct: u64::from(wired.settings.compaction.threshold_pct),
        ..GatewayOptions::new(env!("CARGO_PKG_VERSION"), wired.ports.clock.clone(), Arc::new(FullIds))
    };
    let service = hooks.service.clone();
    let joins = GatewayJoins {
        options: Arc::new(options),
        service: Arc::new(move |caller| Box::new(service.for_connection(caller.connection.clone(), login(caller)))),
    };
    DialectDoor {
        engine: wired.engine.clone(),
        joins,
        binary: Binary::Invalid,
        scopes: Scopes::NONE,
        takes_strangers: true,
        end: DoorEnd::Settles,
    }
}

fn login(caller: &Caller) -> LoginPort {
    let login = caller.login.clone();
    Arc::new(move |token| {
        login.login(&token).map_err(|refused| match refused {
            LoginRefused::Wrong => GatewayRefusal {
                code: Code::AuthFailed,
                reason: Some("auth_failed"),
                message: "the token is not known here".to_owned(),
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

/// `serve`, for several sessions on one connection.
struct ServeJoins(Arc<Wired>);

impl Joins for ServeJoins {
    type Dialect = Serve;

    fn join(&self, _: &Caller) -> Result<Joined<Serve>, String> {
        let dialect = Serve::new(ServeOptions {
            which: Which::New,
            workspace: Some(self.0.settings.workspace.clone()),
            model: None,
            mode: None,
            multi: false,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        });
        Ok(Joined { dialect, own: Box::new(NoOwnCalls) })
    }
}

/// The Agent Client Protocol.
struct AcpJoins(Arc<Wired>);

impl Joins for AcpJoins {
    type Dialect = Acp;

    fn join(&self, _: &Caller) -> Result<Joined<Acp>, String> {
        let options = AcpOptions {
            mode: Some(self.0.settings.mode),
            commands: crate::cmd::acp::commands(),
            ..AcpOptions::new(env!("CARGO_PKG_VERSION"), Arc::new(FullIds))
        };
        Ok(Joined { dialect: Acp::new(options), own: Box::new(NoOwnCalls) })
    }
}
