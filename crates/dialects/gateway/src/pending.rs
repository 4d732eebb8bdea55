//! What an answer of the engine or of a service is for.

use crate::ledger::RequestId;
use crate::methods::ToldBy;

pub(crate) enum GatewayPending {
    Login(RequestId),
    /// A service answers; this makes the result of it.
    Service {
        id: RequestId,
        told: ToldBy,
    },
}
