//! Tokens: the one that may do everything, and named ones that may do less. Only digests are kept, but for the first, which
//! its owner may read again.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use dialect_gateway::Scopes;
use ring::rand::{SecureRandom, SystemRandom};
use safefile::Lock;
use serde::{Deserialize, Serialize};
use vocab::Secret;

use crate::cookies::KeptCookie;
use crate::limits::{COOKIES_MAX, TOKENS_MAX};

const TOKEN_BYTES: usize = 32;
const FILE_BYTES_MAX: u64 = 256 * 1024;
const BROWSERS_BYTES_MAX: u64 = 256 * COOKIES_MAX as u64;
const NAME_CHARS_MAX: usize = 64;
/// How long whoever changes tokens waits for another who does, and how often they look.
const CHANGE_WAIT_MAX: Duration = Duration::from_secs(10);
const CHANGE_PAUSE: Duration = Duration::from_millis(10);

/// What the one token that may do everything is called in the audit.
pub(crate) const MAIN_TOKEN: &str = "main";

pub(crate) type TokenDigest = [u8; 32];

pub(crate) fn digest(text: &str) -> TokenDigest {
    let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    digest.as_ref().try_into().expect("32 bytes")
}

/// 256 bits as text.
pub fn new_token() -> io::Result<Secret> {
    let mut bytes = [0; TOKEN_BYTES];
    SystemRandom::new().fill(&mut bytes).map_err(|_| io::Error::other("the system has no randomness"))?;
    Secret::new(&URL_SAFE_NO_PAD.encode(bytes)).ok_or_else(|| io::Error::other("an empty token"))
}

/// Compares with all of them and ends with none early, so that time tells nothing.
pub(crate) fn find<'a, T>(presented: &str, known: impl Iterator<Item = (&'a TokenDigest, T)>) -> Option<T> {
    let presented = digest(presented);
    let mut found = None;
    for (known, what) in known {
        #[allow(deprecated)] // What it was replaced by wants a trait of ours.
        if ring::constant_time::verify_slices_are_equal(&presented, known).is_ok() {
            found = Some(what);
        }
    }
    found
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedToken {
    pub name: Arc<str>,
    pub digest: TokenDigest,
    pub scopes: Scopes,
}

/// Where tokens are kept.
pub trait TokenStore: Send + Sync {
    /// The one that may do everything.
    fn main(&self) -> io::Result<Option<Secret>>;
    /// Another one whenever the tokens are others. Reads nothing.
    fn stamp(&self) -> TokensStamp;
    /// Named ones.
    fn load(&self) -> io::Result<Vec<NamedToken>>;
    /// Browser sessions that were made with them.
    fn load_cookies(&self) -> io::Result<Vec<KeptCookie>>;
    /// Where that fails none are kept: one that was ended must not come back.
    fn save_cookies(&self, cookies: &[KeptCookie]) -> io::Result<()>;
}

/// What the system says of the files of tokens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TokensStamp([Option<FileStamp>; 2]);

/// Which file it is, how long, and when it was changed.
type FileStamp = (u64, u64, (i64, i64), (i64, i64));

fn stamp_of(path: &Path) -> Option<FileStamp> {
    let found = std::fs::metadata(path).ok()?;
    let (modified, changed) = ((found.mtime(), found.mtime_nsec()), (found.ctime(), found.ctime_nsec()));
    Some((found.ino(), found.len(), modified, changed))
}

/// In files of the gateway's home.
pub struct TokenFile {
    home: PathBuf,
    named: PathBuf,
    browsers: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct BrowserRow {
    sha256: String,
    token_sha256: String,
    until_ms: i64,
}

#[derive(Serialize, Deserialize)]
struct TokenRow {
    name: String,
    sha256: String,
    scopes: Vec<String>,
}

impl TokenFile {
    pub fn new(home: &Path) -> Self {
        Self { home: home.to_owned(), named: home.join("tokens.json"), browsers: home.join("browsers.json") }
    }

    /// Changes the named ones. Whoever else does so, in this process or another, comes before or after it: two who wrote what
    /// they had read at the same time would bring back what the other has revoked. Blocks while it waits.
    fn change<T>(&self, edit: impl FnOnce(&mut Vec<NamedToken>) -> io::Result<T>) -> io::Result<T> {
        safefile::private_dir(&self.home)?;
        let _alone = self.alone()?;
        let before = self.load()?;
        let mut tokens = before.clone();
        let done = edit(&mut tokens)?;
        if tokens != before {
            let rows: Vec<TokenRow> = tokens.iter().map(TokenRow::from).collect();
            safefile::replace(&self.named, serde_json::to_string_pretty(&rows)?.as_bytes())?;
        }
        Ok(done)
    }

    fn alone(&self) -> io::Result<Lock> {
        let until = Instant::now() + CHANGE_WAIT_MAX;
        loop {
            if let Some(lock) = Lock::try_take(&self.home.join("tokens.lock"))? {
                return Ok(lock);
            }
            if Instant::now() >= until {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "another process is changing them"));
            }
            std::thread::sleep(CHANGE_PAUSE);
        }
    }
}

impl TokenStore for TokenFile {
    fn main(&self) -> io::Result<Option<Secret>> {
        read_main_token(&self.home)
    }

    fn stamp(&self) -> TokensStamp {
        TokensStamp([stamp_of(&self.home.join("token")), stamp_of(&self.named)])
    }

    fn load(&self) -> io::Result<Vec<NamedToken>> {
        rows::<TokenRow>(&self.named, FILE_BYTES_MAX)?.into_iter().map(NamedToken::try_from).collect()
    }

    fn load_cookies(&self) -> io::Result<Vec<KeptCookie>> {
        let bad = || io::Error::new(io::ErrorKind::InvalidData, format!("{}: no digest", self.browsers.display()));
        let kept = |row: BrowserRow| {
            let (digest, token) = (digest_from(&row.sha256), digest_from(&row.token_sha256));
            digest.zip(token).map(|(digest, token)| KeptCookie { digest, token, until_unix_ms: row.until_ms })
        };
        let rows = rows::<BrowserRow>(&self.browsers, BROWSERS_BYTES_MAX)?;
        rows.into_iter().map(|row| kept(row).ok_or_else(bad)).collect()
    }

    fn save_cookies(&self, cookies: &[KeptCookie]) -> io::Result<()> {
        let row = |it: &KeptCookie| BrowserRow {
            sha256: URL_SAFE_NO_PAD.encode(it.digest),
            token_sha256: URL_SAFE_NO_PAD.encode(it.token),
            until_ms: it.until_unix_ms,
        };
        let rows: Vec<BrowserRow> = cookies.iter().map(row).collect();
        let saved = safefile::replace(&self.browsers, serde_json::to_string(&rows)?.as_bytes());
        saved.inspect_err(|_| drop(std::fs::remove_file(&self.browsers)))
    }
}

/// The rows of a file; none where there is none.
fn rows<T: serde::de::DeserializeOwned>(path: &Path, bytes_max: u64) -> io::Result<Vec<T>> {
    let text = match safefile::read_regular_text(path, bytes_max) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let wrong = |error| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {error}", path.display()));
    serde_json::from_str(&text).map_err(wrong)
}

fn digest_from(text: &str) -> Option<TokenDigest> {
    URL_SAFE_NO_PAD.decode(text).ok().and_then(|it| it.try_into().ok())
}

impl TryFrom<TokenRow> for NamedToken {
    type Error = io::Error;

    fn try_from(row: TokenRow) -> io::Result<Self> {
        let bad = |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("token {}: {what}", row.name));
        let digest = digest_from(&row.sha256);
        let scopes = scopes_from(row.scopes.iter().map(String::as_str)).map_err(|word| bad(&word))?;
        Ok(Self { digest: digest.ok_or_else(|| bad("no digest"))?, scopes, name: row.name.as_str().into() })
    }
}

impl From<&NamedToken> for TokenRow {
    fn from(token: &NamedToken) -> Self {
        let scopes = token.scopes.words().into_iter().map(str::to_owned).collect();
        Self { name: token.name.to_string(), sha256: URL_SAFE_NO_PAD.encode(token.digest), scopes }
    }
}

/// Each includes reading. The error is the word that is none.
pub fn scopes_from<'a>(words: impl Iterator<Item = &'a str>) -> Result<Scopes, String> {
    let mut scopes = Scopes::READ;
    for word in words.map(str::trim) {
        let known = Scopes::WORDS.iter().find(|(_, it)| *it == word);
        let (scope, _) = known.ok_or_else(|| format!("`{word}` is no scope: {}", Scopes::ALL.words().join(", ")))?;
        scopes = scopes.and(*scope);
    }
    Ok(scopes)
}

/// Makes a token and keeps its digest; it is seen this once. Names are unique: the audit names a token by it, and a revocation
/// must hit exactly one.
pub fn add_token(store: &TokenFile, name: &str, scopes: Scopes) -> io::Result<Secret> {
    let is_good = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.is_empty() || name.chars().count() > NAME_CHARS_MAX || !name.chars().all(is_good) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a name has letters, digits, `-`, `_` and `.`"));
    }
    if name == MAIN_TOKEN {
        let message = format!("`{MAIN_TOKEN}` is what the token that may do everything is called");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
    }
    store.change(|tokens| {
        if tokens.iter().any(|token| &*token.name == name) {
            let message = format!("there is a token of the name {name} already");
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
        }
        if tokens.len() >= TOKENS_MAX {
            return Err(io::Error::other(format!("there are {TOKENS_MAX} tokens already")));
        }
        let token = new_token()?;
        tokens.push(NamedToken { name: name.into(), digest: digest(token.expose()), scopes });
        Ok(token)
    })
}

/// Whether there was one.
pub fn revoke_token(store: &TokenFile, name: &str) -> io::Result<bool> {
    store.change(|tokens| {
        let before = tokens.len();
        tokens.retain(|token| &*token.name != name);
        Ok(tokens.len() < before)
    })
}

/// The token that may do everything, from its file in the gateway's home; `None`: there is none yet.
pub fn read_main_token(home: &Path) -> io::Result<Option<Secret>> {
    match safefile::read_regular_text(&home.join("token"), 4096) {
        Ok(text) => Ok(Secret::new(&text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The same, and one is made where there is none: whoever asks at once is told the same one.
pub(crate) fn main_token(home: &Path) -> io::Result<Secret> {
    safefile::private_dir(home)?;
    let _alone = TokenFile::new(home).alone()?;
    match read_main_token(home)? {
        Some(token) => Ok(token),
        None => write_main_token(home),
    }
}

/// Makes it, in place of the one that is there.
pub fn make_main_token(home: &Path) -> io::Result<Secret> {
    safefile::private_dir(home)?;
    let _alone = TokenFile::new(home).alone()?;
    write_main_token(home)
}

fn write_main_token(home: &Path) -> io::Result<Secret> {
    let token = new_token()?;
    safefile::replace(&home.join("token"), format!("{}\n", token.expose()).as_bytes())?;
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_ask_for_the_first_token_at_once_are_told_the_same() {
        let home = tempfile::tempdir().unwrap();
        let told: Vec<Secret> = std::thread::scope(|scope| {
            let asking: Vec<_> = (0..8).map(|_| scope.spawn(|| main_token(home.path()).unwrap())).collect();
            asking.into_iter().map(|it| it.join().unwrap()).collect()
        });
        let kept = read_main_token(home.path()).unwrap().unwrap();
        assert!(told.iter().all(|token| token.expose() == kept.expose()));
    }

    #[test]
    fn tokens_are_kept_as_digests_and_revoked_by_name() {
        let home = tempfile::tempdir().unwrap();
        let store = TokenFile::new(home.path());
        assert_eq!(store.load().unwrap(), []);
        let scopes = scopes_from(["chat", " tools"].into_iter()).unwrap();
        let token = add_token(&store, "ci", scopes).unwrap();
        add_token(&store, "other", Scopes::READ).unwrap();
        let text = std::fs::read_to_string(home.path().join("tokens.json")).unwrap();
        assert!(!text.contains(token.expose()), "{text}");
        let tokens = store.load().unwrap();
        let known = || tokens.iter().map(|it| (&it.digest, (&*it.name, it.scopes)));
        assert_eq!(find(token.expose(), known()), Some(("ci", scopes)));
        assert_eq!(find("wrong", known()), None);
        assert_eq!(scopes.words(), ["read", "chat", "tools"]);
        assert!(revoke_token(&store, "ci").unwrap() && !revoke_token(&store, "ci").unwrap());
        assert_eq!(store.load().unwrap().len(), 1);
        let refused = |name: &str| add_token(&store, name, scopes).unwrap_err().kind();
        assert_eq!(refused("other"), io::ErrorKind::AlreadyExists, "whoever has it would find it gone");
        assert_eq!((refused("main"), refused("../x")), (io::ErrorKind::InvalidInput, io::ErrorKind::InvalidInput));
        assert!(scopes_from(["root"].into_iter()).is_err());
    }

    /// Two commands at once: a token that is revoked beside a new one must not come back with it.
    #[test]
    fn those_who_change_tokens_at_once_lose_no_change() {
        const ADDERS: usize = 8;
        let home = tempfile::tempdir().unwrap();
        let store = TokenFile::new(home.path());
        for number in 0..ADDERS {
            add_token(&store, &format!("old{number}"), Scopes::READ).unwrap();
        }
        std::thread::scope(|scope| {
            for number in 0..ADDERS {
                // Each as a process of its own has it.
                let (one, other) = (TokenFile::new(home.path()), TokenFile::new(home.path()));
                scope.spawn(move || add_token(&one, &format!("new{number}"), Scopes::READ).unwrap());
                scope.spawn(move || assert!(revoke_token(&other, &format!("old{number}")).unwrap()));
            }
        });
        let mut names: Vec<String> = store.load().unwrap().iter().map(|it| it.name.to_string()).collect();
        names.sort();
        assert_eq!(names, (0..ADDERS).map(|number| format!("new{number}")).collect::<Vec<_>>());
    }

    #[test]
    fn the_main_token_is_its_owners_alone() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        assert_eq!(read_main_token(home.path()).unwrap(), None);
        let token = make_main_token(home.path()).unwrap();
        assert_eq!(token.expose().len(), 43, "256 bits");
        assert_eq!(read_main_token(home.path()).unwrap(), Some(token.clone()));
        let mode = std::fs::metadata(home.path().join("token")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_ne!(make_main_token(home.path()).unwrap(), token);
    }
}
