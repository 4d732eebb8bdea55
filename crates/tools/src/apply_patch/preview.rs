//! What a patch would change, file by file, for the one who is asked.

use vocab::{FACT_BYTES_MAX, Fact, Required};

use super::{Desk, Section};
use crate::output;
use crate::workspace::{Access, Workspace};

/// One diff for each file, then what would be deleted. `None`: the patch itself has to be shown, because a file is outside,
/// large or no text, or because the patch does not fit what is there. Nothing is read that needs leave.
pub(super) fn diffs(workspace: &Workspace, sections: Vec<Section>) -> Option<Vec<Fact>> {
    let mut desk = Desk {
        access: Access::Read,
        file_bytes_max: output::DIFF_BYTES_MAX as u64,
        ..Desk::new(workspace, Required::ReadOnly)
    };
    sections.into_iter().try_for_each(|section| desk.apply(section)).ok()?;
    let (mut facts, mut deleted, mut bytes) = (Vec::new(), Vec::new(), 0);
    for file in desk.files.iter().filter(|file| file.is_changed()) {
        let shown = file.spot.shown();
        let diff = output::change(shown, file.before.as_deref(), file.after.as_deref())?.diff;
        bytes += diff.text.len();
        if bytes > FACT_BYTES_MAX {
            return None;
        }
        facts.push(diff);
        deleted.extend(file.after.is_none().then_some(shown));
    }
    if !deleted.is_empty() {
        facts.push(Fact::line("deletes", &deleted.join(", ")));
    }
    (!facts.is_empty()).then_some(facts)
}
