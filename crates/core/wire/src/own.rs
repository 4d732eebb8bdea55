//! Calls that one dialect alone can make. They do not go to the engine: a service beside it answers them, and the host
//! carries both ways.

use std::fmt::Debug;

use vocab::Tag;

/// The calls of one dialect, and what they are answered with.
pub trait OwnCall: Debug + Send + 'static {
    type Answer: Debug + Send + 'static;
}

/// Of a dialect without any.
#[derive(Debug)]
pub enum NoOwn {}

impl OwnCall for NoOwn {
    type Answer = NoOwn;
}

/// One call on its way. Its tag comes from the same [`crate::Pending`] as those of commands.
#[derive(Debug)]
pub struct OwnRequest<Own> {
    pub tag: Tag,
    pub call: Own,
}
