//! What each wire adds to the settings of a session, and who answers what it alone can ask: the same for a process with one
//! controller and for a gateway with many.

mod compact_at;
pub mod loaf;
pub mod rpc;

pub use compact_at::CompactAt;
