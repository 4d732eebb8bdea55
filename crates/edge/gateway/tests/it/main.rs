//! The server from outside: sockets, requests, credentials, its end.

mod cookies;
mod daemon;
mod dialect;
mod ending;
mod events;
mod export;
mod flood;
mod guards;
mod hostile;
mod http2;
mod logout;
mod no_hooks;
mod own_tools;
mod proxies;
mod requests;
mod server;
mod sockets;
mod tailnet;
mod tls;
mod tokens;
