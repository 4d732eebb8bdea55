//! Lines that were typed as prompts and came while something ran: their turn comes when it is over. A console keeps such
//! lines itself; here are those that a turn of somebody else's crossed on their way, and those of a pipe.

use std::collections::VecDeque;

use wire::Out;

use crate::paint::clean;
use crate::{LINE_JOIN, Renderer, TerminalDialect};

/// More are not taken. A line comes only for one that was wanted, so there are hardly ever two.
const HELD_MAX: usize = 16;

#[derive(Default)]
pub(crate) struct HeldLines(VecDeque<String>);

impl HeldLines {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn next(&mut self) -> Option<String> {
        self.0.pop_front()
    }
}

impl<R: Renderer> TerminalDialect<R> {
    pub(crate) fn hold(&mut self, line: &str, out: &mut Out) {
        let shown = clean(line).replace([LINE_JOIN, '\n'], " ");
        let told = match line.is_empty() {
            true => return,
            false if self.held.0.len() < HELD_MAX => {
                self.held.0.push_back(line.to_owned());
                format!("queued: {shown}")
            }
            false => format!("{HELD_MAX} lines are waiting already; this one was dropped: {shown}"),
        };
        self.renderer.notice(&told, &mut out.frames);
    }

    /// A person who stops something does not want the next thing to start by itself.
    pub(crate) fn drop_held(&mut self, out: &mut Out) {
        for line in std::mem::take(&mut self.held).0 {
            let shown = clean(&line).replace([LINE_JOIN, '\n'], " ");
            self.renderer.notice(&format!("not run: {shown}"), &mut out.frames);
        }
    }
}
