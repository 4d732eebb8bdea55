//! The host around a real engine: message pipes, slow peers, own calls.

mod echo;
mod messages;
mod own_calls;
mod slow;
