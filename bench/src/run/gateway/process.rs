//! A gateway that was started, and says where it listens.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::run::Place;
use crate::run::agent::Contender;

/// What both are reached with; the floor takes any.
pub(super) const TOKEN: &str = "a-token-for-the-bench-0123456789abcdef";
/// One that does not end this long after it was asked to is killed.
const EXIT_MAX: Duration = Duration::from_secs(15);

pub(crate) struct GatewayProcess {
    child: Child,
    pub(crate) addr: SocketAddr,
    pub(crate) started: Instant,
}

impl GatewayProcess {
    pub(crate) fn start(who: &Contender, place: &Place, mock: SocketAddr) -> anyhow::Result<Self> {
        let config = place.home.with_file_name("gateway.yaml");
        std::fs::write(&config, format!("server:\n  token: {TOKEN}\n"))?;
        let stderr = place.home.with_file_name("stderr");
        let mut command = Command::new(who.program());
        command.args(who.args()).args(["--port", "0", "--model", "mock/alpha", "--config"]).arg(&config);
        command
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("HOME", &place.home)
            .env("TILLERMAN_HOME", &place.home)
            .env("OPENAI_BASE_URL", format!("http://{mock}/v1"))
            .env("OPENAI_API_KEY", "x")
            .current_dir(&place.workspace)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(&stderr)?);
        let started = Instant::now();
        let mut child = command.spawn().with_context(|| format!("start {}", who.describe()))?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("it was piped")).read_line(&mut line)?;
        let addr = line.trim().rsplit("://").next().and_then(|addr| addr.trim_end_matches('/').parse().ok());
        let Some(addr) = addr else {
            let _ = child.kill();
            let _ = child.wait();
            let said = std::fs::read_to_string(&stderr).unwrap_or_default();
            anyhow::bail!("no address in `{}`; stderr: {}", line.trim(), said.trim());
        };
        Ok(Self { child, addr, started })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// As a service manager ends it.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        let pid = rustix::process::Pid::from_raw(self.pid() as i32).context("a process has a number")?;
        rustix::process::kill_process(pid, rustix::process::Signal::TERM)?;
        let until = Instant::now() + EXIT_MAX;
        while Instant::now() < until {
            if self.child.try_wait()?.is_some() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        anyhow::bail!("the gateway does not end")
    }
}

impl Drop for GatewayProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
