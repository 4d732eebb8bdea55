//! Foreign clients from the registries, installed on the first run into `target/peers` and run to their end. Nothing of it
//! lands in the user's home. Where a registry or an interpreter is missing, `Err` says so, and the test is skipped with it.

use std::fs::{File, TryLockError};
use std::io::{BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The oldest Node the packages run on.
const NODE_MAJOR_MIN: u32 = 20;
/// The oldest Node that newer packages run on, and the one they get where only an older one is installed.
const NEWER_NODE_MIN: (u32, u32) = (22, 19);
const NEWER_NODE: &str = "22.23.3";
/// A registry that does not answer for so long is not there.
pub(crate) const INSTALL_PATIENCE: Duration = Duration::from_secs(240);
/// Whoever installs the same package has ended by then; an environment and its packages are two programs.
const TURN_PATIENCE: Duration = Duration::from_secs(2 * INSTALL_PATIENCE.as_secs());
/// How often is looked whether it has.
const TURN_STEP: Duration = Duration::from_millis(50);
/// All checks of one script together; a hanging one ends itself after 40 seconds.
pub(crate) const CHECKS_PATIENCE: Duration = Duration::from_secs(300);

/// How a program ended, its lines on stdout, and all it said on stderr.
pub(crate) struct Ending {
    pub(crate) well: bool,
    pub(crate) said: Vec<String>,
    pub(crate) complaint: String,
}

impl Ending {
    /// Every check passed, and there were as many as there should be.
    #[allow(clippy::print_stdout)] // The test harness keeps it, unless somebody wants to see it.
    pub(crate) fn checked(&self, checks_min: usize) {
        let failed: Vec<&str> = self.said.iter().map(String::as_str).filter(|line| !line.starts_with("ok ")).collect();
        let passed = self.said.len() - failed.len();
        let enough = self.well && passed >= checks_min;
        assert!(enough, "{passed} checks passed; otherwise:\n{}\n{}", failed.join("\n"), self.complaint);
        // Figures, for whoever runs it with `--nocapture`.
        print!("{}", self.complaint);
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

pub(crate) fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers").join(name)
}

/// The version a program says it has, without what stands before it, or why there is none.
fn version(program: impl AsRef<std::ffi::OsStr>, before: &str) -> Result<(u32, u32), String> {
    let asked = run(Command::new(&program).arg("--version"), INSTALL_PATIENCE)?;
    let told = asked.said.first().map_or("", String::as_str);
    let mut numbers = told.trim_start_matches(before).split('.').map_while(|it| it.parse().ok());
    match (numbers.next(), numbers.next()) {
        (Some(major), Some(minor)) => Ok((major, minor)),
        _ => Err(format!("{:?} says that it is {told:?}", program.as_ref())),
    }
}

/// A Node that can run the packages, or why there is none.
pub(crate) fn node() -> Result<(), String> {
    match version("node", "v")? {
        (major, _) if major >= NODE_MAJOR_MIN => Ok(()),
        (major, _) => Err(format!("node {major} is too old, {NODE_MAJOR_MIN} is needed")),
    }
}

/// The system and the machine in the words of the npm registry.
pub(crate) fn platform() -> String {
    let system = if std::env::consts::OS == "macos" { "darwin" } else { std::env::consts::OS };
    let machine = if std::env::consts::ARCH == "aarch64" { "arm64" } else { "x64" };
    format!("{system}-{machine}")
}

/// A Node for newer packages: the one that is installed if it is new enough, else one from the registry.
pub(crate) fn newer_node() -> Result<PathBuf, String> {
    if version("node", "v")? >= NEWER_NODE_MIN {
        return Ok(PathBuf::from("node"));
    }
    let package = format!("node-{}", platform());
    Ok(npm(&format!("node-{NEWER_NODE}"), &[format!("{package}@{NEWER_NODE}")])?.join(package).join("bin/node"))
}

/// Waits until nobody else, in this process or another, fills the directory of this name; the lock ends with the file.
fn turn(shelf: &Path, name: &str) -> Result<File, String> {
    let opened = File::options().create(true).append(true).open(shelf.join(format!("{name}.lock")));
    let lock = opened.map_err(|why| format!("no lock for {name}: {why}"))?;
    let deadline = Instant::now() + TURN_PATIENCE;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => std::thread::sleep(TURN_STEP),
            Err(why) => return Err(format!("{name} is being installed by somebody else: {why}")),
        }
    }
}

/// A directory beside the build output that `fill` fills on the first run. Different names do not wait for each other.
pub(crate) fn cached(name: &str, fill: impl FnOnce(&Path) -> Result<(), String>) -> Result<PathBuf, String> {
    cached_in(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("../peers"), name, fill)
}

fn cached_in(shelf: &Path, name: &str, fill: impl FnOnce(&Path) -> Result<(), String>) -> Result<PathBuf, String> {
    std::fs::create_dir_all(shelf).map_err(|why| format!("no cache directory: {why}"))?;
    let cache = shelf.canonicalize().map_err(|why| format!("no cache directory: {why}"))?.join(name);
    let done = cache.join("installed");
    if done.exists() {
        return Ok(cache);
    }
    let _alone = turn(shelf, name)?;
    if !done.exists() {
        // What an interrupted installation left is no ground to build on.
        let _ = std::fs::remove_dir_all(&cache);
        std::fs::create_dir_all(&cache).map_err(|why| format!("no directory for {name}: {why}"))?;
        fill(&cache)?;
        std::fs::write(&done, name).map_err(|why| format!("the cache cannot be written: {why}"))?;
    }
    Ok(cache)
}

/// npm with a cache and logs of its own below `cache`, which two installations never share.
fn npm_command(cache: &Path, verb: &str) -> Command {
    let mut npm = Command::new("npm");
    npm.arg(verb).args(["--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1", "--no-update-notifier"]);
    npm.arg("--cache").arg(cache.join("npm")).current_dir(cache);
    npm
}

/// The `node_modules` with these packages.
pub(crate) fn npm(name: &str, packages: &[String]) -> Result<PathBuf, String> {
    let cache = cached(name, |cache| {
        let mut npm = npm_command(cache, "install");
        npm.arg("--prefix").arg(cache).args(packages);
        installed(&run(&mut npm, INSTALL_PATIENCE)?, "npm", packages)?;
        forget(&cache.join("npm"))
    })?;
    Ok(cache.join("node_modules"))
}

/// The `node_modules` with these packages (name and version) and nothing of what they depend on: a client is often one
/// file in a package whose other parts need hundreds of megabytes.
pub(crate) fn npm_bare(name: &str, packages: &[(&str, &str)]) -> Result<PathBuf, String> {
    let cache = cached(name, |cache| packages.iter().try_for_each(|package| unpacked(cache, *package)))?;
    Ok(cache.join("node_modules"))
}

fn unpacked(cache: &Path, (package, version): (&str, &str)) -> Result<(), String> {
    let wanted = [format!("{package}@{version}")];
    let packed = run(npm_command(cache, "pack").arg("--silent").args(&wanted), INSTALL_PATIENCE)?;
    installed(&packed, "npm", &wanted)?;
    let archive = cache.join(packed.said.last().ok_or("npm pack names no archive")?);
    let place = cache.join("node_modules").join(package);
    std::fs::create_dir_all(&place).map_err(|why| format!("no directory for {package}: {why}"))?;
    let mut tar = Command::new("tar");
    tar.arg("-xzf").arg(&archive).arg("--strip-components=1").arg("-C").arg(&place);
    installed(&run(&mut tar, INSTALL_PATIENCE)?, "tar", &wanted)?;
    std::fs::remove_file(archive).map_err(|why| format!("the archive stays: {why}"))?;
    forget(&cache.join("npm"))
}

/// Removes what only the installation needed.
fn forget(dir: &Path) -> Result<(), String> {
    std::fs::remove_dir_all(dir).map_err(|why| format!("{} stays: {why}", dir.display()))
}

/// Where one package is.
pub(crate) fn package(kept_as: &str, name: &str, version: &str) -> Result<PathBuf, String> {
    Ok(npm(&format!("{kept_as}-{version}"), &[format!("{name}@{version}")])?.join(name))
}

/// The interpreter of an environment with these packages.
pub(crate) fn python(name: &str, packages: &[String]) -> Result<PathBuf, String> {
    python_of(Path::new("python3"), name, &[], packages)
}

/// The same for an interpreter that is at least this new; the packages themselves may wish for a newer one.
pub(crate) fn newer_python(least: (u32, u32), name: &str, packages: &[String]) -> Result<PathBuf, String> {
    let mut candidates = vec![PathBuf::from("python3")];
    candidates.extend((least.1..=least.1 + 4).rev().map(|minor| PathBuf::from(format!("python3.{minor}"))));
    candidates.extend(kept_by_pyenv("bin/python3"));
    let new = |it: &PathBuf| version(it, "Python ").is_ok_and(|version| version >= least);
    let found = candidates.into_iter().find(new);
    let found =
        found.ok_or_else(|| format!("no python {}.{} or newer for {}", least.0, least.1, packages.join(" ")))?;
    python_of(&found, name, &["--ignore-requires-python"], packages)
}

/// pyenv keeps many, and has only the chosen one on the PATH.
pub(crate) fn kept_by_pyenv(program: &str) -> Vec<PathBuf> {
    let root = std::env::var_os("PYENV_ROOT").map(PathBuf::from);
    let root = root.or_else(|| Some(std::env::home_dir()?.join(".pyenv")));
    let kept = root.and_then(|root| std::fs::read_dir(root.join("versions")).ok()).into_iter().flatten().flatten();
    let mut kept: Vec<PathBuf> = kept.map(|version| version.path().join(program)).collect();
    kept.sort();
    kept
}

fn python_of(interpreter: &Path, name: &str, options: &[&str], packages: &[String]) -> Result<PathBuf, String> {
    let cache = cached(name, |cache| {
        let made = run(Command::new(interpreter).args(["-m", "venv"]).arg(cache), INSTALL_PATIENCE)?;
        if !made.well {
            return Err(format!("python3 makes no environment: {} {}", made.said.join(" "), made.complaint));
        }
        filled(cache, options, packages)
    })?;
    Ok(cache.join("bin/python"))
}

/// Installs packages into an environment.
pub(crate) fn filled(environment: &Path, options: &[&str], packages: &[String]) -> Result<(), String> {
    let mut pip = Command::new(environment.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-cache-dir"]);
    pip.args(["--retries", "1"]).args(options).args(packages);
    installed(&run(&mut pip, INSTALL_PATIENCE)?, "pip", packages)
}

fn installed(ending: &Ending, by: &str, packages: &[String]) -> Result<(), String> {
    match ending.well {
        true => Ok(()),
        false => Err(format!("{by} could not install {}: {}", packages.join(" "), ending.complaint)),
    }
}

/// Longer than a thread waits for its turn on a busy machine.
const STEP_PATIENCE: Duration = Duration::from_secs(30);

#[test]
fn two_who_want_the_same_package_install_it_once() {
    let shelf = tempfile::tempdir().unwrap();
    let fills = std::sync::atomic::AtomicUsize::new(0);
    let both = std::sync::Barrier::new(2);
    let fill = |cache: &Path| {
        fills.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        std::fs::write(cache.join("part"), "whole").map_err(|why| why.to_string())
    };
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                both.wait();
                let cache = cached_in(shelf.path(), "same", fill).unwrap();
                assert_eq!(std::fs::read_to_string(cache.join("part")).unwrap(), "whole");
            });
        }
    });
    assert_eq!(fills.into_inner(), 1);
}

#[test]
fn an_installation_does_not_wait_for_another_package() {
    let shelf = tempfile::tempdir().unwrap();
    let path = shelf.path();
    let (begun, first_began) = channel();
    let (ended, second_ended) = channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            first_began.recv_timeout(STEP_PATIENCE).unwrap();
            cached_in(path, "second", |_| Ok(())).unwrap();
            ended.send(()).unwrap();
        });
        // The first ends only after the second was installed in the middle of it.
        let fill = |_: &Path| {
            begun.send(()).unwrap();
            second_ended.recv_timeout(STEP_PATIENCE).map_err(|why| why.to_string())
        };
        cached_in(path, "first", fill).unwrap();
    });
}

#[test]
fn an_interrupted_installation_is_begun_anew() {
    let shelf = tempfile::tempdir().unwrap();
    let fill = |cache: &Path| std::fs::write(cache.join("half"), "").map_err(|why| why.to_string());
    let torn = cached_in(shelf.path(), "torn", |cache| fill(cache).and(Err("the network is gone".to_owned())));
    assert_eq!(torn, Err("the network is gone".to_owned()));
    let cache = cached_in(shelf.path(), "torn", |_| Ok(())).unwrap();
    assert!(!cache.join("half").exists(), "nothing of the first attempt is left");
}
