//! A secret from stdin: piped, or typed at a terminal that shows nothing of it.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// A key is shorter than this; what is longer is something else.
pub const BYTES_MAX: usize = 4096;

/// What was piped, or one typed line; `None`: the user gave up. Longer than [`BYTES_MAX`]: there was more.
pub fn read() -> io::Result<Option<String>> {
    let stdin = io::stdin();
    if stdin.is_terminal() { typed() } else { piped(stdin.lock()).map(Some) }
}

/// One byte more than the bound at most, so that the caller sees when there is too much.
fn piped(input: impl Read) -> io::Result<String> {
    let mut text = String::new();
    input.take(BYTES_MAX as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

/// One line from the terminal, which shows nothing of it.
fn typed() -> io::Result<Option<String>> {
    let mut stderr = io::stderr().lock();
    stderr.write_all(b"Key: ")?;
    stderr.flush()?;
    let quiet = Quiet::new()?;
    let line = line(io::stdin().lock());
    drop(quiet);
    stderr.write_all(b"\n")?;
    Ok(line)
}

/// Keys as a terminal sends them one by one; `None` for Ctrl-C, Ctrl-D and the end.
fn line(input: impl BufRead) -> Option<String> {
    const INTERRUPT: u8 = 3;
    const END: u8 = 4;
    let mut line = Vec::new();
    for byte in input.bytes().take(BYTES_MAX) {
        match byte.ok()? {
            b'\r' | b'\n' => return String::from_utf8(line).ok(),
            INTERRUPT | END => return None,
            8 | 127 => drop(line.pop()),
            byte => line.push(byte),
        }
    }
    None
}

/// The terminal echoes nothing, until this is dropped. Its own Ctrl-C is off as well: it would leave the terminal like this.
struct Quiet {
    before: Termios,
}

impl Quiet {
    fn new() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut quiet = before.clone();
        quiet.local_modes -= LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG;
        tcsetattr(io::stdin(), OptionalActions::Flush, &quiet)?;
        Ok(Self { before })
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typed_line_ends_with_enter_and_can_be_corrected_or_given_up() {
        assert_eq!(line(&b"abx\x7fc\rrest"[..]).as_deref(), Some("abc"));
        assert_eq!(line(&b"\x08a\n"[..]).as_deref(), Some("a"));
        for given_up in [&b"ab\x03c\n"[..], b"ab\x04", b"ab"] {
            assert_eq!(line(given_up), None);
        }
    }

    #[test]
    fn a_pipe_has_a_bound() {
        assert_eq!(piped(&b" key\n"[..]).unwrap(), " key\n");
        assert_eq!(piped(&vec![b'x'; 2 * BYTES_MAX][..]).unwrap().len(), BYTES_MAX + 1);
    }
}
