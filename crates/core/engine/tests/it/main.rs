//! The engine as a whole: scripted stories, regressions, and the simulation.

// In a helper of a test a failed `unwrap` is a failed test.
#![allow(clippy::unwrap_used)]

mod abilities;
mod asking;
mod attaching;
mod budgets;
mod budgets_lost;
mod called;
mod carrying;
mod coming_in;
mod compacting;
mod conduct;
mod continuing;
mod continuing_servers;
mod controlled;
mod directory;
mod draining;
mod editor;
mod extensions;
mod fallbacks;
mod fanning_out;
mod forks;
mod idle;
mod intent;
mod interrupts;
mod lanes;
mod limits;
mod lost;
mod mcp;
mod models;
mod moving;
mod patience;
mod peers;
mod places;
mod reading;
mod recounts;
mod recovery;
mod refused;
mod registry;
mod retries;
mod runs;
mod shells;
mod simulation;
mod steering;
mod structure;
mod subagents;
mod subagents_sums;
mod subagents_told;
mod support;
mod thinking;
mod todos;
mod turns;
mod usage;
mod watching;
