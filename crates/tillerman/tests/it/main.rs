mod docs;
mod golden;
mod leash_entry;
mod stories;
mod transcripts;
