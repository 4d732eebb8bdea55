//! Skills: instructions that a user keeps in files and a prompt can call for.
//!
//! A skill is a directory with a file [`FILE_NAME`], whose front matter gives a name and a description and whose rest is
//! text for the model. [`scan`] finds them, [`matching`] says which of them a prompt calls for, [`text_for_model`] is what
//! the model then reads.
//!
//! Nothing of a skill is ever executed, and nothing is followed out of the place it was found in. What is wrong with one
//! skill is a sentence in [`SkillScan::errors`] and costs the others nothing. This crate knows no session, no model and no
//! dialect; only [`scan`] and
//! [`is_any`] touch the disk, and they block.

mod beneath;
mod front;
mod matching;
mod roots;
mod scan;

use std::path::PathBuf;

pub use matching::{APPLIED_MAX, Mentions, TEXT_BYTES_MAX, matching, text_for_model};
pub use roots::is_any;
pub use scan::{ERRORS_MAX, FILE_BYTES_MAX, SKILLS_MAX, scan};

/// The file that makes a directory a skill.
pub const FILE_NAME: &str = "SKILL.md";
/// Longest preview of a description, in characters; a longer one ends in `…`.
const PREVIEW_CHARS: usize = 120;

/// Where to look.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Places {
    /// `.agents/skills` of the repository around it, from its root down to here.
    pub cwd: PathBuf,
    /// Its `skills`.
    pub data_dir: Option<PathBuf>,
    /// Its `.agents/skills`.
    pub home: Option<PathBuf>,
    /// Directories that the user trusts: what came with these very ones, not with others above or below.
    pub trusted: Vec<PathBuf>,
}

/// Whose skill it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    /// The user's own.
    Own,
    /// It came with the code, which the user trusts.
    Trusted,
    /// It came with the code, which may be anybody's.
    Stranger,
}

/// One skill.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Skill {
    /// ASCII letters, digits, `-` and `_`.
    pub name: String,
    /// One paragraph.
    pub description: String,
    /// What follows the front matter.
    pub body: String,
    /// The file it came from.
    pub source_path: PathBuf,
    pub origin: Origin,
}

impl Skill {
    /// The description in one short line, for lists.
    pub fn description_preview(&self) -> String {
        let mut text: String = self.description.chars().take(PREVIEW_CHARS).collect();
        if text.len() < self.description.len() {
            text.pop();
            text.truncate(text.trim_end().len());
            text.push('…');
        }
        text
    }
}

/// What one look at the disk found. It is not kept up to date: who wants to know again calls [`scan`] again.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SkillScan {
    /// Where skills are looked for, the most important first. Those of the repository only when they are there.
    pub directories: Vec<PathBuf>,
    /// What could not be read or understood, one sentence each.
    pub errors: Vec<String>,
    /// In the order of the directories, by path in each.
    pub skills: Vec<Skill>,
}
