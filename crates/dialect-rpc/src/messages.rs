//! The family's messages as JSON: user, assistant, toolResult, bashExecution, compactionSummary, branchSummary. The same
//! bytes go into events, into answers and into session files. Knows no frame and no file.

use std::sync::Arc;

use vocab::Prices;

/// Who a model is in this family's words.
#[derive(Clone, PartialEq, Debug)]
pub struct Face {
    pub provider: Arc<str>,
    pub id: Arc<str>,
    pub api: Arc<str>,
    /// Unknown prices are written as 0: the wire has numbers only.
    pub prices: Option<Prices>,
}

/// Looks a slug of the log up. A slug that nobody knows any more is split at its first `/`.
pub trait Faces {
    fn face(&self, slug: &str) -> Face;
}

impl Face {
    /// For a slug of which nothing is known.
    pub fn guess(slug: &str) -> Face {
        let (provider, id) = slug.split_once('/').unwrap_or(("unknown", slug));
        Face { provider: provider.into(), id: id.into(), api: "openai-completions".into(), prices: None }
    }
}
