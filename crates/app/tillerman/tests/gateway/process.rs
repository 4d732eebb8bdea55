//! A gateway as a process: started, asked where it listens, killed.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use testkit::mock_model::{Format, MockModel};

/// What every gateway of these tests is reached with.
pub(crate) const TOKEN: &str = "a-token-for-tests-0123456789abcdef";

/// How long a gateway may take to begin or to end before the test is called broken.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a gateway starts with and leaves behind; it outlives the process.
pub(crate) struct Place {
    pub(crate) home: tempfile::TempDir,
    pub(crate) model: MockModel,
    /// More lines of the configuration, as YAML.
    pub(crate) config: String,
    pub(crate) arguments: Vec<String>,
    /// Without one, whoever is the same user is let in.
    pub(crate) token: Option<String>,
    /// More variables.
    pub(crate) env: Vec<(&'static str, String)>,
    /// 0: any that is free.
    pub(crate) port: u16,
    pub(crate) model_name: &'static str,
    /// The user's own `config.toml`, instead of a file that is named when it starts.
    pub(crate) own_config: Option<String>,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self::with("")
    }

    pub(crate) fn with(config: &str) -> Self {
        Self {
            home: tempfile::tempdir().unwrap(),
            model: MockModel::start_blocking(),
            config: config.to_owned(),
            arguments: Vec::new(),
            token: Some(TOKEN.to_owned()),
            env: Vec::new(),
            port: 0,
            model_name: "mock/alpha",
            own_config: None,
        }
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        let at = self.home.path().join("work");
        std::fs::create_dir_all(&at).unwrap();
        at
    }

    /// The product, in this place's home, with this place's model.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tillerman"));
        command
            .current_dir(self.workspace())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home.path())
            .env("TILLERMAN_HOME", self.home.path().join("tillerman"))
            .env("OPENAI_BASE_URL", self.model.url(Format::Completions))
            .env("OPENAI_API_KEY", "sk-for-tests")
            .envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    pub(crate) fn start(&self) -> Gateway {
        Gateway::spawn(self.gateway(), true)
    }

    /// One whose log nobody reads.
    pub(crate) fn start_unread(&self) -> Gateway {
        Gateway::spawn(self.gateway(), false)
    }

    /// The user's own file.
    pub(crate) fn config_file(&self) -> PathBuf {
        self.home.path().join("tillerman/config.toml")
    }

    fn gateway(&self) -> Command {
        if let Some(text) = &self.own_config {
            std::fs::create_dir_all(self.home.path().join("tillerman")).unwrap();
            if !self.config_file().exists() {
                std::fs::write(self.config_file(), text).unwrap();
            }
            let mut command = self.command();
            command.args(["gateway", "--port", &self.port.to_string(), "--model", self.model_name]);
            command.args(&self.arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            return command;
        }
        let config = self.home.path().join("gateway.yaml");
        let token = self.token.as_deref().map(|token| format!("  token: {token}\n")).unwrap_or_default();
        let server = match (token.is_empty(), self.config.strip_prefix("server:\n")) {
            (_, Some(more)) => format!("server:\n{token}{more}"),
            (true, None) => self.config.clone(),
            (false, None) => format!("server:\n{token}{}", self.config),
        };
        std::fs::write(&config, server).unwrap();
        let mut command = self.command();
        command
            .args(["gateway", "--port", &self.port.to_string(), "--model", self.model_name, "--config"])
            .arg(&config);
        command.args(&self.arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

pub(crate) struct Gateway {
    child: Child,
    /// `127.0.0.1:41234`.
    pub(crate) address: String,
    errors: std::sync::Arc<std::sync::Mutex<String>>,
}

impl Gateway {
    fn spawn(mut command: Command, reads: bool) -> Self {
        let mut child = command.spawn().unwrap();
        let errors = std::sync::Arc::<std::sync::Mutex<String>>::default();
        let (kept, pipe) = (errors.clone(), child.stderr.take().unwrap());
        std::thread::spawn(move || {
            if !reads {
                // Small, held open, and never read.
                let _ = rustix::pipe::fcntl_setpipe_size(&pipe, 4096);
                loop {
                    std::thread::park();
                }
            }
            for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                let mut kept = kept.lock().unwrap();
                kept.push_str(&line);
                kept.push('\n');
            }
        });
        let mut first = String::new();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        lines.read_line(&mut first).unwrap();
        // Its later lines are nobody's affair here, but the pipe must not fill.
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        let address = first.split_once("://").map(|(_, rest)| rest.trim().trim_end_matches('/').to_owned());
        let Some(address) = address else {
            let _ = child.wait();
            panic!("no address in {first:?}; it said: {}", errors.lock().unwrap());
        };
        Self { child, address, errors }
    }

    pub(crate) fn said(&self) -> String {
        self.errors.lock().unwrap().clone()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// As a power cut takes it.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// As a user ends it; gives its exit code.
    pub(crate) fn terminate(mut self) -> Option<i32> {
        let _ = Command::new("kill").args(["-TERM", &self.pid().to_string()]).status();
        let until = Instant::now() + PATIENCE;
        loop {
            match self.child.try_wait().unwrap() {
                Some(status) => return status.code(),
                None if Instant::now() > until => panic!("it does not end: {}", self.said()),
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The repository's own conversations.
pub(crate) fn talks_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gateway/talks")
}
