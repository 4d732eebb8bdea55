//! Who says which models there are. Most servers do themselves; some have no list, or one that only their own API knows.

use std::fmt;
use std::sync::Arc;

use vocab::{Fault, Later, ModelFault, ModelInfo};

use crate::models::Vendor;

/// Who says which models a server has.
#[derive(Clone, Debug)]
pub enum Listing {
    /// The server itself, as its format lists them.
    Server,
    /// Nobody: it serves what this table has, and perhaps more.
    Table(&'static Vendor),
    /// Somebody else who knows it.
    Asked(Lister),
}

/// Tells a server's models; windows of 0 are not known.
pub trait Lists: Send + Sync {
    fn list(&self) -> Later<'_, Result<Vec<ModelInfo>, Fault>>;
}

/// A shared [`Lists`].
#[derive(Clone)]
pub struct Lister(pub Arc<dyn Lists>);

impl Lister {
    pub(crate) async fn asked(&self) -> Result<Vec<ModelInfo>, ModelFault> {
        let unsure = |fault| ModelFault { fault, retryable: false, retry_after_ms: None };
        self.0.list().await.map_err(unsure)
    }
}

impl fmt::Debug for Lister {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Lister(..)")
    }
}
