//! A file that came from elsewhere becomes a session.

use std::path::Path;
use std::sync::Arc;

use vocab::{Body, Durability, Entry, Fault, FaultKind, NewSession, SessionId, Store};

/// Makes a session of entries that were admitted. `at_ms`: when it began, as the file has it.
pub(crate) async fn adopt(
    store: &dyn Store,
    file: &Path,
    id: &SessionId,
    entries: Vec<Arc<Entry>>,
    at_ms: i64,
) -> Result<(), Fault> {
    let Some(Body::Opened { workspace, model, mode, .. }) = entries.first().map(|entry| &entry.body) else {
        return Err(Fault::new(FaultKind::Store, format!("{} holds no session", file.display())));
    };
    let new = NewSession {
        id: id.clone(),
        workspace: workspace.clone(),
        model: model.clone(),
        mode: *mode,
        at_ms,
        parent: None,
    };
    let lease = store.create(new);
    let appended = store.append(&lease, entries, Durability::Now).await;
    store.release(lease).await?;
    appended
}
