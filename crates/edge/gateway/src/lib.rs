//! The server: accepts connections, guards them, finds out who comes, and hands each one's messages to what answers its path.

mod accept;
mod acp;
mod attempts;
pub mod cli;
mod connection;
mod cookies;
mod credentials;
mod daemon;
mod door;
mod entrance;
mod failures;
mod guards;
mod holder;
mod home_lock;
mod http;
mod ids;
pub mod limits;
mod listen;
mod login;
#[cfg(test)]
#[path = "../tests/it/no_hooks.rs"]
mod no_hooks;
mod options;
mod own_tools;
mod owner;
mod places;
mod routes;
mod server;
mod service_manager;
mod services;
mod sockets;
mod sse;
mod state;
mod tailscale;
mod text_door;
mod tls;
mod tokens;

// What tests of ours and of others take in names us as they do.
#[cfg(test)]
extern crate self as gateway;

pub use acp::AcpEvents;
pub use cookies::KeptCookie;
pub use daemon::DaemonSignals;
pub use door::{
    DialectDoor, DoorEnd, GatewayJoins, Joined, Joins, ServiceFor, converse, takes_no_arguments, turn_away,
};
pub use entrance::{AcpRules, Caller, Entrance, EntranceRules, MessagePipe, PeerAddress, WebRequest, WebRoute};
pub use guards::{is_host_name, is_origin};
pub use home_lock::{GatewayFile, NamelessGateway, RunningGateway};
pub use http::ReplyBody;
pub use listen::dialable;
pub use login::{LoginDesk, LoginRefused};
pub use options::{
    Access, DashboardRules, HealthReport, ServerHooks, ServerOptions, SocketChoice, TailscaleOptions, TlsChoice,
};
pub use routes::{EXPORT_PATH, ExportPort, ExportRoute};
pub use server::{AccessHandle, GatewayServer, ServerHandle, ServerLoad};
pub use services::{
    ChangedSetting, CheckpointRules, ConfigSource, ConnectionService, GatewayCounts, GatewayService, LoginPort,
    NewSetting, NodeRules, NotSet, PairingRules, Reloaded, ServiceParts, ServiceSettings, StoreKey,
};
pub use sse::SseBody;
pub use text_door::converse_text;
pub use tokens::{
    NamedToken, TokenFile, TokenStore, add_token, make_main_token, new_token, read_main_token, revoke_token,
    scopes_from,
};
