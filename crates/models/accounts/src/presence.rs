//! Which accounts and keys there are, remembered as long as the file stays the same. No secret is remembered.

use std::sync::{Arc, Mutex};

use crate::credentials::{CredentialFile, Stamp};
use crate::{Account, StoredAccounts};

#[derive(Default)]
pub(crate) struct Presence(Mutex<Option<(Stamp, KnownAccounts)>>);

#[derive(Clone, Default)]
pub(crate) struct KnownAccounts {
    pub(crate) accounts: StoredAccounts,
    /// Of Antigravity.
    pub(crate) project: Option<Arc<str>>,
}

impl Presence {
    pub(crate) fn look(&self, file: &CredentialFile) -> KnownAccounts {
        let Some(stamp) = file.stamp() else { return KnownAccounts::default() };
        let mut seen = self.0.lock().expect("nothing panics while holding it");
        if let Some((at, seen)) = &*seen
            && *at == stamp
        {
            return seen.clone();
        }
        // Whoever needs a token hears why the file cannot be read.
        let saved = file.read_now().unwrap_or_default();
        let project = saved.login(Account::Antigravity).and_then(|login| login.project.as_deref().map(Arc::from));
        let now = KnownAccounts { accounts: saved.accounts(), project };
        *seen = Some((stamp, now.clone()));
        now
    }
}
