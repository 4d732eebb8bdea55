//! How a conversation ends, in words that every transport can carry: the close codes of WebSocket (RFC 6455, 7.4). What a
//! process makes of them (an exit code) is the host's affair.

use std::borrow::Cow;

/// Codes from here on mean what one dialect says they mean.
const PRIVATE_FROM: u16 = 4000;

/// The last word of a dialect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Close {
    pub code: CloseCode,
    /// For people; empty where the code says it all.
    pub reason: Cow<'static, str>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CloseCode {
    /// 1000: what the conversation was for is done.
    Normal,
    /// 1001: this side is going away, whatever was left to say.
    GoingAway,
    /// 1002: the peer broke the rules of the transport.
    ProtocolError,
    /// 1007: what the peer called text is none.
    BadData,
    /// 1008: what the peer wants cannot be had here; asking again will not help.
    PolicyViolation,
    /// 1009: a message is longer than it may be.
    TooBig,
    /// 1011: something of ours was lost on the way.
    Internal,
    /// 1013: it cannot be had now; another time it can.
    TryAgainLater,
    /// 4000 and what is added: a meaning of the dialect's own.
    Private(u8),
}

impl CloseCode {
    /// As a transport with close codes writes it.
    pub fn number(self) -> u16 {
        match self {
            CloseCode::Normal => 1000,
            CloseCode::GoingAway => 1001,
            CloseCode::ProtocolError => 1002,
            CloseCode::BadData => 1007,
            CloseCode::PolicyViolation => 1008,
            CloseCode::TooBig => 1009,
            CloseCode::Internal => 1011,
            CloseCode::TryAgainLater => 1013,
            CloseCode::Private(own) => PRIVATE_FROM + u16::from(own),
        }
    }
}

impl Close {
    pub fn new(code: CloseCode, reason: impl Into<Cow<'static, str>>) -> Self {
        Self { code, reason: reason.into() }
    }
    pub fn normal() -> Self {
        Self::new(CloseCode::Normal, "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_has_its_number() {
        let all = [
            (CloseCode::Normal, 1000),
            (CloseCode::GoingAway, 1001),
            (CloseCode::ProtocolError, 1002),
            (CloseCode::BadData, 1007),
            (CloseCode::PolicyViolation, 1008),
            (CloseCode::TooBig, 1009),
            (CloseCode::Internal, 1011),
            (CloseCode::TryAgainLater, 1013),
            (CloseCode::Private(130), 4130),
        ];
        for (code, number) in all {
            assert_eq!(code.number(), number, "{code:?}");
        }
    }
}
