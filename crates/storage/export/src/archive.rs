//! The archive of sessions as files: it writes them in the format that a name's ending asks for, and reads back what
//! `.jsonl` holds. The sessions themselves live in the store.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use safefile::private_dir;
use store::{data_dir, faults, private_write};
use vocab::{
    Admission, Archive, Border, Durability, Entry, Exported, Fault, FaultKind, Later, Mode, Principal, SessionId,
    Store, Summary,
};

use crate::reconcile::{FileStanding, copy_id, own_id, standing};
use crate::{adopt, as_markdown, html, jsonl};

/// Stands between the database's path and a session's id in what `/sessions` shows.
const ID_MARK: char = '#';
/// Versions of one session that files may bring along.
const COPIES_MAX: usize = 8;

/// Reads and writes session files; the sessions themselves live in `store`.
pub struct FileArchive {
    store: Arc<dyn Store>,
    home: PathBuf,
    border: Option<Arc<dyn Border>>,
}

impl FileArchive {
    /// One that takes the models and directories that files name; see [`FileArchive::with_border`].
    pub fn new(store: Arc<dyn Store>, home: PathBuf) -> Self {
        Self { store, home, border: None }
    }

    /// Asks `border` about models and directories that files name.
    #[must_use]
    pub fn with_border(self, border: Arc<dyn Border>) -> Self {
        Self { border: Some(border), ..self }
    }
}

impl Archive for FileArchive {
    fn export(&self, session: &SessionId, file: Option<&Path>) -> Later<'static, Result<Exported, Fault>> {
        let (store, session) = (self.store.clone(), session.clone());
        let exports = data_dir::exports_dir(&self.home);
        let own = exports.join(format!("{}.md", data_dir::file_stem(&session)));
        let is_own = file.is_none();
        let file = file.map_or(own, Path::to_owned);
        Box::pin(async move {
            if is_own {
                private_dir(&exports).map_err(|error| faults::from_io("make", &exports, &error))?;
            }
            let unknown = || Fault::new(FaultKind::UnknownSession, format!("unknown session: {session}"));
            let summary = store.summary(&session).await?.ok_or_else(unknown)?;
            let entries = store.read(&session, 0, usize::MAX).await?.entries;
            // A long session takes a second to write down; other sessions share this thread.
            let written = tokio::task::spawn_blocking(move || write_file(file, &summary, &entries)).await;
            written.map_err(|error| Fault::new(FaultKind::Internal, format!("the export failed: {error}")))?
        })
    }

    fn import_for(&self, file: &Path, by: Option<Principal>) -> Later<'static, Result<SessionId, Fault>> {
        let (store, file, border) = (self.store.clone(), file.to_owned(), self.border.clone());
        let named = file
            .to_str()
            .and_then(|text| text.rsplit_once(ID_MARK))
            .map(|(place, id)| (place.to_owned(), id.to_owned()));
        Box::pin(async move {
            if let Some((place, id)) = named
                && store.place() == Path::new(&place)
            {
                return Ok(SessionId::from(id));
            }
            // A large file takes a second to read; other sessions share this thread.
            let read = tokio::task::spawn_blocking(move || (jsonl::read(&file), file)).await;
            let (found, file) =
                read.map_err(|error| Fault::new(FaultKind::Internal, format!("the reader failed: {error}")))?;
            let (named, entries) = found?;
            let by = by.map(|by| (by, now_ms()));
            FileImport { store, border, file, named, entries, by }.run().await
        })
    }

    fn path_of(&self, session: &SessionId) -> PathBuf {
        PathBuf::from(format!("{}{ID_MARK}{session}", self.store.place().display()))
    }
}

/// A session file that was read and is to become a session, or part of one.
struct FileImport {
    store: Arc<dyn Store>,
    border: Option<Arc<dyn Border>>,
    file: PathBuf,
    /// What the file calls its session.
    named: SessionId,
    entries: Vec<Arc<Entry>>,
    /// Who opens it, and when.
    by: Option<(Principal, i64)>,
}

impl FileImport {
    /// The session that has all of the file: a new one, the one that is there already, or one beside it.
    async fn run(self) -> Result<SessionId, Fault> {
        let mut id = own_id(self.named.clone(), &self.file);
        for _ in 0..COPIES_MAX {
            if self.store.summary(&id).await?.is_none() {
                if id != self.named {
                    self.note(&format!("its session is called {id} here"));
                }
                let at_ms = self.entries.first().map_or(0, |entry| entry.at_ms);
                adopt::adopt(&*self.store, &self.file, &id, self.admitted(), at_ms).await?;
                return Ok(id);
            }
            let ours = self.store.read(&id, 0, usize::MAX).await?.entries;
            let standing = match standing(&ours, &self.entries) {
                FileStanding::Longer => self.add_to(&id).await?,
                FileStanding::Finished => {
                    // Nothing but our own closing is lost; one that somebody works in is not deleted.
                    self.store.delete(&id, None).await?;
                    continue;
                }
                other => other,
            };
            if standing == FileStanding::Known {
                return Ok(id);
            }
            let copy = copy_id(&id, &self.file);
            self.note(&format!("session {id} has gone another way since; the file is a session of its own, {copy}"));
            id = copy;
        }
        let message = format!("{} differs from every session that it could be", self.file.display());
        Err(Fault::new(FaultKind::Store, message).hint("delete the sessions that came from it"))
    }

    /// What the file has more, unless somebody else works in the session.
    async fn add_to(&self, id: &SessionId) -> Result<FileStanding, Fault> {
        let acquired = self.store.acquire(id).await?;
        let added = async {
            // Read again: until now another process could write.
            let ours = self.store.read(id, 0, usize::MAX).await?.entries;
            if let Some(notice) = acquired.notice(acquired.summary.updated_ms) {
                self.store.append(&acquired.lease, vec![notice], Durability::Now).await?;
                return Ok(FileStanding::Diverged);
            }
            let found = standing(&ours, &self.entries);
            if found != FileStanding::Longer {
                return Ok(found);
            }
            let more = self.admitted().split_off(ours.len());
            self.store.append(&acquired.lease, more, Durability::Now).await?;
            Ok(FileStanding::Known)
        }
        .await;
        self.store.release(acquired.lease).await?;
        added
    }

    fn admitted(&self) -> Vec<Arc<Entry>> {
        let border = self.border.as_deref();
        let mode = border.map_or(Mode::Prompt, Border::own_mode);
        Admission { border, file: &self.file, mode, by: self.by.clone() }.of(self.entries.clone())
    }

    fn note(&self, text: &str) {
        if let Some(border) = &self.border {
            border.note(&format!("{}: {text}", self.file.display()));
        }
    }
}

fn now_ms() -> i64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_1970.as_millis()).unwrap_or_default()
}

/// The kind of file that an ending asks for, and what is in it.
pub(crate) fn written(ending: Option<&str>, summary: &Summary, entries: &[Arc<Entry>]) -> (&'static str, Vec<u8>) {
    match ending {
        Some("jsonl") => ("jsonl", jsonl::write(&summary.id, entries)),
        Some("html" | "htm") => ("html", html::render(summary, entries, None).into_bytes()),
        _ => ("md", as_markdown(summary, entries).into_bytes()),
    }
}

/// The ending of the name says which kind of file it becomes.
fn write_file(file: PathBuf, summary: &Summary, entries: &[Arc<Entry>]) -> Result<Exported, Fault> {
    let ending = file.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
    let (format, bytes) = written(ending.as_deref(), summary, entries);
    private_write(&file, &bytes)?;
    Ok(Exported { path: file, format, bytes: bytes.len() as u64 })
}
