//! The file of one session, kept equal to its log. Blocking; [`crate::store`] decides when it is called and reads the log
//! for it. The file appears, whole, with the first thing that is said; from then on lines are appended. So it is
//! there before a prompt is acknowledged, and a client that was told its path finds the session by it.
//!
//! Before the first append of a process, and whenever the file is not as we left it, it is read, mended and compared
//! with the log by the names of its lines; what is missing is appended. After any failure the same is done again, so
//! that writing goes on at the right byte.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use pi_format::messages::Faces;
use pi_format::transcript::{LineKind, LineName, Projector, TranscriptLine};
use vocab::Entry;

use crate::fields::line_text;
use crate::files::Following;
use crate::head::{FileHead, copy_of};
use crate::read::{NAMELESS, ScanError, ScannedFile, scan};
use crate::tail;

/// Kinds of lines that stand for entries of ours; others are passed over by an import.
const OUR_KINDS: [&str; 8] = [
    "message",
    "custom_message",
    "compaction",
    "branch_summary",
    "label",
    "session_info",
    "model_change",
    "thinking_level_change",
];

/// Ends the name of a file that was kept when another format took its place.
pub(crate) const OLD_VERSION: &str = "v1";

/// Why a write did not happen.
pub(crate) enum MirrorError {
    /// Another program touched the file: everything has to be read again, from the log too.
    Again,
    Io(io::Error),
}

impl From<io::Error> for MirrorError {
    fn from(error: io::Error) -> Self {
        MirrorError::Io(error)
    }
}

pub(crate) struct Mirror {
    pub(crate) path: PathBuf,
    head: FileHead,
    projector: Projector,
    /// Entries up to here are lines already.
    pub(crate) last_seq: u64,
    /// Lines that are not in the file yet; those that it once had; and parents of lines that no file has.
    held: Vec<TranscriptLine>,
    lost: Vec<TranscriptLine>,
    nameless: HashMap<LineName, Option<LineName>>,
    /// Lines of the file's end that say nothing to us: what hangs on the first name hangs on the second there.
    hidden: HashMap<LineName, LineName>,
    /// Something was said; settings alone make no file.
    is_due: bool,
    /// `held` is everything the log has.
    is_whole: bool,
    following: Option<Following>,
    /// The last write failed and was reported.
    pub(crate) is_failing: bool,
    /// ForeignMessage once something was mended.
    pub(crate) mended: Option<String>,
}

impl Mirror {
    pub(crate) fn new(path: PathBuf, head: FileHead) -> Self {
        Self {
            path,
            head,
            projector: Projector::new(),
            last_seq: 0,
            held: Vec::new(),
            lost: Vec::new(),
            nameless: HashMap::new(),
            hidden: HashMap::new(),
            is_due: false,
            is_whole: true,
            following: None,
            is_failing: false,
            mended: None,
        }
    }

    /// Forgets everything that can be read again.
    pub(crate) fn start_over(&mut self) {
        let new = Mirror::new(std::mem::take(&mut self.path), self.head.clone());
        *self = Mirror { is_failing: self.is_failing, mended: self.mended.take(), ..new };
    }

    pub(crate) fn set_parent(&mut self, parent: Option<String>) {
        self.head.parent = parent.or(self.head.parent.take());
    }

    /// Takes entries that the store has; those taken before are passed over.
    pub(crate) fn take(&mut self, entries: &[Arc<Entry>], faces: &dyn Faces) {
        let known = self.last_seq;
        for entry in entries.iter().filter(|entry| entry.seq > known) {
            if let vocab::Body::Opened { workspace, .. } = &entry.body {
                self.head.cwd = Some(workspace.clone());
            }
            for line in self.projector.take(entry, faces) {
                self.is_due |= !matches!(line.kind, LineKind::ModelChange { .. } | LineKind::ThinkingChange { .. });
                if line.name.starts_with(NAMELESS) {
                    self.nameless.insert(line.name, line.parent);
                } else {
                    self.held.push(line);
                }
            }
            self.last_seq = entry.seq;
        }
    }

    /// Brings the file up to date. After an error nothing is known about it any more.
    pub(crate) fn write(&mut self) -> Result<(), MirrorError> {
        let result = self.try_write();
        if result.is_err() {
            self.start_over();
        }
        result
    }

    fn try_write(&mut self) -> Result<(), MirrorError> {
        if self.held.is_empty() && self.following.is_none() {
            return Ok(());
        }
        if let Some(following) = &self.following
            && !following.is_untouched(&self.path)
        {
            return Err(MirrorError::Again);
        }
        if self.following.is_none() && !self.catch_up()? {
            return Ok(());
        }
        let bytes = self.take_held();
        let following = self.following.as_mut().expect("opened by `catch_up`");
        if !bytes.is_empty() {
            following.append(&bytes)?;
        }
        Ok(())
    }

    /// The file, when something in it is not on the disk yet. The caller syncs it.
    pub(crate) fn unsynced(&mut self) -> Option<File> {
        self.following.as_mut().and_then(Following::unsynced)
    }

    /// Opens the file and leaves in `held` what it lacks. `false`: it is too early for a file.
    fn catch_up(&mut self) -> Result<bool, MirrorError> {
        if !self.is_whole {
            return Err(MirrorError::Again);
        }
        let mut following = match Following::open(&self.path) {
            Ok(following) => following,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return self.create(),
            Err(error) => return Err(error.into()),
        };
        let mut bytes = following.read()?;
        let cut = tail::mend(&self.path, &mut following.file, &mut bytes)?;
        following.len = bytes.len() as u64;
        if cut > 0 {
            let side = tail::side_file(&self.path);
            self.mended = Some(format!("{} ended in {cut} torn bytes, now in {}", self.path.display(), side.display()));
        }
        let found = match scan(&bytes) {
            Ok(found) => found,
            Err(ScanError::Empty) => return self.create(),
            // A head that cannot be read: everything in it is in the log too.
            Err(ScanError::NoHead) if !self.is_due => return Ok(false),
            Err(ScanError::NoHead) => {
                tail::keep(&self.path, &bytes)?;
                following.file.set_len(0)?;
                self.mended = Some(format!("{} had no readable head and was written anew", self.path.display()));
                return self.create();
            }
        };
        if found.head.id != self.head.id && copy_of(&found.head.id, &self.path) != self.head.id {
            let text = format!("it belongs to session {}", found.head.id);
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, text).into());
        }
        if found.head.version < 2 {
            let migrated = migrate(&bytes, &found);
            safefile::replace_keeping(&self.path, &tail::beside(&self.path, OLD_VERSION), &migrated)?;
            following = Following::open(&self.path)?;
        }
        self.compare(&found);
        self.is_whole = false;
        self.following = Some(following);
        Ok(true)
    }

    /// The whole file at once, as soon as there is something in it.
    fn create(&mut self) -> Result<bool, MirrorError> {
        if !self.is_due {
            return Ok(false);
        }
        let mut bytes = Vec::new();
        self.head.write(&mut bytes);
        bytes.append(&mut self.take_held());
        safefile::create(&self.path, &bytes)?;
        self.is_whole = false;
        self.following = Some(Following::open(&self.path)?);
        Ok(true)
    }

    fn compare(&mut self, found: &ScannedFile) {
        let there: HashSet<&LineName> = found.rows.iter().map(|row| &row.name).collect();
        let newest = self.held.last().map(|line| line.name.clone());
        self.held.retain(|line| !there.contains(&line.name));
        // A line lost from the middle goes to the end, but not as the last one: the last line is the one that readers
        // go on from. It waits for the next.
        if self.held.last().map(|line| &line.name) != newest.as_ref() {
            self.lost = std::mem::take(&mut self.held);
        }
        self.hidden.clear();
        for row in found.rows.iter().rev().take_while(|row| !OUR_KINDS.contains(&row.kind.as_str())) {
            // From the end: the parent of the last hidden line is to be replaced by it, and so is its parent's.
            let last = self.hidden.remove(&row.name).unwrap_or_else(|| row.name.clone());
            if let Some(parent) = &row.parent {
                self.hidden.insert(parent.clone(), last);
            }
        }
    }

    /// The held lines as they stand in the file.
    fn take_held(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let lost = if self.held.is_empty() { Vec::new() } else { std::mem::take(&mut self.lost) };
        for mut line in lost.into_iter().chain(std::mem::take(&mut self.held)) {
            while let Some(parent) = line.parent.as_ref().and_then(|parent| self.nameless.get(parent)) {
                line.parent = parent.clone();
            }
            if let Some(hidden) = line.parent.as_ref().and_then(|parent| self.hidden.remove(parent)) {
                line.parent = Some(hidden);
            }
            line.write(&mut bytes);
            bytes.push(b'\n');
        }
        bytes
    }
}

/// A file of version 1 with names and parents, every line otherwise as it was.
fn migrate(bytes: &[u8], found: &ScannedFile) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + found.rows.len() * 48);
    let mut line = |range: &std::ops::Range<usize>, more: String| {
        // The only other thing that version 3 says differently.
        let text = line_text(&bytes[range.clone()]).replacen("\"role\":\"hookMessage\"", "\"role\":\"custom\"", 1);
        let open = text.strip_suffix('}').unwrap_or(&text).trim_end();
        out.extend_from_slice(open.as_bytes());
        if !open.ends_with('{') {
            out.push(b',');
        }
        out.extend_from_slice(more.as_bytes());
        out.extend_from_slice(b"}\n");
    };
    line(&found.head_bytes, format!("\"version\":{}", crate::head::VERSION));
    for row in &found.rows {
        let parent = row.parent.as_ref().map_or_else(|| "null".to_owned(), |parent| format!("\"{parent}\""));
        let kept = row.first_kept.as_ref().map(|kept| format!(",\"firstKeptEntryId\":\"{kept}\"")).unwrap_or_default();
        line(&row.bytes, format!("\"id\":\"{}\",\"parentId\":{parent}{kept}", row.name));
    }
    out
}
