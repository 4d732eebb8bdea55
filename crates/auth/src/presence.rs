//! Which accounts and keys there are, remembered as long as the file stays the same. No secret is remembered.

use std::sync::Mutex;

use vocab::Accounts;

use crate::credentials::{CredentialFile, Stamp};

#[derive(Default)]
pub(crate) struct Presence(Mutex<Option<(Stamp, Accounts)>>);

impl Presence {
    pub(crate) fn look(&self, file: &CredentialFile) -> Accounts {
        let Some(stamp) = file.stamp() else { return Accounts::default() };
        let mut seen = self.0.lock().expect("nothing panics while holding it");
        if let Some((at, accounts)) = &*seen
            && *at == stamp
        {
            return accounts.clone();
        }
        // Whoever needs a token hears why the file cannot be read.
        let accounts = file.read_now().map(|saved| saved.accounts()).unwrap_or_default();
        *seen = Some((stamp, accounts.clone()));
        accounts
    }
}
