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
            let text = info.to_string();
            if text.contains(SCRIPTED) {
                return;
            }
            PANICS.with(|panics| panics.borrow_mut().push(text));
            before(info);
        }));
    });
}

pub(super) fn take() -> Vec<String> {
    PANICS.with(RefCell::take)
}
