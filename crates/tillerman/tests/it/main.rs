mod docs;
mod golden;
mod transcripts;
