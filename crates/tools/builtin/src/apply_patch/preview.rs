//! What a patch would change, file by file, for the one who is asked.

use vocab::{FACT_BYTES_MAX, Fact, Required};

use super::{PatchChange, PatchedFiles, Section};
use crate::output::{self, PREVIEW_BYTES_MAX};
use crate::workspace::{Access, Workspace};

/// One diff for each file, or else the patch itself: because a file is outside, large or no text, or because the patch does
/// not fit what is there. Then what would be deleted. Nothing is read that needs leave.
pub(super) fn facts(workspace: &Workspace, text: &str, sections: Vec<Section>) -> Vec<Fact> {
    let named: Vec<String> =
        sections.iter().filter(|it| it.change == PatchChange::Delete).map(|it| it.path.clone()).collect();
    let (mut facts, deleted) = diffs(workspace, sections).unwrap_or_else(|| (vec![Fact::text("patch", text)], named));
    if !deleted.is_empty() {
        facts.push(Fact::line("deletes", &deleted.join(", ")));
    }
    facts
}

/// The diffs, and the files that are gone afterwards.
fn diffs(workspace: &Workspace, sections: Vec<Section>) -> Option<(Vec<Fact>, Vec<String>)> {
    let mut patched = PatchedFiles {
        access: Access::Read,
        file_bytes_max: PREVIEW_BYTES_MAX,
        ..PatchedFiles::new(workspace, Required::ReadOnly)
    };
    sections.into_iter().try_for_each(|section| patched.apply(section)).ok()?;
    let (mut facts, mut deleted, mut bytes) = (Vec::new(), Vec::new(), 0);
    for file in patched.files.iter().filter(|file| file.is_changed()) {
        let shown = file.spot.shown();
        let diff = output::change(shown, file.before.as_deref(), file.after.as_deref()).ok()?.diff;
        bytes += diff.text.len();
        if bytes > FACT_BYTES_MAX {
            return None;
        }
        facts.push(diff);
        deleted.extend(file.after.is_none().then(|| shown.to_owned()));
    }
    (!facts.is_empty()).then_some((facts, deleted))
}
