//! Who is on a connection, once it is known.

use std::sync::{Arc, OnceLock};

use vocab::Principal;

/// Empty until somebody has proved who they are; then it stays. A peer of the engine is made for whoever stands here.
#[derive(Clone, Default, Debug)]
pub struct PrincipalCell(Arc<OnceLock<Principal>>);

impl PrincipalCell {
    pub fn known(principal: Principal) -> Self {
        let cell = Self::default();
        cell.set(principal);
        cell
    }

    /// The first word counts. Whether this was it.
    pub fn set(&self, principal: Principal) -> bool {
        self.0.set(principal).is_ok()
    }

    pub fn get(&self) -> Option<&Principal> {
        self.0.get()
    }
}
