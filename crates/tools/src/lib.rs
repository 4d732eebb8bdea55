//! tools
pub mod leash;
pub mod shell;
