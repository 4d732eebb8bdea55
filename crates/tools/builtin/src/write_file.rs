//! `write_file`: a whole file, created or replaced.

use std::io::ErrorKind;
use std::sync::Arc;

use vocab::{CallContext, Fact, Json, Later, Outcome, Plan, Required, SNAPSHOT_BYTES_MAX, Snapshot, Tool, ToolSpec};

use crate::args::{PATH, ToolArgs};
use crate::blocking::{Cancel, blocking, on_thread, outcome};
use crate::controller::{Controller, ControllerWrite};
use crate::output::{self, NoDiff, line_count, plural};
use crate::sys::FileKind;
use crate::workspace::{Access, Facts, ResolvedPath, Spot, Workspace, explain, replace};

pub(crate) struct WriteFile {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
}

impl WriteFile {
    pub(crate) fn new(workspace: Arc<Workspace>) -> Self {
        let spec = crate::spec(
            "write_file",
            "Writes a whole file: creates it, with its directories, or replaces what it held. To change a part of a \
             file use edit_file.",
            r#"{"type":"object","properties":{"path":{"type":"string","description":"file to write, relative to the workspace"},"content":{"type":"string","description":"the whole new contents"}},"required":["path","content"]}"#,
        );
        Self { spec, workspace }
    }
}

fn parse(input: &Json) -> Result<(String, String), String> {
    let mut args = ToolArgs::parse(input)?;
    Ok((args.text(PATH)?, args.text(&["content", "contents", "text"])?))
}

impl Tool for WriteFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }
    fn required(&self) -> Required {
        Required::WorkspaceWrite
    }
    fn plan(&self, input: &Json) -> Result<Plan, String> {
        let (path, content) = parse(input)?;
        let place = self.workspace.place(&path)?;
        let shown = place.shown();
        let change = before_for_preview(&self.workspace, &path)
            .and_then(|before| output::change(&shown, before.as_deref(), Some(content.as_bytes())));
        let (required, note) = (self.workspace.required(&place, Access::Write), self.workspace.note(&place));
        let (counts, facts) = match change {
            Ok(change) => (change.counts, vec![change.diff]),
            Err(no_diff) => unseen(&shown, &content, standing(&self.workspace, place), no_diff),
        };
        Ok(Plan {
            required,
            summary: format!("write {shown} {counts}{note}").into(),
            mutation: Some(shown.as_str().into()),
            preview: Some(facts.into()),
        })
    }
    fn run(&self, input: Json, context: CallContext) -> Later<'static, Outcome> {
        let (workspace, granted) = (self.workspace.clone(), context.granted);
        let (path, content) = match parse(&input) {
            Ok(request) => request,
            Err(error) => return outcome(async { Err(error) }),
        };
        let Some(controller) = Controller::of(&context) else {
            return blocking(move |cancel| write(&workspace, &path, &content, granted, cancel));
        };
        outcome(async move {
            let new = content.clone();
            let make = move |spot: &Spot, before: Option<&[u8]>| {
                let is_new = before != Some(new.as_bytes());
                let was = before.map(|bytes| plural(line_count(&String::from_utf8_lossy(bytes)), "line"));
                let told = tell(spot.shown(), &new, was.as_deref(), is_new);
                Ok((is_new.then(|| new.into_bytes()), told))
            };
            match controller.change(workspace.clone(), path.clone(), granted, make).await? {
                Some(ControllerWrite { edit, told }) => {
                    Ok(Outcome { edits: edit.into_iter().collect(), ..Outcome::text(told) })
                }
                None => on_thread(move |cancel| write(&workspace, &path, &content, granted, cancel)).await,
            }
        })
    }
}

/// What a file inside holds now, for a preview; `None` when it does not exist. Nothing outside the workspace and nothing
/// large is read before the call is allowed.
pub(crate) fn before_for_preview(workspace: &Workspace, path: &str) -> Result<Option<Vec<u8>>, NoDiff> {
    let spot = workspace.spot(path, Access::Read, Required::ReadOnly).map_err(|_| NoDiff::Unread)?;
    match spot.read_all(output::PREVIEW_BYTES_MAX) {
        Ok((bytes, _)) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == ErrorKind::FileTooLarge => Err(NoDiff::TooLarge),
        Err(_) => Err(NoDiff::Unread),
    }
}

/// How many bytes a file has that stands at a place. It is looked at, not opened.
fn standing(workspace: &Workspace, place: ResolvedPath) -> Option<u64> {
    let facts = workspace.spot_at(place).and_then(|spot| spot.facts()).ok()?;
    (facts.kind == FileKind::File).then_some(facts.bytes)
}

/// What a person is told where no diff can be shown: most of all, that a file is lost by it.
fn unseen(shown: &str, content: &str, held: Option<u64>, no_diff: NoDiff) -> (String, Vec<Fact>) {
    let mut facts = vec![Fact::line("file", shown), Fact::text("new contents", content)];
    let bytes = content.len();
    let Some(held) = held else { return (format!("({bytes} bytes)"), facts) };
    let replaces = format!("an existing file of {held} bytes (no diff: {})", no_diff.why());
    facts.push(Fact::line("replaces", &replaces));
    (format!("({bytes} bytes, replacing {held} bytes)"), facts)
}

/// `was`: how much the file held before, if it existed.
fn tell(shown: &str, content: &str, was: Option<&str>, is_new: bool) -> String {
    let lines = plural(line_count(content), "line");
    match was {
        None => format!("created {shown} ({lines})"),
        Some(_) if !is_new => format!("{shown} already has exactly this content; nothing changed"),
        Some(was) => format!("updated {shown} ({lines}, was {was})"),
    }
}

/// Puts `bytes` at the spot, unless the call was cancelled in the meantime.
pub(crate) fn commit(spot: &Spot, bytes: &[u8], like: Option<&Facts>, cancel: &Cancel) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}; nothing was written", explain(spot.shown(), &error));
    let staged = replace::stage(spot, bytes, like).map_err(failed)?;
    cancel.check()?;
    staged.place().map_err(failed)
}

fn write(
    workspace: &Workspace,
    path: &str,
    content: &str,
    granted: Required,
    cancel: &Cancel,
) -> Result<Outcome, String> {
    let spot = workspace.spot(path, Access::Write, granted)?;
    let _lock = workspace.write_lock();
    let facts = match spot.facts() {
        Ok(facts) => Some(facts),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(explain(path, &error)),
    };
    let Some(facts) = facts else {
        commit(&spot, content.as_bytes(), None, cancel)?;
        let edits = vec![output::file_edit(spot.shown(), None, Some(content.as_bytes()))];
        return Ok(Outcome { edits, ..Outcome::text(tell(spot.shown(), content, None, true)) });
    };
    // Only what undo keeps is read; a larger file is replaced unseen.
    let before = match spot.read_all(SNAPSHOT_BYTES_MAX as u64) {
        Ok((bytes, _)) => Some(bytes),
        Err(error) if error.kind() == ErrorKind::FileTooLarge => None,
        Err(error) => return Err(explain(path, &error)),
    };
    if before.as_deref() == Some(content.as_bytes()) {
        return Ok(Outcome::text(tell(spot.shown(), content, Some(""), false)));
    }
    commit(&spot, content.as_bytes(), Some(&facts), cancel)?;
    let mut edit = output::file_edit(spot.shown(), before.as_deref(), Some(content.as_bytes()));
    let was = match &before {
        Some(bytes) => plural(line_count(&String::from_utf8_lossy(bytes)), "line"),
        None => {
            edit.before = Snapshot::NotKept;
            format!("{} bytes", facts.bytes)
        }
    };
    Ok(Outcome { edits: vec![edit], ..Outcome::text(tell(spot.shown(), content, Some(&was), true)) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Guard;

    #[test]
    fn a_cancelled_call_writes_nothing_and_leaves_nothing() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join("old"), "old").unwrap();
        let workspace = Workspace::open(temp.path(), Guard::default()).unwrap();
        for name in ["old", "new"] {
            let error = write(&workspace, name, "text", Required::WorkspaceWrite, &Cancel::cancelled());
            assert_eq!(error.unwrap_err(), crate::blocking::CANCELLED);
        }
        assert_eq!(std::fs::read_to_string(temp.path().join("old")).unwrap(), "old");
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 1);
    }
}
