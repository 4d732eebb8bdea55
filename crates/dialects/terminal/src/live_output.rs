//! The output of a running call, shown line by line. What arrives is always the newest tail of it, so the part that is
//! new has to be found.

/// Lines of a running call shown; the rest waits for the result.
const LINES_MAX: usize = 20;

#[derive(Default)]
pub(super) struct LiveOutput {
    /// The whole lines of the last tail.
    seen: String,
    /// Everything shown so far.
    shown: String,
    lines: usize,
}

impl LiveOutput {
    /// The whole lines of `tail` that were not in the one before.
    pub(super) fn take(&mut self, tail: &str) -> Vec<String> {
        let whole = &tail[..tail.rfind('\n').map_or(0, |at| at + 1)];
        let new = match whole.strip_prefix(self.seen.as_str()) {
            Some(new) => new,
            // The tail moved on: go on behind the last line it shares with what was seen.
            None => {
                let last = self.seen.lines().last().map(|line| format!("{line}\n")).unwrap_or_default();
                whole.rfind(&last).map_or(whole, |at| &whole[at + last.len()..])
            }
        };
        let new: Vec<String> = new.lines().take(LINES_MAX - self.lines).map(str::to_owned).collect();
        self.lines += new.len();
        new.iter().for_each(|line| self.shown.extend([line, "\n"]));
        self.seen = whole.to_owned();
        new
    }

    /// What a result says beyond what was shown; `None` when it has to be shown from its beginning.
    pub(super) fn rest(&self, result: &str) -> Option<String> {
        result.strip_prefix(self.shown.as_str()).filter(|_| self.lines > 0).map(str::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_shown_once_also_when_the_tail_moves() {
        let mut running = LiveOutput::default();
        assert_eq!(running.take("a\nhal"), ["a"]);
        assert_eq!(running.take("a\nhalf\n"), ["half"]);
        assert_eq!(running.take("a\nhalf\n"), Vec::<String>::new());
        assert_eq!(running.take("half\nc\nd\n"), ["c", "d"]);
        assert_eq!(running.rest("a\nhalf\nc\nd\nexit code 1"), Some("exit code 1".to_owned()));
        assert_eq!(running.rest("something else"), None);
    }

    #[test]
    fn a_flood_is_cut() {
        let mut running = LiveOutput::default();
        let flood: String = (0..100).map(|n| format!("{n}\n")).collect();
        assert_eq!(running.take(&flood).len(), LINES_MAX);
        assert_eq!(running.take(&format!("{flood}more\n")).len(), 0);
    }
}
