//! One turn as a pure machine ([`machine`]) and what it is made of: what it asks for ([`effects`]), the reply that it gathers
//! ([`reply_builder`]), and when a failed call is tried again ([`retry`]).

mod effects;
mod machine;
mod reply_builder;
mod retry;

pub(crate) use effects::{Effect, ResultWording, SafePoint, Verdict};
pub use machine::synthetic;
pub(crate) use machine::{DENIED, INTERRUPTED};
pub(crate) use machine::{Turn, TurnRules};
pub use reply_builder::{CALL_INPUT_BYTES_MAX, CALLS_MAX, REPLY_BYTES_MAX, ReadObject};

#[cfg(test)]
mod tests;
