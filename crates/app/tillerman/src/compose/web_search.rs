//! How the web is searched, once there is a key.

use std::sync::Arc;

use builtin_tools::web_search::{self, SearchKey};
use catalogue::{AccountSettings, UserKey, checked};
use vocab::{Fault, Later, Secret};

pub(super) fn search(settings: &AccountSettings, key: Arc<UserKey>) -> Result<web_search::SearchOptions, Fault> {
    let base_url = checked("Exa", settings.exa_url.as_deref().unwrap_or(web_search::BASE_URL))?;
    Ok(web_search::SearchOptions { base_url, ..web_search::SearchOptions::new(Arc::new(ExaKey(key))) })
}

/// The user's key as the tool asks for it.
struct ExaKey(Arc<UserKey>);

impl SearchKey for ExaKey {
    fn is_there(&self) -> bool {
        self.0.is_there()
    }
    fn key(&self) -> Later<'_, Option<Secret>> {
        // Credentials that cannot be read are none here; whoever looks at accounts is told why.
        Box::pin(async { self.0.get().await.ok().flatten() })
    }
}
