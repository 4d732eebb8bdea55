//! What a conversation tells its screen beside the text, in the same stream so that nothing overtakes anything: a line is
//! wanted, something is waited for, a line belongs beside the answer. [`crate::clean`] keeps these bytes out of all text.

use wire::FrameBuf;

use crate::WantedLine;

const WANT_PROMPT: u8 = 0x05;
const WANT_ANSWER: u8 = 0x06;
const WANT_LINE: u8 = 0x11;
const START: u8 = 0x0e;
const END: u8 = 0x0f;
const WAITS: u8 = b'w';
const ASIDE: u8 = b'a';

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ScreenControl {
    Want(WantedLine),
    /// `None`: for nothing any more.
    Waits(Option<String>),
    /// A whole line that is not part of the answer.
    Aside(String),
}

impl ScreenControl {
    pub(super) fn write(&self, out: &mut FrameBuf) {
        let (kind, text) = match self {
            ScreenControl::Want(want) => {
                return out.raw(&[match want {
                    WantedLine::Prompt => WANT_PROMPT,
                    WantedLine::Answer => WANT_ANSWER,
                    WantedLine::Line | WantedLine::Choice => WANT_LINE,
                }]);
            }
            ScreenControl::Waits(what) => (WAITS, what.as_deref().unwrap_or_default()),
            ScreenControl::Aside(line) => (ASIDE, line.as_str()),
        };
        let text = text.as_bytes().iter().copied().filter(|byte| *byte != END);
        let frame: Vec<u8> = [START, kind].into_iter().chain(text).chain([END]).collect();
        out.raw(&frame);
    }
}

/// What a stream begins with.
#[derive(PartialEq, Eq, Debug)]
pub enum OutputPiece<'a> {
    Text(&'a [u8]),
    Control(ScreenControl),
}

/// The first piece, and how many bytes it takes. `None` where there are no bytes. A control is never torn: a frame is handed
/// over whole; one without an end would be text.
pub fn first_piece(bytes: &[u8]) -> Option<(OutputPiece<'_>, usize)> {
    let at = bytes.iter().position(|byte| matches!(*byte, WANT_PROMPT | WANT_ANSWER | WANT_LINE | START));
    match (at, bytes) {
        (_, []) => None,
        (None, text) => Some((OutputPiece::Text(text), text.len())),
        (Some(0), _) => Some(cue(bytes)),
        (Some(at), text) => Some((OutputPiece::Text(&text[..at]), at)),
    }
}

fn cue(bytes: &[u8]) -> (OutputPiece<'_>, usize) {
    let one = |want| (OutputPiece::Control(ScreenControl::Want(want)), 1);
    match bytes[0] {
        WANT_PROMPT => return one(WantedLine::Prompt),
        WANT_ANSWER => return one(WantedLine::Answer),
        WANT_LINE => return one(WantedLine::Line),
        _ => {}
    }
    let Some(end) = bytes.iter().position(|byte| *byte == END).filter(|end| *end >= 2) else {
        return (OutputPiece::Text(bytes), bytes.len());
    };
    let text = String::from_utf8_lossy(&bytes[2..end]).into_owned();
    let cue = match bytes[1] {
        WAITS => ScreenControl::Waits(Some(text).filter(|text| !text.is_empty())),
        _ => ScreenControl::Aside(text),
    };
    (OutputPiece::Control(cue), end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_between_the_text_is_read_again() {
        let cues = [
            ScreenControl::Want(WantedLine::Prompt),
            ScreenControl::Waits(Some("waiting for tour".into())),
            ScreenControl::Waits(None),
            ScreenControl::Aside("● glob".into()),
            ScreenControl::Want(WantedLine::Line),
        ];
        let mut out = FrameBuf::default();
        for cue in &cues {
            out.raw("text\n".as_bytes());
            cue.write(&mut out);
        }
        let mut bytes = out.as_bytes();
        let mut read = Vec::new();
        while let Some((piece, used)) = first_piece(bytes) {
            match piece {
                OutputPiece::Text(text) => assert_eq!(text, b"text\n"),
                OutputPiece::Control(cue) => read.push(cue),
            }
            bytes = &bytes[used..];
        }
        assert_eq!(read, cues);
    }
}
