//! The provider against a real server on loopback.

mod calls;
mod catalogue;
mod connections;
mod cuts;
mod detection;
mod refusals;
mod secrets;
mod silence;
mod support;
mod timing;
