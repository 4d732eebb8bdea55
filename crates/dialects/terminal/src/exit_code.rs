//! How a conversation can end, as a process tells it.

pub const OK: u8 = 0;
pub const FAILED: u8 = 1;
pub const NOT_STARTED: u8 = 2;
pub const UNFINISHED: u8 = 3;
pub const INTERRUPTED: u8 = 130;
