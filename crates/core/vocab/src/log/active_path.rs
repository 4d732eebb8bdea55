//! The branch of a log that counts: what was taken back is not on it.

use std::sync::Arc;

use crate::Entry;

/// The entries from the root to the newest one, along their parents. `entries` is a log in order.
///
/// A parent is always older than its entry. One that is not, or that is not in the log (a damaged record), ends the
/// walk: the path then begins behind it.
pub fn active_path(entries: &[Arc<Entry>]) -> Vec<&Arc<Entry>> {
    walk(entries, |entry| (entry.seq, entry.parent))
}

/// As [`active_path`], of numbers and parents alone.
pub fn path_of(places: &[(u64, u64)]) -> Vec<u64> {
    walk(places, |place| *place).into_iter().map(|(seq, _)| *seq).collect()
}

fn walk<T>(log: &[T], place: impl Fn(&T) -> (u64, u64)) -> Vec<&T> {
    let mut path = Vec::new();
    let mut wanted = log.last().map_or(0, |it| place(it).0);
    for it in log.iter().rev() {
        if wanted == 0 {
            break;
        }
        let (seq, parent) = place(it);
        if seq == wanted {
            path.push(it);
            wanted = parent;
        }
    }
    path.reverse();
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Body, BranchEntry};

    fn path(parents: &[(u64, u64)]) -> Vec<u64> {
        let entry = |(seq, parent): &(u64, u64)| {
            let body = Body::Branch(BranchEntry::Moved { to: 0 });
            Arc::new(Entry { seq: *seq, parent: *parent, at_ms: 0, body, by: None })
        };
        let entries: Vec<Arc<Entry>> = parents.iter().map(entry).collect();
        let path = active_path(&entries).iter().map(|entry| entry.seq).collect();
        assert_eq!(path_of(parents), path);
        path
    }

    #[test]
    fn it_goes_from_the_root_to_the_newest_along_the_parents() {
        assert_eq!(path(&[]), [0; 0]);
        assert_eq!(path(&[(1, 0), (2, 1), (3, 2)]), [1, 2, 3]);
        assert_eq!(path(&[(1, 0), (2, 1), (3, 1), (4, 3)]), [1, 3, 4], "2 was taken back");
        assert_eq!(path(&[(1, 0), (2, 1), (3, 0)]), [3], "from the beginning");
    }

    #[test]
    fn a_parent_that_is_not_older_or_not_there_ends_it() {
        assert_eq!(path(&[(1, 1)]), [1]);
        assert_eq!(path(&[(1, 0), (2, 9), (3, 2)]), [2, 3]);
        assert_eq!(path(&[(1, 0), (2, 3), (3, 2)]), [2, 3], "not for ever round");
        assert_eq!(path(&[(1, 0), (4, 1), (5, 4)]), [1, 4, 5], "4 stands in for three records that are missing");
        assert_eq!(path(&[(1, 0), (4, 1), (5, 3)]), [5]);
    }
}
