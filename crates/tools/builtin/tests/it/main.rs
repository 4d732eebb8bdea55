//! The tools, run as the engine runs them.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests are tests")]

mod bench;
mod controlled;
mod docs_page;
mod edit;
mod editor;
mod escape;
mod leash_entry;
mod loaf_calls;
mod patch;
mod protect;
mod race;
mod read;
mod search;
mod secret;
mod session_edits;
mod shell_background;
mod shell_controlled;
mod shell_ending;
mod shell_family;
mod shell_git;
mod shell_git_forged;
mod shell_links;
mod shell_own;
mod shell_run;
mod shell_support;
mod shell_terminal;
mod small;
mod web;
mod web_route;
mod web_search;
mod write;
