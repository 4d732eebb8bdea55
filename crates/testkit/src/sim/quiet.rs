//! Panics that belong to the play are silent; others are remembered, because a task's panic ends only that task.

use std::cell::RefCell;
use std::sync::Once;

thread_local! {
    static PANICS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Every panic of the play says so.
const SCRIPTED: &str = "a scripted panic";

pub(super) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            // Only what it begins with: the report of a failed seed quotes such panics.
            if info.payload_as_str().is_some_and(|text| text.starts_with(SCRIPTED)) {
                return;
            }
            PANICS.with(|panics| panics.borrow_mut().push(info.to_string()));
            before(info);
        }));
    });
}

pub(super) fn take() -> Vec<String> {
    PANICS.with(RefCell::take)
}
