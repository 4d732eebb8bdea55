//! Where sessions are kept: in the store, and in files beside them for peers that read those.

use std::path::PathBuf;
use std::sync::Arc;

use catalogue::{Catalogue, FileBorder, OnlyShown};
use pi_format::messages::{Face, Faces};
use store::faults::OwnerRole;
use store::rollup::PriceList;
use vocab::{Archive, Border, Provider, Shelf, Store};

use super::identity::UuidIds;
use super::{SessionFiles, Setup};

pub(super) struct SessionStorage {
    pub(super) store: Arc<dyn Store>,
    pub(super) archive: Arc<dyn Archive>,
    pub(super) shelf: Arc<dyn Shelf>,
}

impl SessionStorage {
    /// `model` is what sessions start with, and where session files from elsewhere are measured by.
    pub(super) fn new(setup: &Setup, catalogue: &Arc<Catalogue>, model: &str) -> Self {
        let known = catalogue.clone();
        let prices: PriceList = Arc::new(move |model| known.resolve(model).ok()?.prices);
        let (store, shelf): (Arc<dyn Store>, Arc<dyn Shelf>) = match setup.settings.ephemeral {
            true => {
                let store = Arc::new(store::MemoryStore::new().priced(prices));
                (store.clone(), store)
            }
            false => {
                let store = store_sqlite::SqliteStore::new(setup.data.clone());
                // Many are held by a gateway alone.
                let store = if setup.many.is_some() { store.held_by(OwnerRole::Gateway) } else { store };
                let store = Arc::new(store.telling(Arc::new(host::note)).priced(prices));
                (store.clone(), store)
            }
        };
        let store = match &setup.many {
            Some(many) => many.counts.counted(store),
            None => store,
        };
        let (own, here): (Arc<str>, PathBuf) = (model.into(), setup.settings.workspace.clone());
        let border: Arc<dyn Border> = match setup.session_files.as_ref().is_some_and(|files| files.only_shown) {
            true => Arc::new(OnlyShown { own, here, note: host::note }),
            false => {
                let border = FileBorder::new(catalogue.clone(), own, here, setup.settings.mode, host::note);
                Arc::new(if setup.many.is_some() { border.shared() } else { border })
            }
        };
        let archive = export::FileArchive::new(store.clone(), setup.data.clone()).with_border(border.clone());
        let plain = SessionStorage { store, archive: Arc::new(archive), shelf };
        match &setup.session_files {
            Some(files) => plain.with_files(files, setup, catalogue, border),
            // Hosts of rpc come with files that they have from elsewhere; sessions of many processes' clients have none.
            None if setup.many.is_some() => plain.taking_files_in(setup, catalogue, border),
            None => plain,
        }
    }

    /// The same, and who names a session file goes on with what is in it.
    fn taking_files_in(self, setup: &Setup, catalogue: &Arc<Catalogue>, border: Arc<dyn Border>) -> SessionStorage {
        let dir = session_files::default_dir(&setup.agent_dir, &setup.settings.workspace);
        let files = SessionFiles { dir, fixed: true, only_shown: false };
        let SessionStorage { store, archive, shelf } = self;
        let intake = mirror_setup((store.clone(), archive), &files, setup, catalogue, border);
        SessionStorage { store, archive: Arc::new(session_files::FileIntake::new(intake)), shelf }
    }

    /// The same, with a file beside every session.
    fn with_files(
        self,
        files: &SessionFiles,
        setup: &Setup,
        catalogue: &Arc<Catalogue>,
        border: Arc<dyn Border>,
    ) -> SessionStorage {
        let inner = (self.store, self.archive);
        let mirrored = session_files::Mirrored::new(mirror_setup(inner, files, setup, catalogue, border));
        SessionStorage { store: Arc::new(mirrored.clone()), archive: Arc::new(mirrored), shelf: self.shelf }
    }
}

fn mirror_setup(
    (store, archive): (Arc<dyn Store>, Arc<dyn Archive>),
    files: &SessionFiles,
    setup: &Setup,
    catalogue: &Arc<Catalogue>,
    border: Arc<dyn Border>,
) -> session_files::MirrorSetup {
    session_files::MirrorSetup {
        store,
        archive,
        models: Arc::new(FileNames(catalogue.clone())),
        ids: Arc::new(UuidIds::default()),
        dir: files.dir.clone(),
        dir_is_fixed: files.fixed,
        mode: setup.settings.mode,
        border,
        note: Arc::new(host::note),
    }
}

/// How session files name models: by provider and id.
struct FileNames(Arc<Catalogue>);

impl Faces for FileNames {
    fn face(&self, slug: &str) -> Face {
        match self.0.resolve(slug) {
            Ok(model) => Face { provider: model.provider, id: model.id, api: model.api, prices: model.prices },
            Err(_) => Face::guess(slug),
        }
    }
}

impl session_files::ModelNames for FileNames {
    fn slug(&self, provider: &str, id: &str) -> Arc<str> {
        self.0.slug(provider, id)
    }
}
