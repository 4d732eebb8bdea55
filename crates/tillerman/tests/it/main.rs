//! Tests of the whole: conversations, stories, the page, the command line, the real binary.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod accounts;
mod acp_halves;
mod acp_limits;
mod acp_scarf;
mod acp_stage;
mod boundaries;
mod cli;
mod cli_drive;
mod cli_extensions;
mod cli_help;
mod cli_loaf;
mod cli_rpc;
mod cli_run;
mod cli_servers;
mod cli_sessions;
mod cli_skills;
mod docs;
mod golden;
mod leash_entry;
mod loaf_limits;
mod loaf_stage;
mod mcp_peer;
mod peers;
mod peers_acp;
mod real_model;
mod recordings;
mod recordings_acp;
mod recordings_loaf;
mod recordings_rpc;
mod rpc_blocked;
mod rpc_state;
mod schema;
mod schema_loaf;
mod stories;
mod transcripts;
