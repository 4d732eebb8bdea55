//! WebSockets: frames as a pure codec, and a socket on it that is a pipe of messages, for both sides of a connection.
//! RFC 6455 without extensions.

mod client;
mod close;
mod codec;
pub mod handshake;
mod head;
mod mask;
mod pings;
mod socket;
mod utf8;

pub use client::{DialError, DialRequest, connect, dial_unix};
pub use codec::{Codec, Incoming, Role, Violation, WsLimits};
pub use pings::Pings;
pub use socket::{Binary, Kick, OnClose, SocketOptions, SocketSink, SocketStream, socket};
