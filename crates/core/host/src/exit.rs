//! What a process ends with after a conversation: one table.

use wire::CloseCode;

const OK: u8 = 0;
/// Something was lost on the way.
const FAILED: u8 = 1;
/// It could not begin as it was asked for.
const NOT_STARTED: u8 = 2;

/// The answer is not where it was to go, whatever the conversation came to.
pub(crate) const UNWRITTEN: u8 = 2;

pub(crate) fn code(close: CloseCode) -> u8 {
    match close {
        CloseCode::Normal | CloseCode::GoingAway => OK,
        CloseCode::ProtocolError | CloseCode::BadData | CloseCode::TooBig | CloseCode::Internal => FAILED,
        CloseCode::PolicyViolation | CloseCode::TryAgainLater => NOT_STARTED,
        // A dialect for people has exit codes of its own; they are its private codes.
        CloseCode::Private(own) => own,
    }
}
