//! Opening a session by the path of its file. What is no session file of this family is the inner archive's.

use std::collections::{HashMap, HashSet};
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use pi_format::transcript::{LineName, Transcript};
use vocab::{
    Admission, Archive, Body, Durability, Entry, Exported, Fault, FaultKind, IdKind, Later, NewSession, NoteEntry,
    Principal, SessionId,
};

use crate::files::Following;
use crate::find::{head_of, newest};
use crate::head::{VERSION, absolute, copy_of, file_name, id_in_name};
use crate::import::{self, ImportContext, ImportDefaults};
use crate::read::{ScanError, ScannedFile, scan};
use crate::shared::SharedMirrors;
use crate::store::Mirrored;
use crate::tail::FileTail;

impl Archive for Mirrored {
    fn export(&self, session: &SessionId, file: Option<&Path>) -> Later<'static, Result<Exported, Fault>> {
        self.shared.setup.archive.export(session, file)
    }

    /// A file of this family becomes a session of the same id; one that is there already takes what others have added to
    /// the file. A path where nothing is, or an empty file, is promised to a session that is still to begin. A path that
    /// ends in `/` is a directory: its newest session is meant, or a new one there.
    fn import_for(&self, file: &Path, by: Option<Principal>) -> Later<'static, Result<SessionId, Fault>> {
        let (shared, file) = (self.shared.clone(), file.to_owned());
        Box::pin(async move {
            // A directory of many files takes a while to look through; other sessions share this thread.
            let look = tokio::task::spawn_blocking(move || look(file)).await;
            let (file, what) = look.map_err(|_| Fault::new(FaultKind::Internal, "the reader failed"))?;
            match what {
                FoundFile::NewIn => shared.begin_in(&file),
                FoundFile::Nothing => shared.promise(&file).await,
                FoundFile::Ours => shared.setup.archive.import_for(&file, by).await,
                FoundFile::Session => shared.open(file, by).await,
            }
        })
    }

    fn path_of(&self, session: &SessionId) -> PathBuf {
        self.shared.setup.archive.path_of(session)
    }
}

pub(crate) enum FoundFile {
    /// A directory without any session.
    NewIn,
    Nothing,
    /// A session of this family.
    Session,
    /// For the inner archive to judge.
    Ours,
}

/// The file that is meant, and what it is.
pub(crate) fn look(file: PathBuf) -> (PathBuf, FoundFile) {
    let file = match is_directory(&file) {
        true => match newest(&file) {
            Some(newest) => newest,
            None => return (file, FoundFile::NewIn),
        },
        false => file,
    };
    let what = what_is(&file);
    (file, what)
}

fn what_is(file: &Path) -> FoundFile {
    match std::fs::metadata(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => FoundFile::Nothing,
        Ok(metadata) if metadata.is_file() && metadata.len() == 0 => FoundFile::Nothing,
        _ if head_of(file).is_some() => FoundFile::Session,
        _ => FoundFile::Ours,
    }
}

fn is_directory(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

impl SharedMirrors {
    /// A session that is still to begin, with its file in that directory, which has to be one by now: what is said later
    /// could not be kept.
    fn begin_in(&self, dir: &Path) -> Result<SessionId, Fault> {
        DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|error| {
            Fault::new(FaultKind::Invalid, format!("{} cannot be a directory of sessions: {error}", dir.display()))
        })?;
        let session = SessionId::from(self.setup.ids.mint(IdKind::Session));
        self.bind(&session, &dir.join(file_name(now_ms(), &session)));
        Ok(session)
    }

    async fn promise(&self, file: &Path) -> Result<SessionId, Fault> {
        // The inner archive writes places down that are no files.
        if let Ok(session) = self.setup.archive.import(file).await {
            return Ok(session);
        }
        if let Some(session) = self.promised(file) {
            return Ok(session);
        }
        if let Some(session) = self.named_by(file).await? {
            self.bind(&session, file);
            return Ok(session);
        }
        let session = SessionId::from(self.setup.ids.mint(IdKind::Session));
        self.bind(&session, file);
        Ok(session)
    }

    /// The session that the store has and whose file would have this name. It has none yet where nothing was said in it, or
    /// none any more; its log is there all the same.
    pub(crate) async fn named_by(&self, file: &Path) -> Result<Option<SessionId>, Fault> {
        let name = file.file_name().and_then(|name| name.to_str());
        let Some(id) = name.and_then(id_in_name).map(SessionId::from) else { return Ok(None) };
        let summary = self.setup.store.summary(&id).await?.filter(|summary| summary.child_of.is_none());
        let is_its_name = summary.is_some_and(|summary| Some(&*file_name(summary.created_ms, &id)) == name);
        let is_elsewhere = self.known_path(&id).is_some_and(|path| absolute(&path) != absolute(file));
        Ok(Some(id).filter(|_| is_its_name && !is_elsewhere))
    }

    pub(crate) async fn open(&self, file: PathBuf, by: Option<Principal>) -> Result<SessionId, Fault> {
        let read = tokio::task::spawn_blocking(move || {
            let found = read(&file);
            (file, found)
        });
        let (file, found) = read.await.map_err(|_| Fault::new(FaultKind::Internal, "the reader failed"))?;
        let (bytes, found) = found?;
        let session = self.session_of(&file, &found).await?;
        match self.setup.store.summary(&session).await? {
            None => self.adopt(&session, &file, &bytes, &found, by).await?,
            Some(summary) => {
                // What a file brought here works within our own directory; what began here works where it began.
                if self.imported_from(&session).await?.is_some() {
                    self.setup.border.workspace(&summary.workspace)?;
                }
                // A session that is open here follows its file already.
                if self.is_open(&session) {
                    return Ok(session);
                }
                match self.take_more(&session, &file, &bytes, &found).await {
                    // Whoever is on it in this process has it; one that another process is on is refused when it is opened.
                    Err(fault) if fault.kind == FaultKind::SessionBusy => {
                        let place = file.display();
                        self.note(&format!(
                            "{place} has more than session {session}, which is open: it is taken in when that is opened next"
                        ));
                    }
                    taken => taken?,
                }
                self.tell_damage(&file, &bytes, &found);
            }
        }
        self.bind(&session, &file);
        Ok(session)
    }

    /// The session behind a file: that of its head, unless the file is a copy. A copy goes its own way, so it is a session
    /// of its own, called after its place. So is a file that bears the id of a session that is here and does not have all of
    /// it: what was said here is not replaced because a file knows an id.
    async fn session_of(&self, file: &Path, found: &ScannedFile) -> Result<SessionId, Fault> {
        let head = &found.head.id;
        // What commands could not name is not taken from a file.
        let head = &if head.is_plain() { head.clone() } else { copy_of(&"file".into(), file) };
        if self.setup.store.summary(head).await?.is_none() {
            return Ok(head.clone());
        }
        let imported = self.imported_from(head).await?;
        let is_foreign = imported.is_some();
        let home = imported.flatten().or_else(|| self.known_path(head));
        let is_home = home.as_ref().is_some_and(|home| absolute(home) == absolute(file));
        if is_foreign && is_home {
            return Ok(head.clone());
        }
        let copy = copy_of(head, file);
        if !is_home && home.is_some_and(|home| home.exists()) {
            return Ok(copy);
        }
        if self.is_of(found, head).await? {
            return Ok(head.clone());
        }
        let place = file.display();
        self.note(&format!(
            "{place} is not the file of session {head}, which is here; it is a session of its own, {copy}"
        ));
        Ok(copy)
    }

    /// Whether the file has all that the log has, or some of it and nothing else: both are of one conversation.
    async fn is_of(&self, found: &ScannedFile, session: &SessionId) -> Result<bool, Fault> {
        let known = self.names(&self.setup.store.read(session, 0, usize::MAX).await?.entries);
        let named: HashSet<&LineName> = found.rows.iter().map(|row| &row.name).collect();
        let has_all = !known.is_empty() && known.keys().all(|name| named.contains(name));
        Ok(has_all || (!named.is_empty() && named.iter().all(|name| known.contains_key(*name))))
    }

    /// Whether the session began as a file, and which one.
    async fn imported_from(&self, session: &SessionId) -> Result<Option<Option<PathBuf>>, Fault> {
        let first = self.setup.store.read(session, 0, 2).await?.entries;
        Ok(first.iter().find_map(|entry| match &entry.body {
            Body::Note(NoteEntry::Imported { file, .. }) => Some(file.clone()),
            _ => None,
        }))
    }

    /// Lines that cannot be read; a torn end is told by the mirror, which mends it.
    fn tell_damage(&self, file: &Path, bytes: &[u8], found: &ScannedFile) {
        if found.bad > 0
            && let Ok(ScannedFile { bad: bad @ 1.., .. }) = scan(&bytes[..FileTail::of(bytes).whole])
        {
            self.note(&format!("{bad} line(s) of {} could not be read and were left out", file.display()));
        }
    }

    async fn adopt(
        &self,
        session: &SessionId,
        file: &Path,
        bytes: &[u8],
        found: &ScannedFile,
        by: Option<Principal>,
    ) -> Result<(), Fault> {
        let setup = &self.setup;
        let border = &*setup.border;
        let workspace = match &found.head.cwd {
            Some(named) => border.workspace(named)?,
            None => border.here().to_owned(),
        };
        let defaults = ImportDefaults { mode: setup.mode, workspace, file: Some(absolute(file)) };
        let entries = import::whole(bytes, found, self.reader(file), &defaults);
        let entries = self.admission(&absolute(file), by.map(|by| (by, now_ms()))).of(entries);
        let Some(Body::Opened { workspace, model, mode, .. }) = entries.first().map(|entry| &entry.body) else {
            return Err(Fault::new(FaultKind::Internal, "an import begins with the session's opening"));
        };
        let lease = setup.store.create(NewSession {
            id: session.clone(),
            workspace: workspace.clone(),
            model: model.clone(),
            mode: *mode,
            at_ms: found.head.at_ms,
            parent: None,
        });
        let stored = setup.store.append(&lease, entries, Durability::Now).await;
        setup.store.release(lease).await?;
        stored
    }

    /// What another program has appended to the file since.
    async fn take_more(
        &self,
        session: &SessionId,
        file: &Path,
        bytes: &[u8],
        found: &ScannedFile,
    ) -> Result<(), Fault> {
        let setup = &self.setup;
        let known = self.names(&setup.store.read(session, 0, usize::MAX).await?.entries);
        if found.rows.iter().all(|row| known.contains_key(&row.name)) {
            return Ok(());
        }
        let acquired = setup.store.acquire(session).await?;
        // Read again: until now another process could write.
        let result = async {
            let entries = setup.store.read(session, 0, usize::MAX).await?.entries;
            let notice = acquired.notice(acquired.summary.updated_ms);
            let last = notice.as_ref().map_or(acquired.summary.last_seq, |entry| entry.seq);
            let more = import::more(bytes, found, self.reader(file), &self.names(&entries), last);
            let more = self.admission(file, None).of(more);
            if notice.is_none() && more.is_empty() {
                return Ok(());
            }
            setup.store.append(&acquired.lease, notice.into_iter().chain(more).collect(), Durability::Now).await
        }
        .await;
        setup.store.release(acquired.lease).await?;
        result
    }

    fn reader<'a>(&'a self, file: &'a Path) -> ImportContext<'a> {
        ImportContext { models: &*self.setup.models, border: &*self.setup.border, file }
    }

    /// What a file says is judged once more, as whatever comes from a file is.
    fn admission<'a>(&'a self, file: &'a Path, by: Option<(Principal, i64)>) -> Admission<'a> {
        Admission { border: Some(&*self.setup.border), file, mode: self.setup.mode, by }
    }

    fn names(&self, entries: &[Arc<Entry>]) -> HashMap<LineName, u64> {
        let transcript = Transcript::new(entries, &*self.setup.models);
        transcript.lines().iter().map(|line| (line.name.clone(), line.seq)).collect()
    }
}

fn read(file: &Path) -> Result<(Vec<u8>, ScannedFile), Fault> {
    let unreadable = |error: std::io::Error| {
        Fault::new(FaultKind::Store, format!("cannot read the session file {}: {error}", file.display()))
    };
    let bytes = Following::read_only(file).map_err(unreadable)?;
    let found = scan(&bytes).map_err(|refused: ScanError| {
        Fault::new(FaultKind::Invalid, format!("{} is not a session file: {refused}", file.display()))
    })?;
    // What a later version means by a line is not known here.
    if found.head.version > VERSION {
        let (place, version) = (file.display(), found.head.version);
        let what = format!("{place} is a session file of version {version}; versions up to {VERSION} can be read");
        return Err(Fault::new(FaultKind::Invalid, what));
    }
    Ok((bytes, found))
}

fn now_ms() -> i64 {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_1970.as_millis()).unwrap_or_default()
}
