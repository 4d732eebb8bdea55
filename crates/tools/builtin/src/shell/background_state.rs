//! What is known of one background process: its unread output in a ring, and how it ended. Waits for nothing.

use std::collections::VecDeque;

use process::leash::Report;

use super::capture::{cut_partial, readable};

/// Unread output kept per process; the oldest is dropped and the next read says how much.
pub(super) const RING_BYTES: usize = 256 * 1024;
/// What one read returns at most; more waits for the next read.
pub(super) const READ_BYTES_MAX: usize = 32 * 1024;
/// The least a read can ask for: enough for any character and a line.
pub(super) const READ_BYTES_MIN: usize = 256;

#[derive(Default)]
pub(super) struct BackgroundState {
    unread: VecDeque<u8>,
    /// Bytes that fell out of `unread` since the last read.
    dropped: u64,
    /// How the direct child ended.
    pub(super) ended: Option<Report>,
    pub(super) timed_out: bool,
    /// Nothing of it runs any more.
    pub(super) gone: bool,
}

/// Where a background process stands, all it started included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BackgroundPhase {
    Running,
    Exited(i32),
    /// By this signal, where it is known.
    Killed(Option<i32>),
    Failed,
}

impl BackgroundState {
    /// Of a process that runs; `ended` says how its direct child ended, when it already did.
    pub(super) fn new(ended: Option<Report>) -> Self {
        Self { ended, ..Self::default() }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let bytes_kept = &bytes[bytes.len().saturating_sub(RING_BYTES)..];
        let overflow = (self.unread.len() + bytes_kept.len()).saturating_sub(RING_BYTES);
        self.unread.drain(..overflow);
        self.dropped += (overflow + bytes.len() - bytes_kept.len()) as u64;
        self.unread.extend(bytes_kept);
    }

    /// Bytes that wait to be read.
    pub(super) fn unread(&self) -> usize {
        self.unread.len()
    }

    /// Bytes that were lost since the last read.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// No more than `bytes_max` of the unread output as text, with notes about what was dropped or still waits.
    pub(super) fn take(&mut self, bytes_max: usize) -> String {
        let whole = self.unread.make_contiguous();
        let limited = &whole[..whole.len().min(bytes_max)];
        // An unfinished character waits for its rest, unless no rest can come.
        let part = if self.gone && limited.len() == whole.len() { limited } else { cut_partial(limited) };
        let count = part.len();
        let mut text = String::new();
        if self.dropped > 0 {
            text = format!("[{} older bytes were dropped before they were read]\n", self.dropped);
            self.dropped = 0;
        }
        text.push_str(&readable(part));
        self.unread.drain(..count);
        if self.unread.len() > 4 {
            text.push_str(&format!("\n[{} more bytes wait; read again]", self.unread.len()));
        }
        text
    }

    /// Whether it runs, and how it ended.
    pub(super) fn phase(&self) -> BackgroundPhase {
        match self.ended {
            _ if !self.gone => BackgroundPhase::Running,
            Some(Report::Exited { code, .. }) => BackgroundPhase::Exited(code),
            Some(Report::Killed { signal, .. }) => BackgroundPhase::Killed(Some(signal)),
            Some(Report::Failed(_)) => BackgroundPhase::Failed,
            _ => BackgroundPhase::Killed(None),
        }
    }

    /// One line for the model.
    pub(super) fn describe(&self) -> String {
        let end = match self.ended {
            Some(Report::Exited { code, .. }) => format!("exit code {code}"),
            Some(Report::Killed { signal, .. }) => format!("killed by signal {signal}"),
            Some(Report::TooMany(count)) => format!("ended: it had {count} processes"),
            Some(Report::Failed(errno)) => {
                format!("could not be started: {}", std::io::Error::from_raw_os_error(errno))
            }
            _ if self.gone => "its supervisor was killed".to_owned(),
            _ => return "running".to_owned(),
        };
        let timed_out = if self.timed_out { "timed out, " } else { "" };
        let left = matches!(self.ended, Some(Report::Exited { left: true, .. } | Report::Killed { left: true, .. }));
        let left = if left && !self.gone { ", processes it started still run" } else { "" };
        format!("{timed_out}{end}{left}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_keeps_the_newest_and_says_what_it_lost() {
        let mut state = BackgroundState::default();
        state.push(&vec![b'a'; RING_BYTES]);
        state.push(b"bc");
        assert!(state.take(READ_BYTES_MAX).starts_with("[2 older bytes were dropped before they were read]\naaa"));
        let mut rest = String::new();
        while !state.unread.is_empty() {
            rest = state.take(READ_BYTES_MAX);
        }
        assert!(rest.ends_with("abc"));
        let mut state = BackgroundState::default();
        state.push(&vec![b'x'; 3 * RING_BYTES]);
        assert_eq!((state.unread.len(), state.dropped), (RING_BYTES, 2 * RING_BYTES as u64));
    }

    #[test]
    fn output_is_read_page_by_page() {
        let mut state = BackgroundState::default();
        state.push("aä".repeat(200).as_bytes());
        let mut pages = vec![];
        while state.unread() > 0 {
            pages.push(state.take(READ_BYTES_MIN));
        }
        assert_eq!(pages.len(), 3, "{pages:?}");
        assert!(
            pages[1].ends_with("\n[89 more bytes wait; read again]"),
            "a page ends between two characters: {pages:?}"
        );
        let text = |page: &String| page.split("\n[").next().unwrap().to_owned();
        assert_eq!(pages.iter().map(text).collect::<String>(), "aä".repeat(200));
    }

    #[test]
    fn a_phase_is_over_when_nothing_runs_any_more() {
        let left = Some(Report::Exited { code: 3, left: true });
        let phase = |ended, gone| BackgroundState { ended, gone, ..BackgroundState::default() }.phase();
        assert_eq!(phase(None, false), BackgroundPhase::Running);
        assert_eq!(phase(left, false), BackgroundPhase::Running);
        assert_eq!(phase(left, true), BackgroundPhase::Exited(3));
        assert_eq!(phase(Some(Report::Killed { signal: 9, left: false }), true), BackgroundPhase::Killed(Some(9)));
        assert_eq!(phase(Some(Report::TooMany(70)), true), BackgroundPhase::Killed(None));
        assert_eq!(phase(None, true), BackgroundPhase::Killed(None));
        assert_eq!(phase(Some(Report::Failed(2)), true), BackgroundPhase::Failed);
    }

    #[test]
    fn a_character_split_between_two_reads_arrives_whole() {
        let mut state = BackgroundState::default();
        state.push(b"a\xf0\x9f");
        assert_eq!(state.take(READ_BYTES_MAX), "a");
        state.push(b"\xa6\x80!");
        assert_eq!(state.take(READ_BYTES_MAX), "🦀!");
    }
}
