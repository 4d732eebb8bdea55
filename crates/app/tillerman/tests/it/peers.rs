//! The real clients of the rpc dialect against the real binary: `RpcClient` of the npm registry in its last version for every
//! Node and in a new one, `SessionManager` and the original agent that read its session files (and it theirs), pi-acp that
//! speaks the dialect for editors, and the client of oh-my-pi. The checks themselves are in `tests/peers`.
//!
//! Needs `node` and `npm`, and the registry once: without them a test says `SKIP` and why.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::peers_install::{CHECKS_PATIENCE, newer_node, node, npm, npm_bare, package, platform, run, script};

/// The last version under this name; it runs on every Node that is still in use.
const PACKAGE: &str = "@mariozechner/pi-coding-agent";
const VERSION: &str = "0.73.1";
/// Its successor; of it the client alone is taken, which needs nothing else.
const SUCCESSOR: &str = "@earendil-works/pi-coding-agent";
const SUCCESSOR_VERSION: &str = "1.5.0";
/// An agent of ACP whose engine is any program that speaks the rpc dialect.
const PI_ACP_VERSION: &str = "0.0.34";
/// Another heir of the dialect, with a client for bun; of it the client alone is taken, too.
const OMP: [&str; 2] = ["@oh-my-pi/pi-coding-agent", "@oh-my-pi/pi-utils"];
const OMP_VERSION: &str = "18.2.3";
const BUN_VERSION: &str = "1.4.4";

/// Fewer checks than these mean that some were not run.
const CHECKS_MIN: usize = 84;
const SUCCESSOR_CHECKS_MIN: usize = 83;
const PI_ACP_CHECKS_MIN: usize = 17;
const OMP_CHECKS_MIN: usize = 20;

fn checks(program: impl AsRef<std::ffi::OsStr>, name: &str, package: &Path) -> Command {
    let mut checks = Command::new(program);
    checks.arg(script(name)).env("PEER_PACKAGE", package).env("PEER_AGENT", env!("CARGO_BIN_EXE_tillerman"));
    checks
}

fn first_client() -> Result<(), String> {
    node()?;
    let mut checks = checks("node", "pi-client.mjs", &package("pi", PACKAGE, VERSION)?);
    run(&mut checks, CHECKS_PATIENCE).expect("the checks end").checked(CHECKS_MIN);
    Ok(())
}

fn successor() -> Result<(), String> {
    let node = newer_node()?;
    let name = format!("pi-client-{SUCCESSOR_VERSION}");
    let package = npm_bare(&name, &[(SUCCESSOR, SUCCESSOR_VERSION)])?.join(SUCCESSOR);
    let mut checks = checks(node, "pi-client.mjs", &package);
    checks.env("PEER_CLIENT", "dist/modes/rpc/rpc-client.js");
    run(&mut checks, CHECKS_PATIENCE).expect("the checks end").checked(SUCCESSOR_CHECKS_MIN);
    Ok(())
}

fn pi_acp() -> Result<(), String> {
    node()?;
    let mut checks = checks("node", "pi_acp.mjs", &package("pi-acp", "pi-acp", PI_ACP_VERSION)?);
    run(&mut checks, CHECKS_PATIENCE).expect("the checks end").checked(PI_ACP_CHECKS_MIN);
    Ok(())
}

fn bun() -> Result<PathBuf, String> {
    let package = format!("@oven/bun-{}", platform().replace("arm64", "aarch64"));
    Ok(npm(&format!("bun-{BUN_VERSION}"), &[format!("{package}@{BUN_VERSION}")])?.join(package).join("bin/bun"))
}

fn omp() -> Result<(), String> {
    node()?;
    let bun = bun()?;
    let modules = npm_bare(&format!("omp-client-{OMP_VERSION}"), &OMP.map(|package| (package, OMP_VERSION)))?;
    let mut checks = checks(bun, "omp_client.mjs", &modules.join(OMP[0]));
    run(&mut checks, CHECKS_PATIENCE).expect("the checks end").checked(OMP_CHECKS_MIN);
    Ok(())
}

#[test]
fn the_npm_client_and_the_original_agent_work_with_the_binary() {
    first_client().unwrap_or_else(|why| println!("SKIP {why}"));
}

#[test]
fn the_npm_client_of_the_successor_works_with_the_binary() {
    successor().unwrap_or_else(|why| println!("SKIP {why}"));
}

#[test]
fn pi_acp_works_with_the_binary() {
    pi_acp().unwrap_or_else(|why| println!("SKIP {why}"));
}

#[test]
fn the_client_of_oh_my_pi_works_with_the_binary() {
    omp().unwrap_or_else(|why| println!("SKIP {why}"));
}
