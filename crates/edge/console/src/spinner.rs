//! The sign of life: what is waited for, how long already, and how to stop it. Pure: what to show at a time.

use std::time::{Duration, Instant};

use unicode_width::UnicodeWidthStr;

/// A wait that is shorter than this shows nothing. People take a third of a second for a stall.
const UNNOTICED: Duration = Duration::from_millis(150);
/// The pictures of the moving sign, and how long each of them stands.
const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
pub(super) const FRAME: Duration = Duration::from_millis(100);
/// How to stop it, in as many words as there is room for.
const STOPS: [&str; 2] = [" · Ctrl-C stops", " · ^C stops"];
/// Columns of what is waited for that are worth more than the words on how to stop.
const WHAT_COLS_MIN: usize = 12;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Spinner {
    what: String,
    since: Instant,
    /// It follows a wait that was on the screen.
    at_once: bool,
}

impl Spinner {
    pub(super) fn new(what: &str, now: Instant, at_once: bool) -> Self {
        Self { what: what.to_owned(), since: now, at_once }
    }

    pub(super) fn is_for(&self, what: &str) -> bool {
        self.what == what
    }

    pub(super) fn is_noticed(&self, now: Instant) -> bool {
        self.at_once || now.saturating_duration_since(self.since) >= UNNOTICED
    }

    /// One row of at most `cols` columns.
    pub(super) fn row(&self, now: Instant, cols: usize) -> String {
        let passed = now.saturating_duration_since(self.since);
        let frame = FRAMES[(passed.as_millis() / FRAME.as_millis()) as usize % FRAMES.len()];
        let time = format!(" · {}", elapsed(passed));
        let room = |tail: &str| cols.saturating_sub(2 + time.width() + tail.width());
        let whole = STOPS.iter().find(|stop| self.what.width() <= room(stop));
        let stop = whole.or(STOPS.last().filter(|stop| room(stop) >= WHAT_COLS_MIN)).copied().unwrap_or_default();
        fit(&format!("{frame} {}{time}{stop}", fit(&self.what, room(stop))), cols)
    }

    /// For a screen on which nothing can be drawn twice.
    pub(super) fn line(&self) -> String {
        format!("{}{}", self.what, STOPS[0])
    }
}

/// `4 s`, `2 m 05 s`.
pub(crate) fn elapsed(passed: Duration) -> String {
    match passed.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => format!("{} m {:02} s", seconds / 60, seconds % 60),
    }
}

/// At most `cols` columns of a text, and a sign that there is more.
pub(super) fn fit(text: &str, cols: usize) -> String {
    if text.width() <= cols {
        return text.to_owned();
    }
    let mut out = String::new();
    for c in text.chars() {
        out.push(c);
        if out.width() >= cols {
            out.pop();
            break;
        }
    }
    if cols > 0 {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_what_how_long_and_how_to_stop() {
        let start = Instant::now();
        let waiting = Spinner::new("waiting for mock/alpha", start, false);
        let at = |ms: u64| start + Duration::from_millis(ms);
        assert!(!waiting.is_noticed(at(100)) && waiting.is_noticed(at(299)));
        assert_eq!(waiting.row(at(200), 80), "⠹ waiting for mock/alpha · 0 s · Ctrl-C stops");
        assert_eq!(waiting.row(at(4_000), 80), "⠋ waiting for mock/alpha · 4 s · Ctrl-C stops");
        assert_eq!(waiting.row(at(125_000), 80), "⠋ waiting for mock/alpha · 2 m 05 s · Ctrl-C stops");
    }

    #[test]
    fn it_is_never_wider_than_the_screen() {
        let start = Instant::now();
        let rows = |what: &str, cols| Spinner::new(what, start, true).row(start, cols);
        assert_eq!(rows("waiting for mock/alpha", 42), "⠋ waiting for mock/alpha · 0 s · ^C stops");
        assert_eq!(rows("waiting for mock/alpha", 40), "⠋ waiting for mock/alp… · 0 s · ^C stops");
        assert_eq!(rows("waiting for mock/alpha", 20), "⠋ waiting for… · 0 s");
        for what in ["waiting for mock/alpha", "日本語日本語日本語日本語", "x"] {
            (0..60)
                .for_each(|cols| assert!(rows(what, cols).width() <= cols, "{what} in {cols}: {}", rows(what, cols)));
        }
    }
}
