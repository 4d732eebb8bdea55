mod docs;
mod golden;
mod leash_entry;
mod real_model;
mod stories;
mod transcripts;
