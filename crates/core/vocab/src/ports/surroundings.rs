//! The place that a session works in.

use std::path::Path;

use super::Later;

/// What is known of the place that a session works in, for its system prompt.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Briefing {
    /// The machine and the repository, a line each.
    pub surroundings: String,
    /// What the user and the project want of whoever works here.
    pub instructions: String,
    /// For people, one line each.
    pub notes: Vec<String>,
}

pub trait Surroundings: Send + Sync {
    /// What a model is to know of this place before it works there; takes a moment, never long. `None`: nothing is known
    /// beyond its name.
    fn briefing(&self, workspace: &Path) -> Option<Later<'static, Briefing>>;
}

/// For engines that tell a model nothing of the place.
pub struct NoSurroundings;

impl Surroundings for NoSurroundings {
    fn briefing(&self, _: &Path) -> Option<Later<'static, Briefing>> {
        None
    }
}
