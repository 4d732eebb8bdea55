//! What this process has of the machine.

use std::fs;
use std::path::Path;

/// Memory that is ours alone, without files that are mapped. Counted in pages, so many sessions have to share the error.
pub(crate) fn resident_bytes() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    let kib: usize = line.trim().trim_end_matches("kB").trim().parse().unwrap();
    kib * 1024
}

/// Open descriptors; those of the store, whose files are in `home`, are its own affair.
pub(crate) fn descriptors(home: &Path) -> usize {
    let of_store = |found: &fs::DirEntry| fs::read_link(found.path()).is_ok_and(|file| file.starts_with(home));
    fs::read_dir("/proc/self/fd").unwrap().map(Result::unwrap).filter(|found| !of_store(found)).count()
}
