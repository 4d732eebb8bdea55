//! Which dialect answers which path.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use config::{Configuration, Home};
use dialect_acp::{Acp, AcpOptions, RemoteOptions};
use dialect_gateway::{GatewayOptions, OnDisconnect, Scopes};
use dialect_loaf::{Loaf, LoafOptions};
use dialect_serve::{Serve, ServeOptions};
use gateway::{AcpRules, Caller, DialectDoor, DoorEnd, Entrance, GatewayJoins, Joined, Joins};
use host::NoOwnCalls;
use vocab::{Settings, Which};
use websocket::Binary;
use wires::loaf::{LoafService, PreferencesFile};

use super::arguments::{Arguments, Wished, wished};
use super::hooks::DaemonHooks;
use super::rpc_door::RpcDoor;
use super::terminal::TerminalDoor;
use crate::args::{AcpArgs, AttachArgs, Basics, LoafArgs, ServeArgs};
use crate::cmd::stdio::FullIds;
use crate::compose::Wired;

type PathDoor = (&'static str, Arc<dyn Entrance>);

/// These dialects know no scopes, and with each of them one can set the mode and the budget, delete sessions, set keys and sign
/// accounts in. So whoever comes in may do everything, and nobody behind the door asks again.
pub(super) const DRIVES: Scopes = Scopes::ALL;

/// What every door works with.
pub(super) struct DoorParts {
    pub(super) wired: Arc<Wired>,
    hooks: Arc<DaemonHooks>,
    /// The configuration of the start: what a wire lays over the settings of its sessions is as it was then, like those that
    /// all sessions start with.
    pub(super) config: Configuration,
    pub(super) agent_dir: PathBuf,
    data: PathBuf,
    /// The owner has named a model.
    model_asked: bool,
}

impl DoorParts {
    pub(super) fn new(wired: &Arc<Wired>, hooks: &Arc<DaemonHooks>, home: &Home, model_asked: bool) -> Arc<Self> {
        let agent_dir = config::agent::directory(&config::process_env, home);
        let config = hooks.with_config(Configuration::clone);
        let (wired, hooks, data) = (wired.clone(), hooks.clone(), home.data.clone());
        Arc::new(Self { wired, hooks, config, agent_dir, data, model_asked })
    }

    /// What a new session starts with, before its wire says more.
    pub(super) fn usual(&self) -> Settings {
        self.hooks.usual_of_wire()
    }

    /// What somebody wants of a session, where they may.
    pub(super) fn wished(&self, basics: &Basics, from: Option<&Path>, usual: Settings) -> Result<Wished, String> {
        wished(basics, from, usual, |model| self.wired.catalogue.may_name(model))
    }
}

pub(super) fn all(parts: &Arc<DoorParts>, instance: &Arc<str>) -> Vec<PathDoor> {
    let (wired, hooks) = (&parts.wired, &parts.hooks);
    let counted = |wire, entrance: Arc<dyn Entrance>| hooks.service.counted(wire, entrance);
    let own = counted("gateway", Arc::new(own(wired, hooks, instance)));
    let engine = || wired.engine.clone();
    vec![
        ("/", own.clone()),
        ("/ws", own),
        ("/serve", counted("serve", Arc::new(door(engine(), Binary::Invalid, ServeJoins(parts.clone()))))),
        ("/acp", counted("acp", Arc::new(acp(parts)))),
        ("/loaf", counted("loaf", Arc::new(door(engine(), Binary::Invalid, LoafJoins(parts.clone()))))),
        ("/rpc", counted("rpc", Arc::new(RpcDoor(parts.clone())))),
        ("/terminal", counted("terminal", Arc::new(TerminalDoor(parts.clone())))),
    ]
}

/// The Agent Client Protocol, over WebSockets and over HTTP.
fn acp(parts: &Arc<DoorParts>) -> DialectDoor<AcpJoins> {
    let grace = Duration::from_secs(parts.hooks.holds().acp.connection_grace_s);
    let door = door(parts.wired.engine.clone(), Binary::Ignored, AcpJoins(parts.clone()));
    DialectDoor { end: DoorEnd::Parts, streams: Some(AcpRules { grace }), subprotocols: &["acp.v1"], ..door }
}

fn door<J: Joins>(engine: engine::Engine, binary: Binary, joins: J) -> DialectDoor<J> {
    DialectDoor {
        engine,
        joins,
        binary,
        scopes: DRIVES,
        takes_strangers: false,
        end: DoorEnd::JustGoes,
        streams: None,
        subprotocols: &[],
    }
}

/// The gateway's own dialect.
fn own(wired: &Arc<Wired>, hooks: &Arc<DaemonHooks>, instance: &Arc<str>) -> DialectDoor<GatewayJoins> {
    let provider = wired.ports.provider.clone();
    let usual = GatewayOptions {
        prices: Arc::new(move |slug| provider.resolve(slug).ok()?.prices),
        instance: instance.clone(),
        usual: Arc::new(hooks.usual()),
        ..GatewayOptions::new(env!("CARGO_PKG_VERSION"), wired.ports.clock.clone(), Arc::new(FullIds))
    };
    let (service, hooks) = (hooks.service.clone(), hooks.clone());
    let joins = GatewayJoins {
        options: Arc::new(move || {
            let rules = daemon::door_rules(&hooks.holds());
            let on_disconnect = if rules.cancel_on_disconnect { OnDisconnect::Cancel } else { OnDisconnect::Continue };
            let compact_pct = u64::from(hooks.usual_of_wire().compaction.threshold_pct);
            Arc::new(GatewayOptions { on_disconnect, compact_pct, context: rules.context, ..usual.clone() })
        }),
        service: Arc::new(move |caller| Box::new(service.for_caller(caller, daemon::login(caller)))),
    };
    DialectDoor {
        engine: wired.engine.clone(),
        joins,
        binary: Binary::Invalid,
        scopes: Scopes::NONE,
        takes_strangers: true,
        end: DoorEnd::Settles,
        streams: None,
        subprotocols: &[],
    }
}

/// `serve`, as its command line says.
struct ServeJoins(Arc<DoorParts>);

impl ServeJoins {
    fn options(&self, caller: &Caller) -> Result<ServeOptions, String> {
        let arguments = Arguments::of(caller)?;
        let args: ServeArgs = arguments.read()?;
        if args.shutdown_grace.is_some() {
            return Err("--shutdown-grace: what runs in a gateway goes on without its controller".to_owned());
        }
        no_gateway_behind(&args.attach)?;
        let mut usual = self.0.usual();
        crate::cmd::serve::settle(&mut usual, &self.0.config);
        let wished = self.0.wished(&args.basics, arguments.from.as_deref(), usual)?;
        let Wished { which, workspace, model, mode, usual } = wished;
        Ok(ServeOptions {
            // A session that is there already stays where it is.
            workspace: (which == Which::New || which == Which::Latest || args.multi).then_some(workspace),
            which,
            model,
            mode,
            usual: Some(Arc::new(usual)),
            multi: args.multi,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        })
    }
}

impl Joins for ServeJoins {
    type Dialect = Serve;

    fn refuses(&self, caller: &Caller) -> Option<String> {
        self.options(caller).err()
    }

    fn join(&self, caller: &Caller) -> Result<Joined<Serve>, String> {
        Ok(Joined { dialect: Serve::new(self.options(caller)?), own: Box::new(NoOwnCalls) })
    }
}

fn no_gateway_behind(attach: &AttachArgs) -> Result<(), String> {
    match attach.attach {
        Some(_) => Err("--attach: this is a gateway".to_owned()),
        None => Ok(()),
    }
}

/// The Agent Client Protocol.
struct AcpJoins(Arc<DoorParts>);

impl AcpJoins {
    fn remote(&self, caller: &Caller) -> RemoteOptions {
        let rules = daemon::door_rules(&self.0.hooks.holds());
        // One of our own commands on this machine brings an editor whose files are those that we see.
        let is_near = caller.arguments.is_some() && caller.peer.is_loopback();
        RemoteOptions {
            connection: caller.connection.clone(),
            client_fs: rules.remote_client_fs || is_near,
            cancel_on_disconnect: rules.cancel_on_disconnect,
        }
    }

    fn options(&self, caller: &Caller) -> Result<AcpOptions, String> {
        let arguments = Arguments::of(caller)?;
        let args: AcpArgs = arguments.read()?;
        if args.instead.is_some() {
            return Err("sign in on the gateway's machine".to_owned());
        }
        if args.basics.resume.is_some() {
            return Err("--resume means nothing here: clients use session/load and session/resume".to_owned());
        }
        no_gateway_behind(&args.attach)?;
        let wished = self.0.wished(&args.basics, arguments.from.as_deref(), self.0.usual())?;
        Ok(AcpOptions {
            mode: wished.mode,
            model: wished.model,
            usual: Some(Arc::new(wished.usual)),
            commands: crate::cmd::acp::commands(),
            strict: args.strict,
            remote: Some(self.remote(caller)),
            ..AcpOptions::new(env!("CARGO_PKG_VERSION"), Arc::new(FullIds))
        })
    }
}

impl Joins for AcpJoins {
    type Dialect = Acp;

    fn refuses(&self, caller: &Caller) -> Option<String> {
        self.options(caller).err()
    }

    fn join(&self, caller: &Caller) -> Result<Joined<Acp>, String> {
        Ok(Joined { dialect: Acp::new(self.options(caller)?), own: Box::new(NoOwnCalls) })
    }
}

/// `loaf`, with what is kept for its clients.
struct LoafJoins(Arc<DoorParts>);

impl LoafJoins {
    fn wish(&self, caller: &Caller) -> Result<Wished, String> {
        let arguments = Arguments::of(caller)?;
        let args: LoafArgs = arguments.read()?;
        if args.basics.resume.is_some() {
            return Err("--resume means nothing here: a client resumes with `/history <id>`".to_owned());
        }
        no_gateway_behind(&args.attach)?;
        let mut usual = self.0.usual();
        let owners = usual.clone();
        wires::loaf::settle(&mut usual, &self.0.config);
        // Others may come who can answer.
        usual.unanswered = owners.unanswered;
        self.0.wished(&args.basics, arguments.from.as_deref(), usual)
    }
}

impl Joins for LoafJoins {
    type Dialect = Loaf;

    fn refuses(&self, caller: &Caller) -> Option<String> {
        self.wish(caller).err()
    }

    fn join(&self, caller: &Caller) -> Result<Joined<Loaf>, String> {
        let Wished { workspace, model, mode, usual, .. } = self.wish(caller)?;
        let parts = &self.0;
        let wired = &parts.wired;
        let (file, kept) = PreferencesFile::open(&parts.data);
        let first = (!crate::cmd::loaf::is_without(wired, parts.model_asked)).then_some(&*wired.settings.model);
        let (earlier, first) = match &model {
            Some(model) => (None, Some(&**model)),
            None => (kept.model.as_deref(), first),
        };
        let options = LoafOptions {
            workspace: Some(workspace.clone()),
            mode,
            usual: Some(Arc::new(usual)),
            model: wires::loaf::model(&*wired.ports.provider, earlier, first).map(Arc::new),
            thinking: kept.thinking.as_deref().map(Arc::from),
            route: kept.route.as_deref().map(Arc::from),
            onboarded: kept.onboarded,
            ..LoafOptions::new(env!("CARGO_PKG_VERSION"), wired.ports.clock.clone(), Arc::new(FullIds))
        };
        let service = LoafService::new(wired.accounts.clone(), file, workspace, parts.data.clone());
        Ok(Joined { dialect: Loaf::new(options), own: Box::new(service) })
    }
}
