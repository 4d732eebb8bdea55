//! The command line: its table, and how words are read by it.

mod reading;

pub(crate) use command_line::*;
pub(crate) use reading::{line, only, parse, read};
