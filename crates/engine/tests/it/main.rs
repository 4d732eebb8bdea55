//! The engine as a whole: scripted stories, regressions, and the simulation.

mod simulation;
