//! The server from outside: sockets, requests, credentials, its end.

mod ending;
mod guards;
mod requests;
mod server;
mod sockets;
mod tls;
mod tokens;
