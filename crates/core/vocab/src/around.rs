//! What stands around the sessions: the user's accounts and keys, skills, pictures on the disk, saved conversations. None of
//! it belongs to one session; a peer asks for it without being on any.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::{Entry, Fault, FaultKind, Image, Later, Secret, Summary};

// ---- accounts ---------------------------------------------------------------------------------------------------

/// An account that is signed in to by a flow.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Account {
    OpenAi,
    Antigravity,
}

impl Account {
    pub const ALL: [Account; 2] = [Account::OpenAi, Account::Antigravity];

    pub fn name(self) -> &'static str {
        match self {
            Account::OpenAi => "openai",
            Account::Antigravity => "antigravity",
        }
    }
}

/// A key that the user brings.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Key {
    OpenRouter,
    Exa,
}

/// How the user wants to sign in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SignInMode {
    /// A device code where no browser can be expected, else the browser.
    #[default]
    Auto,
    Browser,
    DeviceCode,
}

/// How the user did sign in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LoginMethod {
    Browser,
    DeviceCode,
}

impl LoginMethod {
    pub fn name(self) -> &'static str {
        match self {
            LoginMethod::Browser => "browser",
            LoginMethod::DeviceCode => "device_code",
        }
    }
}

/// What a peer is told of a flow, in this order: `Started`, `Url`, perhaps `DeviceCode`, and one of the last two.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SignInStep {
    Started,
    /// To be opened by the user. Nothing is opened here.
    Url(String),
    DeviceCode {
        verification_url: String,
        user_code: String,
        interval_seconds: u64,
        expires_in_seconds: u64,
    },
    Completed(SignedIn),
    Failed {
        message: String,
    },
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SignedIn {
    pub login_method: LoginMethod,
    pub account_id: Option<String>,
    pub profile: Option<Profile>,
}

/// Who signed in, for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Profile {
    pub email: String,
    pub name: String,
    pub picture: Option<String>,
}

/// Which accounts and keys there are, without any of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Accounts {
    /// Signed in, or a key or a server of the user's own stands for it.
    pub openai: bool,
    pub openai_account_id: Option<String>,
    pub antigravity: bool,
    pub antigravity_profile: Option<Profile>,
    pub openrouter: bool,
    pub exa: bool,
    /// Some model can be used: by a key, a server, an account, or because it was asked for by name.
    pub model: bool,
}

/// What came of a new key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeySet {
    /// Models that it gives access to.
    pub models: u64,
    pub source: ModelSource,
}

/// How a list of models was got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ModelSource {
    Remote,
    /// Remembered from an earlier time.
    Cache,
    /// The provider could not be asked and nothing is remembered.
    Fallback,
}

/// How much of each account is used up; `None` where nobody is signed in.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Limits {
    pub openai: Option<Result<OpenAiLimits, Fault>>,
    pub antigravity: Option<Result<Vec<ModelLimit>, Fault>>,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct OpenAiLimits {
    pub plan: Option<String>,
    pub primary: Option<LimitWindow>,
    pub secondary: Option<LimitWindow>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LimitWindow {
    pub used_percent: f64,
    pub window_seconds: Option<u64>,
    /// Seconds since 1970.
    pub resets_at: Option<u64>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct ModelLimit {
    pub name: String,
    pub remaining_percent: f64,
    /// As the vendor writes it.
    pub reset_time: Option<String>,
}

// ---- skills and pictures ------------------------------------------------------------------------------------------

/// Skills as they are on the disk now.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Skills {
    pub directories: Vec<PathBuf>,
    pub errors: Vec<String>,
    pub skills: Vec<SkillInfo>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SkillInfo {
    pub name: String,
    pub description: String,
    /// One short line.
    pub preview: String,
    pub source: PathBuf,
}

/// A picture and where it came from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Picture {
    pub path: PathBuf,
    pub image: Image,
    pub bytes: u64,
}

// ---- saved conversations ------------------------------------------------------------------------------------------

/// One saved session, as a list shows it.
#[derive(Clone, PartialEq, Debug)]
pub struct Saved {
    pub summary: Summary,
    /// How its place is written down for people.
    pub place: PathBuf,
}

/// A page of saved sessions.
#[derive(Clone, PartialEq, Debug)]
pub struct SavedPage {
    pub list: Vec<Saved>,
    /// Of all pages together.
    pub total: u64,
}

/// A saved session and its active branch, read without opening it.
#[derive(Clone, PartialEq, Debug)]
pub struct Recalled {
    pub saved: Saved,
    pub entries: Vec<Arc<Entry>>,
}

// ---- the place --------------------------------------------------------------------------------------------------

/// What is known of the place that a session works in, for its system prompt.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Briefing {
    /// The machine and the repository, a line each.
    pub surroundings: String,
    /// What the user and the project want of whoever works here.
    pub instructions: String,
    /// For people, one line each.
    pub notes: Vec<String>,
}

// ---- the port -----------------------------------------------------------------------------------------------------

/// Tells the steps of a sign-in as they come.
pub type SignInTold = Arc<dyn Fn(SignInStep) + Send + Sync>;

/// The way to all of it. Where a program has none of a kind, the answers below say so.
pub trait Around: Send + Sync {
    fn accounts(&self) -> Later<'_, Result<Accounts, Fault>> {
        Box::pin(async { Ok(Accounts::default()) })
    }
    /// Runs a whole flow; `told` hears `Started` first and one of `Completed` and `Failed` last.
    fn sign_in(
        &self,
        _account: Account,
        _mode: SignInMode,
        _originator: Option<Arc<str>>,
        _told: SignInTold,
    ) -> Later<'static, Result<SignedIn, Fault>> {
        unsupported("signing in")
    }
    /// Ends all flows that run, in order to end ourselves.
    fn cancel_sign_ins(&self, _why: &str) {}
    /// `None` removes it.
    fn set_key(&self, _key: Key, _value: Option<Secret>) -> Later<'_, Result<KeySet, Fault>> {
        unsupported("keeping keys")
    }
    /// Forgets what is kept of one account.
    fn sign_out(&self, _account: Account) -> Later<'_, Result<(), Fault>> {
        unsupported("signing out")
    }
    fn limits(&self) -> Later<'_, Result<Limits, Fault>> {
        Box::pin(async { Ok(Limits::default()) })
    }
    /// Which servers a model can be routed to by its provider, by their short names, sorted.
    fn routes(&self, _model: &str) -> Later<'_, Result<Vec<Arc<str>>, Fault>> {
        unsupported("routing")
    }
    /// All models of that provider go through this route from now on; `None`: the provider decides.
    fn route(&self, _to: Option<Arc<str>>) {}
    /// Signs out everywhere and forgets every key.
    fn forget(&self) -> Later<'_, Result<(), Fault>> {
        Box::pin(async { Ok(()) })
    }
    fn skills(&self, _workspace: &Path) -> Later<'static, Skills> {
        Box::pin(async { Skills::default() })
    }
    /// What a model is to know of this place before it works there; takes a moment, never long. `None`: nothing is known
    /// beyond its name.
    fn briefing(&self, _workspace: &Path) -> Option<Later<'static, Briefing>> {
        None
    }
    /// Reads a picture that the user named: absolute or below `base`, `~/` and `file://` understood.
    fn picture(&self, _base: &Path, _name: &str) -> Later<'static, Result<Picture, Fault>> {
        unsupported("reading pictures")
    }
}

fn unsupported<T: Send + 'static>(what: &str) -> Later<'static, Result<T, Fault>> {
    let fault = Fault::new(FaultKind::Unsupported, format!("{what} is not possible here"));
    Box::pin(async { Err(fault) })
}

/// Nothing around: for engines that have only sessions.
pub struct Alone;

impl Around for Alone {}
