//! Clients from the registries against the real binary. The checks themselves are in `tests/peers`; without an interpreter or
//! the registries once, a test says `SKIP` and why.

use std::path::Path;
use std::process::Command;

use crate::peers_install::{CHECKS_PATIENCE, node, npm, package, python, run, script};
use crate::process::{Place, TOKEN};

const WS: &str = "ws@8.22.2";
/// As in the tests of these clients with a process of their own.
const RPC_CLIENT: (&str, &str) = ("@mariozechner/pi-coding-agent", "0.73.1");
const ACP_SDK: (&str, &str) = ("@agentclientprotocol/sdk", "2.4.0");
const WEBSOCKETS: &str = "websockets==17.4";

fn against(mut checks: Command, name: &str, checks_min: usize) -> Result<(), String> {
    let place = Place::new();
    let gateway = place.start();
    checks.arg(script(name)).env("PEER_URL", format!("ws://{}", gateway.address)).env("PEER_TOKEN", TOKEN);
    run(&mut checks, CHECKS_PATIENCE)?.checked(checks_min);
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
