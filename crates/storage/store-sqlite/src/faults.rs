//! What can go wrong with the database, in words a person can act on; what can go wrong with any store is said in
//! `store`'s words.

use std::path::Path;

use rusqlite::ErrorCode;
use vocab::{Fault, FaultKind, SessionId};

pub(crate) use store::faults::{busy, exists, from_io, gap, stale, unknown_session};

/// One page of the database; where less is free nothing can be written.
const PAGE_BYTES: u64 = 4096;

pub(crate) fn thread_died() -> Fault {
    Fault::new(FaultKind::Internal, "the thread that keeps sessions died; whether this was written is unknown")
}

/// What a lease's holder was told is on the disk is not.
pub(crate) fn not_kept(session: &SessionId) -> Fault {
    Fault::new(FaultKind::SessionBusy, format!("the disk did not keep what was written to session {session}"))
        .hint("check the disk, and open the session again")
}

const RECOVER: &str = "keep a copy of the file; `sqlite3 FILE .recover` reads what is left of it";

/// What a check of the whole file has found.
pub(crate) fn damaged(place: &Path, what: &str) -> Fault {
    let text = format!("cannot trust {}: the database is damaged ({})", place.display(), what.trim());
    Fault::new(FaultKind::Store, text).hint(RECOVER)
}

/// The disk would not take what was committed.
pub(crate) fn not_synced(place: &Path, error: &std::io::Error) -> Fault {
    let is_full = error.kind() == std::io::ErrorKind::StorageFull || is_full(place);
    let cause =
        if is_full { "the disk is full: no space left".to_owned() } else { format!("input/output error ({error})") };
    Fault::new(FaultKind::Store, format!("cannot write to {}: {cause}", place.display()))
        .hint("check the disk; the next write is tried again")
}

/// Somebody has taken the file away from under us.
pub(crate) fn removed(place: &Path) -> Fault {
    let text = format!("{} was removed or replaced while it was in use: what was said is not kept", place.display());
    Fault::new(FaultKind::Store, text).hint("put it back, or start again: what is there then is gone on with")
}

/// A database error. `doing` completes "cannot ...".
pub(crate) fn from_sqlite(place: &Path, doing: &str, error: &rusqlite::Error) -> Fault {
    let (cause, hint) = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => {
            ("the disk is full: no space left".to_owned(), Some("free some space; the next write is tried again"))
        }
        // Where the log beside the file cannot grow, the database calls it an error of the device.
        Some(ErrorCode::SystemIoFailure) if is_full(place) => {
            ("the disk is full: no space left".to_owned(), Some("free some space; the next write is tried again"))
        }
        Some(ErrorCode::SystemIoFailure) => {
            (format!("input/output error ({error})"), Some("check the disk; the next write is tried again"))
        }
        Some(ErrorCode::ReadOnly) => {
            (format!("it is read-only ({error})"), Some("make it writable, or set TILLERMAN_HOME to another directory"))
        }
        Some(ErrorCode::DatabaseCorrupt) => (format!("the database is damaged ({error})"), Some(RECOVER)),
        Some(ErrorCode::NotADatabase) => {
            ("it is not a SQLite database".to_owned(), Some("move the file away, or set TILLERMAN_HOME"))
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            ("another process has kept it locked for too long".to_owned(), Some("see which other process uses it"))
        }
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => (
            format!("it cannot be opened ({error})"),
            Some("check the permissions, or set TILLERMAN_HOME to another directory"),
        ),
        _ => (error.to_string(), None),
    };
    let fault = Fault::new(FaultKind::Store, format!("cannot {doing} {}: {cause}", place.display()));
    match hint {
        Some(hint) => fault.hint(hint),
        None => fault,
    }
}

/// Nothing more fits where the file is.
fn is_full(place: &Path) -> bool {
    let directory = place.parent().filter(|_| !place.is_dir()).unwrap_or(place);
    rustix::fs::statvfs(directory)
        .is_ok_and(|it| it.f_blocks > 0 && it.f_bavail.saturating_mul(it.f_frsize) < PAGE_BYTES)
}

/// True when the connection cannot be trusted any more: what it believes to be on the disk may not be there.
pub(crate) fn needs_reopen(error: &rusqlite::Error) -> bool {
    !matches!(
        error.sqlite_error_code(),
        Some(
            ErrorCode::DiskFull
                | ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::ConstraintViolation
                | ErrorCode::TooBig
        )
    )
}

/// Another process has what is needed; nothing is wrong with the connection.
pub(crate) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}
