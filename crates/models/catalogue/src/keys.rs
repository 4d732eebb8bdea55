//! Keys and headers as a client asks for them. A command runs when its output is first needed and once more when a server
//! refuses it; a file is read for every request.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use net::address::open_way;
use net::{Credentials, KnownCredentials};
use process::{CaptureLimits, Program};
use providers::Secret;
use tokio::sync::Mutex;
use vocab::{Fault, FaultKind, Later};

use config::agent::Word;

use crate::owned_keys::OwnedKeys;
use crate::pairing;

/// A command that has not printed its key by then is ended, and the request fails.
const COMMAND_TIME_MAX: Duration = Duration::from_secs(10);
/// More than this, printed or in a file, is no key: the request fails.
const KEY_BYTES_MAX: usize = 64 * 1024;

/// What is kept of a command's words about its failure.
const COMPLAINT_BYTES_MAX: usize = 400;
/// Shorter words are not taken for keys.
const KEY_LIKE_BYTES_MIN: usize = 16;

/// One value that is known or will be.
pub(crate) struct LateKey {
    /// What it is, for people: `the API key of mock`.
    what: String,
    word: Word,
    /// What a command printed. Whoever holds the lock runs the command; the others wait for it.
    printed: Mutex<Option<Secret>>,
    /// How often the command has run.
    runs: AtomicU64,
    failed: AtomicBool,
}

impl LateKey {
    pub(crate) fn new(what: String, word: Word) -> Arc<Self> {
        let (runs, failed) = (AtomicU64::new(0), AtomicBool::new(false));
        Arc::new(Self { what, word, printed: Mutex::new(None), runs, failed })
    }

    /// A value that never changes.
    fn fixed(&self) -> Option<&Secret> {
        self.word.plain()
    }

    /// The last try to get it went wrong.
    pub(crate) fn failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    pub(crate) async fn get(&self) -> Result<Secret, Fault> {
        let value = match &self.word {
            Word::Plain(secret) | Word::Variable(_, secret) => return Ok(secret.clone()),
            Word::File(path) => self.read(path),
            Word::Command(command) => {
                let mut printed = self.printed.lock().await;
                match &*printed {
                    Some(secret) => Ok(secret.clone()),
                    None => self.run(command, &mut printed).await,
                }
            }
        };
        self.failed.store(value.is_err(), Ordering::Relaxed);
        value
    }

    /// What to try instead of `used`, which a server has refused.
    async fn renewed(&self, used: &Secret) -> Result<Secret, Fault> {
        let Word::Command(command) = &self.word else { return self.get().await };
        let runs = self.runs.load(Ordering::Relaxed);
        let mut printed = self.printed.lock().await;
        // Whoever was refused at the same time has run it while we waited.
        let fresh = printed.as_ref().filter(|it| *it != used || self.runs.load(Ordering::Relaxed) != runs).cloned();
        let value = match fresh {
            Some(fresh) => Ok(fresh),
            None => self.run(command, &mut printed).await,
        };
        self.failed.store(value.is_err(), Ordering::Relaxed);
        value
    }

    async fn run(&self, command: &Secret, printed: &mut Option<Secret>) -> Result<Secret, Fault> {
        let value = run(command).await;
        self.runs.fetch_add(1, Ordering::Relaxed);
        // Neither the command nor its output is shown: both may hold a key. What it says about a failure is, without what looks like one.
        let value = value.map_err(|why| Fault::new(FaultKind::Auth, format!("the command for {} {why}", self.what)));
        *printed = value.as_ref().ok().cloned();
        value
    }

    fn read(&self, path: &Path) -> Result<Secret, Fault> {
        read(path).map_err(|why| {
            let message = format!("the file with {} {why}: {}", self.what, path.display());
            Fault::new(FaultKind::Auth, message).hint("it has the key and nothing else; `chmod 600` keeps it private")
        })
    }
}

/// Values that do not go to one host, because everybody on the way there reads them.
pub(crate) struct Withheld {
    provider: Arc<str>,
    host: String,
    keys: OwnedKeys,
    note: fn(&str),
    /// People know by now that the others do.
    is_told: AtomicBool,
}

impl Withheld {
    /// `None`: nobody reads on the way.
    pub(crate) fn of(provider: &Arc<str>, base_url: &str, keys: OwnedKeys, note: fn(&str)) -> Option<Self> {
        let host = open_way(base_url)?;
        Some(Self { provider: provider.clone(), host, keys, note, is_told: AtomicBool::new(false) })
    }

    fn check(&self, known: &KnownCredentials) -> Result<(), Fault> {
        let Withheld { provider, host, .. } = self;
        let mut values = known.key.iter().chain(known.headers.iter().map(|(_, value)| value));
        let Some(whose) = values.find_map(|value| self.keys.whose(value.expose().as_bytes())) else {
            // What a command prints is known only now, so nobody could say before that it goes.
            if !self.is_told.swap(true, Ordering::Relaxed) {
                (self.note)(&pairing::goes(provider, host));
            }
            return Ok(());
        };
        let message = format!("the key of {provider} is not sent to {host}: it is {whose}, and plain http shows it");
        Err(Fault::new(FaultKind::Auth, message).hint("use an https address, or a key of that server's own"))
    }
}

/// What one client sends: the key of its provider and its own headers.
#[derive(Default)]
pub(crate) struct KeysAndHeaders {
    pub(crate) key: Option<Arc<LateKey>>,
    pub(crate) headers: Vec<(String, Arc<LateKey>)>,
    /// What a command prints or a file has is known only when it is about to be sent.
    pub(crate) withheld: Option<Withheld>,
}

impl KeysAndHeaders {
    fn checked(&self, known: KnownCredentials) -> Result<KnownCredentials, Fault> {
        self.withheld.as_ref().map_or(Ok(()), |withheld| withheld.check(&known))?;
        Ok(known)
    }

    /// `None`: something has to be fetched, and may change.
    pub(crate) fn known(&self) -> Option<KnownCredentials> {
        let key = match &self.key {
            Some(key) => Some(key.fixed()?.clone()),
            None => None,
        };
        let headers = self.headers.iter().map(|(name, value)| Some((name.clone(), value.fixed()?.clone())));
        Some(KnownCredentials { key, headers: headers.collect::<Option<_>>()? })
    }
}

impl Credentials for KeysAndHeaders {
    fn fetch(&self) -> Later<'_, Result<KnownCredentials, Fault>> {
        Box::pin(async {
            let key = match &self.key {
                Some(key) => Some(key.get().await?),
                None => None,
            };
            let mut headers = Vec::with_capacity(self.headers.len());
            for (name, value) in &self.headers {
                headers.push((name.clone(), value.get().await?));
            }
            self.checked(KnownCredentials { key, headers })
        })
    }

    fn is_live(&self) -> bool {
        self.known().is_none()
    }

    fn renewed(&self, used: &KnownCredentials) -> Later<'_, Result<Option<KnownCredentials>, Fault>> {
        let used = used.clone();
        Box::pin(async move {
            let mut fresh = used.clone();
            if let (Some(held), Some(used)) = (&self.key, &used.key) {
                fresh.key = Some(held.renewed(used).await?);
            }
            for ((_, held), (_, value)) in self.headers.iter().zip(&mut fresh.headers) {
                *value = held.renewed(value).await?;
            }
            Ok((fresh != used).then_some(self.checked(fresh)?))
        })
    }
}

/// A key that stands in a file of the user's, which nobody else may read.
pub(crate) fn read(path: &Path) -> Result<Secret, String> {
    let cannot = |error: std::io::Error| format!("cannot be read ({error})");
    let meta = std::fs::metadata(path).map_err(cannot)?;
    if !meta.is_file() {
        return Err("is not a file".to_owned());
    }
    if meta.uid() != rustix::process::geteuid().as_raw() {
        return Err("belongs to somebody else".to_owned());
    }
    if meta.mode() & 0o077 != 0 {
        return Err(format!("can be read by others (mode {:o})", meta.mode() & 0o777));
    }
    if meta.len() > KEY_BYTES_MAX as u64 {
        return Err(format!("is larger than {KEY_BYTES_MAX} bytes"));
    }
    let text = safefile::read_regular_text(path, KEY_BYTES_MAX as u64).map_err(cannot)?;
    Secret::new(&text).ok_or_else(|| "is empty".to_owned())
}

/// What a shell command prints, without the blanks around it.
async fn run(command: &Secret) -> Result<Secret, String> {
    let argv = ["/bin/sh", "-c", command.expose()].map(Into::into).to_vec();
    // The user wrote it into a file of theirs: it sees what they see.
    let program = Program { argv, cwd: ".".into(), env: std::env::vars_os().collect(), joined: false };
    let limits = CaptureLimits {
        output_bytes_max: KEY_BYTES_MAX,
        errors_bytes_max: COMPLAINT_BYTES_MAX,
        time_max: COMMAND_TIME_MAX,
    };
    let printed = process::capture(&program, limits).await.map_err(|error| match error.kind() {
        std::io::ErrorKind::TimedOut => format!("took longer than {} s", COMMAND_TIME_MAX.as_secs()),
        _ => format!("cannot be started: {error}"),
    })?;
    let Some(exit) = printed.exit else { return Err(format!("printed more than {KEY_BYTES_MAX} bytes")) };
    if exit.code != Some(0) {
        let status = match (exit.code, exit.signal) {
            (Some(code), _) => format!("exit status: {code}"),
            (None, Some(signal)) => format!("signal: {signal}"),
            (None, None) => "it ended".to_owned(),
        };
        let said = masked(&printed.errors, String::from_utf8_lossy(&printed.output).trim());
        let colon = if said.is_empty() { "" } else { ": " };
        return Err(format!("failed ({status}){colon}{said}"));
    }
    let text = String::from_utf8(printed.output).map_err(|_| "printed something that is not text".to_owned())?;
    Secret::new(&text).ok_or_else(|| "printed nothing".to_owned())
}

/// One line without what was printed, and without words that could be keys: long, of letters and digits, and no path.
fn masked(said: &str, printed: &str) -> String {
    let word = |word: &str| {
        let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let mixed = bare.contains(|c: char| c.is_ascii_digit()) && bare.contains(|c: char| c.is_ascii_alphabetic());
        let is_key = bare.len() >= KEY_LIKE_BYTES_MIN && mixed && !bare.contains('/');
        if is_key || (!printed.is_empty() && word.contains(printed)) { "***".to_owned() } else { word.to_owned() }
    };
    said.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(command: &str) -> Arc<LateKey> {
        LateKey::new("the API key of mock".into(), Word::Command(Secret::new(command).unwrap()))
    }

    #[tokio::test]
    async fn a_command_runs_when_it_is_needed_and_once() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("runs");
        let held = held(&format!("echo x >> '{}'; echo ' sk-canary-1 '", file.display()));
        let credentials =
            KeysAndHeaders { key: Some(held.clone()), headers: vec![("X-Key".into(), held.clone())], withheld: None };
        assert!(!file.exists() && credentials.known().is_none());
        for _ in 0..3 {
            let known = credentials.fetch().await.unwrap();
            assert_eq!(known.key.unwrap().expose(), "sk-canary-1");
            assert_eq!(known.headers[0].1.expose(), "sk-canary-1");
        }
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "x\n", "it ran once");
        assert!(credentials.is_live() && !held.failed());
    }

    #[tokio::test]
    async fn a_refused_key_is_asked_for_once_more_by_all_who_were_refused_together() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("runs");
        let command = format!("echo x >> '{0}'; echo sk-canary-$(wc -l < '{0}')", file.display());
        let credentials = KeysAndHeaders { key: Some(held(&command)), ..KeysAndHeaders::default() };
        let used = credentials.fetch().await.unwrap();
        let (one, two, three) =
            tokio::join!(credentials.renewed(&used), credentials.renewed(&used), credentials.renewed(&used));
        for fresh in [one, two, three] {
            assert_eq!(fresh.unwrap().unwrap().key.unwrap().expose(), "sk-canary-2");
        }
        assert_eq!(credentials.fetch().await.unwrap().key.unwrap().expose(), "sk-canary-2");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "x\nx\n", "one run for three");

        // One that prints the same again has nothing better, and three who ask together run it once.
        let command = format!("echo y >> '{}'; echo sk-canary", file.display());
        let credentials = KeysAndHeaders { key: Some(held(&command)), ..KeysAndHeaders::default() };
        std::fs::remove_file(&file).unwrap();
        let used = credentials.fetch().await.unwrap();
        let (one, two) = tokio::join!(credentials.renewed(&used), credentials.renewed(&used));
        assert_eq!((one.unwrap(), two.unwrap()), (None, None));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "y\ny\n");
    }

    #[tokio::test]
    async fn a_file_is_read_each_time_and_must_be_the_users_alone() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("key");
        let allow = |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        let held = LateKey::new("the API key of mock".into(), Word::File(file.clone()));
        let why = async || {
            let fault = held.get().await.unwrap_err();
            assert!(held.failed() && fault.kind == FaultKind::Auth && !format!("{fault:?}").contains("canary"));
            fault.message
        };
        assert!(why().await.starts_with("the file with the API key of mock cannot be read (No such file"));
        std::fs::write(&file, "sk-canary-1\n").unwrap();
        for mode in [0o644, 0o640, 0o604] {
            allow(mode);
            assert!(why().await.contains(&format!("can be read by others (mode {mode:o}): ")));
        }
        allow(0o600);
        assert_eq!(held.get().await.unwrap().expose(), "sk-canary-1");
        std::fs::write(&file, "sk-canary-2").unwrap();
        assert_eq!(held.get().await.unwrap().expose(), "sk-canary-2", "a changed file counts at once");
        std::fs::write(&file, " \n").unwrap();
        assert!(why().await.contains("is empty"));
        std::fs::write(&file, "canary".repeat(KEY_BYTES_MAX)).unwrap();
        assert!(why().await.contains("is larger than"));
    }

    #[tokio::test]
    async fn a_command_that_fails_says_why_and_shows_no_key() {
        for (command, why) in [
            ("echo sk-canary; exit 3", "failed (exit status: 3)"),
            (
                "echo sk-canary; echo for sk-canary: vault is locked >&2; exit 3",
                "failed (exit status: 3): for *** vault is locked",
            ),
            ("echo Token=abcd1234canary5678 is refused >&2; exit 1", "failed (exit status: 1): *** is refused"),
            ("echo ' ' # canary", "printed nothing"),
            ("printf '\\377canary'", "printed something that is not text"),
            ("yes canary", "printed more than 65536 bytes"),
        ] {
            let held = held(command);
            let fault = held.get().await.unwrap_err();
            assert_eq!(fault.message, format!("the command for the API key of mock {why}"));
            assert_eq!(fault.kind, FaultKind::Auth);
            assert!(held.failed(), "{command}");
            assert!(!format!("{fault:?}").contains("canary"));
        }
    }
}
