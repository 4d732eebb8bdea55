//! What the store and the archive of session files share: where the file of each session is, which sessions are open,
//! and how an open one's file follows its log.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vocab::{Body, Entry, Lease, SessionId};

use crate::find;
use crate::head::{FileHead, VERSION, file_name};
use crate::mirror::{Mirror, MirrorError};
use crate::store::MirrorSetup;

pub(crate) struct SharedMirrors {
    pub(crate) setup: MirrorSetup,
    places: Mutex<Places>,
}

/// Sessions whose files we know. Those that are open are known in any case; of the others the oldest is forgotten, and
/// looked for on the disk when it is wanted again.
const PLACES_MAX: usize = 1024;

struct Places {
    dir: PathBuf,
    /// Where the file of a session is or will be.
    paths: HashMap<SessionId, PathBuf>,
    parents: HashMap<SessionId, String>,
    /// The keys of `paths`, oldest first.
    known: VecDeque<SessionId>,
    mirrors: HashMap<SessionId, Arc<tokio::sync::Mutex<Mirror>>>,
    /// Sessions that work for a call of another one. They have no files: hosts would list them.
    children: HashSet<SessionId>,
}

impl Places {
    fn remember(&mut self, session: &SessionId, path: PathBuf) {
        if self.paths.insert(session.clone(), path).is_none() {
            self.known.push_back(session.clone());
        }
        // Each is looked at once: where all are open, all are needed.
        for _ in 0..self.known.len() {
            if self.known.len() <= PLACES_MAX {
                break;
            }
            let Some(oldest) = self.known.pop_front() else { break };
            match self.mirrors.contains_key(&oldest) {
                true => self.known.push_back(oldest),
                false => self.drop_path(&oldest),
            }
        }
    }

    fn drop_path(&mut self, session: &SessionId) {
        self.paths.remove(session);
        self.parents.remove(session);
    }
}

impl SharedMirrors {
    pub(crate) fn new(setup: MirrorSetup) -> Self {
        let places = Places {
            dir: setup.dir.clone(),
            paths: HashMap::new(),
            parents: HashMap::new(),
            known: VecDeque::new(),
            mirrors: HashMap::new(),
            children: HashSet::new(),
        };
        Self { setup, places: Mutex::new(places) }
    }

    /// Where new files go now.
    pub(crate) fn dir(&self) -> PathBuf {
        self.lock().dir.clone()
    }

    /// The file that a new session says it came from.
    pub(crate) fn give_parent(&self, session: &SessionId, parent: String) {
        self.lock().parents.insert(session.clone(), parent);
    }

    /// The session is open no more; what is still being written to its file is behind this lock.
    pub(crate) fn close(&self, session: &SessionId) -> Option<Arc<tokio::sync::Mutex<Mirror>>> {
        let mut places = self.lock();
        places.children.remove(session);
        places.mirrors.remove(session)
    }

    // Each change below is made in one go, so a panic elsewhere leaves nothing half done.
    fn lock(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note(&self, text: &str) {
        (self.setup.note)(text);
    }

    pub(crate) fn bind(&self, session: &SessionId, path: &Path) {
        let mut places = self.lock();
        if !self.setup.dir_is_fixed
            && let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty())
        {
            places.dir = parent.to_owned();
        }
        places.remember(session, path.to_owned());
    }

    /// The session that a path was promised to before there was a file.
    pub(crate) fn promised(&self, path: &Path) -> Option<SessionId> {
        self.lock().paths.iter().find(|(_, bound)| *bound == path).map(|(session, _)| session.clone())
    }

    fn is_subagent(&self, session: &SessionId) -> bool {
        self.lock().children.contains(session)
    }

    pub(crate) fn mark_subagent(&self, session: &SessionId) {
        self.forget(session);
        self.lock().children.insert(session.clone());
    }

    pub(crate) fn forget(&self, session: &SessionId) {
        let mut places = self.lock();
        places.children.remove(session);
        places.mirrors.remove(session);
        places.known.retain(|known| known != session);
        places.drop_path(session);
    }

    pub(crate) fn is_open(&self, session: &SessionId) -> bool {
        self.lock().mirrors.contains_key(session)
    }

    pub(crate) fn known_path(&self, session: &SessionId) -> Option<PathBuf> {
        let dir = {
            let places = self.lock();
            if let Some(path) = places.paths.get(session) {
                return Some(path.clone());
            }
            places.dir.clone()
        };
        let path = find::named_after(&dir, session)?;
        self.lock().remember(session, path.clone());
        Some(path)
    }

    /// The path of a session's file, made up from its age where there is none yet.
    fn place_for(&self, session: &SessionId, created_ms: i64) -> PathBuf {
        if let Some(path) = self.known_path(session) {
            return path;
        }
        let mut places = self.lock();
        let path = places.dir.join(file_name(created_ms, session));
        places.remember(session, path.clone());
        path
    }

    pub(crate) fn open_mirror(&self, session: &SessionId, created_ms: i64) -> Arc<tokio::sync::Mutex<Mirror>> {
        let path = self.place_for(session, created_ms);
        let head = FileHead {
            version: VERSION,
            id: session.clone(),
            at_ms: created_ms,
            cwd: None,
            parent: None,
            title: None,
            model: None,
        };
        let mirror = Arc::new(tokio::sync::Mutex::new(Mirror::new(path, head)));
        self.lock().mirrors.insert(session.clone(), mirror.clone());
        mirror
    }

    fn mirror_of(&self, session: &SessionId) -> Option<Arc<tokio::sync::Mutex<Mirror>>> {
        self.lock().mirrors.get(session).cloned()
    }

    /// Writes what the inner store has taken. Never fails the append: what is wrong with the file is said in a note.
    pub(crate) async fn follow(self: Arc<Self>, lease: Lease, entries: Vec<Arc<Entry>>, synced: bool) {
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return };
        if matches!(first.body, Body::Opened { child_of: Some(_), .. }) {
            self.mark_subagent(&lease.session);
        }
        if self.is_subagent(&lease.session) {
            return;
        }
        let (first, last) = (first.seq, last.seq);
        let mirror = match (self.mirror_of(&lease.session), &lease.new) {
            (Some(mirror), _) => mirror,
            (None, Some(new)) => self.open_mirror(&lease.session, new.at_ms),
            (None, None) => {
                let created = self.setup.store.summary(&lease.session).await.ok().flatten();
                self.open_mirror(&lease.session, created.map_or(0, |summary| summary.created_ms))
            }
        };
        let mut mirror = mirror.lock_owned().await;
        let mut entries = entries;
        // The second time everything is read anew; who touches a file twice in a moment is waited for no longer.
        for _ in 0..2 {
            let is_behind = mirror.last_seq < last;
            if !is_behind && !synced {
                return;
            }
            if is_behind && mirror.last_seq + 1 != first {
                match self.setup.store.read(&lease.session, mirror.last_seq, usize::MAX).await {
                    Ok(page) => entries = page.entries,
                    Err(fault) => return self.failed(&mut mirror, &fault.to_string()),
                }
            }
            self.name_parent(&mut mirror, &lease.session, &entries);
            let (shared, batch) = (self.clone(), entries.clone());
            let written = tokio::task::spawn_blocking(move || {
                mirror.take(&batch, &*shared.setup.models);
                let result = mirror.write();
                (mirror, result)
            });
            let Ok((back, result)) = written.await else {
                return self.note("a session file could not be written: the writer failed");
            };
            mirror = back;
            if let Some(text) = mirror.mended.take() {
                self.note(&text);
            }
            match result {
                Ok(()) => {
                    mirror.is_failing = false;
                    let file = if synced { mirror.unsynced() } else { None };
                    drop(mirror);
                    return file.into_iter().for_each(|file| self.clone().sync_aside(lease.session.clone(), file));
                }
                Err(MirrorError::Again) => {}
                Err(MirrorError::Io(error)) => return self.failed(&mut mirror, &error.to_string()),
            }
        }
    }

    /// The session does not wait for the disk here: what was told is safe in the store, and a file that lost its end with the power
    /// gets it again when the session is opened next.
    fn sync_aside(self: Arc<Self>, session: SessionId, file: File) {
        let synced = tokio::task::spawn_blocking(move || file.sync_data());
        tokio::spawn(async move {
            if let Ok(Err(error)) = synced.await
                && let Some(mirror) = self.mirror_of(&session)
            {
                let mut mirror = mirror.lock().await;
                // What the disk has is not known any more: the next write looks.
                mirror.start_over();
                self.failed(&mut mirror, &error.to_string());
            }
        });
    }

    fn failed(&self, mirror: &mut Mirror, why: &str) {
        if !std::mem::replace(&mut mirror.is_failing, true) {
            let place = mirror.path.display();
            self.note(&format!("the session file {place} could not be written: {why}; it is tried again"));
        }
    }

    /// A fork names the file that it came from; who began a session may name another.
    fn name_parent(&self, mirror: &mut Mirror, session: &SessionId, entries: &[Arc<Entry>]) {
        let given = self.lock().parents.get(session).cloned();
        if given.is_some() {
            return mirror.set_parent(given);
        }
        if let Some(Body::Opened { forked_from: Some((from, _)), .. }) = entries.first().map(|entry| &entry.body) {
            mirror.set_parent(self.known_path(from).map(|path| path.to_string_lossy().into_owned()));
        }
    }
}
