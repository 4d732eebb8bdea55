//! What many conversations with one server write alike, system prompt and tools above all, is in memory once.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

/// So many different ones are remembered; the one that nobody wrote for longest goes first.
const RECENT_MAX: usize = 16;
/// What is smaller is not worth looking for.
const SHARED_BYTES_MIN: usize = 512;

/// Pieces of requests, and texts that are told of them.
#[derive(Default)]
pub(crate) struct RecentPieces {
    pieces: Mutex<VecDeque<Bytes>>,
    texts: Mutex<VecDeque<Arc<str>>>,
}

impl RecentPieces {
    /// The piece itself, or an equal one that is there already.
    pub(crate) fn piece(&self, new: Bytes) -> Bytes {
        if new.len() < SHARED_BYTES_MIN { new } else { once(&self.pieces, new) }
    }

    pub(crate) fn text(&self, new: Arc<str>) -> Arc<str> {
        if new.len() < SHARED_BYTES_MIN { new } else { once(&self.texts, new) }
    }
}

fn once<T: PartialEq + Clone>(recent: &Mutex<VecDeque<T>>, new: T) -> T {
    let mut recent = recent.lock().unwrap_or_else(PoisonError::into_inner);
    let known = recent.iter().position(|known| *known == new).and_then(|at| recent.remove(at));
    let shared = known.unwrap_or(new);
    recent.push_back(shared.clone());
    if recent.len() > RECENT_MAX {
        recent.pop_front();
    }
    shared
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_equal_is_there_once_and_the_longest_unused_goes() {
        let recent = RecentPieces::default();
        let long = |name: usize| Bytes::from(format!("{name:SHARED_BYTES_MIN$}"));
        let first = recent.piece(long(0));
        assert_eq!(recent.piece(long(0)).as_ptr(), first.as_ptr());
        (1..RECENT_MAX).for_each(|name| _ = recent.piece(long(name)));
        assert_eq!(recent.piece(long(0)).as_ptr(), first.as_ptr(), "it was used last");
        (1..=RECENT_MAX).for_each(|name| _ = recent.piece(long(name)));
        assert_ne!(recent.piece(long(0)).as_ptr(), first.as_ptr());
        let small = Bytes::from(vec![1, 2]);
        let _ = recent.piece(small.clone());
        assert_eq!(recent.pieces.lock().unwrap().len(), RECENT_MAX);
        let text: Arc<str> = "x".repeat(SHARED_BYTES_MIN).into();
        assert!(Arc::ptr_eq(&recent.text(text.clone()), &text));
        assert!(Arc::ptr_eq(&recent.text("x".repeat(SHARED_BYTES_MIN).into()), &text));
    }
}
