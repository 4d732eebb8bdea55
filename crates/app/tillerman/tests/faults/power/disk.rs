//! A disk as a power cut leaves it: what was synced, and of the rest whatever the dice say.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use testkit::sim::Dice;

/// What a disk writes whole or not at all.
const SECTOR: usize = 512;

#[derive(Clone)]
enum Change {
    Write { at: usize, bytes: Vec<u8> },
    Length(usize),
}

#[derive(Default)]
struct File {
    synced: Vec<u8>,
    /// Since the last sync, in order.
    pending: Vec<Change>,
}

/// What happens to a disk, in words of its own.
#[derive(Debug)]
pub(crate) enum Act {
    Create(PathBuf),
    Write {
        path: PathBuf,
        at: Option<usize>,
        bytes: Vec<u8>,
    },
    Length(PathBuf, usize),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
    /// Of a file or a directory.
    Sync(PathBuf),
}

/// Files are told apart by number: names come and go.
#[derive(Default)]
pub(crate) struct Disk {
    files: Vec<File>,
    names: BTreeMap<PathBuf, usize>,
    synced_names: BTreeMap<PathBuf, usize>,
    /// Names that changed since their directory was synced, in order; `None` = taken away.
    pending_names: Vec<(PathBuf, Option<usize>)>,
}

/// How much of what was not synced is there.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Luck {
    Nothing,
    /// The oldest changes, the last of them torn.
    Oldest,
    /// Any sectors, in any order.
    Some,
    Everything,
}

impl Disk {
    pub(crate) fn take(&mut self, act: &Act) {
        match act {
            Act::Create(path) => {
                if !self.names.contains_key(path) {
                    self.files.push(File::default());
                    self.name(path, Some(self.files.len() - 1));
                }
            }
            Act::Write { path, at, bytes } => {
                if let Some(file) = self.file(path) {
                    let at = at.unwrap_or_else(|| file.newest().len());
                    file.pending.push(Change::Write { at, bytes: bytes.clone() });
                }
            }
            Act::Length(path, length) => {
                if let Some(file) = self.file(path) {
                    file.pending.push(Change::Length(*length));
                }
            }
            Act::Rename(from, to) => {
                if let Some(number) = self.names.get(from).copied() {
                    self.name(from, None);
                    self.name(to, Some(number));
                }
            }
            Act::Remove(path) => self.name(path, None),
            Act::Sync(path) => match self.file(path) {
                Some(file) => {
                    file.synced = file.newest();
                    file.pending.clear();
                }
                None => self.sync_directory(path),
            },
        }
    }

    fn file(&mut self, path: &Path) -> Option<&mut File> {
        self.names.get(path).map(|number| &mut self.files[*number])
    }

    fn name(&mut self, path: &Path, file: Option<usize>) {
        set(&mut self.names, path, file);
        self.pending_names.push((path.to_owned(), file));
    }

    fn sync_directory(&mut self, directory: &Path) {
        let (synced, pending): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.pending_names).into_iter().partition(|(path, _)| path.parent() == Some(directory));
        self.pending_names = pending;
        synced.iter().for_each(|(path, file)| set(&mut self.synced_names, path, *file));
    }

    /// Writes down what is left of everything beneath `from`, at `to`.
    pub(crate) fn leave(&self, from: &Path, to: &Path, luck: Luck, dice: &mut Dice) {
        let mut names = self.synced_names.clone();
        for (path, file) in &self.pending_names {
            if luck == Luck::Everything || luck != Luck::Nothing && dice.below(2) == 0 {
                set(&mut names, path, *file);
            }
        }
        fs::DirBuilder::new().recursive(true).mode(0o700).create(to).unwrap();
        for (path, file) in names {
            let Ok(inside) = path.strip_prefix(from) else { continue };
            let path = to.join(inside);
            fs::DirBuilder::new().recursive(true).mode(0o700).create(path.parent().unwrap()).unwrap();
            let bytes = self.files[file].left(luck, dice);
            let mut options = fs::OpenOptions::new();
            let mut out = options.write(true).create(true).truncate(true).mode(0o600).open(&path).unwrap();
            std::io::Write::write_all(&mut out, &bytes).unwrap();
        }
    }
}

fn set(names: &mut BTreeMap<PathBuf, usize>, path: &Path, file: Option<usize>) {
    match file {
        Some(number) => names.insert(path.to_owned(), number),
        None => names.remove(path),
    };
}

impl File {
    fn newest(&self) -> Vec<u8> {
        let mut bytes = self.synced.clone();
        self.pending.iter().for_each(|change| change.make(&mut bytes));
        bytes
    }

    fn left(&self, luck: Luck, dice: &mut Dice) -> Vec<u8> {
        let mut bytes = self.synced.clone();
        match luck {
            Luck::Nothing => {}
            Luck::Everything => return self.newest(),
            Luck::Oldest => {
                let kept = dice.below(self.pending.len() as u64 + 1) as usize;
                self.pending[..kept].iter().for_each(|change| change.make(&mut bytes));
                if let Some(Change::Write { at, bytes: torn }) = self.pending.get(kept) {
                    let whole = dice.below((torn.len() / SECTOR) as u64 + 1) as usize * SECTOR;
                    Change::Write { at: *at, bytes: torn[..whole].to_vec() }.make(&mut bytes);
                }
            }
            Luck::Some => self.pending.iter().for_each(|change| change.scatter(&mut bytes, dice)),
        }
        bytes
    }
}

impl Change {
    fn make(&self, bytes: &mut Vec<u8>) {
        match self {
            Change::Length(length) => bytes.resize(*length, 0),
            Change::Write { at, bytes: new } => {
                if bytes.len() < at + new.len() {
                    bytes.resize(at + new.len(), 0);
                }
                bytes[*at..at + new.len()].copy_from_slice(new);
            }
        }
    }

    /// Each sector of it may be there or not.
    fn scatter(&self, bytes: &mut Vec<u8>, dice: &mut Dice) {
        match self {
            Change::Length(_) if dice.below(2) == 0 => {}
            Change::Length(_) => self.make(bytes),
            Change::Write { at, bytes: new } => {
                let mut from = 0;
                while from < new.len() {
                    let upto = new.len().min(((at + from) / SECTOR + 1) * SECTOR - at);
                    if dice.below(2) == 0 {
                        Change::Write { at: at + from, bytes: new[from..upto].to_vec() }.make(bytes);
                    }
                    from = upto;
                }
            }
        }
    }
}
