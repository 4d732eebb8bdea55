//! The user's accounts: which there are, signing in to one, forgetting them all. Whose they are is data: a name that the
//! implementer and a dialect both know, and nobody between them.

use std::fmt;
use std::sync::Arc;

use super::Later;
use crate::{Fault, FaultKind};

/// What an account is called, by its owner and on every wire.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct AccountName(&'static str);

impl AccountName {
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for AccountName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// One account as it stands, without its secrets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccountInfo {
    pub name: AccountName,
    /// Signed in, or a key or a server of the user's own stands for it.
    pub is_ready: bool,
    /// What its vendor knows the user by.
    pub id: Option<String>,
    pub profile: Option<Profile>,
}

/// Which accounts there are.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AccountList {
    pub accounts: Vec<AccountInfo>,
    /// Some model can be used: by a key, a server, an account, or because it was asked for by name.
    pub has_model: bool,
}

impl AccountList {
    pub fn get(&self, name: AccountName) -> Option<&AccountInfo> {
        self.accounts.iter().find(|account| account.name == name)
    }
    pub fn is_ready(&self, name: AccountName) -> bool {
        self.get(name).is_some_and(|account| account.is_ready)
    }
}

/// Who signed in, for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Profile {
    pub email: String,
    pub name: String,
    /// Where a portrait is.
    pub image: Option<String>,
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

/// Tells the steps of a sign-in as they come.
pub type SignInTold = Arc<dyn Fn(SignInStep) + Send + Sync>;

pub trait Accounts: Send + Sync {
    fn list(&self) -> Later<'_, Result<AccountList, Fault>>;
    /// Runs a whole flow; `told` hears `Started` first and one of `Completed` and `Failed` last.
    fn sign_in(
        &self,
        account: AccountName,
        mode: SignInMode,
        originator: Option<Arc<str>>,
        told: SignInTold,
    ) -> Later<'static, Result<SignedIn, Fault>>;
    /// Ends all flows that run, in order to end ourselves.
    fn cancel_sign_ins(&self, why: &str);
    /// Signs out everywhere and forgets every key.
    fn forget(&self) -> Later<'_, Result<(), Fault>>;
}

/// For engines whose user has none.
pub struct NoAccounts;

impl Accounts for NoAccounts {
    fn list(&self) -> Later<'_, Result<AccountList, Fault>> {
        Box::pin(async { Ok(AccountList::default()) })
    }
    fn sign_in(
        &self,
        _: AccountName,
        _: SignInMode,
        _: Option<Arc<str>>,
        _: SignInTold,
    ) -> Later<'static, Result<SignedIn, Fault>> {
        Box::pin(async { Err(Fault::new(FaultKind::Unsupported, "signing in is not possible here")) })
    }
    fn cancel_sign_ins(&self, _: &str) {}
    fn forget(&self) -> Later<'_, Result<(), Fault>> {
        Box::pin(async { Ok(()) })
    }
}
