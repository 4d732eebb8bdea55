//! Clients from the registries against the real binary. The checks themselves are in `tests/peers`; without an interpreter or
//! the registries once, a test says `SKIP` and why.

use std::path::Path;
use std::process::Command;

use crate::peers_install::{CHECKS_PATIENCE, newer_node, node, npm, package, python, run, script};
use crate::process::{Place, TOKEN};

pub(crate) const WS: &str = "ws@8.22.2";
pub(crate) const WEBSOCKETS: &str = "websockets==17.4";
/// As in the tests of these clients with a process of their own.
const RPC_CLIENT: (&str, &str) = ("@mariozechner/pi-coding-agent", "0.73.1");
pub(crate) const ACP_SDK: (&str, &str) = ("@agentclientprotocol/sdk", "2.4.0");
const ACP_PY: &str = "agent-client-protocol[http]==0.12.1";

fn against(checks: Command, name: &str, checks_min: usize) -> Result<(), String> {
    against_one_of(Place::new(), checks, name, checks_min)
}

fn against_one_of(place: Place, mut checks: Command, name: &str, checks_min: usize) -> Result<(), String> {
    let gateway = place.start();
    checks.arg(script(name)).env("PEER_URL", format!("ws://{}", gateway.address));
    checks.env("PEER_TOKEN", place.token.as_deref().unwrap_or_default());
    run(&mut checks, CHECKS_PATIENCE)?.checked(checks_min);
    Ok(())
}

/// The official SDKs, which come by HTTP and by WebSocket.
fn against_acp(mut checks: Command, name: &str, checks_min: usize) -> Result<(), String> {
    let place = Place::new();
    let gateway = place.start();
    checks.arg(script(name)).env("PEER_ADDRESS", &gateway.address).env("PEER_TOKEN", TOKEN);
    run(checks.env("PEER_CWD", place.workspace()), CHECKS_PATIENCE)?.checked(checks_min);
    Ok(())
}

pub(crate) fn or_skip(id: &str, done: Result<(), String>) {
    if let Err(why) = done {
        println!("SKIP {id}: {why}");
    }
}

#[test]
fn npm_ws() {
    let checks = || {
        node()?;
        let mut command = Command::new("node");
        command.env("PEER_MODULES", npm("gateway-ws", &[WS.to_owned()])?);
        against(command, "gateway_ws.mjs", 22)
    };
    or_skip("npm_ws", checks());
}

#[test]
fn pypi_websockets() {
    let checks =
        || against(Command::new(python("gateway-websockets", &[WEBSOCKETS.to_owned()])?), "gateway_websockets.py", 17);
    or_skip("pypi_websockets", checks());
}

/// The class that the protocol's own text shows, for Node.
#[test]
fn the_sample_client_with_npm_ws() {
    let checks = || {
        node()?;
        let mut command = Command::new("node");
        command.env("PEER_MODULES", npm("gateway-ws", &[WS.to_owned()])?);
        against(command, "sample_client.mjs", 12)
    };
    or_skip("the_sample_client_with_npm_ws", checks());
}

/// The same with the WebSocket of pages: in Node it takes headers, which a page's does not.
#[test]
fn the_sample_client_with_the_global_websocket() {
    let checks = || against(Command::new(newer_node()?), "sample_client.mjs", 12);
    or_skip("the_sample_client_with_the_global_websocket", checks());
}

/// As a page can: no header, no sub-protocol. It is let in where no token is set and the user is the same.
#[test]
fn the_sample_client_as_far_as_a_page_can() {
    let place = || Place { token: None, ..Place::new() };
    let checks = || against_one_of(place(), Command::new(newer_node()?), "sample_client.mjs", 12);
    or_skip("the_sample_client_as_far_as_a_page_can", checks());
}

#[test]
fn npm_acp_over_http_and_websocket() {
    let checks = || {
        node()?;
        let mut command = Command::new("node");
        command.env("PEER_MODULES", npm("acp-remote", &[format!("{}@{}", ACP_SDK.0, ACP_SDK.1), WS.to_owned()])?);
        against_acp(command, "acp_remote.mjs", 26)
    };
    or_skip("npm_acp_over_http_and_websocket", checks());
}

#[test]
fn pypi_acp_over_http_and_websocket() {
    let checks = || against_acp(Command::new(python("acp-remote-py", &[ACP_PY.to_owned()])?), "acp_remote.py", 20);
    or_skip("pypi_acp_over_http_and_websocket", checks());
}

/// Clients that start the product themselves, which goes to a gateway of their home.
fn through_a_proxy(config: &str, name: &str, package: &Path, checks_min: usize) -> Result<(), String> {
    let place = Place::with(config);
    let _gateway = place.start();
    let mut checks = Command::new("node");
    let of_place = place.command();
    checks.env_clear().envs(of_place.get_envs().filter_map(|(name, value)| Some((name, value?))));
    checks.arg(script(name)).env("PEER_PACKAGE", package).env("PEER_AGENT", env!("CARGO_BIN_EXE_tillerman"));
    run(checks.env("PEER_CWD", place.workspace()), CHECKS_PATIENCE)?.checked(checks_min);
    Ok(())
}

#[test]
fn the_npm_rpc_client_through_attach() {
    let checks = || {
        node()?;
        through_a_proxy("", "attach_rpc.mjs", &package("pi", RPC_CLIENT.0, RPC_CLIENT.1)?, 7)
    };
    or_skip("the_npm_rpc_client_through_attach", checks());
}

#[test]
fn the_acp_sdk_through_attach() {
    let checks = || {
        node()?;
        let (name, version) = ACP_SDK;
        let modules = npm(&format!("acp-sdk-{version}"), &[format!("{name}@{version}"), "zod@4".to_owned()])?;
        through_a_proxy("tools:\n  confirm: [file.write]\n", "attach_acp.mjs", &modules.join(name), 6)
    };
    or_skip("the_acp_sdk_through_attach", checks());
}

#[test]
fn pypi_websockets_on_serve_and_loaf() {
    let checks = || against(Command::new(python("gateway-websockets", &[WEBSOCKETS.to_owned()])?), "attach_raw.py", 6);
    or_skip("pypi_websockets_on_serve_and_loaf", checks());
}
