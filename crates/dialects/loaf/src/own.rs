//! What this dialect alone can say, and what it is answered with: keys, limits, routes, skills, images by their names, and
//! what a user wants kept. A service beside the engine answers; how it comes by it is its own affair.

use std::path::PathBuf;
use std::sync::Arc;

use vocab::{AccountName, Fault, Secret};
use wire::OwnCall;

pub use crate::images::LoadedImage;

/// The accounts of this wire.
pub mod account {
    use vocab::AccountName;

    pub const OPENAI: AccountName = AccountName::new("openai");
    pub const ANTIGRAVITY: AccountName = AccountName::new("antigravity");
    pub const OPENROUTER: AccountName = AccountName::new("openrouter");
    pub const EXA: AccountName = AccountName::new("exa");
}

/// What [`LoafOwn::Prefer`] is given to keep; the values come back as [`crate::LoafOptions`].
pub mod prefer {
    pub const MODEL: &str = "loaf.model";
    pub const THINKING: &str = "loaf.thinking";
    pub const ROUTE: &str = "loaf.route";
    pub const ONBOARDED: &str = "loaf.onboarded";
}

pub(crate) type Out = wire::Out<LoafOwn>;

#[derive(PartialEq, Debug)]
pub enum LoafOwn {
    /// The key of an account; `None` removes it.
    SetKey { account: AccountName, value: Option<Secret> },
    /// How much of each account is used up.
    Limits,
    /// Which servers OpenRouter can send a model's requests to, by their short names, sorted.
    Routes { model: Arc<str> },
    /// All its models go through this one from now on, before anything that is asked later; `None`: OpenRouter decides.
    Route { to: Option<Arc<str>> },
    /// Skills as they are on the disk now.
    Skills,
    /// An image that the user named: absolute or below the workspace, `~/` and `file://` understood.
    Image { name: Arc<str> },
    /// What a user wants to be the default from now on; see [`prefer`].
    Prefer { key: &'static str, value: Arc<str> },
}

impl OwnCall for LoafOwn {
    type Answer = Result<LoafAnswer, Fault>;
}

#[derive(Clone, PartialEq, Debug)]
pub enum LoafAnswer {
    Done,
    KeySet(KeyTried),
    Limits(Box<LoafLimits>),
    Routes(Vec<Arc<str>>),
    Skills(Box<SkillList>),
    Image(Box<LoadedImage>),
}

/// What came of a new key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyTried {
    /// Models that it gives access to.
    pub models: u64,
    pub listed: Listed,
}

/// How that list of models was got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Listed {
    Remote,
    /// Remembered from an earlier time.
    Cache,
    /// The provider could not be asked and nothing is remembered.
    Fallback,
}

/// How much of each account is used up; `None` where nobody is signed in.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LoafLimits {
    pub openai: Option<Result<PlanUse, Fault>>,
    pub antigravity: Option<Result<Vec<ModelUse>, Fault>>,
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct PlanUse {
    pub plan: Option<String>,
    pub primary: Option<WindowUse>,
    pub secondary: Option<WindowUse>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WindowUse {
    pub used_percent: f64,
    pub window_seconds: Option<u64>,
    /// Seconds since 1970.
    pub resets_at: Option<u64>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct ModelUse {
    pub name: String,
    pub remaining_percent: f64,
    /// As the vendor writes it.
    pub reset_time: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SkillList {
    pub directories: Vec<PathBuf>,
    pub errors: Vec<String>,
    pub skills: Vec<SkillRow>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SkillRow {
    pub name: String,
    pub description: String,
    /// One short line.
    pub preview: String,
    pub source: PathBuf,
}
