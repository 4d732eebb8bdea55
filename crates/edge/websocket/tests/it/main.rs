//! WebSockets against the rules, against noise, and against another's implementation.

mod bytes;
mod cases;
mod client;
mod garbage;
mod judge;
mod last_words;
mod limits;
mod pings;
mod together;
