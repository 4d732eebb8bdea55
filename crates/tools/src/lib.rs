//! tools
pub mod leash;
pub mod shell;
pub mod web_fetch;
