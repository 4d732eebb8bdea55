//! The file with tokens and keys: one for all, private, replaced whole, changed by one process at a time.
//!
//! Nothing is kept in memory: another process may have signed in or refreshed meanwhile, and a small file is read in
//! microseconds. Knows nothing of issuers.

use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use safefile::Lock;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use vocab::{Fault, FaultKind, LoginMethod, Profile, Secret};

use crate::tokens::Tokens;
use crate::{Account, Key, StoredAccounts};

const FILE: &str = "credentials.json";
const LOCK: &str = "credentials.lock";
const VERSION: u64 = 1;
/// A longer file is not ours and is left alone.
const FILE_BYTES_MAX: u64 = 1024 * 1024;
/// How long a change waits for another process to finish its own; then it fails. A change takes some milliseconds.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(10);
const LOCK_PAUSE: Duration = Duration::from_millis(5);

/// How a file is replaced; [`safefile::replace`] unless a test wants a crash.
pub type Replace = Arc<dyn Fn(&Path, &[u8]) -> io::Result<()> + Send + Sync>;

/// One signed-in account.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Login {
    pub(crate) tokens: Tokens,
    pub(crate) method: LoginMethod,
    pub(crate) account_id: Option<String>,
    pub(crate) profile: Option<Profile>,
    /// Under which Antigravity's models are asked.
    pub(crate) project: Option<String>,
}

/// Everything in the file.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Saved {
    openai: Option<Login>,
    antigravity: Option<Login>,
    openrouter: Option<Secret>,
    exa: Option<Secret>,
    /// What a later version has added; it stays.
    rest: Map<String, Value>,
}

impl Saved {
    pub(crate) fn login(&self, account: Account) -> Option<&Login> {
        match account {
            Account::OpenAi => self.openai.as_ref(),
            Account::Antigravity => self.antigravity.as_ref(),
        }
    }
    pub(crate) fn login_mut(&mut self, account: Account) -> &mut Option<Login> {
        match account {
            Account::OpenAi => &mut self.openai,
            Account::Antigravity => &mut self.antigravity,
        }
    }
    pub(crate) fn key(&self, key: Key) -> Option<&Secret> {
        match key {
            Key::OpenRouter => self.openrouter.as_ref(),
            Key::Exa => self.exa.as_ref(),
        }
    }
    /// Everything that nobody may see.
    pub(crate) fn secrets(&self) -> Vec<Secret> {
        let tokens = [&self.openai, &self.antigravity].into_iter().flatten().map(|login| &login.tokens);
        let tokens = tokens.flat_map(|it| [Some(&it.access), it.refresh.as_ref(), it.id.as_ref()]);
        tokens.chain([self.openrouter.as_ref(), self.exa.as_ref()]).flatten().cloned().collect()
    }
    /// What is there, without any of it.
    pub(crate) fn accounts(&self) -> StoredAccounts {
        let (openai, antigravity) = (self.openai.as_ref(), self.antigravity.as_ref());
        StoredAccounts {
            openai: openai.is_some(),
            openai_account_id: openai.and_then(|login| login.account_id.clone()),
            antigravity: antigravity.is_some(),
            antigravity_profile: antigravity.and_then(|login| login.profile.clone()),
            openrouter: self.openrouter.is_some(),
            exa: self.exa.is_some(),
        }
    }
    pub(crate) fn key_mut(&mut self, key: Key) -> &mut Option<Secret> {
        match key {
            Key::OpenRouter => &mut self.openrouter,
            Key::Exa => &mut self.exa,
        }
    }
}

/// Inode, length and time: the file is replaced whole, so that a change shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp(u64, u64, i64, i64);

/// The file and its lock, in a directory of their own.
#[derive(Clone)]
pub(crate) struct CredentialFile {
    directory: PathBuf,
    replace: Replace,
}

impl CredentialFile {
    pub(crate) fn new(directory: &Path, replace: Replace) -> Self {
        Self { directory: directory.to_owned(), replace }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.join(FILE)
    }

    pub(crate) async fn read(&self) -> Result<Saved, Fault> {
        let file = self.clone();
        blocking(move || file.read_now()).await
    }

    /// Reads, changes and writes, with no other process in between. A change that changes nothing writes nothing. Once
    /// begun it is carried through even if nobody waits for it.
    pub(crate) async fn update<T: Send + 'static>(
        &self,
        change: impl FnOnce(&mut Saved) -> T + Send + 'static,
    ) -> Result<T, Fault> {
        let file = self.clone();
        blocking(move || file.update_now(change)).await
    }

    /// Leaves an empty file, whatever was in it: also one that nobody can read.
    pub(crate) async fn clear(&self) -> Result<(), Fault> {
        let file = self.clone();
        blocking(move || {
            let _held = file.hold()?;
            file.write_now(&Saved::default())
        })
        .await
    }

    /// A lock of this name beside the file, held across processes; `None` while somebody else has it.
    pub(crate) async fn try_lock(&self, name: &'static str) -> Result<Option<Lock>, Fault> {
        let file = self.clone();
        blocking(move || {
            file.make_directory()?;
            let path = file.directory.join(name);
            Lock::try_take(&path).map_err(|error| broken("lock", &path, &error))
        })
        .await
    }

    /// Tells one state of the file from another; `None`: there is no file. One look at the disk.
    pub(crate) fn stamp(&self) -> Option<Stamp> {
        let metadata = std::fs::metadata(self.path()).ok()?;
        Some(Stamp(metadata.ino(), metadata.len(), metadata.mtime(), metadata.mtime_nsec()))
    }

    /// Blocks for as long as a small file takes.
    pub(crate) fn read_now(&self) -> Result<Saved, Fault> {
        let path = self.path();
        let cannot = |error: &io::Error| broken("read", &path, error);
        let metadata = match std::fs::metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Saved::default()),
            Err(error) => return Err(cannot(&error)),
        };
        if !metadata.is_file() || metadata.len() > FILE_BYTES_MAX {
            return Err(damaged(&path, "it is no file of credentials"));
        }
        if let Some(why) = safefile::not_ours(&path) {
            // Whoever can write it can have our prompts sent to an account of theirs.
            return Err(damaged(&path, &why));
        }
        if metadata.permissions().mode() & 0o077 != 0 {
            // Restored from a backup, perhaps. Somebody may have read it; from now on nobody does.
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).map_err(|error| cannot(&error))?;
        }
        let bytes = safefile::read_regular(&path, FILE_BYTES_MAX).map_err(|error| cannot(&error))?;
        // Only the place is told: the parser's own words would quote what it found there.
        let file: FileRecord = serde_json::from_slice(&bytes)
            .map_err(|error| damaged(&path, &format!("line {}, column {}", error.line(), error.column())))?;
        if file.version > VERSION {
            return Err(damaged(&path, "a later version of this program wrote it"));
        }
        Ok(file.into_saved())
    }

    fn update_now<T>(&self, change: impl FnOnce(&mut Saved) -> T) -> Result<T, Fault> {
        let _held = self.hold()?;
        let before = self.read_now()?;
        let mut after = before.clone();
        let result = change(&mut after);
        if after != before {
            self.write_now(&after)?;
        }
        Ok(result)
    }

    fn hold(&self) -> Result<Lock, Fault> {
        self.make_directory()?;
        let lock = self.directory.join(LOCK);
        let since = Instant::now();
        loop {
            match Lock::try_take(&lock).map_err(|error| broken("lock", &lock, &error))? {
                Some(held) => return Ok(held),
                None if since.elapsed() >= LOCK_WAIT_MAX => {
                    return Err(Fault::new(FaultKind::Store, "another process keeps the credentials locked"));
                }
                None => std::thread::sleep(LOCK_PAUSE),
            }
        }
    }

    fn write_now(&self, saved: &Saved) -> Result<(), Fault> {
        let path = self.path();
        let bytes = serde_json::to_vec_pretty(&FileRecord::of(saved)).expect("strings and numbers only");
        (self.replace)(&path, &bytes).map_err(|error| broken("write", &path, &error))
    }

    /// The directory is this file's alone, so it is closed to others even if somebody made it open.
    fn make_directory(&self) -> Result<(), Fault> {
        let made = safefile::private_dir(&self.directory).and_then(|()| {
            if std::fs::metadata(&self.directory)?.permissions().mode() & 0o077 == 0 {
                return Ok(());
            }
            std::fs::set_permissions(&self.directory, PermissionsExt::from_mode(0o700))
        });
        made.map_err(|error| broken("create", &self.directory, &error))
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Fault> + Send + 'static) -> Result<T, Fault> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(_) => Err(Fault::new(FaultKind::Internal, "the work on the credentials was broken off")),
    }
}

fn broken(doing: &str, path: &Path, error: &io::Error) -> Fault {
    Fault::new(FaultKind::Store, format!("cannot {doing} {}: {error}", path.display()))
        .hint("check the directory and its permissions")
}

fn damaged(path: &Path, why: &str) -> Fault {
    Fault::new(FaultKind::Store, format!("cannot use {}: {why}", path.display()))
        .hint("move the file away and sign in again")
}

// ---- what is in the file ----------------------------------------------------------------------------------------

#[derive(Serialize, Deserialize)]
struct FileRecord {
    version: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    openai: Option<LoginRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    antigravity: Option<LoginRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    openrouter_key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    exa_key: Option<String>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

#[derive(Serialize, Deserialize)]
struct LoginRecord {
    access_token: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    refresh_token: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id_token: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at_ms: Option<i64>,
    login_method: Method,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    account_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    profile: Option<Person>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    project: Option<String>,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Method {
    Browser,
    DeviceCode,
}

#[derive(Serialize, Deserialize)]
struct Person {
    email: String,
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    picture: Option<String>,
}

impl FileRecord {
    fn of(saved: &Saved) -> Self {
        let text = |secret: &Option<Secret>| secret.as_ref().map(|it| it.expose().to_owned());
        let record = |login: &Option<Login>| {
            let login = login.as_ref()?;
            Some(LoginRecord {
                access_token: login.tokens.access.expose().to_owned(),
                refresh_token: text(&login.tokens.refresh),
                id_token: text(&login.tokens.id),
                expires_at_ms: login.tokens.expires_at_ms,
                login_method: match login.method {
                    LoginMethod::Browser => Method::Browser,
                    LoginMethod::DeviceCode => Method::DeviceCode,
                },
                account_id: login.account_id.clone(),
                profile: login.profile.clone().map(|it| Person { email: it.email, name: it.name, picture: it.image }),
                project: login.project.clone(),
            })
        };
        FileRecord {
            version: VERSION,
            openai: record(&saved.openai),
            antigravity: record(&saved.antigravity),
            openrouter_key: text(&saved.openrouter),
            exa_key: text(&saved.exa),
            rest: saved.rest.clone(),
        }
    }

    fn into_saved(self) -> Saved {
        let secret = |text: Option<String>| text.as_deref().and_then(Secret::new);
        let login = |record: Option<LoginRecord>| {
            let record = record?;
            Some(Login {
                tokens: Tokens {
                    access: Secret::new(&record.access_token)?,
                    refresh: secret(record.refresh_token),
                    id: secret(record.id_token),
                    expires_at_ms: record.expires_at_ms,
                },
                method: match record.login_method {
                    Method::Browser => LoginMethod::Browser,
                    Method::DeviceCode => LoginMethod::DeviceCode,
                },
                account_id: record.account_id,
                profile: record.profile.map(|it| Profile { email: it.email, name: it.name, image: it.picture }),
                project: record.project,
            })
        };
        Saved {
            openai: login(self.openai),
            antigravity: login(self.antigravity),
            openrouter: secret(self.openrouter_key),
            exa: secret(self.exa_key),
            rest: self.rest,
        }
    }
}
