//! Looks for skills on the disk.

use std::collections::HashSet;
use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Dir, FileType, fstat};

use crate::beneath::{Beneath, Refused};
use crate::roots::{Root, roots};
use crate::{FILE_NAME, Origin, Places, Skill, SkillScan, front};

/// Skills found in all; the first ones stay, and an error says that there are more.
pub const SKILLS_MAX: usize = 256;
/// Largest file of a skill; a larger one is not read, and an error says so.
pub const FILE_BYTES_MAX: u64 = 256 * 1024;
/// Errors told; of more, only the number is.
pub const ERRORS_MAX: usize = 64;
/// How far below its root a skill may lie. What lies deeper is not seen.
const DEPTH_MAX: usize = 4;
/// Directories opened in one scan, whatever they hold; the rest is not seen, and an error says so.
const DIRECTORIES_MAX: usize = 2000;
/// Entries read of one directory; the rest is not seen, and an error says so.
const ENTRIES_MAX: usize = 4096;

/// Looks at the disk, now. Blocks.
pub fn scan(places: &Places) -> SkillScan {
    let mut scan = Scan {
        found: SkillScan::default(),
        origin: Origin::Stranger,
        errors_left_out: 0,
        names: HashSet::new(),
        seen: HashSet::new(),
        opened: 0,
        full: false,
    };
    for root in roots(places) {
        scan.root(&root, root.origin(&places.trusted));
    }
    let Scan { mut found, errors_left_out, .. } = scan;
    if errors_left_out > 0 {
        found.errors.push(format!("and {errors_left_out} more errors"));
    }
    found
}

struct Scan {
    found: SkillScan,
    /// Whose skills lie where we are looking.
    origin: Origin,
    errors_left_out: usize,
    /// Names in small letters: a prompt does not care.
    names: HashSet<String>,
    /// Directories seen, by device and number: a place that two roots reach belongs to the first, and a link cannot
    /// lead in circles.
    seen: HashSet<(u64, u64)>,
    opened: usize,
    /// Something is full; nothing more is looked at.
    full: bool,
}

impl Scan {
    fn error(&mut self, path: &Path, what: impl Display) {
        match self.found.errors.len() < ERRORS_MAX {
            true => self.found.errors.push(format!("{}: {what}", path.display())),
            false => self.errors_left_out += 1,
        }
    }

    fn root(&mut self, root: &Root, origin: Origin) {
        let path = root.path();
        let opened = Beneath::open(&root.anchor).and_then(|anchor| anchor.narrow(&root.below));
        let known = match &opened {
            Ok(_) | Err(Refused::Io(_) | Refused::LeadsOut) => true,
            Err(Refused::NotThere | Refused::OtherKind) => root.own,
        };
        if known && !self.found.directories.contains(&path) {
            self.found.directories.push(path.clone());
        }
        match opened {
            Ok(beneath) => {
                if let Some(why) = beneath.not_ours().filter(|_| root.own) {
                    return self.error(&path, why);
                }
                self.origin = origin;
                let names_before = self.names.clone();
                self.directory(&beneath, &path, Path::new(""), 0, &names_before);
            }
            Err(Refused::NotThere) => {}
            Err(Refused::OtherKind) => self.error(&path, "is no directory"),
            Err(Refused::LeadsOut) => {
                self.error(&path, "is a link that leads out of the repository; it was not followed")
            }
            Err(Refused::Io(error)) => self.error(&path, error),
        }
    }

    /// A skill, or a directory with skills somewhere below. `elsewhere` holds the names of earlier roots.
    fn directory(&mut self, root: &Beneath, path: &Path, below: &Path, depth: usize, elsewhere: &HashSet<String>) {
        let here = path.join(below);
        if self.full || !self.room(path) {
            return;
        }
        let directory = match root.directory(below) {
            Ok(directory) => directory,
            // A file, or gone since we read its name.
            Err(Refused::OtherKind | Refused::NotThere) => return,
            Err(Refused::LeadsOut) => return self.error(&here, "is a link that leads out; it was not followed"),
            Err(Refused::Io(error)) => return self.error(&here, error),
        };
        self.opened += 1;
        match fstat(&directory) {
            Ok(stat) if self.seen.insert((stat.st_dev, stat.st_ino)) => {}
            _ => return,
        }
        if depth > 0 && self.skill(root, path, &below.join(FILE_NAME), elsewhere) {
            return;
        }
        if depth == DEPTH_MAX {
            return;
        }
        for name in self.entries(&here, directory) {
            self.directory(root, path, &below.join(name), depth + 1, elsewhere);
        }
    }

    fn room(&mut self, path: &Path) -> bool {
        if self.found.skills.len() >= SKILLS_MAX {
            self.error(path, format_args!("there are more than {SKILLS_MAX} skills; the rest is left out"));
            self.full = true;
        } else if self.opened >= DIRECTORIES_MAX {
            self.error(path, format_args!("there are more than {DIRECTORIES_MAX} directories; the rest is left out"));
            self.full = true;
        }
        !self.full
    }

    /// Names of what may be a directory, sorted. Hidden ones hold no skills, and neither do packages.
    fn entries(&mut self, here: &Path, directory: std::os::fd::OwnedFd) -> Vec<PathBuf> {
        let mut names = Vec::new();
        let entries = match Dir::new(directory) {
            Ok(entries) => entries,
            Err(error) => {
                self.error(here, error);
                return names;
            }
        };
        for (count, entry) in entries.enumerate() {
            if count >= ENTRIES_MAX {
                self.error(here, format_args!("has more than {ENTRIES_MAX} entries; the rest is left out"));
                break;
            }
            let Ok(entry) = entry else { break };
            let name = entry.file_name().to_bytes();
            let may_be = matches!(entry.file_type(), FileType::Directory | FileType::Symlink | FileType::Unknown);
            if may_be && !name.starts_with(b".") && name != b"node_modules" {
                names.push(PathBuf::from(std::ffi::OsStr::from_bytes(name)));
            }
        }
        names.sort();
        names
    }

    /// `false` when there is no such file.
    fn skill(&mut self, root: &Beneath, path: &Path, below: &Path, elsewhere: &HashSet<String>) -> bool {
        let source_path = path.join(below);
        let text = match root.file(below) {
            Err(Refused::NotThere) => return false,
            Err(Refused::LeadsOut) => Err("is a link that leads out; it was not followed".to_owned()),
            Err(Refused::OtherKind) => Err("is no file".to_owned()),
            Err(Refused::Io(error)) => Err(error.to_string()),
            Ok(file) => read(file.into()),
        };
        match text.and_then(|text| front::parse(&text)) {
            Ok(parts) => {
                let name = parts.name.to_ascii_lowercase();
                if self.names.insert(name.clone()) {
                    let front::Parts { name, description, body } = parts;
                    self.found.skills.push(Skill { name, description, body, source_path, origin: self.origin });
                } else if !elsewhere.contains(&name) {
                    self.error(
                        &source_path,
                        format_args!("another skill here is called {name}, too; that one is used"),
                    );
                }
            }
            Err(what) => self.error(&source_path, what),
        }
        true
    }
}

fn read(file: File) -> Result<String, String> {
    let is_file = file.metadata().map_err(|error| error.to_string())?.is_file();
    if !is_file {
        return Err("is no file".into());
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("has more than {FILE_BYTES_MAX} bytes, the limit"));
    }
    String::from_utf8(bytes).map_err(|_| "is no UTF-8 text".into())
}
