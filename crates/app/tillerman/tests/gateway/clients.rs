//! Clients from the registries against the real binary. The checks themselves are in `tests/peers`; without an interpreter or
//! the registries once, a test says `SKIP` and why.

use std::process::Command;

use crate::peers_install::{CHECKS_PATIENCE, node, npm, python, run, script};
use crate::process::{Place, TOKEN};

pub(crate) const WS: &str = "ws@8.22.2";
pub(crate) const WEBSOCKETS: &str = "websockets==17.4";

fn against(mut checks: Command, name: &str, checks_min: usize) -> Result<(), String> {
    let place = Place::new();
    let gateway = place.start();
    checks.arg(script(name)).env("PEER_URL", format!("ws://{}", gateway.address)).env("PEER_TOKEN", TOKEN);
    run(&mut checks, CHECKS_PATIENCE)?.checked(checks_min);
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
