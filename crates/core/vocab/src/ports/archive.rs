//! Sessions as files that people and other programs read, and what such a file may decide.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Later;
use crate::{Fault, Mode, Principal, SessionId};

/// Sessions as files that people and other programs read.
pub trait Archive: Send + Sync {
    /// Writes the session to `file` (`.html`, `.md` or `.jsonl`), or to a place of its own.
    fn export(&self, session: &SessionId, file: Option<&Path>) -> Later<'static, Result<Exported, Fault>>;
    /// Reads an exported file back and returns the id of the session it became (or already is). `by`: who wants it.
    fn import_for(&self, file: &Path, by: Option<Principal>) -> Later<'static, Result<SessionId, Fault>>;
    /// The same, for nobody.
    fn import(&self, file: &Path) -> Later<'static, Result<SessionId, Fault>> {
        self.import_for(file, None)
    }
    /// How a session's own place is written down for people; [`Archive::import`] understands it.
    fn path_of(&self, session: &SessionId) -> PathBuf;
}

/// What a file from elsewhere may decide about a session; everything else in it is only text. Archives ask before a
/// file's word enters the log, so whatever the log says can be believed later.
pub trait Border: Send + Sync {
    /// Whether a session may go on with a model that a file names; otherwise why not.
    fn model(&self, slug: &str) -> Result<(), String>;
    /// The same, and people are told where not.
    fn admits(&self, file: &Path, slug: &str) -> bool {
        let judged = self.model(slug);
        if let Err(why) = &judged {
            let place = file.display();
            self.note(&format!("{place}: the model `{slug}` is not taken from a session file: {why}"));
        }
        judged.is_ok()
    }
    /// Where a session works whose file names this directory, links resolved. Fails where it lies outside of ours.
    fn workspace(&self, named: &Path) -> Result<PathBuf, Fault>;
    /// The model of a session whose file names none that is taken.
    fn own_model(&self) -> Arc<str>;
    /// The mode of a session that comes from a file: what a new one would have here.
    fn own_mode(&self) -> Mode {
        Mode::Prompt
    }
    /// The directory that we were started in, for a file that names none or another one.
    fn here(&self) -> &Path;
    /// Tells people what was not taken over. Must not block.
    fn note(&self, text: &str);
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exported {
    pub path: PathBuf,
    pub format: &'static str,
    pub bytes: u64,
}
