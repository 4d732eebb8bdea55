//! The flows against an issuer that really listens, on loopback; processes where processes matter.

#![allow(clippy::unwrap_used)]

mod antigravity;
mod browser;
mod canaries;
mod child;
mod device;
mod file;
mod issuer;
mod limits;
mod page;
mod refresh;
mod support;
mod turns;
