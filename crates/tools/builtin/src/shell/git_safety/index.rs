//! The submodules that a repository's index names: git looks into those that are checked out. Pure.

/// Bytes before an entry's name: times, ids, mode, size, the object's name (SHA-1; others are an extension) and flags.
const ENTRY_BYTES: usize = 62;
const MODE_AT: usize = 24;
const FLAGS_AT: usize = 60;
/// The mode of an entry that is a commit of another repository.
const GITLINK: u32 = 0o160_000;
/// A flag: two more bytes of flags follow.
const EXTENDED: u16 = 0x4000;
/// The checksum at the end.
const TRAILER_BYTES: usize = 20;

/// Paths of all submodules. `None` when the bytes are not fully understood, when the index goes on in another file, or when
/// an entry names what no checkout holds: git opens whatever an index names, also outside.
pub(super) fn gitlinks(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let body = bytes.get(..bytes.len().checked_sub(TRAILER_BYTES)?)?;
    if body.get(..4)? != b"DIRC" {
        return None;
    }
    let (version, count) = (number(body, 4)?, number(body, 8)?);
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut at = 12;
    let mut name = Vec::new();
    let mut links = Vec::new();
    for _ in 0..count {
        let mode = number(body, at + MODE_AT)?;
        let flags = u16::from_be_bytes(body.get(at + FLAGS_AT..at + ENTRY_BYTES)?.try_into().ok()?);
        let start = at + ENTRY_BYTES + if flags & EXTENDED != 0 { 2 } else { 0 };
        let name_at = if version == 4 { shared(body, start, &mut name)? } else { start };
        if version != 4 {
            name.clear();
        }
        let rest = body.get(name_at..)?;
        let length = rest.iter().position(|byte| *byte == 0)?;
        name.extend_from_slice(&rest[..length]);
        // Newer versions end a name with one zero byte, older ones fill up to a multiple of eight.
        at = if version == 4 { name_at + length + 1 } else { at + (name_at - at + length + 8) / 8 * 8 };
        if !stays(&name) {
            return None;
        }
        if mode == GITLINK {
            links.push(name.clone());
        }
    }
    extensions_are_optional(body.get(at..)?).then_some(links)
}

/// Whether a path leads down from the top of the checkout, and not into the repository itself.
fn stays(name: &[u8]) -> bool {
    name.split(|byte| *byte == b'/')
        .all(|part| !matches!(part, b"" | b"." | b"..") && !part.eq_ignore_ascii_case(b".git"))
}

/// Version 4 leaves out what an entry's name has in common with the one before: cuts `name` down to that.
fn shared(body: &[u8], mut at: usize, name: &mut Vec<u8>) -> Option<usize> {
    let mut dropped = 0_usize;
    loop {
        let byte = *body.get(at)?;
        at += 1;
        dropped = dropped.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            break;
        }
        dropped = dropped.checked_add(1)?;
    }
    name.truncate(name.len().checked_sub(dropped)?);
    Some(at)
}

/// An extension in lower case changes what the entries mean: a split index, or whole directories as one entry.
fn extensions_are_optional(mut rest: &[u8]) -> bool {
    while let Some((head, behind)) = rest.split_at_checked(8) {
        let Some(length) = number(head, 4) else { return false };
        let Some(next) = behind.get(length as usize..) else { return false };
        if !head[0].is_ascii_uppercase() {
            return false;
        }
        rest = next;
    }
    rest.is_empty()
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// The index that git itself writes, in this version.
    fn written(version: &str) -> Vec<u8> {
        let dir = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| {
            let output = Command::new("git").current_dir(dir.path()).args(args).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        };
        git(&["init", "-q", "."]);
        let commit = "1111111111111111111111111111111111111111";
        for path in ["a", "dir/one", "dir/two-and-more", "part", "parts/second", "z"] {
            let mode = if path.contains("part") { "160000" } else { "100644" };
            git(&["update-index", "--add", "--cacheinfo", &format!("{mode},{commit},{path}")]);
        }
        git(&["update-index", "--skip-worktree", "z"]);
        git(&["update-index", "--index-version", version]);
        std::fs::read(dir.path().join(".git/index")).unwrap()
    }

    #[test]
    fn submodules_are_found_in_every_version() {
        for version in ["3", "4"] {
            let bytes = written(version);
            assert_eq!(gitlinks(&bytes), Some(vec![b"part".to_vec(), b"parts/second".to_vec()]), "version {version}");
            for cut in 0..bytes.len() - 1 {
                // Never a panic. What a shorter text lacks are entries or the end of one, so it is not understood.
                let part = gitlinks(&bytes[..cut]);
                assert!(part.is_none() || cut > bytes.len() - TRAILER_BYTES, "version {version}, {cut} bytes");
            }
        }
    }

    #[test]
    fn an_entry_that_leads_out_of_the_checkout_is_not_understood() {
        // As long as `dir/two-and-more`, so that nothing else changes.
        for name in [
            "/etc/passwd/x/yz",
            "../../../secret1",
            "dir/../../secret",
            ".git/../../abcde",
            "dir/.GIT/config1",
            "dir//two-and-mor",
        ] {
            let mut bytes = written("3");
            let old = b"dir/two-and-more";
            let at = bytes.windows(old.len()).position(|window| window == old).unwrap();
            let name = &name.as_bytes()[..name.len().min(old.len())];
            bytes[at..at + name.len()].copy_from_slice(name);
            assert_eq!(gitlinks(&bytes), None, "{}", String::from_utf8_lossy(name));
        }
    }

    #[test]
    fn an_index_that_goes_on_elsewhere_is_not_understood() {
        let mut bytes = written("4");
        let end = bytes.len() - TRAILER_BYTES;
        bytes.splice(end..end, *b"link\0\0\0\0");
        assert_eq!(gitlinks(&bytes), None);
        let mut bytes = written("4");
        bytes.splice(end..end, *b"TREE\0\0\0\0");
        assert!(gitlinks(&bytes).is_some());
    }
}
