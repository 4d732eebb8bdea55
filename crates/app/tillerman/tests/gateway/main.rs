//! The gateway as its clients see it: the real binary on a port of its own, a model on loopback, and another's WebSocket.

// A test that fails says what it saw, and a skipped one why.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::print_stderr)]

mod matching;
#[path = "../../../../edge/gateway/tests/it/no_hooks.rs"]
mod no_hooks;
#[allow(dead_code)] // Each of the binaries uses its part.
#[path = "../it/peers_install.rs"]
mod peers_install;
mod player;
mod process;
mod proxy;
mod relay;
mod socket;

mod acp_http;
mod acp_shared;
mod acp_wire;
mod asks;
mod attach;
mod autobahn;
mod clients;
mod collector;
mod cuts;
mod dashboard;
mod drive;
mod drive_http;
mod guards;
mod guessing;
mod metrics;
mod models;
mod operator;
mod operator_settings;
mod restart;
mod rpc_files;
mod sdk;
mod sdk_examples;
mod sdk_types;
mod slow;
mod subagents;
mod talks;
mod traces;
mod traces_servers;
mod verbs;
