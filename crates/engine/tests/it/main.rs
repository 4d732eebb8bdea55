//! The engine as a whole: scripted stories, regressions, and the simulation.

mod interrupts;
mod lanes;
mod models;
mod peers;
mod recovery;
mod simulation;
mod support;
mod turns;
