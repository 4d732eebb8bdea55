//! The face of the crate: one [`Auth`] per process, cheap to clone.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use vocab::{Fault, Secret, SignInMode, SignInStep, SignedIn};

use crate::Timer;
use crate::cloud_code::CloudModel;
use crate::config::AccountsConfig;
use crate::credentials::{CredentialFile, Replace};
use crate::flow::RunningFlows;
use crate::presence::Presence;
use crate::refresh::Refresher;
use crate::{Account, Key, ModelLimit, OpenAiLimits, StoredAccounts};

/// Sign-ins, tokens and keys of one user.
#[derive(Clone)]
pub struct Auth(pub(crate) Arc<AccountsState>);

pub(crate) struct AccountsState {
    pub(crate) config: AccountsConfig,
    pub(crate) file: CredentialFile,
    pub(crate) timer: Arc<dyn Timer>,
    pub(crate) flows: RunningFlows,
    pub(crate) presence: Presence,
    pub(crate) refreshers: [Refresher; Account::ALL.len()],
}

impl Auth {
    /// `directory` is for the credentials alone and is closed to others. Touches neither disk nor network.
    pub fn new(config: AccountsConfig, directory: &Path, timer: Arc<dyn Timer>) -> Self {
        Self::with_replace(config, directory, timer, Arc::new(safefile::replace))
    }

    /// With another way to replace the file, for tests of what a crash leaves.
    pub fn with_replace(config: AccountsConfig, directory: &Path, timer: Arc<dyn Timer>, replace: Replace) -> Self {
        let file = CredentialFile::new(directory, replace);
        Self(Arc::new(AccountsState {
            config,
            file,
            timer,
            flows: RunningFlows::default(),
            presence: Presence::default(),
            refreshers: Default::default(),
        }))
    }

    /// Signs in and keeps the tokens. Tells `Started`, what the user has to do, and exactly one of `Completed` and
    /// `Failed` as the last thing; the result says the same.
    ///
    /// One flow per account: a newer one ends the older, which fails with `Cancelled`. Dropping the future ends the
    /// flow silently; either way its port is free at once.
    pub async fn connect(
        &self,
        account: Account,
        mode: SignInMode,
        originator: Option<&str>,
        tell: &mut (dyn FnMut(SignInStep) + Send),
    ) -> Result<SignedIn, Fault> {
        self.0.connect(account, mode, originator, tell).await
    }

    /// Ends all flows that run; each fails with `Cancelled` and these words. Their ports are free on return.
    pub fn cancel_flows(&self, why: &str) {
        self.0.flows.cancel_all(why);
    }

    /// A token with some life left, refreshed if need be. `Auth` faults need a new sign-in, others may pass.
    pub async fn access_token(&self, account: Account) -> Result<Secret, Fault> {
        self.0.access_token(account).await
    }

    /// A token other than `used`, which the vendor has answered with 401. To be called once per request: a fresh token
    /// that is refused again ends in an `Auth` fault here.
    pub async fn refreshed_after_401(&self, account: Account, used: &Secret) -> Result<Secret, Fault> {
        self.0.refreshed_after_401(account, used).await
    }

    /// How much of the ChatGPT account is used up.
    pub async fn openai_limits(&self) -> Result<OpenAiLimits, Fault> {
        self.0.openai_limits().await
    }

    /// How much of each model of the Antigravity account is left, by name.
    pub async fn antigravity_limits(&self) -> Result<Vec<ModelLimit>, Fault> {
        self.0.antigravity_limits().await
    }

    /// The project under which Antigravity's models are asked: looked up once for each sign-in. `None`: the account has
    /// none.
    pub async fn antigravity_project(&self) -> Result<Option<String>, Fault> {
        self.0.antigravity_project().await
    }

    /// The same for callers that cannot wait, as far as it was looked up.
    pub fn known_project(&self) -> Option<Arc<str>> {
        self.0.presence.look(&self.0.file).project
    }

    /// The models of the Antigravity account.
    pub async fn antigravity_models(&self) -> Result<Vec<CloudModel>, Fault> {
        self.0.antigravity_models().await
    }

    pub async fn key(&self, key: Key) -> Result<Option<Secret>, Fault> {
        Ok(self.0.file.read().await?.key(key).cloned())
    }

    /// `None` removes it.
    pub async fn set_key(&self, key: Key, value: Option<Secret>) -> Result<(), Fault> {
        self.0.file.update(move |saved| *saved.key_mut(key) = value).await
    }

    pub async fn sign_out(&self, account: Account) -> Result<(), Fault> {
        self.0.file.update(move |saved| *saved.login_mut(account) = None).await
    }

    /// Ends the flows that run and forgets every token and key, also in a file that cannot be read.
    pub async fn forget_everything(&self) -> Result<(), Fault> {
        self.cancel_flows("everything is being forgotten");
        self.0.file.clear().await
    }

    /// What is there, without any of it.
    pub async fn status(&self) -> Result<StoredAccounts, Fault> {
        Ok(self.0.file.read().await?.accounts())
    }

    /// The same for callers that cannot wait: one look at the disk while nothing changes, and nothing is there that cannot
    /// be read.
    pub fn present(&self) -> StoredAccounts {
        self.0.presence.look(&self.0.file).accounts
    }

    /// Every token and key, to be kept out of what others can see.
    pub async fn secrets(&self) -> Result<Vec<Secret>, Fault> {
        Ok(self.0.file.read().await?.secrets())
    }

    /// Where it all is, for people.
    pub fn place(&self) -> PathBuf {
        self.0.file.path()
    }
}
