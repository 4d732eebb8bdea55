//! Notes for people, on stderr. A full pipe may stand behind it, so a note that does not fit is dropped and counted; the
//! protocol never waits for it.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// A pipe that reports itself writable takes this much without blocking (POSIX's lower bound for PIPE_BUF is smaller,
/// Linux's is this).
const NOTE_BYTES_MAX: usize = 4096;

static DROPPED: AtomicU64 = AtomicU64::new(0);

/// Notes that could not be written.
pub fn notes_dropped() -> u64 {
    DROPPED.load(Ordering::Relaxed)
}

/// Characters that make a line read differently from what it says: overrides of direction, marks without width, tags.
fn turns_lines(c: char) -> bool {
    matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Writes one line to stderr if that is possible right now.
pub fn note(text: &str) {
    let mut line = String::with_capacity(text.len() + 12);
    line.push_str("tillerman: ");
    // One note is one line, and a controller's terminal obeys no escape sequence that came from outside.
    line.extend(text.chars().map(|c| if c.is_control() || turns_lines(c) { ' ' } else { c }));
    let mut end = line.len().min(NOTE_BYTES_MAX - 1);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    line.truncate(end);
    line.push('\n');
    let stderr = std::io::stderr();
    let writable = {
        let mut fds = [PollFd::new(&stderr, PollFlags::OUT)];
        poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok_and(|ready| ready > 0)
            && fds[0].revents().contains(PollFlags::OUT)
    };
    if !writable || stderr.lock().write_all(line.as_bytes()).is_err() {
        DROPPED.fetch_add(1, Ordering::Relaxed);
    }
}
