//! Files as the controller of the session has them: an editor may hold text that is not on the disk yet, and wants to
//! show what is written. Only files inside the workspace, only text, and only up to a size; everything else is read and
//! written on the disk, as without a controller.
//!
//! The rules of the workspace are ours to keep: a path is checked, with every symlink followed, before the controller
//! hears of it, and once more after it has written. What happens in between is the controller's: it opens the file by
//! its path, so whoever swaps a directory for a symlink in that moment leads it astray. That is told, not prevented.
//! Nor can a write be taken back when its call is interrupted meanwhile.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use vocab::{CallContext, Editor, EditorOffer, EditorReply, EditorRequestKind, FileEdit, Required};

use crate::blocking::{Cancel, on_thread};
use crate::output;
use crate::read_file::kind;
use crate::text::{EDIT_BYTES_MAX, load};
use crate::workspace::{Access, Facts, Spot, Workspace, explain, replace};
use crate::write_file::commit;

/// Longer texts do not go through the controller: they are one message each.
const TEXT_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// The start of a file that decides whether it is text.
const SNIFF_BYTES: u64 = 8 * 1024;

/// A controller that shows or takes texts.
#[derive(Clone)]
pub(crate) struct Controller {
    editor_requests: Arc<dyn Editor>,
    offered: EditorOffer,
}

/// A file that is to be written, with what it shall hold.
pub(crate) struct Draft {
    pub(crate) spot: Spot,
    pub(crate) before: Option<Vec<u8>>,
    pub(crate) after: Vec<u8>,
    /// What the disk had, which need not be what the controller showed.
    disk: Option<Vec<u8>>,
    /// `None`: it is not the controller's to write.
    place: Option<PathBuf>,
}

/// What came of a change.
pub(crate) struct ControllerWrite<T> {
    /// `None`: there was nothing to do.
    pub(crate) edit: Option<FileEdit>,
    pub(crate) told: T,
}

impl Controller {
    /// `None`: there is no other place for texts than the disk.
    pub(crate) fn of(context: &CallContext) -> Option<Self> {
        let editor_requests = context.editor_requests.clone()?;
        let offered = editor_requests.offered();
        (offered.read_text || offered.write_text).then_some(Self { editor_requests, offered })
    }

    /// The text of a file as the controller has it; `None`: what the disk has counts. Nothing is asked that was not
    /// granted.
    pub(crate) async fn text(
        &self,
        workspace: &Arc<Workspace>,
        path: &str,
        access: Access,
        granted: Required,
    ) -> Result<Option<Arc<str>>, String> {
        match self.place(workspace, path, access, granted).await? {
            Some(place) => self.text_at(path, place).await,
            None => Ok(None),
        }
    }

    /// Where the controller finds the file, if it is one that goes through it.
    async fn place(
        &self,
        workspace: &Arc<Workspace>,
        path: &str,
        access: Access,
        granted: Required,
    ) -> Result<Option<PathBuf>, String> {
        let (held, name) = (workspace.clone(), path.to_owned());
        on_thread(move |_| Ok(place_of_text(&held, &held.spot(&name, access, granted)?))).await
    }

    async fn text_at(&self, path: &str, place: PathBuf) -> Result<Option<Arc<str>>, String> {
        if !self.offered.read_text {
            return Ok(None);
        }
        match self.editor_requests.run(EditorRequestKind::ReadText { path: place }).await {
            EditorReply::Text(text) if text.len() as u64 > TEXT_BYTES_MAX => {
                Err(format!("{path}: the controller has {} bytes of it; {TEXT_BYTES_MAX} are the limit", text.len()))
            }
            EditorReply::Text(text) => Ok(Some(text)),
            EditorReply::NotFound => Ok(None),
            other => Err(format!("{path}: the controller could not read it: {}", why(&other))),
        }
    }

    /// Changes one file: `make` gets what it holds, and says what it shall hold (`None`: nothing is to be done) and
    /// something to remember. It runs on a thread. The answer is `None` for a file that does not go through the
    /// controller.
    pub(crate) async fn change<T: Send + 'static>(
        &self,
        workspace: Arc<Workspace>,
        path: String,
        granted: Required,
        make: impl FnOnce(&Spot, Option<&[u8]>) -> Result<(Option<Vec<u8>>, T), String> + Send + 'static,
    ) -> Result<Option<ControllerWrite<T>>, String> {
        // Shared with the threads: nobody else changes the file before they are done, even when the call is dropped.
        let lock = workspace.lock().await;
        let Some(place) = self.place(&workspace, &path, Access::Write, granted).await? else { return Ok(None) };
        let text = self.text_at(&path, place).await?;
        let (held, name, writes, locked) = (workspace.clone(), path.clone(), self.offered.write_text, lock.clone());
        let work = move |cancel: &Cancel| {
            let _lock = locked;
            let spot = held.spot(&name, Access::Write, granted)?;
            let (disk, facts) = load(&name, &spot)?.map_or((None, None), |(bytes, facts)| (Some(bytes), Some(facts)));
            let before = text.map_or_else(|| disk.clone(), |text| Some(text.as_bytes().to_vec()));
            let (after, told) = make(&spot, before.as_deref())?;
            let Some(after) = after else { return Ok((None, told)) };
            let draft = Draft::new(&held, spot, before, after, disk, writes);
            draft.prepare(facts.as_ref(), cancel)?;
            Ok((Some(draft), told))
        };
        let (draft, told) = on_thread(work).await?;
        let Some(draft) = draft else { return Ok(Some(ControllerWrite { edit: None, told })) };
        self.write(&draft).await?;
        let edit = on_thread(move |_| draft.check(&workspace, &path, granted)).await?;
        drop(lock);
        Ok(Some(ControllerWrite { edit: Some(edit), told }))
    }

    /// Has a prepared draft written. One that is not the controller's is on the disk already.
    pub(crate) async fn write(&self, draft: &Draft) -> Result<(), String> {
        let Some(place) = &draft.place else { return Ok(()) };
        self.put(draft.spot.shown(), place, &draft.after).await
    }

    /// Puts back what a draft has replaced; `false`: it has to be removed, which a controller cannot.
    pub(crate) async fn put_back(&self, draft: &Draft) -> Result<bool, String> {
        match (&draft.place, &draft.before) {
            (Some(place), Some(before)) => self.put(draft.spot.shown(), place, before).await.map(|()| true),
            _ => Ok(false),
        }
    }

    async fn put(&self, shown: &str, place: &Path, bytes: &[u8]) -> Result<(), String> {
        let content: Arc<str> = String::from_utf8_lossy(bytes).into();
        match self.editor_requests.run(EditorRequestKind::WriteText { path: place.to_owned(), content }).await {
            EditorReply::Written => Ok(()),
            other => {
                Err(format!("{shown}: the controller could not write it: {}; read it before you go on", why(&other)))
            }
        }
    }

    pub(crate) fn writes(&self) -> bool {
        self.offered.write_text
    }
}

impl Draft {
    /// `writes`: whether the controller takes texts.
    pub(crate) fn new(
        workspace: &Workspace,
        spot: Spot,
        before: Option<Vec<u8>>,
        after: Vec<u8>,
        disk: Option<Vec<u8>>,
        writes: bool,
    ) -> Self {
        let fits = writes && after.len() as u64 <= TEXT_BYTES_MAX && std::str::from_utf8(&after).is_ok();
        let place = fits.then(|| workspace.inside(&spot)).flatten();
        Self { spot, before, after, disk, place }
    }

    pub(crate) fn is_controllers(&self) -> bool {
        self.place.is_some()
    }

    /// Everything that can be refused is refused here. What is not the controller's is written.
    fn prepare(&self, like: Option<&Facts>, cancel: &Cancel) -> Result<(), String> {
        if self.place.is_none() {
            return commit(&self.spot, &self.after, like, cancel);
        }
        self.make_ready()?;
        cancel.check()
    }

    /// The directory is there, and what has the name may be replaced.
    pub(crate) fn make_ready(&self) -> Result<(), String> {
        let failed = |error| format!("{}; nothing was written", explain(self.spot.shown(), &error));
        replace::make_ready(&self.spot).map_err(failed)
    }

    /// After the controller has written: the path still leads where it did, and what stands there is what is remembered.
    pub(crate) fn check(self, workspace: &Workspace, path: &str, granted: Required) -> Result<FileEdit, String> {
        let shown = self.spot.shown();
        let now = workspace.spot(path, Access::Write, granted);
        if !now.is_ok_and(|now| now.rel() == self.spot.rel()) {
            return Err(format!(
                "{path}: it was written, but the path leads elsewhere now (a symlink appeared); look at it first"
            ));
        }
        let stands = self.spot.read_all(EDIT_BYTES_MAX).ok().map(|(bytes, _)| bytes);
        // An editor may put a text in order when it saves it, and it may keep it in its buffer and save it later.
        let after = match stands {
            Some(stands) if self.place.is_some() && self.disk.as_ref() != Some(&stands) => stands,
            _ => self.after,
        };
        Ok(output::file_edit(shown, self.before.as_deref(), Some(&after)))
    }
}

/// Where the controller finds this file, if it is one that it may be asked for: a text, or nothing yet.
fn place_of_text(workspace: &Workspace, spot: &Spot) -> Option<PathBuf> {
    let place = workspace.inside(spot)?;
    match spot.open_file() {
        Ok((file, facts)) if facts.bytes <= TEXT_BYTES_MAX => {
            let mut head = Vec::new();
            file.take(SNIFF_BYTES).read_to_end(&mut head).ok()?;
            // The last character may be cut.
            let is_utf8 = std::str::from_utf8(&head).map_or_else(|error| error.error_len().is_none(), |_| true);
            (is_utf8 && !head.contains(&0) && kind::image(&head).is_none()).then_some(place)
        }
        // It may be in a buffer that was never saved.
        Err(error) if error.kind() == ErrorKind::NotFound => Some(place),
        Ok(_) | Err(_) => None,
    }
}

fn why(result: &EditorReply) -> &str {
    match result {
        EditorReply::Failed(why) => why,
        EditorReply::NotFound => "it does not know the file",
        EditorReply::Text(_) | EditorReply::Written | EditorReply::Ran { .. } => "its answer does not fit",
    }
}
