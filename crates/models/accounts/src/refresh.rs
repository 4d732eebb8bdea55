//! Tokens that are fresh when they are asked for. However many ask, one request goes out: callers of this process wait
//! at a mutex, other processes at a lock file, and whoever comes next finds the result in the credentials.
//!
//! A new refresh token is on disk before its access token is handed out: an issuer that rotates has forgotten the old one.

use std::sync::{Arc, Mutex as Shared};
use std::time::Duration;

use safefile::Lock;
use tokio::sync::{Mutex, OwnedMutexGuard};
use vocab::{Fault, FaultKind, Secret};

use crate::Account;
use crate::auth::AccountsState;
use crate::credentials::Login;
use crate::tokens::{IssuerClient, Tokens, is_final};

/// How long to wait for another process that refreshes, beyond the limit of one request; then it is a `Network` fault.
const PEER_WAIT_EXTRA: Duration = Duration::from_secs(15);
const PEER_PAUSE: Duration = Duration::from_millis(10);
/// A token that came by a refresh after a 401 and is refused within this time is not refreshed again: the issuer and
/// the vendor disagree, and asking in circles helps nobody.
const REFUSED_AGAIN_MS: i64 = 60_000;

/// What a process remembers about the refreshes of one account.
#[derive(Default)]
pub(crate) struct Refresher {
    turn: Arc<Mutex<()>>,
    notes: Shared<Notes>,
}

#[derive(Default)]
struct Notes {
    /// Attempts that have ended, and how the last one did.
    ended: u64,
    last: Option<Fault>,
    /// A refresh token the issuer has refused for good, with its words; asking again would only annoy it.
    rejected: Option<(Secret, Fault)>,
    /// New tokens that could not be written, and the refresh token they replace. Not used before they are on disk.
    unsaved: Option<(Secret, Tokens)>,
    /// The token that came after a 401, and when.
    after_401: Option<(Secret, i64)>,
}

/// Why a refresh is wanted.
enum RefreshReason<'a> {
    Expiry,
    Refused(&'a Secret),
}

impl AccountsState {
    /// A token with some life left.
    pub(crate) async fn access_token(self: &Arc<Self>, account: Account) -> Result<Secret, Fault> {
        let seen = self.ended(account);
        let login = self.login(account).await?;
        if self.is_fresh(&login.tokens) {
            return Ok(login.tokens.access);
        }
        self.refreshed(account, RefreshReason::Expiry, seen).await
    }

    /// A token other than `used`, which was answered with 401.
    pub(crate) async fn refreshed_after_401(
        self: &Arc<Self>,
        account: Account,
        used: &Secret,
    ) -> Result<Secret, Fault> {
        let seen = self.ended(account);
        let login = self.login(account).await?;
        if login.tokens.access != *used {
            // Somebody has refreshed or signed in meanwhile.
            return Ok(login.tokens.access);
        }
        let again = self.notes(account, |notes| notes.after_401.clone()).is_some_and(|(token, at_ms)| {
            token == *used && self.timer.now_ms().saturating_sub(at_ms) < REFUSED_AGAIN_MS
        });
        if again {
            let message = format!("{} refuses even a fresh token", account.name());
            return Err(Fault::new(FaultKind::Auth, message).hint("sign in again"));
        }
        self.refreshed(account, RefreshReason::Refused(used), seen).await
    }

    pub(crate) async fn login(&self, account: Account) -> Result<Login, Fault> {
        let saved = self.file.read().await?;
        saved.login(account).cloned().ok_or_else(|| {
            Fault::new(FaultKind::Auth, format!("not signed in to {}", account.name())).hint("sign in first")
        })
    }

    fn is_fresh(&self, tokens: &Tokens) -> bool {
        let skew_ms = i64::try_from(self.config.limits.skew.as_millis()).unwrap_or(i64::MAX);
        tokens.expires_at_ms.is_none_or(|at| at.saturating_sub(self.timer.now_ms()) > skew_ms)
    }

    /// Waits for the turn, then refreshes unless that has been done meanwhile.
    async fn refreshed(self: &Arc<Self>, account: Account, why: RefreshReason<'_>, seen: u64) -> Result<Secret, Fault> {
        let turn = self.refreshers[account as usize].turn.clone().lock_owned().await;
        let login = self.login(account).await?;
        let done = match why {
            RefreshReason::Expiry => self.is_fresh(&login.tokens),
            RefreshReason::Refused(used) => login.tokens.access != *used,
        };
        if done {
            return Ok(login.tokens.access);
        }
        // An attempt that ended while this caller waited was made for it, too.
        let shared = self.notes(account, |notes| (notes.ended > seen).then(|| notes.last.clone()));
        if let Some(last) = shared {
            return last.map_or(Ok(login.tokens.access), Err);
        }
        let used = match why {
            RefreshReason::Expiry => None,
            RefreshReason::Refused(used) => Some(used.clone()),
        };
        // In a task of its own: once the issuer has rotated the token, the new one must reach the disk even if whoever
        // asked has gone.
        let work = tokio::spawn(self.clone().attempt(account, used, turn));
        match work.await {
            Ok(done) => done,
            Err(_) => Err(Fault::new(FaultKind::Internal, "the refresh was broken off")),
        }
    }

    async fn attempt(
        self: Arc<Self>,
        account: Account,
        used: Option<Secret>,
        _turn: OwnedMutexGuard<()>,
    ) -> Result<Secret, Fault> {
        let result = self.exchange(account, used.as_ref()).await;
        self.notes(account, |notes| {
            notes.ended += 1;
            notes.last = result.as_ref().err().cloned();
            if let (Ok(token), Some(_)) = (&result, used) {
                notes.after_401 = Some((token.clone(), self.timer.now_ms()));
            }
        });
        result
    }

    /// Under the lock of all processes: looks again, asks the issuer, writes, and only then gives the token out.
    async fn exchange(&self, account: Account, used: Option<&Secret>) -> Result<Secret, Fault> {
        let _peer = self.peer_lock(account).await?;
        let login = self.login(account).await?;
        let done = match used {
            None => self.is_fresh(&login.tokens),
            Some(used) => login.tokens.access != *used,
        };
        if done {
            return Ok(login.tokens.access);
        }
        let Some(refresh) = login.tokens.refresh else {
            let message = format!("the sign-in to {} has expired and cannot be refreshed", account.name());
            return Err(Fault::new(FaultKind::Auth, message).hint("sign in again"));
        };
        let tokens = match self.notes(account, |notes| notes.unsaved.clone()) {
            Some((replaces, tokens)) if replaces == refresh => tokens,
            _ => self.ask(account, &refresh).await?,
        };
        self.notes(account, |notes| notes.unsaved = Some((refresh.clone(), tokens.clone())));
        let token = self.write(account, refresh, tokens).await?;
        self.notes(account, |notes| notes.unsaved = None);
        Ok(token)
    }

    async fn ask(&self, account: Account, refresh: &Secret) -> Result<Tokens, Fault> {
        let rejected = self.notes(account, |notes| notes.rejected.clone());
        if let Some((_, fault)) = rejected.filter(|(token, _)| token == refresh) {
            return Err(fault);
        }
        let issuer = self.config.issuer(account);
        issuer.check(account)?;
        let client = IssuerClient { config: &self.config, issuer, clock: &*self.timer };
        let asked = client.refresh(refresh).await;
        asked.map_err(|fault| {
            if !is_final(&fault) {
                return fault;
            }
            let fault = fault.hint(format!("sign in to {} again", account.name()));
            self.notes(account, |notes| notes.rejected = Some((refresh.clone(), fault.clone())));
            fault
        })
    }

    /// Writes new tokens in the place of those they replace. Where a new sign-in has come between, that one counts.
    async fn write(&self, account: Account, replaces: Secret, tokens: Tokens) -> Result<Secret, Fault> {
        let written = self.file.update(move |saved| {
            let login = saved.login_mut(account).as_mut()?;
            if login.tokens.refresh.as_ref() == Some(&replaces) {
                login.account_id = tokens.account_id().or(login.account_id.take());
                let id = tokens.id.clone().or(login.tokens.id.take());
                login.tokens = Tokens { id, ..tokens };
            }
            Some(login.tokens.access.clone())
        });
        written.await?.ok_or_else(|| Fault::new(FaultKind::Auth, format!("signed out of {}", account.name())))
    }

    async fn peer_lock(&self, account: Account) -> Result<Lock, Fault> {
        let name = match account {
            Account::OpenAi => "refresh-openai.lock",
            Account::Antigravity => "refresh-antigravity.lock",
        };
        let wait = self.config.limits.request + PEER_WAIT_EXTRA;
        let taken = tokio::time::timeout(wait, async {
            loop {
                match self.file.try_lock(name).await? {
                    Some(lock) => return Ok(lock),
                    None => tokio::time::sleep(PEER_PAUSE).await,
                }
            }
        });
        taken.await.unwrap_or_else(|_| {
            Err(Fault::new(FaultKind::Network, "another process has been refreshing the sign-in for too long"))
        })
    }

    fn ended(&self, account: Account) -> u64 {
        self.notes(account, |notes| notes.ended)
    }

    fn notes<T>(&self, account: Account, look: impl FnOnce(&mut Notes) -> T) -> T {
        look(&mut self.refreshers[account as usize].notes.lock().expect("nothing panics while holding it"))
    }
}
