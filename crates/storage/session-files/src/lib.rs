//! Session files as pi and its relatives write them: one JSON object per line, version 3. They are read into the log
//! ([`import`]), and every session's file follows its log ([`Mirrored`]), so that either program can go on where the
//! other stopped.
//!
//! The store stays the truth: a file that cannot be written costs a note, never a turn, and is brought up to date at the
//! next append. What a log looks like as lines is [`pi_format::transcript`]'s business; nothing here knows a wire, a
//! turn or a model.

mod archive;
mod content;
mod fields;
mod files;
mod find;
mod head;
pub mod import;
mod mirror;
mod read;
mod shared;
mod store;
mod tail;
mod taking_in;

use std::sync::Arc;

use pi_format::messages::Faces;

pub use find::{by_id, id_of, newest};
pub use head::{FileHead, copy_of, default_dir, file_name};
pub use read::{FILE_BYTES_MAX, FileRow, ScanError, ScannedFile, scan};
pub use store::{MirrorSetup, Mirrored};
pub use tail::{FileTail, side_file};
pub use taking_in::FileIntake;

/// What is known about models: how a slug looks in a file, and which slug a file means.
pub trait ModelNames: Faces + Send + Sync {
    fn slug(&self, provider: &str, id: &str) -> Arc<str> {
        format!("{provider}/{id}").into()
    }
}

/// Told in words when a file could not be written or was found damaged. Must not block.
pub type Note = Arc<dyn Fn(&str) + Send + Sync>;
