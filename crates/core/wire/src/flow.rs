//! What a transport with windows and a dialect say to each other about the flow: how much of a session may be said, and where
//! its reader is. A word begins with a byte that no text has, so that no peer can say one.

/// The first byte of every word.
const MARK: u8 = 0xff;

/// A word about the flow of one session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FlowWord {
    /// From the transport: so many bytes more may be said of this session. For no session by name: of each that is opened from
    /// now on.
    Credit { session: String, bytes: usize },
    /// From the transport: nobody hears this session for now.
    Closed { session: String },
    /// From the transport: its reader has everything up to this place, as the dialect writes places, and nothing behind it.
    From { session: String, place: String },
    /// From the dialect: what it says of this session from here on is behind the place that the transport has named.
    Rejoined { session: String },
    /// From the dialect: everything that the log has was said; what comes now happens now.
    CaughtUp { session: String },
}

impl FlowWord {
    /// As a frame without its end.
    pub fn frame(&self) -> Vec<u8> {
        let text = match self {
            FlowWord::Credit { session, bytes } => format!("credit {bytes} {session}"),
            FlowWord::Closed { session } => format!("closed - {session}"),
            FlowWord::From { session, place } => format!("from {place} {session}"),
            FlowWord::Rejoined { session } => format!("rejoined - {session}"),
            FlowWord::CaughtUp { session } => format!("caught-up - {session}"),
        };
        let mut frame = vec![MARK];
        frame.extend_from_slice(text.as_bytes());
        frame
    }

    /// Whether this is a word and not what a peer says or hears.
    pub fn is_one(frame: &[u8]) -> bool {
        frame.first() == Some(&MARK)
    }

    pub fn read(frame: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(frame.strip_prefix(&[MARK])?).ok()?;
        let mut parts = text.splitn(3, ' ');
        let (word, with, session) = (parts.next()?, parts.next()?, parts.next()?.to_owned());
        Some(match word {
            "credit" => FlowWord::Credit { session, bytes: with.parse().ok()? },
            "closed" => FlowWord::Closed { session },
            "from" => FlowWord::From { session, place: with.to_owned() },
            "rejoined" => FlowWord::Rejoined { session },
            "caught-up" => FlowWord::CaughtUp { session },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_read_as_it_is_written() {
        let session = || "a b".to_owned();
        for word in [
            FlowWord::Credit { session: String::new(), bytes: 7 },
            FlowWord::Closed { session: session() },
            FlowWord::From { session: session(), place: "7.3".to_owned() },
            FlowWord::Rejoined { session: session() },
            FlowWord::CaughtUp { session: session() },
        ] {
            let frame = word.frame();
            assert!(FlowWord::is_one(&frame) && std::str::from_utf8(&frame).is_err());
            assert_eq!(FlowWord::read(&frame), Some(word));
        }
        assert_eq!(FlowWord::read(b"credit 1 s"), None);
    }
}
