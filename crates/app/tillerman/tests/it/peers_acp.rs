//! Clients of the Agent Client Protocol against the real binary: the official SDK of the npm registry in a new version and in
//! an old, strict one, the SDK of PyPI in a new and an old version, acpx, acp-client, and Toad with a person in front of it. The
//! checks themselves are in `tests/peers`. Whatever the agent says there is validated against the official schema.
//!
//! Needs `node` and `npm`, or `python3`, and the registries once: without them a test says `SKIP` and why.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::peers_install::{CHECKS_PATIENCE, newer_node, newer_python, node, npm, package, python, run, script};

const SDK: &str = "@agentclientprotocol/sdk";
const SDK_VERSION: &str = "2.4.0";
/// The SDK wants one and does not say which.
const ZOD: &str = "zod@4";
/// The last line whose schema takes nothing but what was written down then; editors and web pages are built with it.
const OLD_SDK_VERSION: &str = "0.5.1";
const ACPX_VERSION: &str = "0.19.1";
const ACP_CLIENT: &str = "acp-client==0.1.0";
const ACP_CLIENT_PYTHON: (u32, u32) = (3, 11);
/// A full-screen client, and the terminal that its screen is read from.
const TOAD: [&str; 2] = ["batrachian-toad==0.6.20", "pyte==0.8.2"];
/// It wishes for 3.14; `toad_lazy.py` starts it on this one.
const TOAD_PYTHON: (u32, u32) = (3, 13);
/// The newest, and the one that many agents and clients in use were built with.
const PYTHON_SDKS: [&str; 2] = ["0.12.1", "0.9.0"];
const JSONSCHEMA: &str = "jsonschema==4.26.0";
/// What is said on top of the schema, for clients that need it; nothing with `--strict`.
const ADDITIONS: [&str; 2] = ["models", "sessionId"];

/// Fewer checks than these mean that some were not run.
const SDK_CHECKS_MIN: usize = 62;
const PYTHON_CHECKS_MIN: usize = 23;
const ACPX_CHECKS_MIN: usize = 12;
const OLD_SDK_CHECKS_MIN: usize = 14;
const ACP_CLIENT_CHECKS_MIN: usize = 10;
const TOAD_CHECKS_MIN: usize = 9;

fn sdk() -> Result<PathBuf, String> {
    node()?;
    let modules = npm(&format!("acp-sdk-{SDK_VERSION}"), &[format!("{SDK}@{SDK_VERSION}"), ZOD.to_owned()])?;
    Ok(modules.join(SDK))
}

/// The program with its settings; the agents it starts leave their frames in `logs`.
fn checks(program: impl AsRef<std::ffi::OsStr>, name: &str, logs: &Path) -> Command {
    let mut checks = Command::new(program);
    checks.arg(script(name)).env("PEER_AGENT", env!("CARGO_BIN_EXE_tillerman")).env("PEER_LOGS", logs);
    checks
}

/// Every frame in `logs` against the schema of the SDK; `Err` says why that cannot be had.
fn validate(logs: &Path, strict: bool) -> Result<(), String> {
    let (sdk, python) = (sdk()?, python("acp-schema", &[JSONSCHEMA.to_owned()])?);
    let mut judge = Command::new(python);
    judge.arg(script("acp_schema.py"));
    judge.arg(sdk.join("schema/v1").join(if strict { "schema.json" } else { "schema.unstable.json" }));
    judge.args(std::fs::read_dir(logs).unwrap().map(|entry| entry.unwrap().path()));
    if !strict {
        judge.args(ADDITIONS.iter().flat_map(|name| ["--allow", name]));
    }
    run(&mut judge, CHECKS_PATIENCE).expect("the validation ends").checked(1);
    Ok(())
}

fn npm_sdk(strict: bool) -> Result<(), String> {
    let sdk = sdk()?;
    let logs = tempfile::tempdir().unwrap();
    let mut checks = checks("node", "acp_sdk.mjs", logs.path());
    checks.env("PEER_PACKAGE", sdk).env("PEER_AGENT_ARGS", if strict { "--strict" } else { "" });
    // What is not in the published protocol is not offered then, and not checked.
    let fewer = usize::from(strict);
    run(&mut checks, CHECKS_PATIENCE).expect("the checks end").checked(SDK_CHECKS_MIN - fewer);
    validate(logs.path(), strict)
}

fn old_npm_sdk() -> Result<(), String> {
    node()?;
    let sdk = package("acp-sdk", SDK, OLD_SDK_VERSION)?;
    let logs = tempfile::tempdir().unwrap();
    let mut checks = checks("node", "acp_sdk_old.mjs", logs.path());
    run(checks.env("PEER_PACKAGE", sdk), CHECKS_PATIENCE).expect("the checks end").checked(OLD_SDK_CHECKS_MIN);
    validate(logs.path(), false)
}

fn acp_client() -> Result<(), String> {
    let python = newer_python(ACP_CLIENT_PYTHON, "acp-client-0.1.0", &[ACP_CLIENT.to_owned()])?;
    let logs = tempfile::tempdir().unwrap();
    let mut checks = checks(python, "acp_asyncio.py", logs.path());
    run(&mut checks, CHECKS_PATIENCE).expect("the checks end").checked(ACP_CLIENT_CHECKS_MIN);
    validate(logs.path(), false)
}

fn toad() -> Result<(), String> {
    let python = newer_python(TOAD_PYTHON, "toad-0.6.20", &TOAD.map(str::to_owned))?;
    let logs = tempfile::tempdir().unwrap();
    let mut checks = checks(python, "toad_person.py", logs.path());
    run(&mut checks, CHECKS_PATIENCE).expect("the checks end").checked(TOAD_CHECKS_MIN);
    validate(logs.path(), false)
}

fn python_sdks() -> Result<(), String> {
    let logs = tempfile::tempdir().unwrap();
    for version in PYTHON_SDKS {
        let python = python(&format!("acp-python-{version}"), &[format!("agent-client-protocol=={version}")])?;
        let mut checks = checks(python, "acp_sdk.py", logs.path());
        run(&mut checks, CHECKS_PATIENCE).expect("the checks end").checked(PYTHON_CHECKS_MIN);
    }
    // Last, because it needs the other registry too.
    validate(logs.path(), false)
}

fn acpx_drives() -> Result<(), String> {
    let (node, package) = (newer_node()?, package("acpx", "acpx", ACPX_VERSION)?);
    let logs = tempfile::tempdir().unwrap();
    let mut checks = checks(node, "acpx.mjs", logs.path());
    checks.env("PEER_PACKAGE", package);
    run(&mut checks, CHECKS_PATIENCE).expect("the checks end").checked(ACPX_CHECKS_MIN);
    validate(logs.path(), false)
}

#[test]
fn the_npm_sdk_works_with_the_binary() {
    npm_sdk(false).unwrap_or_else(|why| println!("SKIP {why}"));
}

#[test]
fn the_npm_sdk_works_with_a_strict_binary() {
    npm_sdk(true).unwrap_or_else(|why| println!("SKIP {why}"));
}

#[test]
fn the_npm_sdk_of_an_old_line_works_with_the_binary() {
    old_npm_sdk().unwrap_or_else(|why| println!("SKIP {why}"));
}

#[test]
fn acp_client_works_with_the_binary() {
    acp_client().unwrap_or_else(|why| println!("SKIP {why}"));
}

#[test]
fn a_person_works_with_the_binary_in_toad() {
    toad().unwrap_or_else(|why| println!("SKIP {why}"));
}

#[test]
fn the_python_sdks_work_with_the_binary() {
    python_sdks().unwrap_or_else(|why| println!("SKIP {why}"));
}

#[test]
fn acpx_works_with_the_binary() {
    acpx_drives().unwrap_or_else(|why| println!("SKIP {why}"));
}
