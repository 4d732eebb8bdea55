//! The submodules that a repository's index names: git looks into those that are checked out. Pure.
//!
//! An index is understood only in the form that git itself writes. Git is lenient with what it reads (it looks at some
//! bits of a mode, believes the length beside a name, jumps to where a table says that entries are), and wherever it is,
//! an index could mean one thing to it and another to us.

/// Bytes before an entry's name: times, ids, mode, size, the object's name (SHA-1; others are an extension) and flags.
const ENTRY_BYTES: usize = 62;
const MODE_AT: usize = 24;
const FLAGS_AT: usize = 60;
/// The mode of an entry that is a commit of another repository.
const GITLINK: u32 = 0o160_000;
/// The other modes that git writes: a file, a program, a link. A whole directory as one entry is another kind of index.
const FILES: [u32; 3] = [0o100_644, 0o100_755, 0o120_000];
/// A flag: two more bytes of flags follow.
const EXTENDED: u16 = 0x4000;
/// Where a name that is being merged comes from.
const STAGE: u16 = 0x3000;
/// How long the name is, or that it is this long or longer.
const NAME_BYTES: u16 = 0x0fff;
/// Those further flags that there are: not checked out, and to be added later.
const FURTHER: u16 = 0x6000;
/// The checksum at the end.
const TRAILER_BYTES: usize = 20;
/// Where the first entry is.
const HEADER_BYTES: usize = 12;
/// An extension's name and length.
const EXTENSION_HEAD_BYTES: usize = 8;
/// Extensions that change nothing about the entries: trees that are known, conflicts that were resolved, and what two
/// caches of the working tree know (both caches are switched off for git that only reads).
const CACHES: [&[u8; 4]; 4] = [b"TREE", b"REUC", b"UNTR", b"FSMN"];
/// Where the entries end: always the last extension, of this many bytes.
const END_OF_ENTRIES: &[u8; 4] = b"EOIE";
const END_OF_ENTRIES_BYTES: usize = 24;
/// Where blocks of entries begin, for threads that read one each.
const BLOCKS: &[u8; 4] = b"IEOT";

/// Paths of all submodules. `None` when it is not what git writes, when the index goes on in another file, or when an entry
/// names what no checkout holds: git opens whatever an index names, also outside.
pub(super) fn gitlinks(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let body = bytes.get(..bytes.len().checked_sub(TRAILER_BYTES)?)?;
    if body.get(..4)? != b"DIRC" {
        return None;
    }
    let (version, count) = (number(body, 4)?, number(body, 8)?);
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut reader = IndexReader { body, version, at: HEADER_BYTES, name: Vec::new(), stage: 0, starts: Vec::new() };
    let mut links = Vec::new();
    for _ in 0..count {
        if reader.entry()? == GITLINK {
            links.push(reader.name.clone());
        }
    }
    reader.extensions().map(|()| links)
}

/// Where an entry begins, and whether its name is written out in full.
struct EntryStart {
    at: usize,
    whole: bool,
}

struct IndexReader<'a> {
    body: &'a [u8],
    version: u32,
    at: usize,
    /// Of the entry before.
    name: Vec<u8>,
    stage: u16,
    starts: Vec<EntryStart>,
}

impl IndexReader<'_> {
    /// Reads the next entry; its mode.
    fn entry(&mut self) -> Option<u32> {
        let (body, at) = (self.body, self.at);
        let mode = number(body, at + MODE_AT)?;
        (mode == GITLINK || FILES.contains(&mode)).then_some(())?;
        let flags = short(body, at + FLAGS_AT)?;
        let mut name_at = at + ENTRY_BYTES;
        if flags & EXTENDED != 0 {
            let further = short(body, name_at)?;
            (self.version > 2 && further & !FURTHER == 0).then_some(())?;
            name_at += 2;
        }
        let before = std::mem::take(&mut self.name);
        if self.version == 4 {
            let (dropped, next) = dropped(body, name_at)?;
            self.name.extend_from_slice(before.get(..before.len().checked_sub(dropped)?)?);
            name_at = next;
        }
        self.starts.push(EntryStart { at, whole: self.name.is_empty() });
        let rest = body.get(name_at..)?;
        let length = rest.iter().position(|byte| *byte == 0)?;
        self.name.extend_from_slice(&rest[..length]);
        // The newest version ends a name with one zero byte, older ones fill up to a multiple of eight.
        self.at = if self.version == 4 { name_at + length + 1 } else { at + (name_at - at + length + 8) / 8 * 8 };
        let filled = body.get(name_at + length..self.at)?.iter().all(|byte| *byte == 0);
        let said = usize::from(flags & NAME_BYTES) == self.name.len().min(usize::from(NAME_BYTES));
        let stage = flags & STAGE;
        let in_order = self.starts.len() == 1 || (&before, self.stage) < (&self.name, stage);
        self.stage = stage;
        (filled && said && in_order && stays(&self.name)).then_some(mode)
    }

    /// What stands behind the entries. An extension that is not known here could be anything, and one in lower case changes
    /// what the entries mean: a split index, or whole directories as one entry.
    fn extensions(&self) -> Option<()> {
        let (mut at, mut ended) = (self.at, false);
        while at < self.body.len() {
            let name = self.body.get(at..at + 4)?;
            let start = at + EXTENSION_HEAD_BYTES;
            let next = start.checked_add(number(self.body, at + 4)? as usize)?;
            let content = self.body.get(start..next)?;
            if name == END_OF_ENTRIES {
                let tells = content.len() == END_OF_ENTRIES_BYTES && number(content, 0)? as usize == self.at;
                (tells && next == self.body.len()).then_some(())?;
                ended = true;
            } else if name == BLOCKS {
                self.blocks(content)?;
            } else {
                CACHES.iter().any(|cache| name == *cache).then_some(())?;
            }
            at = next;
        }
        // Git looks for the last one at its place from the end, whatever stands around it.
        let place = self.body.len().checked_sub(EXTENSION_HEAD_BYTES + END_OF_ENTRIES_BYTES);
        let seems = place.is_some_and(|at| self.body[at..].starts_with(END_OF_ENTRIES));
        (seems == ended).then_some(())
    }

    /// The table must name the entries that are read without it: git with threads goes where it says, and begins each block
    /// without the name before it.
    fn blocks(&self, table: &[u8]) -> Option<()> {
        (number(table, 0)? == 1).then_some(())?;
        let mut entries = self.starts.iter();
        let (blocks, rest) = table.get(4..)?.as_chunks::<8>();
        rest.is_empty().then_some(())?;
        for block in blocks {
            let first = entries.next()?;
            (number(block, 0)? as usize == first.at && first.whole).then_some(())?;
            // The rest of this block; one without entries is none of git's.
            if let Some(more) = (number(block, 4)? as usize).checked_sub(1)?.checked_sub(1) {
                entries.nth(more)?;
            }
        }
        entries.next().is_none().then_some(())
    }
}

/// Whether a path leads down from the top of the checkout, and not into the repository itself.
fn stays(name: &[u8]) -> bool {
    name.split(|byte| *byte == b'/')
        .all(|part| !matches!(part, b"" | b"." | b"..") && !part.eq_ignore_ascii_case(b".git"))
}

/// Version 4 leaves out what an entry's name has in common with the one before: how much of that is dropped, and where
/// the rest of the name begins.
fn dropped(body: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut dropped = 0_usize;
    loop {
        let byte = *body.get(at)?;
        at += 1;
        dropped = dropped.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            return Some((dropped, at));
        }
        dropped = dropped.checked_add(1)?;
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
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
        for (extension, understood) in [(b"link", false), (b"sdir", false), (b"ZZZZ", false), (b"TREE", true)] {
            let mut bytes = written("4");
            let end = bytes.len() - TRAILER_BYTES;
            bytes.splice(end..end, extension.iter().copied().chain([0; 4]));
            assert_eq!(gitlinks(&bytes).is_some(), understood, "{extension:?}");
        }
    }

    /// Where the entry of this name begins, in a version without shared names.
    fn entry_of(bytes: &[u8], name: &[u8]) -> usize {
        let at = bytes.windows(name.len() + 1).position(|window| window.strip_suffix(b"\0") == Some(name)).unwrap();
        at - ENTRY_BYTES
    }

    #[test]
    fn what_git_would_read_in_its_own_way_is_not_understood() {
        let whole = written("3");
        let part = entry_of(&whole, b"part");
        // Git looks at the upper bits of a mode only, and takes all of these for a submodule or for a directory.
        for mode in [0o160_644_u32, 0o160_001, 0xffff_e000, 0x0001_e000, 0o040_000, 0o100_600, 0] {
            let mut bytes = whole.clone();
            bytes[part + MODE_AT..][..4].copy_from_slice(&mode.to_be_bytes());
            assert_eq!(gitlinks(&bytes), None, "mode {mode:o}");
        }
        // It believes the length beside a name, and does not look at what fills an entry up.
        for (at, byte) in [(FLAGS_AT + 1, 3), (FLAGS_AT + 1, 5), (ENTRY_BYTES + 4, b'X'), (ENTRY_BYTES + 5, b'X')] {
            let mut bytes = whole.clone();
            bytes[part + at] = byte;
            assert_eq!(gitlinks(&bytes), None, "{at}: {byte}");
        }
        // Further flags are for later versions, and two of them are known.
        for (at, byte) in [(ENTRY_BYTES, 0x80), (ENTRY_BYTES, 0x50), (ENTRY_BYTES + 1, 1)] {
            let mut bytes = whole.clone();
            let z = bytes.windows(2).rposition(|window| window == b"z\0").unwrap() - ENTRY_BYTES - 2;
            assert_eq!(bytes[z + FLAGS_AT] & 0x40, 0x40);
            bytes[z + at] = byte;
            assert_eq!(gitlinks(&bytes), None, "{at}: {byte}");
        }
        let mut bytes = whole.clone();
        bytes[7] = 2;
        assert_eq!(gitlinks(&bytes), None, "further flags in version 2");
        // Names are in order, and each is there once.
        for name in [b"a", b"z"] {
            let mut bytes = whole.clone();
            let z = bytes.windows(2).rposition(|window| window == b"z\0").unwrap();
            bytes[z] = b'a';
            let a = entry_of(&bytes, b"a") + ENTRY_BYTES;
            bytes[a] = name[0];
            assert_eq!(gitlinks(&bytes), None, "{name:?} first");
        }
    }

    #[test]
    fn tables_of_entries_name_those_that_are_read() {
        let (extension, table) = (
            |name: &[u8; 4], content: &[u8]| {
                [name.as_slice(), &u32::try_from(content.len()).unwrap().to_be_bytes(), content].concat()
            },
            |numbers: &[usize]| {
                let words = numbers.iter().map(|number| u32::try_from(*number).unwrap().to_be_bytes());
                words.collect::<Vec<_>>().concat()
            },
        );
        let bytes = written("3");
        let cut = entry_of(&bytes, b"part");
        // Git wrote no extension: what lies before the checksum are entries.
        let end = bytes.len() - TRAILER_BYTES;
        let ends = |at: usize| extension(b"EOIE", &[table(&[at]), vec![0; 20]].concat());
        let blocks = |numbers: &[usize]| extension(b"IEOT", &table(numbers));
        let with = |tail: &[Vec<u8>]| {
            let mut bytes = bytes.clone();
            bytes.splice(end..end, tail.concat());
            gitlinks(&bytes).map(|links| links.len())
        };
        assert_eq!(with(&[]), Some(2));
        assert_eq!(with(&[blocks(&[1, 12, 3, cut, 3]), ends(end)]), Some(2));
        assert_eq!(with(&[blocks(&[1, 12, 6]), ends(end)]), Some(2));
        for wrong in [
            &[1, 12, 3, cut, 2] as &[usize],
            &[1, 12, 3, cut, 4],
            &[1, 12, 3, cut + 8, 3],
            &[1, 12, 2, cut, 4],
            &[1, cut, 3, cut, 3],
            &[1, 12, 6, end + 8, 1],
            &[1, 12, 6, cut, 0],
            &[2, 12, 6],
            &[1, 12, 6, 0],
            &[1],
        ] {
            assert_eq!(with(&[blocks(wrong), ends(end)]), None, "{wrong:?}");
        }
        // Where the entries end is said once, last, and truly; also where only git would see it said.
        assert_eq!(with(&[ends(end + 8)]), None);
        assert_eq!(with(&[ends(end), blocks(&[1, 12, 6])]), None);
        assert_eq!(with(&[ends(end), ends(end)]), None);
        assert_eq!(with(&[extension(b"TREE", &ends(end))]), None);
        assert_eq!(with(&[extension(b"EOIE", &table(&[end]))]), None);
    }

    #[test]
    fn a_block_of_the_newest_version_begins_with_a_whole_name() {
        let dir = tempfile::tempdir().unwrap();
        let git = |args: &[&str]| {
            let output = Command::new("git").current_dir(dir.path()).args(args).output().unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        };
        git(&["init", "-q", "."]);
        for name in ["same-1", "same-2", "same-3", "same-4"] {
            std::fs::write(dir.path().join(name), name).unwrap();
        }
        git(&["add", "."]);
        for version in ["2", "4"] {
            // Git's own variable for its tests: as many threads, however few entries there are.
            let mut write = Command::new("git");
            write.current_dir(dir.path()).env("GIT_TEST_INDEX_THREADS", "2").args(["-c", "index.threads=2"]);
            let output = write.args(["update-index", "--force-write-index", "--index-version", version]).output();
            assert!(output.unwrap().status.success());
            let mut bytes = std::fs::read(dir.path().join(".git/index")).unwrap();
            let table = bytes.windows(4).position(|window| window == BLOCKS).expect("git wrote a table");
            assert_eq!(gitlinks(&bytes), Some(Vec::new()), "version {version}");
            if version == "4" {
                // The third entry begins a block. With one byte less dropped it shares a name that threads do not see.
                let third = number(&bytes, table + EXTENSION_HEAD_BYTES + 4 + 8).unwrap() as usize;
                assert_eq!(bytes[third + ENTRY_BYTES], 6);
                bytes[third + ENTRY_BYTES] = 5;
                assert_eq!(gitlinks(&bytes), None);
            }
        }
    }
}
