//! How the process is seen from outside: traces for an OpenTelemetry collector, numbers for Prometheus. Both are made at the
//! ports: what passes between the engine and its models, its tools and its store is looked at on the way ([`watch`]), and the
//! engine knows nothing of it. Where nobody wants to see anything nothing is put in the way, and nothing is paid.

pub mod metrics;
mod trace;
pub mod watch;

pub use trace::{Tracing, finish, spans_dropped};
