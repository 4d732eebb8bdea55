//! The other end of a gateway: finds one that runs, dials it, and passes lines and messages on as they are. Knows no dialect:
//! what is in a line is the affair of those at both ends.

mod backlog;
mod dial;
mod flag;
mod place;
mod relay;

pub use dial::{Attached, SentWords, dial};
pub use flag::{given, joined, without};
pub use place::{AttachTo, FoundGateway, GatewayPlace, OwnGateway};
pub use relay::{AtEnd, Relay, RelayLines, Relayed, signals};
