//! The items of an answer that have begun and not ended.

use vocab::ModelFault;

use crate::faults;

/// Models make one item after the other; a server that never ends them is broken.
const ITEMS_OPEN_MAX: usize = 256;

#[derive(Default)]
pub(super) struct Items {
    open: Vec<OpenItem>,
    heard: bool,
}

/// An item that has begun.
#[derive(Default)]
pub(super) struct OpenItem {
    index: Option<u64>,
    /// Its words were told as they came, and are not told again when it ends.
    pub(super) told: bool,
    /// The call was told with its name.
    pub(super) named: bool,
    /// The arguments so far.
    pub(super) input: String,
}

impl Items {
    /// The item at this place of the answer; it begins here when nobody said so.
    pub(super) fn at(&mut self, index: Option<u64>) -> Result<&mut OpenItem, ModelFault> {
        self.heard = true;
        let at = match self.open.iter().rposition(|open| open.index == index) {
            Some(at) => at,
            None if self.open.len() == ITEMS_OPEN_MAX => {
                return Err(faults::provider(format!("more than {ITEMS_OPEN_MAX} items of an answer never ended")));
            }
            None => {
                self.open.push(OpenItem { index, ..OpenItem::default() });
                self.open.len() - 1
            }
        };
        Ok(&mut self.open[at])
    }

    pub(super) fn forget(&mut self, index: Option<u64>) {
        self.open.retain(|open| open.index != index);
    }

    /// Whether any item has come.
    pub(super) fn heard(&self) -> bool {
        self.heard
    }
}
