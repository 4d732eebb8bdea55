//! `apply_patch`: several files at once, all or nothing. Everything is worked out in memory first; then all new
//! contents are written beside their files; only then do names change. A failure in that last step is undone.

mod envelope;
mod hunk;
mod patch;
mod preview;
mod unified;
mod via_controller;

use std::collections::HashMap;
use std::sync::Arc;

use vocab::{CallContext, Fact, Json, Later, Outcome, Plan, Required, Tool, ToolSpec};

use crate::args::ToolArgs;
use crate::blocking::{Cancel, blocking, outcome};
use crate::controller::Controller;
use crate::output;
use crate::text::{EDIT_BYTES_MAX, TextFile, load_within};
use crate::workspace::{Access, Facts, Spot, Workspace, explain, explain_at, replace};
use patch::{PatchChange, Section};

/// Files in one patch; more are refused.
const FILES_MAX: usize = 200;
/// Bytes of all files a patch touches, held in memory until it is done; more are refused.
const FILES_BYTES_MAX: usize = 64 * 1024 * 1024;

pub(crate) struct ApplyPatch {
    spec: ToolSpec,
    workspace: Arc<Workspace>,
}

impl ApplyPatch {
    pub(crate) fn new(workspace: Arc<Workspace>) -> Self {
        let spec = crate::spec(
            "apply_patch",
            "Changes, adds, moves and deletes files with one patch, all or nothing. Either a unified diff, or:\n\
             *** Begin Patch\n*** Add File: new.txt\n+every line with a plus\n*** Update File: old.txt\n\
             *** Move to: moved.txt\n@@ a line before the change\n context\n-old line\n+new line\n\
             *** Delete File: gone.txt\n*** End Patch",
            r#"{"type":"object","properties":{"input":{"type":"string","description":"the whole patch"}},"required":["input"]}"#,
        );
        Self { spec, workspace }
    }
}

fn parse(input: &Json) -> Result<(String, Vec<Section>), String> {
    let text = ToolArgs::parse(input)?.text(&["input", "patch", "diff"])?;
    let sections = patch::parse(&text)?;
    match sections.len() {
        0..=FILES_MAX => Ok((text, sections)),
        many => Err(format!("the patch touches {many} files; at most {FILES_MAX} are possible")),
    }
}

/// Every path a section changes.
fn paths(sections: &[Section]) -> impl Iterator<Item = &str> {
    sections.iter().flat_map(|section| {
        let moved = match &section.change {
            PatchChange::Update { move_to, .. } => move_to.as_deref(),
            PatchChange::Add(_) | PatchChange::Delete => None,
        };
        std::iter::once(section.path.as_str()).chain(moved)
    })
}

impl Tool for ApplyPatch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }
    fn required(&self) -> Required {
        Required::WorkspaceWrite
    }
    fn plan(&self, input: &Json) -> Result<Plan, String> {
        let (text, sections) = parse(input)?;
        let mut required = Required::WorkspaceWrite;
        let mut shown: Vec<String> = Vec::new();
        // The same for people, with what is to be known of each.
        let mut noted: Vec<String> = Vec::new();
        for path in paths(&sections) {
            let place = self.workspace.place(path)?;
            required = required.max(self.workspace.required(&place, Access::Write));
            if !shown.contains(&place.shown()) {
                shown.push(place.shown());
                noted.push(format!("{}{}", place.shown(), self.workspace.note(&place)));
            }
        }
        let (targets, noted) = (shown.join(", "), noted.join(", "));
        let mut facts = vec![Fact::line("files", &noted)];
        facts.extend(preview::facts(&self.workspace, &text, sections));
        Ok(Plan {
            required,
            summary: format!("patch {noted}").into(),
            mutation: Some(targets.as_str().into()),
            preview: Some(facts.into()),
        })
    }
    fn run(&self, input: Json, context: CallContext) -> Later<'static, Outcome> {
        let (workspace, granted) = (self.workspace.clone(), context.granted);
        if let Some(controller) = Controller::of(&context) {
            return outcome(via_controller::run(controller, workspace, input, granted));
        }
        blocking(move |cancel| {
            let (_, sections) = parse(&input)?;
            let _lock = workspace.write_lock();
            let mut patched = PatchedFiles::new(&workspace, granted);
            for section in sections {
                patched.apply(section)?;
            }
            commit(&patched.files.iter().collect::<Vec<_>>(), cancel)?;
            Ok(report(&patched.files))
        })
    }
}

/// The files of a patch, as they were and as they shall be.
struct PatchedFiles<'a> {
    workspace: &'a Workspace,
    access: Access,
    granted: Required,
    /// A larger file is refused.
    file_bytes_max: u64,
    /// What a controller has of files, by the path that the patch calls them.
    shown: HashMap<String, Arc<str>>,
    files: Vec<PatchedFile>,
}

struct PatchedFile {
    spot: Spot,
    disk: Option<Vec<u8>>,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
    /// Whose permission bits the new contents get.
    like: Option<Facts>,
}

impl<'a> PatchedFiles<'a> {
    fn new(workspace: &'a Workspace, granted: Required) -> Self {
        let (shown, files) = (HashMap::new(), Vec::new());
        Self { workspace, access: Access::Write, granted, file_bytes_max: EDIT_BYTES_MAX, shown, files }
    }

    /// The file of this path, loaded when it is first named.
    fn file(&mut self, path: &str) -> Result<usize, String> {
        let spot = self.workspace.spot(path, self.access, self.granted)?;
        if let Some(at) = self.files.iter().position(|file| file.spot.shown() == spot.shown()) {
            return Ok(at);
        }
        let found = load_within(path, &spot, self.file_bytes_max)?;
        let (disk, like) = found.map_or((None, None), |(bytes, facts)| (Some(bytes), Some(facts)));
        let before = match self.shown.get(path) {
            Some(text) => Some(text.as_bytes().to_vec()),
            None => disk.clone(),
        };
        let held: usize = self.files.iter().map(|file| file.before.as_ref().map_or(0, Vec::len)).sum();
        if held + before.as_ref().map_or(0, Vec::len) > FILES_BYTES_MAX {
            return Err(format!("the files of the patch have more than {FILES_BYTES_MAX} bytes; split the patch"));
        }
        self.files.push(PatchedFile { spot, disk, after: before.clone(), before, like });
        Ok(self.files.len() - 1)
    }

    fn apply(&mut self, section: Section) -> Result<(), String> {
        let path = section.path.as_str();
        let at = self.file(path)?;
        let absent = |file: &PatchedFile| {
            let missing = std::io::Error::from(rustix::io::Errno::NOENT);
            format!("{}; nothing was changed", explain_at(path, &file.spot, &missing))
        };
        match section.change {
            PatchChange::Add(text) => {
                if self.files[at].after.is_some() {
                    return Err(format!("{path}: exists already; use \"*** Update File\", or delete it first"));
                }
                self.files[at].after = Some(text.into_bytes());
            }
            PatchChange::Delete => {
                let file = &mut self.files[at];
                file.after.take().ok_or_else(|| absent(file))?;
            }
            PatchChange::Update { move_to, hunks } => {
                let old = self.files[at].after.clone().ok_or_else(|| absent(&self.files[at]))?;
                let text = TextFile::new(path, old)?;
                let new =
                    hunk::apply(&text.text, text.is_crlf(), &hunks).map_err(|error| format!("{path}: {error}"))?;
                let new = text.encode(&new);
                let to = match move_to {
                    None => at,
                    Some(to) => self.make_room(at, &to)?,
                };
                self.files[to].after = Some(new);
            }
        }
        Ok(())
    }

    /// Prepares a move: the old name becomes free, the new one must be.
    fn make_room(&mut self, from: usize, to: &str) -> Result<usize, String> {
        let target = self.file(to)?;
        if target != from {
            if self.files[target].after.is_some() {
                return Err(format!("{to}: exists already, so nothing can be moved there; nothing was changed"));
            }
            self.files[target].like = self.files[from].like;
            self.files[from].after = None;
        }
        Ok(target)
    }
}

impl PatchedFile {
    fn is_changed(&self) -> bool {
        self.before != self.after
    }
}

/// Writes what has changed of these to the disk.
fn commit(files: &[&PatchedFile], cancel: &Cancel) -> Result<(), String> {
    let changed: Vec<&PatchedFile> = files.iter().copied().filter(|file| file.is_changed()).collect();
    let mut staged = Vec::new();
    for file in &changed {
        if let Some(bytes) = &file.after {
            let ready = replace::stage(&file.spot, bytes, file.like.as_ref())
                .map_err(|error| format!("{}; nothing was changed", explain(file.spot.shown(), &error)))?;
            staged.push((*file, ready));
        }
    }
    cancel.check()?;
    let mut done: Vec<&PatchedFile> = Vec::new();
    let removals = changed.iter().filter(|file| file.after.is_none());
    let mut steps = Vec::new();
    steps.extend(staged.into_iter().map(|(file, ready)| (file, Some(ready))));
    steps.extend(removals.map(|file| (*file, None)));
    for (file, ready) in steps {
        let result = match ready {
            Some(ready) => ready.place(),
            None => replace::remove(&file.spot),
        };
        if let Err(error) = result {
            return Err(format!("{}; {}", explain(file.spot.shown(), &error), put_back(&done)));
        }
        done.push(file);
    }
    Ok(())
}

fn report(files: &[PatchedFile]) -> Outcome {
    let mut text = String::new();
    let mut edits = Vec::new();
    for file in files {
        let what = match (&file.before, &file.after) {
            (before, after) if before == after => continue,
            (None, _) => "created",
            (_, None) => "deleted",
            _ => "updated",
        };
        text.push_str(&format!("{what} {}\n", file.spot.shown()));
        edits.push(output::file_edit(file.spot.shown(), file.before.as_deref(), file.after.as_deref()));
    }
    if text.is_empty() {
        text.push_str("the files already have exactly this content; nothing changed\n");
    }
    Outcome { edits, ..Outcome::text(text) }
}

/// Undoes the steps that were done before one failed, and says how that went.
fn put_back(done: &[&PatchedFile]) -> String {
    let mut failed = Vec::new();
    for file in done.iter().rev() {
        let result = match &file.before {
            Some(bytes) => replace::stage(&file.spot, bytes, file.like.as_ref()).and_then(replace::Staged::place),
            None => replace::remove(&file.spot),
        };
        if result.is_err() {
            failed.push(file.spot.shown());
        }
    }
    match failed.is_empty() {
        true => "nothing was changed".to_owned(),
        false => format!("and these files could not be put back: {}", failed.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::Guard;

    #[test]
    fn what_was_done_before_a_failure_is_put_back() {
        let temp = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(temp.path(), Guard::default()).unwrap();
        let file = |name: &str, before: Option<&str>, after: Option<&str>| PatchedFile {
            spot: workspace.spot(name, Access::Write, Required::WorkspaceWrite).unwrap(),
            disk: None,
            before: before.map(Into::into),
            after: after.map(Into::into),
            like: None,
        };
        let files =
            [file("changed", Some("old"), Some("new")), file("made", None, Some("x")), file("gone", Some("y"), None)];
        std::fs::write(temp.path().join("changed"), "new").unwrap();
        std::fs::write(temp.path().join("made"), "x").unwrap();
        assert_eq!(put_back(&files.iter().collect::<Vec<_>>()), "nothing was changed");
        let text = |name: &str| std::fs::read_to_string(temp.path().join(name)).ok();
        assert_eq!((text("changed"), text("made"), text("gone")), (Some("old".into()), None, Some("y".into())));
    }

    /// The files are checked one by one and then written one by one; a name that became a directory in between
    /// stops the second of them.
    #[test]
    fn a_failure_in_the_last_step_leaves_no_trace() {
        let temp = tempfile::tempdir().unwrap();
        std::fs::write(temp.path().join("a"), "1\n").unwrap();
        std::fs::write(temp.path().join("b"), "1\n").unwrap();
        let workspace = Workspace::open(temp.path(), Guard::default()).unwrap();
        let mut patched = PatchedFiles::new(&workspace, Required::WorkspaceWrite);
        let patch = "*** Begin Patch\n*** Update File: a\n@@\n-1\n+2\n*** Delete File: b\n*** End Patch";
        for section in patch::parse(patch).unwrap() {
            patched.apply(section).unwrap();
        }
        std::fs::remove_file(temp.path().join("b")).unwrap();
        std::fs::create_dir(temp.path().join("b")).unwrap();
        let error = commit(&patched.files.iter().collect::<Vec<_>>(), &Cancel::default()).unwrap_err();
        assert_eq!(error, "b: is a directory; nothing was changed");
        assert_eq!(std::fs::read_to_string(temp.path().join("a")).unwrap(), "1\n");
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 2);
    }
}
