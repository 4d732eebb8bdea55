//! A patch through the controller: it shows the texts and takes the new ones, file by file. What cannot go through it,
//! deletions among that, is done on the disk afterwards, so that a controller that refuses stops the patch before. A
//! failure is undone as far as the controller lets us; an interrupt in the middle leaves what was written so far.

use std::collections::HashMap;
use std::sync::Arc;

use vocab::{Json, Outcome, Required};

use super::{PatchedFile, PatchedFiles, commit, parse, paths, report};
use crate::blocking::{Cancel, on_thread};
use crate::controller::{Controller, Draft};
use crate::workspace::{Access, Workspace, replace};

pub(super) async fn run(
    controller: Controller,
    workspace: Arc<Workspace>,
    input: Json,
    granted: Required,
) -> Result<Outcome, String> {
    let (_, sections) = parse(&input)?;
    let lock = workspace.lock().await;
    let mut shown = HashMap::new();
    for path in paths(&sections) {
        if let Some(text) = controller.text(&workspace, path, Access::Write, granted).await? {
            shown.insert(path.to_owned(), text);
        }
    }
    let (held, writes, locked) = (workspace.clone(), controller.writes(), lock.clone());
    let work_out = move |cancel: &Cancel| {
        let _lock = locked;
        let mut patched = PatchedFiles { shown, ..PatchedFiles::new(&held, granted) };
        for section in sections {
            patched.apply(section)?;
        }
        let drafts: Vec<Draft> = patched.files.iter().filter_map(|file| draft(&held, file, writes)).collect();
        drafts.iter().try_for_each(Draft::make_ready)?;
        cancel.check()?;
        Ok((patched.files, drafts))
    };
    let (files, drafts) = on_thread(work_out).await?;
    for (done, draft) in drafts.iter().enumerate() {
        if let Err(error) = controller.write(draft).await {
            let undone = put_back(&controller, drafts, done).await;
            return Err(format!("{error}; {undone}"));
        }
    }
    let names: Vec<String> = drafts.iter().map(|draft| draft.spot.shown().to_owned()).collect();
    let locked = lock.clone();
    let on_disk = move |cancel: &Cancel| {
        let _lock = locked;
        let rest: Vec<&PatchedFile> =
            files.iter().filter(|file| !names.iter().any(|name| name == file.spot.shown())).collect();
        Ok(commit(&rest, cancel).map(|()| files))
    };
    let files = match on_thread(on_disk).await? {
        Ok(files) => files,
        Err(error) => {
            let all = drafts.len();
            let undone = put_back(&controller, drafts, all).await;
            return Err(format!("{error}; {undone}"));
        }
    };
    on_thread(move |_| {
        let mut outcome = report(&files);
        for draft in drafts {
            let path = draft.spot.shown().to_owned();
            let checked = draft.check(&workspace, &path, granted)?;
            if let Some(edit) = outcome.edits.iter_mut().find(|edit| edit.path == checked.path) {
                *edit = checked;
            }
        }
        drop(lock);
        Ok(outcome)
    })
    .await
}

/// What the controller is to write of a file.
fn draft(workspace: &Workspace, file: &PatchedFile, writes: bool) -> Option<Draft> {
    // A file that is moved keeps its permission bits, of which a controller knows nothing.
    let is_moved = file.disk.is_none() && file.like.is_some();
    let after = file.after.clone().filter(|_| file.is_changed() && !is_moved)?;
    let draft = Draft::new(workspace, file.spot.clone(), file.before.clone(), after, file.disk.clone(), writes);
    draft.is_controllers().then_some(draft)
}

/// Takes back the first so many, and says how that went.
async fn put_back(controller: &Controller, mut drafts: Vec<Draft>, done: usize) -> String {
    drafts.truncate(done);
    let mut failed = Vec::new();
    for draft in drafts.into_iter().rev() {
        let shown = draft.spot.shown().to_owned();
        let undone = match controller.put_back(&draft).await {
            Ok(false) => {
                on_thread(move |_| replace::remove(&draft.spot).map_err(|error| error.to_string())).await.is_ok()
            }
            Ok(true) => true,
            Err(_) => false,
        };
        if !undone {
            failed.push(shown);
        }
    }
    match failed.is_empty() {
        true => "what was written before it was put back".to_owned(),
        false => format!("and these files could not be put back: {}", failed.join(", ")),
    }
}
