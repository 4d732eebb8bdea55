//! Gateways as processes, and as many connections to one as a row wants, in one loop.

mod crowd;
mod frame;
mod process;
mod socket;

pub(super) use crowd::Crowd;
pub(super) use process::GatewayProcess;
