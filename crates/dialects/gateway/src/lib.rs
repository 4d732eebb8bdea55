//! The gateway's wire: JSON frames with an id over one connection, many sessions behind it. Pure: frames, events and time go
//! in; frames and commands come out.

mod own;

pub use own::*;
