//! The archive of sessions as files: it writes them in the format that a name's ending asks for, and reads back what
//! `.jsonl` holds. The sessions themselves live in the store.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use safefile::private_dir;
use store::{data_dir, faults, private_write};
use vocab::{Archive, Border, Entry, Exported, Fault, FaultKind, Later, SessionId, Store, Summary};

use crate::{adopt, as_markdown, html, jsonl};

/// Stands between the database's path and a session's id in what `/sessions` shows.
const ID_MARK: char = '#';
/// Reads and writes session files; the sessions themselves live in `store`.
pub struct FileArchive {
    store: Arc<dyn Store>,
    home: PathBuf,
    border: Option<Arc<dyn Border>>,
}

impl FileArchive {
    /// One that believes what files say; see [`FileArchive::with_border`].
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

    fn import(&self, file: &Path) -> Later<'static, Result<SessionId, Fault>> {
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
            let (id, mut entries) = found?;
            if store.summary(&id).await?.is_some() {
                return Ok(id);
            }
            if let Some(border) = border {
                entries = adopt::admitted(entries, &*border, &file);
            }
            adopt::adopt(&*store, &file, &id, entries).await?;
            Ok(id)
        })
    }

    fn path_of(&self, session: &SessionId) -> PathBuf {
        PathBuf::from(format!("{}{ID_MARK}{session}", self.store.place().display()))
    }
}

/// The ending of the name says which kind of file it becomes.
fn write_file(file: PathBuf, summary: &Summary, entries: &[Arc<Entry>]) -> Result<Exported, Fault> {
    let ending = file.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase);
    let (format, bytes) = match ending.as_deref() {
        Some("jsonl") => ("jsonl", jsonl::write(&summary.id, entries)),
        Some("html" | "htm") => ("html", html::render(summary, entries, None).into_bytes()),
        _ => ("md", as_markdown(summary, entries).into_bytes()),
    };
    private_write(&file, &bytes)?;
    Ok(Exported { path: file, format, bytes: bytes.len() as u64 })
}
