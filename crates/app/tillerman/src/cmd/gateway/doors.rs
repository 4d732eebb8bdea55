//! Which dialect answers which path.

use std::sync::Arc;

use dialect_acp::{Acp, AcpOptions};
use dialect_gateway::{GatewayOptions, OnDisconnect, Scopes};
use dialect_serve::{Serve, ServeOptions};
use gateway::{Caller, DialectDoor, DoorEnd, Entrance, GatewayJoins, Joined, Joins};
use host::NoOwnCalls;
use vocab::Which;
use websocket::Binary;

use super::hooks::DaemonHooks;
use crate::cmd::stdio::FullIds;
use crate::compose::Wired;

type PathDoor = (&'static str, Arc<dyn Entrance>);

pub(super) fn all(wired: &Arc<Wired>, hooks: &Arc<DaemonHooks>) -> Vec<PathDoor> {
    let counted = |wire, entrance: Arc<dyn Entrance>| hooks.service.counted(wire, entrance);
    let own = counted("gateway", Arc::new(own(wired, hooks)));
    let beside = |scopes| (wired.engine.clone(), scopes);
    let both = Scopes::CHAT.and(Scopes::TOOLS);
    vec![
        ("/", own.clone()),
        ("/ws", own),
        ("/serve", counted("serve", Arc::new(door(beside(both), Binary::Invalid, ServeJoins(wired.clone()))))),
        ("/acp", counted("acp", Arc::new(door(beside(both), Binary::Ignored, AcpJoins(wired.clone()))))),
    ]
}

fn door<J: Joins>((engine, scopes): (engine::Engine, Scopes), binary: Binary, joins: J) -> DialectDoor<J> {
    DialectDoor { engine, joins, binary, scopes, takes_strangers: false, end: DoorEnd::JustGoes }
}

/// The gateway's own dialect.
fn own(wired: &Arc<Wired>, hooks: &Arc<DaemonHooks>) -> DialectDoor<GatewayJoins> {
    let server = hooks.holds();
    let options = GatewayOptions {
        usual: Arc::new(hooks.usual()),
        on_disconnect: if server.cancel_on_disconnect { OnDisconnect::Cancel } else { OnDisconnect::Continue },
        compact_pct: u64::from(wired.settings.compaction.threshold_pct),
        ..GatewayOptions::new(env!("CARGO_PKG_VERSION"), wired.ports.clock.clone(), Arc::new(FullIds))
    };
    let service = hooks.service.clone();
    let joins = GatewayJoins {
        options: Arc::new(options),
        service: Arc::new(move |caller| {
            Box::new(service.for_connection(caller.connection.clone(), daemon::login(caller)))
        }),
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
