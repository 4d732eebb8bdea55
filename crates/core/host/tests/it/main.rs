//! The host around a real engine: message pipes, slow peers, own calls.

mod daemon;
mod echo;
mod messages;
mod own_calls;
mod slow;
