//! A session as the bytes of a file, for somebody who is not on this machine.

use std::sync::Arc;

use vocab::{Fault, FaultKind, SessionId, Store};

use crate::archive::written;

/// A session is given as one piece; a longer log is refused.
const DOWNLOAD_ENTRIES_MAX: u64 = 100_000;

/// The session as the file that an ending stands for (`html`, `md`, `jsonl`). `None`: there is no such session.
/// `Invalid`: it is too long.
pub async fn download(
    store: Arc<dyn Store>,
    session: SessionId,
    ending: &'static str,
) -> Result<Option<Vec<u8>>, Fault> {
    let Some(summary) = store.summary(&session).await? else { return Ok(None) };
    if summary.last_seq > DOWNLOAD_ENTRIES_MAX {
        let message =
            format!("session {session} has {} entries; up to {DOWNLOAD_ENTRIES_MAX} are given", summary.last_seq);
        return Err(Fault::new(FaultKind::Invalid, message).hint("`tillerman sessions export` writes any session"));
    }
    let entries = store.read(&session, 0, DOWNLOAD_ENTRIES_MAX as usize).await?.entries;
    // A long session takes a second to write down; others share this thread.
    let bytes = tokio::task::spawn_blocking(move || written(Some(ending), &summary, &entries).1).await;
    bytes.map(Some).map_err(|error| Fault::new(FaultKind::Internal, format!("the export failed: {error}")))
}
