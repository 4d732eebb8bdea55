//! Sessions as files: `.jsonl` (whole, can be read back), `.md` and `.html` (for people). An export and an import, never
//! a second truth beside the store. Knows the store's port and its records, and no database.

mod adopt;
mod archive;
mod download;
mod html;
mod jsonl;
mod markdown;
mod reconcile;

use std::sync::Arc;

use vocab::{Entry, Summary};

pub use archive::FileArchive;
pub use download::download;

/// A conversation as plain Markdown, as an export without an ending writes it.
pub fn as_markdown(summary: &Summary, entries: &[Arc<Entry>]) -> String {
    markdown::render(summary, entries)
}

/// What a person calls the session.
fn title(summary: &Summary) -> &str {
    summary.title.as_deref().or(summary.preview.as_deref()).unwrap_or("Session")
}
