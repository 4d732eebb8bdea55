//! One gateway per home: a lock that ends with its process, and a file that says where it is.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use safefile::Lock;
use serde::{Deserialize, Serialize};
use vocab::{Fault, FaultKind};

use crate::holder;
use crate::options::ServerOptions;

const FILE_BYTES_MAX: u64 = 64 * 1024;
const TRIES: u32 = 5;
const BETWEEN_TRIES: Duration = Duration::from_millis(20);

/// `gateway.json`: where the gateway of this home is.
#[derive(Clone, Serialize, Deserialize, PartialEq, Eq, Debug)]
pub struct GatewayFile {
    pub pid: u32,
    /// Milliseconds since 1970.
    pub started: i64,
    pub url: Option<String>,
    pub socket: Option<PathBuf>,
    pub version: String,
    pub instance: String,
    /// How long its runs may take to come to a point where they can stop, once it is told to end.
    #[serde(default)]
    pub shutdown_grace_ms: u64,
    /// It was told to end, and does.
    #[serde(default)]
    pub is_ending: bool,
    /// Where the token stands that it was started with, if not in this home.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_stands_in: Option<String>,
}

impl GatewayFile {
    pub(crate) fn new(url: Option<String>, socket: Option<PathBuf>, options: &ServerOptions) -> Self {
        let started = vocab::unix_ms(SystemTime::now());
        let (version, instance) = (options.version.clone(), options.instance.to_string());
        let token_stands_in = options.token_stands_in.clone();
        let shutdown_grace_ms = u64::try_from(options.shutdown_grace.as_millis()).unwrap_or(u64::MAX);
        let (pid, is_ending) = (std::process::id(), false);
        Self { pid, started, url, socket, version, instance, shutdown_grace_ms, is_ending, token_stands_in }
    }

    /// The gateway that runs in this home and says so; `None`: none does, whatever an old file says.
    pub fn running(home: &Path) -> io::Result<Option<Self>> {
        Ok(match RunningGateway::look(home)? {
            RunningGateway::Named(file) => Some(file),
            RunningGateway::None | RunningGateway::Nameless(_) => None,
        })
    }

    /// What the process that has the lock says of itself. Anybody may have written the file: one that was killed, and whoever
    /// can write here. The error is for people.
    fn of_holder(home: &Path) -> Result<Self, String> {
        let file = Self::read(home)?;
        match holder::may_hold(&lock_file(home), file.pid) {
            true => Ok(file),
            false => {
                let path = home.join("gateway.json");
                Err(format!("{} names process {}, which is not it", path.display(), file.pid))
            }
        }
    }

    /// The error is what is wrong with the file, for people.
    fn read(home: &Path) -> Result<Self, String> {
        let path = home.join("gateway.json");
        let text = safefile::read_regular_text(&path, FILE_BYTES_MAX).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => format!("{} is missing", path.display()),
            _ => format!("{} cannot be read: {error}", path.display()),
        })?;
        serde_json::from_str(&text).map_err(|error| format!("{} cannot be read: {error}", path.display()))
    }
}

/// Whether a gateway runs in a home: the lock tells, and the file only who it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RunningGateway {
    None,
    Named(GatewayFile),
    /// One does, and its file does not say who: it is only now starting or ending, or somebody has spoilt the file.
    Nameless(NamelessGateway),
}

/// What is known of such a one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamelessGateway {
    /// The process that has the lock, where the system tells.
    pub pid: Option<u32>,
    /// What is wrong with its file.
    pub why: String,
}

impl NamelessGateway {
    /// Where it cannot be asked for anything.
    pub fn fault(&self) -> Fault {
        let who = self.pid.map_or_else(String::new, |pid| format!(", pid {pid}"));
        Fault::new(FaultKind::Internal, format!("a gateway runs here{who}, but {}", self.why)).hint(self.what_to_do())
    }

    pub(crate) fn what_to_do(&self) -> String {
        let end = match self.pid {
            Some(pid) => format!("`kill {pid}` ends it in order"),
            None => "end it as you started it (Ctrl-C, SIGTERM, your service manager)".to_owned(),
        };
        format!("{end}; the next `tillerman gateway` writes the file again")
    }
}

impl RunningGateway {
    pub fn look(home: &Path) -> io::Result<Self> {
        let lock = lock_file(home);
        if !Lock::is_held(&lock)? {
            return Ok(Self::None);
        }
        Ok(match GatewayFile::of_holder(home) {
            Ok(file) => Self::Named(file),
            Err(why) => Self::Nameless(NamelessGateway { pid: holder::pid_of(&lock), why }),
        })
    }
}

pub(crate) fn lock_file(home: &Path) -> PathBuf {
    home.join("lock")
}

pub(crate) struct HomeLock {
    home: PathBuf,
    _lock: Lock,
}

impl HomeLock {
    /// Tried for a moment: whoever looks whether a gateway runs holds the lock for as long as that takes.
    pub(crate) async fn take(home: &Path) -> Result<Self, Fault> {
        let failed = |error: io::Error| Fault::new(FaultKind::Internal, format!("{}: {error}", home.display()));
        for _ in 0..TRIES {
            if let Some(lock) = Lock::try_take(&lock_file(home)).map_err(failed)? {
                let taken = Self { home: home.to_owned(), _lock: lock };
                // One that was killed has left it, and from now on somebody would take its word for ours.
                taken.forget();
                return Ok(taken);
            }
            tokio::time::sleep(BETWEEN_TRIES).await;
        }
        // The other one may not have written its file yet.
        let message = match GatewayFile::of_holder(home) {
            Ok(other) => {
                let place = other.url.or_else(|| other.socket.map(|path| path.display().to_string()));
                let place = place.map(|it| format!(", {it}")).unwrap_or_default();
                let since = vocab::iso8601(other.started);
                format!("a gateway runs already: pid {}{place}, since {since}", other.pid)
            }
            Err(_) => {
                let who = holder::pid_of(&lock_file(home)).map_or_else(String::new, |pid| format!(": pid {pid}"));
                format!("a gateway runs already{who}")
            }
        };
        Err(Fault::new(FaultKind::SessionBusy, message)
            .hint("`tillerman gateway status` says how it is, `tillerman gateway stop` ends it"))
    }

    pub(crate) fn say(&self, file: &GatewayFile) -> io::Result<()> {
        safefile::replace(&self.home.join("gateway.json"), serde_json::to_string_pretty(file)?.as_bytes())
    }

    /// The file goes first: who finds the lock free finds no file.
    pub(crate) fn clear(self) {
        self.forget();
    }

    fn forget(&self) {
        let _ = std::fs::remove_file(self.home.join("gateway.json"));
    }
}
