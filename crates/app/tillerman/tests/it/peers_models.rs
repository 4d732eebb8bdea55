//! The vendors' official SDKs against the mock model server: what they read without complaint is what the vendors send. The
//! checks themselves are in `tests/peers`.
//!
//! Needs `python3` and PyPI once: without them a test says `SKIP` and why.

use std::path::PathBuf;
use std::process::Command;

use testkit::mock_model::MockModel;

use crate::peers_install::{CHECKS_PATIENCE, python, run, script};

const SDKS: [&str; 3] = ["anthropic==2.8.0", "openai==3.49.0", "google-genai==3.1.0"];
/// Where they are kept; another name makes a new installation.
const SDKS_NAME: &str = "models-1";

/// Fewer checks than these mean that some were not run.
const ANTHROPIC_CHECKS_MIN: usize = 27;
const OPENAI_CHECKS_MIN: usize = 47;
const GEMINI_CHECKS_MIN: usize = 27;

fn sdks() -> Result<PathBuf, String> {
    python(SDKS_NAME, &SDKS.map(str::to_owned))
}

/// The program with its settings, and nothing of the caller's that an SDK would listen to.
pub(crate) fn checks(name: &str) -> Result<Command, String> {
    let mut checks = Command::new(sdks()?);
    checks.arg(script(name)).env("PYTHONDONTWRITEBYTECODE", "1").env("NO_PROXY", "127.0.0.1");
    for variable in [
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_AUTH_TOKEN",
        "OPENAI_ORG_ID",
        "GOOGLE_GENAI_USE_VERTEXAI",
        "GOOGLE_GENAI_API_VERSION",
    ] {
        checks.env_remove(variable);
    }
    Ok(checks)
}

/// The SDK's checks against a fresh server.
fn streams(name: &str, checks_min: usize) -> Result<(), String> {
    let mut checks = checks(name)?;
    let mock = MockModel::start_blocking();
    checks.env("PEER_SERVER", format!("http://127.0.0.1:{}", mock.port));
    run(&mut checks, CHECKS_PATIENCE).expect("the checks end").checked(checks_min);
    Ok(())
}

#[test]
fn the_anthropic_sdk_streams_from_the_mock_server() {
    streams("models_anthropic.py", ANTHROPIC_CHECKS_MIN).unwrap_or_else(|why| println!("SKIP {why}"));
}

#[test]
fn the_openai_sdk_streams_from_the_mock_server() {
    streams("models_openai.py", OPENAI_CHECKS_MIN).unwrap_or_else(|why| println!("SKIP {why}"));
}

#[test]
fn the_google_sdk_streams_from_the_mock_server() {
    streams("models_gemini.py", GEMINI_CHECKS_MIN).unwrap_or_else(|why| println!("SKIP {why}"));
}
