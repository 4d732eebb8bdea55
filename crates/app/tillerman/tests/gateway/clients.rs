//! Clients from the registries against the real binary. The checks themselves are in `tests/peers`; without an interpreter or
//! the registries once, a test says `SKIP` and why.

use std::process::Command;

use crate::peers_install::{CHECKS_PATIENCE, node, npm, python, run, script};
use crate::process::{Place, TOKEN};

const WS: &str = "ws@8.22.2";
const WEBSOCKETS: &str = "websockets==17.4";
const ACP_TS: &str = "@agentclientprotocol/sdk@2.4.0";
const ACP_PY: &str = "agent-client-protocol[http]==0.12.1";

fn against(mut checks: Command, name: &str, checks_min: usize) -> Result<(), String> {
    let place = Place::new();
    let gateway = place.start();
    checks.arg(script(name)).env("PEER_URL", format!("ws://{}", gateway.address)).env("PEER_TOKEN", TOKEN);
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

fn or_skip(id: &str, done: Result<(), String>) {
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

#[test]
fn npm_acp_over_http_and_websocket() {
    let checks = || {
        node()?;
        let mut command = Command::new("node");
        command.env("PEER_MODULES", npm("acp-remote", &[ACP_TS.to_owned(), WS.to_owned()])?);
        against_acp(command, "acp_remote.mjs", 26)
    };
    or_skip("npm_acp_over_http_and_websocket", checks());
}

#[test]
fn pypi_acp_over_http_and_websocket() {
    let checks = || against_acp(Command::new(python("acp-remote-py", &[ACP_PY.to_owned()])?), "acp_remote.py", 20);
    or_skip("pypi_acp_over_http_and_websocket", checks());
}
