//! A window of lines out of a stream of any length, in memory that depends on the window alone. Pure over `Read`.

use std::io::{self, BufRead, BufReader, Read};

/// Read from the file in pieces of this size; a cancelled call is noticed once per piece.
const PIECE_BYTES: usize = 64 * 1024;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct LineWindow {
    pub(super) bytes: Vec<u8>,
    /// Lines in `bytes`, the last one perhaps without its end.
    pub(super) lines: u64,
    /// Lines skipped before the window, or all lines when the window is past the end.
    pub(super) lines_before: u64,
    /// The only line of the window is longer than the window may be.
    pub(super) line_cut: bool,
    /// There is something behind the window.
    pub(super) more: bool,
    /// Lines of the whole file, when it was asked for or the end was reached.
    pub(super) total: Option<u64>,
}

/// `first` counts from 1.
pub(super) fn read_window(
    source: impl Read,
    first: u64,
    limit: u64,
    bytes_max: usize,
    count_total: bool,
    cancelled: &dyn Fn() -> bool,
) -> io::Result<LineWindow> {
    let mut reader = LineReader { reader: BufReader::with_capacity(PIECE_BYTES, source), cancelled };
    let mut window =
        LineWindow { bytes: Vec::new(), lines: 0, lines_before: 0, line_cut: false, more: false, total: None };
    while window.lines_before + 1 < first {
        if !reader.line(None)?.found {
            return Ok(window);
        }
        window.lines_before += 1;
    }
    let mut seen = window.lines_before;
    while window.lines < limit {
        let start = window.bytes.len();
        let line = reader.line(Some((&mut window.bytes, bytes_max)))?;
        if !line.found {
            window.total = Some(seen);
            return Ok(window);
        }
        seen += 1;
        if line.cut && window.lines > 0 {
            // It would not fit: leave it whole for the next call.
            window.bytes.truncate(start);
            window.more = true;
            break;
        }
        window.lines += 1;
        if line.cut {
            back_to_character(&mut window.bytes);
            window.line_cut = true;
            break;
        }
    }
    window.more |= reader.has_more()?;
    if !window.more {
        window.total = Some(seen);
    } else if count_total {
        while reader.line(None)?.found {
            seen += 1;
        }
        window.total = Some(seen);
    }
    Ok(window)
}

struct LineReader<'a, R> {
    reader: BufReader<R>,
    cancelled: &'a dyn Fn() -> bool,
}

#[derive(Default)]
struct WindowLine {
    /// False at the end of the file.
    found: bool,
    /// The buffer is full; the rest of the line was skipped.
    cut: bool,
}

impl<R: Read> LineReader<'_, R> {
    /// Reads one line, into a buffer that may grow to a size, or nowhere.
    fn line(&mut self, mut into: Option<(&mut Vec<u8>, usize)>) -> io::Result<WindowLine> {
        let mut line = WindowLine::default();
        loop {
            if self.reader.buffer().is_empty() && (self.cancelled)() {
                return Err(io::Error::other(crate::blocking::CANCELLED));
            }
            let piece = self.reader.fill_buf()?;
            if piece.is_empty() {
                return Ok(line);
            }
            line.found = true;
            let end = piece.iter().position(|byte| *byte == b'\n');
            let length = end.map_or(piece.len(), |at| at + 1);
            if let Some((buffer, max)) = &mut into
                && !line.cut
            {
                let room = *max - buffer.len();
                line.cut = length > room;
                buffer.extend_from_slice(&piece[..length.min(room)]);
            }
            self.reader.consume(length);
            if end.is_some() {
                return Ok(line);
            }
        }
    }

    fn has_more(&mut self) -> io::Result<bool> {
        Ok(!self.reader.fill_buf()?.is_empty())
    }
}

/// Drops the start of a character whose end was cut off.
fn back_to_character(bytes: &mut Vec<u8>) {
    if let Err(error) = std::str::from_utf8(bytes)
        && error.error_len().is_none()
    {
        let valid = error.valid_up_to();
        bytes.truncate(valid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(text: &str, first: u64, limit: u64, max: usize) -> LineWindow {
        read_window(text.as_bytes(), first, limit, max, true, &|| false).unwrap()
    }

    #[test]
    fn a_window_ends_at_a_whole_line() {
        let cut = window("one\ntwo\nthree\n", 1, 10, 9);
        assert_eq!((&*cut.bytes, cut.lines, cut.more, cut.total), (&b"one\ntwo\n"[..], 2, true, Some(3)));
        let rest = window("one\ntwo\nthree\n", 3, 10, 9);
        assert_eq!((&*rest.bytes, rest.lines, rest.more, rest.total), (&b"three\n"[..], 1, false, Some(3)));
    }

    #[test]
    fn a_line_longer_than_the_window_is_cut_on_a_character() {
        let cut = window("aéé\nb\n", 1, 10, 4);
        assert_eq!((&*cut.bytes, cut.line_cut, cut.more), ("aé".as_bytes(), true, true));
        let next = window("aéé\nb\n", 2, 10, 4);
        assert_eq!((&*next.bytes, next.more), (&b"b\n"[..], false));
    }

    #[test]
    fn past_the_end_the_lines_are_counted() {
        let past = window("a\nb", 9, 1, 4);
        assert_eq!((past.lines, past.lines_before), (0, 2));
    }

    #[test]
    fn an_endless_file_is_not_read_to_its_end() {
        let endless = io::repeat(b'x').take(1 << 40);
        let cancel_at = std::cell::Cell::new(0_u32);
        let cancelled = || {
            cancel_at.set(cancel_at.get() + 1);
            cancel_at.get() > 100
        };
        assert!(read_window(endless, 1, 1, 10, false, &cancelled).is_err(), "cancelled in the middle of a line");
    }
}
