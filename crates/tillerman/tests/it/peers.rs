//! The real clients of the npm registry against the real binary: `RpcClient` drives it, `SessionManager` and the
//! original agent read its session files, and it reads theirs. The checks themselves are in `tests/peers`.
//!
//! Needs `node` and `npm`, and the registry once: without them the test says `SKIP` and why.

use std::io::{BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The last version under this name; it runs on every Node that is still in use.
const PACKAGE: &str = "@mariozechner/pi-coding-agent";
const VERSION: &str = "0.73.1";
/// The oldest Node the package runs on.
const NODE_MAJOR_MIN: u32 = 20;
/// A registry that does not answer for so long is not there.
pub(crate) const INSTALL_PATIENCE: Duration = Duration::from_secs(240);
/// All checks together; a hanging one ends itself after 40 seconds.
pub(crate) const CHECKS_PATIENCE: Duration = Duration::from_secs(300);
/// Fewer checks than this mean that a group was not run.
const CHECKS_MIN: usize = 80;

/// How a program ended, its lines on stdout, and all it said on stderr.
pub(crate) struct Ending {
    pub(crate) well: bool,
    pub(crate) said: Vec<String>,
    pub(crate) complaint: String,
}

impl Ending {
    /// Every check passed, and there were as many as there should be.
    pub(crate) fn checked(&self, checks_min: usize) {
        let failed: Vec<&str> = self.said.iter().map(String::as_str).filter(|line| !line.starts_with("ok ")).collect();
        let passed = self.said.len() - failed.len();
        let enough = self.well && passed >= checks_min;
        assert!(enough, "{passed} checks passed; otherwise:\n{}\n{}", failed.join("\n"), self.complaint);
    }
}

/// Runs a program to its end; `Err` says why that was not possible.
pub(crate) fn run(command: &mut Command, patience: Duration) -> Result<Ending, String> {
    let name = format!("{:?}", command.get_program());
    // A file never fills up, so that a talkative program needs no second reader.
    let mut log = tempfile::tempfile().map_err(|why| format!("no file for the log of {name}: {why}"))?;
    let errors = log.try_clone().map_err(|why| format!("no file for the log of {name}: {why}"))?;
    let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(errors).spawn();
    let mut child = started.map_err(|why| format!("{name} does not start: {why}"))?;
    let pipe = child.stdout.take().expect("stdout is piped");
    let (send, receive) = channel();
    std::thread::spawn(move || BufReader::new(pipe).lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
    let deadline = Instant::now() + patience;
    let mut said = Vec::new();
    loop {
        match receive.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => said.push(line),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("{name} did not end within {} s; it said {said:?}", patience.as_secs()));
            }
        }
    }
    let status = child.wait().map_err(|why| format!("{name} cannot be waited for: {why}"))?;
    let mut complaint = String::new();
    let _ = log.rewind().and_then(|()| log.read_to_string(&mut complaint));
    Ok(Ending { well: status.success(), said, complaint })
}

/// The version of the Node that is installed, or why there is none.
pub(crate) fn node_version() -> Result<(u32, u32), String> {
    let asked = run(Command::new("node").arg("--version"), INSTALL_PATIENCE)?;
    let version = asked.said.first().map_or("", String::as_str);
    let mut numbers = version.trim_start_matches('v').split('.').map_while(|it| it.parse().ok());
    match (numbers.next(), numbers.next()) {
        (Some(major), Some(minor)) => Ok((major, minor)),
        _ => Err(format!("node says that it is {version:?}")),
    }
}

/// A Node that can run the packages, or why there is none.
pub(crate) fn node() -> Result<(), String> {
    match node_version()? {
        (major, _) if major >= NODE_MAJOR_MIN => Ok(()),
        (major, _) => Err(format!("node {major} is too old, {NODE_MAJOR_MIN} is needed")),
    }
}

/// A directory beside the build output that `fill` fills on the first run.
pub(crate) fn cached(name: &str, fill: impl FnOnce(&Path) -> Result<(), String>) -> Result<PathBuf, String> {
    // Tests of one process that want the same things wait for each other.
    static FILLING: Mutex<()> = Mutex::new(());
    let _alone = FILLING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../peers").join(name);
    let done = cache.join("installed");
    if !done.exists() {
        std::fs::create_dir_all(&cache).map_err(|why| format!("no cache directory: {why}"))?;
        fill(&cache)?;
        // Written last, so that an interrupted installation is repeated.
        std::fs::write(&done, name).map_err(|why| format!("the cache cannot be written: {why}"))?;
    }
    cache.canonicalize().map_err(|why| format!("the cache is not there: {why}"))
}

/// The `node_modules` with these packages.
pub(crate) fn npm(name: &str, packages: &[String]) -> Result<PathBuf, String> {
    let cache = cached(name, |cache| {
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1", "--prefix"]);
        npm.arg(cache).args(packages).current_dir(cache);
        installed(&run(&mut npm, INSTALL_PATIENCE)?, "npm", packages)
    })?;
    Ok(cache.join("node_modules"))
}

/// Where one package is.
pub(crate) fn package(kept_as: &str, name: &str, version: &str) -> Result<PathBuf, String> {
    Ok(npm(&format!("{kept_as}-{version}"), &[format!("{name}@{version}")])?.join(name))
}

pub(crate) fn installed(ending: &Ending, by: &str, packages: &[String]) -> Result<(), String> {
    match ending.well {
        true => Ok(()),
        false => Err(format!("{by} could not install {}: {}", packages.join(" "), ending.complaint)),
    }
}

#[test]
fn the_npm_client_and_the_original_agent_work_with_the_binary() {
    let package = match node().and_then(|()| package("pi", PACKAGE, VERSION)) {
        Ok(package) => package,
        Err(why) => {
            println!("SKIP {why}");
            return;
        }
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/pi-client.mjs");
    let mut checks = Command::new("node");
    checks.arg(script).env("PEER_PACKAGE", &package).env("PEER_AGENT", env!("CARGO_BIN_EXE_tillerman"));
    // RpcClient waits 30 s for an answer without its id, as the older form of errors is.
    checks.env("PEER_AGENT_ARGS", "--rpc-errors=pi");
    run(&mut checks, CHECKS_PATIENCE).expect("the checks end").checked(CHECKS_MIN);
}
